import {
  McpError,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplate,
} from '@modelcontextprotocol/sdk/types.js'
import { findApp } from '../accounts/apps.ts'
import type { ToolParts } from './tools/tool.ts'
import { DOC_PAGES, writeDocPage } from '../docs/index.ts'
import type { Caller } from './caller.ts'
import { readSetup } from './tools/account.ts'
import { cleanText } from './untrusted.ts'

/** The protocol's code for a resource that does not exist. */
const NOT_FOUND = -32_002

const DOCS = 'eventpost://docs/'
const OPENAPI = 'eventpost://openapi.json'
const SETUP = /^eventpost:\/\/apps\/([^/]+)\/setup$/
/** More apps are reached by the template. */
const MOST_APPS = 50

const MARKDOWN = 'text/markdown'
const JSON_TYPE = 'application/json'

export const RESOURCE_TEMPLATES: ResourceTemplate[] = [
  {
    uriTemplate: 'eventpost://apps/{app}/setup',
    name: 'setup-status',
    title: 'Setup status of an app',
    description: 'As get_setup_status answers.',
    mimeType: JSON_TYPE,
  },
]

/** The documentation, the description of the HTTP API, and how far each app is set up: nothing about people. */
export const listResources = ({ access }: Caller): Resource[] => [
  ...DOC_PAGES.map(({ slug, title, summary }) => ({
    uri: DOCS + slug,
    name: slug,
    title,
    description: summary,
    mimeType: MARKDOWN,
  })),
  { uri: OPENAPI, name: 'openapi.json', title: 'The HTTP API as OpenAPI 3.1', mimeType: JSON_TYPE },
  ...access.apps.slice(0, MOST_APPS).map(({ publicId, name }) => ({
    uri: `eventpost://apps/${publicId}/setup`,
    name: `setup-status-${publicId}`,
    title: `Setup status of ${cleanText(name)}`,
    mimeType: JSON_TYPE,
  })),
]

/** @throws McpError for what does not exist, or is not the account's */
export async function readResource(
  parts: ToolParts & { openApi: () => object },
  { access }: Caller,
  uri: string,
): Promise<ReadResourceResult> {
  const as = (mimeType: string, text: string): ReadResourceResult => ({ contents: [{ uri, mimeType, text }] })
  const page = DOC_PAGES.find(({ slug }) => uri === DOCS + slug)
  if (page) return as(MARKDOWN, writeDocPage(page, parts.baseUrl))
  if (uri === OPENAPI) return as(JSON_TYPE, JSON.stringify(parts.openApi()))
  const app = findApp(access, SETUP.exec(uri)?.[1] ?? '')
  if (!app) throw new McpError(NOT_FOUND, 'There is no such resource. See resources/list.')
  return as(JSON_TYPE, JSON.stringify(await readSetup(parts, app)))
}
