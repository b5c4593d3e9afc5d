import type { OpenApi } from './openapi.ts'

type Schema = {
  type?: string | string[]
  description?: string
  anyOf?: Schema[]
  const?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
}
type Parameter = { name: string; in: string; required: boolean; description: string }
type Content = { 'application/json': { schema: Schema } }
type Operation = {
  summary?: string
  parameters?: Parameter[]
  requestBody?: { content: Content }
  responses?: Record<string, { description: string; content: Content }>
}

const STYLE = `:root{color-scheme:light dark}body{font:14px/1.6 system-ui,sans-serif;max-width:72ch;margin:0 auto;padding:24px 16px 64px}
h1{font-size:28px;line-height:1.2}h2{font-size:20px;margin-top:64px;border-top:1px solid #8885;padding-top:24px}h3{font-size:16px;margin-top:24px}
code,pre{font:13px/1.5 ui-monospace,monospace}pre{overflow-x:auto;padding:12px;border:1px solid #8885;border-radius:6px}
table{border-collapse:collapse;display:block;overflow-x:auto}th,td{text-align:left;vertical-align:top;padding:8px 16px 8px 0;border-bottom:1px solid #8885}`

/** Its own hash lets the style through a policy that forbids every other (promises 15). */
const STYLE_HASH = new Bun.CryptoHasher('sha256').update(STYLE).digest('base64')

/** The API for a person, made from the same description as openapi.json. */
export function docsPage(openApi: OpenApi): Response {
  const body = Bun.markdown.html(toMarkdown(openApi))
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>API - Eventpost</title><style>${STYLE}</style></head><body><main>${body}</main></body></html>`
  return new Response(page, {
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'`,
    },
  })
}

function toMarkdown({ info, servers, paths }: OpenApi): string {
  const base = servers[0]?.url ?? ''
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => callMarkdown(method, path, operation as Operation)),
  )
  return [
    `# API`,
    `Eventpost ${info.version}. ${info.description} The same as [openapi.json](openapi.json), for machines.`,
    `Send the key from the API keys page as \`Authorization: Bearer mc_...\`, and JSON with \`Content-Type: application/json\`. Use a timeout of 10 seconds and log failures, so that this service never slows or breaks your own.`,
    `\`\`\`sh\n${example(base)}\n\`\`\``,
    ...calls,
  ].join('\n\n')
}

const example = (base: string): string =>
  [
    `curl ${base}/api/v1/events \\`,
    '  -H "Authorization: Bearer $SERVICE_API_KEY" -H "Content-Type: application/json" \\',
    `  -d '{"app":"APP_ID","email":"ada@example.com","event":"results_ready","createContact":true,`,
    `       "properties":{"url":"https://app.example.com/results/1","headline":"Your results are ready."}}'`,
  ].join('\n')

function callMarkdown(method: string, path: string, { summary, parameters = [], requestBody, responses = {} }: Operation) {
  const query = parameters.map((p) => row([`\`${p.name}\``, `${p.in}${p.required ? ', required' : ''}`, p.description]))
  const schema = requestBody?.content['application/json'].schema
  const answers = Object.entries(responses).map(([status, { description }]) => row([status, description]))
  return [
    `## ${method.toUpperCase()} ${path}`,
    `${summary}.`,
    ...(schema ? ['### Body', fieldTable(schema)] : []),
    ...(query.length > 0 ? ['### Parameters', table(['Name', 'Where', 'Meaning'], query)] : []),
    '### Answers',
    table(['Status', 'When'], answers),
  ].join('\n\n')
}

const fieldTable = ({ properties = {}, required = [] }: Schema): string =>
  table(
    ['Field', 'Type', 'Meaning'],
    Object.entries(properties).map(([name, schema]) =>
      row([`\`${name}\`${required.includes(name) ? ' *' : ''}`, typeOf(schema), schema.description ?? '']),
    ),
  )

function typeOf({ type, anyOf, items }: Schema): string {
  if (anyOf) return anyOf.map(typeOf).join(' or ')
  if (items) return `array of ${typeOf(items)}s`
  return Array.isArray(type) ? type.join(' or ') : (type ?? 'value')
}

const row = (cells: string[]): string => `| ${cells.map((cell) => cell.replaceAll('\n\n', '<br>').replaceAll('|', '\\|')).join(' | ')} |`
const table = (head: string[], rows: string[]): string => [row(head), row(head.map(() => '---')), ...rows].join('\n')
