/** What an app tells the readers of its emails: in their footer, and on the pages behind their links. */
import type { AppTexts } from '../store/message-types.ts'
import { byTag, directionOf, findLanguage, hintOfTag, readTag } from '../core/languages.ts'
import type { FieldError } from '../core/refusals.ts'
import { isOneLine } from '../core/visible-text.ts'
import { type BuiltIn, CHOICE, CONFIRM, en, FAILED, FOOTER, type TextName, TOPICS, UNSUBSCRIBE } from './texts/en.ts'
import { findBuiltIn, isSameLanguage } from './texts/index.ts'

export type { AppTexts, TextName }

const DEFAULT_TEXTS = en.texts

type FooterTextName = keyof typeof FOOTER
export type PageTextName = Exclude<TextName, FooterTextName>

const namesOf = <Name extends string>(texts: Record<Name, string>): Name[] => Object.keys(texts) as Name[]

export const TEXT_NAMES = namesOf(DEFAULT_TEXTS)
const FOOTER_NAMES = namesOf(FOOTER)
const FAILED_NAMES = namesOf(FAILED)
const TOPIC_NAMES = namesOf({ ...TOPICS, ...CHOICE })
const isOfTopics = (name: TextName): boolean => TOPIC_NAMES.some((one) => one === name)
/** Those of no other page. */
const PAGE_NAMES = { unsubscribe: [...namesOf(UNSUBSCRIBE), ...TOPIC_NAMES], confirm: namesOf(CONFIRM) }

/** What `{app}`, `{email}` and `{topic}` stand for. `email`: partly hidden. */
type Values = { app: string; email?: string | undefined; topic?: string | undefined }

function listValues(name: TextName): (keyof Values)[] {
  if (Object.hasOwn(FOOTER, name)) return ['app']
  return Object.hasOwn(TOPICS, name) ? ['app', 'email', 'topic'] : ['app', 'email']
}

/** What readers of one language see. `lang` null: nobody said which language that is. */
export type ShownTexts = { lang: string | null; texts: Partial<Record<TextName, string>> }

export const NO_TEXTS: ShownTexts = { lang: null, texts: {} }

const pick = (texts: Record<string, string>, names: readonly TextName[]): ShownTexts['texts'] =>
  Object.fromEntries(names.flatMap((name) => (texts[name] === undefined ? [] : [[name, texts[name]]])))

const NOTHING_STORED: AppTexts = { lang: null, own: {}, others: {} }

/** Where the language has built-in texts, what isn't written in it is of the app's own texts, or else built in. */
const unwrittenTexts = (language: string, own: AppTexts['own']): Record<string, string> => {
  const builtIn = findBuiltIn(language)
  return builtIn === null ? {} : { ...builtIn.texts, ...own }
}

type Written = Pick<AppTexts, 'own' | 'others'>

/** In another language than the app's own texts, or in theirs if the app also sends emails in it. */
function textsIn(language: string, names: readonly TextName[], { own, others }: Written): ShownTexts['texts'] {
  const written = findLanguage(Object.keys(others), language)
  return pick({ ...unwrittenTexts(language, own), ...(written === null ? {} : others[written]) }, names)
}

const ownTexts = (names: readonly TextName[], { lang, own }: AppTexts): ShownTexts['texts'] =>
  pick({ ...findBuiltIn(lang)?.texts, ...own }, names)

/** Of the footer: of the language of the email's text (`locale`; null: the message's own), or else the app's own. */
export function findFooterTexts(stored: AppTexts | null, locale: string | null): ShownTexts {
  if (stored === null && locale === null) return NO_TEXTS
  const texts = stored ?? NOTHING_STORED
  const written = locale === null ? null : findLanguage(Object.keys(texts.others), locale)
  const language = written ?? (findBuiltIn(locale) === null ? null : locale)
  if (language !== null) return { lang: language, texts: textsIn(language, FOOTER_NAMES, texts) }
  return { lang: texts.lang, texts: ownTexts(FOOTER_NAMES, texts) }
}

export type PageTexts = ShownTexts & { lang: string }

export const DEFAULT_PAGE: PageTexts = { lang: 'en', texts: {} }

const isWritten = (texts: Record<string, string>, names: readonly TextName[]): boolean =>
  names.some((name) => texts[name] !== undefined)

/**
 * Of the person's language, or else the app's own. `mailLanguages`: in which the app also sends emails, so that its pages
 * follow them with built-in texts, as they do in languages with texts of other places only.
 */
