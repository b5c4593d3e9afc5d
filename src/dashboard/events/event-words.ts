import type { EventRow } from '../../events/events.ts'
import { isJsonObject } from '../../core/json.ts'

/** Names that no customer can send, as people call them. */
const OWN_NAMES = new Map<string, string>(Object.entries({ $page: 'Page view', $test: 'Test event' }))

export const nameInWords = (name: string): string => OWN_NAMES.get(name) ?? name

export const KINDS = { event: 'Event', page: 'Page view', action: 'Action' } as const
export const VIA_NAMES = { api: 'The API', browser: 'A browser', mcp: 'MCP', import: 'An import' } as const

/** Characters of an event's properties in a line of a list. */
const PREVIEW_CHARACTERS = 160

export type Property = { name: string; value: unknown }

/** The properties as they were sent, in their order; none where there are none. */
export function readProperties({ properties }: Pick<EventRow, 'properties'>): Property[] {
  const object: unknown = properties === null ? {} : JSON.parse(properties)
  return isJsonObject(object) ? Object.entries(object).map(([name, value]) => ({ name, value })) : []
}

const valueInWords = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** What tells an event from others of its name, in about a line. */
export function previewOf(event: Pick<EventRow, 'path' | 'properties'>): string {
  if (event.path !== null) return event.path
  let preview = ''
  for (const { name, value } of readProperties(event)) {
    if (preview.length > PREVIEW_CHARACTERS) break
    preview += `${preview === '' ? '' : ', '}${name}: ${valueInWords(value).slice(0, PREVIEW_CHARACTERS)}`
  }
  return preview.slice(0, PREVIEW_CHARACTERS + 1)
}
