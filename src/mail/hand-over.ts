/** Hands an email to its mail server and records the reply. */
import {
  type Basis,
  type DeliveryWork,
  forgetReply,
  type DecisionRecord,
  type Marked,
  readRecord,
} from '../deliveries/deliveries.ts'
import { isRepeatable, type Repeatable } from '../deliveries/ends.ts'
import { lacksMailbox, NO_MAILBOX } from '../deliveries/describe-reason.ts'
import { publicId } from '../core/ids.ts'
import type { SenderProblem, Senders } from '../accounts/senders.ts'
import type { HandOverScope } from '../core/hand-overs.ts'
import type { Cause } from '../store/suppression-causes.ts'
import type { Attempt, Breaker } from './breaker.ts'
import type { ComposedMail } from './compose.ts'
import type { Turn } from './lanes.ts'
import { claimOf, defer, type Delivered, done, endOf, type MarkDependencies, persist, retry } from './marks.ts'
import {
  asksForPause,
  isFinal,
  isLoginAsked,
  noteAnswer,
  type NoteServer,
  type Outcome,
  type Provider,
  reasonOf,
  replyOf,
} from './provider.ts'
import type { Login } from './routes.ts'

export type HandOverDependencies = MarkDependencies & { senders: Senders; handed: Handed; noteServer: NoteServer }

/** Well below the lease of an instance (store/postgres/instance.ts). */
const LATE_MS = 10_000

type Handing = { login: Login; composed: ComposedMail; record: DecisionRecord; basis: Basis; turn: Turn }
/** Runs the store's final check just before the final dot or the request. */
export async function handOver(
  deps: HandOverDependencies,
  work: DeliveryWork,
  { login, composed, record: decided, basis, turn }: Handing,
): Promise<Delivered> {
  const { handed, senders, store, stopping, clock } = deps
  if (isTooLate(work, login.provider, clock.now())) return leaveUnknown(deps, work)
  if (turn.place.isOverdue()) return waitForServer(deps, work, { dueAt: work.delivery.dueAt, record: decided })
  const breakers = { login: login.breaker, app: turn.breaker }
  if (Object.values(breakers).some(({ isBlocked }) => isBlocked())) return waitForPause(deps, work, breakers, decided)
  const attempts = { login: login.breaker.begin(), app: turn.breaker.begin() }
  const record = noteRepeatable(forgetReply(decided), login.provider, clock.now())
  let marked: Awaited<ReturnType<typeof store.markHanded>> | null = null
  const answered = Promise.withResolvers<void>()
  const { appId, messageId, contactId } = work.delivery
  let isLoggedIn = false
  const onLogin = (): void => {
    isLoggedIn = true
    attempts.login.succeed()
  }
  let obstacle = null as SenderProblem | 'pause' | null
  const commit = async (): Promise<boolean> => {
    if (!login.provider?.isOneStep) onLogin()
    const problem = await senders.findProblem({ ...work, mail: work.message.content.mail }, { asksDns: false })
    const isInterrupted = attempts.login.isInterrupted() || attempts.app.isInterrupted()
    obstacle = problem ?? (isInterrupted ? 'pause' : null)
    if (obstacle || stopping.aborted) return false
    handed.add({ appId, messageId, contactId }, answered.promise)
    watched.hand()
    const askedMs = clock.monotonicMs()
    const answer = await store.markHanded({ ...claimOf(deps, work), record: JSON.stringify(record), basis })
    // an instance that stood still may have lost its claims since it was marked
    marked = clock.monotonicMs() - askedMs > LATE_MS ? { refusal: 'commit_unconfirmed' } : answer
    return 'isMarked' in marked && marked.isMarked
  }
  const onSlow = (): void => {
    // emails that wait for the end of a pause don't wait for this reply
    attempts.app.abstain()
    turn.onSlow()
  }
  const watched = login.outage.begin(composed.to)
  turn.place.offer()
  const outcome = await login.provider?.send(composed, commit, { onLogin, onSlow, signal: stopping }).finally(() => {
    answered.resolve()
    // whatever the outcome, the next email may try
    for (const attempt of Object.values(attempts)) attempt.abstain()
  })
  watched.end(outcome ?? { is: 'withheld' })
  if (!outcome) throw new Error('a login without a provider')
  // the next process takes over the claim
  if (stopping.aborted && marked === null) return done('claimed', 'stopped')
  const limitedUntil = turn.place.note(outcome, { id: work.delivery.id, to: composed.to, reply: decided.reply })
  if (limitedUntil !== null) attempts.login.succeed()
  else updateBreakers(attempts, { outcome, isLoggedIn })
  const about = publicId('dlv', work.delivery.id)
  noteAnswer(deps, { about, appId: work.app.publicId, server: login.server, outcome })
  if (limitedUntil !== null)
    return waitForServer(deps, work, { dueAt: limitedUntil, record: { ...record, reply: replyOf(outcome) } })
  if (obstacle === 'pause') return waitForPause(deps, work, breakers, decided)
  if (obstacle) return retry(deps, work, { reason: obstacle.code, isServerFault: true, record: decided })
  return conclude(deps, work, { outcome, marked, record, turn })
}

