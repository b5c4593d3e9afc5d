import type { Store } from '../store/store.ts'
import type { NewSession, SessionRow, SignedIn } from '../store/sessions.ts'
import type { MemberRow, Refused } from '../store/types.ts'
import type { Clock } from '../core/clock.ts'
import { makeTextId } from '../core/ids.ts'
import { hashToken, makeToken } from '../core/tokens.ts'

export type { MemberRow, SessionRow, SignedIn }

/** A session that nobody used for so long has ended, and any has after 30 days. */
export const SESSION_IDLE_MS = 12 * 3_600_000
export const SESSION_MS = 30 * 24 * 3_600_000
/** For so long after the password was typed, keys and secrets may be shown. */
export const CONFIRMED_MS = 10 * 60_000

/** How exactly it is stored when a session was last seen. */
const TOUCH_EVERY_MS = 60_000
/** Sessions whose last use is known by the monotonic clock; beyond it the stored time counts. */
const KNOWN_SESSIONS = 10_000

export type Sessions = ReturnType<typeof createSessions>

/** What a password was right for, and whether a code of the second step was after it, or a recovery code. */
export type Proof = { member: MemberRow; passwordHash: string; isSecondStepDone?: true; isByRecoveryCode?: boolean }

/** `replaces` is the token that the same browser had; `address` a keyed hash (sign-in-notes.ts). */
export type SignInPlace = { browser: string; address: string; replaces: string | null }

/**
 * Where members are signed in. The cookie's token is returned when it is made and stored as a hash.
 * A session that was used in this process idles by the monotonic clock, so that a clock that is set ends none early. While the disk is full, new sessions are held here, and saved when there is room: signing in goes on.
 */
