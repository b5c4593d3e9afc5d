import { type AnyElysia, Elysia } from 'elysia'
import { COLLECT_CORS, COLLECT_PATH, NOTHING_ALLOWED, corsOf, createSecure, refusalAnswer } from './http/answers.ts'
import { API_PREFIX, apiRoutes } from './api/index.ts'
import { createOpenApi, type OpenApi } from './api/openapi.ts'
import { isPinnedScript, refuseOtherBuild, scriptRoutes } from './api/script.ts'
import { noteRefusedCall } from './events/activation.ts'
import { clientAddress, isTrustedProxy, UNKNOWN_ADDRESS } from './core/addresses.ts'
import type { Parts } from './parts.ts'
import { isEarlyRefusal, type Refusal, refuse } from './core/refusals.ts'
import { factsOf, noteFacts } from './http/request-facts.ts'
import { createRequestIds } from './http/request-ids.ts'
import { createPlaceFinder, createRouteFinder, pathOf, type Place } from './http/request-paths.ts'
import { openPages, type Pages, type Router } from './dashboard/layout/lazy-pages.ts'
import { addCors } from './mcp/guard.ts'
import { MCP_PATH, mcpRoutes } from './mcp/index.ts'
import { assetRoutes, readScript, readStub } from './assets.ts'
import { type Health, healthRoutes } from './ops/health.ts'
import type { Log } from './ops/log.ts'
import type { Metrics } from './ops/metrics.ts'

export type ServerParts = Parts & {
  log: Log
  metrics: Metrics
  health: Health
  metricsToken: string | null
  trustedProxies: readonly string[]
  /** the address it listens on */
  host: string
  /** of pages that may call the MCP server */
  mcpOrigins: readonly string[]
}

/** Requests in progress at once; beyond it the API says 503 and looks at nothing. */
export const MOST_REQUESTS = 10_000
/** The same of what browsers report, counted apart, so that a customer's crowd does not shut out their server. */
export const MOST_REPORTS = 10_000
const CROWDED = refuse('unavailable', {
  message: 'Too many requests are in progress, and nothing was saved. Send this again after Retry-After.',
})

const POLICY = 'Content-Security-Policy'

/** As web servers call it in their logs: the client closed the connection before it was answered. */
const HUNG_UP = 499

/** What listens, and knows the address a request came from. Asked only where it matters: mostly nobody needs to know. */
export type Listener = { requestIP(request: Request): { address: string } | null }
export type Handle = (request: Request, listener: Listener) => Response | Promise<Response>

/**
 * Everything between a request and its answer: who asks (address, request id), the doors, and what every answer has in
 * common: X-Request-Id, the log line, the counters.
 */