/** Another account, or the same one after a day, would take a repeated email for a new one. */
function isTooLate({ delivery }: DeliveryWork, provider: Provider | null, at: number): boolean {
  const { unconfirmedAt, repeatable } = readRecord(delivery) ?? {}
  const isRepeated = unconfirmedAt !== undefined && repeatable !== undefined && !delivery.byHand
  return isRepeated && !isRecognized(repeatable, provider, at)
}

const isRecognized = (repeatable: Repeatable, provider: Provider | null, at: number): boolean =>
  repeatable.account === provider?.repeats?.account && isRepeatable(repeatable, at)

function leaveUnknown(deps: MarkDependencies, work: DeliveryWork): Promise<Delivered> {
  const reason = work.delivery.reason ?? 'unknown'
  const unknown = { ...claimOf(deps, work), reason, isFinal: true }
  return persist(deps, () => deps.store.markUnknown(unknown), done('unknown', reason))
}

/** The time counts from the first attempt that may have arrived. */
function noteRepeatable(record: DecisionRecord, provider: Provider | null, at: number): DecisionRecord {
  const { repeatable: earlier, ...rest } = record
  const repeats = provider?.repeats
  if (repeats === undefined) return rest
  const isSame = earlier !== undefined && rest.unconfirmedAt !== undefined && isRecognized(earlier, provider, at)
  return { ...rest, repeatable: isSame ? earlier : { until: at + repeats.forMs, account: repeats.account } }
}

function waitForPause(
  deps: MarkDependencies,
  work: DeliveryWork,
  breakers: Record<keyof Attempts, Breaker>,
  record: DecisionRecord,
) {
  const [login, app] = [breakers.login.findPause(), breakers.app.findPause()]
  const dueAt = Math.max(login?.until ?? 0, app?.until ?? 0, deps.clock.now() + 1_000)
  const isSender = login === null && app?.reason.startsWith('from_')
  return defer(deps, work, { reason: isSender ? 'sender_paused' : 'server_paused', dueAt, record })
}

/** It counts neither as a failure nor towards giving up (store/limit-waits.ts). */
const waitForServer = (deps: MarkDependencies, work: DeliveryWork, until: { dueAt: number; record: DecisionRecord }) =>
  defer(deps, work, { reason: 'server_limited', ...until })

type Attempts = { login: Attempt; app: Attempt }

/** Failures before the login affect everyone who uses it; later ones may affect only this app. */
function updateBreakers({ login, app }: Attempts, { outcome, isLoggedIn }: SendResult): void {
  if (outcome.is === 'withheld') return
  const isClear = outcome.is === 'refused' && asksForPause(outcome)
  const pauseMs = outcome.is === 'refused' ? outcome.api?.retryAfterMs : null
  const failure = { reason: reasonOf(outcome), isClear, pauseMs }
  if (!isLoggedIn && isAboutLogin(outcome)) return login.fail(failure)
  login.succeed()
  const isFailed = outcome.is === 'refused' ? isClear || isAboutUs(outcome) : outcome.is !== 'sent'
  if (isFailed) app.fail(failure)
  else app.succeed()
}

type SendResult = { outcome: Outcome; isLoggedIn: boolean }

