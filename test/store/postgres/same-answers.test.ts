/** Operations that the conformance tests do not reach: both engines must answer alike. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import type { Instances } from '../../../src/store/instances.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { NewRequest } from '../../../src/store/requests.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import type { WriteName } from '../../../src/store/writes.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { RECORD } from '../conformance/delivery-queue.ts'
import {
  AT,
  BY,
  contactWrite,
  DAY,
  done,
  eventWrite,
  HOUR,
  idempotency,
  makeFolder,
  newAccount,
  visitReportWrite,
} from '../samples.ts'

const OPTIONS = { now: () => AT, rules: STORE_RULES }
const { folder, remove } = makeFolder()
let server: PostgresServer
let stores: Store[] = []
beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  const postgres = await openPostgresStore({ url: server.url('postgres'), connections: 4, prepares: true }, OPTIONS)
  stores = [await openStore(folder, { ...OPTIONS, threads: false }), postgres]
}, 120_000)
afterAll(async () => {
  for (const store of stores) await store.close()
  await server?.stop()
  remove()
})

const app = { ...BY, appId: 1 }
const days = { from: 0, until: AT / DAY + 9 }
const mail = (body: string) => ({
  subject: 'Hi',
  body,
  category: 'lifecycle' as const,
  variants: { de: { subject: 'x', body: 'y' } },
})
const draft = (name: string, id: number | null = null) => ({
  id,
  name,
  status: 'live' as const,
  content: { trigger: { event: 'done' }, topic: 'News', mail: mail(name) },
})
const after = (message: string) => ({ ...draft('After'), content: { trigger: { message }, mail: mail('After') } })

const claiming = { claimedBy: 'a', now: AT + HOUR, leaseMs: HOUR, most: 9, skipApps: [] }

/** The first one is handed over only. */
const sendAll = async (store: Store) => {
  const { works } = done(await store.claimDeliveries(claiming))
  const claims = works.map(({ delivery }) => ({
    id: delivery.id,
    attempt: delivery.attempt,
    claimedBy: 'a',
    at: AT + HOUR,
    record: RECORD,
  }))
  const marked = []
  for (const [index, claim] of claims.entries()) {
    marked.push(await store.markHanded(claim))
    if (index > 0) marked.push(await store.markSent({ ...claim, at: AT + HOUR + 1 }))
  }
  return marked
}

const readCounts = async (store: Store) => {
  const ids = (await store.listMessages(1)).map(({ id }) => id).toSorted((a, b) => a - b)
  return [
    await Promise.all(ids.map((id) => store.readResults(id, days))),
    await Promise.all(ids.map((id) => store.countEmails(id))),
    await store.countEmailsOf(ids),
    await store.readAppResults(1, days),
    await store.countProblems(1, days, ['template']),
    await store.hasSentEmail(1),
    await store.listMailDays(1, 0),
    await store.countDays({ appId: 1, sinceHour: 0, pageName: '' }),
    await store.countNewPeople('acc_1', '2026-05'),
  ]
}