export async function createServer(parts: ServerParts): Promise<{ handle: Handle }> {
  const answerFault = async (request: Request, error: unknown): Promise<Response> => {
    // nobody reads it: for the log and the counters
    if (isHangUp(request, error)) return new Response(null, { status: HUNG_UP })
    const { requestId } = factsOf(request)
    const reason = error instanceof Error ? `${error.name}: ${error.message}\n${error.stack ?? ''}` : String(error)
    parts.log.write('error', 'a request failed', { requestId, reason })
    const headers = corsOf(pathOf(request.url))
    const page = await pages.refuse(request, 'internal_error').catch(() => null)
    return page ?? refusalAnswer(request, { refusal: 'internal_error' }, headers)
  }
  const createRouter = (addRoutes: (app: AnyElysia) => AnyElysia): Router => {
    // without it, paths under a host name of three letters are not found
    const app = new Elysia({ normalize: false, strictPath: true, handler: { standardHostname: false } })
    app.onError(async ({ error, code, request }) =>
      code === 'NOT_FOUND' ? refuseAddress({ app, findRoute }, pages, request) : answerFault(request, error),
    )
    addRoutes(app)
    const findRoute = createRouteFinder(app.routes.map(({ path }) => path))
    return { app, findRoute }
  }
  const pages = openPages((dashboardRoutes) => createRouter((router) => router.use(dashboardRoutes(parts))))
  const api = apiRoutes(parts)
  let described: OpenApi | undefined
  const openApi = (): OpenApi => (described ??= createOpenApi(api.routes, parts.baseUrl))
  const script = readScript()
  const snippet = { stub: readStub(), script: script.identity }
  const { app, findRoute } = createRouter((router) =>
    router
      .use(healthRoutes(parts, parts))
      .use(api)
      .use(mcpRoutes({ ...parts, origins: parts.mcpOrigins, openApi, snippet }))
      .use(scriptRoutes(parts, script, (reason) => parts.log.write('error', 'a script load was not noted', { reason })))
      .use(assetRoutes()),
  )
  const nextId = createRequestIds()
  const findPlace = createPlaceFinder(findRoute)
  const findAddress = createAddressFinder(parts)
  const secure = createSecure(parts.baseUrl)

  const [reports, others] = [{ inProgress: 0 }, { inProgress: 0 }]
  const crowdOf = (path: string): { inProgress: number } => (path === COLLECT_PATH ? reports : others)

  const ask = (request: Request, { path, route }: Place): Response | Promise<Response> => {
    crowdOf(path).inProgress += 1
    const isCrowded = isOfProgram(path)
      ? others.inProgress > MOST_REQUESTS
      : path === COLLECT_PATH && reports.inProgress > MOST_REPORTS
    if (isCrowded) return refusalAnswer(request, CROWDED, corsOf(path))
    return route !== null || isOfProgram(path) || isPinnedScript(path) ? app.fetch(request) : pages.answer(request)
  }

  // no async function: each costs every request a promise and a turn of the queue
  const handle: Handle = (request, listener) => {
    const place = findPlace(request)
    const address = (): string =>
      findAddress(listener.requestIP(request)?.address ?? '', request.headers.get('x-forwarded-for'))
    noteFacts(request, { requestId: nextId(), address })
    const answered = ask(request, place)
    return answered instanceof Promise
      ? answered.then(
          (response) => finish(request, response, place),
          (error: unknown) => answerFault(request, error).then((response) => finish(request, response, place)),
        )
      : finish(request, answered, place)
  }

  /** Every request comes here once: what a door rejects has become an answer. */
  const finish = (request: Request, response: Response, place: Place): Response => {
    const { path } = place
    crowdOf(path).inProgress -= 1
    // answers of the API carry them from the start
    if (!path.startsWith(API_PREFIX) && path !== COLLECT_PATH) {
      response.headers.set('X-Request-Id', factsOf(request).requestId)
      response.headers.set('X-Content-Type-Options', 'nosniff')
      if (!response.headers.has(POLICY)) response.headers.set(POLICY, NOTHING_ALLOWED)
    }
    secure(response)
    if (path === MCP_PATH) addCors(parts.mcpOrigins, request, response)
    if (parts.health.isDraining) response.headers.set('Connection', 'close')
    record(request, response.status, place)
    return response
  }

  /** The path is only ever a route we know, so neither log nor counters hold what a caller made up. */
  const record = (request: Request, status: number, { path, route: found }: Place): void => {
    const route = path.startsWith('/assets/') ? '/assets/*' : (found ?? pages.findRoute(path) ?? 'other')
    const { requestId, startedAt, address, access, isWrite, memberId, app, refusal } = factsOf(request)
    const { method } = request
    const ms = performance.now() - startedAt
    parts.metrics.countRequest(method, route, status, ms / 1000)
    if (access && refusal) {
      if (isEarlyRefusal(refusal.refusal)) parts.flood.countRefusal(access.key.id)
      // reads and dry runs were never going to store anything
      if (isWrite) noteRefusedCall(parts, { access, app, refusal })
    } else if (refusal?.refusal === 'invalid_api_key') parts.flood.countWithoutKey(address())
    parts.log.request({
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
  message: 'The service is starting. Send this again after Retry-After.',
})

/** The answers while no server has been built yet (`early`), and where it has failed altogether (`fault`). */
export function createUnserved(baseUrl: string): { early: (request: Request) => Response; fault: () => Response } {
  const nextId = createRequestIds()
  const secure = createSecure(baseUrl)
  const answerAny = (refusal: Refusal, headers: Record<string, string>): Response => {
    const request = new Request('http://localhost')
    noteFacts(request, { requestId: nextId(), address: () => UNKNOWN_ADDRESS })
    return secure(refusalAnswer(request, refusal, headers))
  }
  return {
    early: (request) => answerAny(STARTING, corsOf(pathOf(request.url))),
    // the request is not known here, so a page may always read the answer: it holds nothing of anyone's
    fault: () => answerAny(refuse('internal_error'), COLLECT_CORS),
  }
}

/** What programs call, and no person looks at. */
const isOfProgram = (path: string): boolean => path.startsWith(API_PREFIX) || path === MCP_PATH

/** The client went away while its body was still to come. */
const isHangUp = (request: Request, error: unknown): boolean =>
  request.signal.aborted && error instanceof Error && error.name === 'AbortError'

/** Asked where an address matters: of who was refused with a key. Says once that a proxy is not believed. */
function createAddressFinder({ log, trustedProxies }: Pick<ServerParts, 'log' | 'trustedProxies'>) {
  let hasWarned = false
  return (socketAddress: string, forwardedFor: string | null): string => {
    if (forwardedFor !== null && !hasWarned && !isTrustedProxy(socketAddress, trustedProxies)) {
      hasWarned = true
      log.write('warn', 'X-Forwarded-For is not believed: it came from an address outside --trusted-proxies')
    }
    return clientAddress(socketAddress, forwardedFor, trustedProxies)
  }
}

/** 405 where the path exists for another method, else 404. */
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
    const told = refuseOtherBuild(request, path) ?? (await pages.refuse(request, 'not_found'))
    return told ?? refusalAnswer(request, { refusal: 'not_found' })
  }
  const headers = { Allow: methods.join(', ') }
  const page = request.method === 'GET' ? await pages.refuse(request, 'method_not_allowed') : null
  page?.headers.set('Allow', headers.Allow)
  return page ?? refusalAnswer(request, { refusal: 'method_not_allowed' }, headers)
}
