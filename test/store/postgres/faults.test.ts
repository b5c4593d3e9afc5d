/** What writes and reads answer when PostgreSQL, or the way to it, fails; and that the next ones work. */
import { isLong } from '../../long-form.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { readEventText } from '../../../src/events/event-input.ts'
import { Unavailable } from '../../../src/store/engine/errors.ts'
import { connectPostgres, DEADLINES, type Postgres } from '../../../src/store/postgres/connection.ts'
import { BEAT_DEADLINES, startHeartbeat } from '../../../src/store/postgres/heartbeat.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { type Proxy, startProxy } from '../../cluster/proxy.ts'
import { contactWrite, done, eventWrite, HOUR, idempotency, newAccount } from '../samples.ts'

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
}, 120_000)

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
}, 120_000)

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

/** Until `isOver`. @returns the longest time without an accepted event (ms), and how many were accepted */
async function sendUntil(
  isOver: () => boolean,
  record: () => Promise<object>,
): Promise<{ gapMs: number; count: number }> {
  let [lastMs, gapMs, count] = [performance.now(), 0, 0]
  while (!isOver()) {
    const outcome = await record()
    if (!('refusal' in outcome)) {
      gapMs = Math.max(gapMs, performance.now() - lastMs)
      lastMs = performance.now()
      count += 1
    }
    await Bun.sleep(20)
  }
  return { gapMs: Math.max(gapMs, performance.now() - lastMs), count }
}

describe('an instance that stands still in its transactions', () => {
  const limitOf = (key: string) => [{ bucket: `events:${key}`, max: 1_000_000, windowMs: HOUR }]
  const STAND_STILL_MS = 4_000
  let other: Store
  let frozen: Postgres
  beforeAll(async () => {
    other = await openPostgresStore({ ...locationOf(server.port), connections: 10 }, OPTIONS)
    done(await other.createAccount(newAccount(2)))
  })
  afterAll(async () => {
    await frozen?.close()
    await other?.close()
  })

  test('stops others for about 2 seconds at most, and leaves them ready', async () => {
    const [first, second] = [newEmail(), newEmail()]
    const ofFirst = () => other.recordEvent(eventWrite({ email: first, limits: limitOf('key_1') }))
    const ofSecond = () =>
      other.recordEvent(eventWrite({ email: second, appId: 2, accountId: 'acc_2', limits: limitOf('key_2') }))
    done(await ofFirst())
    done(await ofSecond())
    frozen = connectPostgres(locationOf(server.port))
    const standStill = () =>
      frozen
        .transaction(async () => {
          await frozen.run("SELECT 1 FROM limit_windows WHERE bucket = 'events:key_1' FOR UPDATE", [])
          await new Promise(() => {})
        })
        .catch(() => {})
    const isThere = async (what: string): Promise<void> => {
      while ((await countOf(`FROM pg_stat_activity WHERE ${what}`)) === 0) await Bun.sleep(5)
    }
    // both of its lanes: the second one's lock follows that of the first
    void standStill()
    await isThere("state = 'idle in transaction'")
    void standStill()
    await isThere("wait_event_type = 'Lock'")
    const until = performance.now() + STAND_STILL_MS
    const isOver = (): boolean => performance.now() > until
    const readiness = sendUntil(isOver, async () => ((await other.canCommit()) ? {} : { refusal: 'unavailable' }))
    const noise = Array.from({ length: 8 }, () => sendUntil(isOver, ofFirst))
    const [ofOther, ready, ...ofSame] = await Promise.all([sendUntil(isOver, ofSecond), readiness, ...noise])
    expect(ofOther.gapMs).toBeLessThan(2_500)
    for (const { gapMs } of ofSame) expect(gapMs).toBeLessThan(3_000)
    expect(ready.gapMs).toBeLessThan(500)
  }, 120_000)

  test('makes others not ready if no writes end for 3 seconds, until they do', async () => {
    const email = newEmail()
    const record = () => other.recordEvent(eventWrite({ email, limits: limitOf('key_3') }))
    done(await record())
    const holder = connectPostgres(locationOf(server.port), { ...DEADLINES, idleMs: 60_000 })
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const { promise: locked, resolve: noteLocked } = Promise.withResolvers<void>()
    const held = holder.transaction(async () => {
      await holder.run("SELECT 1 FROM limit_windows WHERE bucket = 'events:key_3' FOR UPDATE", [])
      noteLocked()
      await released
    })
    await locked
    let isOver = false
    // longer than the tries of a group take
    const load = Array.from({ length: 80 }, () => sendUntil(() => isOver, record))
    const startedAt = performance.now()
    while (await other.canCommit()) await Bun.sleep(20)
    const noticedMs = performance.now() - startedAt
    const until = startedAt + 10_000
    const ready = await sendUntil(
      () => performance.now() > until,
      async () => ((await other.canCommit()) ? {} : { refusal: 'unavailable' }),
    )
    release()
    await held
    const releasedAt = performance.now()
    while (!(await other.canCommit())) await Bun.sleep(20)
    const readyMs = performance.now() - releasedAt
    isOver = true
    await Promise.all(load)
    await holder.close()
    expect(noticedMs).toBeLessThan(4_000)
    expect(ready.count).toBe(0)
    expect(readyMs).toBeLessThan(4_000)
  }, 120_000)
})

