import type { AnyElysia } from 'elysia'
import { VERSION } from '../core/version.ts'
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
  components: { securitySchemes: object; schemas: Record<string, object> }
  paths: Record<string, Record<string, Operation>>
}

const SECURITY = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'A key from the API keys page. It starts with `mc_`.' },
  reportSignature: {
    type: 'apiKey',
    in: 'header',
    name: 'Eventpost-Signature',
    description:
      '`t=SECONDS,v1=HEX`: the current Unix time, and the HMAC-SHA256 of `SECONDS.BODY` with the report secret, in lowercase hexadecimal.',
  },
  providerSignature: {
    type: 'apiKey',
    in: 'header',
    name: 'svix-signature',
    description:
      "The provider's own signature. This header is Resend's; SendGrid uses other headers, and Mailgun signs in the body.",
  },
}

/** OpenAPI 3.1, generated from the routes. */
export function createOpenApi(routes: AnyElysia['routes'], baseUrl: string): OpenApi {
  const paths: OpenApi['paths'] = {}
  for (const { path, method, hooks } of routes) {
    const operation = (hooks as { detail?: Operation } | undefined)?.detail
    if (!operation?.summary) continue
    const verb = method.toLowerCase()
    const template = path.replaceAll(/:(\w+)/g, '{$1}')
    paths[template] = { ...paths[template], [verb]: { operationId: operationId(verb, path), ...operation } }
  }
  const named = nameSchemas(paths)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Eventpost',
      version: VERSION,
      summary: 'Record people and events, send emails, and manage messages.',
      description: guide(),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }],
    components: { securitySchemes: SECURITY, schemas: named.schemas },
    paths: named.paths,
  }
}

type Named = { title?: unknown; $ref?: string }

/** Moves schemas with a title to components. Inner ones come first. */
function nameSchemas(described: OpenApi['paths']): { schemas: Record<string, object>; paths: OpenApi['paths'] } {
  const schemas = new Map<string, object>()
  const paths = JSON.parse(JSON.stringify(described), (_, value: Named | null) => {
    if (typeof value?.title !== 'string') return value
    const { title, ...schema } = value
    schemas.set(title, schema)
    return { $ref: `#/components/schemas/${title}` }
  }) as OpenApi['paths']
  return { schemas: Object.fromEntries(schemas), paths }
}

/** `postEventsBatch` of POST /api/v1/events/batch. */
const operationId = (verb: string, path: string): string =>
  verb +
  path
    .split(/[/.-]/)
    .slice(3)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
