import type { Store } from '../store/store.ts'
import { addressBucket } from '../core/addresses.ts'
import type { Clock } from '../core/clock.ts'
import { isPassing, type MemberRow, type Proof } from './sessions.ts'
import type { SignInNotes } from './sign-in-notes.ts'
import { type Bucket, SIGN_IN_DELAYS, type SignInTries, type TooMany } from './sign-in-tries.ts'
import { hashToken, makeToken } from '../core/tokens.ts'
import { findCodeStep, readTypedCode, type TwoStepRow } from './two-step.ts'

/** So long after the password the code may come. */
export const SECOND_STEP_MS = 5 * 60_000
/** Sign-ins between their two steps, the oldest going first. */
const MOST_WAITING = 10_000
/**
 * After so many wrong codes in a day, two codes in a row are asked for (as RFC 4226, 7.4 does to resynchronise). Whoever
 * has the phone waits 30 seconds; whoever guesses from many addresses has to guess one in 10^11.
 */
export const MANY_WRONG_CODES = 20

/** `known` is what the browser was given when it signed in before. */
export type CodeTry = { token: string; typed: string; address: string; known: string | null }

/** `kind` is what was counted; `mayTryOther`: the other kind still gets in. */
type TooManyCodes = TooMany & { kind: Kind; mayTryOther: boolean }
type Kind = 'code' | 'recovery-code'
export type WrongStep =
  { refusal: 'sign_in_expired' | 'wrong_code' | 'next_code_needed' | 'unavailable' } | TooManyCodes
type Passed = Proof & { isSecondStepDone: true; isByRecoveryCode: boolean }

/** `isFirstCodeTaken`: two codes in a row are asked for, and the first was right. */
type Waiting = Proof & { until: number; isFirstCodeTaken: boolean }

type SecondStepParts = { store: Store; clock: Clock; tries: SignInTries; signInNotes: SignInNotes }

/**
 * Sign-ins whose password was right and whose code is still to come. The token of one is kept by the
 * browser, is good for nothing else, and works once. They are held in memory, so a restart asks for the password again;
 * no clock that is set makes one last longer.
 */
export function createSecondSteps({ store, clock, tries, signInNotes }: SecondStepParts) {
  const waiting = new Map<string, Waiting>()
  /** The last step of which a code was taken while the disk was full: signing in goes on, once a code. */
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
    // of two requests with the same code the one that comes here first has it
    if (!isPassing(outcome) || isOld()) return { refusal: 'wrong_code' }
    unsavedSteps.set(memberId, step)
    return null
  }

  const takeRecoveryCode = async (memberId: string, codeHash: string): Promise<WrongStep | null> => {
    const outcome = await store.takeRecoveryCode({ memberId, codeHash, at: clock.now() })
    if (!('refusal' in outcome)) return null
    return { refusal: isPassing(outcome) ? 'unavailable' : 'wrong_code' }
  }

  /** Codes and recovery codes are counted apart, so that who guesses one keeps the other from nobody. */
  const bucketsOf = (member: MemberRow, { known, address }: Omit<CodeTry, 'token'>, kind: Kind) => {
    const isKnown = tries.isKnown(member, known)
    const whose = `${isKnown ? 'known-' : ''}${kind}:${member.id}:${markOf(member)}`
    const own = { name: isKnown ? whose : `${whose}:${addressBucket(address)}`, growth: SIGN_IN_DELAYS.code }
    const shared: Bucket = { name: `all-${whose}`, growth: SIGN_IN_DELAYS.codes }
    return { own, shared, isKnown }
  }

  /** `waiting` is the sign-in that may need two codes; null where a session is there already. */
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
    /** A token for the second step of a sign-in whose password was right; null where the member has none. */
    async ask({ member, passwordHash }: Proof): Promise<string | null> {
      const row = await store.findTwoStep(member.id)
      if (!row || row.turnedOnAt === null) return null
      dropOld()
      const token = makeToken()
      const until = clock.monotonicMs() + SECOND_STEP_MS
      waiting.set(hashToken(token), { member, passwordHash, until, isFirstCodeTaken: false })
      return token
    },
    /** Whose sign-in waits for a code; null where it took too long or was done. */
    findMember: (token: string): MemberRow | null => findWaiting(token)?.member ?? null,
    /** Takes the code, or a recovery code, that ends a sign-in. */
    async pass(one: CodeTry): Promise<Passed | WrongStep> {
      const found = findWaiting(one.token)
      const row = found && (await store.findTwoStep(found.member.id))
      if (!row || row.turnedOnAt === null) return { refusal: 'sign_in_expired' }
      const { member, passwordHash } = found
      const taken = await take(row, member, one, found)
      if ('refusal' in taken) return taken
      // two codes that came at once are two that are used up, and one sign-in
      if (!waiting.delete(hashToken(one.token))) return { refusal: 'sign_in_expired' }
      return { member, passwordHash, isSecondStepDone: true, ...taken }
    },
    /** The same for somebody who is signed in, before they change how they sign in; null where no code is asked for. */
    async confirm(
      member: MemberRow,
      one: Omit<CodeTry, 'token'>,
    ): Promise<{ isByRecoveryCode: boolean } | WrongStep | null> {
      const row = await store.findTwoStep(member.id)
      return !row || row.turnedOnAt === null ? null : take(row, member, one, null)
    },
  }
}

/** Another password begins the count anew: whoever used it up knew the one before, and comes no further than that. */
const markOf = ({ passwordHash }: MemberRow): string => String(Bun.hash(passwordHash ?? ''))
