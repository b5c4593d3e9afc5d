import type { Access } from '../core/access.ts'
import type { Parts } from '../core/parts.ts'
import { type Refusal, refuse } from '../core/refusals.ts'

/** What reads a million events or sends a mail: so often in a minute, per key and tool. */
export const COSTLY_LIMIT = { max: 20, windowMs: 60_000 }

/** Takes from a key's minute. @returns rate_limited where nothing is left */
export function takeCostly({ limits }: Pick<Parts, 'limits'>, { key }: Access, tool: string): Refusal | null {
  const { allowed, retryAfterSeconds } = limits.take(`${tool}:${key.id}`, COSTLY_LIMIT)
  const limited = { scope: 'key' as const, limit: COSTLY_LIMIT.max, retryAfter: retryAfterSeconds }
  return allowed > 0 ? null : refuse('rate_limited', { limited })
}
