import type { Access } from '../accounts/access.ts'
import type { Limits } from '../accounts/limits.ts'
import type { Clock } from '../core/clock.ts'
import { type Refusal, refuseLimited } from '../core/refusals.ts'

/** Tools that read many events or send email: per key and tool. */
export const COSTLY_LIMIT = { max: 20, windowMs: 60_000 }

/** @returns rate_limited when nothing is left */
export function takeCostly(
  { limits, clock }: { limits: Limits; clock: Clock },
  { key }: Access,
  tool: string,
): Refusal | null {
  const { allowed, retryAfterSeconds: retryAfter } = limits.take(`${tool}:${key.id}`, COSTLY_LIMIT)
  if (allowed > 0) return null
  const { max: limit } = COSTLY_LIMIT
  return refuseLimited({ name: 'mcp_tool_calls_per_minute', key, limit, retryAfter, at: clock.now() })
}
