import type { LimitUsage } from './planned-writes.ts'
import type { AccountRules } from './account-rules.ts'
import type { CountedLimit, Refused } from './types.ts'

/** Takes from limits for what is not written, such as MCP calls, if several instances share them. */
export function createTokenWrites(usage: LimitUsage, { findFull }: Pick<AccountRules, 'findFull'>) {
  return {
    async takeToken({ limit, at }: { limit: CountedLimit; at: number }): Promise<{ done: true } | Refused> {
      const full = findFull([limit], (bucket) => usage.used.get(bucket), 1)
      if (full !== null) return { refusal: 'rate_limited', bucket: full.bucket }
      usage.count(limit, { count: 1, at })
      return { done: true }
    },
  }
}
