/** The settings of double opt-in: whether people are asked to confirm their address, and in which words. */
import { byTag, findLanguage, localeOf } from '../core/languages.ts'
import { isOneLine } from '../core/visible-text.ts'
import type { FieldError } from '../core/refusals.ts'
import type { Mail, OptIn, OptInText, OwnOptInText } from '../store/message-types.ts'

import { en } from './texts/en.ts'
import { findBuiltIn } from './texts/index.ts'

export type { OptIn, OptInText }

/** How long a link works. */
const OPT_IN_DAYS = 7
const MOST_DAYS = 30

export const DEFAULT_TEXT = en.request

export const daysOf = (optIn: OptIn | null): number => optIn?.days ?? OPT_IN_DAYS

/**
 * The language of a person's email; null: the app's own text. `mailLanguages`: of the app's messages, which the built-in
 * text follows until the app writes its own.
 */
export function findRequestLanguage(
  optIn: OptIn,
  fields: Readonly<Record<string, unknown>> | null,
  mailLanguages: readonly string[],
): string | null {
  const locale = localeOf(fields)
  if (locale === null) return null
  return findLanguage(listLanguages(optIn), locale) ?? findLanguage(listBuiltIn(optIn, mailLanguages), locale)
}

const isBuiltIn = ({ subject, body, button }: OptIn): boolean => subject === null && body === null && button === null

const listBuiltIn = (optIn: OptIn, mailLanguages: readonly string[]): string[] =>
  isBuiltIn(optIn) ? mailLanguages.filter((language) => findBuiltIn(language) !== null) : []

/** All in which people may be asked, apart from the app's own text. */
export const listRequestLanguages = (optIn: OptIn | null, mailLanguages: readonly string[]): string[] => [
  ...listLanguages(optIn),
  ...listBuiltIn(optIn ?? NO_OPT_IN, mailLanguages),
]

export const listLanguages = (optIn: OptIn | null): string[] => Object.keys(byTag(optIn?.others ?? {}))

/** What isn't written is built in, in English if not in the language. `ownLang`: that of the app's own text, if known. */
export function textOf(optIn: OptIn | null, language: string | null = null, ownLang: string | null = null): OptInText {
  const text = language === null ? optIn : byTag(optIn?.others ?? {})[language]
  const builtIn = defaultText(language ?? ownLang)
  return {
    subject: text?.subject ?? builtIn.subject,
    body: text?.body ?? builtIn.body,
    button: text?.button ?? builtIn.button,
  }
}

const defaultText = (lang: string | null): OptInText => findBuiltIn(lang)?.request ?? DEFAULT_TEXT

/**
 * The button is a paragraph of its own, so that no text can leave out the link. Both texts are the same, so that the
 * person gets the stored wording even if their language changes meanwhile.
 */
export function writeRequest({ subject, body, button }: OptInText, language: string | null = null): Mail {
  const text = { subject, body: `${body}\n\n[${button}]({{ confirmUrl }})` }
  return { ...text, category: 'transactional', ...(language === null ? {} : { variants: { [language]: text } }) }
}

const VERSION_CHARACTERS = 12

/** The same text has the same version. */
export const versionOf = ({ subject, body, button }: OptInText): string =>
  new Bun.CryptoHasher('sha256')
    .update(JSON.stringify([subject, body, button]))
    .digest('hex')
    .slice(0, VERSION_CHARACTERS)

const LINES = ['days', 'subject', 'body', 'button'] as const

/** What the form shows. */
export type OptInForm = Record<(typeof LINES)[number], string> & { isOn: boolean; storesIp: boolean }

export const readOptInForm = (text: (name: string) => string): OptInForm => ({
  ...(Object.fromEntries(LINES.map((name) => [name, text(name)])) as Record<(typeof LINES)[number], string>),
  isOn: text('isOn') !== '',
  storesIp: text('storesIp') !== '',
})

/** `language` empty: the app's own text. */
export const writeOptIn = (optIn: OptIn | null, language = '', ownLang: string | null = null): OptInForm => ({
  ...textOf(optIn, language === '' ? null : language, ownLang),
  days: String(daysOf(optIn)),
  isOn: optIn?.isOn ?? false,
  storesIp: optIn?.storesIp ?? false,
})

const MOST_LANGUAGES = 20
const MOST_CHARACTERS = { subject: 300, body: 5_000, button: 60 } as const

const NO_OPT_IN: OptIn = { isOn: false, days: null, storesIp: false, subject: null, body: null, button: null }

type Refuse = (field: string, message: string) => null

/** What stays as the default is stored as such, so that it keeps up with it. `language`: as of `writeOptIn`. */
export function readOptIn(
  form: OptInForm,
  { stored, language, ownLang = null }: { stored: OptIn | null; language: string; ownLang?: string | null },
): { settings: { optIn: OptIn } } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const refuse: Refuse = (field, message) => {
    errors.push({ field, code: 'invalid', message })
    return null
  }
  const others = stored?.others && byTag(stored.others)
  const builtIn = defaultText(language === '' ? ownLang : language)
  const optIn = language === '' ? readOwn(form, builtIn, refuse) : { ...(stored ?? NO_OPT_IN) }
  if (others) optIn.others = others
  if (language !== '') {
    optIn.others = { ...others, [language]: readText(form, builtIn, refuse) }
    if (Object.keys(optIn.others).length > MOST_LANGUAGES)
      refuse('subject', `This email can be in up to ${MOST_LANGUAGES} languages.`)
  }
  return errors.length > 0 ? { errors } : { settings: { optIn } }
}

function readOwn(form: OptInForm, builtIn: OptInText, refuse: Refuse): OptIn {
  const days = form.days.trim()
  return {
    isOn: form.isOn,
    days: days === '' || Number(days) === OPT_IN_DAYS ? null : readDays(days, refuse),
    storesIp: form.storesIp,
    ...readText(form, builtIn, refuse),
  }
}

function readText(form: OptInForm, builtIn: OptInText, refuse: Refuse): OwnOptInText {
  const line = (name: 'subject' | 'button'): string | null => {
    const text = form[name].trim()
    if (text === '' || text === builtIn[name]) return null
    const most = MOST_CHARACTERS[name]
    const isFit = text.length <= most && isOneLine(text)
    return isFit ? text : refuse(name, `Enter one line of up to ${most} characters.`)
  }
  const subject = line('subject')
  const body = form.body.replaceAll('\r\n', '\n').trim()
  const isLong = body.length > MOST_CHARACTERS.body
  const button = line('button')
  if (isLong) refuse('body', 'Enter up to 5,000 characters.')
  if (button !== null && /[[\]\\]/.test(button)) refuse('button', 'Leave out square brackets and backslashes.')
  return { subject, body: body === '' || body === builtIn.body ? null : body, button }
}

export function removeOptInLanguage(optIn: OptIn, language: string): OptIn {
  const { [language]: _, ...others } = byTag(optIn.others ?? {})
  return { ...optIn, others }
}

function readDays(text: string, refuse: Refuse): number | null {
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0
  return days >= 1 && days <= MOST_DAYS ? days : refuse('days', `Enter a whole number from 1 to ${MOST_DAYS}.`)
}
