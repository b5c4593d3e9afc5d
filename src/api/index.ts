import { Elysia } from 'elysia'
import type { ApiDependencies } from './dependencies.ts'
import type { Collecting } from '../visits/collect.ts'
import { COMMON } from '../http/answers.ts'
import { createPackedAnswer } from './packed-answer.ts'
import { factsOf } from '../http/request-facts.ts'
import { batchRoutes } from './batch.ts'
import { bounceRoutes } from './bounces.ts'
import { collectRoutes } from './collect.ts'
import { contactRoutes } from './contacts.ts'
import { docsPage } from './docs-page.ts'
import { eventRoutes } from './events.ts'
import { createOnce } from '../http/once.ts'
import { createOpenApi } from './openapi.ts'

export const API_PREFIX = '/api/v1'

/** The descriptions are the same for everybody, and change with the version. */
const PUBLIC = { 'Cache-Control': 'public, max-age=300' }

/** The HTTP API, with what the browser script and mail providers report. No CORS header below the prefix: it is for servers. */
export function apiRoutes(parts: ApiDependencies & Collecting & { baseUrl: string }) {
  const once = createOnce(parts)
  const calls = new Elysia({ prefix: API_PREFIX })
    .use(eventRoutes(parts, once))
    .use(batchRoutes(parts, once))
    .use(contactRoutes(parts, once))
  const described = new Elysia().use(calls).use(collectRoutes(parts)).use(bounceRoutes(parts))
  const openApi = createOpenApi(described.routes, parts.baseUrl)
  const answerOpenApi = createPackedAnswer(JSON.stringify(openApi))
  return described
    .get(`${API_PREFIX}/openapi.json`, ({ request }) =>
      answerOpenApi(request, { ...COMMON, ...PUBLIC, 'X-Request-Id': factsOf(request).requestId }),
    )
    .get(`${API_PREFIX}/docs`, ({ request }) => docsPage(request, openApi, PUBLIC))
}
