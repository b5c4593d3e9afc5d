import { domainToASCII } from 'node:url'
import { MAX_DOMAIN_LABEL_CHARACTERS } from './field-limits.ts'

/** RFC 1035: 255 bytes on the wire. */
const MAX_DOMAIN_CHARACTERS = 253

const LABEL_REST = `(?:[a-z0-9-]{0,${MAX_DOMAIN_LABEL_CHARACTERS - 2}}[a-z0-9])?`

/** Two or more labels; the last starts with a letter, which excludes IPv4 in all its forms (127.1, 0x7f.0.0.1). */
export const DOTTED_DOMAIN = `(?:[a-z0-9]${LABEL_REST}\\.)+[a-z]${LABEL_REST}`

const DOTTED = new RegExp(`^${DOTTED_DOMAIN}$`)

/**
 * domainToASCII would decode %41, drop tabs and soft hyphens and cut at slashes. Only letters, marks, digits, hyphens
 * and dots may reach it.
 */
const FOLDABLE = /^[\p{L}\p{M}\p{Nd}.-]+$/u
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/u
const NON_ASCII_OR_PUNYCODE = /[^\0-\x7f]|(?:^|\.)xn--/

/** Returns lowercase ASCII (punycode for IDN), or null. `text` must be lowercase. */
export function foldDomain(text: string): string | null {
  if (text.length > MAX_DOMAIN_CHARACTERS) return null
  const folded = NON_ASCII_OR_PUNYCODE.test(text) ? foldInternational(text) : text
  return folded.length <= MAX_DOMAIN_CHARACTERS && DOTTED.test(folded) ? folded : null
}

const foldInternational = (text: string): string =>
  FOLDABLE.test(text) && !INVISIBLE.test(text) ? domainToASCII(text) : ''

export const LOCALHOST = 'localhost'

/** Like foldDomain; also takes `localhost` and capitals. */
export function foldHost(text: string): string | null {
  const lower = text.toLowerCase()
  return lower === LOCALHOST ? lower : foldDomain(lower)
}
