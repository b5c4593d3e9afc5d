/**
 * Plans a batch of writes about people: what is stored of each, and which emails it triggers, joins and cancels. In order:
 * each write sees what those before it changed. Plain data in, plain data out.
 */
import { type KnownOutcomes, planOnce } from '../accounts/idempotency.ts'
import { createIdRange } from '../core/ids.ts'
import { isTooOld } from '../events/event-input.ts'
import { collectMsOf, dedupeKeyOf, isPerPerson } from '../messages/again.ts'
import {
  bringsNames,
  type ChangedContact,
  changeContact,
  fillEmptyNames,
  findPerson,
  isKnown,
  makePerson,
  monthOf,
  noPeopleChanges,
  type PeopleChanges,
  type Person,
} from '../people/plan.ts'
import type { Arrival } from '../store/delivery-rules.ts'
import { LISTED_EVENTS } from '../store/message-types.ts'
import type { LiveMessage } from '../store/live-messages.ts'
import {
  type AppFacts,
  type Asked,
  type BatchPeople,
  type EmailAsk,
  type Facts,
  isRefused,
  type KnownPerson,
  type Matched,
  type MessageAsk,
  type NewEvent,
  type NewReport,
  type PersonFacts,
  type Plan,
  type PlannedOutcome,
  type PlannedWrite,
  type Planner,
} from '../store/plan-types.ts'
import type { ContactWrite, EventWrite, NameField, RecordedEvent, Refused, SavedContact } from '../store/types.ts'
import { type BatchWrite, PAGE_NAME, type ReportedItem, type StoredBatch } from '../store/visit-reports.ts'
import { hashBatchId, planReport } from '../visits/plan.ts'
import {
  asksAny,
  CAME_BACK_MS,
  type Emails,
  emailsOf,
  matchEvent,
  matchMessages,
  matchReturn,
  planArrival,
} from './arrivals.ts'
import { isTimed } from './decide.ts'

const DAY_MS = 24 * 3_600_000
/** A message waits up to 30 days, and its email is tried for up to 30 more. */
const LONGEST_WAIT_MS = 61 * DAY_MS

/** Whom a write is about, as they were before the batch. */
function personOf(people: BatchPeople, index: number): PersonFacts {
  const person = people[index]
  if (!person) throw new Error('a write was planned without facts')
  return person
}

/** What planning the batch takes besides the rules and who is known; nothing that no rule asks about. */
export const askFacts: Planner['askFacts'] = (batch, people) => {
  const asked: Asked = {
    names: [],
    contacts: [],
    reports: [],
    newcomers: [],
    months: [],
    outcomes: [],
    emails: [],
    matches: new Map(),
  }
  const emails = new Map<PersonFacts, EmailAsk>()
  for (const [index, write] of batch.entries()) {
    if (write.name !== 'recordBatch' && write.input.idempotency) asked.outcomes.push(write.input.idempotency)
    if (isRefused(write)) continue
    const person = personOf(people, index)
    if (!isKnown(person) && mayMake(write)) askOfNew(asked, person, write.input)
    const asking = { asked, emails, person, index }
    if (write.name === 'recordEvent') askOfEvent(asking, write.input)
    else if (write.name === 'recordBatch') askOfReport(asking, write.input)
    else if (isKnown(person)) askOfContact(asking, person, write.input)
  }
  asked.emails.push(...emails.values())
  return asked
}

const mayMake = (write: PlannedWrite): boolean =>
  'createContact' in write.input ? write.input.createContact : write.name === 'addContact'

type Asking = { asked: Asked; emails: Map<PersonFacts, EmailAsk>; person: PersonFacts; index: number }

function askOfNew({ newcomers, months }: Asked, person: PersonFacts, write: PlannedWrite['input']): void {
  const { accountId, email, newPeoplePerMonth, at } = write
  newcomers.push({ email, person })
  if (newPeoplePerMonth !== null) months.push({ accountId, month: monthOf(at) })
}

function askOfEvent(asking: Asking, write: EventWrite): void {
  const { asked, person } = asking
  if (isKnown(person) && bringsNames(write)) asked.names.push(person)
  const matched = matchEvent(person.app, write)
  if (matched) noteMatched(asking, write, { matched, at: write.at, occurredAt: write.occurredAt })
}

