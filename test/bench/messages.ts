/**
 * `bun run bench:messages`: what messages cost. What 20 live messages add to events that start none of them, in an app
 * where nothing else is live and in one where each event writes two deliveries, over HTTP and in turns; the queue with a million deliveries waiting; a simulation of the newest
 * 10,000 of a million events, and what it costs those who send events meanwhile. Exits 1 when a bar is missed.
 */
import { Database } from 'bun:sqlite'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { COSTLY_CALL_LIMIT } from '../../src/accounts/costly-calls.ts'
import { mapInOrder } from '../../src/core/in-order.ts'
import { createDeliveryQueue } from '../../src/store/delivery-queue.ts'
import { sendLoad, type Target } from './load.ts'
import {
  addMessages,
  countDeliveries,
  fillEvents,
  fillQueue,
  fillStrangers,
  DECIDED,
  makeLive,
  OF_STRANGERS,
  SIDES,
  type SideName,
  SIMULATED,
} from './messages-data.ts'
import { createFolder, EXECUTABLE, runJson, type Service, startService, waitForRest } from './service.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'

/** Many short ones: what else the machine does then meets all sides alike. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 27)
const ROUND_SECONDS = 1
const SECONDS = Number(process.env.BENCH_SECONDS ?? 3)
const CONNECTIONS = 64
/** Enough for all simulations of the run. */
const KEYS = 12

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

type Side = { name: SideName; install: Install; target: Target; pid: number; stop: () => Promise<void>; costs: Cost[] }
type Cost = { perSecond: number; microseconds: number }

/** The rate, and the processor time that the service takes for an event, which a busy machine blurs less. */
async function measureCost({ target, pid }: Side, run: string): Promise<Cost> {
  const before = processorMicroseconds(pid)
  const { requestsPerSecond, failed } = await sendLoad({ ...target, run }, 'events', CONNECTIONS, ROUND_SECONDS)
  if (failed > 0) throw new Error(`${failed} events were refused`)
  const used = processorMicroseconds(pid) - before
  // the other is measured next, on the same two cores
  await waitForRest(pid)
  return { perSecond: requestsPerSecond, microseconds: used / (requestsPerSecond * ROUND_SECONDS) }
}

/** User and system time, of all threads; the kernel counts it in hundredths of a second. */
function processorMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

async function startSide(folder: string, name: SideName): Promise<Side> {
  const live = await install(folder, name)
  await makeLive(live.data, SIDES[name].messages)
  const service = await live.start()
  const target = targetOf(live, service)
  // until every person is known
  await sendLoad({ ...target, run: 'warm' }, 'events', CONNECTIONS, 2 * SECONDS)
  await waitForRest(service.pid)
  return { name, install: live, target, pid: service.pid, stop: service.stop, costs: [] }
}

/** What an event costs with each set of live messages, in turns; all must have written the deliveries that they should. */
async function measureEvents(folder: string): Promise<Record<SideName, Cost[]>> {
  const sides: Side[] = []
  for (const name of Object.keys(SIDES) as SideName[]) sides.push(await startSide(folder, name))
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      side.costs.push(await measureCost(side, `${side.name}${round}`))
    }
    const shown = sides.map(({ name, costs }) => `${name} ${costs[round]?.microseconds.toFixed(1)}`)
    console.log(`round ${round}, us each: ${shown.join(', ')}`)
  }
  for (const { stop } of sides) await stop()
  for (const { name, install } of sides) {
    const written = countDeliveries(install.data)
    console.log(`${name}: ${SIDES[name].messages.length} live messages, ${written.toFixed(3)} deliveries an event`)
    if (Math.abs(written - SIDES[name].deliveries) > 0.01) throw new Error(`${SIDES[name].deliveries} were expected`)
  }
  return Object.fromEntries(sides.map(({ name, costs }) => [name, costs])) as Record<SideName, Cost[]>
}

/** By how many percent an event takes longer, as the median of the rounds. */
const percentLonger = (costs: Cost[], than: Cost[], cost: (one: Cost) => number): number =>
  (median(costs.flatMap((one, round) => (than[round] ? cost(one) / cost(than[round]) : []))) - 1) * 100

const byProcessor = ({ microseconds }: Cost): number => microseconds
const byRate = ({ perSecond }: Cost): number => 1 / perSecond

/** Microseconds of each delivery that an event writes, as the median of the rounds. */
const perDelivery = ({ none, started }: Record<SideName, Cost[]>): number =>
  median(started.map(({ microseconds }, round) => microseconds - (none[round]?.microseconds ?? 0))) /
  SIDES.started.deliveries

async function measureQueue(db: Database, now: number): Promise<number> {
  const queue = createDeliveryQueue(createSqliteSql(db))
  const times = await mapInOrder(Array.from({ length: 51 }), async () => {
    const startedAt = performance.now()
    if ((await queue.listDue({ now, most: 10, skipApps: [] })).length !== 10) throw new Error('ten are due')
    return performance.now() - startedAt
  })
  return median(times)
}

/** A little longer than the service counts a call. */
const CALL_MS = COSTLY_CALL_LIMIT.windowMs + 1_000

