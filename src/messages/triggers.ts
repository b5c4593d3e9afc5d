/** Which events, actions and page views start a message. A new person or a tag is none of them. */
import { readDate } from '../core/dates.ts'
import { allHold, parseProperties, propertyOf } from './conditions.ts'
import type { Trigger } from '../store/message-types.ts'
import { isPathLike } from '../visits/paths.ts'
import type { EventRow } from '../store/types.ts'
import { PAGE_NAME } from '../store/visit-reports.ts'

/** The name that events have which may start it; null: none can. */
export function nameOfStart(trigger: Trigger): string | null {
  if ('page' in trigger) return PAGE_NAME
  return 'event' in trigger ? trigger.event : null
}

/** Emails have the values of an event, or of a call of the API. With another message, these are of the first one. */
export const hasProperties = (trigger: Trigger): boolean => 'event' in trigger || 'api' in trigger

/** A date can only start it for people who have one. */
export const mayStart = (trigger: Trigger, { fields }: { fields: Record<string, unknown> | null }): boolean =>
  !('date' in trigger) || readDate(propertyOf(fields ?? {}, trigger.date), 'UTC') !== undefined

/** `parse`: for callers that need the properties too. */
export function isStartedBy(
  trigger: Trigger,
  { name, path, properties }: Pick<EventRow, 'name' | 'path' | 'properties'>,
  parse = (): Record<string, unknown> => parseProperties(properties),
): boolean {
  if (name !== nameOfStart(trigger)) return false
  if ('page' in trigger) return path !== null && isPathLike(path, trigger.page)
  return !('event' in trigger) || trigger.where === undefined || allHold(trigger.where, parse())
}
