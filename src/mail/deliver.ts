/** Processes one claimed delivery to its end. */
import { MINUTE_MS } from '../core/clock.ts'
import {
  type Basis,
  type Decided,
  type DeliveryWork,
  forgetReply,
  type DecisionRecord,
  type UnfitEvent,
  whenToGiveUp,
} from '../deliveries/deliveries.ts'
import { isCapturing } from '../accounts/account-rules.ts'
import { findUnfilled } from '../deliveries/unfilled-events.ts'
import type { RenderedMail } from '../messages/mailer.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import { publicId } from '../core/ids.ts'
import { describeMailbox } from '../core/mail-addresses.ts'
import { recordFault, type TemplateFault } from '../messages/template-faults.ts'
import { localeOf } from '../core/languages.ts'
import { findVariant } from '../messages/mail-texts.ts'
import type { CapturedMail, JoinedEvent, Verdict } from '../store/message-types.ts'
import { confirmUrl } from '../people/consent.ts'
import { unsubscribeUrl } from '../people/unsubscribe.ts'
import type { ComposedMail } from './compose.ts'
import { handOver, type HandOverDependencies } from './hand-over.ts'
import type { Turn } from './lanes.ts'
import { claimOf, type Delivered, done, type Ending, endOf, fail, defer, retry, skip } from './marks.ts'
import type { Route, Routes } from './routes.ts'
import { composeSample, type MailLinks, renderSample } from './samples.ts'

export type DeliverDependencies = HandOverDependencies & {
  baseUrl: string
  unsubscribeKey: string
  templates: TemplateWorker
  routes: Routes
}

/** An email ready to send, or the final state of the delivery. */
export type Prepared = ReadyMail | Delivered
type ReadyMail = {
  work: DeliveryWork
  route: Route
  mail: RenderedMail
  composed: ComposedMail
  record: DecisionRecord
  basis: Basis
}

/** Renders and signs a claimed delivery. `decision`: the claim's; null if missing or outdated. */
export async function prepareMail(
  deps: DeliverDependencies,
  claimed: DeliveryWork,
  decision: Decided | null,
): Promise<Prepared> {
  const decided = decision ?? (await deps.store.decideDelivery(claimed, deps.clock.now()))
  const fit = await dropUnfit(deps, claimed, decided.unfit)
  if (!fit.isMarked) return done('withheld', fit.because)
  const { installation } = deps.routes
  if (decided.outcome === 'skip')
    return skip(deps, fit.work, { ...decided, isCapturing: isCapturing(fit.work, installation) })
  if (decided.outcome === 'wait') return defer(deps, fit.work, decided)
  const { basis } = decided
  const route = deps.routes.find(fit.work)
  if ('fault' in route) return skip(deps, fit.work, { reason: route.fault, record: decided.record })
  const problem = await deps.senders.findProblem({ ...fit.work, mail: fit.work.message.content.mail })
  if (problem) return retry(deps, fit.work, { reason: problem.code, isServerFault: true, record: decided.record })
  const links = await linksOf(deps, fit.work)
  const render: Render = (one) =>
    renderSample(deps.templates, one, links, { isAlone: decided.record.isSlow, isSent: true })
  const { mail, unfit, isOfEvent } = await fill(fit.work, { render, at: decided.record.at })
  const filled = await dropUnfit(deps, fit.work, unfit)
  if (!filled.isMarked) return done('withheld', filled.because)
  const { work } = filled
  if ('slow' in mail) return endSlow(deps, work, decided.record)
  if (!('html' in mail)) return skip(deps, work, { ...faultOf(mail, decided.record), isOfEvent })
  const record = withFindings(decided.record, work, mail)
  const composed = await composeSample(work, {
    mail,
    route,
    url: links.url,
    at: deps.clock.now(),
    messageId: messageIdOf(work, route),
    repeatKey: repeatKeyOf(deps, work),
  })
  if (composed === null) return retry(deps, work, { reason: 'dkim_key', isServerFault: true, record })
  return { work, route, mail, composed, record, basis }
}

async function linksOf(
  { store, baseUrl, unsubscribeKey: key, clock }: DeliverDependencies,
  { app, delivery, contact, message, settings: { optIn } }: DeliveryWork,
): Promise<MailLinks> {
  const { topic } = message.content
  const found = topic === undefined ? null : await store.findTopicByName(app.id, topic)
  return {
    url: unsubscribeUrl(baseUrl, key, { contactId: contact.id, topicId: found?.id ?? null }),
    confirmUrl: confirmUrl({ baseUrl, key, now: clock.now() }, { consentId: delivery.id, optIn }),
  }
}

export async function deliver(deps: DeliverDependencies, prepared: Prepared, turn: Turn): Promise<Delivered> {
  if (!('composed' in prepared)) return prepared
  const { work, route, mail, composed, record, basis } = prepared
  return route.login.provider === null
    ? capture(deps, work, { composed, content: contentOf(composed, route, mail), record, basis })
    : handOver(deps, work, { login: route.login, composed, record, basis, turn })
}

