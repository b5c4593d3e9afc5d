/** Language tags (RFC 5646), such as de or de-CH. */
import { isLocale } from './local-time.ts'

/** The field of a person that says their language. */
const LANGUAGE_FIELD = 'locale'

export function localeOf(fields: Readonly<Record<string, unknown>> | null): string | null {
  const locale = fields?.[LANGUAGE_FIELD]
  return typeof locale === 'string' ? locale : null
}

/** In its canonical form: pt-br is pt-BR. Null: no known language. */
export function readTag(text: string): string | null {
  const tag = text.trim()
  return isLocale(tag) ? (Intl.getCanonicalLocales(tag)[0] ?? null) : null
}

/** Programs write de-CH, de_CH and de_ch, and some write older tags. */
function foldTag(text: string): string {
  const tag = text.trim().replaceAll('_', '-')
  return (readTag(tag) ?? tag).toLowerCase()
}

/** The one that is the same language, in whatever form. */
export function findTag(languages: readonly string[], tag: string): string | undefined {
  const folded = foldTag(tag)
  return languages.find((language) => foldTag(language) === folded)
}

/** By canonical tags. If a language is there in several forms, its first text counts, as in `findLanguage`. */
export function byTag<Text>(texts: Readonly<Record<string, Text>>): Record<string, Text> {
  const found = new Map<string, Text>()
  for (const [name, text] of Object.entries(texts)) {
    const tag = readTag(name) ?? name
    if (!found.has(tag)) found.set(tag, text)
  }
  return Object.fromEntries(found)
}

/** The longest that the locale begins with (RFC 4647, section 3.4). */
export function findLanguage(languages: readonly string[], locale: string): string | null {
  const parts = foldTag(locale).split('-')
  const tags = parts.map((_, index) => parts.slice(0, parts.length - index).join('-'))
  const found = tags.map((tag) => languages.find((language) => foldTag(language) === tag))
  return found.find((language) => language !== undefined) ?? null
}

const RIGHT_TO_LEFT = ['Adlm', 'Arab', 'Hebr', 'Nkoo', 'Rohg', 'Syrc', 'Thaa']

const isRightToLeft = (tag: string): boolean =>
  isLocale(tag) && RIGHT_TO_LEFT.includes(new Intl.Locale(tag).maximize().script ?? '')

/** Finding one takes a tenth of the time of an email. */
const DIRECTIONS_MAX = 500
const directions = new Map<string, 'ltr' | 'rtl'>()

export function directionOf(tag: string): 'ltr' | 'rtl' {
  const known = directions.get(tag)
  if (known) return known
  if (directions.size >= DIRECTIONS_MAX) directions.clear()
  const direction = isRightToLeft(tag) ? 'rtl' : 'ltr'
  directions.set(tag, direction)
  return direction
}

/** "German (de)" */
export function nameLanguage(tag: string): string {
  const name = isLocale(tag) ? new Intl.DisplayNames('en', { type: 'language' }).of(tag) : undefined
  return name === undefined || name === tag ? tag : `${name} (${tag})`
}
