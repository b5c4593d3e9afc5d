/** What writes and reads answer when PostgreSQL, or the way to it, fails; and that the next ones work. */
import { isLong } from '../../long-form.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { readEventText } from '../../../src/events/event-input.ts'
import { Unavailable } from '../../../src/store/engine/errors.ts'
import { connectPostgres, DEADLINES, type Postgres } from '../../../src/store/postgres/connection.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { type Proxy, startProxy } from '../../cluster/proxy.ts'
import { contactWrite, done, eventWrite, idempotency, newAccount } from '../samples.ts'

const CONNECTIONS = 4
const FAULTS = isLong ? 200 : 30
const OUTAGE_MS = isLong ? 12_000 : 4_000
const OPTIONS = { readEvent: readEventText, rules: STORE_RULES }
/** Short, so that what never answers is given up soon. */
const SOON = { ...DEADLINES, statementMs: 4_000, answerMs: 5_000, commitMs: 3_000 }

let server: PostgresServer
let proxy: Proxy
let admin: Postgres
/** through the proxy */
let store: Store
let postgres: Postgres
let people = 0
const newEmail = (): string => `person${(people += 1)}@example.com`

const locationOf = (port: number) => ({
  url: server.url('postgres').replace(`:${server.port}`, `:${port}`),
  connections: CONNECTIONS,
  prepares: true,
})

const countOf = async (text: string): Promise<number> =>
  Number((await admin.run(`SELECT count(*) AS n ${text}`, []))[0]?.n)
const countEvents = (email: string): Promise<number> =>
  countOf(`FROM events JOIN contacts ON contacts.id = contact_id WHERE email = '${email}'`)
const OURS = "FROM pg_stat_activity WHERE application_name = 'eventpost' AND backend_type = 'client backend'"
const endAll = (): Promise<unknown> =>
  admin.run(`SELECT pg_terminate_backend(pid) ${OURS} AND pid <> pg_backend_pid()`, [])

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off', max_connections: '40' })
  proxy = await startProxy(() => [{ host: '127.0.0.1', port: server.port }])
  const first = await openPostgresStore(locationOf(server.port), OPTIONS)
  done(await first.createAccount(newAccount()))
  await first.close()
  store = await openPostgresStore(locationOf(proxy.port), { ...OPTIONS, deadlines: SOON })
  postgres = connectPostgres(locationOf(proxy.port), SOON)
  admin = connectPostgres({ ...locationOf(server.port), connections: 1 })
}, 240_000)
afterEach(() => proxy.pass())
afterAll(async () => {
  await store?.close()
  for (const one of [postgres, admin]) await one?.close()
  await proxy?.stop()
  await server?.stop()
})

/** Not the isolation level of a transaction that begins. */
const isCommit = (text: string): boolean => /COMMIT(?!TED)/.test(text)

describe('a commit whose answer is lost', () => {
  test.each(['cut', 'swallow', 'swallowAnswers'] as const)('is unconfirmed, and stored once: %s', async (what) => {
    const email = newEmail()
    const write = eventWrite({ email, idempotency: idempotency({ key: `commit-${what}` }) })
    // its statements are prepared
    done(
      await store.recordEvent(eventWrite({ email: newEmail(), idempotency: idempotency({ key: `before-${what}` }) })),
    )
    done(await store.recordEvent(eventWrite({ email: newEmail(), idempotency: idempotency({ key: `again-${what}` }) })))
    proxy.onRequest((text) => (isCommit(text) ? what : 'pass'))
    expect(await store.recordEvent(write)).toEqual({ refusal: 'commit_unconfirmed' })
    proxy.pass()
    done(await store.recordEvent(write))
    expect(await countEvents(email)).toBe(1)
  })
})

test('a connection that is cut before the commit stores nothing', async () => {
  const email = newEmail()
  proxy.onRequest((text) => (text.includes(email) ? 'cut' : 'pass'))
  expect(await store.recordEvent(eventWrite({ email }))).toMatchObject({ refusal: 'unavailable' })
  proxy.pass()
  expect(await countEvents(email)).toBe(0)
  done(await store.recordEvent(eventWrite({ email })))
  expect(await countEvents(email)).toBe(1)
})

