/**
 * `bun run bench:limits`: how much of what a limited mail server allows the executable sends, in real time: one server
 * with 3 connections, one with 14 emails a second. Then the hourly limits, by a moved clock. Exits 1 when less than nine
 * of ten is sent, an email fails, or one arrives twice.
 */
import { Database } from 'bun:sqlite'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createQuota, THROTTLED } from '../mail/limited-servers.ts'
import { type Behaviour, type Doing, startMailServer } from '../mail/mail-server.ts'
import { createFolder, EXECUTABLE, runJson, startService } from './service.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 60)
const LEAST = 0.9
const SECOND = 1_000
const BATCH = 100

const MESSAGE = {
  name: 'Results',
  status: 'live',
  trigger: { event: 'results_ready' },
  onlyIf: [],
  again: { once: 'person' },
  mail: { subject: 'Your results are ready', body: 'Your results are ready.' },
}

type Server = Awaited<ReturnType<typeof startMailServer>>
/** `perSecond`: what the server can accept. */
type Limited = { name: string; perSecond: number; start: () => Promise<{ server: Server; refused: () => number }> }

const counting = async (behaviour: (server: () => Server, refuse: () => void) => Behaviour) => {
  let refused = 0
  const server: Server = await startMailServer(
    behaviour(
      () => server,
      () => (refused += 1),
    ),
  )
  return { server, refused: () => refused }
}

const DOT_MS = 250
const CONNECTIONS = 3

const SERVERS: Limited[] = [
  {
    name: `${CONNECTIONS} connections, 421 for more`,
    perSecond: (CONNECTIONS * SECOND) / DOT_MS,
    start: () =>
      counting((server, refuse) => ({
        connect: (): Doing => {
          if (server().connections() <= CONNECTIONS) return 'accept'
          refuse()
          return 421
        },
        dot: () => Bun.sleep(DOT_MS).then((): Doing => 'accept'),
      })),
  },
  {
    name: '14 emails a second, 454 beyond',
    perSecond: 14,
    start: () =>
      counting((_, refuse) => {
        const quota = createQuota({ count: 14, periodMs: SECOND })
        return {
          recipient: (): Doing => {
            if (quota.take(Date.now())) return 'accept'
            refuse()
            return 454
          },
          words: () => THROTTLED,
        }
      }),
  },
]

/** A data folder with as many emails due as are asked for. */
async function prepare(folder: string, emails: number): Promise<string> {
  mkdirSync(folder)
  const data = join(folder, 'data')
  const run = (...words: string[]) => runJson([EXECUTABLE, ...words, '--data', data, '--json'], folder)
  const { appId = '', apiKey = '' } = await run(
    'init',
    '--email',
    'a@example.com',
    '--app',
    'A',
    '--domain',
    'example.com',
  )
  await run('plan', 'set', '--events-per-hour', 'unlimited')
  change(data, (db) => {
    db.run('DELETE FROM app_mail_settings')
    db.run(`INSERT INTO app_mail_settings (app_id, from_email, per_second) SELECT id, 'a@example.com', 1000 FROM apps`)
  })
  const file = join(folder, 'messages.json')
  await Bun.write(file, JSON.stringify([{ ...MESSAGE, wait: { minutes: 60 } }]))
  await run('message', 'import', file, '--app', appId)
  const service = await startService([EXECUTABLE, 'serve', '--data', data, '--port', '0'], folder)
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${apiKey}` }
  for (let first = 0; first < emails; first += BATCH) {
    const events = Array.from({ length: BATCH }, (_, index) => ({
      app: appId,
      email: `person${first + index}@example.com`,
      event: 'results_ready',
      createContact: true,
    }))
    const body = JSON.stringify({ events })
    const response = await fetch(`${service.url}/api/v1/events/batch`, { method: 'POST', headers, body })
    if (!response.ok) throw new Error(`The events were refused: ${await response.text()}`)
  }
  await service.stop()
  change(data, (db) => db.run('UPDATE deliveries SET planned_at = ?1, due_at = ?1', [Date.now()]))
  return data
}

function change(data: string, statements: (db: Database) => void): void {
  const db = new Database(join(data, 'eventpost.db'))
  statements(db)
  db.close()
}

/** Counts from the first email on. @returns whether enough arrived, each once and none given up */
async function measure({ name, perSecond, start }: Limited, folder: string): Promise<boolean> {
  const data = await prepare(folder, 2 * perSecond * SECONDS)
  const { server, refused } = await start()
  const service = await startService(
    [EXECUTABLE, 'serve', '--data', data, '--port', '0', '--smtp-url', server.url],
    folder,
  )
  while (server.received.length === 0) await Bun.sleep(10)
  await Bun.sleep(SECONDS * SECOND)
  const people = server.received.flatMap(({ to }) => to)
  await service.stop()
  await server.stop()
  const failed = countFailed(data)
  const [allowed, twice] = [perSecond * SECONDS, people.length - new Set(people).size]
  const isReached = people.length >= LEAST * allowed && failed === 0 && twice === 0
  const share = ((people.length / allowed) * 100).toFixed(0)
  console.log(
    `${isReached ? 'reached' : 'MISSED '}  ${name}: ${people.length} of ${allowed} in ${SECONDS} s, ${share}% (at least ${LEAST * 100}%), ${refused()} refused, ${failed} given up, ${twice} twice`,
  )
  return isReached
}

function countFailed(data: string): number {
  const db = new Database(join(data, 'eventpost.db'), { readonly: true })
  const found = db.query<{ n: number }, []>(`SELECT count(*) AS n FROM deliveries WHERE state = 'failed'`).get()
  db.close()
  return found?.n ?? 0
}

const folder = createFolder()
try {
  for (const [index, server] of SERVERS.entries())
    if (!(await measure(server, join(folder.path, `server${index}`)))) process.exitCode = 1
} finally {
  folder.remove()
}
