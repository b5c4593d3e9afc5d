import type { Store } from '../store/store.ts'
import type { MemberRow } from '../store/types.ts'
import { addressBucket } from './addresses.ts'
import { readEmail } from './email.ts'
import type { Clock } from './parts.ts'
import { isPasswordOf, isPasswordQueueFull } from './passwords.ts'
import { createSecondSteps } from './second-steps.ts'
import type { Proof } from './sessions.ts'
import { createSignInTries, SIGN_IN_LIMITS, type TooMany } from './sign-in-tries.ts'

/** `known` is what the browser was given when it signed in before. */
export type Try = { email: string; password: string; address: string; known: string | null }

type Wrong = { refusal: 'wrong_password' | 'unavailable' } | TooMany

export type SignIns = ReturnType<typeof createSignIns>

/** Compares passwords, and no more of them than the limits let through; then the codes of the second step. */
export function createSignIns(parts: { store: Store; clock: Clock; addressKey: string }) {
  const { store, clock } = parts
  const tries = createSignInTries(parts)

  /** Whether this is the password of `member`; null is somebody unknown. */
  const compare = async (member: MemberRow | null, emailKey: string, one: Try): Promise<Proof | Wrong> => {
    const counted = tries.count(member, one.known, {
      own: [`known:${member?.id}`, SIGN_IN_LIMITS.known],
      any: [
        [`address:${addressBucket(one.address)}`, SIGN_IN_LIMITS.address],
        [`email:${emailKey}`, SIGN_IN_LIMITS.email],
      ],
    })
    if ('refusal' in counted) return counted
    if (isPasswordQueueFull()) {
      counted.undo()
      return { refusal: 'unavailable' }
    }
    const isRight = await isPasswordOf(member?.passwordHash ?? null, one.password)
    if (!isRight || !member?.passwordHash) return { refusal: 'wrong_password' }
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
    knownMark: tries.knownMark,
    secondSteps: createSecondSteps({ store, clock, tries }),
  }
}