function askOfReport(asking: Asking, write: BatchWrite): void {
  const { asked, person, index } = asking
  asked.reports[index] = { person, batch: hashBatchId(write.batchId), at: write.at, isRepeated: false }
  if (asksNothing(person.app)) return
  for (const item of write.items) {
    const matched = matchItem(person.app, write, item)
    if (matched) noteMatched(asking, item, { matched, at: write.at, occurredAt: item.occurredAt })
  }
}

/** No visit means anything: most apps' reports are only kept. */
const asksNothing = ({ rules: { byEvent, byPage, cancelledBy }, hasDeliveries }: AppFacts): boolean =>
  byEvent.size === 0 && byPage.length === 0 && cancelledBy.size === 0 && !hasDeliveries

function matchItem(app: AppFacts, write: BatchWrite, item: ReportedItem): Matched | null {
  if (item.type === 'leave') return null
  if (item.type === 'here') return matchReturn(app, item.path, item.occurredAt)
  return matchEvent(app, eventOf(item, write))
}

/** As it is stored. */
const eventOf = ({ type, name, path, occurredAt }: ReportedItem, { appId, at }: BatchWrite) => ({
  appId,
  type: type === 'action' ? ('action' as const) : ('page' as const),
  name: name ?? PAGE_NAME,
  via: 'browser' as const,
  properties: null,
  path,
  at,
  occurredAt,
})

function askOfContact({ asked, emails }: Asking, person: KnownPerson, write: ContactWrite): void {
  const { app } = person
  asked.contacts.push(person)
  const { at, tags } = write
  const starts = tags.flatMap((tag) => app.rules.byTag.get(tag) ?? [])
  const cancels = changesCancel(app) ? noChange() : null
  if (starts.length > 0 || cancels) {
    askOfEmails(emails, { person, matched: matchMessages(starts, cancels) }, { at, occurredAt: at })
  }
}

const changesCancel = ({ rules: { cancelledBy } }: AppFacts): boolean =>
  cancelledBy.has('tag') || cancelledBy.has('field')

const noChange = (): Arrival => ({ addedTags: [], removedTags: [], fieldsBefore: {}, fieldsAfter: {} })

function noteMatched({ asked, emails, person }: Asking, source: object, came: When & { matched: Matched }): void {
  const { matched } = came
  asked.matches.set(source, matched)
  if (isKnown(person)) askOfEmails(emails, { person, matched }, came)
}

type Meant = { person: KnownPerson; matched: Matched }
type When = { at: number; occurredAt: number | null }

function askOfEmails(asks: Map<PersonFacts, EmailAsk>, { person, matched }: Meant, when: When): void {
  const { app } = person
  const { starts, cancels, seen } = matched
  const asksOld = app.hasDeliveries && (cancels !== null || seen !== null)
  if (starts.length === 0 && !asksOld) return
  const ask = asks.get(person) ?? noAsk(person)
  asks.set(person, ask)
  const occurredAt = when.occurredAt ?? when.at
  if (app.hasDeliveries && cancels) ask.waiting = 'path' in cancels ? 'withProperties' : later(ask.waiting)
  if (app.hasDeliveries && seen) ask.sentSince = Math.min(ask.sentSince ?? occurredAt, occurredAt - CAME_BACK_MS)
  for (const message of starts) {
    if (!isTooOld({ at: when.at, occurredAt })) askOfMessage(ask, message, { matched, at: when.at, occurredAt })
  }
}

const noAsk = (person: KnownPerson): EmailAsk => ({
  person,
  messages: new Map(),
  waiting: 'none',
  sentSince: null,
})

const later = (waiting: EmailAsk['waiting']): EmailAsk['waiting'] => (waiting === 'none' ? 'bare' : waiting)

type Came = { matched: Matched; at: number; occurredAt: number }

function askOfMessage({ messages }: EmailAsk, message: LiveMessage, { matched, at, occurredAt }: Came): void {
  const { again } = message.content
  const ask: MessageAsk = messages.get(message.id) ?? {
    message,
    keys: new Set(),
    asksCount: asksAny(message),
    asksHanded: isTimed(again),
    near: [],
    room: isPerPerson(again) ? Number.POSITIVE_INFINITY : LISTED_EVENTS - 1,
    limitedSince: null,
  }
  messages.set(message.id, ask)
  ask.keys.add(dedupeKeyOf(again, matched.properties))
  const withinMs = collectMsOf(again)
  if (withinMs === null) return
  ask.near.push({ from: occurredAt - withinMs, until: occurredAt + withinMs })
  // the batch itself may fill an email
  ask.room -= ask.near.length > 1 ? 1 : 0
  ask.limitedSince = Math.min(ask.limitedSince ?? at, at - LONGEST_WAIT_MS)
}

