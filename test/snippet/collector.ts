/** A fake service: serves the built script and records requests. */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pinnedScriptPath } from '../../src/visits/snippet-tag.ts'

const ASSETS = join(import.meta.dir, '../../dist/assets')
export const SCRIPT = readFileSync(join(ASSETS, 's.js'))
export const STUB = readFileSync(join(ASSETS, 'stub.js'), 'utf8')

/** Longer than a report takes, including the settle time of a path. */
const QUIET_MS = 250

type Item = { type: string; name?: string; path: string; age: number }
export type Sent = { v: number; site: string; email: string; signature: string; id: string; events: Item[] }
export type Recorded = { method: string; url: string; headers: IncomingMessage['headers']; text: string; at: number }
/** `lost` reads the request and drops the connection. */
export type Reply =
  'lost' | { status: number; headers?: Record<string, string>; body?: object | string; after?: Promise<unknown> }

export type Collector = Awaited<ReturnType<typeof startCollector>>

const KEPT: Reply = { status: 202, body: { ok: true } }

export async function startCollector() {
  const recorded: Recorded[] = []
  let replies: Reply[] = []
  let run = 0
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      const { method = '', headers } = request
      const [, ofRun, url = ''] = /^\/(\d+)(\/.*)$/.exec(request.url ?? '') ?? []
      // late requests of the previous test's page
      if (ofRun !== String(run)) return void response.destroy()
      recorded.push({ method, url, headers, text, at: performance.now() })
      if (isScript(url)) answer(response, { status: 200, headers: { 'Content-Type': 'text/javascript' } }, SCRIPT)
      else void reply(response, replies.length > 1 ? replies.shift() : replies[0])
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const calls = (): Recorded[] => recorded.filter(({ url }) => url.endsWith('/c'))
  const bodies = (): Sent[] => calls().map(({ text }) => JSON.parse(text) as Sent)

  return {
    /** A new path for each test. */
    url: (): string => `http://127.0.0.1:${port}/${run}`,
    /** All requests, scripts included. */
    recorded,
    calls,
    bodies,
    /** `ada page /a`, `ada track saved /a`, in the order sent. */
    reported: (): string[] => bodies().flatMap(describeEvents),
    /** The same without duplicates, as the service stores it. */
    kept: (): string[] => [...new Map(bodies().map((body) => [body.id, body])).values()].flatMap(describeEvents),
    /** Answers in turn; the last one repeats. */
    replyWith: (...given: Reply[]): void => void (replies = given),
    /** Clears the recorded requests. */
    forget: (): void => void (recorded.length = 0),
    /** Resets everything for the next test. */
    clear(): void {
      replies = [KEPT]
      recorded.length = 0
      run++
    },
    close: (): void => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const isScript = (url: string): boolean => url.endsWith('/s.js') || url.endsWith(pinnedScriptPath(SCRIPT))

async function reply(response: ServerResponse, given: Reply = KEPT): Promise<void> {
  if (given === 'lost') return void response.destroy()
  await given.after
  answer(response, given, typeof given.body === 'string' ? given.body : JSON.stringify(given.body ?? {}))
}

function answer(response: ServerResponse, { status, headers }: Exclude<Reply, 'lost'>, body: string | Buffer): void {
  const cors = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'Retry-After' }
  response.writeHead(status, { ...cors, 'Content-Type': 'application/json', ...headers })
  response.end(body)
}

const describeEvents = ({ email, events }: Sent): string[] =>
  events.map(({ type, name, path }) => [email.split('@')[0], type, name, path].filter(Boolean).join(' '))

/** Time within which an unwanted request would arrive. */
export const quiet = (): Promise<void> => Bun.sleep(QUIET_MS)
