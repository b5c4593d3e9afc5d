/**
 * One reader for each kind of field that customers send. A reader gives the clean value.
 * What it cannot accept it adds to `errors`, gives a stand-in and lets its caller go on, so that one answer names every
 * field that fails. Readers take values as parseJsonObject gives them: whole Unicode characters, finite numbers.
 */
import { foldAddress } from './addresses.ts'
import { type EmailAddress, readEmail } from './email.ts'
import * as limits from './field-limits.ts'
import { EVENT_NAME_PATTERN, NO_CONTROL_PATTERN, TIME_PATTERN } from './field-patterns.ts'
import { listNames, quoteName } from './json.ts'
import type { FieldError, Warning } from './refusals.ts'

/** The clean input with what had no effect in it, or every field that cannot be accepted, in the schema's order. */
export type Reading<T> = { input: T; warnings: Warning[] } | { errors: FieldError[] }

export type Body = Record<string, unknown>

const EVENT_NAME = new RegExp(EVENT_NAME_PATTERN)
const NO_CONTROL = new RegExp(NO_CONTROL_PATTERN)
const TIME = new RegExp(TIME_PATTERN)
const NAME = { what: 'a name', min: 0, max: limits.MAX_NAME_CHARACTERS }
const NOBODY: EmailAddress = { email: '', shown: '' }

export function addError(errors: FieldError[], field: string, code: string, message: string): void {
  errors.push({ field, code, message })
}

/** Whether a text has more than `max` code points; the length in UTF-16 settles it for almost all. */
export const isLongerThan = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || Array.from(text).length > max)

/** What a text is called in sentences, and how many characters it may have. */
export type TextKind = { what: string; min: number; max: number }

/** Whether the value is a text of that kind, without C0, DEL or C1; otherwise adds the error. */
export function isPlainText(value: unknown, field: string, kind: TextKind, errors: FieldError[]): value is string {
  const { what, min, max } = kind
  const isString = typeof value === 'string'
  if (isString && value.length >= min && !isLongerThan(value, max) && NO_CONTROL.test(value)) return true
  const code = isString && isLongerThan(value, max) ? 'too_long' : 'invalid'
  const size = min === 0 ? `up to ${max}` : `${min} to ${max}`
  addError(errors, field, code, `Send ${what} of ${size} characters, without control characters.`)
  return false
}

/** The app ID under either of its names. `shownAs` is the one that the call's schema shows first. */
export function readAppId(body: Body, shownAs: 'app' | 'newsletter', errors: FieldError[]): string {
  const otherName = shownAs === 'app' ? 'newsletter' : 'app'
  const shown = body[shownAs]
  const other = body[otherName]
  if (shown === undefined && other === undefined) {
    addError(errors, shownAs, 'missing', `Send the app ID from the Activation screen as \`${shownAs}\`.`)
    return ''
  }
  const isShownFine = shown === undefined || isAppId(shown, shownAs, errors)
  const isOtherFine = other === undefined || isAppId(other, otherName, errors)
  if (!isShownFine || !isOtherFine) return ''
  if (shown !== undefined && other !== undefined && shown !== other)
    addError(
      errors,
      'app',
      'conflict',
      '`app` and `newsletter` are two names of one field. Send one, or the same in both.',
    )
  return shown ?? other ?? ''
}

function isAppId(value: unknown, field: string, errors: FieldError[]): value is string {
  if (typeof value === 'string' && value !== '' && !isLongerThan(value, limits.MAX_APP_ID_CHARACTERS)) return true
  addError(errors, field, 'invalid', 'Send the app ID as the Activation screen shows it.')
  return false
}

export function readAddress(value: unknown, errors: FieldError[]): EmailAddress {
  if (value === undefined) addError(errors, 'email', 'missing', "Send the person's email address.")
  const address = typeof value === 'string' ? readEmail(value) : null
  if (address === null && value !== undefined)
    addError(errors, 'email', 'invalid', 'Send one plain email address, without name, brackets or quotes.')
  return address ?? NOBODY
}

