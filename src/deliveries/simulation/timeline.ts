import { MAX_OCCURRED_AHEAD_MS } from '../../core/field-limits.ts'
import { comparePaths } from '../../visits/presence.ts'

/** A page view, or an event of one name: when it came (`at`) and when it happened, ms UTC. */
export type Happened = { id: number; at: number; occurredAt: number; path: string | null }

/** What somebody did, in the order in which it came and in that in which it happened. */
export type Timeline = { byArrival: Happened[]; byTime: Happened[] }

export const createTimeline = (): Timeline => ({ byArrival: [], byTime: [] })

/** After all was added, in the order of arrival. Of two views in one millisecond the last is the one that is named live. */
export function sortTimeline(timeline: Timeline): void {
  timeline.byTime = timeline.byArrival.toSorted(
    (a, b) => a.occurredAt - b.occurredAt || comparePaths(a.path ?? '', b.path ?? ''),
  )
}

/** The first that happened at `since` or later and had come by `heardUntil` (ms UTC). */
export function findFirst(
  { byTime }: Timeline,
  { since, heardUntil }: { since: number; heardUntil: number },
  isMeant: (one: Happened) => boolean,
): Happened | null {
  for (let index = firstIndex(byTime, ({ occurredAt }) => occurredAt >= since); index < byTime.length; index += 1) {
    const one = byTime[index]
    if (!one || isYetToCome(one, heardUntil)) return null
    if (one.at <= heardUntil && isMeant(one)) return one
  }
  return null
}

/** The last of these; `exceptId` is not counted. */
export function findLast(
  { byTime }: Timeline,
  { since, heardUntil }: { since: number; heardUntil: number },
  exceptId: number,
): Happened | null {
  for (let index = firstIndex(byTime, (one) => isYetToCome(one, heardUntil)) - 1; index >= 0; index -= 1) {
    const one = byTime[index]
    if (!one || one.occurredAt < since) return null
    if (one.at <= heardUntil && one.id !== exceptId) return one
  }
  return null
}

/** The first that came after what has this id, by `heardUntil` (ms UTC): ids are in the order of arrival. */
export function findArrival(
  { byArrival }: Timeline,
  { afterId, heardUntil }: { afterId: number; heardUntil: number },
  isMeant: (one: Happened) => boolean,
): Happened | null {
  for (let index = firstIndex(byArrival, ({ id }) => id > afterId); index < byArrival.length; index += 1) {
    const one = byArrival[index]
    if (!one || one.at > heardUntil) return null
    if (isMeant(one)) return one
  }
  return null
}

/** Where clocks run ahead of ours, by no more than is taken. */
const isYetToCome = ({ occurredAt }: Happened, heardUntil: number): boolean =>
  occurredAt > heardUntil + MAX_OCCURRED_AHEAD_MS

/** Of a list in which `is` holds from some place on: that place. */
export function firstIndex<T>(list: readonly T[], is: (one: T) => boolean): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const one = list[middle]
    if (one !== undefined && is(one)) high = middle
    else low = middle + 1
  }
  return low
}

/** The nearest from a place on, forwards or backwards. */
export function findFrom<T>(list: readonly T[], from: number, step: 1 | -1, is: (one: T) => boolean): T | null {
  for (let index = from; index >= 0 && index < list.length; index += step) {
    const one = list[index]
    if (one !== undefined && is(one)) return one
  }
  return null
}
