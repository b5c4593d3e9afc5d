/** DKIM signatures (RFC 6376), relaxed/relaxed. RSA takes 0.65 ms per email and runs in Bun's thread pool. */
import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { type DkimKey, SIGNED_HEADERS } from '../accounts/dkim.ts'

/** Without the leading space, within the 78 characters of a header line. */
const SIGNATURE_CHARACTERS = 76
const NAMES_A_LINE = 5
const FOLD = '\r\n '

const signInPool = promisify(sign)

/** Parsed keys: parsing costs a fifth of signing. */
const KEYS_MAX = 100
const keys = new Map<string, KeyObject>()

/** @throws Error if it isn't an RSA key */
function readKey(pem: string): KeyObject {
  const known = keys.get(pem)
  if (known) return known
  const key = createPrivateKey(pem)
  if (key.asymmetricKeyType !== 'rsa') throw new Error("the app's DKIM key can't sign")
  if (keys.size >= KEYS_MAX) keys.clear()
  keys.set(pem, key)
  return key
}

/** For an email with CRLF line ends. @throws Error if the key can't sign */
export async function signMail(mail: { head: string; body: string }, dkim: DkimKey): Promise<string> {
  const key = readKey(dkim.key)
  const covered = findCovered(mail.head)
  const names = covered.map(({ name }) => name)
  const value = [
    `v=1; a=rsa-sha256; c=relaxed/relaxed; q=dns/txt;`,
    `d=${readTag(dkim.domain)}; s=${readTag(dkim.selector)};`,
    `bh=${hashBody(mail.body)};`,
    `h=${foldNames(names)};`,
    'b=',
  ].join(FOLD)
  const signed = [...covered.map(({ name, relaxed }) => `${name}:${relaxed}`), `dkim-signature:${relax(value)}`]
  const signature = await signInPool('sha256', Buffer.from(signed.join('\r\n')), key)
  return `DKIM-Signature: ${value}${foldSignature(signature.toString('base64'))}`
}

/** The last header of each name (RFC 6376, section 5.4.2). */
function findCovered(head: string): { name: string; relaxed: string }[] {
  const found = new Map<string, string>()
  for (const line of head.split(/\r\n(?![ \t])/)) {
    const colon = line.indexOf(':')
    found.set(line.slice(0, colon).trimEnd().toLowerCase(), line.slice(colon + 1))
  }
  return SIGNED_HEADERS.flatMap((name) => {
    const value = found.get(name)
    return value === undefined ? [] : [{ name, relaxed: relax(value) }]
  })
}

/** White space that isn't one space (RFC 6376, section 3.4). */
const WIDE_SPACE = /[ \t]{2,}|\t/g

/** RFC 6376, section 3.4.2: only spaces and tabs are white space. */
const relax = (value: string): string =>
  value.replaceAll('\r\n', '').replaceAll(WIDE_SPACE, ' ').replace(/^ /, '').replace(/ $/, '')

/** RFC 6376, section 3.4.4. */
function hashBody(body: string): string {
  const relaxed = body.replaceAll(WIDE_SPACE, ' ').replaceAll(' \r\n', '\r\n')
  let end = relaxed.endsWith(' ') ? relaxed.length - 1 : relaxed.length
  while (end >= 2 && relaxed.startsWith('\r\n', end - 2)) end -= 2
  return createHash('sha256')
    .update(end === 0 ? '' : `${relaxed.slice(0, end)}\r\n`)
    .digest('base64')
}

/** A tag's value must not begin another tag. */
function readTag(text: string): string {
  if (!/^[\w.-]+$/.test(text)) throw new Error("the app's DKIM key can't sign")
  return text
}

const foldNames = (names: string[]): string => {
  const lines: string[] = []
  for (let start = 0; start < names.length; start += NAMES_A_LINE) {
    lines.push(names.slice(start, start + NAMES_A_LINE).join(':'))
  }
  return lines.join(`:${FOLD}`)
}

/** The first line starts with `b=`. */
const foldSignature = (text: string): string => {
  const lines = [text.slice(0, SIGNATURE_CHARACTERS - 2)]
  for (let start = SIGNATURE_CHARACTERS - 2; start < text.length; start += SIGNATURE_CHARACTERS) {
    lines.push(text.slice(start, start + SIGNATURE_CHARACTERS))
  }
  return lines.join(FOLD)
}
