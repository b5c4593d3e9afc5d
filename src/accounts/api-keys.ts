import type { KeyScope } from '../store/types.ts'
import { randomBase62, toBase62, type RandomBytes } from '../core/base62.ts'
import type { FieldError } from '../core/refusals.ts'

export const KEY_SCOPES = ['standard', 'ingest', 'manage'] as const satisfies readonly KeyScope[]

const KEY_PREFIX = 'mc_'

const RANDOM_LENGTH = 30
const CHECKSUM_LENGTH = 6
const CHECKED_LENGTH = KEY_PREFIX.length + RANDOM_LENGTH
const KEY_LENGTH = CHECKED_LENGTH + CHECKSUM_LENGTH

/** `mc_`, 30 random base62 characters (178 bits), and the CRC-32 of these as 6 base62 characters. */
export function makeApiKey(random?: RandomBytes): string {
  const checked = KEY_PREFIX + randomBase62(RANDOM_LENGTH, random)
  return checked + checksumOf(checked)
}

/**
 * Checks length, prefix, alphabet and checksum, so that guesses and typos never reach the store. The checksum is
 * public: no constant time needed.
 */
export function hasApiKeyShape(text: string): boolean {
  if (text.length !== KEY_LENGTH || !text.startsWith(KEY_PREFIX)) return false
  for (let i = KEY_PREFIX.length; i < KEY_LENGTH; i++) if (!isBase62Code(text.charCodeAt(i))) return false
  return text.endsWith(checksumOf(text.slice(0, CHECKED_LENGTH)))
}

/**
 * SHA-256 in base64url, the cheapest form (0.12 µs; hex 0.21, node:crypto 0.44). Keys have 178 bits, so a slow hash
 * adds nothing.
 */
export const hashApiKey = (text: string): string => Bun.SHA256.hash(text, 'base64url')

const ENDING_LENGTH = 4

/** Part of the checksum: tells keys apart, and leaves over 150 bits to guess. */
export const endingOf = (apiKey: string): string => apiKey.slice(-ENDING_LENGTH)

/** RFC 9110, 11.4 and RFC 6750, 2.1: the scheme is case-insensitive, and nothing may follow the token. */
export const readBearer = (header: string | null): string | null =>
  header !== null && BEARER.test(header) ? header.slice(header.lastIndexOf(' ') + 1) : null

const BEARER = /^bearer +[\w.~+/-]+=*$/i

const checksumOf = (checked: string): string => toBase62(Bun.hash.crc32(checked), CHECKSUM_LENGTH)

const isBase62Code = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)

const NAME_CHARACTERS = 100

const isScope = (text: string): text is KeyScope => (KEY_SCOPES as readonly string[]).includes(text)

export function readKeyInput(text: {
  name: string
  scope: string
}): { name: string; scope: KeyScope } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const name = text.name.trim()
  if (name === '' || [...name].length > NAME_CHARACTERS || /\p{Cc}/u.test(name)) {
    errors.push({ field: 'name', code: 'invalid', message: `Enter a name of 1 to ${NAME_CHARACTERS} characters.` })
  }
  if (!isScope(text.scope)) {
    errors.push({ field: 'scope', code: 'invalid', message: `Choose one of ${KEY_SCOPES.join(', ')}.` })
    return { errors }
  }
  return errors.length > 0 ? { errors } : { name, scope: text.scope }
}
