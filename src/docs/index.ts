import events from './events.md' with { type: 'text' }
import http from './http.md' with { type: 'text' }
import limits from './limits.md' with { type: 'text' }
import mcp from './mcp.md' with { type: 'text' }
import messages from './messages.md' with { type: 'text' }
import security from './security.md' with { type: 'text' }
import start from './start.md' with { type: 'text' }
import snippet from './snippet.md' with { type: 'text' }
import { fenceSample, fillSample } from './samples.ts'

export type DocPage = { slug: string; title: string; summary: string; markdown: string }

/** A paragraph of its own, outside code: formatters rewrite code blocks. The block takes its indentation. */
const SAMPLE = /^( *)\{sample:([\w.-]+)\}$/gm

/** In reading order. Title and summary come from the heading and the line below it. */
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

export const writeDocPage = ({ markdown }: DocPage, baseUrl: string): string =>
  fillSample(markdown, { base_url: baseUrl })

function toPage(slug: string, source: string): DocPage {
  const markdown = source.replaceAll(SAMPLE, (_, indent: string, name: string) =>
    fenceSample(name).replaceAll(/^(?=.)/gm, indent),
  )
  const [, title = '', summary = ''] = /^# (.+)\n\n(.+)\n/.exec(markdown) ?? []
  return { slug, title, summary, markdown }
}
