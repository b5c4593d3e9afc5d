/** The documentation for language models, as https://llmstxt.org describes. */
import { type DocPage, writeDocPage } from './page.ts'

const ABOUT =
  "Eventpost records an app's people, events and page views, and emails each person at the right moment, once. It is one executable with an HTTP API, a browser script, an MCP server and a dashboard."

const markdownUrl = (baseUrl: string, slug: string): string => `${baseUrl}/docs/${slug}.md`

export type DocGroup = { name: string; pages: readonly DocPage[] }

/** A list of the pages, then all of them. */
export const writeLlms = (groups: readonly DocGroup[], baseUrl: string): string => {
  const list = ({ name, pages }: DocGroup): string => {
    const links = pages.map(({ slug, title, summary }) => `- [${title}](${markdownUrl(baseUrl, slug)}): ${summary}`)
    return `## ${name}\n\n${links.join('\n')}\n`
  }
  return `# Eventpost

> ${ABOUT}

This file lists all pages of the documentation, followed by their full text. The HTTP API as OpenAPI 3.1: [openapi.json](${baseUrl}/api/v1/openapi.json). An assistant can also use the MCP server at ${baseUrl}/mcp with an API key.

${groups.map(list).join('\n')}
${groups.flatMap(({ pages }) => pages.map((page) => writeMarkdownPage(page, baseUrl))).join('\n')}`
}

/** A page as Markdown, whose links lead to Markdown. */
export const writeMarkdownPage = (page: DocPage, baseUrl: string): string =>
  writeDocPage(page, baseUrl)
    .replaceAll(
      /\]\(([a-z0-9-]+)(#[\w-]+)?\)/g,
      (_, slug: string, hash = '') => `](${markdownUrl(baseUrl, slug)}${hash})`,
    )
    .replaceAll(
      /\]\(\/docs\/([a-z0-9/-]+)(#[\w-]+)?\)/g,
      (_, slug: string, hash = '') => `](${markdownUrl(baseUrl, slug)}${hash})`,
    )
    .replaceAll('](/api/', `](${baseUrl}/api/`)
