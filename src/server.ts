import { type AnyElysia, Elysia } from 'elysia'
import { COLLECT_CORS, COLLECT_PATH, NOTHING_ALLOWED, corsOf, createSecure, refusalAnswer } from './http/answers.ts'
import { API_PREFIX, apiRoutes } from './api/index.ts'
import { isPinnedScript, refuseOtherBuild, scriptRoutes } from './api/script.ts'
import { noteRefusedCall } from './events/activation.ts'
import { clientAddress, isTrustedProxy, UNKNOWN_ADDRESS } from './core/addresses.ts'
import type { Dependencies } from './dependencies.ts'
import { countsAsAbuse, type Refusal, refuse, type RefusalCode } from './core/refusals.ts'
import { factsOf, setFacts, createRequestIds } from './http/request-facts.ts'
import { createPlaceFinder, createRouteFinder, pathOf, type Place, type RouteFinder } from './http/request-paths.ts'
import { addCors } from './mcp/guard.ts'
import { MCP_PATH, mcpRoutes } from './mcp/index.ts'
import { assetRoutes, readScript, readStub } from './assets.ts'
import { answerStarting, type Health, healthRoutes, isHealthPath } from './ops/health.ts'
import type { Log } from './ops/log.ts'
import type { Metrics } from './ops/metrics.ts'
import { describeWithStack } from './core/error-text.ts'
import { createLazy } from './core/lazy.ts'
import { describeFault, isPassingFault } from './store/postgres/faults.ts'
import { noteUntrustedProxy } from './monitoring/installation.ts'

export type ServerDependencies = Dependencies & {
  log: Log
  metrics: Metrics
  health: Health
  metricsToken: string | null
  trustedProxies: readonly string[]
  host: string
  mcpOrigins: readonly string[]
}

/** In progress at once; beyond it the API answers 503. */
export const MAX_REQUESTS = 10_000
/** Counted apart, so that browsers can't shut out a customer's server. */
export const MAX_REPORTS = 10_000
const CROWDED = refuse('unavailable', {
  message:
    'Too many requests are in progress, and nothing was saved. Wait for the time in Retry-After, then send this again.',
})

const POLICY = 'Content-Security-Policy'

/** As nginx logs a closed connection. */
const CLIENT_CLOSED = 499

export type Listener = {
  requestIP(request: Request): { address: string } | null
  timeout(request: Request, seconds: number): void
}
/** A connection without new bytes is closed after this time, checked every 4 seconds. */
export const IDLE_S = 10
/** Most responses take milliseconds; a simulation on a busy machine takes the longest. */
const KEPT_OPEN_S = 240
export type Handle = (request: Request, listener: Listener) => Response | Promise<Response>

const isEventStream = ({ headers }: Response): boolean => headers.get('content-type') === 'text/event-stream'

