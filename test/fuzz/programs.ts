/** Sends requests of programs, and looks for answers that should not be. Each fault is shrunk to a small request. */
import fc from 'fast-check'
import { ERROR_CODES } from '../../src/http/answer-schemas.ts'
import { errorCode } from '../../src/core/refusals.ts'
import { signEmail } from '../../src/accounts/identity.ts'
import type { Sender } from '../../src/mail/sender.ts'
import { createRouteFinder, type RouteFinder } from '../../src/http/request-paths.ts'
import {
  close,
  createAjv,
  createFindFaults,
  type Document,
  type FindFaults,
  readDocument,
} from '../api/described-answers.ts'
import { BASE_URL, CONTACTS } from '../helper.ts'
import { ask, listTools } from '../mcp/client.ts'
import { mailgunEvent, signBySendgrid, signBySvix, type Webhook } from '../mail/webhooks.ts'
import { type Asked, callsOf, hookCalls, mcpCalls, otherCalls } from './requests.ts'
import { toJson } from './schema-values.ts'
import { MARK, openTwoAccounts, PEOPLE, type TwoAccounts } from './two-accounts.ts'

/** So many requests later, everything begins anew: lists have grown, and texts of everybody are stored. */
const WORLD_REQUESTS = 4_000
/** Of the processor: the machine has other work too. */
const MOST_CPU_MS = 2_000
/** Until an answer; far more than on an idle machine. */
const SLOWEST_MS = 20_000
/** Below the abuse limits, which would hide what a request does. */
const BETWEEN_MS = 150
const SENDS_EVERY = 500
const MOST_FAULTS = 10
/** Tries to make a request that failed smaller. */
const MOST_SHRINKS = 300

export type Fuzzed = { requests: number; statuses: Map<number, number>; calls: Map<string, number>; faults: string[] }

type Answered = { status: number; headers: Headers; text: string; url: string }

type World = TwoAccounts & {
  findFaults: FindFaults
  /** of openapi.json */
  findTemplate: (method: string, pathname: string) => string | null
  findToolFaults: (tool: string, result: unknown) => string | null
  seen: Map<string, string[]>
  rows: Map<string, string>
  count: number
}

async function openWorld(): Promise<World & { calls: fc.Arbitrary<Asked> }> {
  const accounts = await openTwoAccounts()
  const { server, keys } = accounts
  const how = { key: keys.get('manage') ?? '' }
  const document = await readDocument(server)
  const tools = await listTools(server, how)
  const { resources } = await ask<{ resources: { uri: string }[] }>(server, 'resources/list', {}, how)
  const ajv = createAjv()
  const compiled = new Map(tools.map(({ name, outputSchema }) => [name, ajv.compile(close(outputSchema))]))
  const { appId } = server.first
  const uris = resources.map(({ uri }) => uri.replace(appId, '«first.app»'))
  const calls = fc.oneof(
    { weight: 10, arbitrary: fc.oneof(...callsOf(document)) },
    { weight: 6, arbitrary: fc.oneof(...mcpCalls(tools, uris)) },
    { weight: 2, arbitrary: fc.oneof(...hookCalls) },
    { weight: 2, arbitrary: otherCalls },
  )
  return {
    ...accounts,
    calls,
    findFaults: createFindFaults(document),
    findTemplate: createTemplateFinder(document),
    findToolFaults(tool, result) {
      const validate = compiled.get(tool)
      return !validate || validate(result) ? null : JSON.stringify(validate.errors)
    },
    seen: new Map(),
    rows: await accounts.readSecond(),
    count: 0,
  }
}

function createTemplateFinder({ paths }: Document): World['findTemplate'] {
  const finders = new Map<string, RouteFinder>()
  for (const verb of ['get', 'post', 'patch', 'delete']) {
    const templates = Object.keys(paths).filter((path) => paths[path]?.[verb])
    finders.set(verb, createRouteFinder(templates.map((path) => path.replaceAll(/\{(\w+)\}/g, ':$1'))))
  }
  return (method, pathname) =>
    finders
      .get(method.toLowerCase())?.(pathname)
      ?.replaceAll(/:(\w+)/g, '{$1}') ?? null
}

