import { AsyncLocalStorage } from 'node:async_hooks'
import { join } from 'node:path'
import { format } from 'node:util'
import { runCommand } from '../../src/cli/run-command.ts'
import { createBeginnings, hasTestDatabase } from '../data-folder.ts'
import { createDatabaseOf, isOnPostgres, postgresOf } from '../postgres/test-databases.ts'

export { makeFolder } from '../data-folder.ts'

const ROOT = join(import.meta.dir, '../..')
/** The executable starts twice as fast as the sources. */
const BUILT = process.env.EVENTPOST_TEST_PROGRAM
export const PROGRAM = BUILT === undefined ? [process.execPath, join(ROOT, 'src/main.ts')] : [join(ROOT, BUILT)]
/** A hanging process must not outlive its test. */
const PROCESS_MS = 120_000
/** A server may serve all tests of a file. */
const SERVER_MS = 10 * PROCESS_MS
const READY_MS = 60_000
/** For tests that start many processes. */
export const MANY_MS = 120_000

export type Environment = Record<string, string | undefined>
export type Ran = { code: number; out: string; err: string }
/** `timeoutMs` 0: no limit. `stopAt`: sends the signal once stderr has the text. `here`: ends before it needs a process. */
export type How = {
  program?: string[]
  cwd?: string
  env?: Environment
  timeoutMs?: number
  stopAt?: { text: string; signal: NodeJS.Signals }
  here?: true
}
/** `port`: default a free one; null: left to the environment. */
export type ServeHow = How & { data: string; port?: number | null; words?: string[]; readyMs?: number }
export type Running = Awaited<ReturnType<typeof startServer>>

/** Without the developer's settings. */
const environment = (): Environment => ({ PATH: process.env.PATH, HOME: process.env.HOME })

