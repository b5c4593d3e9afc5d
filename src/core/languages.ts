/** Language tags (RFC 5646), such as de or de-CH. */
import { isLocale } from './local-time.ts'

/** The field of a person that says their language. */
const LANGUAGE_FIELD = 'locale'

export function localeOf(fields: Readonly<Record<string, unknown>> | null): string | null {
  const locale = fields?.[LANGUAGE_FIELD]
  return typeof locale === 'string' ? locale : null
}

/** The longest tag that is read, and its most subtags. */
const MOST_CHARACTERS = 35
const MOST_SUBTAGS = 8

/** Extensions and private use follow a subtag of one character. */
const SINGLETON = /(?:^|-)[a-z0-9]-/i

/** In its canonical form: pt-br is pt-BR. Null: no known language, or one with extensions such as -u-. */
export function readTag(text: string): string | null {
  const tag = findCanonical(text.trim())
  return tag === null || SINGLETON.test(tag) ? null : tag
}

/** A hint to append to the error about an invalid tag. */
export const hintOfTag = (text: string): string =>
  SINGLETON.test(findCanonical(text.trim()) ?? '') ? ' Leave out extensions such as -u- and -x-.' : ''

const findCanonical = (tag: string): string | null =>
  tag.length <= MOST_CHARACTERS && isLocale(tag) ? (Intl.getCanonicalLocales(tag)[0] ?? null) : null

/** Finding one takes 20 times as long as looking it up. */
const FOLDED_MAX = 500
const folded = new Map<string, string>()

/** Programs write de-CH, de_CH and de_ch, and some write older tags. Also with extensions. */
function foldTag(text: string): string {
  const known = folded.get(text)
  if (known !== undefined) return known
  const tag = text.trim().replaceAll('_', '-')
  const found = (findCanonical(tag) ?? tag).toLowerCase()
  if (text.length > MOST_CHARACTERS) return found
  if (folded.size >= FOLDED_MAX) folded.clear()
  folded.set(text, found)
  return found
}

/** de for de-CH, and for deu. */
export const languageOf = (tag: string): string => foldTag(tag).split('-', 1)[0] ?? ''

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
  const tags = languages.map(foldTag)
  for (let tag = foldTag(shorten(locale)); tag !== ''; tag = tag.slice(0, Math.max(0, tag.lastIndexOf('-')))) {
    const found = languages[tags.indexOf(tag)]
    if (found !== undefined) return found
  }
  return null
}

/** Whole subtags: no language needs more, and each takes time. */
function shorten(locale: string): string {
  const text = locale.trim()
  const subtags = text.slice(0, MOST_CHARACTERS + 1).split(/[-_]/)
  const most = text.length > MOST_CHARACTERS ? subtags.length - 1 : subtags.length
  return subtags.slice(0, Math.min(most, MOST_SUBTAGS)).join('-')
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
  const name = findName(tag, new Intl.DisplayNames('en', { type: 'language' }))
  return name === tag ? tag : `${name} (${tag})`
}

/** The tag itself if it has no name, as those with extensions, which 0.1.0 saved. */
export function findName(tag: string, names: Intl.DisplayNames): string {
  const read = readTag(tag)
  return read === null ? tag : (names.of(read) ?? tag)
}