/** The same seed makes the same requests; IDs and tokens differ from run to run. */
export async function fuzzPrograms({ seed, requests }: { seed: number; requests: number }): Promise<Fuzzed> {
  const fuzzed: Fuzzed = { requests: 0, statuses: new Map(), calls: new Map(), faults: [] }
  for (let turn = 0; fuzzed.requests < requests && fuzzed.faults.length < MOST_FAULTS; turn++) {
    const world = await openWorld()
    const numRuns = Math.min(WORLD_REQUESTS, requests - fuzzed.requests)
    let shrinks = -1
    const property = fc.asyncProperty(world.calls, async (asked) => {
      if (shrinks >= MOST_SHRINKS) return
      const reason = await checkAnswer(world, asked, fuzzed)
      if (reason !== null || shrinks >= 0) shrinks += 1
      if (reason !== null) throw new Error(reason)
    })
    const result = await fc.check(property, { seed: seed + turn, numRuns })
    if (result.failed) fuzzed.faults.push(describeFault(seed + turn, result))
    if (!isSame(world.rows, await world.readSecond()))
      fuzzed.faults.push(`seed ${seed + turn}: rows of the second account changed`)
    const errors = world.server
      .logged()
      .split('\n')
      .filter((line) => line.includes('"level":"error"'))
    fuzzed.faults.push(...errors.map((line) => `seed ${seed + turn}: in the log: ${line}`))
    await world.close()
  }
  return fuzzed
}

function describeFault(seed: number, { counterexample, errorInstance, numShrinks }: fc.RunDetails<[Asked]>): string {
  const reason = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  return `seed ${seed}, shrunk ${numShrinks} times: ${JSON.stringify(counterexample?.[0])}\n  ${reason}`
}

/** @returns what is wrong with the answer; null: nothing */
async function checkAnswer(world: World, asked: Asked, fuzzed: Fuzzed): Promise<string | null> {
  const { server } = world
  server.clock.tick(BETWEEN_MS)
  world.count += 1
  if (world.count % SENDS_EVERY === 0) await (server.sender() as Sender).sendDue()
  const startedAt = process.cpuUsage()
  const answered = await send(world, asked)
  const { user, system } = process.cpuUsage(startedAt)
  if (answered === null) return null
  if (answered === 'hangs') return `no answer in ${SLOWEST_MS} ms`
  fuzzed.requests += 1
  fuzzed.statuses.set(answered.status, (fuzzed.statuses.get(answered.status) ?? 0) + 1)
  const name = `${asked.call} ${asked.method} ${answered.status}`
  fuzzed.calls.set(name, (fuzzed.calls.get(name) ?? 0) + 1)
  const cpuMs = (user + system) / 1_000
  if (cpuMs > MOST_CPU_MS) return `it took ${Math.round(cpuMs)} ms of the processor`
  noteSeen(world, answered)
  const fault = findFault(world, asked, answered) ?? (await findLeak(world, asked, answered))
  if (JSON.stringify(asked).includes('«second.email»')) await forget(world)
  return fault
}

/** The first account may have added a person that only the second one should know, and the one whom nobody knows. */
async function forget({ server }: World): Promise<void> {
  for (const email of [PEOPLE.second, PEOPLE.nobody])
    await server.call('DELETE', CONTACTS, { body: { app: server.first.appId, email } })
}

function findFault(world: World, asked: Asked, answered: Answered): string | null {
  const { status, text } = answered
  if (status >= 500) return `${status}: ${text.slice(0, 500)}`
  const all = text + JSON.stringify(Object.fromEntries(answered.headers))
  if (all.includes(MARK)) return `text of the other account: ${around(all, MARK)}`
  const secret = world.secrets.find((one) => all.includes(one))
  if (secret !== undefined) return `a secret: ${around(all, secret)}`
  if (asked.call === 'other') return isOfApi(answered) ? findRefusalFault(answered) : null
  const foreign = FOREIGN.flatMap((name) => world.names.get(`second.${name}`) ?? []).find((id) => all.includes(id))
  if (foreign !== undefined && !isPrompt(asked)) return `an ID of the other account: ${around(all, foreign)}`
  return asked.call === '/mcp' ? findMcpFault(world, asked, answered) : findApiFault(world, asked, answered)
}

