/** What the hourly limits add to answers (api.md, Limits). */
import type { Access } from '../core/access.ts'
import { rateLimitHeaders } from '../core/limits.ts'
import type { Parts } from '../core/parts.ts'
import type { Refusal } from '../core/refusals.ts'
import { factsOf } from '../core/request-facts.ts'
import { type LimitedWrite, peekForKey, type TakenFor } from '../core/write-limits.ts'
import { refusalAnswer } from './answers.ts'

/** The refusal of a limited call that was not counted: with what the key has left, once the key is known. */
export function uncountedAnswer(parts: Parts, request: Request, write: LimitedWrite, refusal: Refusal): Response {
  const { access } = factsOf(request)
  // the flood guard's limit is another one, and its answer must not speak of two
  if (!access || refusal.refusal === 'rate_limited') return refusalAnswer(request, refusal)
  return refusalAnswer(request, refusal, remainingHeaders(parts, write, access))
}

/** What the key has left, for an answer that was not counted. */
export function remainingHeaders(parts: Parts, write: LimitedWrite, access: Access): Record<string, string> {
  const { limit, taken } = peekForKey(parts, write, access)
  return rateLimitHeaders(limit, taken)
}

/** Gives back what was taken for nothing, and answers the headers that are true then. */
export function settleLimit(parts: Parts, counted: TakenFor, outcome: object): Record<string, string> {
  const { limit, taken, buckets } = counted
  const [bucket] = buckets
  if (bucket === undefined || !isFree(outcome)) return rateLimitHeaders(limit, taken)
  parts.limits.giveBack(bucket, limit, taken)
  return rateLimitHeaders(limit, parts.limits.peek(bucket, limit))
}

/** What was written before, is refused as another request's key, or was not saved for our own fault uses up no limit. */
const isFree = (outcome: object): boolean =>
  'replayed' in outcome ||
  ('refusal' in outcome && (outcome.refusal === 'idempotency_mismatch' || outcome.refusal === 'unavailable'))
