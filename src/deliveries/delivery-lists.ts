import { type Static, Type } from '@sinclair/typebox'
import type { Clock } from '../core/clock.ts'
import * as fields from '../core/field-schemas.ts'
import { type Body, createReader, faultOf, type Reading, type Rules, warnOfUnknown } from '../core/inputs.ts'
import type { Mailer } from '../messages/mailer.ts'
import {
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  type DeliveryWork,
  type JoinedEvent,
  type MessageRow,
  type StoredSend,
  SUPPRESSION_REASONS,
  type UnwantedReason,
} from '../store/message-types.ts'
import { applySend } from '../store/sends.ts'
import type { ChangedDelivery } from '../store/delivery-writes.ts'
import type { StoredContact, AppRow, EventRow, Idempotency, Refused } from '../store/types.ts'
import type { Store } from '../store/store.ts'
import { type DeliveryOutcome, type DeliveryQuery, OUTCOMES } from '../store/deliveries.ts'
import { writeCsvRow } from '../core/csv.ts'
import { publicId, readPublicId, timeOfId } from '../core/ids.ts'
import {
  describeAfter,
  describeShortReason,
  type ShortReason,
  shortenDelivery,
  shortenReason,
} from './short-reasons.ts'
import { HELD_BACK, isLifecycle, NOT_LOOKED_UP, refusedBy } from './decide.ts'
import { readRefusal } from './facts.ts'
import { namesReply } from './describe-reason.ts'
import { CANCELLED, isCancellable, isDelay, isSendableEarly, isResendable, isResent, isUnwritable } from './ends.ts'
import { explainMessageFor, type MessageExplanation } from './message-explanations.ts'
import { type ContactRow, UNKNOWN_PERSON } from '../people/contacts.ts'
import { explainDelivery, type Explanation, toExplained } from './explanations.ts'
import {
  countDeferrals,
  deliveryView,
  findUnconfirmed,
  isHeld,
  labelOf,
  mayHaveArrivedTwice,
  SENT_STATES,
  STATE_LABELS,
} from './deliveries.ts'
import { type Refusal, refuse } from '../core/refusals.ts'
import { handOverOf } from '../store/delivery-states.ts'

export {
  CANCELLED,
  DELIVERY_STATES,
  HELD_BACK,
  describeAfter,
  shortenReason,
  OUTCOMES,
  countDeferrals,
  findUnconfirmed,
  isCancellable,
  isDelay,
  isSendableEarly,
  isHeld,
  isLifecycle,
  labelOf,
  SENT_STATES,
  STATE_LABELS,
  SUPPRESSION_REASONS,
  namesReply,
  isResent,
  mayHaveArrivedTwice,
  NOT_LOOKED_UP,
  refusedBy,
}
export type {
  ChangedDelivery,
  DeliveryOutcome,
  DeliveryRow,
  DeliveryState,
  DeliveryWork,
  Explanation,
  JoinedEvent,
  MessageExplanation,
  MessageRow,
  UnwantedReason,
}

export type DeliveryFilter = Omit<DeliveryQuery, 'appId' | 'limit'>

/** The newest `limit` that match. */
type DeliveryPage = DeliveryFilter & { limit: number }

export type ListedDelivery = {
  work: Pick<DeliveryWork, 'delivery' | 'message' | 'lead' | 'app' | 'send'> & { contact: StoredContact }
  explained: Explanation
}

export type ShownDelivery = { work: DeliveryWork; explained: Explanation }

/** `unwanted`: why nothing may be sent to the person now; null: it may. */
export type FoundDelivery = ShownDelivery & { unwanted: UnwantedReason | null }

const toShown = (work: DeliveryWork): ShownDelivery => ({ work, explained: explainDelivery(toExplained(work)) })

