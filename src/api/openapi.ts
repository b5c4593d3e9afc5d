import type { AnyElysia } from 'elysia'
import { VERSION } from '../core/version.ts'

type Operation = Record<string, unknown> & { summary?: string }
export type OpenApi = {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
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
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Eventpost', version: VERSION, description: 'People and events from your server, and the way back.' },
    servers: [{ url: baseUrl }],
    components: { securitySchemes: SECURITY },
    paths,
  }
}
