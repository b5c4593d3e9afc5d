/** What an app tells the readers of its emails in their footer. */
import type { AppTexts } from '../store/message-types.ts'
import { findLanguage } from '../core/languages.ts'
import { isLocale } from '../core/local-time.ts'
import type { FieldError } from '../core/refusals.ts'
import { cleanText } from '../core/visible-text.ts'

export type { AppTexts }

/** `{app}`: its name. */
export const DEFAULT_TEXTS = {
  reason: 'You received this email because you use {app}.',
  unsubscribe: 'Unsubscribe',
  consentReason: 'You received this email because this address was entered at {app}.',
} as const

export type TextName = keyof typeof DEFAULT_TEXTS
const TEXT_NAMES = Object.keys(DEFAULT_TEXTS) as TextName[]

/** What readers of one language see. `lang` null: nobody said which language that is. */
export type ShownTexts = { lang: string | null; texts: Partial<Record<TextName, string>> }

export const NO_TEXTS: ShownTexts = { lang: null, texts: {} }

/** Of the language, or else the app's own. */
export function findTexts(stored: AppTexts | null, locale: string | null): ShownTexts {
  if (stored === null) return NO_TEXTS
  const { lang, own, others } = stored
  const language = locale === null ? null : findLanguage(Object.keys(others), locale)
  return language === null ? { lang, texts: own } : { lang: language, texts: others[language] ?? {} }
}

export const sayText = ({ texts }: Pick<ShownTexts, 'texts'>, name: TextName, { app }: { app: string }): string =>
  (texts[name] ?? DEFAULT_TEXTS[name]).replaceAll('{app}', () => app)

/** What a form shows. `language` empty: the app's own texts. */
export type TextsForm = Record<TextName, string> & { lang: string }

export const readTextsForm = (text: (name: string) => string): TextsForm => ({
  ...(Object.fromEntries(TEXT_NAMES.map((name) => [name, text(name)])) as Record<TextName, string>),
  lang: text('lang'),
})

export function writeTexts(stored: AppTexts | null, language: string): TextsForm {
  const texts = language === '' ? stored?.own : stored?.others[language]
  return { ...DEFAULT_TEXTS, ...texts, lang: stored?.lang ?? '' }
}

const MOST_CHARACTERS = 300
const MOST_LANGUAGES = 20

type Reading = { settings: { texts: AppTexts | null } } | { errors: FieldError[] }

/** Those that stay as the default are not stored, so that they keep up with it. */
export function readTexts(
  form: TextsForm,
  { stored, language }: { stored: AppTexts | null; language: string },
): Reading {
  const errors: FieldError[] = []
  const refuse = (field: string, message: string): void => void errors.push({ field, code: 'invalid', message })
  const lang = form.lang.trim()
  if (lang !== '' && !isLocale(lang)) refuse('lang', 'Enter a language, such as en or de-CH.')
  const typed = TEXT_NAMES.map((name) => [name, form[name].trim()] as const)
  for (const [name, text] of typed) {
    if (text !== '' && (text.length > MOST_CHARACTERS || cleanText(text) !== text))
      refuse(name, `Enter one line of up to ${MOST_CHARACTERS} characters.`)
  }
  const { own = {}, others = {} } = stored ?? {}
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
          ? { lang: lang || null, own: texts, others }
          : { lang: stored?.lang ?? null, own, others: { ...others, [language]: texts } },
    },
  }
}

export function removeLanguage(stored: AppTexts | null, language: string): AppTexts | null {
  if (stored === null) return null
  const { [language]: _, ...others } = stored.others
  return { ...stored, others }
}
