/** How many SQL statements a page of deliveries and the sending of an email take. */
import { PAGE_ROWS } from '../../src/dashboard/deliveries/deliveries-live.tsx'
import { Database, type Statement } from 'bun:sqlite'
import { afterAll, beforeEach, expect, test } from 'bun:test'
import type { MessageContent } from '../../src/store/message-types.ts'
import { useClosing } from '../closing.ts'
import { appOf, openAccount } from '../dashboard/browser.ts'
import { MAIL, putMessage, sendEvent } from '../dashboard/messages/mailing.ts'
import { textOf } from '../dashboard/pages.ts'
import { startSending } from '../mail/sending.ts'
import { callTool } from '../mcp/client.ts'

const MOST_OF_PAGE = 12
/** With one commit for each email: how many emails share one depends on how busy the machine is. */
const MOST_OF_EMAIL = 15
const OF_COMMIT = ['BEGIN IMMEDIATE', 'COMMIT', 'PRAGMA data_version', 'SELECT 1 FROM timeline_runs LIMIT 1']

/** What ran since `beforeEach`, by its text. */
const ran = new Map<string, number>()
const note = (text: string): void => void ran.set(text, (ran.get(text) ?? 0) + 1)

const { query, run, transaction } = Database.prototype
const CALLS = ['all', 'get', 'run', 'values', 'iterate', 'raw'] as const
type Calls = Record<string, (...values: never[]) => unknown>

const counted = new WeakSet<Statement>()

/** Every statement that is prepared from now on says when it runs; the store prepares with `query`, which caches. */
Database.prototype.query = function (this: Database, text: string) {
  const statement = query.call(this, text)
  if (counted.has(statement)) return statement
  counted.add(statement)
  const calls = statement as unknown as Calls
  for (const name of CALLS) {
    const call = calls[name]
    if (call === undefined) continue
    calls[name] = (...values: never[]) => {
      note(text)
      return call.apply(statement, values)
    }
  }
  return statement
} as typeof query
Database.prototype.run = function (this: Database, text: string, ...values: never[]) {
  note(text)
  return run.call(this, text, ...values)
} as typeof run
// it prepares BEGIN and COMMIT by itself
Database.prototype.transaction = function (this: Database, inside: (...args: never[]) => unknown) {
  return transaction.call(this, (...args: never[]) => {
    for (const text of ['BEGIN', 'COMMIT']) note(text)
    return inside(...args)
  })
} as typeof transaction

afterAll(() => Object.assign(Database.prototype, { query, run, transaction }))
beforeEach(() => ran.clear())

const keep = useClosing()

async function countDuring(work: () => Promise<unknown>): Promise<number> {
  ran.clear()
  await work()
  return [...ran.values()].reduce((sum, n) => sum + n, 0)
}

/** With the statements that ran most often, where they are too many. */
function expectAtMost(count: number, most: number): void {
  const often = [...ran].sort(([, a], [, b]) => b - a).slice(0, 20)
  const shown = often.map(([text, n]) => `${n} ${text.replaceAll(/\s+/g, ' ').slice(0, 120)}`)
  expect(count <= most ? [] : [`${count} statements`, ...shown]).toEqual([])
}

/** Two events of each person share an email, but for the last. */
const COLLECTING: MessageContent = { ...MAIL, again: { once: 'property', property: 'url', collect: { minutes: 30 } } }

test.each<[string, number]>([
  ['among the newest', 10],
  ['that are all', 0],
])(`a page of ${PAGE_ROWS} deliveries %s in the dashboard`, async (_, more) => {
  const pages = keep(await openAccount())
  const [app, browser] = [await appOf(pages), await pages.signedIn()]
  await putMessage(pages, { app, content: COLLECTING })
  for (let i = 0; i < PAGE_ROWS + more; i++) {
    const properties = { headline: 'Ready', url: `https://first.example/${i}` }
    await sendEvent(pages, { app, email: `p${i >> 1}@example.com`, properties })
  }
  // the first request of a session notes its use
  await browser.get(pages.at('events'))
  let html = ''
  const count = await countDuring(async () => ({ html } = await browser.get(pages.at('deliveries'))))
  expect(await textOf(html, '.feed .who')).toHaveLength(PAGE_ROWS)
  expect((await textOf(html, '.feed .badge')).filter((state) => state !== 'Waiting')).toHaveLength(PAGE_ROWS / 2)
  expectAtMost(count, MOST_OF_PAGE)
})

test('a page of 50 deliveries over MCP', async () => {
  const sending = keep(await startSending())
  await sending.sendEvents(50)
  const args = { app: sending.app.publicId, limit: 50 }
  let listed: { email?: string }[] = []
  const count = await countDuring(async () => {
    const { data } = await callTool(sending, 'list_deliveries', args)
    listed = data.data as typeof listed
  })
  // as many as fit into an answer
  expect(listed.length).toBeGreaterThan(25)
  expect(listed[0]?.email).toBe('p49@example.com')
  expectAtMost(count, MOST_OF_PAGE)
})

test('messages are read for their topics once by the page of a link, and never to send an email', async () => {
  const sending = keep(await startSending({ topic: 'Tips' }))
  const readings = () => [...ran].flatMap(([text, count]) => (text.includes("'$.topic'") ? [count] : []))
  await sending.sendEvent('ada@example.com')
  await countDuring(sending.sendDue)
  expect(readings()).toEqual([])
  const url = /^List-Unsubscribe: <(.*)>\r$/m.exec(unfold(sending.server.received[0]?.raw))?.[1] ?? ''
  for (const [path, times] of [
    ['', [1]],
    ['/look.css', []],
  ] as const) {
    await countDuring(() => sending.send(new Request(`${url}${path}`)))
    expect(readings()).toEqual([...times])
  }
})

const unfold = (raw = ''): string => raw.replaceAll(/\r\n[ \t]+/g, ' ')

test('an email from claim to end', async () => {
  const sending = keep(await startSending())
  await sending.sendEvents(PAGE_ROWS)
  const count = await countDuring(sending.sendDue)
  const ofCommits = OF_COMMIT.reduce((sum, text) => sum + (ran.get(text) ?? 0), 0)
  expectAtMost((count - ofCommits) / PAGE_ROWS + OF_COMMIT.length, MOST_OF_EMAIL)
  expect(await sending.states()).toEqual({ sent: PAGE_ROWS })
})