const STEPS: ((store: Store) => Promise<unknown>)[] = [
  (store) => store.createAccount(newAccount()),
  (store) => store.saveMessages({ ...app, drafts: [draft('One')] }),
  (store) => store.saveMessages({ ...app, drafts: [after('One')] }),
  async (store) => {
    const id = (await store.findMessageByName(1, 'One'))?.id ?? 0
    return [
      await store.saveMessages({ ...app, drafts: [draft('Uno', id)] }),
      await store.listVersions(id, { before: null, limit: 9 }),
      await store.listVersionsById([{ messageId: id, version: 1 }]),
      await store.listStatusChanges([{ id, accountId: 'acc_1' }]),
      await store.readResults(id, days),
    ]
  },
  (store) => store.listMessages(1),
  (store) => store.listMailLanguages(1),
  (store) => store.listUsedTopics(1),
  (store) => store.saveTopic({ ...app, id: null, name: 'abc', description: null }),
  (store) => store.addContact(contactWrite({ fields: { plan: 'pro' }, tags: ['b', 'a'] })),
  async (store) => {
    const id = (await store.findContact(1, 'ada@example.com'))?.id ?? 0
    const [news] = await store.listTopics(1)
    return [
      await store.chooseTopics({ contactId: id, end: ['News', 'abc'], resume: [], actor: 'mem_1', at: AT + 1 }),
      await store.saveTopic({ ...app, id: news?.id ?? 0, name: 'Weekly', description: 'd' }),
      await store.listEndedTopics(1, 'ada@example.com'),
      await store.updateContact(contactWrite({ fields: { plan: 'free', n: 1.5 }, removeTags: ['a'], at: AT + 5 })),
      await store.listContactChanges(id, null, 9),
    ]
  },
  (store) => store.listUsedTopics(1),
  (store) => store.suppress({ appId: 1, email: 'ada@example.com', reason: 'unsubscribed', at: AT + 6 }),
  (store) => store.suppress({ appId: 1, email: 'ada@example.com', reason: 'bounced', at: AT + 7 }),
  async (store) =>
    (await store.listSuppressions({ appId: 1, reason: null, before: null, limit: 9 })).map(
      ({ emailHash: _, ...row }) => row,
    ),
  (store) => store.countSuppressions({ appId: 1, reason: null, start: 'ada' }, 9),
  (store) => store.unsuppress({ appId: 1, email: 'ada@example.com', at: AT + 8 }),
  (store) => store.saveSuppressionSync({ ...app, sync: { provider: 'p', added: 1, known: 2, unread: 3, fault: null } }),
  (store) => store.findSuppressionSync(1),
  (store) => store.readAppResults(1, days),
  (store) => store.countProblems(1, days, ['template']),
  (store) => store.countDeferred(1, ['brake']),
  (store) => store.hasSentEmail(1),
  (store) =>
    store.setMailSettings({ ...app, settings: { complaintLimit: 0.25, fromEmail: 'a@x.example', optIn: null } }),
  (store) => store.mailSettings(1),
  (store) => store.addNotes([{ appId: 1, kind: 'old_secret', count: 2, lastAt: AT, reason: 'a', origin: null }]),
  (store) => store.addNotes([{ appId: 1, kind: 'old_secret', count: 3, lastAt: AT - 1, reason: 'b', origin: 'o' }]),
  (store) => store.listNotes(1),
  (store) => store.listOwners('acc_1'),
  (store) => store.claimSummary({ membershipId: 'own_1', from: null, to: AT }),
  (store) => store.claimSummary({ membershipId: 'own_1', from: null, to: AT }),
  (store) => store.saveDomainCheck({ appId: 1, domain: 'd', sender: '{}', checks: '[]', checkedAt: AT }),
  (store) => store.findDomainCheck(1, 'd'),
  (store) => store.saveReceivedMail({ appId: 1, domain: 'd', seen: '{}', seenAt: AT }),
  (store) => store.listReceivedMails(1),
  (store) => store.bindSenderDomain({ ...BY, domain: 'd', proof: 'dkim' }),
  (store) => store.senderFacts('acc_1'),
  (store) => store.touch({}),
  (store) => store.touch({}),
  (store) => store.installValue('touched'),
  (store) => store.checkBrakes({ at: AT }),
  (store) => store.releaseBrake({ ...BY, appId: 1 }),
  (store) => store.runSchedules({ at: AT }),
  (store) => store.hasScheduledWork(AT),
  (store) =>
    store.saveLimitWaits({
      waits: [
        { appId: 1, from: 1, until: 2 },
        { appId: 1, from: 1, until: 3 },
      ],
    }),
  (store) => store.summarizeQueue(AT),
  (store) => store.countRefusals(0),
  (store) => store.findNewestTime(),
  (store) => store.listBackups(9),
  async (store) => {
    for (const index of Array(5).keys())
      done(await store.recordEvent(eventWrite({ name: 'done', email: `p${index}@example.com` })))
  },
  readCounts,
  sendAll,
  readCounts,
  async (store) => {
    const addresses = Array.from({ length: 3 }, (_, index) => `p${index}@example.com`)
    // suppressions of the same time are in the order of their hashes, which are random
    for (const [index, email] of addresses.entries())
      await store.reportAddress({ appId: 1, email, kind: 'bounced', reason: 'gone', at: AT + 2 * HOUR + index })
  },
  readCounts,
  (store) => store.eraseContact({ ...app, email: 'p1@example.com', at: AT + 3 * HOUR }),
  readCounts,
]

async function compare(steps: readonly ((store: Store) => Promise<unknown>)[]): Promise<void> {
  for (const [index, step] of steps.entries()) {
    const [one, other] = [await step(stores[0] as Store), await step(stores[1] as Store)]
    expect([index, String(step), other]).toEqual([index, String(step), one])
    expect(JSON.stringify(other) ?? '').not.toContain('internal_error')
  }
}

test('both engines answer alike', () => compare(STEPS), 60_000)

