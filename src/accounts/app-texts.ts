/** What an app tells the readers of its emails: in their footer, and on the pages behind their links. */
import type { AppTexts } from '../store/message-types.ts'
import { byTag, directionOf, findLanguage, hintOfTag, readTag } from '../core/languages.ts'
import type { FieldError } from '../core/refusals.ts'
import { cleanText } from '../core/visible-text.ts'

export type { AppTexts }

const FOOTER = {
  reason: 'You received this email because you use {app}.',
  unsubscribe: 'Unsubscribe',
  consentReason: 'You received this email because this address was entered at {app}.',
} as const

const FAILED = {
  failedTitle: "This didn't work",
  failedLead: 'Nothing was saved. Try again in a minute.',
  retryButton: 'Try again',
} as const

const UNSUBSCRIBE = {
  askTitle: 'Unsubscribe from {app}?',
  askLead: '{app} will stop sending these emails to {email}.',
  askButton: 'Unsubscribe',
  doneTitle: "You're unsubscribed",
  doneLead: "{app} won't send any more of these emails to {email}.",
  onItsWay: 'An email that is already on its way may still arrive.',
  undoHint: 'Unsubscribed by mistake?',
  undoButton: 'Resubscribe',
  undoneTitle: "You're subscribed again",
  undoneLead: '{app} will send these emails to {email} again.',
} as const

/** Where messages have topics. */
const TOPICS = {
  topicTitle: 'Unsubscribe from {topic}?',
  topicLead: '{app} will stop sending emails about {topic} to {email}.',
  topicButton: 'Unsubscribe from {topic}',
  topicDoneTitle: "You're unsubscribed from {topic}",
  topicDoneLead: "{app} won't send any more emails about {topic} to {email}.",
  topicUndoneTitle: "You're subscribed to {topic} again",
} as const

const CHOICE = {
  allButton: 'Unsubscribe from everything',
  allDoneLead: "{app} won't send any more emails to {email}, except about your account, such as receipts.",
  choiceTitle: 'Emails about',
  choiceButton: 'Save',
  chosenTitle: 'Your choice is saved',
  chosenLead: '{app} sends emails to {email} as you chose.',
} as const

/** Of double opt-in. */
const CONFIRM = {
  confirmTitle: 'Confirm your email address',
  confirmLead: '{app} will then send emails to {email}.',
  confirmButton: 'Confirm',
  confirmedTitle: 'Your email address is confirmed',
  confirmedLead: '{app} can now send emails to {email}. You can close this page.',
  expiredTitle: 'This link has expired',
  expiredLead: '{app} can send a new one to {email}.',
  newLinkButton: 'Send a new link',
  newLinkTitle: 'Check your inbox',
  newLinkLead: 'A new link is on its way to {email}.',
  noLinkTitle: 'No email was sent',
  tooEarlyLead: 'A link was sent to {email} less than an hour ago. Check your spam folder, or try again in an hour.',
  noLinkLead: "{app} doesn't send new links. Ask {app} for help.",
  refusingTitle: 'This address gets no emails',
  refusingLead: '{app} sends no emails to {email}, so there is nothing to confirm.',
} as const

export const DEFAULT_TEXTS = { ...FOOTER, ...UNSUBSCRIBE, ...TOPICS, ...CHOICE, ...CONFIRM, ...FAILED } as const

export type TextName = keyof typeof DEFAULT_TEXTS
type FooterTextName = keyof typeof FOOTER
export type PageTextName = Exclude<TextName, FooterTextName>

const namesOf = <Name extends string>(texts: Record<Name, string>): Name[] => Object.keys(texts) as Name[]

export const TEXT_NAMES = namesOf(DEFAULT_TEXTS)
const FOOTER_NAMES = namesOf(FOOTER)
const PAGE_NAMES = {
  unsubscribe: namesOf({ ...UNSUBSCRIBE, ...TOPICS, ...CHOICE, ...FAILED }),
  confirm: namesOf({ ...CONFIRM, ...FAILED }),
}

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

/** Of the footer: of the language, or else the app's own. */
export function findFooterTexts(stored: AppTexts | null, locale: string | null): ShownTexts {
  if (stored === null) return NO_TEXTS
  const { lang, own, others } = stored
  const language = locale === null ? null : findLanguage(Object.keys(others), locale)
  return language === null
    ? { lang, texts: pick(own, FOOTER_NAMES) }
    : { lang: language, texts: pick(others[language] ?? {}, FOOTER_NAMES) }
}

export type PageTexts = ShownTexts & { lang: string }

export const DEFAULT_PAGE: PageTexts = { lang: 'en', texts: {} }

/** Of the person's language, or else the app's own. A language with texts of other places only leaves it in English. */
export function findPageTexts(
  stored: AppTexts | null,
  { page, locale, appLocale }: { page: keyof typeof PAGE_NAMES; locale: string | null; appLocale: string },
): PageTexts {
  if (stored === null) return DEFAULT_PAGE
  const names = PAGE_NAMES[page]
  const pages = Object.entries(stored.others).map(([lang, texts]) => ({ lang, texts: pick(texts, names) }))
  const written = pages.filter(({ texts }) => Object.keys(texts).length > 0)
  const languages = written.map(({ lang }) => lang)
  const language = locale === null ? null : findLanguage(languages, locale)
  const found = written.find(({ lang }) => lang === language)
  if (found) return found
  const own = pick(stored.own, names)
  return Object.keys(own).length === 0 ? DEFAULT_PAGE : { lang: stored.lang ?? appLocale, texts: own }
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

/** What a form shows. `language` empty: the app's own texts. What isn't translated is empty. */
export type TextsForm = Record<TextName, string> & { lang: string }

export const readTextsForm = (text: (name: string) => string): TextsForm => ({
  ...(Object.fromEntries(TEXT_NAMES.map((name) => [name, text(name)])) as Record<TextName, string>),
  lang: text('lang'),
})

const NOT_TRANSLATED = Object.fromEntries(TEXT_NAMES.map((name) => [name, ''])) as Record<TextName, string>

export function writeTexts(stored: AppTexts | null, language: string): TextsForm {
  const texts =
    language === ''
      ? { ...DEFAULT_TEXTS, ...stored?.own }
      : { ...NOT_TRANSLATED, ...byTag(stored?.others ?? {})[language] }
  return { ...texts, lang: stored?.lang ?? '' }
}

const MOST_CHARACTERS = 300
const MOST_BUTTON_CHARACTERS = 60
const MOST_LANGUAGES = 20

type Reading = { settings: { texts: AppTexts | null } } | { errors: FieldError[] }

/** Those that stay as the default are not stored, so that they keep up with it. */
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
    refuse(TEXT_NAMES[0] ?? '', `An app has texts in up to ${MOST_LANGUAGES} languages.`)
  if (errors.length > 0) return { errors }
  const changed = typed.filter(([name, text]) => text !== '' && text !== DEFAULT_TEXTS[name])
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
  if (text.length > most || cleanText(text) !== text) return `Enter one line of up to ${most} characters.`
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
