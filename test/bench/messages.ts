/**
 * `bun run bench:messages`: what messages cost. Events of an app with 20 live messages beside those of one without, over HTTP
 * and in interleaved pairs; the queue with a million deliveries waiting; a simulation of the newest
 * 10,000 of a million events, and what it costs those who send events meanwhile. Exits 1 when a bar is missed.
 */
import { Database } from 'bun:sqlite'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDeliveryQueue } from '../../src/store/delivery-queue.ts'
import { sendLoad, type Target } from './load.ts'
import {
  addMessages,
  fillEvents,
  fillQueue,
  fillStrangers,
  DECIDED,
  makeLive,
  OF_STRANGERS,
  SIMULATED,
} from './messages-data.ts'
import { createFolder, EXECUTABLE, runJson, type Service, startService, waitForRest } from './service.ts'

const PAIRS = Number(process.env.BENCH_ROUNDS ?? 9)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 3)
const CONNECTIONS = 64

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

type Side = { target: Target; pid: number }
type Cost = { perSecond: number; microseconds: number }

/** The rate, and the processor time that the service takes for an event, which a busy machine blurs less. */
async function measureCost({ target, pid }: Side, run: string): Promise<Cost> {
  const before = processorMicroseconds(pid)
  const { requestsPerSecond, failed } = await sendLoad({ ...target, run }, 'events', CONNECTIONS, SECONDS)
  if (failed > 0) throw new Error(`${failed} events were refused`)
  const used = processorMicroseconds(pid) - before
  // the other is measured next, on the same two cores
  await waitForRest(pid)
  return { perSecond: requestsPerSecond, microseconds: used / (requestsPerSecond * SECONDS) }
}

/** User and system time, of all threads; the kernel counts it in hundredths of a second. */
function processorMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

type Slower = { byRate: number; byProcessor: number }

/** By how many percent an event takes longer, as the median of the pairs. */
async function measureEvents(plain: Side, live: Side): Promise<Slower> {
  const pairs: { plain: Cost; live: Cost }[] = []
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const first = await measureCost(pair % 2 === 0 ? plain : live, `a${pair}`)
    const second = await measureCost(pair % 2 === 0 ? live : plain, `b${pair}`)
    const costs = pair % 2 === 0 ? { plain: first, live: second } : { plain: second, live: first }
    pairs.push(costs)
    const show = ({ perSecond, microseconds }: Cost) => `${perSecond}/s, ${microseconds.toFixed(1)} us each`
    console.log(`pair ${pair}: without ${show(costs.plain)}; with 20 live messages ${show(costs.live)}`)
  }
  const percent = (ratios: number[]): number => (median(ratios) - 1) * 100
  return {
    byRate: percent(pairs.map((pair) => pair.plain.perSecond / pair.live.perSecond)),
    byProcessor: percent(pairs.map((pair) => pair.live.microseconds / pair.plain.microseconds)),
  }
}

function measureQueue(db: Database, now: number): number {
  const queue = createDeliveryQueue(db)
  const times = Array.from({ length: 51 }, () => {
    const startedAt = performance.now()
    if (queue.listDue({ now, most: 10, skipApps: [] }).length !== 10) throw new Error('ten are due')
    return performance.now() - startedAt
  })
  return median(times)
}

/** Asks the service itself, over MCP, while others send it events. */
async function simulate({ url, app, key }: Target, messageId: string) {
  const startedAt = performance.now()
  const params = { name: 'simulate_message', arguments: { app, messageId, days: 7, limit: 1 } }
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    Authorization: `Bearer ${key}`,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const response = await fetch(`${url}/mcp`, { method: 'POST', headers, body })
  const { result } = (await response.json()) as { result?: { structuredContent?: { simulation?: object } } }
  const said = JSON.stringify(result?.structuredContent?.simulation ?? result)
  if (!said.includes('"triggered":10000')) throw new Error(`the simulation said ${said}`)
  return { ms: performance.now() - startedAt, said }
}

/** How long simulations take while events come over so many connections, and how much of their rate these keep, in percent. */
async function measureBeside(target: Target, messageId: string, connections: number) {
  const times: number[] = []
  const rates: number[] = []
  for (let run = 0; run < 3; run += 1) {
    const alone = await sendLoad({ ...target, run: `a${run}` }, 'events', connections, SECONDS)
    const running = { isOver: false }
    const load = sendLoad({ ...target, run: `r${run}` }, 'events', connections, SECONDS).finally(
      () => (running.isOver = true),
    )
    // one after the other, so that no part of the load is without one
    while (!running.isOver) times.push((await simulate(target, messageId)).ms)
    rates.push(((await load).requestsPerSecond / alone.requestsPerSecond) * 100)
  }
  return { ms: median(times), rate: median(rates) }
}

