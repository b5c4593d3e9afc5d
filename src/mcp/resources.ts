import {
  McpError,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplate,
} from '@modelcontextprotocol/sdk/types.js'
import { findAskedApp } from './arguments.ts'
import type { ToolDependencies } from './tools/tool.ts'
import { DOC_PAGES, writeDocPage } from '../docs/index.ts'
import type { Caller } from './caller.ts'
import { readSetup } from './tools/account.ts'
import { cleanText } from './untrusted.ts'

const NOT_FOUND = -32_002

const DOCS = 'eventpost://docs/'
const OPENAPI = 'eventpost://openapi.json'
const CALL = /^eventpost:\/\/openapi\/(\w+)$/
const SETUP = /^eventpost:\/\/apps\/([^/]+)\/setup$/
/** Further apps are available through the template. */
const MOST_APPS = 50

const MARKDOWN = 'text/markdown'
const JSON_TYPE = 'application/json'

export const RESOURCE_TEMPLATES: ResourceTemplate[] = [
  {
    uriTemplate: 'eventpost://openapi/{operationId}',
    name: 'openapi-call',
    title: 'One call of the HTTP API as OpenAPI 3.1',
    description: 'With the schemas it uses. openapi.json lists the names.',
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: 'eventpost://apps/{app}/setup',
    name: 'setup-status',
    title: 'Setup status of an app',
    description: 'The same as get_setup_status.',
    mimeType: JSON_TYPE,
  },
]

/** Documentation, API description and setup status; no personal data. */
export const listResources = ({ access }: Caller): Resource[] => [
  ...DOC_PAGES.map(({ slug, title, summary }) => ({
    uri: DOCS + slug,
    name: slug,
    title,
    description: summary,
    mimeType: MARKDOWN,
  })),
  {
    uri: OPENAPI,
    name: 'openapi.json',
    title: 'The HTTP API: general rules and the names of its calls',
    mimeType: JSON_TYPE,
  },
  ...access.apps.slice(0, MOST_APPS).map(({ publicId, name }) => ({
    uri: `eventpost://apps/${publicId}/setup`,
    name: `setup-status-${publicId}`,
    title: `Setup status of ${cleanText(name)}`,
    mimeType: JSON_TYPE,
  })),
]

export type OpenApi = {
  openapi: string
  paths: Record<string, Record<string, { operationId?: unknown; summary?: unknown }>>
  components: { schemas: Record<string, object> }
}

/** The whole of openapi.json is too large, so operations are listed by name. */
function listCalls({ paths, components: { schemas: _, ...components }, ...rest }: OpenApi): object {
  const calls = Object.entries(paths).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).map(([method, { operationId, summary }]) => [method, { operationId, summary }]),
    ),
  ])
  const note = 'Each call is at eventpost://openapi/{operationId}. The whole document is at /api/v1/openapi.json.'
  return { note, ...rest, components, paths: Object.fromEntries(calls) }
}

function pickCall(openApi: () => OpenApi, operationId: string | undefined): object | null {
  if (operationId === undefined) return null
  const { openapi, paths, components } = openApi()
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.operationId !== operationId) continue
      return {
        openapi,
        paths: { [path]: { [method]: operation } },
        components: {
          schemas: Object.fromEntries(pickSchemas(operation, new Map(Object.entries(components.schemas)))),
        },
      }
    }
  }
  return null
}

function pickSchemas(value: object, schemas: Map<string, object>, picked = new Map<string, object>()) {
  for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    const schema = schemas.get(name)
    if (!schema || picked.has(name)) continue
    picked.set(name, schema)
    pickSchemas(schema, schemas, picked)
  }
  return picked
}

export type ServerDependencies = ToolDependencies & { openApi: () => OpenApi }

export async function readResource(deps: ServerDependencies, caller: Caller, uri: string): Promise<ReadResourceResult> {
  const as = (mimeType: string, text: string): ReadResourceResult => ({ contents: [{ uri, mimeType, text }] })
  const page = DOC_PAGES.find(({ slug }) => uri === DOCS + slug)
  if (page) return as(MARKDOWN, writeDocPage(page, deps.baseUrl))
  if (uri === OPENAPI) return as(JSON_TYPE, JSON.stringify(listCalls(deps.openApi())))
  const call = pickCall(deps.openApi, CALL.exec(uri)?.[1])
  if (call) return as(JSON_TYPE, JSON.stringify(call))
  const appId = SETUP.exec(uri)?.[1]
  const found = appId === undefined ? null : await findAskedApp(deps, caller, appId)
  if (!found) throw new McpError(NOT_FOUND, 'There is no such resource. See resources/list.')
  return as(JSON_TYPE, JSON.stringify(await readSetup(deps, found.app)))
}