/** What the batch has changed so far; thrown away where it cannot be written. */
type Changes = {
  people: PeopleChanges
  outcomes: KnownOutcomes
  emails: Map<PersonFacts, Emails>
  events: NewEvent[]
  reports: NewReport[]
  reported: Map<PersonFacts, string[]>
  deliveries: Plan['deliveries']
  counted: Plan['counted']
  takeId: () => number
}

/** The rows to write and an outcome for each write. */
export const planWrites: Planner['planWrites'] = (batch, facts) => {
  const ids = createIdRange(facts.firstId)
  const changes: Changes = {
    people: noPeopleChanges(),
    outcomes: { stored: facts.outcomes, added: new Map() },
    emails: new Map(),
    events: [],
    reports: [],
    reported: new Map(),
    deliveries: [],
    counted: [],
    takeId: ids.next,
  }
  const outcomes = batch.map((write, index) => planWrite({ changes, facts, index }, write))
  const { people, events, reports, deliveries, counted } = changes
  return {
    outcomes,
    lastId: ids.last(),
    contacts: people.contacts,
    newPeople: [...people.added.values()],
    filledNames: people.filledNames,
    contactChanges: people.contactChanges,
    events,
    reports,
    deliveries,
    requests: [...changes.outcomes.added.values()].flatMap((parts) => [...parts.values()]),
    counted,
  }
}

const RATE_LIMITED: Refused = { refusal: 'rate_limited' }

/** `index`: the place of the write in the batch. */
type Planning = { changes: Changes; facts: Facts; index: number }

function planWrite(planning: Planning, write: PlannedWrite): PlannedOutcome {
  const idempotency = write.name === 'recordBatch' ? null : write.input.idempotency
  if (idempotency === null) return planNow(planning, write)
  const run = () => planNow(planning, write)
  return planOnce<Exclude<PlannedOutcome, Refused>>(planning.changes.outcomes, idempotency, run)
}

function planNow(planning: Planning, write: PlannedWrite): PlannedOutcome {
  if (isRefused(write)) return RATE_LIMITED
  if (write.name === 'recordEvent') return recordEvent(planning, write.input)
  return write.name === 'recordBatch' ? recordReport(planning, write.input) : saveContact(planning, write)
}

const NO_NAMES: NameField[] = []

/** One event, its person if they are new and may be made, and what both set off. */
function recordEvent(planning: Planning, write: EventWrite): RecordedEvent | Refused {
  const { changes, facts, index } = planning
  const known = personOf(facts.people, index)
  changes.counted.push(write)
  const found = findPerson(changes.people, known)
  if (!found && !write.createContact) return { refusal: 'contact_not_found' }
  const person = found ?? addPerson(planning, { ...write, source: null })
  if ('refusal' in person) return person
  const keptNames = found ? fillEmptyNames(changes.people, { facts: known, person: found }, write) : NO_NAMES
  const eventId = changes.takeId()
  changes.events.push({ id: eventId, contactId: person.id, event: write })
  const matched = facts.matches.get(write)
  if (matched) {
    const { properties, at } = write
    setOff(planning, matched, { contactId: person.id, eventId, properties, at, occurredAt: write.occurredAt ?? at })
  }
  const recorded = { contactId: person.id, eventId, created: found === null }
  return keptNames.length > 0 ? { ...recorded, keptNames } : recorded
}

