/**
 * `bun run bench:mcp`: get_contact over MCP at 16 connections beside a bare Bun.serve, in one run and interleaved; memory
 * over 50,000 calls; what the MCP server adds to the executable. Prints figures, writes results-mcp.json, exits 1 when a bar is
 * missed.
 */
import { cpSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeMcpCall, sendLoad, type Target } from './load.ts'
import { createFolder, EXECUTABLE, residentMb, runJson, startService } from './service.ts'

const ROOT = join(import.meta.dir, '../..')
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const CONNECTIONS = 16
const PEOPLE = 20_000
const CALLS_FOR_MEMORY = 50_000
const LEAST_RATIO = 0.08
const MOST_GROWTH_MB = 8
const MOST_EXECUTABLE_MB = 2.5

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const round = (value: number, digits = 2): number => Number(value.toFixed(digits))

async function addPeople({ url, app, key }: Target): Promise<void> {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` }
  for (let start = 0; start < PEOPLE; start += 100) {
    const events = Array.from({ length: 100 }, (_, index) => ({
      app,
      email: `person${start + index}@example.com`,
      event: 'signed_in',
      createContact: true,
    }))
    const sent = await fetch(`${url}/api/v1/events/batch`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ events }),
    })
    if (((await sent.json()) as { accepted: number }).accepted !== 100) throw new Error('people could not be added')
  }
}

/** A refusal would be a 200 too, and a fast one: looks into answers. */
async function call(target: Target, count: number): Promise<void> {
  const { path, headers, body } = makeMcpCall(target, count)
  const response = await fetch(target.url + path, { method: 'POST', headers, body })
  const { result } = (await response.json()) as { result?: { structuredContent?: { contact?: { email: string } } } }
  if (result?.structuredContent?.contact?.email !== `person${count % PEOPLE}@example.com`)
    throw new Error('a wrong answer')
}

async function compare(bare: Target, ours: Target): Promise<number[]> {
  const ratios: number[] = []
  for (let index = 0; index < ROUNDS; index += 1) {
    const base = await sendLoad(bare, 'mcp', CONNECTIONS, SECONDS)
    const load = await sendLoad(ours, 'mcp', CONNECTIONS, SECONDS)
    if (load.failed > 0) throw new Error(`${load.failed} calls failed`)
    ratios.push(load.requestsPerSecond / base.requestsPerSecond)
    const rates = `bare ${base.requestsPerSecond}/s, get_contact ${load.requestsPerSecond}/s`
    console.log(
      `${rates}, ratio ${round(ratios.at(-1) ?? 0, 3)}, p50 ${round(load.p50Ms)} ms, p99 ${round(load.p99Ms)} ms`,
    )
  }
  return ratios
}

/** Resident MB after each 50,000 calls; the lower of two looks, because a heap breathes. */
async function measureMemory(target: Target, pid: number): Promise<number[]> {
  const sizes: number[] = []
  for (let run = 0; run < 3; run += 1) {
    let count = 0
    const client = async (): Promise<void> => {
      while (count < CALLS_FOR_MEMORY) await call(target, count++)
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, client))
    const looks: number[] = []
    for (let look = 0; look < 4; look += 1) {
      await Bun.sleep(1_000)
      looks.push(residentMb(pid) ?? 0)
    }
    sizes.push(Math.min(...looks))
  }
  return sizes
}

const WITHOUT = `import { Elysia } from 'elysia'
export const MCP_PATH = '/mcp'
export const mcpRoutes = (_: object) => new Elysia()
`

/** What the executable would lose without the MCP server, in MB. */
async function measureExecutable(folder: string): Promise<number> {
  const copy = join(folder, 'without')
  mkdirSync(copy)
  for (const name of ['src', 'dist/assets', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  writeFileSync(join(copy, 'src/mcp/index.ts'), WITHOUT)
  const words = [process.execPath, 'run', 'compile', '--outfile', 'without']
  const child = Bun.spawn(words, { cwd: copy, stdout: 'ignore', stderr: 'pipe' })
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text())
  return (statSync(EXECUTABLE).size - statSync(join(copy, 'without')).size) / 1e6
}

const folder = createFolder()
try {
  const data = join(folder.path, 'data')
  const owner = ['--email', 'bench@example.com', '--app', 'Bench', '--domain', 'example.com']
  const made = await runJson([EXECUTABLE, 'init', '--data', data, ...owner, '--json'], folder.path)
  const lifted = ['--events-per-hour', 'unlimited', '--mcp-calls-per-minute', 'unlimited']
  await runJson([EXECUTABLE, 'plan', 'set', '--data', data, ...lifted, '--json'], folder.path)
  const bareService = await startService([process.execPath, join(import.meta.dir, 'bare.ts'), '0'], folder.path)
  const service = await startService([EXECUTABLE, 'serve', '--data', data, '--port', '0'], folder.path)
  const ids = { app: made.appId ?? '', key: made.apiKey ?? '', site: made.siteId ?? '', run: '0' }
  const ours: Target = { url: service.url, ...ids, people: { file: '', signed: [] } }
  const bare: Target = { ...ours, url: bareService.url }
  await addPeople(ours)
  await call(ours, 1)
  await sendLoad(ours, 'mcp', CONNECTIONS, 3)
  const ratio = median(await compare(bare, ours))
  await call(ours, 2)
  const sizes = await measureMemory(ours, service.pid)
  await bareService.stop()
  await service.stop()
  const growth = Math.max(...sizes.slice(1)) - (sizes[0] ?? 0)
  const executable = await measureExecutable(folder.path)
  const figures = [
    {
      name: 'ratio to bare Bun.serve at 16 connections (median)',
      asked: `at least ${LEAST_RATIO}`,
      reached: round(ratio, 3),
      isReached: ratio >= LEAST_RATIO,
    },
    {
      name: 'memory gained over 50,000 further calls, MB',
      asked: `at most ${MOST_GROWTH_MB}`,
      reached: growth,
      isReached: growth <= MOST_GROWTH_MB,
    },
    {
      name: 'what it adds to the executable, MB',
      asked: `at most ${MOST_EXECUTABLE_MB}`,
      reached: round(executable),
      isReached: executable <= MOST_EXECUTABLE_MB,
    },
  ]
  console.log(`resident after each 50,000 calls: ${sizes.join(', ')} MB`)
  const results = { date: new Date().toISOString(), bun: Bun.version, sizes, figures }
  await Bun.write(join(import.meta.dir, 'results-mcp.json'), `${JSON.stringify(results, null, 2)}\n`)
  for (const { name, asked, reached, isReached } of figures)
    console.log(`${isReached ? 'reached' : 'MISSED '}  ${name}: ${reached} (${asked})`)
  process.exitCode = figures.every((figure) => figure.isReached) ? 0 : 1
} finally {
  folder.remove()
}
