import { timingSafeEqual } from 'node:crypto'
import type { Store } from '../store/store.ts'
import type { MemberRow } from '../store/types.ts'
import { addressBucket } from './addresses.ts'
import { readEmail } from './email.ts'
import { createLimits, type Limit } from './limits.ts'
import type { Clock } from './parts.ts'
import { isPasswordOf, isPasswordQueueFull } from './passwords.ts'

/** Wrong passwords in any such time: from one address, for one email, by a member's own browsers (promises 14). */
export const SIGN_IN_LIMITS = {
  address: { max: 20, windowMs: 600_000 },
  email: { max: 50, windowMs: 3_600_000 },
  known: { max: 20, windowMs: 600_000 },
} as const satisfies Record<string, Limit>

/** Addresses and emails remembered at once, the oldest going first. */
const MOST_BUCKETS = 100_000

export type Try = {
  email: string
  password: string
  address: string
  /** what the browser was given when it signed in before */
  known: string | null
}

type Wrong = { refusal: 'wrong_password' | 'unavailable' } | { refusal: 'too_many_tries'; retryAfterSeconds: number }

export type SignIns = ReturnType<typeof createSignIns>

/**
 * Compares passwords, and no more of them than the limits let through. A browser that has signed in before is counted
 * for itself: whoever guesses can use up what an email allows, or an address that a proxy makes everybody's, and locks
 * nobody out.
 */
export function createSignIns(parts: { store: Store; clock: Clock; addressKey: string }) {
  const { store, clock, addressKey } = parts
  const tries = createLimits({ clock, mostBuckets: MOST_BUCKETS })

  /** Proves that a browser has signed in as this member. */
  const knownMark = ({ id }: MemberRow): string =>
    new Bun.CryptoHasher('sha256', addressKey).update(`known browser:${id}`).digest('hex')

  const isKnown = (member: MemberRow, mark: string | null): boolean => {
    if (mark === null || mark.length !== 64) return false
    return timingSafeEqual(Buffer.from(knownMark(member)), Buffer.from(mark))
  }

  /** Counts a try before it is compared, so that many at once are counted too. */
  const count = (buckets: [name: string, limit: Limit][]): { undo: () => void } | Wrong => {
    const taken = buckets.map(([name, limit]) => ({ name, limit, taken: tries.take(name, limit) }))
    const undo = (): void => taken.forEach(({ name, limit, taken: one }) => tries.giveBack(name, limit, one))
    const waits = taken.map((one) => one.taken.retryAfterSeconds)
    if (Math.max(...waits) === 0) return { undo }
    undo()
    return { refusal: 'too_many_tries', retryAfterSeconds: Math.max(...waits) }
  }

  /** Whether this is the password of `member`; null is somebody unknown. */
  const compare = async (member: MemberRow | null, emailKey: string, one: Try) => {
    const counted = count(
      member && isKnown(member, one.known)
        ? [[`known:${member.id}`, SIGN_IN_LIMITS.known]]
        : [
            [`address:${addressBucket(one.address)}`, SIGN_IN_LIMITS.address],
            [`email:${emailKey}`, SIGN_IN_LIMITS.email],
          ],
    )
    if ('refusal' in counted) return counted
    if (isPasswordQueueFull()) {
      counted.undo()
      return { refusal: 'unavailable' } satisfies Wrong
    }
    const isRight = await isPasswordOf(member?.passwordHash ?? null, one.password)
    if (!isRight || !member?.passwordHash) return { refusal: 'wrong_password' } satisfies Wrong
    counted.undo()
    return { member, passwordHash: member.passwordHash }
  }

  return {
    /** The member with this email and password. An unknown email takes as long and answers the same. */
    async check(one: Try) {
      const email = readEmail(one.email)?.email ?? null
      const member = email === null ? null : await store.findMember(email)
      const emailKey = Bun.SHA256.hash(email ?? one.email.slice(0, 320), 'base64url')
      return compare(member, emailKey, one)
    },
    knownMark,
  }
}
