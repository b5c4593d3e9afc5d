import asvs from './asvs.md' with { type: 'text' }
import delivery from './delivery.md' with { type: 'text' }
import hosting from './hosting.md' with { type: 'text' }
import data from './data.md' with { type: 'text' }
import sessions from './sessions.md' with { type: 'text' }
import contacts from './contacts.md' with { type: 'text' }
import content from './content.md' with { type: 'text' }
import errors from './errors.md' with { type: 'text' }
import events from './events.md' with { type: 'text' }
import frequency from './frequency.md' with { type: 'text' }
import http from './http.md' with { type: 'text' }
import limits from './limits.md' with { type: 'text' }
import mcp from './mcp.md' with { type: 'text' }
import messages from './messages.md' with { type: 'text' }
import privacy from './privacy.md' with { type: 'text' }
import requests from './requests.md' with { type: 'text' }
import results from './results.md' with { type: 'text' }
import security from './security.md' with { type: 'text' }
import senders from './senders.md' with { type: 'text' }
import sending from './sending.md' with { type: 'text' }
import snippet from './snippet.md' with { type: 'text' }
import start from './start.md' with { type: 'text' }
import tools from './tools.md' with { type: 'text' }
import { type DocPage, toPage } from './page.ts'
import { PAGE_SAMPLES } from './samples.ts'

export { type DocPage, writeDocPage } from './page.ts'

const toPages = (sources: Record<string, string>): DocPage[] =>
  Object.entries(sources).map(([slug, source]) => toPage(slug, source, PAGE_SAMPLES))

/** In reading order. */
export const DOC_GROUPS: readonly { name: string; pages: DocPage[] }[] = [
  { name: 'Guides', pages: toPages({ start, events, contacts, snippet, privacy, mcp, tools }) },
  { name: 'Messages', pages: toPages({ messages, frequency, content, results, sending, delivery, senders }) },
  { name: 'Operation', pages: toPages({ hosting, limits, errors, requests, http, security, sessions, data, asvs }) },
]

export const DOC_PAGES: readonly DocPage[] = DOC_GROUPS.flatMap(({ pages }) => pages)
