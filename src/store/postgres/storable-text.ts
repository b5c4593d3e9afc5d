import type { SqlValue } from '../engine/sql.ts'

const REPLACEMENT = '\u{FFFD}'
/** Also of JSON in JSON, which has more backslashes. */
const MAY_ESCAPE = /\\u(?:0000|d[89a-f])/i

/** PostgreSQL has no NUL and no half of a surrogate pair, in texts and escaped in JSON. They are stored as U+FFFD. */
export function toStorable<Value extends SqlValue>(value: Value): Value
export function toStorable(value: SqlValue): SqlValue {
  if (typeof value !== 'string') return value
  const text = value.includes('\0') || !value.isWellFormed() ? toPlain(value) : value
  return MAY_ESCAPE.test(text) ? toStorableJson(text) : text
}

const toPlain = (text: string): string => text.toWellFormed().replaceAll('\0', REPLACEMENT)

/** A text that is no JSON only looks as if it had escapes. */
function toStorableJson(text: string): string {
  if (!/^[[{"]/.test(text)) return text
  try {
    return JSON.stringify(mapTexts(JSON.parse(text)))
  } catch {
    return text
  }
}

function mapTexts(value: unknown): unknown {
  if (typeof value === 'string') return toStorable(value)
  if (Array.isArray(value)) return value.map(mapTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [toPlain(name), mapTexts(one)]))
}
