import type { Clock } from '../core/clock.ts'
import { createIdRange } from '../core/ids.ts'
import { collectMsOf } from '../messages/again.ts'
import { parseProperties } from '../messages/conditions.ts'
import type { Store } from '../store/store.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import { LISTED_EVENTS, type MessageContent, type MessageRow } from '../store/message-types.ts'
import type { ContactRow, EventRow } from '../store/types.ts'
import { type Emails, emailsOf, matchMessages, planArrival } from './arrivals.ts'
import type { AppRow } from '../accounts/access.ts'
import { UNKNOWN_PERSON } from '../people/contacts.ts'
import type { Sample } from '../messages/mailer.ts'
import { isStartedBy, nameOfStart } from '../messages/triggers.ts'
import { makeSampleFor, pickFilled, type SampleMoment, SEVERAL } from '../messages/message-samples.ts'
import { isRefusal, type Refusal } from '../core/refusals.ts'

const OFFERED = 10
const CHECKED_EVENTS = 200
const CHECKED_EVENTS_OF_PERSON = 500

/** `isMadeUp`: no stored person matches yet. */
export type FoundSample = { sample: Sample; isMadeUp: boolean }

type Asked = { app: AppRow; message: MessageRow; email: string | null; isSeveral?: boolean }

/**
 * The given person's last matching event; else the latest person; else sample data. `isSeveral`: sample data with
 * several events. Refusals: contact_not_found.
 */
export async function findSample(deps: Dependencies, asked: Asked): Promise<FoundSample | Refusal> {
  const found = await findMoment(deps, asked)
  if (isRefusal(found)) return found
  const { isMadeUp, ...moment } = found
  const { app, message } = asked
  return { sample: { ...moment, app, message, settings: await deps.store.mailSettings(app.id) }, isMadeUp }
}

type Dependencies = { store: Store; clock: Clock; templates: TemplateWorker }

type Found = SampleMoment & { isMadeUp: boolean }

async function findMoment(
  { store, clock, templates }: Dependencies,
  { app, message, email, isSeveral = false }: Asked,
): Promise<Found | Refusal> {
  const { content } = message
  if (isSeveral) {
    const several = await makeSampleFor(templates, app, { content, at: clock.now(), events: SEVERAL })
    return { ...several, isMadeUp: true }
  }
  if (email === null) {
    const settings = await store.mailSettings(app.id)
    const last = await pickFilled(templates, { app, content, settings }, await listSamples(store, app, content))
    if (last) return { ...last, isMadeUp: false }
    return { ...(await makeSampleFor(templates, app, { content, at: clock.now() })), isMadeUp: true }
  }
  const contact = await store.findContact(app.id, email)
  return contact ? { contact, ...(await findEmail(store, app, message, contact)), isMadeUp: false } : UNKNOWN_PERSON
}

async function findEmail(store: Store, app: AppRow, { content }: MessageRow, contact: ContactRow) {
  const { trigger } = content
  if (!('event' in trigger)) return { event: null, joined: [] }
  const query = {
    appId: app.id,
    contactId: contact.id,
    name: trigger.event,
    before: null,
    limit: CHECKED_EVENTS_OF_PERSON,
  }
  const { rows } = await store.listEvents(query)
  return takeEmail(
    app,
    content,
    rows.filter((row) => isStartedBy(trigger, row)),
  )
}

/** The last email of each of the latest people. */
export async function listSamples(store: Store, app: AppRow, content: MessageContent): Promise<SampleMoment[]> {
  const { trigger } = content
  const name = nameOfStart(trigger)
  if (name === null) {
    const tag = 'tag' in trigger ? trigger.tag : null
    const query = { appId: app.id, tag, updatedAfter: null, before: null, limit: OFFERED }
    return (await store.listContacts(query)).map((contact) => ({ contact, event: null, joined: [] }))
  }
  const query = { appId: app.id, contactId: null, name, before: null, limit: CHECKED_EVENTS }
  const { rows } = await store.listEvents(query)
  const people = Map.groupBy(
    rows.filter((row) => isStartedBy(trigger, row)),
    ({ contactId }) => contactId,
  )
  const found = [...people].slice(0, OFFERED).map(async ([id, own]) => ({ contact: await store.byId(id), own }))
  return (await Promise.all(found)).flatMap(({ contact, own }) =>
    contact ? [{ contact, ...takeEmail(app, content, own) }] : [],
  )
}

/** The email of a person's last event; `rows`: their matching events, newest first. */
function takeEmail(app: AppRow, content: MessageContent, rows: readonly EventRow[]): Omit<SampleMoment, 'contact'> {
  const [newest] = rows
  if (!newest || newest.type === 'page') return { event: null, joined: [] }
  if (collectMsOf(content.again) === null) return { event: newest, joined: [] }
  const emails = planEmails(app, content, rows)
  for (const { id } of rows) {
    const email = emails.find(({ lead, joined }) => lead === id || joined.has(id))
    if (!email) continue
    const joined = rows
      .filter((row) => email.joined.has(row.id))
      .toSorted(byTime)
      .slice(0, LISTED_EVENTS - 1)
    return { event: rows.find((row) => row.id === email.lead) ?? newest, joined: joined.map((event) => ({ event })) }
  }
  return { event: newest, joined: [] }
}

const byTime = (a: EventRow, b: EventRow): number => a.occurredAt - b.occurredAt || a.id - b.id

/** By the ids of their events, as if those arrived one after another. */
function planEmails({ id: appId, timezone, hosts }: AppRow, content: MessageContent, rows: readonly EventRow[]) {
  const emails = emailsOf(null)
  const left: Emails['waiting'] = []
  const message = { id: 0, version: 1, content }
  const takeId = createIdRange(1).next
  for (const { id: eventId, contactId, name, properties, receivedAt: at, occurredAt } of rows.toReversed()) {
    left.push(...emails.waiting.filter(({ dueAt }) => dueAt < at))
    emails.waiting = emails.waiting.filter(({ dueAt }) => dueAt >= at)
    const matched = matchMessages([message], { event: name, occurredAt })
    const cause = { appId, contactId, timezone, hosts, eventId, properties, at, occurredAt }
    planArrival({ emails, changes: [], takeId }, { ...matched, properties: () => parseProperties(properties) }, cause)
  }
  return [...left, ...emails.waiting].map(({ eventId, parts }) => ({
    lead: eventId,
    joined: new Set(parts.map((part) => part.eventId)),
  }))
}
