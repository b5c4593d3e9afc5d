/**
 * `bun run bench`: durable events a second beside a bare Bun.serve, in one run and interleaved, because machines are
 * noisy; memory, cold start, bytes an event. Prints ratios, writes results.json, exits 1 when a bar is missed. Beside them a
 * prototype of the write alone, which says what the plain way of it reaches on this machine.
 */
import { Database } from 'bun:sqlite'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { hasWrk, type Kind, type Load, sendLoad, type Target } from './load.ts'
import { createFolder, EXECUTABLE, residentMb, type Service, startService, waitForRest } from './service.ts'
import { startTarget } from './target.ts'

/** Many and short: both servers change from second to second with the machine, so what is compared must lie close together. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 13)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2)
/** Of which the best says the latency: a machine that stalls now and then also stalls the bare server. */
const LATENCY_ROUNDS = 3
/** Long enough that what a short load leaves for the pause after it is done in between. */
const SUSTAINED_SECONDS = Number(process.env.BENCH_SUSTAINED_SECONDS ?? 60)
const COLD_STARTS = 9
const EVENTS_FOR_SIZE = 100_000
const PEOPLE = 20_000

/** `prototype`: its ratio, of events. */
type Round = { bare: Load; ours: Load; ratio: number; prototype: number | null }
type Figure = { name: string; asked: string; reached: number | null; isReached: boolean | null }

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const round = (value: number, digits = 2): number => Number(value.toFixed(digits))

type Targets = { bare: Target; ours: Target; prototype: Target; memory: () => void; rest: () => Promise<void> }

async function compare(
  { bare, ours, prototype, memory, rest }: Targets,
  kind: Kind,
  connections: number,
): Promise<Round[]> {
  const rounds: Round[] = []
  for (let index = 0; index < ROUNDS; index += 1) {
    const run = `${connections}.${index}`
    const base = await sendLoad({ ...bare, run }, kind, connections, SECONDS)
    const load = await sendLoad({ ...ours, run }, kind, connections, SECONDS)
    memory()
    await rest()
    const ratio = load.requestsPerSecond / base.requestsPerSecond
    const most = kind === 'events' ? await sendLoad({ ...prototype, run }, kind, connections, SECONDS) : null
    const mostRatio = most && round(most.requestsPerSecond / base.requestsPerSecond, 3)
    rounds.push({ bare: base, ours: load, ratio: round(ratio, 3), prototype: mostRatio })
    console.log(
      `${kind}, ${connections} connections: bare ${base.requestsPerSecond}/s, durable ${load.requestsPerSecond}/s, ratio ${round(ratio)}, p50 ${round(load.p50Ms)} ms, p99 ${round(load.p99Ms)} ms, refused ${load.failed}${mostRatio === null ? '' : `; prototype ratio ${mostRatio}`}`,
    )
  }
  return rounds
}

/** One long load of events without a pause, as a ratio to the bare server's median. */
async function sustain({ ours, memory, rest }: Targets, bare: number) {
  const load = await sendLoad({ ...ours, run: 'sustained' }, 'events', 64, SUSTAINED_SECONDS)
  memory()
  await rest()
  const ratio = round(load.requestsPerSecond / bare, 3)
  console.log(
    `events, 64 connections for ${SUSTAINED_SECONDS} s: durable ${load.requestsPerSecond}/s, ratio ${ratio}, p99 ${round(load.p99Ms)} ms, refused ${load.failed}`,
  )
  return { seconds: SUSTAINED_SECONDS, ...load, ratio }
}

async function measureColdStart(command: string[], folder: string): Promise<number> {
  const times: number[] = []
  for (let index = 0; index < COLD_STARTS; index += 1) {
    const port = 20_000 + Math.floor(Math.random() * 20_000)
    const startedAt = performance.now()
    const child = Bun.spawn([...command, '--port', String(port)], { cwd: folder, stdout: 'ignore', stderr: 'inherit' })
    while (!(await answers(port))) await Bun.sleep(1)
    times.push(performance.now() - startedAt)
    child.kill('SIGTERM')
    await child.exited
  }
  return median(times)
}

const answers = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    (response) => response.status === 200,
    () => false,
  )

/** Bytes an event in the database file, with 110 bytes of properties, of people who are known already. */
async function measureBytes(service: Service, target: Target, file: string, restart: () => Promise<Service>) {
  const stopAtRest = async ({ pid, stop }: Service): Promise<number> => {
    await waitForRest(pid)
    await stop()
    return bytesInUse(file)
  }
  await sendBatches(service.url, target, PEOPLE)
  const before = await stopAtRest(service)
  const again = await restart()
  await sendBatches(again.url, target, EVENTS_FOR_SIZE)
  return ((await stopAtRest(again)) - before) / EVENTS_FOR_SIZE
}

/** Of a database file, without pages that are free. */
function bytesInUse(file: string): number {
  const db = new Database(file, { readonly: true })
  const read = (name: string): number => Number(db.query(`PRAGMA ${name}`).values()[0]?.[0])
  const bytes = (read('page_count') - read('freelist_count')) * read('page_size')
  db.close()
  return bytes
}