type Install = { data: string; app: string; key: string; start: () => Promise<Service> }

/** A data folder of its own: two apps in one would share the memory of who is known. */
async function install(folder: string, name: string): Promise<Install> {
  const data = join(folder, name)
  const words = ['--data', data, '--json']
  const init = ['init', '--email', 'bench@example.com', '--app', name, '--domain', 'example.com']
  const { appId = '', apiKey = '' } = await runJson([EXECUTABLE, ...init, ...words], folder)
  await runJson([EXECUTABLE, 'plan', 'set', '--events-per-hour', 'unlimited', ...words], folder)
  const start = () => startService([EXECUTABLE, 'serve', '--data', data, '--port', '0'], folder)
  return { data, app: appId, key: apiKey, start }
}

const targetOf = ({ app, key }: Install, { url }: Service): Target => {
  const people = { file: '', signed: [] }
  return { url, app, key, run: '0', site: '', people }
}

async function comparePair(plain: Install, live: Install): Promise<Slower> {
  await makeLive(live.data)
  const services = [await plain.start(), await live.start()] as const
  const sides = [
    { target: targetOf(plain, services[0]), pid: services[0].pid },
    { target: targetOf(live, services[1]), pid: services[1].pid },
  ] as const
  // until every person is known in both
  for (const { target } of sides) await sendLoad({ ...target, run: 'warm' }, 'events', CONNECTIONS, 2 * SECONDS)
  const slower = await measureEvents(...sides)
  for (const service of services) await service.stop()
  return slower
}

/** With rules about people, and a mail that needs something of each. */
async function measureStrangers(strangers: Install, now: number): Promise<number> {
  const db = new Database(join(strangers.data, 'eventpost.db'))
  fillStrangers(db, 1, now)
  db.close()
  const [messageId = ''] = await addMessages(strangers.data, [OF_STRANGERS])
  const service = await strangers.start()
  const ms = await measureAlone(targetOf(strangers, service), messageId)
  await service.stop()
  return ms
}

/** How long a simulation takes, as the median of three. */
async function measureAlone(target: Target, messageId: string): Promise<number> {
  const times: number[] = []
  for (let run = 0; run < 3; run += 1) {
    const { ms, said } = await simulate(target, messageId)
    if (run === 0) console.log('simulation', said)
    times.push(ms)
  }
  return median(times)
}

const folder = createFolder()
try {
  const [plain, live] = [await install(folder.path, 'plain'), await install(folder.path, 'live')]
  const slower = await comparePair(plain, live)
  const now = Date.now()
  const db = new Database(join(plain.data, 'eventpost.db'))
  fillEvents(db, 1, now)
  fillQueue(db, 2, now)
  const queueMs = measureQueue(db, now)
  db.close()
  const [messageId = '', decided = ''] = await addMessages(plain.data, [SIMULATED, DECIDED])
  const strangersMs = await measureStrangers(await install(folder.path, 'strangers'), now)
  const service = await plain.start()
  const target = targetOf(plain, service)
  const aloneMs = await measureAlone(target, messageId)
  const decidedMs = await measureAlone(target, decided)
  const full = await measureBeside(target, messageId, CONNECTIONS)
  // each event waits for the one before it here, and each turn of the processor is felt
  const few = await measureBeside(target, messageId, 8)
  await service.stop()
  const figures = [
    {
      name: 'processor time of an event more with 20 live messages, % (median)',
      reached: slower.byProcessor,
      most: 15,
    },
    { name: 'the next ten of a million that wait, ms (median)', reached: queueMs, most: 5 },
    { name: 'simulation of the newest of a million events, ms (median)', reached: aloneMs, most: 2_000 },
    { name: 'the same where each of its triggers is decided, ms (median)', reached: decidedMs, most: 2_000 },
    { name: 'the same of a million people, one suppressed, ms (median)', reached: strangersMs, most: 2_000 },
    { name: 'the same beside 64 connections of events, ms (median)', reached: full.ms, most: 5_000 },
    { name: 'rate that 64 connections lose beside simulations, % (median)', reached: 100 - full.rate, most: 10 },
    { name: 'rate that 8 connections lose beside simulations, % (median)', reached: 100 - few.rate, most: 10 },
  ]
  for (const { name, reached, most } of figures) {
    console.log(`${reached <= most ? 'reached' : 'MISSED '}  ${name}: ${reached.toFixed(1)} (at most ${most})`)
  }
  console.log(`by the rate over HTTP, events with 20 live messages took ${slower.byRate.toFixed(1)} % longer`)
  process.exitCode = figures.every(({ reached, most }) => reached <= most) ? 0 : 1
} finally {
  folder.remove()
}
