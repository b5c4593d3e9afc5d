import type { Clock } from '../core/clock.ts'
import { createIdRange } from '../core/ids.ts'
import { parseProperties } from '../messages/conditions.ts'
import type { Store } from '../store/store.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import { LISTED_EVENTS, type MessageContent, type MessageRow, type UnwantedReason } from '../store/message-types.ts'
import type { ContactRow, EventRow } from '../store/types.ts'
import { emailsOf, handOver, matchMessages, planArrival } from './arrivals.ts'
import { refusedBy } from './decide.ts'
import { readRefusal } from './facts.ts'
import { describeReason } from './describe-reason.ts'
import type { AppRow } from '../accounts/access.ts'
import { UNKNOWN_PERSON } from '../people/contacts.ts'
import type { Sample } from '../messages/mailer.ts'
import { displayName } from '../messages/describe-message.ts'
import { withFirstTrigger } from '../messages/sequences.ts'
import { isStartedBy, mayStart, nameOfStart } from '../messages/triggers.ts'
import { makeSampleFor, pickFilled, type SampleMoment, SEVERAL } from '../messages/message-samples.ts'
import { isRefusal, type Refusal } from '../core/refusals.ts'

const OFFERED = 10
const CHECKED_EVENTS = 200
const CHECKED_EVENTS_OF_PERSON = 500

/** An email of a stored person. `unsent`: why this person gets none, in one sentence. */
export type PersonSample = SampleMoment & { unsent: string | null }

/** `isMadeUp`: no stored person matches yet. */
export type FoundSample = { sample: Sample; isMadeUp: boolean; unsent: string | null }

type Asked = { app: AppRow; message: MessageRow; email: string | null; isSeveral?: boolean }

/**
 * The given person's last matching event; else the latest person; else sample data. `isSeveral`: sample data with
 * several events. Refusals: contact_not_found.
 */
export async function findSample(deps: Dependencies, asked: Asked): Promise<FoundSample | Refusal> {
  const { app, message } = asked
  const content = await withFirstTrigger(deps.store, app, message.content)
  const found = await findMoment(deps, { ...asked, message: { ...message, content } })
  if (isRefusal(found)) return found
  const { isMadeUp, unsent, ...moment } = found
  return { sample: { ...moment, app, message, settings: await deps.store.mailSettings(app.id) }, isMadeUp, unsent }
}

type Dependencies = { store: Store; clock: Clock; templates: TemplateWorker }

type Found = PersonSample & { isMadeUp: boolean }

async function findMoment(
  { store, clock, templates }: Dependencies,
  { app, message, email, isSeveral = false }: Asked,
): Promise<Found | Refusal> {
  const { content } = message
  if (isSeveral) {
    const several = await makeSampleFor(templates, app, { content, at: clock.now(), events: SEVERAL })
    return { ...several, unsent: null, isMadeUp: true }
  }
  if (email === null) {
    const settings = await store.mailSettings(app.id)
    const last = await pickFilled(templates, { app, content, settings }, await listSamples(store, app, content))
    if (last) return { ...last, isMadeUp: false }
    return { ...(await makeSampleFor(templates, app, { content, at: clock.now() })), unsent: null, isMadeUp: true }
  }
  const contact = await store.findContact(app.id, email)
  if (contact && 'api' in content.trigger) {
    const { event } = await makeSampleFor(templates, app, { content, at: clock.now() })
    return { ...(await findUnsent(store, app, content, { contact, event, joined: [] })), isMadeUp: true }
  }
  return contact ? { ...(await findEmail(store, app, message, contact)), isMadeUp: false } : UNKNOWN_PERSON
}

async function findEmail(store: Store, app: AppRow, { content }: MessageRow, contact: ContactRow) {
  const { trigger } = content
  const nothing = { contact, event: null, joined: [] }
  if (!('event' in trigger)) return findUnsent(store, app, content, nothing)
  const query = {
    appId: app.id,
    contactId: contact.id,
    name: trigger.event,
    before: null,
    limit: CHECKED_EVENTS_OF_PERSON,
  }
  const { rows } = await store.listEvents(query)
  const starting = rows.filter((row) => isStartedBy(trigger, row))
  const email = takeEmail(app, content, starting)
  if (email) return findUnsent(store, app, content, { contact, ...email })
  return { ...nothing, unsent: `No ${trigger.event} event from ${displayName(contact)} triggers this message.` }
}