/** Newest first; `next` is the next page's `before`, null at the end. `messages`: those that were read already. */
export async function listDeliveries(
  store: Store,
  app: AppRow,
  { limit, messages, ...filter }: DeliveryPage & { messages?: readonly MessageRow[] },
): Promise<{ deliveries: ListedDelivery[]; next: number | null }> {
  const rows = await store.listDeliveries({ ...filter, appId: app.id, limit: limit + 1 })
  const next = rows.length > limit ? (rows[limit - 1]?.id ?? null) : null
  return { deliveries: await describeDeliveries(store, app, rows.slice(0, limit), messages), next }
}

const EXPORT_ROWS = 500

const EXPORT_COLUMNS = [
  'id',
  'contactId',
  'email',
  'firstName',
  'lastName',
  'message',
  'version',
  'state',
  'label',
  'reason',
  'summary',
  'created',
  'triggered',
  'due',
  'handedOver',
  'sent',
  'cameBack',
  'opened',
  'goal',
] as const

/** As CSV, in pieces, so that any number fits into memory. */
export async function* exportDeliveries(
  { store, clock }: { store: Store; clock: Clock },
  app: AppRow,
  filter: DeliveryFilter,
): AsyncGenerator<string> {
  yield writeCsvRow(EXPORT_COLUMNS)
  for (let before: number | null = filter.before; ;) {
    const page: Awaited<ReturnType<typeof listDeliveries>> = await listDeliveries(store, app, {
      ...filter,
      before,
      limit: EXPORT_ROWS,
    })
    yield page.deliveries.map((one) => writeCsvRow(toCells(one, clock.now()))).join('')
    if (page.next === null) return
    before = page.next
  }
}

export const shortenListed = ({ work: { delivery, message, contact } }: ListedDelivery): ShortReason =>
  shortenDelivery(delivery, message.content, refusedBy({ contact, message }, NOT_LOOKED_UP))

function toCells(listed: ListedDelivery, now: number): string[] {
  const { delivery, message, contact } = listed.work
  const { id, version, state, reason, triggeredAt, dueAt, sentAt, cameBackAt, openedAt, goalAt } = delivery
  return [
    publicId('dlv', id),
    publicId('con', contact.id),
    contact.email,
    contact.firstName ?? '',
    contact.lastName ?? '',
    message.name,
    String(version),
    state,
    labelOf(delivery),
    reason ?? '',
    describeShortReason(shortenListed(listed), now),
    ...[timeOfId(id), triggeredAt, dueAt, handOverOf(delivery), sentAt, cameBackAt, openedAt, goalAt].map((at) =>
      at === null ? '' : new Date(at).toISOString(),
    ),
  ]
}

/** Skips rows whose person was erased. */
export async function describeDeliveries(
  store: Store,
  app: AppRow,
  rows: DeliveryRow[],
  messages: readonly MessageRow[] = [],
): Promise<ListedDelivery[]> {
  if (rows.length === 0) return []
  const messageOf = new Map(messages.map((message) => [`${message.id} ${message.version}`, message]))
  const leadOf = new Map(rows.map((row) => [row.id, row]))
  const others = rows.filter(({ messageId, version }) => !messageOf.has(`${messageId} ${version}`))
  const leadIds = rows.flatMap(({ joinedTo }) => (joinedTo === null || leadOf.has(joinedTo) ? [] : joinedTo))
  const [contacts, versions, leads] = await Promise.all([
    store.listContactsById([...new Set(rows.map(({ contactId }) => contactId))]),
    others.length === 0 ? [] : store.listVersionsById(others),
    leadIds.length === 0 ? [] : store.listDeliveriesById([...new Set(leadIds)]),
  ])
  for (const message of versions) messageOf.set(`${message.id} ${message.version}`, message)
  for (const lead of leads) leadOf.set(lead.id, lead)
  const contactOf = new Map(contacts.map((contact) => [contact.id, contact]))
  const isSent = ({ messageId, version }: DeliveryRow): boolean =>
    'api' in (messageOf.get(`${messageId} ${version}`)?.content.trigger ?? {})
  const sends = await listSends(store, rows.filter(isSent))
  return rows.flatMap((delivery) => {
    const contact = contactOf.get(delivery.contactId)
    const message = messageOf.get(`${delivery.messageId} ${delivery.version}`)
    if (!contact || !message) return []
    const lead = delivery.joinedTo === null ? null : (leadOf.get(delivery.joinedTo) ?? null)
    const send = sends.get(delivery.id) ?? null
    const work = { delivery, contact, message: applySend(message, send), lead, app, send }
    return [{ work, explained: explainDelivery(toExplained(work)) }]
  })
}