const request = (changes: Partial<NewRequest> = {}): NewRequest => ({
  pool: 'refused',
  accountId: 'acc_1',
  appId: 1,
  caller: 'key_1',
  at: AT,
  method: 'POST',
  path: '/api/v1/events',
  tool: null,
  status: 401,
  code: 'invalid_api_key',
  field: null,
  requestId: 'req_1',
  count: 3,
  ...changes,
})
const call = { accountId: 'acc_1', keyId: 'key_1', tool: 't', outcome: 'ok', ms: 3, client: null, calledAt: AT }
const alert = { id: 'alt_1', kind: 'k', subject: 's', accountId: null, title: 't', detail: '', fix: '', path: '/' }

/** Something for each read to find. */
const FILLING: ((store: Store) => Promise<unknown>)[] = [
  (store) => store.recordEvent(eventWrite({ name: 'done', properties: '{"a":1}', idempotency: idempotency() })),
  (store) => store.recordEvent(eventWrite({ email: 'bob@example.com', name: 'done', lastName: 'Böb', at: AT + HOUR })),
  (store) => store.recordVisitReport(visitReportWrite({ at: AT + 9 })),
  (store) =>
    store.addRequests([
      request(),
      request({ count: 4, at: AT + 1 }),
      request({ status: 400, code: 'invalid', field: 'email', requestId: 'req_2' }),
      request({ pool: 'accepted', status: 200, code: null, requestId: 'req_3', count: 1 }),
    ]),
  (store) => store.addCalls([call, { ...call, calledAt: AT + 1 }]),
  (store) => store.saveAlerts({ alerts: [{ ...alert, openedAt: AT, resolvedAt: null, notices: [] }] }),
  (store) => store.unsuppress({ appId: 1, email: 'bob@example.com', at: AT + 8 }),
  (store) => store.revokeKey({ ...BY, keyId: 'key_1' }),
]

type Found = { ada: number; event: number; message: number; delivery: number }

async function findIds(store: Store): Promise<Found> {
  const { rows } = await store.listEvents({ appId: 1, contactId: null, name: 'done', before: null, limit: 1 })
  const [delivery] = await store.listDeliveries({ ...ALL_DELIVERIES, limit: 1 })
  return {
    ada: (await store.findContact(1, 'ada@example.com'))?.id ?? 0,
    event: rows[0]?.id ?? 0,
    message: (await store.findMessageByName(1, 'Uno'))?.id ?? 0,
    delivery: delivery?.id ?? 0,
  }
}

const ALL_DELIVERIES = { appId: 1, messageId: null, contactId: null, states: null, before: null, limit: 9 }
const ALL_REQUESTS = {
  kind: 'all' as const,
  status: null,
  code: null,
  field: null,
  caller: null,
  appIds: null,
  since: null,
  until: null,
  accountIds: ['acc_1'],
  before: null,
  after: 0,
  limit: 9,
}
const FILTER = { search: null, tag: null, status: null, field: null, event: null, seen: null, email: null }
const ANYONE = { appId: 1, filter: FILTER, sort: 'newest' as const, after: null, limit: 9, isCounted: true }
const SINCE = { appId: 1, sinceHour: 0, limit: 9 }

type Own =
  | keyof Instances
  | WriteName
  | `on${'ForeignWrite' | 'LimitUse' | 'Broken' | 'Fault' | 'Commit'}`
  | 'close'
  | 'canCommit'
  | 'stats'
  | 'removeOldCopies'
  | 'arrangePartitions'
  | 'schemaVersion'
  | 'listRisks'
type ReadName = Exclude<keyof Store, Own>
/** The arguments that each read is called with. One that is missing doesn't compile. */
type Calls = { [Name in ReadName]: Parameters<Store[Name]>[] }

