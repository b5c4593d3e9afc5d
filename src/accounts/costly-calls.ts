import { type Clock, MINUTE_MS } from '../core/clock.ts'
import { type Refusal, refuseLimited } from '../core/refusals.ts'
import type { Access } from './access.ts'
import type { Limits } from './limits.ts'

/** Calls that read many events or send email: per key and kind, over HTTP and MCP together. */
export const COSTLY_CALL_LIMIT = { max: 20, windowMs: MINUTE_MS }

export async function takeCostly(
  { limits, clock }: { limits: Limits; clock: Clock },
  { key }: Access,
  kind: string,
): Promise<Refusal | null> {
  const { allowed, retryAfterSeconds: retryAfter } = await limits.takeAlone(`${kind}:${key.id}`, COSTLY_CALL_LIMIT)
  if (allowed > 0) return null
  const { max: limit } = COSTLY_CALL_LIMIT
  return refuseLimited({ name: 'costly_calls_per_minute', key, limit, retryAfter, at: clock.now() })
}
