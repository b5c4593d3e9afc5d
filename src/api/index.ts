import { Elysia } from 'elysia'
import type { ApiDependencies } from './dependencies.ts'
import { answer } from '../http/answers.ts'
import { batchRoutes } from './batch.ts'
import { contactRoutes } from './contacts.ts'
import { docsPage } from './docs-page.ts'
import { eventRoutes } from './events.ts'
import { createOnce } from '../http/once.ts'
import { createOpenApi } from './openapi.ts'

export const API_PREFIX = '/api/v1'

/** The descriptions are the same for everybody, and change with the version. */
const PUBLIC = { 'Cache-Control': 'public, max-age=300' }

/** The HTTP API. No CORS header anywhere: it is for servers. */
export function apiRoutes(parts: ApiDependencies & { baseUrl: string }) {
  const once = createOnce(parts)
  const calls = new Elysia({ prefix: API_PREFIX })
    .use(eventRoutes(parts, once))
    .use(batchRoutes(parts, once))
    .use(contactRoutes(parts, once))
  const openApi = createOpenApi(calls.routes, parts.baseUrl)
  return calls
    .get('/openapi.json', ({ request }) => answer(request, 200, openApi, PUBLIC))
    .get('/docs', ({ request }) => docsPage(request, openApi, PUBLIC))
}
