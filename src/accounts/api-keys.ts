import type { KeyScope } from '../store/types.ts'
import { randomBase62, toBase62, type RandomBytes } from '../core/base62.ts'

/** What a key may do: `standard` is what the specification gives every key; the others are the owner's choice. */
export const KEY_SCOPES = ['standard', 'ingest', 'manage'] as const satisfies readonly KeyScope[]

/** How every key begins. */
const KEY_PREFIX = 'mc_'

const RANDOM_LENGTH = 30
const CHECKSUM_LENGTH = 6
const CHECKED_LENGTH = KEY_PREFIX.length + RANDOM_LENGTH
const KEY_LENGTH = CHECKED_LENGTH + CHECKSUM_LENGTH

/**
 * A new key's text, of which only `hashApiKey` is ever stored: `mc_`, 30 random base62 characters (178 bits),
 * and 6 base62 characters of the CRC-32 (as in zlib) of the 33 ASCII bytes before them, prefix included. `random` is
 * asked for bytes and answers that many.
 */
export function makeApiKey(random?: RandomBytes): string {
  const checked = KEY_PREFIX + randomBase62(RANDOM_LENGTH, random)
  return checked + checksumOf(checked)
}

/**
 * Whether a text could be a key: length, prefix, alphabet and checksum. Tells a guess or a slip of the hand from a key
 * without a look into the store; a right shape says nothing about whether the key exists. The checksum is no secret, so
 * the comparison need not take constant time.
 */
export function hasApiKeyShape(text: string): boolean {
  if (text.length !== KEY_LENGTH || !text.startsWith(KEY_PREFIX)) return false
  for (let i = KEY_PREFIX.length; i < KEY_LENGTH; i++) if (!isBase62Code(text.charCodeAt(i))) return false
  return text.endsWith(checksumOf(text.slice(0, CHECKED_LENGTH)))
}

/**
 * The key as it is stored and looked up: its SHA-256 in base64url, 43 characters without padding. A text, because bytes
 * are no key of a Map; base64url, because it is the cheapest (measured: 0.12 us; hex 0.21, node:crypto 0.44). A key has
 * 178 bits, so a slow hash would add nothing.
 */
export const hashApiKey = (text: string): string => Bun.SHA256.hash(text, 'base64url')

/**
 * The token of an `Authorization: Bearer` header, or null where there is no such thing. The scheme's case does
 * not matter, one space or more follow it, and nothing may follow the token (RFC 9110, 11.4; RFC 6750, 2.1).
 */
export const readBearer = (header: string | null): string | null =>
  header !== null && BEARER.test(header) ? header.slice(header.lastIndexOf(' ') + 1) : null

const BEARER = /^bearer +[\w.~+/-]+=*$/i

const checksumOf = (checked: string): string => toBase62(Bun.hash.crc32(checked), CHECKSUM_LENGTH)

const isBase62Code = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