describe('connections that fall silent while new ones work', () => {
  test('are replaced, also those in use, and nothing that was acknowledged is lost', async () => {
    const silent = await openPostgresStore({ ...locationOf(proxy.port), connections: 10 }, OPTIONS)
    const acknowledged = new Set<string>()
    const send = async (): Promise<object> => {
      const email = newEmail()
      const write = eventWrite({ email, idempotency: idempotency({ key: `silent-${email}` }) })
      let outcome = await silent.recordEvent(write)
      while ('refusal' in outcome) outcome = (await Bun.sleep(20), await silent.recordEvent(write))
      acknowledged.add(email)
      return outcome
    }
    let isOver = false
    const load = Array.from({ length: 12 }, () => sendUntil(() => isOver, send))
    const reads = sendUntil(
      () => isOver,
      async () => (await silent.findContact(1, 'nobody@example.com').catch(() => ({ refusal: 'unavailable' }))) ?? {},
    )
    const current = sendUntil(
      () => isOver,
      async () => (silent.isCurrent() ? {} : { refusal: 'unavailable' }),
    )
    await Bun.sleep(500)
    proxy.silence()
    await Bun.sleep(5_000)
    isOver = true
    const gaps = await Promise.all([...load, reads, current])
    await silent.close()
    // besides finding it out, new connections take time to begin
    for (const { gapMs } of gaps) expect(gapMs).toBeLessThan(4_000)
    const stored = await admin.run(
      'SELECT email, count(*) AS n FROM events JOIN contacts ON contacts.id = contact_id GROUP BY 1',
      [],
    )
    const counts = new Map(stored.map(({ email, n }) => [String(email), Number(n)]))
    expect([...acknowledged].filter((email) => counts.get(email) !== 1)).toEqual([])
    expect(acknowledged.size).toBeGreaterThan(20)
  }, 120_000)
})

describe('a statement that takes long', () => {
  const place = () => ({ ...locationOf(proxy.port), connections: 2 })
  const isBeat = (text: string): boolean => text.includes('SELECT 2')
  /** Beside a heartbeat. @returns whether it answered */
  async function sleepOn(
    one: Postgres,
    { seconds, heart, during }: { seconds: number; heart: Postgres; during: () => unknown },
  ): Promise<boolean> {
    await one.run('SELECT 1', [])
    const beat = () => heart.run('SELECT 2', [])
    await beat()
    const stop = startHeartbeat({ beat, listenTo: [one.listen] })
    // an idle connection is beside the one that is in use
    const [slept] = await Promise.allSettled([
      one.transaction(() => one.run('SELECT pg_sleep($1::float8)', [seconds])),
      one.run('SELECT 1', []),
      // it has answered before
      Bun.sleep(1_200).then(during),
    ])
    stop()
    return slept.status === 'fulfilled'
  }
  const hearts: Postgres[] = []
  const openBoth = () => {
    const [one, heart] = [
      connectPostgres(place(), { ...DEADLINES, statementMs: 20_000, answerMs: 20_000 }),
      connectPostgres({ ...place(), connections: 1 }, { ...DEADLINES, ...BEAT_DEADLINES }),
    ]
    hearts.push(one, heart)
    return { one, heart }
  }
  afterAll(async () => {
    for (const one of hearts) await one.close()
  })

  test('goes on while only the connection of the heartbeat is silent', async () => {
    const { one, heart } = openBoth()
    let beats = 0
    const during = () => proxy.onRequest((text) => (isBeat(text) && (beats += 1) === 1 ? 'swallow' : 'pass'))
    expect(await sleepOn(one, { seconds: 4, heart, during })).toBe(true)
    expect(beats).toBeGreaterThan(5)
  }, 120_000)

  test('goes on while the process is busy for seconds', async () => {
    const { one, heart } = openBoth()
    const during = async () => {
      for (let time = 0; time < 3; time += 1) {
        Bun.sleepSync(1_500)
        await Bun.sleep(50)
      }
    }
    expect(await sleepOn(one, { seconds: 6, heart, during })).toBe(true)
  }, 120_000)

  test('ends when all connections are silent', async () => {
    const { one, heart } = openBoth()
    const startedAt = performance.now()
    expect(await sleepOn(one, { seconds: 15, heart, during: proxy.silence })).toBe(false)
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  }, 120_000)
})

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
