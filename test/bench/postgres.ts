/**
 * `bun run bench:postgres`: durable events a second on PostgreSQL beside SQLite, in one run and interleaved; with one instance
 * and with two, and what an event takes on disk. PostgreSQL runs on the same processors. Prints ratios, exits 1 when a bar
 * is missed.
 */
import { join } from 'node:path'
import { startPostgres } from '../postgres/server.ts'
import { hasWrk, type Load, sendLoad, type Target } from './load.ts'
import { createFolder, EXECUTABLE, type Service, startService, waitForRest } from './service.ts'
import { startTarget } from './target.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4)
const CONNECTIONS = 64
const PEOPLE = 20_000
/** Of SQLite's events a second. */
const ONE_INSTANCE = 0.5
/** Of one instance's. */
const TWO_INSTANCES = 0.9

type Round = { sqlite: number; one: number; two: number }

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const sum = (loads: Load[], pick: (load: Load) => number): number => loads.reduce((all, load) => all + pick(load), 0)

/** All connections over these instances. @returns events a second that were stored */
async function measure(targets: readonly Target[], run: string): Promise<number> {
  const each = CONNECTIONS / targets.length
  const loads = await Promise.all(
    targets.map((target, index) => sendLoad({ ...target, run: `${run}.${index}` }, 'events', each, SECONDS)),
  )
  const failed = sum(loads, (load) => load.failed)
  if (failed > 0) console.log(`${run}: ${failed} failed`)
  return sum(loads, (load) => load.requestsPerSecond)
}

async function compare(sqlite: Target, [first, second]: readonly [Target, Target]): Promise<Round[]> {
  const rounds: Round[] = []
  await measure([sqlite], 'warm-sqlite')
  await measure([first, second], 'warm')
  for (let index = 0; index < ROUNDS; index += 1) {
    const round = {
      sqlite: await measure([sqlite], `sqlite${index}`),
      one: await measure([first], `one${index}`),
      two: await measure([first, second], `two${index}`),
    }
    rounds.push(round)
    console.log(`SQLite ${round.sqlite}/s, PostgreSQL ${round.one}/s, two instances ${round.two}/s`)
  }
  return rounds
}

function report(name: string, bar: number, reached: number): boolean {
  console.log(`${reached >= bar ? 'reached' : 'MISSED '}  ${name}: ${reached.toFixed(2)} (at least ${bar})`)
  return reached >= bar
}

type Sizes = { database: number; log: number; events: number }

/** Bytes so far of the database and of what was written to its write-ahead log. */
async function readSizes(url: string): Promise<Sizes> {
  const sql = new Bun.SQL(url, { max: 1 })
  const [row] = await sql<Record<keyof Sizes, string>[]>`SELECT pg_database_size(current_database()) AS database,
    pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS log, (SELECT count(*) FROM events) AS events`
  await sql.close()
  return { database: Number(row?.database), log: Number(row?.log), events: Number(row?.events) }
}

function reportSizes(before: Sizes, after: Sizes): void {
  const [database, log] = (['database', 'log'] as const).map((name) =>
    ((after[name] - before[name]) / (after.events - before.events) / 1_024).toFixed(2),
  )
  console.log(`an event takes ${database} KB of the database and ${log} KB of the write-ahead log`)
}

const folder = createFolder()
const server = await startPostgres({ fsync: 'on', synchronous_commit: 'on', shared_buffers: '256MB' })
const services: Service[] = []
try {
  console.log(hasWrk() ? 'client: wrk' : 'client: built-in (install wrk for figures that count)')
  const env = { EVENTPOST_DATABASE_URL: server.url('postgres') }
  const sqlite = await startTarget(EXECUTABLE, join(folder.path, 'sqlite'), PEOPLE)
  const one = await startTarget(EXECUTABLE, join(folder.path, 'postgres'), PEOPLE, env)
  const two = await startService([...one.serve, '--port', '0'], folder.path, env)
  services.push(sqlite.service, one.service, two)
  for (const { pid } of services) await waitForRest(pid)
  const before = await readSizes(server.url('postgres'))
  const rounds = await compare(sqlite.target, [one.target, { ...one.target, url: two.url }])
  reportSizes(before, await readSizes(server.url('postgres')))
  const ofOne = median(rounds.map((round) => round.one / round.sqlite))
  const ofTwo = median(rounds.map((round) => round.two / round.one))
  const isReached = [
    report('one instance on PostgreSQL to SQLite (median)', ONE_INSTANCE, ofOne),
    report('two instances to one (median)', TWO_INSTANCES, ofTwo),
  ]
  process.exitCode = isReached.every(Boolean) ? 0 : 1
} finally {
  for (const service of services) await service.stop()
  await server.stop()
  folder.remove()
}
