import type { EventRow } from '../../events/events.ts'
import { isJsonObject } from '../../core/json.ts'

/** Labels of built-in events. */
const OWN_NAMES = new Map<string, string>(Object.entries({ $page: 'Page view', $test: 'Test event' }))

export const describeEventName = (name: string): string => OWN_NAMES.get(name) ?? name

export const KINDS = { event: 'Event', page: 'Page view', action: 'Action' } as const
export const VIA_NAMES = { api: 'API', browser: 'Browser', mcp: 'MCP', import: 'Import' } as const

/** Length of the properties in a list row. */
const PREVIEW_CHARACTERS = 160

export type Property = { name: string; value: unknown }

/** Null if there are none. */
export function readProperties({ properties }: Pick<EventRow, 'properties'>): Property[] {
  const object: unknown = properties === null ? {} : JSON.parse(properties)
  return isJsonObject(object) ? Object.entries(object).map(([name, value]) => ({ name, value })) : []
}

const describeValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

export function previewOf(event: Pick<EventRow, 'path' | 'properties'>): string {
  if (event.path !== null) return event.path
  let preview = ''
  for (const { name, value } of readProperties(event)) {
    if (preview.length > PREVIEW_CHARACTERS) break
    preview += `${preview === '' ? '' : ', '}${name}: ${describeValue(value).slice(0, PREVIEW_CHARACTERS)}`
  }
  return preview.slice(0, PREVIEW_CHARACTERS + 1)
}