const isAboutLogin = (outcome: Outcome): boolean =>
  outcome.is === 'unreachable' || (outcome.is === 'refused' && outcome.about === 'session')

type Concluding = {
  outcome: Outcome
  marked: Marked | { refusal: string } | null
  record: DecisionRecord
  turn: Turn
}
async function conclude(deps: MarkDependencies, work: DeliveryWork, { outcome, marked, record, turn }: Concluding) {
  const { store } = deps
  const reason = reasonOf(outcome)
  switch (outcome.is) {
    case 'sent':
      turn.onSent()
      return persist(deps, () => store.markSent(claimOf(deps, work)), done('sent'))
    case 'unknown':
      return persist(deps, () => store.markUnknown({ ...claimOf(deps, work), reason }), done('unknown', reason))
    case 'unreachable':
      return retry(deps, work, { reason, isServerFault: true, record })
    case 'withheld':
      if (marked && 'isMarked' in marked) return endOf(marked, 'handed')
      return retry(deps, work, { reason: 'not_saved', isServerFault: true, record })
    case 'refused':
      if (isAboutUs(outcome) || !isFinal(outcome)) {
        const replied = { ...record, reply: replyOf(outcome) }
        return retry(deps, work, { reason, isServerFault: isAboutUs(outcome), record: replied })
      }
      return refuseForGood(deps, work, { refusal: outcome, record: { ...record, reply: replyOf(outcome) } })
  }
}

type Refusal = Outcome & { is: 'refused' }

const isAboutUs = (refusal: Refusal): boolean =>
  refusal.about === 'sender' || refusal.about === 'session' || isLoginAsked(refusal)

/** Suppresses addresses without a mailbox, and those that the provider suppresses. */
type ForGood = { refusal: Refusal; record: DecisionRecord }
async function refuseForGood(deps: MarkDependencies, work: DeliveryWork, { refusal, record }: ForGood) {
  const { store, clock } = deps
  const isMissing = refusal.enhanced !== null && lacksMailbox(refusal.enhanced)
  const isUnreachable = isMissing || refusal.api?.isSuppressed === true
  const reason = isMissing ? NO_MAILBOX : reasonOf(refusal)
  const failed = { ...claimOf(deps, work), reason, record: JSON.stringify(record) }
  let isMarked = false
  const markFailed = async () => {
    const marked = await store.markFailed(failed)
    isMarked = 'isMarked' in marked && marked.isMarked
    return marked
  }
  const delivered = await persist(deps, markFailed, done('failed', reason))
  // don't suppress a person who was erased meanwhile
  if (!isMarked) return delivered
  if (isUnreachable) {
    const { appId, email } = work.contact
    const cause = causeOf(refusal, work)
    await persist(deps, () => store.suppress({ appId, email, reason: 'bounced', at: clock.now(), cause }), delivered)
  }
  return delivered
}

function causeOf(refusal: Refusal, { delivery }: DeliveryWork): Cause {
  if (refusal.api?.isSuppressed) return { by: 'list', provider: null }
  return { by: 'refusal', delivery: publicId('dlv', delivery.id), text: replyOf(refusal) }
}

type Ids = { appId: number; messageId: number; contactId: number }

export type Handed = ReturnType<typeof createHanded>

/** Emails handed over, or being handed over, without a reply from their mail server. */
export function createHanded() {
  const open = new Map<Promise<void>, Ids>()

  return {
    /** `answered` must not reject. */
    add(ids: Ids, answered: Promise<void>): void {
      open.set(answered, ids)
      void answered.then(() => open.delete(answered))
    },
    count: (): number => open.size,
    /** Waits up to `ms` for the replies that are open now. @returns how many are still missing */
    async settle(about: HandOverScope, ms: number): Promise<number> {
      const asked = Object.entries(about)
      const waited = Array.from(open)
        .filter(([, ids]) => asked.every(([name, id]) => ids[name as keyof Ids] === id))
        .map(([answered]) => answered)
      if (waited.length === 0) return 0
      const timeout = Promise.withResolvers<void>()
      const timer = setTimeout(timeout.resolve, ms)
      await Promise.race([Promise.all(waited), timeout.promise])
      clearTimeout(timer)
      return waited.filter((answered) => open.has(answered)).length
    },
  }
}
