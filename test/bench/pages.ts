/**
 * `bun run bench:pages [FOLDER] [PART]`: how long the executable takes to answer every page, or those whose names have a
 * part, with a million people, ten million events and a million deliveries stored (`bun run seed`, which is done first
 * where the folder is missing): in a process just started, again and again, and in the minute after an import. Also the
 * newest 20 events of an app that owns 20 of them, and what script and style a page costs over the wire. Exits 1 when a
 * bar is missed. BENCH_TIMES: how often each page is asked for.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { report } from '../faults/figures.ts'
import { type Get, listPages, type Page, type Post } from './pages-list.ts'
import { SEEDED, type Seeded, seededFile } from './seeded.ts'
import { createFolder, EXECUTABLE, processorMs, runJson, type Service, startService } from './service.ts'

const TIMES = Number(process.env.BENCH_TIMES ?? 200)
const WARM = 5
const PAGE_BARS = { p50: 50, p99: 150 }
const LIST_MS = 5
/** The editor shows how many people a message reaches once a simulation has counted them. */
const REACH_MS = 2_000
const isReach = ({ name }: { name: string }): boolean => name.endsWith('typed: reach')
/** A page of deliveries, whatever is asked for. */
const DELIVERIES_MS = 20
const ASSET_BYTES = 60 * 1024
const MINUTE_MS = 60_000
const STARTS = 3

/** `first`: in a process just started. `processor`: of the service, as the median, which a busy machine blurs less. */
type Timing = { name: string; first: number; p50: number; p99: number; processor: number; bytes: number }
type Browser = { get: Get; post: Post }

/** @returns how many ms it took, and how many bytes came */
async function answer({ name, path, fields }: Page, { get, post }: Browser): Promise<[ms: number, bytes: number]> {
  const startedAt = performance.now()
  const response = await (fields ? post(path, fields) : get(path))
  const bytes = (await response.arrayBuffer()).byteLength
  if (response.status !== 200) throw new Error(`${name}: ${path} answered ${response.status}`)
  return [performance.now() - startedAt, bytes]
}

const atShare = (times: number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0

async function measure(page: Page, browser: Browser, pid: number): Promise<Omit<Timing, 'first'>> {
  const times: number[] = []
  const processor: number[] = []
  let bytes = 0
  for (let index = 0; index < TIMES + WARM; index += 1) {
    const before = processorMs(pid)
    const [ms, size] = await answer(page, browser)
    bytes = size
    if (index < WARM) continue
    times.push(ms)
    processor.push(processorMs(pid) - before)
  }
  const [p50, p99] = [atShare(times, 0.5), atShare(times, 0.99)]
  return { name: page.name, p50, p99, processor: atShare(processor, 0.5), bytes }
}

/** The first answer of each page in a process that has just started. */
async function measureFirst(pages: Page[], browser: Browser): Promise<number[]> {
  const times: number[] = []
  for (const page of pages) times.push((await answer(page, browser))[0])
  return times
}

const IMPORT = { batches: 2_000, events: 100, clients: 8, mostMs: 60_000 }

/** New people by the API, as fast as they are taken. @returns how many events were recorded */
async function importPeople({ url }: Service, { mailing, apiKey }: Seeded): Promise<number> {
  const run = Date.now()
  const until = performance.now() + IMPORT.mostMs
  let [next, recorded] = [0, 0]
  const send = async (): Promise<void> => {
    while (next < IMPORT.batches && performance.now() < until) {
      const batch = next++
      const events = Array.from({ length: IMPORT.events }, (_, index) => ({
        app: mailing,
        event: 'imported',
        createContact: true,
        email: `import${run}.${batch}.${index}@example.com`,
      }))
      const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' }
      const response = await fetch(`${url}/api/v1/events/batch`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ events }),
      })
      if (!response.ok) throw new Error(`the import answered ${response.status}`)
      const { results = [] } = (await response.json()) as { results?: { ok: boolean }[] }
      recorded += results.filter(({ ok }) => ok).length
    }
  }
  await Promise.all(Array.from({ length: IMPORT.clients }, send))
  return recorded
}

/** In turns until a minute is over. */
async function measureAfterImport(pages: Page[], browser: Browser): Promise<Map<string, number[]>> {
  const until = performance.now() + MINUTE_MS
  const times = new Map<string, number[]>()
  while (performance.now() < until)
    for (const page of pages) {
      const known = times.get(page.name) ?? []
      times.set(page.name, [...known, (await answer(page, browser))[0]])
    }
  return times
}

/** A browser of the owner. */
async function signIn({ url }: Service, { email, password }: Seeded): Promise<Browser> {
  const body = new URLSearchParams({ email, password, next: '/' })
  const answer = await fetch(`${url}/sign-in`, { method: 'POST', headers: { Origin: url }, body, redirect: 'manual' })
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  if (answer.status !== 303) throw new Error(`signing in answered ${answer.status}`)
  return {
    get: (path) => fetch(url + path, { headers: { Cookie: cookie }, redirect: 'manual' }),
    post: (path, fields) =>
      fetch(url + path, {
        method: 'POST',
        headers: { Cookie: cookie, Origin: url },
        body: new URLSearchParams(fields),
        redirect: 'manual',
      }),
  }
}

