/** What the source of an email that someone received says about its sender: signatures, return path, one-click. */
import { foldDomain } from '../core/domains.ts'
import { readMailbox } from '../core/mail-addresses.ts'

/** `coversOneClick`: List-Unsubscribe and List-Unsubscribe-Post are signed (RFC 8058). */
export type SeenSignature = { domain: string; selector: string; coversOneClick: boolean }

/** `bounceDomain`: where bounces go; null: the source doesn't say. `hasOneClick`: it has both headers. */
export type SeenMail = { signatures: SeenSignature[]; bounceDomain: string | null; hasOneClick: boolean }

export type ReceivedMail = SeenMail & { domain: string }

/** Mail servers add many, and few are longer than this together. */
const MOST_CHARACTERS = 100_000
const MOST_SIGNATURES = 10

type Header = { name: string; value: string }

/** null: no email with a sender. The body is not needed. */
export function readReceivedMail(source: string): ReceivedMail | null {
  const headers = readHeaders(source.slice(0, MOST_CHARACTERS))
  const from = headers.find(({ name }) => name === 'from')?.value
  const domain = from === undefined ? null : domainOfAddress(from)
  if (domain === null) return null
  const has = (wanted: string): boolean => headers.some(({ name }) => name === wanted)
  return {
    domain,
    signatures: headers
      .filter(({ name }) => name === 'dkim-signature')
      .flatMap(({ value }) => readSignature(value) ?? [])
      .slice(0, MOST_SIGNATURES),
    bounceDomain: findBounceDomain(headers),
    hasOneClick: has('list-unsubscribe') && has('list-unsubscribe-post'),
  }
}

/** Unfolded (RFC 5322, section 2.2.3), up to the first empty line. */
function readHeaders(source: string): Header[] {
  const headers: Header[] = []
  for (const line of source.trimStart().split(/\r?\n/)) {
    if (line.trim() === '') break
    const last = headers.at(-1)
    if (/^[ \t]/.test(line)) {
      if (last) last.value += ` ${line.trim()}`
      continue
    }
    const colon = line.indexOf(':')
    if (colon > 0)
      headers.push({ name: line.slice(0, colon).trim().toLowerCase(), value: line.slice(colon + 1).trim() })
  }
  return headers
}

/** Names may be encoded in any way, so only the address counts. */
function domainOfAddress(value: string): string | null {
  const start = value.lastIndexOf('<')
  const address = start < 0 ? value : value.slice(start + 1).replace(/>.*$/s, '')
  return readMailbox(address.trim())?.address.split('@')[1] ?? null
}

/** RFC 6376, section 3.5. */
function readSignature(value: string): SeenSignature | null {
  const tags = new Map<string, string>()
  for (const part of value.split(';')) {
    const equals = part.indexOf('=')
    if (equals > 0) tags.set(part.slice(0, equals).trim(), part.slice(equals + 1).replaceAll(/\s/g, ''))
  }
  const [domain, selector] = [foldDomain((tags.get('d') ?? '').toLowerCase()), (tags.get('s') ?? '').toLowerCase()]
  if (domain === null || !/^[\w.-]{1,200}$/.test(selector)) return null
  const signed = (tags.get('h') ?? '').toLowerCase().split(':')
  const coversOneClick = signed.includes('list-unsubscribe') && signed.includes('list-unsubscribe-post')
  return { domain, selector, coversOneClick }
}

/** Of an address, or of a domain alone. */
const lastPartOf = (address: string): string =>
  (address.replaceAll(/[<>"]/g, '').split('@').at(-1) ?? '').trim().toLowerCase()

/** The receiver writes it, in one or the other header. */
function findBounceDomain(headers: readonly Header[]): string | null {
  for (const { name, value } of headers) {
    const [, from] = name === 'authentication-results' ? (/\bsmtp\.mailfrom=([^\s;()]{1,300})/i.exec(value) ?? []) : []
    const address = name === 'return-path' ? value : from
    const domain = address === undefined ? null : foldDomain(lastPartOf(address))
    if (domain !== null) return domain
  }
  return null
}