export function readEventName(value: unknown, errors: FieldError[]): string {
  if (typeof value === 'string' && EVENT_NAME.test(value)) return value
  if (value === undefined) addError(errors, 'event', 'missing', 'Send the name of the event, such as `results_ready`.')
  else if (typeof value === 'string' && value.length > limits.MAX_EVENT_NAME_CHARACTERS)
    addError(errors, 'event', 'too_long', `Send a name of 1 to ${limits.MAX_EVENT_NAME_CHARACTERS} characters.`)
  else
    addError(
      errors,
      'event',
      'invalid',
      'Send 1 to 64 of the letters A to Z and a to z, digits, `_`, `.`, `:` and `-`.',
    )
  return ''
}

/** A first or last name: undefined when absent, null when there is to be none (null or an empty string was sent). */
export function readName(value: unknown, field: string, errors: FieldError[]): string | null | undefined {
  if (value === undefined || value === null || value === '') return value === undefined ? undefined : null
  return isPlainText(value, field, NAME, errors) ? value : null
}

export function readFlag(value: unknown, field: string, errors: FieldError[]): boolean {
  if (value !== undefined && typeof value !== 'boolean') addError(errors, field, 'invalid', 'Send true or false.')
  return value === true
}

/** ISO 8601 with a timezone, as milliseconds since 1970; null when absent. `now` in the same measure. */
export function readOccurredAt(value: unknown, now: number, errors: FieldError[]): number | null {
  if (value === undefined) return null
  const at = typeof value === 'string' ? parseTime(value) : null
  if (at === null)
    addError(errors, 'occurredAt', 'invalid', 'Send an ISO 8601 time with a timezone, such as 2026-03-01T12:00:00Z.')
  else if (at < 0) addError(errors, 'occurredAt', 'invalid', 'This is before 1970. Check the unit and the year.')
  else if (at > now + limits.MAX_OCCURRED_AHEAD_MS)
    addError(errors, 'occurredAt', 'future', 'This is more than 10 minutes ahead. Check the clock and the timezone.')
  return at
}

/** Milliseconds since 1970 of an ISO 8601 time with `Z` or an offset, or null. Days that do not exist are refused. */
export function parseTime(text: string): number | null {
  const [, date = '', minutes = '', seconds = '00', fraction = '', zone = 'Z'] = TIME.exec(text) ?? []
  const local = Date.parse(`${date}T${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`)
  // Date.parse may turn February 30 into March 1 or 2.
  if (Number.isNaN(local) || !new Date(local).toISOString().startsWith(date)) return null
  if (zone === 'Z') return local
  const offsetMs = (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2))) * 60_000
  return zone.startsWith('-') ? local + offsetMs : local - offsetMs
}

/** An IP address in its one spelling: IPv4 dotted, also when it came mapped into IPv6; IPv6 as in RFC 5952. */
export function readIp(value: unknown, errors: FieldError[]): string | null {
  if (value === undefined) return null
  // a zone names an interface of the sender's own machine
  const ip = typeof value === 'string' && !value.includes('%') ? foldAddress(value) : null
  if (ip === null) addError(errors, 'ip', 'invalid', "Send the visitor's IPv4 or IPv6 address, without port or zone.")
  return ip
}

/** A warning for each field that the call does not know, up to MAX_UNKNOWN_FIELD_WARNINGS. */
export function warnOfUnknown(body: Body, known: ReadonlySet<string>): Warning[] {
  const warnings: Warning[] = []
  for (const name of Object.keys(body)) {
    if (known.has(name)) continue
    if (warnings.length === limits.MAX_UNKNOWN_FIELD_WARNINGS) break
    const message = `There is no such field here, so it was ignored. Known are ${listNames(known)}.`
    warnings.push({ field: quoteName(name), code: 'unknown_field', message })
  }
  return warnings
}

/** Whether a request names nobody's email. */
export const lacksEmail = ({ email }: Body): boolean => email === undefined || email === null || email === ''
