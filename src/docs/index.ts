import events from './events.md' with { type: 'text' }
import http from './http.md' with { type: 'text' }
import limits from './limits.md' with { type: 'text' }
import mcp from './mcp.md' with { type: 'text' }
import messages from './messages.md' with { type: 'text' }
import security from './security.md' with { type: 'text' }
import start from './start.md' with { type: 'text' }
import snippet from './snippet.md' with { type: 'text' }
import { type DocPage, toPage } from './page.ts'
import { PAGE_SAMPLES } from './samples.ts'

export { type DocPage, writeDocPage } from './page.ts'

/** In reading order. */
export const DOC_PAGES: readonly DocPage[] = [
  toPage('start', start, PAGE_SAMPLES),
  toPage('events', events, PAGE_SAMPLES),
  toPage('snippet', snippet, PAGE_SAMPLES),
  toPage('messages', messages, PAGE_SAMPLES),
  toPage('mcp', mcp, PAGE_SAMPLES),
  toPage('limits', limits, PAGE_SAMPLES),
  toPage('http', http, PAGE_SAMPLES),
  toPage('security', security, PAGE_SAMPLES),
]