/** Script and style of a page as a browser fetches them, packed. */
async function weigh(get: Get, { url }: Service, path: string): Promise<number> {
  const html = await (await get(path)).text()
  const assets = Array.from(html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g), ([, href = '']) => href)
  const sizes = assets.map(async (asset) => {
    const response = await fetch(url + asset, { headers: { 'Accept-Encoding': 'gzip' }, decompress: false })
    return (await response.arrayBuffer()).byteLength
  })
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

const folder = resolve(process.argv[2] ?? SEEDED)
if (!existsSync(seededFile(folder))) {
  const { exitCode } = Bun.spawnSync([process.execPath, join(import.meta.dir, 'seed.ts'), folder], {
    stdout: 'inherit',
  })
  if (exitCode !== 0) throw new Error('seeding failed')
}
const seeded = (await Bun.file(seededFile(folder)).json()) as Seeded
const logs = createFolder()
const start = (): Promise<Service> => startService([EXECUTABLE, 'serve', '--data', folder, '--port', '0'], logs.path)
await runJson([EXECUTABLE, 'plan', 'set', '--data', folder, '--events-per-hour', 'unlimited', '--json'], logs.path)
let service = await start()
try {
  const all = await listPages(await signIn(service, seeded), seeded)
  const wanted = all.filter(({ name }) => name.includes(process.argv[3] ?? ''))
  const firsts: number[][] = []
  for (let index = 0; index < STARTS; index += 1) {
    await service.stop()
    service = await start()
    firsts.push(await measureFirst(wanted, await signIn(service, seeded)))
  }
  const browser = await signIn(service, seeded)
  const pages: Timing[] = []
  for (const [index, page] of wanted.entries()) {
    const first = atShare(
      firsts.map((times) => times[index] ?? 0),
      0.5,
    )
    pages.push({ ...(await measure(page, browser, service.pid)), first })
  }
  const { get } = browser
  const authorised: Get = (path) => fetch(service.url + path, { headers: { Authorization: `Bearer ${seeded.apiKey}` } })
  const newest = { name: 'GET 20 of 10,000,000', path: `/api/v1/events?app=${seeded.small}&limit=20` }
  const list = await measure(newest, { ...browser, get: authorised }, service.pid)
  const heaviest = await weigh(get, service, `/apps/${seeded.large}/events`)
  for (const { name, first, p50, p99, processor, bytes } of [...pages, { ...list, first: 0 }])
    console.log(
      `${name.padEnd(64)} p50 ${p50.toFixed(1).padStart(6)} ms  p99 ${p99.toFixed(1).padStart(6)} ms  first ${first.toFixed(1).padStart(6)} ms  processor ${processor.toFixed(1).padStart(5)} ms  ${bytes} B`,
    )
  console.log(`script and style of Events, packed: ${heaviest} B`)
  const missed = pages
    .filter((page) => !isReach(page))
    .filter(({ first, p50, p99 }) => p50 > PAGE_BARS.p50 || Math.max(first, p99) > PAGE_BARS.p99)
    .map(({ name }) => name)
  missed.push(
    ...pages.filter(({ name, p50 }) => name.startsWith('deliveries ') && p50 > DELIVERIES_MS).map(({ name }) => name),
  )
  missed.push(...pages.filter((page) => isReach(page) && page.p50 > REACH_MS).map(({ name }) => name))
  if (list.p50 > LIST_MS) missed.push(list.name)
  if (heaviest > ASSET_BYTES) missed.push('script and style')
  console.log(`imported ${(await importPeople(service, seeded)).toLocaleString('en')} people`)
  const after = await measureAfterImport(
    wanted.filter((page) => !isReach(page)),
    browser,
  )
  for (const [name, times] of after)
    if (atShare(times, 0.5) > PAGE_BARS.p50)
      missed.push(`${name} after an import (${atShare(times, 0.5).toFixed(1)} ms)`)
  const times = [...after.values()].flat()
  const [p50, p99] = [atShare(times, 0.5), atShare(times, 0.99)]
  if (p99 > PAGE_BARS.p99) missed.push('the minute after an import')
  console.log(`in the minute after: ${times.length} pages, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
  const slowest = Math.max(...pages.filter((page) => !isReach(page)).map(({ p50: median }) => median))
  report({
    target: 'Pages with 1 million people and 10 million events, from a start and after an import',
    asked: `${PAGE_BARS.p50} ms median, ${PAGE_BARS.p99} ms p99`,
    measured: missed.length === 0 ? `slowest median ${slowest.toFixed(1)} ms` : `missed by ${missed.join(', ')}`,
    isReached: missed.length === 0,
  })
  console.log(missed.length === 0 ? 'every bar is reached' : `MISSED: ${missed.join(', ')}`)
  process.exitCode = missed.length === 0 ? 0 : 1
} finally {
  await service.stop()
  logs.remove()
}
