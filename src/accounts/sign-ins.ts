import type { Store } from '../store/store.ts'
import type { MemberRow } from '../store/types.ts'
import { addressBucket } from '../core/addresses.ts'
import { readEmail } from '../core/email.ts'
import type { Clock } from '../core/clock.ts'
import { isPasswordOf, isPasswordQueueFull } from './passwords.ts'
import { createSecondSteps } from './second-steps.ts'
import type { Proof } from './sessions.ts'
import type { SignInNotes } from './sign-in-notes.ts'
import { type Buckets, createSignInTries, SIGN_IN_DELAYS, type TooMany } from './sign-in-tries.ts'

export type PasswordTry = { email: string; password: string; address: string; known: string | null }

type Wrong = { refusal: 'wrong_password' | 'unavailable' } | TooMany

export type SignIns = ReturnType<typeof createSignIns>

/** So that guessing one account's password doesn't delay other members. */
const MOST_AT_ONCE = 20

type Dependencies = { store: Store; clock: Clock; addressKey: string; signInNotes: SignInNotes }

export function createSignIns(deps: Dependencies) {
  const { store, clock, signInNotes } = deps
  const tries = createSignInTries(deps)
  const comparing = new Map<string, number>()

  /** `work` may run or wait only within the limit; null beyond it. */
  const inTurnOf = async (accountKey: string, work: () => Promise<boolean>): Promise<boolean | null> => {
    const count = comparing.get(accountKey) ?? 0
    if (count >= MOST_AT_ONCE || isPasswordQueueFull()) return null
    comparing.set(accountKey, count + 1)
    try {
      return await work()
    } finally {
      const left = (comparing.get(accountKey) ?? 1) - 1
      if (left === 0) comparing.delete(accountKey)
      else comparing.set(accountKey, left)
    }
  }

  const bucketsOf = (accountKey: string, address: string): Buckets => {
    const from = addressBucket(address)
    return {
      own: { name: `pair:${accountKey}:${from}`, growth: SIGN_IN_DELAYS.pair },
      shared: { name: `account:${accountKey}`, growth: SIGN_IN_DELAYS.account },
      address: { name: `address:${from}`, growth: SIGN_IN_DELAYS.address },
    }
  }

  const compare = async (member: MemberRow | null, accountKey: string, one: PasswordTry): Promise<Proof | Wrong> => {
    const isKnown = tries.isKnown(member, one.known)
    const buckets = isKnown
      ? { own: { name: `known:${member?.id}`, growth: SIGN_IN_DELAYS.known } }
      : bucketsOf(accountKey, one.address)
    const begun = tries.begin(buckets)
    if ('retryAfterSeconds' in begun) {
      signInNotes.noteFailure(member, 'delayed', one.address)
      return { refusal: 'too_many_tries', ...begun, isKnown }
    }
    const isRight = await inTurnOf(isKnown ? buckets.own.name : accountKey, () =>
      isPasswordOf(member?.passwordHash ?? null, one.password),
    )
    if (isRight === null) {
      begun.undo()
      return { refusal: 'unavailable' }
    }
    if (!isRight || !member?.passwordHash) {
      signInNotes.noteFailure(member, 'wrong_password', one.address)
      return { refusal: 'wrong_password' }
    }
    begun.right()
    return { member, passwordHash: member.passwordHash }
  }

  return {
    /** An unknown email takes equally long and gets the same answer. */
    async check(one: PasswordTry) {
      const email = readEmail(one.email)?.email ?? null
      const member = email === null ? null : await store.findMember(email)
      const accountKey = Bun.SHA256.hash(email ?? one.email.slice(0, 320), 'base64url')
      return compare(member, accountKey, one)
    },
    knownMark: tries.knownMark,
    secondSteps: createSecondSteps({ store, clock, tries, signInNotes }),
  }
}
