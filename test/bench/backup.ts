/**
 * `bun run bench:backup`: how much a backup of 1 GB delays events, and whether it has every event that was acknowledged
 * before it began. Rounds without and with backups alternate, because machines are noisy. BENCH_EVENTS, BENCH_ROUNDS and
 * BENCH_SECONDS shorten it.
 */
import { Database } from 'bun:sqlite'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { report } from '../faults/figures.ts'
import { startLoad } from '../faults/load.ts'
import { hasWrk, sendLoad, type Load, type Target } from './load.ts'
import { type Seeded, seededFile } from './seeded.ts'
import { createFolder, EXECUTABLE, runJson, startService } from './service.ts'

const EVENTS = Number(process.env.BENCH_EVENTS ?? 4_000_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 15)
const CONNECTIONS = 64
const LEDGER_CLIENTS = 8
const LEDGER_MS = 2_000
const MOST_RATIO = 2

let mostLogMb = 0

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const describe = ({ requestsPerSecond, p99Ms, failed }: Load): string =>
  `${requestsPerSecond}/s, p99 ${p99Ms} ms, ${failed} refused`

async function seed(folder: string): Promise<void> {
  const people = String(Math.ceil(EVENTS / 10))
  const env = { ...process.env, SEED_EVENTS: String(EVENTS), SEED_PEOPLE: people, SEED_DELIVERIES: people }
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'seed.ts'), folder], { env, stdout: 'ignore' })
  if ((await child.exited) !== 0) throw new Error('seeding failed')
}

/** One after another until `isOver`. @returns how long each took (ms) */
async function backUp(data: string, folder: string, isOver: () => boolean): Promise<number[]> {
  const times: number[] = []
  while (!isOver()) {
    const file = join(folder, 'copy.db')
    const startedAt = performance.now()
    await runJson([EXECUTABLE, 'backup', file, '--data', data, '--json'], folder)
    times.push(performance.now() - startedAt)
    rmSync(file)
  }
  return times
}

async function measureWithBackups(target: Target, data: string, folder: string): Promise<Load & { times: number[] }> {
  let isOver = false
  const backups = backUp(data, folder, () => isOver)
  const log = join(data, 'eventpost.db-wal')
  const watching = setInterval(() => (mostLogMb = Math.max(mostLogMb, statSync(log).size / 1e6)), 200)
  const load = await sendLoad(target, 'events', CONNECTIONS, SECONDS)
  isOver = true
  clearInterval(watching)
  return { ...load, times: await backups }
}

/** Under load. @returns how many events were acknowledged before the backup began, and those that it lacks */
async function checkLedger(target: Target, data: string, folder: string) {
  const load = sendLoad(target, 'events', CONNECTIONS, SECONDS)
  const ledger = startLoad({ ...target }, { clients: LEDGER_CLIENTS, round: 0 })
  await Bun.sleep(LEDGER_MS)
  const acknowledged = [...ledger.counted.acknowledged]
  const file = join(folder, 'ledger.db')
  await runJson([EXECUTABLE, 'backup', file, '--data', data, '--json'], folder)
  ledger.stop()
  await Promise.all([ledger.ended, load])
  const db = new Database(file, { readonly: true })
  const emailed = db.query<{ email: string }, []>(
    'SELECT email FROM contacts WHERE id IN (SELECT contact_id FROM events)',
  )
  const stored = new Set(emailed.all().map(({ email }) => email))
  const lacking = acknowledged.filter((email) => !stored.has(email))
  db.close()
  rmSync(file)
  return { acknowledged: acknowledged.length, lacking: lacking.length }
}

const folder = createFolder()
let stop = async (): Promise<void> => {}
try {
  const data = join(folder.path, 'data')
  await seed(data)
  const { large, apiKey } = JSON.parse(readFileSync(seededFile(data), 'utf8')) as Seeded
  const lifted = ['--events-per-hour', 'unlimited', '--adds-per-hour', 'unlimited']
  await runJson([EXECUTABLE, 'plan', 'set', '--data', data, ...lifted, '--json'], folder.path)
  const service = await startService([EXECUTABLE, 'serve', '--data', data, '--port', '0'], folder.path)
  stop = service.stop
  const people = { file: '', signed: [] }
  const target = (run: string): Target => ({ url: service.url, app: large, key: apiKey, run, site: '', people })
  const megabytes = Math.round(statSync(join(data, 'eventpost.db')).size / 1e6)
  console.log(`${megabytes} MB; client: ${hasWrk() ? 'wrk, one thread' : 'built-in'}, ${CONNECTIONS} connections`)
  await sendLoad(target('warm'), 'events', CONNECTIONS, 5)
  const refused = { without: 0, during: 0 }
  const [without, during, times]: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    const alone = await sendLoad(target(`a${round}`), 'events', CONNECTIONS, SECONDS)
    const beside = await measureWithBackups(target(`b${round}`), data, folder.path)
    refused.without += alone.failed
    refused.during += beside.failed
    without.push(alone.p99Ms)
    during.push(beside.p99Ms)
    times.push(...beside.times)
    console.log(`without: ${describe(alone)}; with backups: ${describe(beside)}`)
  }
  const { acknowledged, lacking } = await checkLedger(target('ledger'), data, folder.path)
  const ratio = median(during) / median(without)
  const rows = [
    ['p99 of events without a backup', `${median(without).toFixed(1)} ms`, ''],
    ['p99 of events during backups', `${median(during).toFixed(1)} ms`, ''],
    ['ratio', ratio.toFixed(2), `at most ${MOST_RATIO}`],
    ['events refused without and during backups', `${refused.without} and ${refused.during}`, ''],
    ['largest write-ahead log', `${mostLogMb.toFixed(0)} MB`, ''],
    ['time of a backup', `${(median(times) / 1000).toFixed(1)} s`, ''],
    [`acknowledged events that it lacks, of ${acknowledged}`, String(lacking), '0'],
  ]
  report({
    target: `p99 of events during backups of ${megabytes} MB`,
    asked: `at most ${MOST_RATIO} times that without`,
    measured: `${ratio.toFixed(2)} times`,
    isReached: ratio <= MOST_RATIO,
  })
  report({
    target: 'Events acknowledged before a backup that it lacks',
    asked: '0',
    measured: `${lacking} of ${acknowledged}`,
    isReached: lacking === 0,
  })
  console.log('\n| what | measured | target |\n| --- | --- | --- |')
  for (const row of rows) console.log(`| ${row.join(' | ')} |`)
  process.exitCode = ratio <= MOST_RATIO && lacking === 0 ? 0 : 1
} finally {
  await stop()
  folder.remove()
}
