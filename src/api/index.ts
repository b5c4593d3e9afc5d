import { Elysia } from 'elysia'
import type { Parts } from '../core/parts.ts'
import { answer } from './answers.ts'
import { batchRoutes } from './batch.ts'
import { contactRoutes } from './contacts.ts'
import { docsPage } from './docs-page.ts'
import { eventRoutes } from './events.ts'
import { createOnce } from './once.ts'
import { createOpenApi } from './openapi.ts'

export const API_PREFIX = '/api/v1'

/** The HTTP API (spec 4). No CORS header anywhere: it is for servers. */
export function apiRoutes(parts: Parts) {
  const once = createOnce()
  const calls = new Elysia({ prefix: API_PREFIX })
    .use(eventRoutes(parts, once))
    .use(batchRoutes(parts, once))
    .use(contactRoutes(parts, once))
  const openApi = createOpenApi(calls.routes, parts.baseUrl)
  return calls
    .get('/openapi.json', () => answer(200, openApi, { 'Cache-Control': 'public, max-age=300' }))
    .get('/docs', () => docsPage(openApi))
}
