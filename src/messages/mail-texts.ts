/** The templates that a message's email is made from, in the language of its person. */
import { findLanguage, findTag, localeOf } from '../core/languages.ts'
import type { Mail, MailText } from '../store/message-types.ts'
import type { ContactRow } from '../store/types.ts'

/** In the order of the editor. */
export const PARTS = ['subject', 'preheader', 'body', 'html'] as const
export type Part = (typeof PARTS)[number]

export type MailTexts = Record<Part, string>

type Unfinished = { [part in Part]?: string | undefined }

/** Without HTML of its own, the email is made from the body; otherwise the body is its plain text. */
export const writeTexts = ({ subject = '', preheader = '', body = '', html = '' }: Unfinished): MailTexts => ({
  subject,
  preheader,
  body,
  html: html.replaceAll(LIQUID, (liquid) => liquid.replaceAll(ENTITY, (entity) => ENTITIES.get(entity) ?? entity)),
})

/** Programs that write HTML, such as React Email, escape the quotes of a fallback. */
const LIQUID = /\{\{[^{}]*\}\}|\{%[^{}%]*%\}/g
const ENTITY = /&(?:quot|amp|lt|gt|apos|#39|#x27);/g
const ENTITIES = new Map([
  ['&quot;', '"'],
  ['&apos;', "'"],
  ['&#39;', "'"],
  ['&#x27;', "'"],
  ['&amp;', '&'],
  ['&lt;', '<'],
  ['&gt;', '>'],
])

type Someone = Pick<ContactRow, 'fields'>
type Variants = Pick<Mail, 'variants'>

/** The variant for a person: of exactly their locale, else of its language; null: the message's own text. */
export function findVariant({ variants = {} }: Variants, { fields }: Someone): string | null {
  const locale = localeOf(fields)
  return locale === null ? null : findLanguage(Object.keys(variants), locale)
}

/** In previews: the message's own text. */
export const OWN_TEXT = 'own'

/** For previews: the asked one, if the message has it; else that of the person. */
export function chooseVariant(mail: Variants, asked: string | undefined, someone: Someone): string | null {
  if (asked === OWN_TEXT) return null
  const found = asked === undefined ? undefined : findTag(Object.keys(mail.variants ?? {}), asked)
  return found ?? findVariant(mail, someone)
}

/** The text of a variant, or the message's own. */
export const textOf = (mail: Mail, variant: string | null): MailText =>
  (variant === null ? undefined : mail.variants?.[variant]) ?? mail

/** The message's own text first. `path`: where its fields are. */
export const listTexts = <Text extends Unfinished>(
  mail: Text & { variants?: Record<string, Text> | undefined },
): { variant: string | null; path: string; text: Text }[] => [
  { variant: null, path: 'mail', text: mail },
  ...Object.entries(mail.variants ?? {}).map(([variant, text]) => ({
    variant,
    path: `mail.variants.${variant}`,
    text,
  })),
]