/** A prompt repeats its arguments, marked as data. */
const isPrompt = ({ body }: Asked): boolean => JSON.stringify(body).includes('"prompts/get"')

const FOREIGN = ['app', 'site', 'message', 'delivery', 'contact', 'key']

const isOfApi = ({ url, status }: Answered): boolean => new URL(url).pathname.startsWith('/api/') && status >= 400

const around = (text: string, found: string): string =>
  text.slice(Math.max(0, text.indexOf(found) - 150), text.indexOf(found) + 150)

const ECHOES = [
  'DROP TABLE',
  'alert(1)',
  'etc/passwd',
  'Set-Cookie',
  'HYPERLINK',
  'ATTACH',
  'evil.example',
  'native code',
]

function findApiFault(world: World, { method }: Asked, answered: Answered): string | null {
  const { status, text, headers, url } = answered
  if (status === 204 || text === '')
    return method === 'HEAD' || method === 'OPTIONS' ? null : `${status} without a body`
  if (!headers.get('content-type')?.startsWith('application/json')) return `the type is ${headers.get('content-type')}`
  const body = parse(text)
  const path = world.findTemplate(method, new URL(url).pathname)
  const faults = path === null ? 'not described' : world.findFaults({ method, path, status, body })
  if (faults === null) return status >= 400 ? findRefusalFault(answered) : null
  if (faults !== 'not described')
    return `${status} does not match its schema: ${JSON.stringify(faults)}\n  ${text.slice(0, 500)}`
  // of an address or a method that no call has
  if (![404, 405].includes(status)) return `${status} is not described: ${text.slice(0, 300)}`
  return findRefusalFault(answered)
}

const CODES: ReadonlySet<unknown> = new Set(ERROR_CODES.map(errorCode))

function findRefusalFault({ status, text, headers }: Answered): string | null {
  const body = parse(text) as Record<string, unknown> | null
  if (text === '') return null
  if (body?.ok !== false || typeof body.message !== 'string') return `${status} is no error body: ${text.slice(0, 300)}`
  if (!CODES.has(body.error)) return `the code ${String(body.error)} is not documented`
  if (headers.get('x-request-id') !== body.requestId) return 'the header has another request ID'
  const { message, hint = '', errors = [] } = body as { message: string; hint?: string; errors?: { message: string }[] }
  return findEcho([message, hint, ...errors.map((one) => one.message)].join(' '))
}

const findEcho = (text: string): string | null => {
  const echo = ECHOES.find((one) => text.includes(one))
  return echo === undefined ? null : `the input is repeated: ${around(text, echo)}`
}

type Rpc = {
  jsonrpc?: unknown
  id?: unknown
  result?: Record<string, unknown>
  error?: { code?: unknown; message?: unknown }
}

function findMcpFault(world: World, { body, method }: Asked, { status, text, headers }: Answered): string | null {
  if (status === 202 || method === 'HEAD') return text === '' ? null : 'text where there is none'
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true
  const last = isStream ? (text.trim().split('data: ').at(-1) ?? '') : text
  const answer = parse(last) as Rpc | null
  if (answer?.jsonrpc !== '2.0' || !('id' in answer)) return `no JSON-RPC message: ${text.slice(0, 300)}`
  const { result, error } = answer
  if ((result === undefined) === (error === undefined)) return 'neither a result nor an error, or both'
  if (error) {
    if (!Number.isInteger(error.code) || typeof error.message !== 'string') return `no error: ${text.slice(0, 300)}`
    return status === 200 && error.code === -32_603
      ? `an internal error: ${text.slice(0, 300)}`
      : findEcho(error.message)
  }
  if (status !== 200) return `a result with status ${status}`
  const sent = body && 'json' in body ? (body.json as { method?: string; params?: { name?: string } }) : {}
  if (sent.method !== 'tools/call') return null
  const [content] = (result?.content ?? []) as { text?: string }[]
  const told = parse(content?.text ?? '') as Record<string, unknown> | null
  if (result?.isError === true) {
    if (told?.ok !== false || !CODES.has(told.error)) return `no error of the API: ${text.slice(0, 300)}`
    return findEcho(String(told.message))
  }
  if (JSON.stringify(told) !== JSON.stringify(result?.structuredContent))
    return 'the text differs from the structured content'
  const faults = world.findToolFaults(String(sent.params?.name), told)
  return faults === null ? null : `the result does not match its schema: ${faults}\n  ${text.slice(0, 500)}`
}

