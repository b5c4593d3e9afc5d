/** Shared: recorded events and members who view them. */
import type { AppRow } from '../../../src/accounts/access.ts'
import { type AccountPages, appOf, openAccount } from '../browser.ts'
import { textOf } from '../pages.ts'

type Happened = {
  email?: string
  name?: string
  firstName?: string
  properties?: object
  path?: string
  /** ms UTC; default: now */
  at?: number
  occurredAt?: number
}

/** Records an event, which adds the person; with a path, a page view. */
export async function recordEvent(
  { store, clock }: Pick<AccountPages, 'store' | 'clock'>,
  { id: appId, accountId }: AppRow,
  {
    email = 'bob@example.com',
    name = 'results_ready',
    firstName,
    properties,
    path,
    at = clock.now(),
    occurredAt,
  }: Happened,
) {
  const outcome = await store.recordEvent({
    accountId,
    appId,
    email,
    shownEmail: null,
    newPeoplePerMonth: null,
    createContact: true,
    firstName: firstName ?? null,
    lastName: null,
    type: path === undefined ? 'event' : 'page',
    name,
    properties: properties ? JSON.stringify(properties) : null,
    path: path ?? null,
    via: path === undefined ? 'api' : 'browser',
    at,
    occurredAt: occurredAt ?? null,
    limits: [],
    idempotency: null,
  })
  if ('refusal' in outcome) throw new Error(outcome.refusal)
  return outcome
}

export type EventPages = Awaited<ReturnType<typeof openEvents>>

export async function openEvents() {
  const pages = await openAccount()
  const browser = await pages.signedIn()
  const app = await appOf(pages)
  return {
    ...pages,
    browser,
    record: (event: Happened) => recordEvent(pages, app, event),
    see: async (query = ''): Promise<string> => (await browser.get(pages.at(`events${query}`))).html,
  }
}

export const namesOf = async (html: string): Promise<string[]> =>
  (await textOf(html, '.what')).map((name) => name.trim())
export const leadOf = async (html: string): Promise<string | undefined> => (await textOf(html, '.lead'))[0]