/** Page views and actions as events, leaves and returns as presence only: all of a report, or nothing where it came before. */
function recordReport(planning: Planning, write: BatchWrite): StoredBatch | Refused {
  const { changes, facts, index } = planning
  const known = personOf(facts.people, index)
  const found = findPerson(changes.people, known)
  if (!found && !write.createContact) return { refusal: 'contact_not_found' }
  const nobody = { firstName: null, lastName: null, source: null }
  const person = found ?? addPerson(planning, { ...write, ...nobody })
  if ('refusal' in person) return person
  const created = found === null
  const contactId = person.id
  const report = facts.reports[index]
  if (!report) throw new Error('a visit report was planned without facts')
  if (report.isRepeated || (!known.isAlone && !isFirst(changes, known, write.batchId)))
    return { contactId, created, repeated: true }
  const tell = (item: ReportedItem, eventId: number | null): void => {
    const matched = facts.matches.get(item)
    if (!matched) return
    setOff(planning, matched, { contactId, eventId, properties: null, at: write.at, occurredAt: item.occurredAt })
  }
  for (const item of planReport(changes, { contactId, batch: report.batch }, write)) tell(item, null)
  for (const item of write.items) {
    if (item.type === 'leave' || item.type === 'here') continue
    const eventId = changes.takeId()
    changes.events.push({ id: eventId, contactId, event: eventOf(item, write) })
    tell(item, eventId)
  }
  return { contactId, created, repeated: false }
}

/** Whether this is the first report of the batch with this id of the person. */
function isFirst({ reported }: Changes, known: PersonFacts, batchId: string): boolean {
  const ids = reported.get(known)
  if (ids?.includes(batchId)) return false
  if (ids) ids.push(batchId)
  else reported.set(known, [batchId])
  return true
}

type ContactInput = Extract<PlannedWrite, { input: ContactWrite }>

/** Makes the person, or merges into a known one: what is added never touches source and status. */
function saveContact(planning: Planning, { name, input: write }: ContactInput): SavedContact | Refused {
  const { changes, facts, index } = planning
  const known = personOf(facts.people, index)
  changes.counted.push(write)
  const found = findPerson(changes.people, known)
  if (!found && name === 'updateContact') return { refusal: 'contact_not_found' }
  const names = { firstName: write.firstName ?? null, lastName: write.lastName ?? null }
  const person = found ?? addPerson(planning, { ...write, ...names })
  if ('refusal' in person) return person
  const changed = changeContact(changes.people, known, write, (held) =>
    name === 'updateContact' ? (write.source ?? held.source) : held.source,
  )
  if ('refusal' in changed) return changed
  const { before, after } = changed
  if (before !== after) tellOfChange(planning, changed)
  return { contactId: person.id, created: found === null, contact: after }
}

/** What a change settles of what waits, then what it triggers. */
function tellOfChange(planning: Planning, { before, after }: ChangedContact): void {
  const { app } = personOf(planning.facts.people, planning.index)
  const [old, tags] = [before.tags ?? [], after.tags ?? []]
  const addedTags = tags.filter((tag) => !old.includes(tag))
  const removedTags = old.filter((tag) => !tags.includes(tag))
  const change = { addedTags, removedTags, fieldsBefore: before.fields ?? {}, fieldsAfter: after.fields ?? {} }
  const starts = addedTags.flatMap((tag) => app.rules.byTag.get(tag) ?? [])
  const { id: contactId, updatedAt: at } = after
  const matched = matchMessages(starts, changesCancel(app) ? change : null)
  setOff(planning, matched, { contactId, eventId: null, properties: null, at, occurredAt: at })
}

function addPerson(planning: Planning, write: Parameters<typeof makePerson>[2]): Person | Refused {
  const { changes, facts, index } = planning
  const known = personOf(facts.people, index)
  const { takeId } = changes
  const made = makePerson(changes.people, { facts: known, newPeople: facts.newPeople, takeId }, write)
  const { onCreated } = known.app.rules
  if ('refusal' in made || onCreated.length === 0) return made
  const { at } = write
  setOff(planning, matchMessages(onCreated), {
    contactId: made.id,
    eventId: null,
    properties: null,
    at,
    occurredAt: at,
  })
  return made
}

type Happening = {
  contactId: number
  eventId: number | null
  properties: string | null
  at: number
  occurredAt: number
}

function setOff({ changes, facts, index }: Planning, matched: Matched, happening: Happening): void {
  const known = personOf(facts.people, index)
  const { app } = known
  const emails = changes.emails.get(known) ?? emailsOf(known.emails)
  changes.emails.set(known, emails)
  const { deliveries, takeId } = changes
  const cause = { ...happening, appId: app.id, timezone: app.rules.timezone }
  planArrival({ emails, changes: deliveries, takeId }, matched, cause)
}