/** Few pages have any, so the others skip the statement. */
const listSends = async (store: Store, rows: readonly DeliveryRow[]): Promise<ReadonlyMap<number, StoredSend>> =>
  rows.length === 0 ? new Map() : store.listSends(rows.map(({ id }) => id))

/** As the API and MCP show them, with the message's name and the person's email; null if erased meanwhile. */
export async function viewDeliveries({ store }: { store: Store }, app: AppRow, rows: DeliveryRow[]) {
  const [messages, contacts] = await Promise.all([
    store.listMessages(app.id),
    store.listContactsById([...new Set(rows.map(({ contactId }) => contactId))]),
  ])
  const names = new Map(messages.map(({ id, name }) => [id, name]))
  const triggered = new Set(messages.flatMap(({ id, content }) => ('api' in content.trigger ? [] : id)))
  const sends = await listSends(
    store,
    rows.filter(({ messageId }) => !triggered.has(messageId)),
  )
  const emails = new Map(contacts.map(({ id, email }) => [id, email]))
  return rows.map((row) => ({
    ...deliveryView(row, sends.get(row.id) ?? null),
    message: names.get(row.messageId) ?? null,
    email: emails.get(row.contactId) ?? null,
  }))
}

/** A list can be about one message or person. Refusals: message_not_found, contact_not_found. */
export async function findListed(
  store: Store,
  app: AppRow,
  { messageId, email }: { messageId: number | null; email: string | null },
): Promise<{ messageId: number | null; contactId: number | null } | Refusal> {
  if (messageId !== null && !(await store.findMessage(app.id, messageId))) return refuse('message_not_found')
  if (email === null) return { messageId, contactId: null }
  const contact = await store.findContact(app.id, email)
  return contact ? { messageId, contactId: contact.id } : UNKNOWN_PERSON
}

export async function listFollowing(
  store: Store,
  app: AppRow,
  { id, contactId }: Pick<EventRow, 'id' | 'contactId'>,
): Promise<ListedDelivery[]> {
  return describeDeliveries(store, app, await store.listDeliveriesOfEvent({ appId: app.id, contactId, eventId: id }))
}

export async function findDelivery(store: Store, app: AppRow, id: number): Promise<FoundDelivery | null> {
  const work = await store.findWork(id)
  if (work?.app.id !== app.id) return null
  const { contact, message } = work
  const unwanted = refusedBy(work, await readRefusal(store, app.id, { contact, content: message.content }))
  return { ...toShown(work), unwanted }
}

/** The event that triggered it was deleted because of its age. */
export const isEventDeleted = ({ delivery, event }: Pick<DeliveryWork, 'delivery' | 'event'>): boolean =>
  delivery.eventId !== null && event === null

/** As a member can send it: with the newest version if its own can't be rendered. */
export async function findResent(store: Store, work: DeliveryWork): Promise<DeliveryWork> {
  if (!isUnwritable(work.delivery)) return work
  const message = await store.findMessage(work.app.id, work.message.id)
  return message === null ? work : { ...work, message: { ...work.message, ...message } }
}

export async function explainPerson(
  deps: { store: Store; clock: Clock },
  person: ContactRow,
): Promise<MessageExplanation[]> {
  const messages = await deps.store.listMessages(person.appId)
  return Promise.all(messages.map((message) => explainMessageFor(deps, person, message)))
}