function spawn(words: string[], { program = PROGRAM, cwd = ROOT, env = {}, timeoutMs = PROCESS_MS }: How) {
  return Bun.spawn([...program, ...words], {
    cwd,
    env: { ...environment(), ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
}

const readAll = (stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> => new Response(stream).text()

/** On PostgreSQL, the database that stands for the folder after --data. */
async function findDatabase(words: string[], { env = {} }: How): Promise<Environment> {
  const folder = words.includes('--data') ? words[words.indexOf('--data') + 1] : env.EVENTPOST_DATA
  if (!isOnPostgres || folder === undefined) return {}
  await createDatabaseOf(folder)
  const { url, prepares } = postgresOf(folder)
  return { EVENTPOST_DATABASE_URL: url, EVENTPOST_DATABASE_POOLER: prepares ? 'none' : 'transaction' }
}

/** Of servers by folder: on PostgreSQL, commands don't find them by a file. */
const addresses = new Map<string, string>()

const withAddress = (words: string[], how: How): How => {
  const address = addresses.get(words[words.indexOf('--data') + 1] ?? '')
  return address === undefined ? how : { ...how, env: { EVENTPOST_BASE_URL: address, ...how.env } }
}

const withDatabase = async (words: string[], how: How): Promise<How> => ({
  ...how,
  env: { ...(await findDatabase(words, how)), ...how.env },
})

/** By the first word: they have threads, end by signals, write to stdout itself, or print what the executable carries. */
const NEED_PROCESS = new Set('serve health backup restore move export person version licenses'.split(' '))

/** A short command takes a tenth of its time where no process starts for it. */
const needsProcess = (words: string[], { env: _, here, ...how }: How): boolean =>
  Object.keys(how).length > 0 || (here !== true && NEED_PROCESS.has(words[0] ?? '') && !words.includes('--help'))

const printed = new AsyncLocalStorage<{ out: string; err: string }>()
const UMASK = process.umask()

for (const [name, stream] of [
  ['log', 'out'],
  ['error', 'err'],
] as const) {
  const print = console[name].bind(console)
  console[name] = (...given: unknown[]) => {
    const output = printed.getStore()
    if (output) output[stream] += `${format(...given)}\n`
    else print(...given)
  }
}

async function runHere(words: string[], { env = {} }: How): Promise<Ran> {
  const output = { out: '', err: '' }
  process.umask(0o077)
  const run = () => runCommand(words, { ...environment(), ...env })
  const code = await printed.run(output, run).finally(() => process.umask(UMASK))
  return { code, ...output }
}

/** Runs a command as the executable does. */
export async function eventpost(words: string[], given: How = {}): Promise<Ran> {
  const how = await withDatabase(words, withAddress(words, given))
  if (!needsProcess(words, how)) return await runHere(words, how)
  const child = spawn(words, how)
  let [err, isStopped] = ['', false]
  const reading = collect(child.stderr, (text) => {
    err += text
    if (isStopped || how.stopAt === undefined || !err.includes(how.stopAt.text)) return
    isStopped = true
    child.kill(how.stopAt.signal)
  })
  const [out, code] = await Promise.all([readAll(child.stdout), child.exited, reading])
  return { code, out, err }
}

/** @throws Error with its output when it does not exit 0 */
export async function eventpostJson<T>(words: string[], how: How = {}): Promise<T> {
  const { code, out, err } = await eventpost([...words, '--json'], how)
  if (code !== 0) throw new Error(`exit ${code}: ${err}`)
  return JSON.parse(out) as T
}

export type Begun = {
  accountId: string
  appId: string
  siteId: string
  apiKey: string
  identitySecret: string
  signInUrl: string
}

/** With limits that these tests never reach. */
async function init(data: string, how: How = {}): Promise<Begun> {
  const begun = await eventpostJson<Begun>(
    ['init', '--data', data, '--email', 'owner@example.com', '--app', 'Demo'],
    how,
  )
  const lifted = ['--events-per-hour', 'unlimited', '--updates-per-hour', 'unlimited']
  await eventpostJson(['plan', 'set', '--data', data, ...lifted], how)
  return begun
}

const begin = createBeginnings(init)

/** Migrates the database of a new data folder, which takes longer than most commands. */
export const prepareData = createBeginnings(async () => {})

/** An account in a data folder: a copy of the first one's, unless a server was there or it needs an environment. */
export const setUp = async (data: string, how?: How): Promise<Begun> =>
  how || (await hasTestDatabase(data)) ? init(data, how) : (await begin(data)).begun

async function collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  for await (const chunk of stream) add(decoder.decode(chunk, { stream: true }))
}

/** @throws Error with its output when it ends before it listens */
export async function startServer({
  data,
  port = 0,
  words = [],
  readyMs = READY_MS,
  timeoutMs = SERVER_MS,
  ...how
}: ServeHow) {
  const listen = port === null ? [] : ['--port', String(port)]
  const all = ['serve', '--data', data, ...listen, ...words]
  const child = spawn(all, { ...(await withDatabase(all, how)), timeoutMs })
  const said = { out: '', err: '' }
  const ready = Promise.withResolvers<string>()
  const reading = Promise.all([
    collect(child.stdout, (text) => {
      said.out += text
      const url = /^listening on (\S+).*$/m.exec(said.out)?.[1]
      if (url) ready.resolve(url)
    }),
    collect(child.stderr, (text) => void (said.err += text)),
  ])
  void child.exited.then((code) => ready.reject(new Error(`the server ended with ${code}: ${said.err}${said.out}`)))
  const late = setTimeout(() => ready.reject(new Error(`the server does not listen: ${said.err}`)), readyMs)
  const url = await ready.promise.finally(() => clearTimeout(late))
  if (isOnPostgres) addresses.set(data, url)
  return {
    url,
    pid: child.pid,
    said,
    /** The exit code, after all output was read. */
    ended: async (): Promise<number | null> => {
      await reading
      await child.exited
      return child.signalCode === null ? child.exitCode : null
    },
    /** `code` is null when the signal ended it. */
    async stop(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' = 'SIGTERM'): Promise<{ code: number | null; ms: number }> {
      const from = performance.now()
      child.kill(signal)
      await child.exited
      const ms = performance.now() - from
      await reading
      return { code: child.signalCode === null ? child.exitCode : null, ms }
    },
  }
}

export async function call(url: string, key: string, method: string, path: string, body?: object) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    headers: response.headers,
  }
}
