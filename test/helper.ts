/** A whole server on a new data folder. Tests send it requests and move its clock. */
import { afterAll } from 'bun:test'
import { rmSync } from 'node:fs'
import { type CreatedAccount, createAccount, createKey, type KeyScope, type Plan } from '../src/accounts/accounts.ts'
import { STORE_RULES } from '../src/deliveries/deliveries.ts'
import { readEventText } from '../src/events/event-input.ts'
import { FIRST_MESSAGES, giveFirstMessages } from '../src/accounts/first-messages.ts'
import { createDependencies, type Dependencies } from '../src/dependencies.ts'
import { createSenders, type Installation, type Senders } from '../src/accounts/senders.ts'
import { createSimulations } from '../src/deliveries/simulation/index.ts'
import { createTemplateWorker } from '../src/messages/template-worker.ts'
import { createSender, type Sender, type SenderDependencies } from '../src/mail/sender.ts'
import type { ServerFacts } from '../src/monitoring/installation.ts'
import type { FetchText } from '../src/mail/sns.ts'
import type { Health } from '../src/ops/health.ts'
import { createLog } from '../src/ops/log.ts'
import { createMetrics } from '../src/ops/metrics.ts'
import { createServer } from '../src/server.ts'
import type { Store } from '../src/store/store.ts'
import { createBeginnings, locationOf, openTestStore } from './data-folder.ts'
import { DAY, HOUR, NOW } from './durations.ts'
import { setDatabaseClock } from './postgres/test-databases.ts'
import { keepOutput } from './ops/keep-output.ts'

export { DAY, HOUR, NOW } from './durations.ts'

export const BASE_URL = 'http://localhost:8080'
/** As a server on this machine notes about itself. */
export const TEST_SERVER: ServerFacts = {
  version: '0.1.0',
  startedAt: NOW,
  baseUrl: BASE_URL,
  trustedProxies: [],
  mailServer: null,
  mailPrivateHosts: [],
  hasSecondRoute: false,
  backupEveryMs: null,
  backupFolder: null,
}
const WEEK = 7 * DAY
const UNSUBSCRIBE_KEY = 'unsubscribe-key'
/** May call the MCP server. */
export const TEST_ORIGINS = ['https://tools.example']
/** One thread for all servers of a test file; it starts with the first template. A busy machine may let it wait. */
export const TEMPLATES = createTemplateWorker({ renderMs: 2_500, graceMs: 5_000 })

export const API = '/api/v1'
export const EVENTS = `${API}/events`
export const BATCH = `${API}/events/batch`
export const CONTACTS = `${API}/contacts`

export type Given = {
  /** an object is sent as JSON; texts, bytes and streams as they are */
  body?: object | string
  /** the first account's where it is left out; null sends none */
  key?: string | null
  headers?: Record<string, string>
  /** of the socket */
  address?: string
}

export type Answer = { status: number; body: Body; headers: Headers; text: string }
type Body = Record<string, unknown> & { [name in 'data' | 'results' | 'warnings']?: Record<string, unknown>[] }

export type Account = CreatedAccount & { keyId: string }

export type Options = {
  mail?: Partial<SenderDependencies>
  /** replaces methods of the real store, for example to make them fail */
  wrapStore?: (store: Store) => Store
  metricsToken?: string
  trustedProxies?: string[]
  mcpOrigins?: string[]
  baseUrl?: string
  fetchSns?: FetchText
  server?: Partial<ServerFacts>
}

export type TestServer = Omit<Awaited<ReturnType<typeof createTestServer>>, 'withNewAccount'>

/** `wallMs` may be set to anything; `tick` lets time go by on both clocks. A database's own clock goes by the elapsed time. */
function createTestClock(folder: string) {
  let [elapsedMs, databaseMs] = [1_000, NOW]
  /** what `steadyNow` began with, when the monotonic clock did */
  let startedAtMs = NOW - elapsedMs
  const clock = {
    wallMs: NOW,
    now: (): number => clock.wallMs,
    monotonicMs: (): number => elapsedMs,
    steadyNow: (): number => startedAtMs + elapsedMs,
    get elapsedMs(): number {
      return elapsedMs
    },
    set elapsedMs(ms: number) {
      databaseMs += ms - elapsedMs
      elapsedMs = ms
      setDatabaseClock(folder, databaseMs)
    },
    tick(ms: number): void {
      clock.wallMs += ms
      clock.elapsedMs += ms
    },
    /** As after a reboot. */
    restart(): void {
      startedAtMs = clock.wallMs
      elapsedMs = 0
    },
  }
  setDatabaseClock(folder, databaseMs)
  return clock
}

