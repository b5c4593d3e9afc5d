/** What the browser script sends, as the tests of POST /c make it. */
import { expect } from 'bun:test'
import {
  type Account,
  type Answer,
  createTestServer,
  EVENTS,
  type Options,
  type TestServer,
  useSharedServer,
} from '../helper.ts'
import { signEmail } from '../../src/accounts/identity.ts'
import type { AppRow, KeyAccess } from '../../src/accounts/access.ts'
import { findAppSettings, saveAppSettings } from '../../src/accounts/app-settings.ts'
import type { Clock } from '../../src/core/clock.ts'
import type { Store } from '../../src/store/store.ts'
import type { SnippetSettings } from '../../src/store/types.ts'
import { VISIT_REPORT_MS } from '../../src/store/visit-reports.ts'
import { type Presence, presenceAt } from '../../src/visits/presence.ts'

export const ORIGIN = 'https://app.first.example'

let count = 0
/** An id that no batch had before. */
export const newBatchId = (): string => `load.${(count += 1)}`

export const page = (path = '/results', age = 0) => ({ type: 'page', path, age })
export const leave = (path = '/results', age = 0) => ({ type: 'leave', path, age })
export const here = (path = '/results', age = 0) => ({ type: 'here', path, age })
export const track = (name: string, path = '/results', age = 0) => ({ type: 'track', name, path, age })

/** A batch of one page view of Ada, signed with the account's secret. */
export const report = (account: Pick<Account, 'siteId' | 'identitySecret'>, more: Record<string, unknown> = {}) => ({
  v: 1,
  site: account.siteId,
  email: 'ada@example.com',
  signature: signEmail(String(more.email ?? 'ada@example.com'), account.identitySecret),
  id: newBatchId(),
  events: [page()],
  ...more,
})

export type Sent = { headers?: Record<string, string>; address?: string }

/** Sends a body as the script does: text, and no key. */
export const send = (
  server: TestServer,
  body: object | string,
  { headers = {}, address }: Sent = {},
): Promise<Answer> =>
  server.call('POST', '/c', {
    body,
    key: null,
    address,
    headers: { 'Content-Type': 'text/plain;charset=UTF-8', Origin: ORIGIN, ...headers },
  })

export async function addPerson(
  server: TestServer,
  email = 'ada@example.com',
  account = server.first,
): Promise<string> {
  const body = { newsletter: account.appId, email }
  const answer = await server.call('POST', '/api/v1/contacts', { body, key: account.apiKey })
  return String(answer.body.contactId)
}

/** A server whose first app knows Ada. */
export async function openWithAda(options: Options = {}): Promise<TestServer> {
  const server = await createTestServer(options)
  await addPerson(server)
  return server
}

/** As `openWithAda`, on one server for the tests of a file. */
export function useSharedWithAda(): () => Promise<TestServer> {
  const openServer = useSharedServer()
  return async () => {
    const server = await openServer()
    await addPerson(server)
    return server
  }
}

/** All that is stored of an app, newest first. */
export async function listEvents(server: TestServer, account = server.first): Promise<Record<string, unknown>[]> {
  const answer = await server.call('GET', `${EVENTS}?app=${account.appId}&limit=100`, { key: account.apiKey })
  return answer.body.data ?? []
}

export async function appOf(server: TestServer, account = server.first): Promise<AppRow> {
  const [app] = await server.parts().store.listApps(account.accountId)
  if (!app) throw new Error('the account has no app')
  return app
}

export async function saveSnippet(
  deps: { store: Store; clock: Clock; access: KeyAccess },
  app: AppRow,
  snippet: SnippetSettings,
): Promise<void> {
  const basedOn = await findAppSettings(deps.store, app)
  const change = { settings: { ...basedOn, snippet }, basedOn, actor: 'test' }
  expect(await saveAppSettings(deps, app, change)).toEqual({ done: true })
}

export async function readPresence(
  { store, clock }: { store: Store; clock: Clock },
  { appId, contactId }: { appId: number; contactId: number },
  quietMs?: number,
): Promise<Presence> {
  const now = clock.now()
  return presenceAt(await store.listReports(appId, contactId, now - VISIT_REPORT_MS), now, quietMs)
}

/** Headers that every status has, and none of those that would let a page act for someone. */
export function expectOpen({ status, headers }: Answer): void {
  const shown = (name: string) => headers.get(name)
  expect([status, shown('access-control-allow-origin'), shown('access-control-expose-headers')]).toEqual([
    status,
    '*',
    'Retry-After',
  ])
  expect([...headers.keys()].filter((name) => /cookie|credentials/.test(name))).toEqual([])
  expect(shown('x-content-type-options')).toBe('nosniff')
}

export async function expectNothingSaved(server: TestServer, run: () => Promise<void>): Promise<void> {
  const before = await listEvents(server)
  await run()
  expect(await listEvents(server)).toEqual(before)
}

export function expectNo(answer: Answer, status: number, body: Record<string, unknown>): void {
  expect([answer.status, answer.body]).toEqual([status, body])
  expect(answer.headers.get('x-request-id')).toBe(String(answer.body.requestId))
  expectOpen(answer)
}
