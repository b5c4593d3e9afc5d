/** The documentation for language models, as https://llmstxt.org describes. */
import { type DocPage, writeDocPage } from './page.ts'

const ABOUT =
  'Eventpost records people, events and page views of an app, and emails each person at the right moment, once. It is one executable with an HTTP API, a browser script, an MCP server and a dashboard.'

const markdownUrl = (baseUrl: string, slug: string): string => `${baseUrl}/docs/${slug}.md`

export const writeLlmsIndex = (guides: readonly DocPage[], reference: readonly DocPage[], baseUrl: string): string => {
  const list = (pages: readonly DocPage[]): string =>
    pages.map(({ slug, title, summary }) => `- [${title}](${markdownUrl(baseUrl, slug)}): ${summary}`).join('\n')
  return `# Eventpost

> ${ABOUT}

Everything in one file: [llms-full.txt](${baseUrl}/llms-full.txt). An assistant can also use the MCP server at ${baseUrl}/mcp with an API key.

## Guides

${list(guides)}

## API reference

${list(reference)}
- [openapi.json](${baseUrl}/api/v1/openapi.json): The HTTP API as OpenAPI 3.1.
`
}

export const writeLlmsFull = (pages: readonly DocPage[], baseUrl: string): string =>
  `# Eventpost\n\n> ${ABOUT}\n\n${pages.map((page) => writeMarkdownPage(page, baseUrl)).join('\n')}`

/** A page as Markdown, whose links lead to Markdown. */
export const writeMarkdownPage = (page: DocPage, baseUrl: string): string =>
  writeDocPage(page, baseUrl)
    .replaceAll(/\]\(([a-z]+)(#[\w-]+)?\)/g, (_, slug: string, hash = '') => `](${markdownUrl(baseUrl, slug)}${hash})`)
    .replaceAll(
      /\]\(\/docs\/([a-z/-]+)(#[\w-]+)?\)/g,
      (_, slug: string, hash = '') => `](${markdownUrl(baseUrl, slug)}${hash})`,
    )
    .replaceAll('](/api/', `](${baseUrl}/api/`)
