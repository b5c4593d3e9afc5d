/** A mail goes to its server, and what that answered is written down. */
import {
  type Basis,
  type DeliveryWork,
  forgetReply,
  type DecisionRecord,
  type Marked,
} from '../deliveries/deliveries.ts'
import { publicId } from '../core/ids.ts'
import type { SenderProblem } from '../accounts/senders.ts'
import type { Breaker } from './breaker.ts'
import type { ComposedMail } from './compose.ts'
import { claimOf, type Delivered, type DeliverParts, done, endOf, persist, putOff, retry } from './marks.ts'
import { isLoginAsked, isLoginRefused, isPlea, noteAnswer, type Outcome, reasonOf, replyOf } from './provider.ts'
import { placesOf, type Route } from './routes.ts'

type Handing = { route: Route; composed: ComposedMail; record: DecisionRecord; basis: Basis; onSlow: () => void }
/** Sends it, with the store's final check just before the final dot. */
export async function handOver(
  parts: DeliverParts,
  work: DeliveryWork,
  { route, composed, record: judged, basis, onSlow }: Handing,
): Promise<Delivered> {
  const { breaker, clock, handed, senders, store, stopping } = parts
  const places = placesOf(route)
  if (places.some((place) => breaker.isHeld(place))) return waitForPause(parts, work, { route, record: judged })
  const record = forgetReply(judged)
  const sentAt = clock.steadyNow()
  const tried = places.filter((place) => breaker.pausedUntil(place) !== null)
  for (const place of places) breaker.admit(place)
  let marked: Awaited<ReturnType<typeof store.markHanded>> | null = null
  const answered = Promise.withResolvers<void>()
  const { appId, messageId, contactId } = work.delivery
  /** A pause that began meanwhile is for this email too, unless it is the one that tries. */
  const isPaused = (): boolean => places.some((place) => !tried.includes(place) && breaker.isHeld(place))
  let obstacle = null as SenderProblem | 'pause' | null
  const commit = async (): Promise<boolean> => {
    const problem = await senders.findProblem({ ...work, mail: work.message.content.mail }, { asksDns: false })
    obstacle = problem ?? (isPaused() ? 'pause' : null)
    if (obstacle || stopping.aborted) return false
    handed.add({ appId, messageId, contactId }, answered.promise)
    marked = await store.markHanded({ ...claimOf(parts, work), record: JSON.stringify(record), basis })
    return 'held' in marked && marked.held
  }
  const makeRoom = (): void => {
    // whoever waits for the end of a pause need not wait for this reply
    for (const place of tried) breaker.abstain(place)
    onSlow()
  }
  const outcome = await route.provider
    ?.send(composed, commit, { onSlow: makeRoom, signal: stopping })
    .finally(answered.resolve)
  if (!outcome) throw new Error('a route without a provider')
  // the next process finds the claim, and begins anew
  if (stopping.aborted && marked === null) return done('claimed', 'stopped')
  tellBreaker(breaker, { route, outcome, sentAt })
  noteAnswer(parts, {
    about: publicId('dlv', work.delivery.id),
    appId: work.app.publicId,
    server: route.server,
    outcome,
  })
  if (obstacle === 'pause') return waitForPause(parts, work, { route, record: judged })
  if (obstacle) return retry(parts, work, { reason: obstacle.code, isServerFault: true, record: judged })
  return conclude(parts, work, { outcome, marked, record })
}

/** Nothing goes to a mail server, or from a sender there, that is left alone for a while. */
function waitForPause(parts: DeliverParts, work: DeliveryWork, { route, record }: Pick<Handing, 'route' | 'record'>) {
  const { breaker, clock } = parts
  const places = placesOf(route)
  const dueAt = Math.max(...places.map((place) => breaker.pausedUntil(place) ?? 0), clock.now() + 1_000)
  const isServer = places.some((place) => place !== route.own && breaker.isHeld(place))
  return putOff(parts, work, { reason: isServer ? 'server_paused' : 'sender_paused', dueAt, record })
}

/** Of a login they speak, and not of the server: only a password asks for TLS (RFC 4954). */
const ABOUT_LOGIN = new Set(['eauth', 'enoauth', 'etls'])

/** Their indices among the places of a route. */
const [SERVER, LOGIN, OWN] = [0, 1, 2]
const [NOT_EVEN_ONE, NONE] = [-1, Number.POSITIVE_INFINITY]

