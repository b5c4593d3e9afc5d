import type { Store } from '../../src/store/store.ts'
import type { VisitReportWrite } from '../../src/store/visit-reports.ts'
import type { ContactWrite, CountedLimit, EventWrite, Idempotency, Refused } from '../../src/store/types.ts'
import type { NewAccount } from '../../src/store/accounts.ts'

/** Noon of a day in the middle of a month (UTC). */
export const AT = Date.UTC(2026, 4, 15, 12)
export const HOUR = 3_600_000
export const DAY = 24 * HOUR

/** A store under test: how to open it again as after a stop, and how to be rid of it. */
export type Opened = { store: Store; reopen: () => Promise<Store>; drop: () => Promise<void> }
export type OpenStore = () => Promise<Opened>

/** A store with nothing in it, made for one group of tests. */
export type Fresh = { (): Store; reopen: () => Promise<void> }

export { makeFolder, makeMigratedFolder } from '../data-folder.ts'

/** Limits that count a write, without a maximum. */
export const countedBy = (...buckets: string[]): CountedLimit[] =>
  buckets.map((bucket) => ({ bucket, max: null, windowMs: HOUR }))

const person = {
  accountId: 'acc_1',
  appId: 1,
  email: 'ada@example.com',
  shownEmail: null,
  newPeoplePerMonth: null,
  at: AT,
  limits: [],
  idempotency: null,
}

export const eventWrite = (changes: Partial<EventWrite> = {}): EventWrite => ({
  ...person,
  createContact: true,
  firstName: null,
  lastName: null,
  type: 'event',
  name: 'results_ready',
  properties: null,
  path: null,
  via: 'api',
  occurredAt: null,
  ...changes,
})

/** A page view of a person who must be known. */
export const visitReportWrite = (changes: Partial<VisitReportWrite> = {}): VisitReportWrite => ({
  accountId: 'acc_1',
  appId: 1,
  email: 'ada@example.com',
  shownEmail: null,
  newPeoplePerMonth: null,
  at: AT,
  limits: [],
  createContact: false,
  reportId: 'load.1',
  items: [{ type: 'page', name: null, path: '/results', occurredAt: AT }],
  ...changes,
})

export const contactWrite = (changes: Partial<ContactWrite> = {}): ContactWrite => ({
  ...person,
  tags: [],
  removeTags: [],
  fields: null,
  ...changes,
})

/** Who changes something. */
export const BY = { accountId: 'acc_1', actor: 'mem_1', at: AT }

export const idempotency = (changes: Partial<Idempotency> = {}): Idempotency => ({
  keyId: 'key_1',
  key: 'once',
  bodyHash: 'body',
  part: null,
  at: AT,
  ...changes,
})

/** An account with app number 1 when it is the first, 2 when the second. */
export const newAccount = (number = 1, changes: Partial<NewAccount> = {}): NewAccount => ({
  id: `acc_${number}`,
  name: `Account ${number}`,
  at: AT + number,
  actor: 'cli',
  onlyFirst: false,
  setupToken: null,
  member: {
    id: `mem_${number}`,
    membershipId: `own_${number}`,
    email: `owner${number}@example.com`,
    passwordHash: null,
  },
  inviteLink: null,
  app: {
    publicId: `app_${number}`,
    siteId: `site_${number}`,
    name: `App ${number}`,
    homeUrl: null,
    hosts: [`app${number}.example.com`, `www.app${number}.example.com`],
  },
  key: { id: `key_${number}`, name: 'First key', scope: 'standard', keyHash: `hash_${number}`, ending: `end${number}` },
  secret: { id: `sec_${number}`, secret: `secret_${number}` },
  ...changes,
})

/** Takes what a write gave; a refusal fails the test with its name. */
export function done<T extends object>(outcome: T): Exclude<T, Refused> {
  if ('refusal' in outcome) throw new Error(`refused: ${String(outcome.refusal)}`)
  return outcome as Exclude<T, Refused>
}