export function createSessions({ store, clock }: { store: Store; clock: Clock }) {
  const seenAt = new Map<string, number>()
  const unsaved = new Map<string, SignedIn & { address: string; saveAgainAt: number }>()

  const isLive = ({ id, createdAt, lastSeenAt }: SessionRow): boolean => {
    const seen = seenAt.get(id)
    const idleMs = seen === undefined ? clock.now() - lastSeenAt : clock.monotonicMs() - seen
    return idleMs < SESSION_IDLE_MS && clock.now() - createdAt < SESSION_MS
  }

  const noteUse = async ({ id }: SessionRow): Promise<void> => {
    const seen = seenAt.get(id)
    if (seen !== undefined && clock.monotonicMs() - seen < TOUCH_EVERY_MS) return
    if (seenAt.size >= KNOWN_SESSIONS) seenAt.clear()
    seenAt.set(id, clock.monotonicMs())
    // where it cannot be saved now, the next use will be
    await store.touchSession({ sessionId: id, at: clock.now() })
  }

  /** One that could not be saved, unless its password was changed since. */
  const findUnsaved = async (tokenHash: string): Promise<SignedIn | null> => {
    const held = unsaved.get(tokenHash)
    if (!held) return null
    const member = await store.findMember(held.member.email)
    if (member?.passwordHash !== held.member.passwordHash) {
      unsaved.delete(tokenHash)
      return null
    }
    if (clock.monotonicMs() >= held.saveAgainAt) {
      held.saveAgainAt = clock.monotonicMs() + TOUCH_EVERY_MS
      const session = { id: held.session.id, tokenHash, memberId: member.id, browser: held.session.browser }
      // whatever was asked for when it began was right
      const proof = { member, passwordHash: member.passwordHash ?? '', isSecondStepDone: true } as const
      const outcome = await save(session, proof, { address: held.address, replaces: null })
      if (!isPassing(outcome)) unsaved.delete(tokenHash)
    }
    return held
  }

  const dropUnsaved = (isMeant: (held: SignedIn) => boolean): void => {
    for (const [tokenHash, held] of unsaved) if (isMeant(held)) unsaved.delete(tokenHash)
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
    /** Who a cookie's token belongs to, if its session has not ended. */
    async find(token: string): Promise<SignedIn | null> {
      const tokenHash = hashToken(token)
      const found = (await store.findSession(tokenHash)) ?? (await findUnsaved(tokenHash))
      if (!found || !isLive(found.session)) return null
      await noteUse(found.session)
      return found
    },
    /** The same, and asking is no use of it. */
    async peek(token: string): Promise<SignedIn | null> {
      const tokenHash = hashToken(token)
      const found = (await store.findSession(tokenHash)) ?? unsaved.get(tokenHash)
      return found && isLive(found.session) ? found : null
    },
    /** A new session after a right password, and a right code where one is asked for. Refusals: not_found. */
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
    /** Whether the password was typed lately; a clock that was set back does not make it so. */
    isConfirmed: ({ confirmedAt }: SessionRow): boolean =>
      clock.now() >= confirmedAt && clock.now() - confirmedAt < CONFIRMED_MS,
    /** Those of a member that have not ended, newest first. */
    list: async (memberId: string): Promise<SessionRow[]> => (await store.listSessions(memberId)).filter(isLive),
    /** Ends a session of this member, by default the one that asks. Refusals: unavailable. */
    async end({ session, member }: SignedIn, sessionId = session.id) {
      dropUnsaved((held) => held.session.id === sessionId && held.member.id === member.id)
      return store.endSession({ memberId: member.id, sessionId, at: clock.now() })
    },
    /** Ends all sessions of this member but the one that asks. Refusals: unavailable. */
    async endOthers({ session, member }: SignedIn) {
      dropUnsaved((held) => held.session.id !== session.id && held.member.id === member.id)
      return store.endOtherSessions({ memberId: member.id, sessionId: session.id, at: clock.now() })
    },
    /** Ends all sessions of a member, by an owner of an account of theirs. Refusals: not_found, unavailable. */
    async endAllOf(
      memberId: string,
      change: { accountId: string; actor: string; membershipId: string },
    ): Promise<{ done: true } | Refused> {
      const outcome = await store.endMemberSessions({ ...change, at: clock.now() })
      if (!('refusal' in outcome)) dropUnsaved((held) => held.member.id === memberId)
      return outcome
    },
    /**
     * Notes that the password was typed again. The session goes on under the token that is returned. Refusals: not_found
     * where the password was changed meanwhile, already_done where the session is not stored, unavailable.
     */
    async confirm({ session, member }: SignedIn, passwordHash: string): Promise<{ token: string } | Refused> {
      const token = makeToken()
      const own = { memberId: member.id, sessionId: session.id, at: clock.now() }
      const outcome = await store.confirmSession({ ...own, passwordHash, tokenHash: hashToken(token) })
      return 'refusal' in outcome ? outcome : { token }
    },
    /** All other sessions end, and this one goes on under the token that is returned. Refusals: not_found. */
    async changePassword({ session, member }: SignedIn, oldHash: string, passwordHash: string) {
      const token = makeToken()
      const own = { memberId: member.id, sessionId: session.id, at: clock.now() }
      const outcome = await store.changePassword({ ...own, oldHash, passwordHash, tokenHash: hashToken(token) })
      return 'refusal' in outcome ? outcome : { token }
    },
    /** The second step is on, and all other sessions end. Refusals: already_done where the set-up is another one. */
    async turnOnTwoStep(
      { session, member }: SignedIn,
      on: { startedAt: number; step: number; codeHashes: string[] },
    ): Promise<{ done: true } | Refused> {
      const own = { memberId: member.id, sessionId: session.id, at: clock.now() }
      const outcome = await store.turnOnTwoStep({ ...own, ...on })
      if (!('refusal' in outcome)) dropUnsaved((held) => held.session.id !== session.id && held.member.id === member.id)
      return outcome
    },
  }
}

/** The disk is full or slow; what was asked for was right. */
export const isPassing = (outcome: object): boolean =>
  'refusal' in outcome && (outcome.refusal === 'unavailable' || outcome.refusal === 'commit_unconfirmed')
