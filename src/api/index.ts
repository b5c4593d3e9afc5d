import { brotliCompressSync, gzipSync } from 'node:zlib'
import { Elysia } from 'elysia'
import { etagOf, hasEtag, pickEncoding, type Script } from '../assets.ts'
import type { ApiDependencies } from './dependencies.ts'
import type { VisitDependencies } from '../visits/visit-reports.ts'
import { COMMON } from '../http/answers.ts'
import { factsOf } from '../http/request-facts.ts'
import { batchRoutes } from './batch.ts'
import { bounceRoutes } from './bounces.ts'
import { collectRoutes } from './collect.ts'
import { contactRoutes } from './contacts.ts'
import { deliveryRoutes } from './deliveries.ts'
import { eventRoutes } from './events.ts'
import { createIdempotencyGuard } from '../http/idempotency.ts'
import { createOpenApi, type OpenApi } from './openapi.ts'

export const API_PREFIX = '/api/v1'

/** Descriptions only change with the version. */
const PUBLIC = { 'Cache-Control': 'public, max-age=300' }

/** The HTTP API, visit reports and bounce reports. No CORS below the prefix, which is for servers. */
export function apiRoutes(deps: ApiDependencies & VisitDependencies & { baseUrl: string }) {
  const idempotency = createIdempotencyGuard(deps)
  const calls = new Elysia({ prefix: API_PREFIX })
    .use(eventRoutes(deps, idempotency))
    .use(batchRoutes(deps, idempotency))
    .use(contactRoutes(deps, idempotency))
    .use(deliveryRoutes(deps, idempotency))
  const described = new Elysia().use(calls).use(collectRoutes(deps)).use(bounceRoutes(deps))
  let made: OpenApi | undefined
  // at the first request: it takes as long as half of a start (measured)
  const openApi = (): OpenApi => (made ??= createOpenApi(described.routes, deps.baseUrl))
  const answerOpenApi = createPackedAnswer(() => JSON.stringify(openApi()))
  const routes = described
    .get(`${API_PREFIX}/openapi.json`, ({ request }) =>
      answerOpenApi(request, { ...COMMON, ...PUBLIC, 'X-Request-Id': factsOf(request).requestId }),
    )
    .get(`${API_PREFIX}/docs`, ({ request }) => {
      const headers = { ...COMMON, ...PUBLIC, 'X-Request-Id': factsOf(request).requestId, Location: '/docs/api' }
      return new Response(null, { status: 303, headers })
    })
  return { routes, openApi }
}

const PACK = {
  identity: (bytes: Buffer) => bytes,
  br: (bytes: Buffer) => brotliCompressSync(bytes),
  gzip: (bytes: Buffer) => gzipSync(bytes, { level: 9 }),
}

/** Serves a constant text; made and compressed on first use. */
function createPackedAnswer(makeText: () => string): (request: Request, headers: Record<string, string>) => Response {
  const make = () => {
    const bytes = Buffer.from(makeText())
    return { bytes, hash: Bun.SHA256.hash(bytes, 'base64url').slice(0, 16) }
  }
  let text: ReturnType<typeof make> | undefined
  const made = new Map<keyof Script, Buffer>()
  return (request, more) => {
    const { bytes, hash } = (text ??= make())
    const { encoding, suffix } = pickEncoding(request)
    const etag = etagOf(hash, suffix)
    const headers = { ...more, ETag: etag, Vary: 'Accept-Encoding' }
    if (hasEtag(request, etag)) return new Response(null, { status: 304, headers })
    const body = made.get(encoding) ?? PACK[encoding](bytes)
    made.set(encoding, body)
    const coded: Record<string, string> = encoding === 'identity' ? {} : { 'Content-Encoding': encoding }
    return new Response(new Uint8Array(body), { headers: { ...headers, ...coded } })
  }
}
