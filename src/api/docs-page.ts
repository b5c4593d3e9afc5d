import { assetUrl, ICON } from '../assets.ts'
import { EXAMPLE_SAMPLES, fillSample } from '../docs/samples.ts'
import { factsOf } from '../http/request-facts.ts'
import { callMarkdown, type Operation } from './docs-calls.ts'
import type { OpenApi } from './openapi.ts'

/** Besides the pages' stylesheet: tables and a sticky table of contents. */
const STYLE = `
.docs { display: grid; grid-template-columns: 224px minmax(0, 1fr); gap: 0 64px; max-width: 1120px; margin: 0 auto; padding: 24px }
.docs > header { grid-column: 1 / -1 }
.brand a { padding: 12px 0; color: inherit; text-decoration: none }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 64px 0 24px }
nav ul { list-style: none; margin: 0; padding: 0 }
nav a { display: block; padding: 4px 0; color: var(--quiet); text-decoration: none; overflow-wrap: anywhere }
nav a:hover { color: var(--accent-strong) }
main { min-width: 0 }
main > * + * { margin-top: 12px }
main > h2 { margin-top: 64px; scroll-margin-top: 24px; overflow-wrap: anywhere }
main > h3 { margin: 24px 0 0; font-size: var(--size-lead); font-weight: 600 }
table { border-collapse: collapse }
th, td { padding: 8px 24px 8px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th { color: var(--quiet); font-weight: 400 }
td:first-child code { white-space: nowrap }
@media (max-width: 799px) {
  .docs { display: block; padding: 16px }
  nav { position: static; max-height: none; padding: 24px 0 0 }
  nav ul { columns: 2 }
  nav a { padding: 12px 0 }
  main { padding: 24px 0 }
  table, tbody, tr, td { display: block }
  thead { display: none }
  tr { padding: 8px 0; border-bottom: 1px solid var(--line) }
  td { padding: 4px 0; border: 0; overflow-wrap: anywhere }
  td:first-child code { white-space: normal }
  td::before { content: attr(data-label) ' '; color: var(--quiet) }
}
@media print {
  nav { display: none }
  .docs { display: block }
}
`

/** The policy allows this inline style by its hash. */
const STYLE_HASH = new Bun.CryptoHasher('sha256').update(STYLE).digest('base64')
const POLICY = `default-src 'none'; style-src 'self' 'sha256-${STYLE_HASH}'; img-src data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** HTML in Markdown is text, so settings and descriptions can't inject any. */
const MARKDOWN = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true }

/** The readable API reference, generated from openapi.json. */
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

/** Phones show the column's name in each cell. */
const labelCells = (html: string): string =>
  html.replaceAll(/<table>[^]*?<\/table>/g, (table) => {
    const names = Array.from(table.matchAll(/<th>(.*?)<\/th>/g), ([, name = '']) => name)
    return table.replaceAll(/<tr>(<td>.*?)<\/tr>/g, (row) => {
      let column = 0
      return row.replaceAll('<td>', () => `<td data-label="${names[column++] ?? ''}">`)
    })
  })

/** Table of contents, without the common path prefix. */
const contents = (html: string): string =>
  Array.from(
    html.matchAll(/<h2 id="([^"]*)">(.*?)<\/h2>/g),
    ([, id = '', title = '']) => `<li><a href="#${id}">${title.replace('/api/v1', '')}</a></li>`,
  ).join('')

function toMarkdown({ info, servers, paths, components: { schemas } }: OpenApi): string {
  const base = servers[0]?.url ?? ''
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      callMarkdown(method, path, { operation: operation as Operation, schemas }),
    ),
  )
  return [
    '# API',
    `Version ${info.version}. ${info.summary} The same for machines: [openapi.json](openapi.json).`,
    '## The first event',
    'Most need one call: the event `results_ready`, sent the first time the results of a user are ready. The key is from the API keys page or `eventpost key create`, the app ID from the Activation screen or `eventpost app list`.',
    `\`\`\`sh\n${fillSample(EXAMPLE_SAMPLES.get('first-event') ?? '', { base_url: base })}\n\`\`\``,
    'Send JSON with `Content-Type: application/json` and the key as `Authorization: Bearer mc_...`, from your server only: whoever reads the key can write in your name. Use a timeout of 10 seconds and log failures, so that Eventpost never slows down or breaks your service.',
    ...calls,
    info.description,
  ].join('\n\n')
}