/**
 * Manual resend of one email: checks suppression only, not the brake. Refusals: delivery_not_found, delivery_in_use, event_deleted,
 * message_on_its_way, unavailable; for captured emails also no_mail_server and mail_server_unreadable.
 */
export async function resendDelivery(
  { store, clock, mailer }: { store: Store; clock: Clock } & { mailer: Mailer },
  app: AppRow,
  { id, actor }: { id: number; actor: string },
): Promise<{ done: true } | Refused | Refusal> {
  const work = await store.findWork(id)
  if (work?.app.id === app.id && work.delivery.state === 'kept') {
    const { server, isUnreadable } = mailer.findMailRoute(work)
    if (server === null) return refuse(isUnreadable ? 'mail_server_unreadable' : 'no_mail_server')
  }
  return store.resendDelivery({ appId: app.id, id, at: clock.now(), by: { accountId: app.accountId, actor } })
}

const DELIVERY = Type.String({
  description: 'The `id` of the delivery, `dlv_...`.',
  say: 'Send the `id` of a delivery, `dlv_...`, from GET /deliveries.',
})

/** POST /deliveries/cancel and /deliveries/send-now. */
export const DeliveryInput = Type.Object(
  { app: fields.APP, newsletter: fields.NEWSLETTER, deliveryId: DELIVERY },
  { title: 'DeliveryChange', description: 'The email to cancel or send.', ...fields.EITHER_APP_NAME },
)

type DeliveryFields = { app: string; id: number }

const DELIVERY_FIELDS = fields.knownFields(DeliveryInput)

const DELIVERY_RULES: Rules = {
  ...fields.appRules(DeliveryInput),
  deliveryId: (text) =>
    typeof text === 'string' && readPublicId('dlv', text) === null ? faultOf(DELIVERY, 'invalid', text) : null,
}

const readFields = createReader({ schema: DeliveryInput, clean: cleanFields, rules: () => DELIVERY_RULES })

function cleanFields(sent: Static<typeof DeliveryInput>): DeliveryFields | null {
  const [app, id] = [fields.findAppId(sent), readPublicId('dlv', sent.deliveryId)]
  return app === null || id === null ? null : { app, id }
}

export function readDelivery(body: Body): Reading<DeliveryFields> {
  const reading = readFields(body, null)
  return 'errors' in reading ? reading : { input: reading.input, warnings: warnOfUnknown(body, DELIVERY_FIELDS) }
}

/** `actor`: the id of a member or an API key. */
type ByActor = { id: number; actor: string; idempotency?: Idempotency | null }
type Changed = Promise<ChangedDelivery | Refused>

const changeOf = ({ clock }: Clocked, app: AppRow, { id, actor, idempotency = null }: ByActor) => ({
  appId: app.id,
  id,
  at: clock.now(),
  by: { accountId: app.accountId, actor },
  idempotency,
})

/** Refusals: delivery_not_found, delivery_in_use, idempotency_mismatch, unavailable. */
export const cancelDelivery = (deps: Clocked, app: AppRow, change: ByActor): Changed =>
  deps.store.cancelDelivery(changeOf(deps, app, change))

/** It is decided now instead of when it is due. Refusals: as of cancelDelivery. */
export const sendDeliveryEarly = (deps: Clocked, app: AppRow, change: ByActor): Changed =>
  deps.store.sendDeliveryEarly(changeOf(deps, app, change))

type Clocked = { store: Store; clock: Clock }

const CAPTURED = { contactId: null, messageId: null, states: ['kept'], before: null } as const satisfies DeliveryFilter

/** In the outbox, up to `MOST_COUNTED` + 1. */
export const countCaptured = (store: Store, { id: appId }: AppRow): Promise<number> =>
  store.countMatching({ ...CAPTURED, appId })

export const MAX_REASON_CHARACTERS = 200

