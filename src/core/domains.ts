/** Host names as this service compares them: lowercase ASCII, by one rule for emails, links and the hosts of an app. */
import { domainToASCII } from 'node:url'
import { MAX_DOMAIN_LABEL_CHARACTERS } from './field-limits.ts'

/** RFC 1035: 255 bytes on the wire, which are 253 characters. */
const MAX_DOMAIN_CHARACTERS = 253

/** A label without its first character: up to 62 more, the last of them no hyphen. */
const LABEL_REST = `(?:[a-z0-9-]{0,${MAX_DOMAIN_LABEL_CHARACTERS - 2}}[a-z0-9])?`

/**
 * The source of a pattern, for lowercase ASCII: two or more labels, the last beginning with a letter, as every
 * top-level domain does. That also keeps IPv4 out in all its forms: 127.1, 0x7f.0.0.1, 1.2.3.0x4.
 */
export const DOTTED_DOMAIN = `(?:[a-z0-9]${LABEL_REST}\\.)+[a-z]${LABEL_REST}`

const DOTTED = new RegExp(`^${DOTTED_DOMAIN}$`)

/**
 * What domainToASCII may see. It would decode %41, drop tabs and soft hyphens, cut at slashes and take an ideographic
 * full stop for a dot, so only letters, marks, digits, hyphens and plain dots get there.
 */
const FOLDABLE = /^[\p{L}\p{M}\p{Nd}.-]+$/u
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/u
const NON_ASCII_OR_PUNYCODE = /[^\0-\x7f]|(?:^|\.)xn--/

/**
 * The ASCII form of a domain with a dot, or null when it is none. `text` is lowercase; IDN labels are folded to
 * punycode, and punycode that stands for nothing is refused.
 */
export function foldDomain(text: string): string | null {
  if (text.length > MAX_DOMAIN_CHARACTERS) return null
  const folded = NON_ASCII_OR_PUNYCODE.test(text) ? foldInternational(text) : text
  return folded.length <= MAX_DOMAIN_CHARACTERS && DOTTED.test(folded) ? folded : null
}

const foldInternational = (text: string): string =>
  FOLDABLE.test(text) && !INVISIBLE.test(text) ? domainToASCII(text) : ''

export const LOCALHOST = 'localhost'

/** The same, and `localhost` for trying things out. `text` may be in capitals. */
export function foldHost(text: string): string | null {
  const lower = text.toLowerCase()
  return lower === LOCALHOST ? lower : foldDomain(lower)
}
