import { MINUTE_MS } from '../../core/clock.ts'
import type { EventRow } from '../../events/events.ts'
import { isJsonObject } from '../../core/json.ts'
import { cutText } from '../../core/visible-text.ts'

const LATE_MS = 5 * MINUTE_MS

/** Whether both times are shown, when it happened and when it arrived (ms UTC). */
export const isLate = (occurredAt: number, arrivedAt: number): boolean => arrivedAt - occurredAt >= LATE_MS

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

/** Starts with what distinguishes events of one name, without a label: the headline, and the path of the URL. */
const LEADING = ['headline', 'url']

function listPreviewed(event: Pick<EventRow, 'properties'>): string[] {
  const properties = readProperties(event)
  const leading = LEADING.flatMap((name) =>
    properties.filter((one) => one.name === name && typeof one.value === 'string'),
  )
  return [
    ...leading.map(({ value }) => pathOfUrl(describeValue(value))),
    ...properties
      .filter((one) => !leading.includes(one))
      .map(({ name, value }) => `${name}: ${cutValue(describeValue(value))}`),
  ]
}

function cutValue(value: string): string {
  const { text, isCut } = cutText(value, PREVIEW_CHARACTERS)
  return isCut ? `${text}…` : text
}

function pathOfUrl(text: string): string {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  return url === null || url.pathname === '/' ? text : `${url.pathname}${url.search}`
}

export function previewOf(event: Pick<EventRow, 'path' | 'properties'>): string {
  if (event.path !== null) return event.path
  return listPreviewed(event)
    .join(' · ')
    .slice(0, PREVIEW_CHARACTERS + 1)
}
