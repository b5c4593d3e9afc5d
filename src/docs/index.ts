import events from './events.md' with { type: 'text' }
import http from './http.md' with { type: 'text' }
import limits from './limits.md' with { type: 'text' }
import mcp from './mcp.md' with { type: 'text' }
import messages from './messages.md' with { type: 'text' }
import security from './security.md' with { type: 'text' }
import start from './start.md' with { type: 'text' }
import snippet from './snippet.md' with { type: 'text' }

/** A page of the documentation: Markdown, in which {base_url} stands for where the service is reached. */
export type DocPage = { slug: string; title: string; summary: string; markdown: string }

/** In the order in which they are read. The heading of each is its title, the line below it its summary. */
export const DOC_PAGES: readonly DocPage[] = [
  toPage('start', start),
  toPage('events', events),
  toPage('snippet', snippet),
  toPage('messages', messages),
  toPage('limits', limits),
  toPage('http', http),
  toPage('mcp', mcp),
  toPage('security', security),
]

/** The page for whoever reaches the service at this address. */
export const writeDocPage = ({ markdown }: DocPage, baseUrl: string): string =>
  markdown.replaceAll('{base_url}', baseUrl)

function toPage(slug: string, markdown: string): DocPage {
  const [, title = '', summary = ''] = /^# (.+)\n\n(.+)\n/.exec(markdown) ?? []
  return { slug, title, summary, markdown }
}