/** What says something about others too, and not only about one mail: the index of its place. */
function blameOf(outcome: Outcome): number {
  if (outcome.is === 'withheld') return NOT_EVEN_ONE
  if (outcome.is === 'unreachable') return ABOUT_LOGIN.has(outcome.reason) ? LOGIN : SERVER
  if (outcome.is === 'unknown') return SERVER
  if (outcome.is !== 'refused') return NONE
  if (outcome.code === 421) return SERVER
  if (outcome.code === 454 || isLoginRefused(outcome)) return LOGIN
  return outcome.about === 'sender' || isLoginAsked(outcome) ? OWN : NONE
}

/**
 * A server that does not answer is tried once for all; one that answers a login is well, and so is a login of which only
 * one app is refused. Where a server again and again serves others and not this app, that is about the app,
 * whatever it says. Nothing is learnt of what comes after the one to blame.
 */
function tellBreaker(breaker: Breaker, { route, outcome, sentAt }: Told): void {
  const failed = blameOf(outcome)
  const isShared = failed === SERVER || failed === LOGIN
  const isAlone = isShared && breaker.isAlone(route.own)
  const blamed = isAlone ? OWN : failed
  for (const [index, place] of placesOf(route).entries()) {
    const failure = { reason: reasonOf(outcome), isClear: isAlone || isClear(outcome), sentAt }
    if (index === blamed) breaker.fail(place, failure)
    else if (index >= failed) breaker.abstain(place)
    else breaker.succeed(place)
    if (index === failed && isShared) breaker.noteTurnedAway(place, route.own)
    else if (failed === NONE && index !== OWN) breaker.noteServed(place, route.own)
  }
}

type Told = { route: Route; outcome: Outcome; sentAt: number }

const isClear = (outcome: Outcome): boolean => outcome.is === 'refused' && isPlea(outcome)

/** Enhanced codes that say there is no such mailbox (RFC 3463). A bare 550 may mean us as well, so it proves nothing. */
const NO_MAILBOX = new Set(['5.1.1', '5.1.3', '5.1.6', '5.1.10', '5.2.1'])

type Concluding = { outcome: Outcome; marked: Marked | { refusal: string } | null; record: DecisionRecord }
async function conclude(parts: DeliverParts, work: DeliveryWork, { outcome, marked, record }: Concluding) {
  const { store } = parts
  const reason = reasonOf(outcome)
  switch (outcome.is) {
    case 'sent':
      return persist(parts, () => store.markSent(claimOf(parts, work)), done('sent'))
    case 'unknown':
      return persist(parts, () => store.markUnknown({ ...claimOf(parts, work), reason }), done('unknown', reason))
    case 'unreachable':
      return retry(parts, work, { reason, isServerFault: true, record })
    case 'withheld':
      // the store has said why, or could not save
      if (marked && 'held' in marked) return endOf(marked, 'handed')
      return retry(parts, work, { reason: 'not_saved', isServerFault: true, record })
    case 'refused':
      if (isAboutUs(outcome) || outcome.code < 500) {
        const replied = { ...record, reply: replyOf(outcome) }
        return retry(parts, work, { reason, isServerFault: isAboutUs(outcome), record: replied })
      }
      return refuseForGood(parts, work, { refusal: outcome, record: { ...record, reply: replyOf(outcome) } })
  }
}

type Refusal = Outcome & { is: 'refused' }

const isAboutUs = (refusal: Refusal): boolean =>
  refusal.about === 'sender' || refusal.about === 'session' || isLoginAsked(refusal)

/** A mailbox that is not there is never written to again. */
type ForGood = { refusal: Refusal; record: DecisionRecord }
async function refuseForGood(parts: DeliverParts, work: DeliveryWork, { refusal, record }: ForGood) {
  const { store, clock } = parts
  const reason = reasonOf(refusal)
  const failed = { ...claimOf(parts, work), reason, record: JSON.stringify(record) }
  let isHeld = false
  const markFailed = async () => {
    const marked = await store.markFailed(failed)
    isHeld = 'held' in marked && marked.held
    return marked
  }
  const delivered = await persist(parts, markFailed, done('failed', reason))
  // whoever was erased meanwhile is not to be remembered
  if (!isHeld) return delivered
  if (refusal.enhanced !== null && NO_MAILBOX.has(refusal.enhanced)) {
    const { appId, email } = work.contact
    await persist(parts, () => store.suppress({ appId, email, reason: 'bounced', at: clock.now() }), delivered)
  }
  return delivered
}
