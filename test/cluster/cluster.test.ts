/** Instances and databases that fail, on real servers. `bun run test:cluster` runs it in its long form. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type MailServer, startMailServer } from '../mail/mail-server.ts'
import { eventpostJson } from '../cli/process.ts'
import { report } from '../faults/figures.ts'
import { type Cluster, FROM, type Instance, prepare, startCluster } from './instances.ts'
import { type Databases, startDatabases } from './databases.ts'
import { type Ledger, readStored, startLoad, startSenders } from './load.ts'

/** Only on request: it takes minutes. */
const IS_ON = process.env.CLUSTER !== undefined
const IS_LONG = process.env.CLUSTER === 'all'
const LOAD_MS = IS_LONG ? 10_000 : 2_000
const DUE = IS_LONG ? 10_000 : 500
const EVENT = 'results_ready'
const DUE_EVENT = 'due'
const LEASE_MS = 31_000
const FROZEN_MS = 6_000
const LONG_MS = 300_000

let databases: Databases
let cluster: Cluster
let mail: MailServer
let begun: Awaited<ReturnType<typeof prepare>>

beforeAll(async () => {
  if (!IS_ON) return
  databases = await startDatabases()
  mail = await startMailServer()
  begun = await prepare(databases, { [EVENT]: 0, [DUE_EVENT]: 60 })
  cluster = await startCluster(databases, {
    EVENTPOST_SMTP_URL: mail.url,
    EVENTPOST_MAIL_FROM: FROM,
    EVENTPOST_MAIL_PRIVATE_HOSTS: '127.0.0.1',
  })
}, LONG_MS)
afterAll(async () => {
  await cluster?.stop()
  await mail?.stop()
  await databases?.stop()
}, LONG_MS)

const query = async <T>(text: string): Promise<T[]> => {
  const sql = new Bun.SQL(databases.url(), { max: 1, prepare: false })
  try {
    return (await sql.unsafe(text)) as T[]
  } finally {
    await sql.close()
  }
}

async function until(isReached: () => Promise<boolean> | boolean, what: string, ms = 120_000): Promise<void> {
  const end = performance.now() + ms
  while (!(await isReached())) {
    if (performance.now() > end) throw new Error(`waited too long for ${what}`)
    await Bun.sleep(50)
  }
}

/** An account with limits. */
async function createLimited(name: string): Promise<{ apiKey: string; appId: string }> {
  const words = ['account', 'create', '--email', `${name}@example.com`, '--app', 'Limited']
  return await eventpostJson(words, { env: { EVENTPOST_DATABASE_URL: databases.url() } })
}

const NUMBERS_PER_CASE = 1_000_000
let cases = 0
async function underLoad(work: () => Promise<void>): Promise<{ ledger: Ledger; stored: Map<number, number> }> {
  const first = ++cases * NUMBERS_PER_CASE
  const load = startLoad(cluster.url, begun, { event: EVENT, first })
  await Bun.sleep(LOAD_MS)
  await work()
  await Bun.sleep(LOAD_MS)
  const ledger = await load.stop()
  return { ledger, stored: await readStored(databases.url(), first) }
}

function expectComplete(what: string, { ledger, stored }: Awaited<ReturnType<typeof underLoad>>): void {
  const lost = [...ledger.acknowledged].filter((number) => !stored.has(number))
  const repeated = [...stored].filter(([, count]) => count > 1)
  report({
    target: `${what}: acknowledged events lost or stored twice`,
    asked: '0',
    measured: `${lost.length + repeated.length} of ${ledger.acknowledged.size}`,
    isReached: lost.length + repeated.length === 0,
  })
  expect([lost, repeated]).toEqual([[], []])
  expect(ledger.acknowledged.size).toBeGreaterThan(20)
}