/** Each key may simulate so often a minute: one after the other, and the first again once its calls are forgotten. */
function createTurns(keys: readonly string[]): () => Promise<string> {
  const takenAt: number[] = []
  return async () => {
    const before = takenAt.at(-keys.length * COSTLY_CALL_LIMIT.max)
    if (before !== undefined) await Bun.sleep(Math.max(0, before + CALL_MS - performance.now()))
    const turn = Math.floor(takenAt.length / COSTLY_CALL_LIMIT.max) % keys.length
    takenAt.push(performance.now())
    return keys[turn] ?? ''
  }
}

type Simulated = { target: Target; takeKey: () => Promise<string> }

/** Asks the service itself, over MCP, while others send it events. */
async function simulate({ target: { url, app }, takeKey }: Simulated, messageId: string) {
  const key = await takeKey()
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
async function measureBeside(simulated: Simulated, messageId: string, connections: number) {
  const { target } = simulated
  const times: number[] = []
  const rates: number[] = []
  for (let run = 0; run < 3; run += 1) {
    const alone = await sendLoad({ ...target, run: `a${run}` }, 'events', connections, SECONDS)
    const running = { isOver: false }
    const load = sendLoad({ ...target, run: `r${run}` }, 'events', connections, SECONDS).finally(
      () => (running.isOver = true),
    )
    // one after the other, so that no part of the load is without one
    while (!running.isOver) times.push((await simulate(simulated, messageId)).ms)
    rates.push(((await load).requestsPerSecond / alone.requestsPerSecond) * 100)
  }
  return { ms: median(times), rate: median(rates) }
}

type Install = { data: string; app: string; keys: string[]; start: () => Promise<Service> }

/** A data folder of its own: two apps in one would share the memory of who is known. */
async function install(folder: string, name: string): Promise<Install> {
  const data = join(folder, name)
  const words = ['--data', data, '--json']
  const init = ['init', '--email', 'bench@example.com', '--app', name, '--domain', 'example.com']
  const { appId = '', apiKey = '' } = await runJson([EXECUTABLE, ...init, ...words], folder)
  await runJson([EXECUTABLE, 'plan', 'set', '--events-per-hour', 'unlimited', ...words], folder)
  const keys = [apiKey]
  while (keys.length < KEYS) {
    const { apiKey: further = '' } = await runJson(
      [EXECUTABLE, 'key', 'create', '--name', `K${keys.length}`, ...words],
      folder,
    )
    keys.push(further)
  }
  const start = () => startService([EXECUTABLE, 'serve', '--data', data, '--port', '0'], folder)
  return { data, app: appId, keys, start }
}

const targetOf = ({ app, keys: [key = ''] }: Install, { url }: Service): Target => {
  const people = { file: '', signed: [] }
  return { url, app, key, run: '0', site: '', people }
}

const simulatedIn = (install: Install, service: Service): Simulated => ({
  target: targetOf(install, service),
  takeKey: createTurns(install.keys),
})

/** With rules about people, and a mail that needs something of each. */
async function measureStrangers(strangers: Install, now: number): Promise<number> {
  const db = new Database(join(strangers.data, 'eventpost.db'))
  fillStrangers(db, 1, now)
  db.close()
  const [messageId = ''] = await addMessages(strangers.data, [OF_STRANGERS])
  const service = await strangers.start()
  const ms = await measureAlone(simulatedIn(strangers, service), messageId)
  await service.stop()
  return ms
}

/** How long a simulation takes, as the median of three. */
async function measureAlone(simulated: Simulated, messageId: string): Promise<number> {
  const times: number[] = []
  for (let run = 0; run < 3; run += 1) {
    const { ms, said } = await simulate(simulated, messageId)
    if (run === 0) console.log('simulation', said)
    times.push(ms)
  }
  return median(times)
}

const folder = createFolder()
try {
  const costs = await measureEvents(folder.path)
  const plain = await install(folder.path, 'plain')
  const now = Date.now()
  const db = new Database(join(plain.data, 'eventpost.db'))
  fillEvents(db, 1, now)
  fillQueue(db, 2, now)
  const queueMs = await measureQueue(db, now)
  db.close()
  const [messageId = '', decided = ''] = await addMessages(plain.data, [SIMULATED, DECIDED])
  const strangersMs = await measureStrangers(await install(folder.path, 'strangers'), now)
  const service = await plain.start()
  const simulated = simulatedIn(plain, service)
  const aloneMs = await measureAlone(simulated, messageId)
  const decidedMs = await measureAlone(simulated, decided)
  const full = await measureBeside(simulated, messageId, CONNECTIONS)
  // each event waits for the one before it here, and each turn of the processor is felt
  const few = await measureBeside(simulated, messageId, 8)
  await service.stop()
  const figures = [
    {
      name: 'processor time that 20 live messages add to an event that starts none, % (median)',
      reached: percentLonger(costs.further, costs.none, byProcessor),
      most: 15,
    },
    {
      name: 'the same where the event starts two others, % (median)',
      reached: percentLonger(costs.startedAndFurther, costs.started, byProcessor),
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
  const [alone, besides] = [
    percentLonger(costs.further, costs.none, byRate),
    percentLonger(costs.startedAndFurther, costs.started, byRate),
  ]
  console.log(`by the rate over HTTP, the 20 add ${alone.toFixed(1)} % and ${besides.toFixed(1)} %`)
  console.log(`each delivery that an event writes takes ${perDelivery(costs).toFixed(1)} us of processor time`)
  process.exitCode = figures.every(({ reached, most }) => reached <= most) ? 0 : 1
} finally {
  folder.remove()
}