/** What belongs to the other account does not exist: neither the answer nor its rows may tell. */
async function findLeak(world: World, asked: Asked, answered: Answered): Promise<string | null> {
  const text = JSON.stringify(asked)
  if (!text.includes('«second.')) return null
  const rows = await world.readSecond()
  if (!isSame(world.rows, rows)) {
    const changed = [...rows].filter(([table, text]) => world.rows.get(table) !== text).map(([table]) => table)
    world.rows = rows
    return `rows of the other account changed: ${changed.join(', ')}`
  }
  // site IDs are public: everybody sees them in pages
  if (!text.match(NOT_PUBLIC)) return null
  const key = asked.headers['Idempotency-Key']
  if (answered.status === 429 || (key !== undefined && !key.startsWith('key-'))) return null
  const twin = {
    ...(JSON.parse(JSON.stringify(asked).replaceAll(NOT_PUBLIC, '«none.')) as Asked),
    headers: key === undefined ? asked.headers : { ...asked.headers, 'Idempotency-Key': `twin-of-${key}` },
  }
  const compare = async (first: Answered): Promise<string | null> => {
    const other = await send(world, twin)
    if (other === null || other === 'hangs' || other.status === 429) return null
    // an earlier request had the key of the one, and none that of the other
    if (key !== undefined && [first.status, other.status].some((status) => status === 422)) return null
    const [own, unknown] = [plain(world, first), plain(world, other)]
    return own === unknown
      ? null
      : `"not yours" differs from "does not exist":\n  ${own.slice(0, 700)}\n  ${unknown.slice(0, 700)}`
  }
  if ((await compare(answered)) === null) return null
  // what the first one did may have made the second one different
  const again = await send(world, asked)
  return again === null || again === 'hangs' || again.status === 429 ? null : compare(again)
}

const NOT_PUBLIC = /«second\.(?!site)/g

const isSame = (before: Map<string, string>, after: Map<string, string>): boolean =>
  [...after].every(([table, text]) => before.get(table) === text)

const VARYING = /^(?:x-request-id|ratelimit-.*|retry-after|date|set-cookie|etag)$/

/** An answer without what differs between any two: times, and IDs of what it made. */
function plain({ names }: World, { status, headers, text }: Answered): string {
  const kept = [...headers].filter(([name]) => !VARYING.test(name))
  let all = `${status} ${JSON.stringify(kept)} ${text}`
  for (const whose of ['second', 'none'])
    for (const [name, values] of names)
      if (name.startsWith(whose)) for (const value of values) all = all.replaceAll(value, name.replace(whose, ''))
  // a replay says what the first request did, whichever of the two it was
  if (headers.has('idempotency-replayed')) all = all.replaceAll(/"created":(?:true|false)/g, '"created"')
  return all
    .replaceAll(/req_[0-9a-z]+/g, 'req')
    .replaceAll(/\b(con|evt|msg|dlv)_[0-9a-z]{11}/g, '$1')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}

const NOTED: Record<string, RegExp> = {
  cursor: /"nextCursor\\?":\\?"([^"\\]+)/g,
  token: /"token\\?":\\?"([^"\\]+)/g,
  updatedAt: /"updatedAt\\?":\\?"([^"\\]+)/g,
  delivery: /"(dlv_[0-9a-z]{11})/g,
}
const MOST_SEEN = 4

/** Cursors, tokens and IDs that later requests send. */
function noteSeen({ seen }: World, { text }: Answered): void {
  for (const [name, pattern] of Object.entries(NOTED))
    for (const [, value = ''] of text.matchAll(pattern))
      seen.set(name, [...(seen.get(name) ?? []), value].slice(-MOST_SEEN))
}