type Dropped = { isMarked: true; work: DeliveryWork } | { isMarked: false; because: string }

/** Removes events that can't be listed in the email. */
async function dropUnfit(deps: DeliverDependencies, work: DeliveryWork, unfit: UnfitEvent[]): Promise<Dropped> {
  if (unfit.length === 0) return { isMarked: true, work }
  const marked = await deps.store.dropJoined({ ...claimOf(deps, work), unfit })
  if ('refusal' in marked) return { isMarked: false, because: marked.refusal }
  const ids = new Set(unfit.map(({ id }) => id))
  return marked.isMarked
    ? { isMarked: true, work: { ...work, joined: work.joined.filter(({ id }) => !ids.has(id)) } }
    : marked
}

type Render = (one: DeliveryWork) => Promise<RenderedMail | TemplateFault>
/** `mail`: without the `unfit` events. `isOfEvent`: the reason concerns only the first event. */
type Filled = { mail: RenderedMail | TemplateFault; unfit: UnfitEvent[]; isOfEvent: boolean }

async function fill(work: DeliveryWork, { render, at }: { render: Render; at: number }): Promise<Filled> {
  const { event, joined: others } = work
  let mail = await render(work)
  const listed = { first: { event }, others, fault: findFault(mail) }
  const search = findUnfilled<Pick<DeliveryWork, 'event'>, JoinedEvent>(listed, { isByHand: work.delivery.byHand })
  let step = search.next()
  while (!step.done) {
    const { first, others: joined } = step.value
    mail = await render({ ...work, event: first.event, joined: [...joined] })
    step = search.next(findFault(mail))
  }
  const { fault, isOfEvent, unfilled } = step.value
  const unfit = unfilled.map(({ event: { id }, fault: own }) => {
    const { reason, verdict } = recordFault(own)
    return { id, reason, record: JSON.stringify({ at, verdicts: [verdict] }) }
  })
  return { mail: fault ?? mail, unfit, isOfEvent }
}

const findFault = (mail: RenderedMail | TemplateFault): TemplateFault | null => ('html' in mail ? null : mail)

/** The same for every attempt, so that duplicates can be recognized. */
const messageIdOf = ({ delivery }: DeliveryWork, { from }: Route): string =>
  `${publicId('dlv', delivery.id)}@${from.address.split('@')[1]}`

/**
 * The same for every attempt, and different in every installation: several may share an account at a provider, or one
 * may have been restored from an older copy.
 */
const repeatKeyOf = (
  { unsubscribeKey }: DeliverDependencies,
  { delivery: { id, triggeredAt, contactId } }: DeliveryWork,
) =>
  new Bun.CryptoHasher('sha256', unsubscribeKey)
    .update(JSON.stringify([id, triggeredAt, contactId]))
    .digest('base64url')

function faultOf(fault: TemplateFault, record: DecisionRecord): Ending {
  const { reason, verdict } = recordFault(fault)
  return { reason, record: { ...record, verdicts: [...record.verdicts, verdict] } }
}

const SLOW_AGAIN_MS = MINUTE_MS

/** A busy CPU can also cause a timeout, so rendering is retried once with a higher limit. */
function endSlow(deps: DeliverDependencies, work: DeliveryWork, record: DecisionRecord): Promise<Delivered> {
  const dueAt = deps.clock.now() + SLOW_AGAIN_MS
  if (record.isSlow || dueAt > whenToGiveUp(work)) return fail(deps, work, faultOf({ slow: true }, record))
  return defer(deps, work, { reason: 'template_slow', dueAt, record: { ...record, isSlow: true } })
}

/** What was found about the email: its language, and refused links. They don't stop it. */
const withFindings = (record: DecisionRecord, work: DeliveryWork, { refusedLinks }: RenderedMail): DecisionRecord => ({
  ...record,
  verdicts: [
    ...record.verdicts,
    ...findLanguage(work),
    ...refusedLinks.map((about) => ({ rule: 'link', about, value: false, verdict: 'pass' as const })),
  ],
})

/** Nothing where the message has one text. */
function findLanguage({ message, contact }: DeliveryWork): Verdict[] {
  const { mail } = message.content
  if (mail.variants === undefined) return []
  return [{ rule: 'language', about: findVariant(mail, contact), value: localeOf(contact.fields), verdict: 'pass' }]
}

const contentOf = ({ to }: ComposedMail, { from }: Route, { subject, html, text }: RenderedMail): CapturedMail => ({
  from: describeMailbox(from),
  to,
  subject,
  html,
  text,
})

type Capturing = { composed: ComposedMail; content: CapturedMail; record: DecisionRecord; basis: Basis }

async function capture(deps: DeliverDependencies, work: DeliveryWork, { composed, content, record, basis }: Capturing) {
  const [raw, json] = [composed.raw.toString('utf8'), JSON.stringify(forgetReply(record))]
  const marked = await deps.store.markCaptured({ ...claimOf(deps, work), raw, content, record: json, basis })
  return endOf(marked, 'kept')
}
