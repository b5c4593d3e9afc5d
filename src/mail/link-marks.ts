/**
 * Markdown is rendered from the inside out, so a link is done before it is known whether it stands alone in its
 * paragraph and becomes a button. Until then it is held between characters that no mail contains.
 */
const [START, TARGET, END] = ['\u0001', '\u0002', '\u0003']
const LINK = new RegExp(`${START}([^${START}${TARGET}${END}]*)${TARGET}([^${END}]*)${END}`, 'g')
const ONLY_LINK = new RegExp(`^${LINK.source}$`)

/** Characters that cannot be seen and must not be in a template's text: these marks among them. */
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f]/g

/** How links are written; `href` is null where the mail may not link to the target. */
export type LinkStyle = {
  inline: (text: string, href: string | null) => string
  button: (text: string, href: string | null) => string
}

export const withoutMarks = (source: string): string => source.replaceAll(/\r\n?/g, '\n').replaceAll(UNPRINTABLE, '')

export const markLink = (text: string, href: string | null): string => `${START}${text}${TARGET}${href ?? ''}${END}`

/** A paragraph that is nothing but a link becomes a button; null for any other. */
export function readButton(paragraph: string, style: LinkStyle): string | null {
  const [, text, href] = ONLY_LINK.exec(paragraph) ?? []
  return text === undefined ? null : style.button(text, href || null)
}

export const writeLinks = (text: string, style: LinkStyle): string =>
  text.replaceAll(LINK, (_, inner: string, href: string) => style.inline(inner, href || null))