/** Wraps every request: address, request id, routing, log line and metrics. */
export async function createServer(deps: ServerDependencies): Promise<{ handle: Handle }> {
  const answerFault = async (request: Request, error: unknown): Promise<Response> => {
    if (isClientClosed(request, error)) return new Response(null, { status: CLIENT_CLOSED })
    const { requestId } = factsOf(request)
    const isPassing = isPassingFault(error)
    const refusal = isPassing ? 'unavailable' : 'internal_error'
    const reason = isPassing ? describeFault(error) : describeWithStack(error)
    deps.log.write('error', 'a request failed', { requestId, reason })
    const headers = corsOf(pathOf(request.url))
    const page = await pages.refuse(request, refusal).catch(() => null)
    return page ?? refusalAnswer(request, { refusal }, headers)
  }
  const createRouter = (addRoutes: (app: AnyElysia) => AnyElysia): Router => {
    // otherwise paths under three-letter hosts aren't found
    const app = new Elysia({ normalize: false, strictPath: true, handler: { standardHostname: false } })
    app.onError(async ({ error, code, request }) =>
      code === 'NOT_FOUND' ? refuseAddress({ app, findRoute }, pages, request) : answerFault(request, error),
    )
    addRoutes(app)
    const findRoute = createRouteFinder(app.routes.map(({ path }) => path))
    return { app, findRoute }
  }
  const { routes: api, openApi } = apiRoutes(deps)
  const pages = openPages((createDashboard) => {
    const { app: dashboard, refusalPage } = createDashboard({ ...deps, openApi })
    return { ...createRouter((router) => router.use(dashboard)), refusalPage }
  })
  const script = readScript()
  const snippet = { stub: readStub(), script: script.identity }
  const { app, findRoute } = createRouter((router) =>
    router
      .use(healthRoutes(deps, deps))
      .use(api)
      .use(mcpRoutes({ ...deps, origins: deps.mcpOrigins, openApi, snippet }))
      .use(
        scriptRoutes(deps, script, (reason) => deps.log.write('error', 'a script load was not recorded', { reason })),
      )
      .use(assetRoutes()),
  )
  const nextId = createRequestIds()
  const findPlace = createPlaceFinder(findRoute)
  const findAddress = createAddressFinder(deps)
  const secure = createSecure(deps.baseUrl)

  const [reports, others] = [{ inProgress: 0 }, { inProgress: 0 }]
  const crowdOf = (path: string): { inProgress: number } => (path === COLLECT_PATH ? reports : others)

  const ask = (request: Request, { path, route }: Place): Response | Promise<Response> => {
    crowdOf(path).inProgress += 1
    const isCrowded = isProgramPath(path)
      ? others.inProgress > MAX_REQUESTS
      : path === COLLECT_PATH && reports.inProgress > MAX_REPORTS
    if (isCrowded) return refusalAnswer(request, CROWDED, corsOf(path))
    return route !== null || isProgramPath(path) || isPinnedScript(path) ? app.fetch(request) : pages.answer(request)
  }

  // not async: that costs a promise and a turn of the queue per request
  const handle: Handle = (request, listener) => {
    const place = findPlace(request)
    const address = (): string =>
      findAddress(listener.requestIP(request)?.address ?? '', request.headers.get('x-forwarded-for'))
    let isKeptOpen = false
    const keepOpen = (): void => {
      isKeptOpen = true
      listener.timeout(request, KEPT_OPEN_S)
    }
    setFacts(request, { requestId: nextId(), address, keepOpen })
    const end = (response: Response): Response => {
      // a stream of events may pause for longer; the next request on its connection has the usual time again
      if (isKeptOpen && !isEventStream(response)) listener.timeout(request, IDLE_S)
      return finish(request, response, place)
    }
    const answered = ask(request, place)
    return answered instanceof Promise
      ? answered.then(end, (error: unknown) => answerFault(request, error).then(end))
      : end(answered)
  }

  const finish = (request: Request, response: Response, place: Place): Response => {
    const { path } = place
    crowdOf(path).inProgress -= 1
    if (!path.startsWith(API_PREFIX) && path !== COLLECT_PATH) {
      response.headers.set('X-Request-Id', factsOf(request).requestId)
      response.headers.set('X-Content-Type-Options', 'nosniff')
      if (!response.headers.has(POLICY)) response.headers.set(POLICY, NOTHING_ALLOWED)
    }
    secure(response)
    if (path === MCP_PATH) addCors(deps.mcpOrigins, request, response)
    if (deps.health.isDraining) response.headers.set('Connection', 'close')
    record(request, response.status, place)
    return response
  }

  /** Only known routes reach the log and metrics. */
  const record = (request: Request, status: number, { path, route: found }: Place): void => {
    const route = path.startsWith('/assets/') ? '/assets/*' : (found ?? pages.findRoute(path) ?? 'other')
    const facts = factsOf(request)
    const { requestId, startedAt, address, access, isWrite, memberId, app, refusal } = facts
    const { method } = request
    const ms = performance.now() - startedAt
    deps.metrics.countRequest(method, route, status, ms / 1000)
    if (access && refusal) {
      if (countsAsAbuse(refusal.refusal)) deps.abuseLimits.countRefusal(access.key.id)
      // reads and dry runs store nothing
      if (isWrite) noteRefusedCall(deps, { access, app, refusal })
    } else if (refusal?.refusal === 'invalid_api_key') deps.abuseLimits.countWithoutKey(address())
    const isLogged = isProgramPath(path) || path === COLLECT_PATH || path.startsWith(HOOKS_PREFIX)
    if (isLogged && !isMcpProbe(method, path, status))
      deps.requests.add({ request, facts, route: found ?? UNKNOWN_ROUTE, status })
    deps.log.request({
      requestId,
      method,
      route,
      status,
      ms: Math.round(ms * 10) / 10,
      keyId: access?.key.id ?? null,
      memberId,
    })
  }

  return { handle }
}

const STARTING = refuse('unavailable', {
  message: 'Eventpost is starting. Wait for the time in Retry-After, then send this again.',
})

export function createUnserved(baseUrl: string): { early: (request: Request) => Response; fault: () => Response } {
  const nextId = createRequestIds()
  const secure = createSecure(baseUrl)
  const answerAny = (refusal: Refusal, headers: Record<string, string>): Response => {
    const request = new Request('http://localhost')
    setFacts(request, { requestId: nextId(), address: () => UNKNOWN_ADDRESS })
    return secure(refusalAnswer(request, refusal, headers))
  }
  return {
    early: (request) => {
      const path = pathOf(request.url)
      return isHealthPath(path) ? secure(answerStarting(path)) : answerAny(STARTING, corsOf(path))
    },
    // contains no personal data, so pages may read it
    fault: () => answerAny(refuse('internal_error'), COLLECT_CORS),
  }
}