async function sendBatches(url: string, { app, key }: Target, count: number): Promise<void> {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` }
  for (let start = 0; start < count; start += 100) {
    const events = Array.from({ length: 100 }, (_, index) => makeEvent(app, start + index))
    const body = JSON.stringify({ events })
    const response = await fetch(`${url}/api/v1/events/batch`, { method: 'POST', headers, body })
    const { accepted } = (await response.json()) as { accepted: number }
    if (accepted !== 100) throw new Error(`a batch of 100 had ${accepted} accepted`)
  }
}

/** Every person once, then at random as in life: the index of timelines is not filled in order. */
function makeEvent(app: string, index: number) {
  const person = index < PEOPLE ? index : Math.floor(Math.random() * PEOPLE)
  const number = String(index).padStart(10, '0')
  const properties = {
    url: `https://app.example.com/results/${number}`,
    headline: `Your results number ${number} are ready now`,
  }
  return { app, email: `person${person}@example.com`, event: 'results_ready', createContact: true, properties }
}

function compareWithTargets(
  rounds: Record<'64' | '256' | 'collect', Round[]>,
  mb: number,
  coldMs: number,
  bytes: number,
): Figure[] {
  const at64 = median(rounds['64'].map((one) => one.ratio))
  const at256 = median(rounds['256'].map((one) => one.ratio))
  const collected = median(rounds.collect.map((one) => one.ratio))
  const few = Math.min(ROUNDS, LATENCY_ROUNDS)
  const best = (pick: (load: Load) => number): number =>
    Math.min(...rounds['64'].slice(0, few).map((one) => pick(one.ours)))
  const atLeast = (name: string, bar: number, reached: number): Figure => ({
    name,
    asked: `at least ${bar}`,
    reached: round(reached),
    isReached: reached >= bar,
  })
  const atMost = (name: string, bar: number, reached: number): Figure => ({
    name,
    asked: `at most ${bar}`,
    reached: round(reached),
    isReached: reached <= bar,
  })
  return [
    atLeast('ratio to bare Bun.serve at 64 connections (median)', 0.3, at64),
    atLeast('ratio to bare Bun.serve at 256 connections (median)', 0.4, at256),
    atLeast('ratio of POST /c to bare Bun.serve at 64 connections (median)', 0.3, collected),
    atMost(
      `median latency at 64, ms (best of ${few} rounds)`,
      3,
      best((load) => load.p50Ms),
    ),
    atMost(
      `p99 latency at 64, ms (best of ${few} rounds)`,
      20,
      best((load) => load.p99Ms),
    ),
    atMost('resident memory under load, MB (highest)', 160, mb),
    atMost('cold start to the first answer, ms (median)', 150, coldMs),
    atMost('bytes an event on disk', 200, bytes),
  ]
}

const folder = createFolder()
try {
  const { service, target: ours, start, data, serve } = await startTarget(EXECUTABLE, folder.path, PEOPLE)
  const bareService = await startService([process.execPath, join(import.meta.dir, 'bare.ts'), '0'], folder.path)
  const prototypeService = await startService(
    [process.execPath, join(import.meta.dir, 'prototype.ts'), '0'],
    folder.path,
  )
  const bare: Target = { ...ours, url: bareService.url }
  const prototype: Target = { ...ours, url: prototypeService.url }
  let mb = 0
  const memory = (): void => {
    mb = Math.max(mb, residentMb(service.pid) ?? 0)
  }
  console.log(hasWrk() ? 'client: wrk, one thread' : 'client: built-in (install wrk for figures that count)')
  await sendBatches(service.url, ours, PEOPLE)
  for (const kind of ['events', 'collect'] as const) await sendLoad({ ...ours, run: 'warm' }, kind, 64, 3)
  await sendLoad({ ...prototype, run: 'warm' }, 'events', 64, 3)
  const rest = (): Promise<void> => waitForRest(service.pid)
  await rest()
  const targets = { bare, ours, prototype, memory, rest }
  const rounds = {
    '64': await compare(targets, 'events', 64),
    '256': await compare(targets, 'events', 256),
    collect: await compare(targets, 'collect', 64),
  }
  const sustained = await sustain(
    targets,
    median(rounds['64'].map(({ bare: { requestsPerSecond } }) => requestsPerSecond)),
  )
  await bareService.stop()
  await prototypeService.stop()
  const bytes = await measureBytes(service, ours, join(data, 'eventpost.db'), start)
  const coldMs = await measureColdStart(serve, folder.path)
  const figures = compareWithTargets(rounds, mb, coldMs, bytes)
  const machine = { cores: cpus().length, model: cpus()[0]?.model ?? 'unknown', bun: Bun.version }
  const results = {
    date: new Date().toISOString(),
    machine,
    client: hasWrk() ? 'wrk' : 'built-in',
    figures,
    rounds,
    sustained,
  }
  await Bun.write(join(import.meta.dir, 'results.json'), `${JSON.stringify(results, null, 2)}\n`)
  for (const connections of ['64', '256'] as const) {
    const ratios = rounds[connections].flatMap(({ prototype: ratio }) => ratio ?? [])
    console.log(`         the prototype's ratio at ${connections} connections: ${round(median(ratios))}`)
  }
  for (const { name, asked, reached, isReached } of figures)
    console.log(`${isReached ? 'reached' : 'MISSED '}  ${name}: ${reached} (${asked})`)
  process.exitCode = figures.every((figure) => figure.isReached) ? 0 : 1
} finally {
  folder.remove()
}