/** Puts IDs in. */
const fill = ({ names, seen }: World, text: string): string =>
  text.replaceAll(/«(\w+)\.(\w+)(?:\.(\d+))?»/g, (_, whose: string, name: string, index = '0') => {
    const list = (whose === 'seen' ? seen.get(name) : names.get(`${whose}.${name}`)) ?? []
    return list[Number(index) % (list.length || 1)] ?? 'none'
  })

/** null if no client can send it. */
async function send(world: World, asked: Asked): Promise<Answered | 'hangs' | null> {
  const made = toRequest(world, asked)
  if (made === null) return null
  const address = `192.0.2.${world.count % 250}`
  const answer = world.server.send(made, address).then(async (response) => ({
    status: response.status,
    headers: response.headers,
    text: await response.text(),
    url: made.url,
  }))
  return Promise.race([answer, timeout()])
}

const timeout = async (): Promise<'hangs'> => {
  await new Promise((resolve) => setTimeout(resolve, SLOWEST_MS).unref())
  return 'hangs'
}

function toRequest(world: World, asked: Asked): Request | null {
  const { method, path, query, headers } = asked
  const pairs = query.map(([name, value]) => `${encode(name)}=${encode(fill(world, textOf(value)))}`)
  const url = BASE_URL + fill(world, path) + (pairs.length > 0 ? `?${pairs.join('&')}` : '')
  const key = asked.by === 'wrong' ? 'mc_wrong' : world.keys.get(asked.by)
  const { body, headers: signed } = bodyOf(world, asked)
  const hasBody = method !== 'GET' && method !== 'HEAD'
  try {
    const all = { ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }), ...headers, ...signed }
    return new Request(url, { method, headers: all, ...(hasBody ? { body } : {}), redirect: 'manual' })
  } catch {
    return null
  }
}

const encode = (text: string): string => encodeURIComponent(text.toWellFormed())
const textOf = (value: unknown): string => (typeof value === 'string' ? value : toJson(value))

type Signed = { body: string | Uint8Array<ArrayBuffer> | null; headers: Record<string, string> }

function bodyOf(world: World, { body, signed }: Asked): Signed {
  if (body === null || ('json' in body && body.json === undefined)) return { body: null, headers: {} }
  if ('bytes' in body) return { body: new Uint8Array(body.bytes), headers: {} }
  const { identitySecret } = world.server.first
  const text = fill(world, 'json' in body ? toJson(body.json) : body.text).replaceAll('«signature»', () => {
    const { email } = (parse('json' in body ? toJson(body.json) : '') ?? {}) as { email?: unknown }
    return signEmail(fill(world, String(email)), identitySecret)
  })
  return signed === null || signed === 'report' ? { body: text, headers: {} } : sign(world, signed, text)
}

function sign(world: World, by: Exclude<Asked['signed'], 'report' | null>, text: string): Webhook {
  const { signing, server } = world
  const at = server.clock.now()
  if (by === 'resend') return signBySvix(text, { secret: signing.resend, at })
  if (by === 'sendgrid') return signBySendgrid(text, { privateKey: signing.sendgrid.privateKey, at })
  if (by === 'ses') return world.sns.notify(text, { at })
  if (by === 'mailgun') {
    const { signature } = JSON.parse(
      mailgunEvent({ id: '', to: '' }, { event: '' }, { key: signing.mailgun, at }).body,
    ) as object & { signature: object }
    const sent = parse(text)
    const isObject = typeof sent === 'object' && sent !== null && !Array.isArray(sent)
    return { body: isObject ? JSON.stringify({ ...sent, signature }) : text, headers: {} }
  }
  if (by === 'bounces') {
    const seconds = Math.floor(at / 1_000)
    const proof = new Bun.CryptoHasher('sha256', signing.bounces).update(`${seconds}.${text}`).digest('hex')
    return { body: text, headers: { 'Eventpost-Signature': `t=${seconds},v1=${proof}` } }
  }
  return { body: text, headers: {} }
}