/** The suppression that live sending would find. */
async function findUnsent(
  store: Store,
  { id: appId }: AppRow,
  content: MessageContent,
  moment: SampleMoment,
): Promise<PersonSample> {
  const { contact } = moment
  const reason = refusedBy({ contact, message: { content } }, await readRefusal(store, appId, { contact, content }))
  return { ...moment, unsent: reason && describeUnsent(contact, reason) }
}

const describeUnsent = (contact: ContactRow, reason: UnwantedReason): string =>
  describeReason(reason, displayName(contact), 'skipped')

/** The last email of each of the latest people. Those who can be emailed come first. */
export async function listSamples(store: Store, app: AppRow, content: MessageContent): Promise<PersonSample[]> {
  const moments = await listMoments(store, app, content)
  const samples = await Promise.all(moments.map((moment) => findUnsent(store, app, content, moment)))
  return samples.toSorted((a, b) => Number(a.unsent !== null) - Number(b.unsent !== null))
}

async function listMoments(store: Store, app: AppRow, content: MessageContent): Promise<SampleMoment[]> {
  const { trigger } = content
  if ('api' in trigger) return []
  const name = nameOfStart(trigger)
  if (name === null) {
    const tag = 'tag' in trigger ? trigger.tag : null
    const query = { appId: app.id, tag, updatedAfter: null, before: null, limit: OFFERED }
    const people = (await store.listContacts(query)).filter((contact) => mayStart(trigger, contact))
    return people.map((contact) => ({ contact, event: null, joined: [] }))
  }
  const query = { appId: app.id, contactId: null, name, before: null, limit: CHECKED_EVENTS }
  const { rows } = await store.listEvents(query)
  const people = Map.groupBy(
    rows.filter((row) => isStartedBy(trigger, row)),
    ({ contactId }) => contactId,
  )
  const emails = [...people].flatMap(([id, own]) => {
    const email = takeEmail(app, content, own)
    return email ? [{ id, email }] : []
  })
  const found = emails.slice(0, OFFERED).map(async ({ id, email }) => ({ contact: await store.byId(id), email }))
  return (await Promise.all(found)).flatMap(({ contact, email }) => (contact ? [{ contact, ...email }] : []))
}

type PersonEmail = Omit<SampleMoment, 'contact'>

/** The last email that a person's events start; null: they start none. `rows`: newest first. */
function takeEmail(app: AppRow, content: MessageContent, rows: readonly EventRow[]): PersonEmail | null {
  const emails = planEmails(app, content, rows)
  for (const { id, type } of rows) {
    const email = emails.find(({ lead, joined }) => lead === id || joined.has(id))
    if (!email) continue
    if (type === 'page') return { event: null, joined: [] }
    const joined = rows
      .filter((row) => email.joined.has(row.id))
      .toSorted(byTime)
      .slice(0, LISTED_EVENTS - 1)
    return { event: rows.find((row) => row.id === email.lead) ?? null, joined: joined.map((event) => ({ event })) }
  }
  return null
}

const byTime = (a: EventRow, b: EventRow): number => a.occurredAt - b.occurredAt || a.id - b.id

/** By the ids of their events, as if those arrived one after another. */
function planEmails({ id: appId, timezone, hosts }: AppRow, content: MessageContent, rows: readonly EventRow[]) {
  const emails = emailsOf(null)
  const handed: typeof emails.waiting = []
  const message = { id: 0, version: 1, content }
  const takeId = createIdRange(1).next
  for (const { id: eventId, contactId, type, name, path, properties, receivedAt, occurredAt } of rows.toReversed()) {
    for (const email of emails.waiting.filter(({ dueAt }) => dueAt < receivedAt)) {
      handOver(emails, email, email.dueAt)
      handed.push(email)
    }
    const parse = () => parseProperties(properties)
    const cancels = type === 'page' ? { path: path ?? '', occurredAt } : { event: name, occurredAt, properties: parse }
    const matched = { ...matchMessages([message], cancels), properties: parse }
    const cause = {
      appId,
      contactId,
      timezone,
      hosts,
      eventId,
      properties,
      at: receivedAt,
      occurredAt,
    }
    planArrival({ emails, changes: [], takeId }, matched, cause)
  }
  return [...handed, ...emails.waiting].map(({ eventId, parts }) => ({
    lead: eventId,
    joined: new Set(parts.map((part) => part.eventId)),
  }))
}