export async function createTestServer(options: Options = {}) {
  const { folder, begun } = await begin()
  const { second } = begun
  const clock = createTestClock(folder)
  const lines: string[] = []
  const log = createLog(clock.now, keepOutput(lines))
  const metrics = createMetrics()
  const health: Health = { isDraining: false }
  const start = async () => {
    const real = await openTestStore(folder, { now: clock.now, readEvent: readEventText, rules: STORE_RULES })
    real.onCommit(metrics.countCommit)
    const store = options.wrapStore?.(real) ?? real
    const sender = createTestSender({ store, clock }, options.mail)
    const shared = { store, clock, baseUrl: options.baseUrl ?? BASE_URL, unsubscribeKey: UNSUBSCRIBE_KEY }
    const parts = await createDependencies({
      ...shared,
      mailer: sender,
      simulations: createSimulations(locationOf(folder), HOUR),
      templates: options.mail?.templates ?? TEMPLATES,
      noteSecurity: log.write,
      fetchSns: options.fetchSns,
      monitoring: {
        location: locationOf(folder),
        server: { ...TEST_SERVER, ...options.server },
        callWebhook: null,
        listErrors: log.listErrors,
      },
    })
    const common = { log, metrics, health, metricsToken: options.metricsToken ?? null }
    const { trustedProxies = [], mcpOrigins = [...TEST_ORIGINS] } = options
    const { handle } = await createServer({
      ...parts,
      ...common,
      trustedProxies,
      mcpOrigins,
      host: '127.0.0.1',
    })
    return { real, parts, handle, sender }
  }
  let running = await start()
  const timeouts: [path: string, seconds: number][] = []
  const send = async (request: Request, address?: string): Promise<Response> =>
    running.handle(request, {
      requestIP: () => (address === undefined ? null : { address }),
      timeout: ({ url }, seconds) => void timeouts.push([new URL(url).pathname, seconds]),
    })
  const accountOf = (account: Account) => ({ accountId: account.accountId, actor: 'test', at: clock.now() })
  const shared = {
    folder,
    clock,
    health,
    /** How long the connections of requests may be silent, where it isn't the usual time. */
    timeouts,
    second,
    send,
    parts: () => running.parts,
    sender: () => running.sender,
    /** What was logged until now. */
    logged(): string {
      log.flush()
      return lines.join('')
    },
    /** Stops and starts again on the same folder; the monotonic clock begins anew, as after a reboot. */
    async restart(): Promise<void> {
      running.parts.feed.end()
      await running.real.close()
      clock.restart()
      running = await start()
    },
    async close(): Promise<void> {
      running.parts.feed.end()
      await running.real.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  /** The server for those who begin with this account. */
  const serverOf = (first: Account) => ({
    ...shared,
    first,
    call: async (method: string, path: string, given: Given = {}): Promise<Answer> =>
      toAnswer(await send(toRequest(method, path, given, first.apiKey), given.address)),
    async setPlan(plan: Partial<Plan>, account: Account = first): Promise<void> {
      await running.real.setPlan({ ...accountOf(account), plan })
      running.parts.access.forget()
    },
    async makeKey(scope: KeyScope = 'standard', account: Account = first) {
      const made = await createKey({ store: running.real, now: clock.now(), actor: 'test' }, account.accountId, {
        name: 'Another key',
        scope,
      })
      if ('refusal' in made) throw new Error(made.refusal)
      return made
    },
    async revokeKey(keyId: string, account: Account = first): Promise<void> {
      await running.real.revokeKey({ ...accountOf(account), keyId })
      running.parts.access.forget()
    },
  })
  let latest = NOW
  return {
    ...serverOf(begun.first),
    /** As a new server at the same time of a later week, except for what belongs to the whole installation. */
    async withNewAccount() {
      const { real } = running
      latest += (1 + Math.max(0, Math.floor((clock.wallMs - latest) / WEEK))) * WEEK
      clock.tick(latest - clock.wallMs)
      const account = await addAccount(real, clock.now(), 'first', crypto.randomUUID())
      const { id: appId = 0 } = (await real.listApps(account.accountId))[0] ?? {}
      const drafts = FIRST_MESSAGES.map((draft) => ({ ...draft, id: null, status: null }))
      await real.saveMessages({ ...accountOf(account), appId, drafts })
      return serverOf(account)
    },
  }
}

const NO_PRIVATE_HOSTS = { names: new Set<string>(), ranges: [] }

/** The mail servers of tests that an app sets as its own. */
export const LOOPBACK_HOSTS = { names: new Set(['127.0.0.1']), ranges: [] }

/** The sender addresses of apps where the installation sends as `from`, and its mail server where it has one. */
export const createTestSenders = (
  parts: Pick<Dependencies, 'store' | 'clock'>,
  given: Partial<Installation> = {},
): Senders =>
  createSenders({
    ...parts,
    resolveTxt: async () => null,
    installation: { from: { name: '', address: 'post@first.example' }, hasServer: false, ...given },
  })

/** A sender that sends only on request. What it cannot do is a test's failure. */
export const createTestSender = (
  parts: Pick<Dependencies, 'store' | 'clock'>,
  mail: Partial<SenderDependencies> = {},
): Sender =>
  createSender({
    ...parts,
    baseUrl: BASE_URL,
    unsubscribeKey: UNSUBSCRIBE_KEY,
    templates: TEMPLATES,
    claimedBy: crypto.randomUUID(),
    defaults: { smtpUrl: null, from: 'Demo <hello@first.example>' },
    privateHosts: NO_PRIVATE_HOSTS,
    resolveTxt: async () => null,
    resolveCname: async () => null,
    note: () => {},
    noteServer: () => {},
    onFault: (error) => {
      throw error
    },
    ...mail,
  })

const begin = createBeginnings(async (folder) => {
  const store = await openTestStore(folder, { now: () => NOW, rules: STORE_RULES })
  // the first one operates the installation
  const [first, second] = [await addAccount(store, NOW - 1, 'first'), await addAccount(store, NOW, 'second')]
  // as the first start does, which a test's server is not; its keys are its own
  await giveFirstMessages(store, NOW)
  await store.close()
  return { first, second }
})

async function addAccount(store: Store, now: number, name: string, owner = name): Promise<Account> {
  const beginning = {
    email: `${owner}@owner.example`,
    passwordHash: null,
    appName: name,
    domains: [`${name}.example`],
    home: null,
  }
  const begun = await createAccount({ store, now, actor: 'test' }, beginning, { onlyFirst: false, setupToken: null })
  if ('refusal' in begun) throw new Error(begun.refusal)
  const [key] = await store.listKeys(begun.accountId)
  const [app] = await store.listApps(begun.accountId)
  // several messages to one person are what most tests are about
  const by = { accountId: begun.accountId, appId: app?.id ?? 0, actor: 'test', at: now }
  await store.setMailSettings({ ...by, settings: { perPersonDay: null } })
  return { ...begun, keyId: key?.id ?? '' }
}

function toRequest(method: string, path: string, { body, key, headers }: Given, ownKey: string): Request {
  const isJson = body !== undefined
  const sent = key === undefined ? ownKey : key
  return new Request(BASE_URL + path, {
    method,
    headers: {
      ...(isJson ? { 'Content-Type': 'application/json' } : {}),
      ...(sent === null ? {} : { Authorization: `Bearer ${sent}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw(body) ? body : JSON.stringify(body) }),
  })
}

const isRaw = (body: object | string): body is string | Uint8Array<ArrayBuffer> | ReadableStream | FormData =>
  typeof body === 'string' ||
  body instanceof Uint8Array ||
  body instanceof ReadableStream ||
  body instanceof FormData ||
  body instanceof URLSearchParams

async function toAnswer(response: Response): Promise<Answer> {
  const text = await response.text()
  // the answer to HEAD has a type and no body
  const isJson = text !== '' && response.headers.get('content-type')?.startsWith('application/json')
  return { status: response.status, body: isJson ? JSON.parse(text) : {}, headers: response.headers, text }
}

/** Many calls, a few hundred at a time, so that they share commits and none is turned away for the queue. */
export async function inTurns<T>(count: number, call: (index: number) => Promise<T>, atOnce = 500): Promise<T[]> {
  const results: T[] = []
  while (results.length < count) {
    const turn = Array.from({ length: Math.min(atOnce, count - results.length) }, (_, i) => call(results.length + i))
    results.push(...(await Promise.all(turn)))
  }
  return results
}

/**
 * One server for the tests of a file, opened by the first of them. Each call gives an account of its own, and stops
 * no server at `close`. Time goes on from week to week.
 */
export function useSharedServer(options: Options = {}): () => Promise<TestServer> {
  let opened: ReturnType<typeof createTestServer> | null = null
  afterAll(async () => {
    await (await opened)?.close()
    opened = null
  })
  return async () => {
    const server = await (opened ??= createTestServer(options))
    return { ...(await server.withNewAccount()), close: async () => {} }
  }
}
