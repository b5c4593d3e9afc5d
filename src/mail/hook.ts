/** What the webhooks of email providers have in common. */
import { timingSafeEqual } from 'node:crypto'
import { DAY_MS, MINUTE_MS } from '../core/clock.ts'
import { type Refusal, refuse } from '../core/refusals.ts'
import { cleanText, cutText } from '../core/visible-text.ts'
import type { ReportKind } from '../store/delivery-reports.ts'

/** `token`: the last part of the webhook's URL; empty without one. `secret`: of the app, for this provider. */
export type HookRequest = {
  bytes: Uint8Array
  header: (name: string) => string
  token: string
  secret: string
  at: number
}

/** `delivery`: the delivery's ID, or the Message-ID of its email. */
export type ProviderReport = { delivery: string; kind: ReportKind; reason: string }

export type Hooks = {
  /** In sentences: what does not match, then what is signed and with which secret. */
  wrong: string
  signed: string
  /** What a signed webhook has and this one lacks, such as a header. */
  listMissing(request: Pick<HookRequest, 'bytes' | 'header' | 'token'>): string[]
  verify(request: HookRequest): Refusal | null
  /** Reports of other kinds are left out. `body`: an object or a list. */
  read(body: unknown): ProviderReport[]
}

/** Not as strict as for our own API: Postmark's IDs are larger than numbers of JavaScript. Null: neither object nor list. */
export function readJson(bytes: Uint8Array): object | null {
  try {
    const body: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return typeof body === 'object' ? body : null
  } catch {
    return null
  }
}

/** Without revealing how much of it is right. */
export const isSame = (given: string, secret: string): boolean => timingSafeEqual(hash(given), hash(secret))

const hash = (text: string): Uint8Array => new Bun.CryptoHasher('sha256').update(text).digest()

/** For providers that don't sign. */
export const OF_URL: Pick<Hooks, 'wrong' | 'signed' | 'listMissing' | 'verify'> = {
  wrong: 'The secret at the end of the URL is wrong.',
  signed:
    "This provider doesn't sign webhooks, so the URL ends with a secret. Create a new URL under Sender, Mail server.",
  listMissing: ({ token }) => (token === '' ? ['the secret at the end of the URL'] : []),
  verify: ({ token, secret }) => (isSame(token, secret) ? null : refuse('invalid_signature')),
}

export const listHeaders = (names: readonly string[], header: HookRequest['header']): string[] =>
  names.flatMap((name) => (header(name) === '' ? `the header \`${name}\`` : []))

/** The same for unknown apps, and for those without a secret. */
export function refuseSignature(
  { wrong, signed, listMissing }: Hooks,
  request: Parameters<Hooks['listMissing']>[0],
): Refusal {
  const missing = listMissing(request)
  const fault = missing.length > 0 ? `Missing: ${new Intl.ListFormat('en').format(missing)}.` : wrong
  return refuse('invalid_signature', { hint: `${fault} ${signed}` })
}

/** Allows for clock differences and stops replays. */
const HOOK_AGE_MS = 5 * MINUTE_MS

/** For providers that repeat a webhook with its first signature while they get no answer. */
export const REPEATED_AGE_MS = DAY_MS

export const SIGNATURE_EXPIRED = refuse('signature_expired', {
  message: "This webhook was signed too long ago, or in the future. Check the server's clock.",
})

/** The time is known only to those who know the secret, so its age may be revealed. */
export const verifyAge = (signedAt: number, at: number, mostMs = HOOK_AGE_MS): Refusal | null =>
  at - signedAt <= mostMs && signedAt - at <= HOOK_AGE_MS ? null : SIGNATURE_EXPIRED

/** https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html#bounce-types */
const OF_CONTENT: readonly unknown[] = ['ContentRejected', 'AttachmentRejected', 'MessageTooLarge']

/** In the terms of Amazon SES, which Resend uses too. */
export function kindOfBounce(type: unknown, subType: unknown): ReportKind {
  if (OF_CONTENT.includes(subType)) return 'blocked'
  return type === 'Transient' || type === 'Undetermined' ? 'softBounced' : 'bounced'
}

const REASON_CHARACTERS = 200

/** The provider's own words; `otherwise` if it says nothing. */
export function reasonOf(texts: readonly unknown[], otherwise: ReportKind): string {
  const words = texts.map((text) => (typeof text === 'string' ? (cleanText(text) ?? '') : ''))
  return cutText(words.find((text) => text !== '') ?? otherwise, REASON_CHARACTERS).text
}

/** What a provider says about an address on its list, in one line. */
export const reasonText = (texts: readonly unknown[]): string =>
  cutText(
    texts.flatMap((text) => (typeof text === 'string' ? (cleanText(text) ?? []) : [])).join(', '),
    REASON_CHARACTERS,
  ).text

export const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
