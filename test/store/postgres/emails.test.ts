/** That each email leaves once, wherever the way to PostgreSQL breaks. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { systemClock } from '../../../src/core/clock.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import type { Sender } from '../../../src/mail/sender.ts'
import { Unavailable } from '../../../src/store/engine/errors.ts'
import { connectPostgres, DEADLINES, type Postgres } from '../../../src/store/postgres/connection.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type Fate, type Proxy, startProxy } from '../../cluster/proxy.ts'
import { createTestSender, LOOPBACK_HOSTS } from '../../helper.ts'
import { type MailServer, startMailServer } from '../../mail/mail-server.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { BY, done, eventWrite, newAccount } from '../samples.ts'

/** Short, so that what never answers is given up soon. */
const SOON = { ...DEADLINES, statementMs: 2_000, answerMs: 2_500, commitMs: 1_500, waitMs: 1_500 }
const EMAILS = 10

let server: PostgresServer
let proxy: Proxy
let admin: Postgres
let mail: MailServer
/** through the proxy */
let cut: Instance
let other: Instance
let people = 0

type Instance = { store: Store; sender: Sender }

const locationOf = (port: number) => ({
  url: server.url('postgres').replace(`:${server.port}`, `:${port}`),
  connections: 4,
  // with its text in each message
  prepares: false,
})

async function startInstance(port: number): Promise<Instance> {
  const store = await openPostgresStore(locationOf(port), { rules: STORE_RULES, deadlines: SOON })
  const sender = createTestSender(
    { store, clock: systemClock },
    {
      claimedBy: store.instanceId,
      defaults: { smtpUrl: mail.url, from: 'Demo <hello@first.example>' },
      privateHosts: LOOPBACK_HOSTS,
      // reads fail while the way is cut
      onFault: () => {},
    },
  )
  return { store, sender }
}

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off', max_connections: '60' })
  proxy = await startProxy(() => [{ host: '127.0.0.1', port: server.port }])
  mail = await startMailServer()
  admin = connectPostgres({ ...locationOf(server.port), connections: 1 })
  other = await startInstance(server.port)
  done(await other.store.createAccount(newAccount()))
  const draft = {
    id: null,
    name: 'M',
    status: 'live',
    content: {
      trigger: { event: 'results_ready' },
      ifUnconfirmed: 'leave',
      mail: { subject: 'S', body: 'B', category: 'transactional' },
    },
  } as const
  done(await other.store.saveMessages({ ...BY, appId: 1, drafts: [draft] }))
  cut = await startInstance(proxy.port)
}, 240_000)
afterEach(() => {
  proxy.pass()
  proxy.heal()
})
afterAll(async () => {
  for (const one of [cut, other]) {
    await one?.sender.stop()
    await one?.store.close()
  }
  await mail?.stop()
  await proxy?.stop()
  await admin?.close()
  await server?.stop()
})

async function queue(): Promise<string[]> {
  const emails = Array.from({ length: EMAILS }, () => `p${(people += 1)}@example.com`)
  const at = systemClock.now()
  await Promise.all(emails.map(async (email) => done(await other.store.recordEvent(eventWrite({ email, at })))))
  return emails
}

const statesOf = async (): Promise<Record<string, number>> => {
  const rows = await admin.run(
    'SELECT state, reason, count(*) AS count FROM deliveries GROUP BY 1, 2 ORDER BY 1, 2',
    [],
  )
  return Object.fromEntries(rows.map(({ state, reason, count }) => [`${state} ${reason}`, Number(count)]))
}

/** What waits for a later attempt is due now. */
const bringForward = (): Promise<unknown> => admin.run("UPDATE deliveries SET due_at = 1 WHERE state = 'deferred'", [])
/** The fate of the commit, or of the statement, of a transaction with such a statement. */
function meet(statement: RegExp, at: 'statement' | 'commit', fate: Fate): { isMet: () => boolean } {
  let [isInside, isMet] = [false, false]
  proxy.onRequest((text) => {
    if (isMet) return 'pass'
    isInside ||= statement.test(text)
    if (!isInside || (at === 'commit' && !/COMMIT(?!TED)/.test(text))) return 'pass'
    isMet = true
    return fate
  })
  return { isMet: () => isMet }
}

const STATEMENTS = {
  'a claim': /SET state = 'claimed'/,
  'a hand-over': /SET state = 'handed'/,
  'a sent email': /UPDATE deliveries SET state = \$1[^]*sent/,
}

/** A round that can't read what is due ends, as the sender's next round begins. */
const passUnavailable = (error: unknown): void => {
  if (!(error instanceof Unavailable)) throw error
}

describe.each(Object.entries(STATEMENTS))('the way to the database breaks at %s', (_, statement) => {
  test.each([
    ['statement', 'cut'],
    ['commit', 'cut'],
    ['commit', 'cutAnswers'],
    ['commit', 'swallowAnswers'],
  ] as const)(
    '%s, %s: each email arrives once',
    async (at, fate) => {
      await admin.run('DELETE FROM deliveries', [])
      const emails = await queue()
      const before = mail.received.length
      const { isMet } = meet(statement, at, fate)
      for (let round = 0; round < 3; round += 1) {
        await cut.sender.sendDue().catch(passUnavailable)
        await bringForward()
      }
      expect(isMet()).toBe(true)
      await other.sender.sendDue()
      const counts = Map.groupBy(mail.received.slice(before), ({ to }) => to[0] ?? '')
      expect(emails.map((email) => counts.get(email)?.length ?? 0)).toEqual(emails.map(() => 1))
      expect(await statesOf()).toEqual({ 'sent null': EMAILS })
    },
    120_000,
  )
})