test('a server that never answers is given up', async () => {
  proxy.onRequest(() => 'swallow')
  const read = await store.findContact(1, newEmail()).catch((error: unknown) => error)
  expect(read).toBeInstanceOf(Unavailable)
  proxy.pass()
  expect(await store.findContact(1, newEmail())).toBeNull()
})

describe('what another transaction is in the way of', () => {
  test('two instances record events of the same new people', async () => {
    const other = await openPostgresStore(locationOf(server.port), OPTIONS)
    const emails = Array.from({ length: 40 }, newEmail)
    const record = (one: Store, all: string[]) =>
      Promise.all(all.map((email) => one.recordEvent(eventWrite({ email }))))
    const [ours, theirs] = await Promise.all([record(store, emails), record(other, emails.toReversed())])
    for (const outcome of [...ours, ...theirs]) done(outcome)
    expect(await countOf(`FROM contacts WHERE email IN (${emails.map((email) => `'${email}'`).join()})`)).toBe(40)
    expect(
      await countOf(
        `FROM events JOIN contacts ON contacts.id = contact_id WHERE email IN (${emails.map((email) => `'${email}'`).join()})`,
      ),
    ).toBe(80)
    await other.close()
  })

  test('one Idempotency-Key at two instances is stored once', async () => {
    const other = await openPostgresStore(locationOf(server.port), OPTIONS)
    for (let round = 0; round < 20; round += 1) {
      const email = newEmail()
      const write = () => eventWrite({ email, idempotency: idempotency({ key: `shared-${round}` }) })
      const outcomes = await Promise.all([store.recordEvent(write()), other.recordEvent(write())])
      const ids = outcomes.map((outcome) => done(outcome).eventId)
      expect(ids[0]).toBe(ids[1] ?? 0)
      expect(await countEvents(email)).toBe(1)
    }
    await other.close()
  })

  test('a person who is locked for a while', async () => {
    const email = newEmail()
    done(await store.recordEvent(eventWrite({ email })))
    let recorded: Promise<unknown> = Promise.resolve()
    await admin.transaction(async () => {
      await admin.run('SELECT id FROM contacts WHERE email = $1 FOR UPDATE', [email])
      recorded = store.recordEvent(eventWrite({ email }))
      const isWaiting = async () =>
        Number(
          (await admin.run("SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'", []))[0]?.n,
        ) > 0
      while (!(await isWaiting())) await Bun.sleep(5)
    })
    done((await recorded) as Awaited<ReturnType<Store['recordEvent']>>)
    expect(await countEvents(email)).toBe(2)
  })
})

test('texts that PostgreSQL has no place for are stored as U+FFFD, and found', async () => {
  const [email, text, stored] = [newEmail(), 'a\0b\u{D83D}', 'a\u{FFFD}b\u{FFFD}']
  done(await store.addContact(contactWrite({ email, firstName: text, tags: [text], fields: { [text]: text } })))
  done(await store.recordEvent(eventWrite({ email, name: text, properties: JSON.stringify({ [text]: text }) })))
  const person = await store.findContact(1, email)
  expect(person).toMatchObject({ firstName: stored, tags: [stored], fields: { [stored]: stored } })
  const events = await store.listEvents({ appId: 1, contactId: null, name: text, before: null, limit: 10 })
  expect(events.rows.map(({ properties }) => properties)).toEqual([JSON.stringify({ [stored]: stored })])
})

test('a read that takes too long is ended', async () => {
  const slow = postgres.sql.prepare('SELECT pg_sleep(60)')
  const error = await Promise.resolve(slow.all()).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(Unavailable)
  expect(await countOf("FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'")).toBe(0)
}, 30_000)

