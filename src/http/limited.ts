import type { Clock } from '../core/clock.ts'
import type { Limits } from '../accounts/limits.ts'
import type { Access } from '../accounts/access.ts'
import type { Refusal } from '../core/refusals.ts'
import { factsOf } from './request-facts.ts'
import { peekForKey, type TakenFor } from '../accounts/write-limits.ts'
import { type LimitedWrite } from '../accounts/plans.ts'
import { refusalAnswer } from './answers.ts'

type Dependencies = { limits: Limits; clock: Clock; addressKey: string }

export function uncountedAnswer(deps: Dependencies, request: Request, write: LimitedWrite, refusal: Refusal): Response {
  const { access } = factsOf(request)
  // a response names only one limit, and this one names the abuse limit
  if (!access || refusal.refusal === 'rate_limited') return refusalAnswer(request, refusal)
  return refusalAnswer(request, refusal, remainingHeaders(deps, write, access))
}

export function remainingHeaders(deps: Dependencies, write: LimitedWrite, access: Access): Record<string, string> {
  return limitHeaders(peekForKey(deps, write, access))
}

/** A lifted limit sends no headers, because no number would be correct. */
export function limitHeaders({ limit, taken }: Pick<TakenFor, 'limit' | 'taken'>): Record<string, string> {
  if (limit.max === Infinity) return {}
  return {
    'RateLimit-Limit': String(limit.max),
    'RateLimit-Remaining': String(taken.remaining),
    'RateLimit-Reset': String(taken.resetSeconds),
    'RateLimit-Policy': `${limit.max};w=${Math.ceil(limit.windowMs / 1_000)}`,
  }
}
