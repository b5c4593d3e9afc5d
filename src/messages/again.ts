import { MINUTE_MS } from '../core/clock.ts'
import { pageKeyOf } from '../core/urls.ts'
import { isEqual, isPlain, propertyOf } from './conditions.ts'
import { TIMED_KEY } from '../store/delivery-states.ts'
import { nextTimeOfDay } from '../core/local-time.ts'
import type { Again, Wait } from '../store/message-types.ts'

type Arrival = { at: number; occurredAt: number }

/** Minutes after the event, or the next time of day; never before its arrival (`at`). */
export const whenDue = (wait: Wait | undefined, { at, occurredAt }: Arrival, timezone: string): number =>
  Math.max(at, waitedFor(wait, occurredAt, timezone))

function waitedFor(wait: Wait | undefined, occurredAt: number, timezone: string): number {
  if (wait === undefined) return occurredAt
  return 'minutes' in wait ? occurredAt + wait.minutes * MINUTE_MS : nextTimeOfDay(occurredAt, wait.until, timezone)
}

export const isPerPerson = (again: Again | undefined): boolean =>
  again === undefined || ('once' in again && again.once === 'person')

export const isPerTrigger = (again: Again | undefined): boolean =>
  again !== undefined && 'once' in again && again.once === 'trigger'

/** How far apart events of one email may be; null: no collecting. */
export const collectMsOf = (again: Again | undefined): number | null =>
  again !== undefined && 'collect' in again && again.collect ? again.collect.minutes * MINUTE_MS : null

/**
 * The deduplication key of `once`; empty for once per person or an event without the properties. `trigger`: distinguishes
 * one trigger from another.
 */
export function dedupeKeyOf(again: Again | undefined, properties: () => Record<string, unknown>, trigger = ''): string {
  if (again !== undefined && 'everyHours' in again) return TIMED_KEY
  if (isPerTrigger(again)) return `${TRIGGER_KEY}${trigger}`
  if (again === undefined || !('property' in again)) return ''
  const value = dedupeValueOf(again, properties())
  return value === null ? '' : Bun.SHA256.hash(JSON.stringify(value), 'base64url').slice(0, 22)
}

const TRIGGER_KEY = 'trigger '

/** The part of the key that distinguishes triggers; null: the key has none. */
export const triggerOfKey = (key: string): string | null =>
  key.startsWith(TRIGGER_KEY) ? key.slice(TRIGGER_KEY.length) : null

function dedupeValueOf({ property }: { property: string | string[] }, properties: Record<string, unknown>): unknown {
  for (const name of typeof property === 'string' ? [property] : property) {
    const value = valueOf(properties, name)
    if (value !== null) return value
  }
  return null
}

/** null: it has none. URLs of the same page are the same. */
function valueOf(properties: Record<string, unknown>, name: string): unknown {
  const value = propertyOf(properties, name)
  const counted = name === 'url' && typeof value === 'string' ? pageKeyOf(value) : value
  return counted === undefined || counted === '' ? null : counted
}

/** The value by which another event is the same; null: none is. */
export function sameValueOf(properties: Record<string, unknown>, name: string): string | number | boolean | null {
  const value = valueOf(properties, name)
  return isPlain(value) ? value : null
}

export const hasValue = (
  properties: Record<string, unknown>,
  name: string,
  value: string | number | boolean,
): boolean => isEqual(valueOf(properties, name), value)