test('a read-only server is a passing fault that says so, and a promoted one is found again', async () => {
  const email = newEmail()
  const setReadOnly = async (value: string): Promise<void> => {
    await admin.run(`ALTER DATABASE postgres SET default_transaction_read_only = ${value}`, [])
  }
  await setReadOnly('on')
  await endAll()
  expect(await store.recordEvent(eventWrite({ email }))).toMatchObject({
    refusal: 'unavailable',
    reason: expect.stringContaining('PostgreSQL is read-only'),
  })
  await admin.run('SET default_transaction_read_only = off', [])
  await setReadOnly('off')
  done(await store.recordEvent(eventWrite({ email })))
})

test('a server without a free connection refuses for a while', async () => {
  await admin.runScript('CREATE ROLE few LOGIN CONNECTION LIMIT 1; GRANT ALL ON ALL TABLES IN SCHEMA public TO few')
  const few = { ...locationOf(server.port), url: server.url('postgres').replace('postgres@', 'few@') }
  const [first, second] = [connectPostgres(few), connectPostgres(few)]
  await first.run('SELECT 1', [])
  const error = await second.run('SELECT 1', []).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(Unavailable)
  expect((error as Error).message).toContain('has no connections left')
  await first.close()
  while ((await countOf("FROM pg_stat_activity WHERE usename = 'few'")) > 0) await Bun.sleep(5)
  expect((await second.run('SELECT 1 AS one', []))[0]).toEqual({ one: 1 })
  await second.close()
})

test('a read whose last answer is lost is read again', async () => {
  let isCut = false
  proxy.onRequest((text) => (isCommit(text) && !isCut ? ((isCut = true), 'cut') : 'pass'))
  expect(await store.findContact(1, newEmail())).toBeNull()
  expect(isCut).toBe(true)
})

test('while no connection can be made, writes and reads are refused within 2 seconds, and work within 2 seconds after', async () => {
  const until = performance.now() + OUTAGE_MS
  let longestMs = 0
  const time = async <T>(work: Promise<T>): Promise<T> => {
    const startedAt = performance.now()
    const outcome = await work
    longestMs = Math.max(longestMs, performance.now() - startedAt)
    return outcome
  }
  proxy.cut()
  while (performance.now() < until) {
    const write = time(store.recordEvent(eventWrite({ email: newEmail() })))
    const read = time(store.findContact(1, newEmail()).catch((error: unknown) => error))
    expect(await write).toMatchObject({ refusal: expect.stringMatching(/^(unavailable|commit_unconfirmed)$/) })
    expect(await read).toBeInstanceOf(Unavailable)
  }
  expect(longestMs).toBeLessThan(2_000)
  proxy.heal()
  const healedAt = performance.now()
  while ('refusal' in (await store.recordEvent(eventWrite({ email: newEmail() })))) await Bun.sleep(1)
  expect(performance.now() - healedAt).toBeLessThan(2_000)
}, 60_000)

test('the store works again within 2 seconds after a restart of the server', async () => {
  const restarted = server.restart()
  let isUp = false
  let upAt = 0
  void restarted.then(() => {
    isUp = true
    upAt = performance.now()
  })
  for (;;) {
    const outcome = await store.recordEvent(eventWrite({ email: newEmail() }))
    if (isUp && !('refusal' in outcome)) break
    await Bun.sleep(1)
  }
  expect(performance.now() - upAt).toBeLessThan(2_000)
  expect(await store.findContact(1, newEmail())).toBeNull()
}, 240_000)

test(`no connection is left behind by ${FAULTS} faults`, async () => {
  for (let fault = 0; fault < FAULTS; fault += 1) {
    const work = [
      store.recordEvent(eventWrite({ email: newEmail() })),
      store.findContact(1, newEmail()).catch(() => null),
    ]
    if (fault % 2 === 0) proxy.closeAll()
    else await endAll()
    await Promise.all(work)
  }
  done(await store.recordEvent(eventWrite({ email: newEmail() })))
  // what was cut on our side ends on the server's side when it notices
  const left = async () => await countOf(`${OURS} AND pid <> pg_backend_pid()`)
  const until = performance.now() + 5_000
  while ((await left()) > 2 * CONNECTIONS && performance.now() < until) await Bun.sleep(20)
  expect(await left()).toBeLessThanOrEqual(2 * CONNECTIONS)
}, 240_000)
