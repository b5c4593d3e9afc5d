/** The events or people that a draft is tried on before it goes live. */
import type { FieldError } from '../core/refusals.ts'
import type { Trigger } from '../store/message-types.ts'

/**
 * `of`: recent events or people, of which `tried` were checked in time; calls of the API are checked when they come.
 * `usesValues`: the email has any.
 */
export type Tried = { tried: number; of: number; what: 'events' | 'people' | 'calls'; usesValues: boolean }

export const whatTriggers = (trigger: Trigger): Tried['what'] =>
  'event' in trigger ? 'events' : 'api' in trigger ? 'calls' : 'people'

/** Why no value could be checked; null if some were, or the email uses none. */
export function describeUntried({ of, what, usesValues }: Tried): string | null {
  return of > 0 || !usesValues || what === 'calls' ? null : `No ${what} to check yet.`
}

/** For interfaces without a checklist. */
export function warnOfUntried({ tried }: { tried: Tried | null }): FieldError[] {
  const reason = tried && describeUntried(tried)
  const message = `Values weren't checked. ${reason}`
  return reason === null ? [] : [{ field: 'mail', code: 'unchecked', message }]
}

/** Fewer are counted, because a percentage would hide how few they are. */
const WORTH_PERCENT = 100

/** "in 3 of the last 20 events". */
export function describeShare(count: number, { tried, what }: Pick<Tried, 'tried' | 'what'>): string {
  const preposition = what === 'events' ? 'in' : 'for'
  if (tried === 1) return `${preposition} the only ${what === 'events' ? 'event' : 'person'} so far`
  if (tried < WORTH_PERCENT) return `${preposition} ${count} of the last ${tried} ${what}`
  const share = count * 100 < tried ? 'less than 1' : String(Math.floor((count * 100) / tried))
  return `${preposition} ${share}% of the last ${tried} ${what}`
}
