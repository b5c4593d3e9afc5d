/** What the hourly limits add to answers. */
import type { Clock } from '../core/clock.ts'
import { rateLimitHeaders, type Limits } from '../accounts/limits.ts'
import type { Access } from '../accounts/access.ts'
import type { Refusal } from '../core/refusals.ts'
import { factsOf } from './request-facts.ts'
import { peekForKey, settleTaken, type TakenFor } from '../accounts/write-limits.ts'
import { type LimitedWrite } from '../accounts/plans.ts'
import { refusalAnswer } from './answers.ts'

/** What these functions need. */
type Parts = { limits: Limits; clock: Clock; addressKey: string }

/** The refusal of a limited call that was not counted: with what the key has left, once the key is known. */
export function uncountedAnswer(parts: Parts, request: Request, write: LimitedWrite, refusal: Refusal): Response {
  const { access } = factsOf(request)
  // the flood guard's limit is another one, and its answer must not speak of two
  if (!access || refusal.refusal === 'rate_limited') return refusalAnswer(request, refusal)
  return refusalAnswer(request, refusal, remainingHeaders(parts, write, access))
}

/** What the key has left, for an answer that was not counted. */
export function remainingHeaders(parts: Parts, write: LimitedWrite, access: Access): Record<string, string> {
  return limitHeaders(peekForKey(parts, write, access))
}

/** The headers of a call that was counted, after what was taken for nothing was given back. */
export const settleLimit = (parts: Parts, counted: TakenFor, outcome: object): Record<string, string> =>
  limitHeaders(settleTaken(parts, counted, outcome))

export const limitHeaders = ({ limit, taken }: Pick<TakenFor, 'limit' | 'taken'>): Record<string, string> =>
  rateLimitHeaders(limit, taken)