export function findPageTexts(
  stored: AppTexts | null,
  {
    page,
    locale,
    appLocale,
    mailLanguages,
  }: { page: keyof typeof PAGE_NAMES; locale: string | null; appLocale: string; mailLanguages: readonly string[] },
): PageTexts {
  const own = stored ?? NOTHING_STORED
  const { lang, others } = own
  const names = [...PAGE_NAMES[page], ...FAILED_NAMES]
  const written = Object.keys(others).filter((one) => isWritten(others[one] ?? {}, PAGE_NAMES[page]))
  const language = locale === null ? null : findLanguage(written, locale)
  if (language !== null) return { lang: language, texts: textsIn(language, names, own) }
  const builtIn = [...Object.keys(others), ...mailLanguages].filter((one) => findBuiltIn(one) !== null)
  const unwritten = locale === null ? null : findLanguage(builtIn, locale)
  const ownLanguage = lang ?? appLocale
  if (unwritten !== null) {
    const isOwn = names.every((name) => isOfTopics(name) || own.own[name] !== undefined)
    return { lang: isOwn ? ownLanguage : unwritten, texts: textsIn(unwritten, names, own) }
  }
  if (!isWritten(own.own, PAGE_NAMES[page]) && findBuiltIn(lang) === null) return DEFAULT_PAGE
  return { lang: ownLanguage, texts: ownTexts(names, own) }
}

export const sayText = ({ texts }: Pick<ShownTexts, 'texts'>, name: TextName, values: Values): string =>
  (texts[name] ?? DEFAULT_TEXTS[name]).replaceAll(PLACEHOLDER, (found, value: string) =>
    listValues(name).includes(value as keyof Values) ? (values[value as keyof Values] ?? found) : found,
  )

const PLACEHOLDER = /\{([^{}]*)\}/g

/** Names that end with a sign stay whole in a text that is written from right to left (Unicode TR9). */
export function sayPageText({ lang, texts }: PageTexts, name: PageTextName, values: Values): string {
  if (directionOf(lang) === 'ltr') return sayText({ texts }, name, values)
  const isolated = Object.entries(values).map(([value, text]) => [value, text && `\u2068${text}\u2069`])
  return sayText({ texts }, name, Object.fromEntries(isolated))
}

export const listLanguages = (stored: AppTexts | null): string[] => Object.keys(byTag(stored?.others ?? {}))

/** What a form shows. `language` empty: the app's own texts. What is neither written nor built in is empty. */
export type TextsForm = Record<TextName, string> & { lang: string }

export const readTextsForm = (text: (name: string) => string): TextsForm => ({
  ...(Object.fromEntries(TEXT_NAMES.map((name) => [name, text(name)])) as Record<TextName, string>),
  lang: text('lang'),
})

const NOT_TRANSLATED = Object.fromEntries(TEXT_NAMES.map((name) => [name, ''])) as Record<TextName, string>

/** What an empty text is instead. `own`: the app's own texts, if it is one of another language. */
export const defaultTexts = (lang: string | null, own: AppTexts['own'] = {}): BuiltIn['texts'] => {
  const builtIn = findBuiltIn(lang)
  return builtIn === null ? DEFAULT_TEXTS : { ...builtIn.texts, ...own }
}

export function writeTexts(stored: AppTexts | null, language: string): TextsForm {
  const texts =
    language === ''
      ? { ...defaultTexts(stored?.lang ?? null), ...stored?.own }
      : { ...NOT_TRANSLATED, ...unwrittenTexts(language, stored?.own ?? {}), ...byTag(stored?.others ?? {})[language] }
  return { ...texts, lang: stored?.lang ?? '' }
}

/** A page, or the footer: how many of its texts are in its language, whether the others are in English, or the app's own. */
export type TextCount = { place: keyof typeof PAGE_NAMES | 'footer'; count: number; all: number; rest: 'en' | 'own' }

/** `appLocale`: the language of the app's own texts, if it has said no other. */
type Counted = { hasTopics: boolean; appLocale: string }

/** `language` empty: of the app's own texts. `hasTopics`: without them, nobody sees the texts about topics. */
export function countTexts(stored: AppTexts | null, language: string, { hasTopics, appLocale }: Counted): TextCount[] {
  const { lang: ownLang, own, others: translated } = stored ?? NOTHING_STORED
  const lang = language === '' ? ownLang : language
  if (lang === null) return []
  const isBuiltIn = findBuiltIn(lang) !== null
  if (isBuiltIn && (language === '' || isSameLanguage(language, ownLang ?? appLocale))) return []
  const written = language === '' ? own : (byTag(translated)[language] ?? {})
  const texts = isBuiltIn ? { ...withoutOwn(own), ...written } : written
  const isSeen = (name: TextName): boolean => hasTopics || !isOfTopics(name)
  const places = [
    { place: 'footer', names: FOOTER_NAMES, others: [] },
    { place: 'unsubscribe', names: PAGE_NAMES.unsubscribe.filter(isSeen), others: FAILED_NAMES },
    { place: 'confirm', names: PAGE_NAMES.confirm, others: FAILED_NAMES },
  ] as const
  return places.map(({ place, names, others }) => {
    const all = [...names, ...others]
    const count = isWritten(texts, names) ? Object.keys(pick(texts, all)).length : 0
    return { place, count, all: all.length, rest: isBuiltIn ? 'own' : 'en' }
  })
}

