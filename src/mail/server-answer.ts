import type { SmtpServer } from '../core/mail-addresses.ts'
import { cleanText, cutText, readVisibleText } from '../core/visible-text.ts'

const LOGGED_CHARACTERS = 2_000
const READ_CHARACTERS = 4_000

const HIDDEN = '[email]'

const CODES = /^\d{3}[ -]?(?:\d\.\d{1,3}\.\d{1,3}\b)?/

/**
 * For the log: one line, cut, without emails or invisible characters. undefined when empty, or when it repeats part of
 * the password.
 */
export function readServerAnswer(response: string, login: SmtpServer['login']): string | undefined {
  // a password must not be revealed in part at the cut
  if (login !== null && repeatsPassword(response.slice(0, READ_CHARACTERS + SECRET_CHARACTERS), login)) return undefined
  const read = response.slice(0, READ_CHARACTERS)
  const [first = '', ...others] = read.split(/[\r\n]+/)
  const lines = [first.replace(/^(\d{3})-/, '$1 '), ...others.map((other) => other.replace(CODES, ''))].join(' ')
  const seen = readVisibleText(cleanText(lines) ?? '').map((piece) => ('text' in piece ? piece.text : ''))
  const words = seen
    .join('')
    .split(' ')
    .filter((word) => word !== '')
  const line = words.map((word) => (word.includes('@') ? HIDDEN : word)).join(' ')
  const { text, isCut } = cutText(line, LOGGED_CHARACTERS)
  return text === '' ? undefined : `${text}${isCut ? '\u2026' : ''}`
}

/** A shorter match could be chance. */
const PIECE_CHARACTERS = 8
const SECRET_CHARACTERS = 512

/** As typed or as sent (RFC 4616): a server may echo commands. */
function repeatsPassword(response: string, { user, password }: { user: string; password: string }): boolean {
  const sent = [password, `\0${user}\0${password}`].map((text) => Buffer.from(text).toString('base64'))
  // possibly folded or interrupted by invisible characters
  const texts = [response, response.replaceAll(/[^!-~]/g, '')]
  const isThere = (piece: string): boolean => texts.some((text) => text.includes(piece))
  return password !== '' && [password, ...sent].some((secret) => listPieces(secret).some(isThere))
}

const listPieces = (secret: string): string[] =>
  Array.from({ length: Math.max(1, Math.min(secret.length, SECRET_CHARACTERS) - PIECE_CHARACTERS + 1) }, (_, at) =>
    secret.slice(at, at + PIECE_CHARACTERS),
  )
