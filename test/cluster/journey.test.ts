/** The way of a team that grows: a data folder, then PostgreSQL, then instances and a primary that fail. Everything is accounted for. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eventpost, eventpostJson, type Begun, startServer } from '../cli/process.ts'
import { makeFolder } from '../data-folder.ts'
import { report } from '../faults/figures.ts'
import { type MailServer, startMailServer } from '../mail/mail-server.ts'
import { type Databases, startDatabases } from './databases.ts'
import { FROM, importMessages, liftLimits, startCluster } from './instances.ts'
import { readStored, startLoad } from './load.ts'

const EVENT = 'results_ready'
const LOAD_MS = 3_000
const LONG_MS = 600_000
const NUMBERS_PER_STAGE = 1_000_000

const { folder, remove } = makeFolder()
let databases: Databases
let mail: MailServer
beforeAll(async () => {
  if (process.env.CLUSTER === undefined) return
  mail = await startMailServer()
  databases = await startDatabases()
}, LONG_MS)
afterAll(async () => {
  await mail?.stop()
  await databases?.stop()
  remove()
}, LONG_MS)

const mailSettings = () => ({
  EVENTPOST_SMTP_URL: mail.url,
  EVENTPOST_MAIL_FROM: FROM,
  EVENTPOST_MAIL_PRIVATE_HOSTS: '127.0.0.1',
})

async function ask<Row>(text: string): Promise<Row[]> {
  const sql = new Bun.SQL(databases.url(), { max: 1, prepare: false })
  try {
    return [...((await sql.unsafe(text)) as Row[])]
  } finally {
    await sql.close()
  }
}

const count = async (text: string): Promise<number> => Number((await ask<{ n: string }>(text))[0]?.n)

/** Of the emails that may or may not have left. */
/** Also those that were sent once more since, which end as sent. */
const listUnknown = async (): Promise<Set<string>> => {
  const text = `SELECT email FROM deliveries JOIN contacts ON contacts.id = contact_id
    WHERE state = 'unknown' OR resent = 1`
  return new Set((await ask<{ email: string }>(text)).map(({ email }) => email))
}

async function until(isReached: () => Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + 180_000
  while (!(await isReached())) {
    if (performance.now() > end) throw new Error(`waited too long for ${what}`)
    await Bun.sleep(100)
  }
}

test.skipIf(process.env.CLUSTER === undefined)(
  'from a data folder to a cluster that loses an instance and its primary',
  async () => {
    const env = mailSettings()
    const data = `${folder}/data`
    const begun = await eventpostJson<Begun>(
      ['init', '--data', data, '--email', 'owner@example.com', '--app', 'Demo'],
      { env },
    )
    await liftLimits(['--data', data], env)
    await importMessages({ [EVENT]: 0 }, ['--data', data], env)

    const acknowledged = new Set<number>()
    const note = (numbers: Iterable<number>): void => {
      for (const one of numbers) acknowledged.add(one)
    }
    const alone = await startServer({ data, env, timeoutMs: 0 })
    const first = startLoad(alone.url, begun, { event: EVENT, first: NUMBERS_PER_STAGE })
    await Bun.sleep(LOAD_MS)
    note((await first.stop()).acknowledged)
    await alone.stop()

    const moved = await eventpost(['move', '--data', data, '--to', databases.url()], { env })
    expect([moved.code, moved.err]).toEqual([0, expect.any(String)])
    const refused = await eventpost(['serve', '--data', data, '--port', '0'], { env })
    expect(refused.code).not.toBe(0)

    const cluster = await startCluster(databases, env)
    const second = startLoad(cluster.url, begun, { event: EVENT, first: 2 * NUMBERS_PER_STAGE })
    await Bun.sleep(LOAD_MS)
    cluster.instances[0]?.signal('SIGKILL')
    await cluster.instances[0]?.ended()
    cluster.instances.splice(0, 1)
    await Bun.sleep(LOAD_MS)
    await databases.failOver()
    await Bun.sleep(2 * LOAD_MS)
    note((await second.stop()).acknowledged)

    const waiting = `SELECT count(*) AS n FROM deliveries WHERE state IN ('waiting', 'deferred', 'claimed', 'handed')`
    await until(async () => (await count(waiting)) === 0, 'the queue')
    const stored = await readStored(databases.url(), 0)
    const lost = [...acknowledged].filter((number) => stored.get(number) !== 1)
    const people = await count(`SELECT count(*) AS n FROM contacts WHERE email LIKE 'p%'`)
    const unknown = await listUnknown()
    const times = Map.groupBy(mail.received, ({ to }) => to[0] ?? '')
    // one email for each person; owners may get alerts
    const repeated = [...times].filter(([email, all]) => /^p\d+@/.test(email) && all.length > 1).map(([email]) => email)
    const missing = [...acknowledged].map((number) => `p${number}@example.com`).filter((email) => !times.has(email))
    const unexplained = [...repeated, ...missing].filter((email) => !unknown.has(email))
    const isComplete = lost.length === 0 && unexplained.length === 0 && people === stored.size
    report({
      target: 'Journey from a folder to a cluster: events, people and emails accounted for',
      asked: 'all',
      measured: `${acknowledged.size} events (${lost.length} lost), ${people} people, ${times.size} emails (${missing.length} missing, ${repeated.length} twice, ${unknown.size} unknown)`,
      isReached: isComplete,
    })
    await cluster.stop()
    expect(lost).toEqual([])
    expect(people).toBe(stored.size)
    expect(unexplained).toEqual([])
    expect(acknowledged.size).toBeGreaterThan(50)
  },
  LONG_MS,
)
