import { join } from 'node:path'

/** One run of load: rate in requests a second, latencies in milliseconds. */
export type Load = {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  failed: number
  client: 'wrk' | 'built-in'
}

export type Target = { url: string; app: string; key: string; run: string; site: string; people: People }
/** Who is known, with the signature of each, also as lines of a file. */
export type People = { file: string; signed: { email: string; signature: string }[] }
/** Events of a server, page views of browsers, or questions over MCP. */
export type Kind = 'events' | 'collect' | 'mcp'
type Result = { requests: number; microseconds: number; failed: number; errors: number; p50Ms: number; p99Ms: number }

/** More than a durable server answers on two cores; in a long run the first half million come again. */
const PREPARED_A_SECOND = 50_000
const PREPARED_MOST = 500_000

export const hasWrk = (): boolean => Bun.which('wrk') !== null

/** Sends requests over `connections` for some seconds; by wrk where it is installed, else by our own client, which is slower. */
export async function sendLoad(target: Target, kind: Kind, connections: number, seconds: number): Promise<Load> {
  const result = await (hasWrk() ? sendByWrk : sendByFetch)(target, kind, connections, seconds)
  const requestsPerSecond = Math.round((result.requests / result.microseconds) * 1e6)
  const failed = result.failed + result.errors
  return { requestsPerSecond, p50Ms: result.p50Ms, p99Ms: result.p99Ms, failed, client: hasWrk() ? 'wrk' : 'built-in' }
}

const SCRIPTS = { events: 'post.lua', collect: 'collect.lua', mcp: 'mcp.lua' } as const satisfies Record<Kind, string>

async function sendByWrk(target: Target, kind: Kind, connections: number, seconds: number): Promise<Result> {
  const { url, app, key, run, site, people } = target
  const script = join(import.meta.dir, SCRIPTS[kind])
  const args = ['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url]
  const prepared = String(Math.min(PREPARED_MOST, PREPARED_A_SECOND * seconds))
  const names = { BENCH_APP: app, BENCH_KEY: key, BENCH_SITE: site, BENCH_PEOPLE: people.file }
  const env = { ...process.env, ...names, BENCH_RUN: run, BENCH_PREPARED: prepared }
  const text = await new Response(Bun.spawn(args, { env, stdout: 'pipe', stderr: 'inherit' }).stdout).text()
  const line = text.split('\n').find((one) => one.startsWith('RESULT '))
  if (!line) throw new Error(`wrk gave no result:\n${text}`)
  return JSON.parse(line.slice('RESULT '.length)) as Result
}

async function sendByFetch(target: Target, kind: Kind, connections: number, seconds: number): Promise<Result> {
  const make = MAKERS[kind]
  const startedAt = performance.now()
  const latencies: number[] = []
  let [count, failed] = [0, 0]
  const client = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1000) {
      count += 1
      const sentAt = performance.now()
      const { path, headers, body } = make(target, count)
      const response = await fetch(target.url + path, { method: 'POST', headers, body })
      await response.text()
      latencies.push(performance.now() - sentAt)
      if (!response.ok) failed += 1
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  latencies.sort((a, b) => a - b)
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0
  const microseconds = (performance.now() - startedAt) * 1000
  return { requests: latencies.length, microseconds, failed, errors: 0, p50Ms: at(0.5), p99Ms: at(0.99) }
}

type Call = { path: string; headers: Record<string, string>; body: string }

/** The same mix as post.lua. */
function makeEventCall({ app, key, run }: Target, count: number): Call {
  const person = Math.floor(Math.random() * 20_000)
  const email = count % 10 === 0 ? `new${run}.${count}@example.com` : `person${person}@example.com`
  const number = String(count).padStart(10, '0')
  const properties = {
    url: `https://app.example.com/results/${number}`,
    headline: `Your results number ${number} are ready now`,
  }
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` }
  const body = JSON.stringify({ app, email, event: 'results_ready', createContact: true, properties })
  return { path: '/api/v1/events', headers, body }
}

/** The same as collect.lua. */
function makeCollectCall({ site, run, people: { signed } }: Target, count: number): Call {
  const person = signed[Math.floor(Math.random() * signed.length)]
  const random = Math.floor(Math.random() * 2 ** 31).toString(16)
  const events = [{ type: 'page', path: `/results/${count % 1000}`, age: 1 + (count % 900) }]
  const headers = { 'Content-Type': 'text/plain;charset=UTF-8', Origin: 'https://app.example.com' }
  const body = JSON.stringify({ v: 1, site, ...person, id: `${run}-${random}.${count}`, events })
  return { path: '/c', headers, body }
}

/** The same as mcp.lua. */
export function makeMcpCall({ app, key }: Target, count: number): Call {
  const args = { app, email: `person${count % 20_000}@example.com` }
  const params = { name: 'get_contact', arguments: args }
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` }
  return { path: '/mcp', headers, body: JSON.stringify({ jsonrpc: '2.0', id: count, method: 'tools/call', params }) }
}

const MAKERS: Record<Kind, (target: Target, count: number) => Call> = {
  events: makeEventCall,
  collect: makeCollectCall,
  mcp: makeMcpCall,
}