describe.skipIf(!IS_ON)('three instances on a primary with a synchronous replica', () => {
  test(
    'accept exactly 6,000 events in an hour',
    async () => {
      const other = await createLimited('limited')
      let [accepted, refused] = [0, 0]
      const body = JSON.stringify({ app: other.appId, email: 'one@example.com', event: 'e', createContact: true })
      const headers = { Authorization: `Bearer ${other.apiKey}`, 'Content-Type': 'application/json' }
      const send = async (): Promise<void> => {
        while (accepted + refused < 6_200) {
          const { status } = await fetch(`${cluster.url}/api/v1/events`, { method: 'POST', headers, body })
          if (status === 202) accepted += 1
          else if (status === 429) refused += 1
          else throw new Error(`status ${status}`)
        }
      }
      await Promise.all(Array.from({ length: 32 }, send))
      report({
        target: 'Events of an account at its limit, over three instances',
        asked: '6,000',
        measured: String(accepted),
        isReached: accepted === 6_000,
      })
      expect(accepted).toBe(6_000)
    },
    LONG_MS,
  )

  test(
    `send each of ${DUE} emails once that are due in the same second`,
    async () => {
      const before = mail.received.length
      let next = 0
      const headers = { Authorization: `Bearer ${begun.apiKey}`, 'Content-Type': 'application/json' }
      const send = async (): Promise<void> => {
        while (next < DUE) {
          const email = `due${next++}@example.com`
          const body = JSON.stringify({ app: begun.appId, email, event: DUE_EVENT, createContact: true })
          const { status } = await fetch(`${cluster.url}/api/v1/events`, { method: 'POST', headers, body })
          if (status !== 202) throw new Error(`status ${status}`)
        }
      }
      await Promise.all(Array.from({ length: 32 }, send))
      await query(
        `UPDATE deliveries SET due_at = ${Date.now() + 3_000}, planned_at = ${Date.now() + 3_000} WHERE state = 'waiting'`,
      )
      await until(() => mail.received.length >= before + DUE, 'emails')
      await Bun.sleep(1_000)
      const times = Map.groupBy(mail.received.slice(before), ({ to }) => to[0])
      const repeated = [...times].filter(([, all]) => all.length > 1)
      report({
        target: 'Emails of three instances that arrived once',
        asked: String(DUE),
        measured: String(times.size - repeated.length),
        isReached: times.size === DUE && repeated.length === 0,
      })
      expect([times.size, repeated.length]).toEqual([DUE, 0])
    },
    LONG_MS,
  )

  test(
    'lose nothing when one of them is killed',
    async () => {
      const [first] = cluster.instances
      expectComplete(
        'An instance killed',
        await underLoad(async () => {
          first?.signal('SIGKILL')
          await first?.ended()
          cluster.instances.splice(0, 1)
          await cluster.start()
        }),
      )
    },
    LONG_MS,
  )

  test(
    'lose nothing when one is cut off from the database',
    async () => {
      const [first] = cluster.instances
      expectComplete(
        'An instance cut off',
        await underLoad(async () => {
          first?.way.cut()
          await Bun.sleep(5_000)
          first?.way.heal()
          await until(() => first?.isUp ?? false, 'the instance')
        }),
      )
    },
    LONG_MS,
  )

  test.skipIf(!IS_LONG)(
    'lose nothing when one is frozen past its leases and wakes',
    async () => {
      const [first] = cluster.instances
      expectComplete(
        'An instance frozen and woken',
        await underLoad(async () => {
          first?.signal('SIGSTOP')
          await Bun.sleep(LEASE_MS + 5_000)
          first?.signal('SIGCONT')
          await until(() => first?.isUp ?? false, 'the instance')
        }),
      )
    },
    LONG_MS,
  )

  test.skipIf(!IS_LONG)(
    'go on while one of them is frozen in its transactions',
    async () => {
      const [first, ...others] = cluster.instances as [Instance, Instance, Instance]
      const [one, two] = [await createLimited('one'), await createLimited('two')]
      const { host } = new URL(cluster.url)
      const send = (instances: Instance[], begun: { apiKey: string; appId: string }) =>
        startSenders(
          instances.map(({ url }) => url),
          { ...begun, host },
        )
      const frozen = send([first], one)
      const [same, other] = [send(others, one), send(others, two)]
      await Bun.sleep(LOAD_MS)
      first.signal('SIGSTOP')
      let wereReady = true
      const until = performance.now() + FROZEN_MS
      while (performance.now() < until) {
        await Bun.sleep(20)
        wereReady &&= others.every(({ isUp }) => isUp)
      }
      const gaps = { same: await same.stop(), other: await other.stop() }
      first.signal('SIGCONT')
      await frozen.stop()
      for (const [whose, gapMs, mostMs] of [
        ['of the same key', gaps.same, 3_000],
        ['of another key', gaps.other, 2_500],
      ] as const) {
        report({
          target: `An instance frozen: longest time without an event ${whose} on the others`,
          asked: `${mostMs} ms at most`,
          measured: `${Math.round(gapMs)} ms`,
          isReached: gapMs <= mostMs,
        })
      }
      expect(gaps.same).toBeLessThanOrEqual(3_000)
      expect(gaps.other).toBeLessThanOrEqual(2_500)
      expect(wereReady).toBe(true)
    },
    LONG_MS,
  )

  test.each([false, true])(
    'lose nothing when the primary fails and the replica is promoted; without a sign of it: %p',
    async (isSilent) => {
      // the case before has used up the replica
      if (isSilent) await databases.replace()
      let answeredAt = 0
      const found = await underLoad(async () => {
        answeredAt = await databases.failOver({ isSilent })
      })
      const lastMs = Math.max(0, ...found.ledger.failedAt.filter((at) => at > answeredAt)) - answeredAt
      const ms = Math.max(0, Math.round(lastMs))
      const what = isSilent ? 'The primary silent' : 'The primary killed'
      report({
        target: `${what}: errors after the new one answers`,
        asked: '2,000 ms at most',
        measured: `${ms} ms`,
        isReached: ms <= 2_000,
      })
      expectComplete(what, found)
      expect(ms).toBeLessThanOrEqual(2_000)
    },
    LONG_MS,
  )

  test(
    'send no email twice, whatever failed, but for those whose outcome is unknown',
    async () => {
      const waiting = "SELECT count(*) AS n FROM deliveries WHERE state IN ('waiting', 'deferred', 'claimed', 'handed')"
      await until(async () => Number((await query<{ n: string }>(waiting))[0]?.n) === 0, 'the queue')
      // those of messages for results_ready are sent once more, and end as sent
      const rows = await query<{ email: string }>(
        `SELECT email FROM deliveries JOIN contacts ON contacts.id = contact_id WHERE state = 'unknown' OR resent = 1`,
      )
      const unknown = new Set(rows.map(({ email }) => email))
      const times = Map.groupBy(mail.received, ({ to }) => to[0] ?? '')
      const repeated = [...times].filter(([to, all]) => all.length > 1 && !unknown.has(to))
      report({
        target: 'Emails sent twice, without those whose outcome is unknown',
        asked: '0',
        measured: `${repeated.length} of ${times.size} (${unknown.size} unknown)`,
        isReached: repeated.length === 0,
      })
      expect(repeated.map(([to]) => to)).toEqual([])
    },
    LONG_MS,
  )
})
