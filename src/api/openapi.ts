import type { AnyElysia } from 'elysia'
import { VERSION } from '../core/version.ts'
import { COMPONENT_SCHEMAS } from './describe.ts'
import { guide } from './guide.ts'

type Operation = Record<string, unknown> & { summary?: string }
export type OpenApi = {
  openapi: string
  info: {
    title: string
    version: string
    summary: string
    description: string
    license: { name: string; identifier: string }
  }
  servers: { url: string }[]
  security: object[]
  components: object
  paths: Record<string, Record<string, Operation>>
}

const SECURITY = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'A key from the API keys page. It starts with `mc_`.' },
}

/** OpenAPI 3.1, read off the routes themselves: what is served is what is described. */
export function createOpenApi(routes: AnyElysia['routes'], baseUrl: string): OpenApi {
  const paths: OpenApi['paths'] = {}
  for (const { path, method, hooks } of routes) {
    const operation = (hooks as { detail?: Operation } | undefined)?.detail
    if (!operation?.summary) continue
    const verb = method.toLowerCase()
    paths[path] = { ...paths[path], [verb]: { operationId: operationId(verb, path), ...operation } }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Eventpost',
      version: VERSION,
      summary: 'People and events from your server, and the way back.',
      description: guide(),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }],
    components: { securitySchemes: SECURITY, schemas: COMPONENT_SCHEMAS },
    paths,
  }
}

/** `postEventsBatch` of POST /api/v1/events/batch. */
const operationId = (verb: string, path: string): string =>
  verb +
  path
    .split(/[/.]/)
    .slice(3)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