const withoutOwn = (own: AppTexts['own']): ShownTexts['texts'] =>
  pick(
    DEFAULT_TEXTS,
    TEXT_NAMES.filter((name) => own[name] === undefined),
  )

const PLACES: Record<TextCount['place'], string> = {
  footer: 'The email footer',
  unsubscribe: 'The unsubscribe page',
  confirm: 'The page to confirm an address',
}

const RESTS: Record<TextCount['rest'], string> = { en: 'in English', own: 'your own texts under Default' }

export const describeCount = ({ place, count, all, rest }: TextCount): string =>
  `${PLACES[place]} has ${count} of ${all} texts; the rest are ${RESTS[rest]}.`

export const isMixed = ({ count, all }: TextCount): boolean => count > 0 && count < all

/** Of those in which the app sends emails: where its own texts stand beside built-in ones in another language. */
export const listMixed = (stored: AppTexts | null, counted: Counted, mailLanguages: readonly string[]): string[] =>
  mailLanguages.filter(
    (language) =>
      findLanguage(Object.keys(stored?.others ?? {}), language) === null &&
      findBuiltIn(language) !== null &&
      countTexts(stored, language, counted).some(isMixed),
  )

const MOST_CHARACTERS = 300
const MOST_BUTTON_CHARACTERS = 60
const MOST_LANGUAGES = 20

type Reading = { settings: { texts: AppTexts | null } } | { errors: FieldError[] }

/** Those that stay as the default, of the language before or after, are not stored, so that they keep up with it. */
export function readTexts(
  form: TextsForm,
  { stored, language }: { stored: AppTexts | null; language: string },
): Reading {
  const errors: FieldError[] = []
  const refuse = (field: string, message: string): void => void errors.push({ field, code: 'invalid', message })
  const lang = readTag(form.lang)
  if (lang === null && form.lang.trim() !== '')
    refuse('lang', `Enter a language, such as en or de-CH.${hintOfTag(form.lang)}`)
  const typed = TEXT_NAMES.map((name) => [name, form[name].trim()] as const)
  for (const [name, text] of typed) {
    const fault = text === '' ? null : findFault(name, text)
    if (fault !== null) refuse(name, fault)
  }
  const [own, others] = [stored?.own ?? {}, byTag(stored?.others ?? {})]
  const isNew = language !== '' && !Object.hasOwn(others, language)
  if (isNew && Object.keys(others).length >= MOST_LANGUAGES)
    refuse(TEXT_NAMES[0] ?? '', `An app can have texts in up to ${MOST_LANGUAGES} languages.`)
  if (errors.length > 0) return { errors }
  const defaults =
    language === '' ? [stored?.lang ?? null, lang].map((one) => defaultTexts(one)) : [defaultTexts(language, own)]
  const changed = typed.filter(([name, text]) => text !== '' && !defaults.some((one) => one[name] === text))
  const texts = Object.fromEntries(changed)
  return {
    settings: {
      texts:
        language === ''
          ? { lang, own: texts, others }
          : { lang: stored?.lang ?? null, own, others: { ...others, [language]: texts } },
    },
  }
}

function findFault(name: TextName, text: string): string | null {
  const most = name.endsWith('Button') ? MOST_BUTTON_CHARACTERS : MOST_CHARACTERS
  if (text.length > most || !isOneLine(text)) return `Enter one line of up to ${most} characters.`
  const known = listValues(name).map((value) => `{${value}}`)
  const unknown = text.match(PLACEHOLDER)?.find((found) => !known.includes(found))
  return unknown === undefined ? null : `${unknown} has no value here. Use ${joinOr(known)}, or remove the braces.`
}

const joinOr = (all: string[]): string => new Intl.ListFormat('en', { type: 'disjunction' }).format(all)

export function removeLanguage(stored: AppTexts | null, language: string): AppTexts | null {
  if (stored === null) return null
  const { [language]: _, ...others } = byTag(stored.others)
  return { ...stored, others }
}