const HOOKS_PREFIX = '/hooks/'
/** What an unknown address says may be personal. */
const UNKNOWN_ROUTE = `${API_PREFIX}/...`

const isProgramPath = (path: string): boolean => path.startsWith(API_PREFIX) || path === MCP_PATH

/** MCP clients ask for a stream when they connect, and end a session when they leave. The protocol expects a 405. */
const isMcpProbe = (method: string, path: string, status: number): boolean =>
  path === MCP_PATH && status === 405 && (method === 'GET' || method === 'DELETE')

const isClientClosed = (request: Request, error: unknown): boolean =>
  request.signal.aborted && error instanceof Error && error.name === 'AbortError'

/** Logs an untrusted proxy once. */
function createAddressFinder({
  log,
  store,
  trustedProxies,
}: Pick<ServerDependencies, 'log' | 'store' | 'trustedProxies'>) {
  let hasWarned = false
  return (socketAddress: string, forwardedFor: string | null): string => {
    if (forwardedFor !== null && !hasWarned && !isTrustedProxy(socketAddress, trustedProxies)) {
      hasWarned = true
      log.write('warn', 'X-Forwarded-For is ignored: its sender is not in --trusted-proxies')
      void noteUntrustedProxy(store, socketAddress)
    }
    return clientAddress(socketAddress, forwardedFor, trustedProxies)
  }
}

/** 405 for another method of a known path, else 404. */
async function refuseAddress(
  { app, findRoute }: Router,
  pages: Pick<Pages, 'refuse'>,
  request: Request,
): Promise<Response> {
  const path = pathOf(request.url)
  const route = findRoute(path)
  const found = app.routes.filter((one) => one.path === route).map(({ method }) => method)
  const methods = found.includes('GET') ? [...found, 'HEAD'] : found
  if (methods.length === 0) {
    const redirect = redirectToPage({ app, findRoute }, request, path)
    if (redirect) return redirect
    const refused = refuseOtherBuild(request, path) ?? (await pages.refuse(request, 'not_found'))
    return refused ?? refusalAnswer(request, { refusal: 'not_found' })
  }
  const headers = { Allow: methods.join(', ') }
  const page = request.method === 'GET' ? await pages.refuse(request, 'method_not_allowed') : null
  page?.headers.set('Allow', headers.Allow)
  return page ?? refusalAnswer(request, { refusal: 'method_not_allowed' }, headers)
}

/** Of a page with slashes at its end. */
function redirectToPage({ app, findRoute }: Router, { method, url }: Request, path: string): Response | null {
  const page = path.replace(/\/+$/, '')
  if (page === path || isProgramPath(page) || !['GET', 'HEAD'].includes(method)) return null
  const route = findRoute(page)
  if (route === null || !app.routes.some((one) => one.path === route && one.method === 'GET')) return null
  return new Response(null, { status: 308, headers: { Location: page + new URL(url).search } })
}

type Dashboard = typeof import('./dashboard/index.ts')

export type Router = { app: AnyElysia; findRoute: RouteFinder }

type Opened = Router & Pick<ReturnType<Dashboard['createDashboard']>, 'refusalPage'>

export type Pages = ReturnType<typeof openPages>

/**
 * The dashboard is loaded on the first browser request: it takes 4 to 6 MB and 20 ms, and some installations serve only
 * programs.
 */
export function openPages(build: (createDashboard: Dashboard['createDashboard']) => Opened) {
  let opened: Opened | null = null

  const dashboard = createLazy(async () => {
    const { createDashboard } = await import('./dashboard/index.ts')
    opened = build(createDashboard)
    return opened
  })

  return {
    /** Handles requests outside the API and the MCP server. */
    answer: async (request: Request): Promise<Response> => (await dashboard.get()).app.fetch(request),
    /** null if unknown or not loaded yet. */
    findRoute: (path: string): string | null => opened?.findRoute(path) ?? null,
    /** A page for browsers; null for programs, which get JSON. */
    refuse: async (request: Request, refusal: RefusalCode): Promise<Response | null> =>
      isForPerson(request) ? (await dashboard.get()).refusalPage(request, refusal) : null,
  }
}

const isForPerson = ({ headers, url }: Request): boolean =>
  headers.get('accept')?.includes('text/html') === true && !new URL(url).pathname.startsWith('/api/')
