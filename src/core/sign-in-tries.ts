import { timingSafeEqual } from 'node:crypto'
import type { MemberRow } from '../store/types.ts'
import { createLimits, type Limit } from './limits.ts'
import type { Clock } from './parts.ts'

/**
 * Wrong passwords in any such time: from one address, for one email, by a member's own browsers (promises 14). And wrong
 * codes of one member, from whoever has the password already: three of a million are right at a time, so 40 a day find
 * one within a year with a chance of 4 in 100. No address is counted for codes: whatever one lets through, 40 a day are
 * fewer, and its other people would wait.
 */
export const SIGN_IN_LIMITS = {
  address: { max: 20, windowMs: 600_000 },
  email: { max: 50, windowMs: 3_600_000 },
  known: { max: 20, windowMs: 600_000 },
  code: { max: 40, windowMs: 24 * 3_600_000 },
} as const satisfies Record<string, Limit>

/** Addresses and emails remembered at once, the oldest going first. */
const MOST_BUCKETS = 100_000

/** `isKnown`: counted were the tries of browsers that this member has signed in with. */
export type TooMany = { refusal: 'too_many_tries'; retryAfterSeconds: number; isKnown: boolean }
type Bucket = [name: string, limit: Limit]

export type SignInTries = ReturnType<typeof createSignInTries>

/**
 * Counts what is tried, and lets no more of it through than the limits. A browser that has signed in before is counted
 * for itself: whoever guesses can use up what an email allows, or an address that a proxy makes everybody's, and locks
 * nobody out.
 */
export function createSignInTries({ clock, addressKey }: { clock: Clock; addressKey: string }) {
  const tries = createLimits({ clock, mostBuckets: MOST_BUCKETS })

  /** Proves that a browser has signed in as this member, with the password they have now. */
  const knownMark = ({ id, passwordHash }: MemberRow): string =>
    new Bun.CryptoHasher('sha256', addressKey).update(`known browser:${id}:${passwordHash}`).digest('hex')

  const isKnown = (member: MemberRow, mark: string | null): boolean => {
    if (mark === null || mark.length !== 64) return false
    return timingSafeEqual(Buffer.from(knownMark(member)), Buffer.from(mark))
  }

  const countIn = (buckets: Bucket[]): { undo: () => void } | { retryAfterSeconds: number } => {
    const taken = buckets.map(([name, limit]) => ({ name, limit, taken: tries.take(name, limit) }))
    const undo = (): void => taken.forEach(({ name, limit, taken: one }) => tries.giveBack(name, limit, one))
    const waits = taken.map((one) => one.taken.retryAfterSeconds)
    if (Math.max(...waits) === 0) return { undo }
    undo()
    return { retryAfterSeconds: Math.max(...waits) }
  }

  return {
    knownMark,
    /**
     * Counts a try before it is compared, so that many at once are counted too. `own` is for a browser that is known as
     * the member's, by the mark that it was given when it signed in before; `any` for all others.
     */
    count(
      member: MemberRow | null,
      mark: string | null,
      { own, any }: { own: Bucket; any: Bucket[] },
    ): { undo: () => void } | TooMany {
      const isOwn = member !== null && isKnown(member, mark)
      const counted = countIn(isOwn ? [own] : any)
      return 'undo' in counted ? counted : { refusal: 'too_many_tries', ...counted, isKnown: isOwn }
    },
  }
}
