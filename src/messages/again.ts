/** What `wait` and `again` of a message mean: when it is due, and for what a person gets it once. */
import { propertyOf } from '../store/conditions.ts'
import { TIMED_KEY } from '../store/delivery-states.ts'
import { nextTimeOfDay } from '../store/local-time.ts'
import type { Again, Wait } from '../store/message-types.ts'

const MINUTE_MS = 60_000
/** When something came (`at`) and when it had happened (ms UTC). */
type Came = { at: number; occurredAt: number }

/**
 * When a delivery is to be sent: so many minutes after what triggered it, or at the next such time of day; never before
 * that came (`at`).
 */
export const whenDue = (wait: Wait | undefined, { at, occurredAt }: Came, timezone: string): number =>
  Math.max(at, waitedFor(wait, occurredAt, timezone))

function waitedFor(wait: Wait | undefined, occurredAt: number, timezone: string): number {
  if (wait === undefined) return occurredAt
  return 'minutes' in wait ? occurredAt + wait.minutes * MINUTE_MS : nextTimeOfDay(occurredAt, wait.until, timezone)
}

/** Whether somebody gets a message once at all. */
export const isPerPerson = (again: Again | undefined): boolean =>
  again === undefined || ('once' in again && again.once === 'person')

/** How far apart events of one email may be, in ms; null where each is on its own. */
export const collectMsOf = (again: Again | undefined): number | null =>
  again !== undefined && 'collect' in again && again.collect ? again.collect.minutes * MINUTE_MS : null

/** For what a person gets a message once: empty for once at all, also where the event has none of the properties. */
export function onceKeyOf(again: Again | undefined, properties: () => Record<string, unknown>): string {
  if (again !== undefined && 'everyHours' in again) return TIMED_KEY
  if (again === undefined || !('property' in again)) return ''
  const value = onceValueOf(again, properties())
  return value === null ? '' : Bun.SHA256.hash(JSON.stringify(value), 'base64url').slice(0, 22)
}

/** What "once per property" goes by: the first that is present; null where none is. */
function onceValueOf({ property }: { property: string | string[] }, properties: Record<string, unknown>): unknown {
  for (const name of typeof property === 'string' ? [property] : property) {
    const value = propertyOf(properties, name)
    const counted = name === 'url' && typeof value === 'string' ? pageOf(value) : value
    if (counted !== undefined && counted !== null && counted !== '') return counted
  }
  return null
}

/**
 * The page that a URL leads to. A query and a fragment often change with every link (a token, a campaign); a fragment
 * that is a route, such as `#/results/1`, is part of the page.
 */
function pageOf(url: string): string {
  const [page = '', fragment = ''] = url.trim().split('#', 2)
  const route = /^!?\//.test(fragment) ? `#${withoutQuery(fragment)}` : ''
  return withoutQuery(page) + route
}

const withoutQuery = (text: string): string => text.split('?', 1)[0] ?? ''
