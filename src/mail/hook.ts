/** What the webhooks of email providers have in common. */
import { timingSafeEqual } from 'node:crypto'
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
  verify(request: HookRequest): Refusal | null
  /** Reports of other kinds are left out. */
  read(body: Record<string, unknown>): ProviderReport[]
}

/** Without revealing how much of it is right. */
export const isSame = (given: string, secret: string): boolean => timingSafeEqual(hash(given), hash(secret))

const hash = (text: string): Uint8Array => new Bun.CryptoHasher('sha256').update(text).digest()

/** For providers that don't sign. */
export const verifyToken = ({ token, secret }: HookRequest): Refusal | null =>
  isSame(token, secret) ? null : refuse('invalid_signature')

/** Allows for clock differences and stops replays. */
const HOOK_AGE_MS = 5 * 60_000

const OLD = refuse('signature_expired', {
  message: "This webhook was not signed within 5 minutes of this server's time. Check the server's clock.",
})

export const verifyAge = (signedAt: number, at: number): Refusal | null =>
  Math.abs(at - signedAt) <= HOOK_AGE_MS ? null : OLD

const REASON_CHARACTERS = 200

/** The provider's own words; `otherwise` if it says nothing. */
export function reasonOf(texts: readonly unknown[], otherwise: ReportKind): string {
  const words = texts.map((text) => (typeof text === 'string' ? (cleanText(text) ?? '') : ''))
  return cutText(words.find((text) => text !== '') ?? otherwise, REASON_CHARACTERS).text
}

export const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
