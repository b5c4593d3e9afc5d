import { Elysia } from 'elysia'
import type { ApiDependencies } from './dependencies.ts'
import type { VisitDependencies } from '../visits/visit-reports.ts'
import { COMMON } from '../http/answers.ts'
import { createPackedAnswer } from '../http/packed-answer.ts'
import { factsOf } from '../http/request-facts.ts'
import { batchRoutes } from './batch.ts'
import { bounceRoutes } from './bounces.ts'
import { collectRoutes } from './collect.ts'
import { contactRoutes } from './contacts.ts'
import { deliveryRoutes } from './deliveries.ts'
import { eventRoutes } from './events.ts'
import { hookRoutes } from './hooks.ts'
import { messageRoutes } from './messages.ts'
import { sendRoutes } from './sends.ts'
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
    .use(sendRoutes(deps, idempotency))
    .use(messageRoutes(deps, idempotency))
  const described = new Elysia().use(calls).use(collectRoutes(deps)).use(bounceRoutes(deps)).use(hookRoutes(deps))
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
