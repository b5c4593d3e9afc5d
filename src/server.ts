import { type AnyElysia, Elysia } from 'elysia'
import { refusalAnswer } from './api/answers.ts'
import { bounceRoutes } from './api/bounces.ts'
import { COLLECT_CORS, COLLECT_PATH, collectRoutes } from './api/collect.ts'
import { API_PREFIX, apiRoutes } from './api/index.ts'
import { scriptRoutes } from './api/script.ts'
import { clientAddress } from './core/addresses.ts'
import type { Parts } from './core/parts.ts'
import { factsOf, noteFacts } from './core/request-facts.ts'
import { dashboardRoutes, refusalPage } from './dashboard/index.ts'
import { assetRoutes, readScript } from './assets.ts'
import { type Health, healthRoutes } from './operations/health.ts'
import type { Log } from './operations/log.ts'
import type { Metrics } from './operations/metrics.ts'

export type ServerParts = Parts & {
  log: Log
  metrics: Metrics
  health: Health
  metricsToken: string | null
  trustedProxies: readonly string[]
  /** the address it listens on */
  host: string
}

/** `socketAddress` is asked only where it matters: for most requests nobody needs to know it. */
export type Handle = (request: Request, socketAddress?: () => string | undefined) => Response | Promise<Response>

/**
 * Everything between a request and its answer: who asks (address, request id), the doors, and what every answer has in
 * common: X-Request-Id, the log line, the counters.
 */
export async function createServer(parts: ServerParts): Promise<{ handle: Handle }> {
  // without it, paths under a host name of three letters are not found
  const app = new Elysia({ normalize: false, strictPath: true, handler: { standardHostname: false } })
  app.onError(({ error, code, request }) => {
    if (code === 'NOT_FOUND') return refuseAddress(app, request)
    const { requestId } = factsOf(request)
    const reason = error instanceof Error ? `${error.name}: ${error.message}\n${error.stack ?? ''}` : String(error)
    parts.log.write('error', 'a request failed', { requestId, reason })
    const headers = pathOf(request.url) === COLLECT_PATH ? COLLECT_CORS : {}
    return refusalPage(request, 'internal_error') ?? refusalAnswer(request, { refusal: 'internal_error' }, headers)
  })
  app
    .use(healthRoutes(parts, parts))
    .use(apiRoutes(parts))
    .use(collectRoutes(parts))
    .use(bounceRoutes(parts))
    .use(scriptRoutes(parts, readScript()))
    .use(dashboardRoutes(parts))
    .use(await assetRoutes())
  const nextId = createRequestIds()
  const routes = new Set(app.routes.map((route) => route.path))

  // no async function: each costs every request a promise and a turn of the queue
  const handle: Handle = (request, socketAddress = () => '127.0.0.1') => {
    const startedAt = performance.now()
    const requestId = nextId()
    const address = (): string =>
      clientAddress(socketAddress() ?? '', request.headers.get('x-forwarded-for'), parts.trustedProxies)
    noteFacts(request, { requestId, address, access: null })
    const answered = app.fetch(request)
    return answered instanceof Promise
      ? answered.then((response) => finish(request, response, startedAt))
      : finish(request, answered, startedAt)
  }

  const finish = (request: Request, response: Response, startedAt: number): Response => {
    const path = pathOf(request.url)
    // answers of the API carry them from the start
    if (!path.startsWith(API_PREFIX) && path !== COLLECT_PATH) {
      response.headers.set('X-Request-Id', factsOf(request).requestId)
      response.headers.set('X-Content-Type-Options', 'nosniff')
    }
    if (parts.health.isDraining) response.headers.set('Connection', 'close')
    record(request, path, response.status, startedAt)
    return response
  }

  /** The path is only ever a route we know, so neither log nor counters hold what a caller made up. */
  const record = (request: Request, path: string, status: number, startedAt: number): void => {
    const route = routes.has(path) ? path : path.startsWith('/assets/') ? '/assets/*' : 'other'
    const { requestId, address, access } = factsOf(request)
    const ms = performance.now() - startedAt
    parts.metrics.countRequest(request.method, route, status, ms / 1000)
    if (status >= 400 && status < 500 && status !== 429 && path.startsWith(API_PREFIX)) {
      parts.flood.countRefusal(address(), access?.key.id ?? null)
    }
    const { method } = request
    parts.log.request({ requestId, method, route, status, ms: Math.round(ms * 10) / 10, keyId: access?.key.id ?? null })
  }

  return { handle }
}

/** 405 where the path exists for another method, else 404. */
function refuseAddress(app: AnyElysia, request: Request): Response {
  const path = pathOf(request.url)
  const found = app.routes.filter((route) => route.path === path).map((route) => route.method)
  const methods = found.includes('GET') ? [...found, 'HEAD'] : found
  if (methods.length === 0) return refusalPage(request, 'not_found') ?? refusalAnswer(request, { refusal: 'not_found' })
  return refusalAnswer(request, { refusal: 'method_not_allowed' }, { Allow: methods.join(', ') })
}

/** The path of an absolute URL, without the cost of parsing all of it. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2)
  if (start < 0) return '/'
  const end = url.slice(start).search(/[?#]/)
  return end < 0 ? url.slice(start) : url.slice(start, start + end)
}

/** Unique among processes by its random beginning, and cheap: a counter follows. */
function createRequestIds(): () => string {
  const start = crypto.randomUUID().slice(0, 13).replace('-', '')
  let count = 0
  return () => {
    count += 1
    return `req_${start}${count.toString(36).padStart(6, '0')}`
  }
}
