import events from './events.md' with { type: 'text' }
import http from './http.md' with { type: 'text' }
import limits from './limits.md' with { type: 'text' }
import mcp from './mcp.md' with { type: 'text' }
import messages from './messages.md' with { type: 'text' }
import security from './security.md' with { type: 'text' }
import start from './start.md' with { type: 'text' }
import snippet from './snippet.md' with { type: 'text' }
import { EXAMPLE_SAMPLES, fillSample } from './samples.ts'

/** A page of the documentation: Markdown, in which {base_url} stands for where the service is reached. */
export type DocPage = { slug: string; title: string; summary: string; markdown: string }

/** A line of its own in the Markdown, as deep as the code that takes its place. */
const SAMPLE = /^( *)\{sample:([\w.-]+)\}$/gm

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
  fillSample(markdown, { base_url: baseUrl })

function toPage(slug: string, source: string): DocPage {
  const markdown = source.replaceAll(SAMPLE, (_, indent: string, name: string) =>
    (EXAMPLE_SAMPLES.get(name) ?? name).replaceAll(/^(?=.)/gm, indent),
  )
  const [, title = '', summary = ''] = /^# (.+)\n\n(.+)\n/.exec(markdown) ?? []
  return { slug, title, summary, markdown }
}
