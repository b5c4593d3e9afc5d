/** Email addresses: who somebody is (the identity form) and how they wrote it. */
import { DOTTED_DOMAIN, foldDomain } from './domains.ts'
import { MAX_EMAIL_CHARACTERS, MAX_LOCAL_PART_CHARACTERS } from './field-limits.ts'

export type EmailAddress = {
  /** Identity: trimmed, lowercase, ASCII. Also the form that mail is sent to. */
  email: string
  /** As it was sent, but trimmed. */
  shown: string
}

const LOCAL_CHARACTERS = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
const LOCAL_PART = `(?=.{1,${MAX_LOCAL_PART_CHARACTERS}}@)${LOCAL_CHARACTERS}(?:\\.${LOCAL_CHARACTERS})*`

const ASCII_EMAIL = new RegExp(`^${LOCAL_PART}@${DOTTED_DOMAIN}$`, 'i')
const PUNYCODE = /xn--/i
const LOCAL_PART_AND_AT = new RegExp(`^${LOCAL_PART}@$`, 'i')

/** The text over which a customer's server computes the identity signature: trimmed and lowercase, nothing else. */
export const signedEmail = (text: string): string => text.trim().toLowerCase()

/**
 * Reads one address, or null when it is none: a dot-atom of ASCII before the @, a domain with a dot after it. IDN
 * domains are folded to punycode. No dot or plus folding: two spellings of a mailbox are two people.
 */
export function readEmail(text: string): EmailAddress | null {
  const shown = text.trim()
  if (shown.length > MAX_EMAIL_CHARACTERS) return null
  // Tested before lowercasing, which would make an ASCII k of the Kelvin sign and one mailbox of two.
  if (!ASCII_EMAIL.test(shown) || PUNYCODE.test(shown)) return readFoldedEmail(shown)
  return { email: shown.toLowerCase(), shown }
}

/** The slow path: IDN domains, and punycode that has yet to prove itself. */
function readFoldedEmail(shown: string): EmailAddress | null {
  const afterAt = shown.lastIndexOf('@') + 1
  const local = shown.slice(0, afterAt)
  if (!LOCAL_PART_AND_AT.test(local)) return null
  const domain = foldDomain(shown.slice(afterAt).toLowerCase())
  if (domain === null) return null
  const email = local.toLowerCase() + domain
  return email.length <= MAX_EMAIL_CHARACTERS ? { email, shown } : null
}
