import type { Store } from '../store/store.ts'
import { addressBucket } from '../core/addresses.ts'
import { type Clock, MINUTE_MS } from '../core/clock.ts'
import { isPassing, type MemberRow, type Proof } from './sessions.ts'
import type { SignInNotes } from './sign-in-notes.ts'
import { type Bucket, SIGN_IN_DELAYS, type SignInTries, type TooMany } from './sign-in-tries.ts'
import { hashToken, makeToken } from './tokens.ts'
import { findCodeStep, readTypedCode, type TwoStepRow } from './two-step.ts'

export const SECOND_STEP_MS = 5 * MINUTE_MS
const MOST_WAITING = 10_000
/**
 * After this many wrong codes in a day, two consecutive codes are required (compare RFC 4226, 7.4): a guess then
 * succeeds once in 10^11.
 */
export const MANY_WRONG_CODES = 20

/** `known` is the token that the browser got at an earlier sign-in. */
export type CodeTry = { token: string; typed: string; address: string; known: string | null }

type TooManyCodes = TooMany & { kind: Kind; mayTryOther: boolean }
type Kind = 'code' | 'recovery-code'
export type WrongStep =
  { refusal: 'sign_in_expired' | 'wrong_code' | 'next_code_needed' | 'unavailable' } | TooManyCodes
type Passed = Proof & { isSecondStepDone: true; isByRecoveryCode: boolean }

type Waiting = Proof & { until: number; isFirstCodeTaken: boolean }

type Dependencies = { store: Store; clock: Clock; tries: SignInTries; signInNotes: SignInNotes }

/** Sign-ins that still need a code. Kept in memory by a one-time token, so a restart asks for the password again. */
export function createSecondSteps({ store, clock, tries, signInNotes }: Dependencies) {
  const waiting = new Map<string, Waiting>()
  /** The last code step used while the disk was full: sign-in still works, once per code. */
  const unsavedSteps = new Map<string, number>()

  const findWaiting = (token: string): Waiting | null => {
    const found = waiting.get(hashToken(token))
    return found && clock.monotonicMs() < found.until ? found : null
  }

  const dropOld = (): void => {
    const now = clock.monotonicMs()
    for (const [tokenHash, { until }] of waiting) {
      if (until > now && waiting.size < MOST_WAITING) return
      waiting.delete(tokenHash)
    }
  }

  const takeCode = async (row: TwoStepRow, code: string): Promise<WrongStep | null> => {
    const { memberId, startedAt, secret } = row
    const step = findCodeStep(secret, code, clock.now())
    const isOld = (): boolean => step === null || step <= Math.max(unsavedSteps.get(memberId) ?? 0, row.lastStep)
    if (step === null || isOld()) return { refusal: 'wrong_code' }
    const outcome = await store.takeCode({ memberId, startedAt, step })
    if (!('refusal' in outcome)) return null
    if (!isPassing(outcome) || isOld()) return { refusal: 'wrong_code' }
    unsavedSteps.set(memberId, step)
    return null
  }

  const takeRecoveryCode = async (memberId: string, codeHash: string): Promise<WrongStep | null> => {
    const outcome = await store.takeRecoveryCode({ memberId, codeHash, at: clock.now() })
    if (!('refusal' in outcome)) return null
    return { refusal: isPassing(outcome) ? 'unavailable' : 'wrong_code' }
  }

  /** Codes and recovery codes are counted apart, so guessing one doesn't block the other. */
  const bucketsOf = (member: MemberRow, { known, address }: Omit<CodeTry, 'token'>, kind: Kind) => {
    const isKnown = tries.isKnown(member, known)
    const whose = `${isKnown ? 'known-' : ''}${kind}:${member.id}:${markOf(member)}`
    const own = { name: isKnown ? whose : `${whose}:${addressBucket(address)}`, growth: SIGN_IN_DELAYS.code }
    const shared: Bucket = { name: `all-${whose}`, growth: SIGN_IN_DELAYS.codes }
    return { own, shared, isKnown }
  }

  const take = async (
    row: TwoStepRow,
    member: MemberRow,
    one: Omit<CodeTry, 'token'>,
    waiting: Waiting | null,
  ): Promise<{ isByRecoveryCode: boolean } | WrongStep> => {
    const read = readTypedCode(one.typed)
    if (!read) return { refusal: 'wrong_code' }
    const isByRecoveryCode = 'recoveryHash' in read
    const kind = isByRecoveryCode ? 'recovery-code' : 'code'
    const { isKnown, ...buckets } = bucketsOf(member, one, kind)
    const needsTwo = !isByRecoveryCode && tries.wrongIn(buckets.shared) >= MANY_WRONG_CODES
    const begun = tries.begin(buckets)
    if ('retryAfterSeconds' in begun) {
      const mayTryOther = tries.wait(bucketsOf(member, one, isByRecoveryCode ? 'code' : 'recovery-code')) === 0
      signInNotes.noteFailure(member, 'delayed', one.address)
      return { refusal: 'too_many_tries', ...begun, isKnown, kind, mayTryOther }
    }
    const wrong = isByRecoveryCode
      ? await takeRecoveryCode(member.id, read.recoveryHash)
      : await takeCode(row, read.code)
    if (wrong?.refusal === 'unavailable') begun.undo()
    if (wrong?.refusal === 'wrong_code') {
      signInNotes.noteFailure(member, isByRecoveryCode ? 'wrong_recovery_code' : 'wrong_code', one.address)
    }
    if (wrong) return wrong
    if (needsTwo && waiting && !waiting.isFirstCodeTaken) {
      waiting.isFirstCodeTaken = true
      begun.undo()
      return { refusal: 'next_code_needed' }
    }
    begun.right()
    return { isByRecoveryCode }
  }

  return {
    async ask({ member, passwordHash }: Proof): Promise<string | null> {
      const row = await store.findTwoStep(member.id)
      if (!row || row.turnedOnAt === null) return null
      dropOld()
      const token = makeToken()
      const until = clock.monotonicMs() + SECOND_STEP_MS
      waiting.set(hashToken(token), { member, passwordHash, until, isFirstCodeTaken: false })
      return token
    },
    findMember: (token: string): MemberRow | null => findWaiting(token)?.member ?? null,
    async pass(one: CodeTry): Promise<Passed | WrongStep> {
      const found = findWaiting(one.token)
      const row = found && (await store.findTwoStep(found.member.id))
      if (!row || row.turnedOnAt === null) return { refusal: 'sign_in_expired' }
      const { member, passwordHash } = found
      const taken = await take(row, member, one, found)
      if ('refusal' in taken) return taken
      // two codes sent at once use up both and sign in once
      if (!waiting.delete(hashToken(one.token))) return { refusal: 'sign_in_expired' }
      return { member, passwordHash, isSecondStepDone: true, ...taken }
    },
    /** For signed-in members before a sensitive change; null when no code is needed. */
    async confirm(
      member: MemberRow,
      one: Omit<CodeTry, 'token'>,
    ): Promise<{ isByRecoveryCode: boolean } | WrongStep | null> {
      const row = await store.findTwoStep(member.id)
      return !row || row.turnedOnAt === null ? null : take(row, member, one, null)
    },
  }
}

/** A new password resets the count. */
const markOf = ({ passwordHash }: MemberRow): string => String(Bun.hash(passwordHash ?? ''))
