import type { Store } from '../store/store.ts'
import type { NewSession, SessionRow, SignedIn } from '../store/sessions.ts'
import type { MemberRow, Refused } from '../store/types.ts'
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock.ts'
import { makeTextId } from '../core/ids.ts'
import { hashToken, makeToken } from './tokens.ts'

export type { MemberRow, SessionRow, SignedIn }

export const SESSION_IDLE_MS = 12 * HOUR_MS
export const SESSION_MS = 30 * DAY_MS
export const CONFIRMED_MS = 10 * MINUTE_MS

const TOUCH_EVERY_MS = MINUTE_MS
const KNOWN_SESSIONS = 10_000

export type Sessions = ReturnType<typeof createSessions>

/** A right password, and whether a code or recovery code followed. */
export type Proof = { member: MemberRow; passwordHash: string; isSecondStepDone?: true; isByRecoveryCode?: boolean }

/** `replaces` is the browser's previous token; `address` a keyed hash (sign-in-notes.ts). */
export type SignInPlace = { browser: string; address: string; replaces: string | null }

/**
 * Sessions; only hashes of their tokens are stored. They idle by the monotonic clock, and new ones stay in memory
 * while the disk is full, so that sign-in still works.
 */
export function createSessions({ store, clock }: { store: Store; clock: Clock }) {
  /** `storedAt`: as this instance stored it, so that a later one is of another instance. */
  const seenAt = new Map<string, { ms: number; storedAt: number }>()
  const unsaved = new Map<string, SignedIn & { address: string; saveAgainAt: number }>()

  const isLive = ({ id, createdAt, lastSeenAt }: SessionRow): boolean => {
    const seen = seenAt.get(id)
    const isSeenHere = seen !== undefined && lastSeenAt <= seen.storedAt
    const idleMs = isSeenHere ? clock.monotonicMs() - seen.ms : clock.now() - lastSeenAt
    return idleMs < SESSION_IDLE_MS && clock.now() - createdAt < SESSION_MS
  }

  const noteUse = async ({ id }: SessionRow): Promise<void> => {
    const seen = seenAt.get(id)
    if (seen !== undefined && clock.monotonicMs() - seen.ms < TOUCH_EVERY_MS) return
    if (seenAt.size >= KNOWN_SESSIONS) seenAt.clear()
    const at = clock.now()
    seenAt.set(id, { ms: clock.monotonicMs(), storedAt: at })
    await store.touchSession({ sessionId: id, at })
  }

  /** An unsaved session, unless the password has changed since. */
  const findUnsaved = async (tokenHash: string): Promise<SignedIn | null> => {
    const recent = unsaved.get(tokenHash)
    if (!recent) return null
    const member = await store.findMember(recent.member.email)
    if (member?.passwordHash !== recent.member.passwordHash) {
      unsaved.delete(tokenHash)
      return null
    }
    if (clock.monotonicMs() >= recent.saveAgainAt) {
      recent.saveAgainAt = clock.monotonicMs() + TOUCH_EVERY_MS
      const session = { id: recent.session.id, tokenHash, memberId: member.id, browser: recent.session.browser }
      const proof = { member, passwordHash: member.passwordHash ?? '', isSecondStepDone: true } as const
      const outcome = await save(session, proof, { address: recent.address, replaces: null })
      if (!isPassing(outcome)) unsaved.delete(tokenHash)
    }
    return recent
  }

  const dropUnsaved = (isMeant: (one: SignedIn) => boolean): void => {
    for (const [tokenHash, one] of unsaved) if (isMeant(one)) unsaved.delete(tokenHash)
  }

  const save = (
    session: NewSession,
    { passwordHash, isSecondStepDone }: Proof,
    { address, replaces }: Omit<SignInPlace, 'browser'>,
  ) => store.startSession({ session, passwordHash, isSecondStepDone, address, replaces, at: clock.now() })

  const hold = (session: NewSession, { member }: Proof, address: string): void => {
    const { tokenHash, ...row } = session
    const at = clock.now()
    unsaved.set(tokenHash, {
      session: { ...row, createdAt: at, lastSeenAt: at, confirmedAt: at },
      member,
      address,
      saveAgainAt: clock.monotonicMs() + TOUCH_EVERY_MS,
    })
  }

  return {
    async find(token: string): Promise<SignedIn | null> {
      const tokenHash = hashToken(token)
      const found = (await store.findSession(tokenHash)) ?? (await findUnsaved(tokenHash))
      if (!found || !isLive(found.session)) return null
      await noteUse(found.session)
      return found
    },
    /** Like `find`, but doesn't count as use. */
    async peek(token: string): Promise<SignedIn | null> {
      const tokenHash = hashToken(token)
      const found = (await store.findSession(tokenHash)) ?? unsaved.get(tokenHash)
      return found && isLive(found.session) ? found : null
    },
    async start(proof: Proof, { browser, address, replaces }: SignInPlace): Promise<{ token: string } | Refused> {
      const token = makeToken()
      const id = makeTextId('ses', clock.now())
      const session = { id, tokenHash: hashToken(token), memberId: proof.member.id, browser }
      const replaced = replaces === null ? null : hashToken(replaces)
      const outcome = await save(session, proof, { address, replaces: replaced })
      if (isPassing(outcome)) hold(session, proof, address)
      else if ('refusal' in outcome) return outcome
      return { token }
    },
    /** Whether the password was typed recently. Setting the clock back doesn't make it so. */
    isConfirmed: ({ confirmedAt }: SessionRow): boolean =>
      clock.now() >= confirmedAt && clock.now() - confirmedAt < CONFIRMED_MS,
    list: async (memberId: string): Promise<SessionRow[]> => (await store.listSessions(memberId)).filter(isLive),
    /** By default, the asking session. Refusals: unavailable. */
    async end({ session, member }: SignedIn, sessionId = session.id) {
      dropUnsaved((one) => one.session.id === sessionId && one.member.id === member.id)
      return store.endSession({ memberId: member.id, sessionId, at: clock.now() })
    },
    async endOthers({ session, member }: SignedIn) {
      dropUnsaved((one) => one.session.id !== session.id && one.member.id === member.id)
      return store.endOtherSessions({ memberId: member.id, sessionId: session.id, at: clock.now() })
    },
    /** By an owner of one of the member's accounts. Refusals: not_found, unavailable. */
    async endAllOf(
      memberId: string,
      change: { accountId: string; actor: string; membershipId: string },
    ): Promise<{ done: true } | Refused> {
      const outcome = await store.endMemberSessions({ ...change, at: clock.now() })
      if (!('refusal' in outcome)) dropUnsaved((one) => one.member.id === memberId)
      return outcome
    },
    /**
     * Continues the session under a new token. Refusals: not_found (password changed), already_done (session not
     * stored), unavailable.
     */
    async confirm({ session, member }: SignedIn, passwordHash: string): Promise<{ token: string } | Refused> {
      const token = makeToken()
      const own = { memberId: member.id, sessionId: session.id, at: clock.now() }
      const outcome = await store.confirmSession({ ...own, passwordHash, tokenHash: hashToken(token) })
      return 'refusal' in outcome ? outcome : { token }
    },
    async changePassword({ session, member }: SignedIn, oldHash: string, passwordHash: string) {
      const token = makeToken()
      const own = { memberId: member.id, sessionId: session.id, at: clock.now() }
      const outcome = await store.changePassword({ ...own, oldHash, passwordHash, tokenHash: hashToken(token) })
      return 'refusal' in outcome ? outcome : { token }
    },
    /** Ends all other sessions. Refusals: already_done when the set-up is another one. */
    async turnOnTwoStep(
      { session, member }: SignedIn,
      on: { startedAt: number; step: number; codeHashes: string[] },
    ): Promise<{ done: true } | Refused> {
      const own = { memberId: member.id, sessionId: session.id, at: clock.now() }
      const outcome = await store.turnOnTwoStep({ ...own, ...on })
      if (!('refusal' in outcome)) dropUnsaved((one) => one.session.id !== session.id && one.member.id === member.id)
      return outcome
    },
  }
}

/** The disk is full or slow, but the proof was right. */
export const isPassing = (outcome: object): boolean =>
  'refusal' in outcome && (outcome.refusal === 'unavailable' || outcome.refusal === 'commit_unconfirmed')