const callsOf = ({ ada, event, message, delivery }: Found): Omit<Calls, 'decideDelivery'> => ({
  planDryRun: [[{ name: 'recordEvent', input: eventWrite({ name: 'done', at: AT + 2 * HOUR }) }]],
  listTopics: [[1]],
  listUsedTopics: [[1]],
  findTopicByName: [[1, 'abc']],
  listEndedTopics: [[1, 'ada@example.com']],
  listEndedNames: [[1, ['ada@example.com', 'bob@example.com']]],
  findTopicEnd: [[1, 'ada@example.com', 'abc']],
  findSuppression: [[1, 'ada@example.com']],
  findSuppressed: [[1, 'ada@example.com']],
  findSuppressionSync: [[1]],
  listSuppressions: [[{ appId: 1, reason: null, before: null, limit: 9 }]],
  searchSuppressions: [[{ appId: 1, start: 'a', limit: 9 }]],
  countSuppressions: [[{ appId: 1, reason: null, start: null }, 9]],
  listDueApps: [[{ now: AT + DAY }]],
  listSends: [[[delivery]]],
  listDeliveries: [
    [ALL_DELIVERIES],
    [{ ...ALL_DELIVERIES, contactId: ada }],
    [{ ...ALL_DELIVERIES, messageId: message }],
  ],
  listReasons: [[1]],
  countMatching: [[ALL_DELIVERIES]],
  listDeliveriesOfEvent: [[{ appId: 1, contactId: ada, eventId: event }]],
  listDeliveriesById: [[[delivery]]],
  findWork: [[delivery]],
  listHanded: [[{ appId: 1, contactId: ada, id: delivery }, 0]],
  lastHandedAt: [[{ appId: 1, contactId: ada, messageId: message }]],
  findCaptured: [[1, delivery]],
  listCaptured: [[1, null, 9]],
  countDeferred: [[1, ['brake']]],
  hasSentEmail: [[1]],
  countProblems: [[1, days, ['template']]],
  readAppResults: [[1, days]],
  readResults: [[message, days]],
  hasDeliveries: [[message]],
  countDeliveries: [[message]],
  countEmails: [[message]],
  countEmailsOf: [[[message]]],
  listMailDays: [[1, 0]],
  findBrake: [[1]],
  findBrakeRelease: [[1]],
  findDomainCheck: [[1, 'd']],
  listReceivedMails: [[1]],
  senderFacts: [['acc_1']],
  listSenderDomains: [[]],
  listSenders: [[]],
  hasScheduledWork: [[AT]],
  mailSettings: [[1]],
  listMailSettings: [[]],
  listOwnServers: [[]],
  listSmtpUrls: [[]],
  listMailLanguages: [[1]],
  countLiveWithoutSender: [[]],
  listMessages: [[1]],
  findMessage: [[1, message]],
  findMessageByName: [[1, 'Uno']],
  findVersion: [[message, 1]],
  listVersionsById: [[[{ messageId: message, version: 2 }]]],
  listStatusChanges: [[[{ id: message, accountId: 'acc_1' }]]],
  listVersions: [[message, { before: null, limit: 9 }]],
  listOutcomes: [[{ at: AT, keyId: 'key_1', key: 'once' }]],
  findOutcomes: [[{ at: AT, keyId: 'key_1', key: 'once', bodyHash: 'body', part: null }]],
  hasStored: [
    [1, 'events', AT + DAY],
    [1, 'pageViews', AT + DAY],
    [1, 'captured', AT + DAY],
  ],
  findRetention: [[1]],
  findExpired: [[1]],
  listRequests: [[ALL_REQUESTS]],
  countRequests: [[ALL_REQUESTS]],
  findRequests: [[['acc_1'], 'req_1']],
  listRevokedUses: [['acc_1', 0]],
  summarizeRefusals: [[{ accountIds: ['acc_1'], appId: 1, since: 0 }]],
  listCalls: [['acc_1', 9]],
  countNames: [[1, 0]],
  countByHour: [
    [1, null, 0],
    [1, 'done', 0],
  ],
  countByDay: [
    [1, null, 0],
    [1, 'done', 0],
  ],
  listNames: [[{ ...SINCE, after: '' }]],
  listTopNames: [[SINCE]],
  countDays: [[{ ...SINCE, pageName: 'page_view' }]],
  countPeopleByDay: [[1, 0]],
  countNewPeople: [['acc_1', '2026-05']],
  listUsage: [[0]],
  latestActivity: [[1]],
  listPersonReports: [[{ contactId: ada, before: null, limit: 9 }]],
  listBatchSizes: [[0]],
  listReports: [[1, ada, 0]],
  lastDoneAt: [[{ appId: 1, contactId: ada, name: 'done', since: 0, exceptId: null }]],
  lastActiveAt: [[ada]],
  listViews: [[ada, 0]],
  firstViewAt: [[ada]],
  findEvent: [[1, event]],
  listEvents: [
    [{ appId: 1, contactId: null, name: null, before: null, limit: 9 }],
    [{ appId: 1, contactId: ada, name: null, before: null, limit: 9 }],
  ],
  findConsent: [[1]],
  listConsents: [[ada]],
  findWording: [[1, 'v']],
  findStatusChange: [[ada]],
  listContactChanges: [[ada, null, 9]],
  suggestFilters: [[1]],
  findPeople: [
    [ANYONE],
    [{ ...ANYONE, filter: { ...FILTER, search: 'bob' }, sort: 'name' }],
    [{ ...ANYONE, filter: { ...FILTER, field: { name: 'plan', value: 'free' } }, sort: 'email' }],
    [{ ...ANYONE, filter: { ...FILTER, event: { name: 'done', isDone: false } }, sort: 'seen' }],
  ],
  contactIndexShare: [[]],
  byId: [[ada]],
  findWithTimes: [[ada]],
  storedById: [[ada]],
  listSeenContacts: [[[ada]]],
  listContactsById: [[[ada]]],
  findContact: [[1, 'ada@example.com']],
  listFieldValues: [[1, { name: 'plan', most: 9 }]],
  countFieldPeople: [[1, { name: 'plan', values: ['free', 'pro'], most: 9 }]],
  listContacts: [[{ appId: 1, tag: null, updatedAfter: null, before: null, limit: 9 }]],
  listNotes: [[1]],
  installValue: [['touched']],
  findLastGoodBackup: [[true]],
  findLastFailedBackup: [[]],
  listBackups: [[9]],
  listAudit: [[{ accountId: 'acc_1', kind: 'all', before: null, limit: 99 }]],
  findTwoStep: [['mem_1']],
  listTwoStepOn: [[['mem_1']]],
  findSession: [['hash']],
  listSessions: [['mem_1']],
  findMember: [['owner1@example.com']],
  listMembers: [['acc_1']],
  listAppAccess: [['mem_1']],
  findMemberLink: [['hash', AT]],
  hasLink: [['hash', 'setup', AT]],
  findKey: [['hash_1']],
  findRevokedKey: [['hash_1']],
  listKeys: [['acc_1']],
  listSecrets: [['acc_1', 0]],
  listApps: [['acc_1']],
  listAllApps: [[]],
  findApp: [[1]],
  findAppByPublicId: [['app_1']],
  findAppBySiteId: [['site_1']],
  snippetSettings: [[1]],
  findAppsByHost: [[['app1.example.com']]],
  listOwners: [['acc_1']],
  listInvitedOwners: [['acc_1']],
  findWeeklySummary: [['own_1']],
  listBrakes: [[]],
  listWaitingApps: [[]],
  summarizeQueue: [[AT + DAY]],
  countRefusals: [[0]],
  findNewestTime: [[]],
  listAlerts: [[9]],
  findOpenAlert: [['k', 's']],
  listLastReports: [[1]],
  countSoftBounces: [[ada, 0]],
  findAccount: [['acc_1']],
  isSetUp: [[]],
  listAccounts: [[]],
  findAccess: [['hash_1']],
  findSite: [['site_1', 0]],
})

