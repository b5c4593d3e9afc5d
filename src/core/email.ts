import { DOTTED_DOMAIN, foldDomain } from './domains.ts'
import { MAX_EMAIL_CHARACTERS, MAX_LOCAL_PART_CHARACTERS } from './field-limits.ts'

export type EmailAddress = {
  /** Identity form: trimmed, lowercase, ASCII. Emails are sent to it. */
  email: string
  shown: string
}

const LOCAL_CHARACTERS = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
const LOCAL_PART = `(?=.{1,${MAX_LOCAL_PART_CHARACTERS}}@)${LOCAL_CHARACTERS}(?:\\.${LOCAL_CHARACTERS})*`

const ASCII_EMAIL = new RegExp(`^${LOCAL_PART}@${DOTTED_DOMAIN}$`, 'i')
const PUNYCODE = /xn--/i
const LOCAL_PART_AND_AT = new RegExp(`^${LOCAL_PART}@$`, 'i')

/**
 * ASCII dot-atom, @, domain with a dot. IDN becomes punycode. Dots and plus tags stay: two spellings are two
 * people.
 */
export function readEmail(text: string): EmailAddress | null {
  const shown = text.trim()
  if (shown.length > MAX_EMAIL_CHARACTERS) return null
  // Before lowercasing, which would turn the Kelvin sign into an ASCII k.
  if (!ASCII_EMAIL.test(shown) || PUNYCODE.test(shown)) return readFoldedEmail(shown)
  return { email: shown.toLowerCase(), shown }
}

export const NOT_ASCII = 'Use only ASCII characters before the @, such as letters without accents.'

/** Whether it would be an address if all characters before the @ were ASCII. Domains can have others. */
function lacksOnlyAscii(text: string): boolean {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  const ascii = local.replaceAll(/\P{ASCII}/gu, 'x')
  return local !== ascii && readEmail(ascii + text.slice(at)) !== null
}

/** Why `readEmail` refuses a text. `otherwise`: what is said unless the only fault is a character before the @. */
export const describeInvalidEmail = (text: unknown, otherwise: string): string =>
  typeof text === 'string' && lacksOnlyAscii(text) ? NOT_ASCII : otherwise

/** Of a list with an address on each line. */
export const describeInvalidLine = (line: number, text: string): string =>
  lacksOnlyAscii(text) ? `Line ${line}: ${NOT_ASCII}` : `Line ${line} is not a complete email address.`

function readFoldedEmail(shown: string): EmailAddress | null {
  const afterAt = shown.lastIndexOf('@') + 1
  const local = shown.slice(0, afterAt)
  if (!LOCAL_PART_AND_AT.test(local)) return null
  const domain = foldDomain(shown.slice(afterAt).toLowerCase())
  if (domain === null) return null
  const email = local.toLowerCase() + domain
  return email.length <= MAX_EMAIL_CHARACTERS ? { email, shown } : null
}