/** Failed emails that match a filter, each with all its events. */
export const toFailed = (filter: Omit<DeliveryFilter, 'states'>): DeliveryFilter => ({
  ...filter,
  states: ['failed'],
  or: [],
  isLead: true,
})

/** `until`: the newest one, such as the newest that a member saw; null: all. */
type Resending = { filter: DeliveryFilter; until: number | null; actor: string }

/**
 * `refused`: how many stay as they are. `gone`: no longer in this state. `next`: the newest one that is left; null if
 * none is.
 */
export type Resent = { sent: number; refused: number; gone: number; next: number | null }

const STAYING: ReadonlySet<string> = new Set(['message_on_its_way', 'event_deleted'])
/** The rest must be asked for again. */
const FAILED: ReadonlySet<string> = new Set(['unavailable', 'commit_unconfirmed'])

/** Per request, which takes one or two seconds. */
export const MOST_RESENT = 1_000

/** Each waits for the same commit. */
const RESENT_AT_ONCE = 250

/** Sends the newest ones that match, up to a number; lifecycle emails wait for the brake. Refusals: unavailable if none was sent. */
export async function resendMatching(
  { store, clock }: { store: Store; clock: Clock },
  { id: appId, accountId }: AppRow,
  { filter, until, actor }: Resending,
): Promise<Resent | Refused> {
  const before = until === null ? filter.before : Math.min(until + 1, filter.before ?? Number.POSITIVE_INFINITY)
  const rows = await store.listDeliveries({ ...filter, appId, before, limit: MOST_RESENT + 1 })
  const by = { accountId, actor }
  const counts = { sent: 0, refused: 0, gone: 0 }
  for (let index = 0; index < MOST_RESENT; index += RESENT_AT_ONCE) {
    const ids = rows.slice(index, Math.min(MOST_RESENT, index + RESENT_AT_ONCE)).map(({ id }) => id)
    const outcomes = await Promise.all(
      ids.map((id) => store.resendDelivery({ appId, id, at: clock.now(), by, inBulk: true })),
    )
    const refusals = outcomes.map((outcome) => ('refusal' in outcome ? outcome.refusal : null))
    const failed = refusals.findIndex((refusal) => refusal !== null && FAILED.has(refusal))
    for (const refusal of refusals) {
      if (refusal === null) counts.sent += 1
      else if (STAYING.has(refusal)) counts.refused += 1
      else if (!FAILED.has(refusal)) counts.gone += 1
    }
    // the answer must count the emails that were sent
    if (failed >= 0) return counts.sent === 0 ? UNAVAILABLE : { ...counts, next: ids[failed] ?? null }
  }
  return { ...counts, next: rows[MOST_RESENT]?.id ?? null }
}

/** All captured emails. Refusals: no_mail_server, mail_server_unreadable, unavailable if none was sent. */
export async function sendCaptured(
  deps: { store: Store; clock: Clock } & { mailer: Mailer },
  app: AppRow,
  resending: Omit<Resending, 'filter'>,
): Promise<Resent | Refused | Refusal> {
  const { server, isUnreadable } = deps.mailer.findMailRoute({ settings: await deps.store.mailSettings(app.id), app })
  if (server === null) return refuse(isUnreadable ? 'mail_server_unreadable' : 'no_mail_server')
  return resendMatching(deps, app, { ...resending, filter: CAPTURED })
}

const UNAVAILABLE: Refused = { refusal: 'unavailable' }

type Leaving = { isCapturing: boolean; isUnreadable: boolean }

/** Not when sending or done; captured emails only when a mail server works. */
export const mayResend = ({ state }: DeliveryRow, { isCapturing, isUnreadable }: Leaving): boolean =>
  state === 'kept' ? !isCapturing && !isUnreadable : isResendable(state)

export async function isCapturing({ store, mailer }: { store: Store; mailer: Mailer }, app: AppRow): Promise<boolean> {
  const { server, isUnreadable } = mailer.findMailRoute({ settings: await store.mailSettings(app.id), app })
  return server === null && !isUnreadable
}
