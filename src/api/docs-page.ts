import { assetUrl, ICON } from '../assets.ts'
import { factsOf } from '../http/request-facts.ts'
import { callMarkdown, type Operation } from './docs-calls.ts'
import { STYLE } from './docs-style.ts'
import type { OpenApi } from './openapi.ts'

/** Its own hash lets this style through a policy that forbids every other in a page. */
const STYLE_HASH = new Bun.CryptoHasher('sha256').update(STYLE).digest('base64')
const POLICY = `default-src 'none'; style-src 'self' 'sha256-${STYLE_HASH}'; img-src data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** No HTML is taken from Markdown, so nothing that a setting or a description holds can be more than text. */
const MARKDOWN = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true }

/** The API for a person, made from the same description as openapi.json. */
export function docsPage(request: Request, openApi: OpenApi, headers: Record<string, string>): Response {
  const content = labelCells(Bun.markdown.html(toMarkdown(openApi), MARKDOWN))
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>API - Eventpost</title><link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${assetUrl('style.css')}"><style>${STYLE}</style></head><body><div class="docs">
<header class="brand"><a href="/">Eventpost</a></header><nav aria-label="Contents"><ul>${contents(content)}</ul></nav><main>${content}</main></div></body></html>`
  return new Response(page, {
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': POLICY,
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': factsOf(request).requestId,
      ...headers,
    },
  })
}

/** Each cell carries the name of its column: on a phone, where columns do not fit, it stands before what the cell says. */
const labelCells = (html: string): string =>
  html.replaceAll(/<table>[^]*?<\/table>/g, (table) => {
    const names = Array.from(table.matchAll(/<th>(.*?)<\/th>/g), ([, name = '']) => name)
    return table.replaceAll(/<tr>(<td>.*?)<\/tr>/g, (row) => {
      let column = 0
      return row.replaceAll('<td>', () => `<td data-label="${names[column++] ?? ''}">`)
    })
  })

/** A link to each heading; paths without what they share. */
const contents = (html: string): string =>
  Array.from(
    html.matchAll(/<h2 id="([^"]*)">(.*?)<\/h2>/g),
    ([, id = '', title = '']) => `<li><a href="#${id}">${title.replace('/api/v1', '')}</a></li>`,
  ).join('')

function toMarkdown({ info, servers, paths }: OpenApi): string {
  const base = servers[0]?.url ?? ''
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => callMarkdown(method, path, operation as Operation)),
  )
  return [
    '# API',
    `Version ${info.version}. ${info.summary} The same for machines: [openapi.json](openapi.json).`,
    '## The first event',
    'Most need one call: the event `results_ready`, sent the first time the results of a user are ready. The key is from the API keys page or `eventpost key create`, the app ID from the Activation screen or `eventpost app list`.',
    `\`\`\`sh\n${firstEvent(base)}\n\`\`\``,
    'Send JSON with `Content-Type: application/json` and the key as `Authorization: Bearer mc_...`, from your server only: whoever reads the key can write in your name. Use a timeout of 10 seconds and log failures, so that this service never slows or breaks your own.',
    ...calls,
    info.description,
  ].join('\n\n')
}

const firstEvent = (base: string): string =>
  [
    `curl ${base}/api/v1/events \\`,
    '  -H "Authorization: Bearer $SERVICE_API_KEY" -H "Content-Type: application/json" \\',
    `  -d '{"app":"APP_ID","email":"ada@example.com","event":"results_ready","createContact":true,`,
    `       "properties":{"url":"https://app.example.com/results/1","headline":"Your results are ready."}}'`,
  ].join('\n')