/** Random for each store: ids of the history, and hashes. */
const withoutRandom = (name: string, value: unknown): unknown =>
  name === 'emailHash' || (name === 'id' && /^\w+_[\w-]{10,}$/.test(String(value))) ? undefined : value
const plain = (answer: unknown): unknown => JSON.parse(JSON.stringify(answer ?? null, withoutRandom))
/** Their callers don't ask for an order. */
const UNORDERED: ReadonlySet<string> = new Set<ReadName>(['countRefusals'])
const inOrder = (rows: unknown): unknown =>
  Array.isArray(rows) ? rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : rows

test('both engines answer each read alike', async () => {
  await compare(FILLING)
  const found = await findIds(stores[0] as Store)
  expect(Object.values(found).every((id) => id > 0)).toBe(true)
  const differing: unknown[] = []
  for (const [name, calls] of Object.entries(callsOf(found))) {
    for (const args of calls) {
      const [one, other] = await Promise.all(
        stores.map(async (store) => {
          const read = store[name as ReadName] as (...args: unknown[]) => Promise<unknown>
          const answer = plain(await read(...args).catch((error: unknown) => String(error)))
          return UNORDERED.has(name) ? inOrder(answer) : answer
        }),
      )
      if (!Bun.deepEquals(one, other)) differing.push([name, one, other])
    }
  }
  expect(differing).toEqual([])
  await compare([
    async (store) => {
      const work = await store.findWork(found.delivery)
      return work && plain(await store.decideDelivery(work, AT + DAY))
    },
  ])
  expect(await stores[1]?.listRevokedUses('acc_1', 0)).toEqual([{ keyId: 'key_1', name: 'First key', count: 7 }])
}, 120_000)

test('both engines clean up alike', () => compare([(store) => store.cleanUp({ at: AT + 400 * DAY })]), 60_000)
