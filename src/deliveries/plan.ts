/**
 * Plans a batch of writes about people: the rows to store, and which emails to start, extend or cancel. Pure: each write
 * sees the changes of the writes before it.
 */
import { DAY_MS } from '../core/clock.ts'
import { readDate } from '../core/dates.ts'
import { planOnce } from '../accounts/idempotency.ts'
import { findFull } from '../accounts/limits.ts'
import { findRequestLanguage, textOf, versionOf, writeRequest } from '../accounts/opt-in.ts'
import type { KnownOutcomes } from '../store/idempotency.ts'
import { createIdRange } from '../core/ids.ts'
import { TEST_EVENT } from '../events/activation.ts'
import { collectMsOf, dedupeKeyOf, isPerPerson, isPerTrigger } from '../messages/again.ts'
import { parseProperties } from '../messages/conditions.ts'
import {
  addSeenTimes,
  bringsNames,
  type ChangedContact,
  changeContact,
  confirmPerson,
  fillEmptyNames,
  findFields,
  findPerson,
  isKnown,
  listChangedNames,
  makePerson,
  monthOf,
  noPeopleChanges,
  type PeopleChanges,
  type Person,
  statusOfNew,
} from '../people/plan.ts'
import { mayAskFrom } from '../people/consent.ts'
import { ownTimezone } from '../people/timezone.ts'
import type { Confirmation, NewConsent } from '../store/consents.ts'
import type { Arrival, RuleArrival } from '../store/delivery-rules.ts'
import { LISTED_EVENTS, type MessageContent, type SendWrite, type SentMail } from '../store/message-types.ts'
import type { LiveMessage } from '../store/live-messages.ts'
import {
  type AppFacts,
  type FactQuery,
  type BatchPeople,
  type EmailQuery,
  type Facts,
  isRefused,
  type KnownPerson,
  type Matched,
  type MemberNote,
  type MessageQuery,
  type NewEvent,
  type NewReport,
  type PersonFacts,
  type Plan,
  type PlannedOutcome,
  type PlannedWrite,
  type Planner,
  type StartedMessages,
} from '../store/plan-types.ts'
import type { ScheduleChange } from '../store/schedules.ts'
import type { StartWrite } from '../store/start-writes.ts'
import type { NewOwnText, NewSend } from '../store/sends.ts'
import type {
  ConfirmedConsent,
  ConsentWrite,
  ContactWrite,
  EventWrite,
  NameField,
  PersonWrite,
  RecordedEvent,
  Refused,
  SavedContact,
  StoredContact,
} from '../store/types.ts'
import { type VisitReportWrite, PAGE_NAME, type ReportedItem, type StoredVisitReport } from '../store/visit-reports.ts'
import { findLastReport, hashReportId, planReport } from '../visits/visit-reports.ts'
import {
  countsEarlierVersions,
  CAME_BACK_MS,
  type Emails,
  emailsOf,
  matchEvent,
  matchLeave,
  matchMessages,
  matchReturn,
  planArrival,
} from './arrivals.ts'
import { comesTooLate, isTimed } from './decide.ts'
import { dateOfDue, dueByDate, isDateTrigger } from './schedules.ts'

/** Up to 30 days of waiting, a week until the window opens and 30 days of retries. */
export const LONGEST_WAIT_MS = 68 * DAY_MS

/** The person of a write, as stored before the batch. */
function personOf(people: BatchPeople, index: number): PersonFacts {
  const person = people[index]
  if (!person) throw new Error('a write was planned without facts')
  return person
}

/** The facts that the batch needs. Facts of emails are loaded only if a live message needs them. */
export const queryFacts: Planner['queryFacts'] = (batch, people) => {
  const query: FactQuery = {
    names: [],
    contacts: [],
    reports: [],
    newcomers: [],
    asked: [],
    months: [],
    outcomes: [],
    emails: [],
    matches: new Map(),
  }
  const emails = new Map<PersonFacts, EmailQuery>()
  for (const [index, write] of batch.entries()) {
    if (write.name !== 'recordVisitReport' && write.input.idempotency) query.outcomes.push(write.input.idempotency)
    if (isRefused(write)) continue
    const person = personOf(people, index)
    if (!isKnown(person) && mayMake(write)) queryNewcomer(query, person, write.input)
    const context = { query, emails, person, index }
    if (write.name === 'recordEvent') queryForEvent(context, write.input)
    else if (write.name === 'recordVisitReport') queryForReport(context, write.input)
    else if (write.name === 'sendMail') queryForSend(context, write.input)
    else if (write.name === 'confirmConsent') queryForConsent(context, write.input)
    else if (write.name === 'startMessages') queryForStart(context, write.input)
    else if (isKnown(person)) queryForContact(context, person, write.input)
  }
  query.emails.push(...emails.values())
  return query
}

type MakingWrite = Exclude<PlannedWrite, { name: 'startMessages' }>

const mayMake = (write: PlannedWrite): write is MakingWrite =>
  'createContact' in write.input ? write.input.createContact : write.name === 'addContact'

type Context = { query: FactQuery; emails: Map<PersonFacts, EmailQuery>; person: PersonFacts; index: number }

function queryNewcomer({ newcomers, months }: FactQuery, person: PersonFacts, write: MakingWrite['input']): void {
  const { accountId, email, newPeoplePerMonth, at } = write
  newcomers.push({ email, person })
  if (newPeoplePerMonth !== null) months.push({ accountId, month: monthOf(at) })
}

function queryForEvent(context: Context, write: EventWrite): void {
  const { query, person } = context
  if (isKnown(person) && bringsNames(write)) query.names.push(person)
  const matched = matchEvent(person.app, write)
  if (matched) addMatch(context, write, { matched, at: write.at, occurredAt: write.occurredAt })
}

function queryForReport(context: Context, write: VisitReportWrite): void {
  const { query, person, index } = context
  query.reports[index] = { person, batch: hashReportId(write.reportId), at: write.at, isRepeated: false }
  if (isWithoutRules(person.app)) return
  for (const item of write.items) {
    const matched = matchItem(person, write, item)
    if (matched) addMatch(context, item, { matched, at: write.at, occurredAt: item.occurredAt })
  }
}

/** Reports of most apps are only stored. */
const isWithoutRules = ({ rules: { byEvent, byPage, cancelledBy }, hasDeliveries }: AppFacts): boolean =>
  byEvent.size === 0 && byPage.length === 0 && cancelledBy.size === 0 && !hasDeliveries

function matchItem({ app, isUnsure }: PersonFacts, write: VisitReportWrite, item: ReportedItem): Matched | null {
  // what is stored of the report: a simulation knows no other leave
  if (item.type === 'leave') return isUnsure && item === findLastReport(write.items) ? matchLeave() : null
  if (item.type === 'here') return matchReturn(app, item.path, item.occurredAt)
  return matchEvent(app, eventOf(item, write))
}

const eventOf = ({ type, name, path, occurredAt }: ReportedItem, { appId, at }: VisitReportWrite) => ({
  appId,
  type: type === 'action' ? ('action' as const) : ('page' as const),
  name: name ?? PAGE_NAME,
  via: 'browser' as const,
  properties: null,
  path,
  at,
  occurredAt,
})

function queryForContact({ query, emails }: Context, person: KnownPerson, write: ContactWrite): void {
  const { app } = person
  query.contacts.push(person)
  const { at, tags, asksConsent } = write
  if (asksConsent) query.asked.push(person)
  const starts = tags.flatMap((tag) => app.rules.byTag.get(tag) ?? [])
  const cancels = changesCancel(app) ? noChange() : null
  if (starts.length > 0 || cancels) {
    queryEmails(emails, { person, matched: matchMessages(starts, cancels) }, { at, occurredAt: at })
  }
}

const changesCancel = ({ rules: { cancelledBy } }: AppFacts): boolean =>
  cancelledBy.has('tag') || cancelledBy.has('field')

const noChange = (): RuleArrival => ({ addedTags: [], removedTags: [], fieldsBefore: {}, fieldsAfter: {} })

function addMatch({ query, emails, person }: Context, source: object, occurrence: When & { matched: Matched }): void {
  const { matched } = occurrence
  query.matches.set(source, matched)
  if (isKnown(person)) queryEmails(emails, { person, matched }, occurrence)
}

function queryForSend({ query, person }: Context, write: SendWrite): void {
  if (isKnown(person) && bringsNames(write)) query.names.push(person)
}

function queryForConsent({ query, emails, person }: Context, { at }: ConsentWrite): void {
  if (!isKnown(person)) return
  query.contacts.push(person)
  const { onCreated } = person.app.rules
  if (onCreated.length > 0) queryEmails(emails, { person, matched: matchMessages(onCreated) }, { at, occurredAt: at })
}

function queryForStart(context: Context, write: StartWrite): void {
  const { messages, trigger, properties, at, occurredAt } = write
  const starts = matchMessages([...messages], findDate(messages, occurredAt))
  const matched = { ...starts, properties: () => parseProperties(properties), trigger }
  addMatch(context, write, { matched, at, occurredAt })
}

/** The date by which a person triggers a message. */
function findDate([message]: readonly LiveMessage[], dueAt: number): Arrival | null {
  const trigger = message?.content.trigger
  return trigger && isDateTrigger(trigger) ? { field: trigger.date, date: dateOfDue(trigger, dueAt) } : null
}

type Concerned = { person: KnownPerson; matched: Matched }
type When = { at: number; occurredAt: number | null }

function queryEmails(queries: Map<PersonFacts, EmailQuery>, { person, matched }: Concerned, when: When): void {
  const { app } = person
  const { starts, cancels, seen, goal, isLeave = false } = matched
  const concernsEarlier = app.hasDeliveries && (cancels !== null || seen !== null || goal !== null || isLeave)
  if (starts.length === 0 && !concernsEarlier) return
  const query = queries.get(person) ?? emptyEmailQuery(person)
  queries.set(person, query)
  const occurredAt = when.occurredAt ?? when.at
  if (app.hasDeliveries && cancels)
    query.waiting = needsProperties(app, cancels) ? 'withProperties' : atLeastBare(query.waiting)
  if (app.hasDeliveries && isLeave) query.waiting = atLeastBare(query.waiting)
  if (app.hasDeliveries && seen) query.sentSince = Math.min(query.sentSince ?? occurredAt, occurredAt - CAME_BACK_MS)
  if (app.hasDeliveries && goal) {
    const since = occurredAt - goal.withinMs
    query.goalsSince = Math.min(query.goalsSince ?? since, since)
  }
  for (const message of starts) {
    const occurrence = { at: when.at, occurredAt }
    if (!comesTooLate(message.content.trigger, occurrence)) queryMessage(query, message, { matched, ...occurrence })
  }
  query.needsTimezone ||= starts.some(waitsForTimeOfDay)
}

const needsProperties = ({ rules }: AppFacts, cancels: Arrival): boolean =>
  'path' in cancels || ('event' in cancels && rules.comparedEvents.has(cancels.event))

const waitsForTimeOfDay = ({ content: { wait } }: LiveMessage): boolean => wait !== undefined && 'until' in wait

const emptyEmailQuery = (person: KnownPerson): EmailQuery => ({
  person,
  needsTimezone: false,
  messages: new Map(),
  waiting: 'none',
  sentSince: null,
  goalsSince: null,
})

const atLeastBare = (waiting: EmailQuery['waiting']): EmailQuery['waiting'] => (waiting === 'none' ? 'bare' : waiting)

type Occurrence = { matched: Matched; at: number; occurredAt: number }

function queryMessage({ messages }: EmailQuery, message: LiveMessage, { matched, at, occurredAt }: Occurrence): void {
  const { again } = message.content
  const query: MessageQuery = messages.get(message.id) ?? {
    message,
    keys: new Set(),
    // the same date may have another key
    needsKeys: isDateTrigger(message.content.trigger) && isPerTrigger(again),
    needsCount: countsEarlierVersions(message),
    needsHanded: isTimed(again),
    near: [],
    room: isPerPerson(again) ? Number.POSITIVE_INFINITY : LISTED_EVENTS - 1,
    limitedSince: null,
  }
  messages.set(message.id, query)
  query.keys.add(dedupeKeyOf(again, matched.properties, matched.trigger))
  const withinMs = collectMsOf(again)
  if (withinMs === null) return
  query.near.push({ from: occurredAt - withinMs, until: occurredAt + withinMs })
  // earlier events of this batch may fill an email
  query.room -= query.near.length > 1 ? 1 : 0
  query.limitedSince = Math.min(query.limitedSince ?? at, at - LONGEST_WAIT_MS)
}

/** What the batch changed so far; discarded on rollback. */
type Changes = {
  people: PeopleChanges
  memberNotes: MemberNote[]
  outcomes: KnownOutcomes
  emails: Map<PersonFacts, Emails>
  events: NewEvent[]
  reports: NewReport[]
  reported: Map<PersonFacts, string[]>
  deliveries: Plan['deliveries']
  schedules: Plan['schedules']
  /** by app */
  ownTexts: Map<number, NewOwnText>
  sends: NewSend[]
  consents: NewConsent[]
  confirmations: Confirmation[]
  counted: Plan['counted']
  /** of limits, by bucket, with the writes of the batch */
  used: Map<string, number>
  takeId: () => number
}

export const planWrites: Planner['planWrites'] = (batch, facts) => {
  const ids = createIdRange(facts.firstId)
  const changes: Changes = {
    people: noPeopleChanges(),
    memberNotes: [],
    outcomes: { stored: facts.outcomes, added: new Map() },
    emails: new Map(),
    events: [],
    reports: [],
    reported: new Map(),
    deliveries: [],
    schedules: [],
    ownTexts: new Map(),
    sends: [],
    consents: [],
    confirmations: [],
    counted: [],
    used: new Map(),
    takeId: ids.next,
  }
  const outcomes = batch.map((write, index) => planWrite({ changes, facts, index }, write))
  const { people, events, reports, deliveries, schedules, ownTexts, sends, consents, confirmations, counted } = changes
  return {
    outcomes,
    lastId: ids.last(),
    contacts: people.contacts,
    newPeople: [...people.added.values()],
    personChanges: people.personChanges,
    memberNotes: changes.memberNotes,
    events,
    reports,
    deliveries,
    schedules,
    ownTexts: [...ownTexts.values()],
    sends,
    consents,
    confirmations,
    requests: [...changes.outcomes.added.values()].flatMap((parts) => [...parts.values()]),
    counted,
  }
}

const RATE_LIMITED: Refused = { refusal: 'rate_limited' }

/** `index`: of the write in the batch. */
type Planning = { changes: Changes; facts: Facts; index: number }

function planWrite(planning: Planning, write: PlannedWrite): PlannedOutcome {
  const run = () => planNow(planning, write)
  if (write.name === 'recordVisitReport') return run()
  const { input } = write
  if (input.idempotency === null) return run()
  const { idempotency, appId, accountId } = input
  const request = { ...idempotency, appId, accountId }
  return planOnce<Exclude<PlannedOutcome, Refused>>(planning.changes.outcomes, request, run)
}

function planNow(planning: Planning, write: PlannedWrite): PlannedOutcome {
  if (isRefused(write)) return RATE_LIMITED
  if (write.name === 'recordEvent') return recordEvent(planning, write.input)
  if (write.name === 'sendMail') return sendMail(planning, write.input)
  if (write.name === 'confirmConsent') return confirmConsent(planning, write.input)
  if (write.name === 'startMessages') return startMessages(planning, write.input)
  return write.name === 'recordVisitReport' ? recordReport(planning, write.input) : saveContact(planning, write)
}

/** Counts a write, unless it exceeds a limit that several instances share. */
function countWrite(
  { changes, facts }: Planning,
  { limits, at }: Pick<PersonWrite, 'limits' | 'at'>,
  count = 1,
): Refused | null {
  const usedOf = (bucket: string): number | undefined => changes.used.get(bucket) ?? facts.used.get(bucket)
  const full = findFull(limits, usedOf, count)
  if (full !== null) return { ...RATE_LIMITED, bucket: full.bucket }
  for (const { bucket } of limits) {
    const used = usedOf(bucket)
    if (used !== undefined) changes.used.set(bucket, used + count)
  }
  changes.counted.push({ limits, count, at })
  return null
}

const NO_NAMES: NameField[] = []

/** Stores the event, creates the person if allowed, and applies both to the person's emails. */
function recordEvent(planning: Planning, write: EventWrite): RecordedEvent | Refused {
  const { changes, facts, index } = planning
  const known = personOf(facts.people, index)
  const limited = countWrite(planning, write)
  if (limited) return limited
  const found = findPerson(changes.people, known)
  if (!found && !write.createContact) return { refusal: 'contact_not_found' }
  const add = write.name === TEST_EVENT ? addQuietly : addPerson
  const person = found ?? add(planning, { ...write, source: null })
  if ('refusal' in person) return person
  const keptNames = found ? fillEmptyNames(changes.people, { facts: known, person: found }, write) : NO_NAMES
  const eventId = changes.takeId()
  changes.events.push({ id: eventId, contactId: person.id, event: write })
  const matched = facts.matches.get(write)
  if (matched) {
    const { properties, at } = write
    applyToEmails(planning, matched, {
      contactId: person.id,
      eventId,
      properties,
      at,
      occurredAt: write.occurredAt ?? at,
    })
  }
  const recorded = { contactId: person.id, eventId, created: found === null }
  return keptNames.length > 0 ? { ...recorded, keptNames } : recorded
}

function startMessages(planning: Planning, write: StartWrite): StartedMessages | Refused {
  const { changes, facts, index } = planning
  const person = findPerson(changes.people, personOf(facts.people, index))
  if (!person) return { refusal: 'contact_not_found' }
  const { eventId, properties, at, occurredAt } = write
  const matched = facts.matches.get(write)
  if (matched) applyToEmails(planning, matched, { contactId: person.id, eventId, properties, at, occurredAt })
  return { contactId: person.id }
}

/** Emails the person at once, and starts no other message. */
function sendMail(planning: Planning, write: SendWrite): SentMail | Refused {
  const { changes, facts, index } = planning
  const known = personOf(facts.people, index)
  const limited = countWrite(planning, write)
  if (limited) return limited
  const found = findPerson(changes.people, known)
  if (!found && !write.createContact) return { refusal: 'contact_not_found' }
  const message = findSent(planning, write)
  if (message === null) return { refusal: 'message_not_live' }
  const person = found ?? addQuietly(planning, { ...write, source: null })
  if ('refusal' in person) return person
  const keptNames = found ? fillEmptyNames(changes.people, { facts: known, person: found }, write) : NO_NAMES
  const { unlinked } = write
  return {
    contactId: person.id,
    deliveryId: sendNow(changes, { ...write, contactId: person.id, message }),
    created: found === null,
    ...(unlinked > 0 ? { unlinked } : {}),
    ...(keptNames.length > 0 ? { keptNames } : {}),
  }
}

type SentNow = Pick<NewSend, 'appId' | 'keyId' | 'properties' | 'mail'> & {
  contactId: number
  message: Pick<LiveMessage, 'id' | 'version'>
  at: number
}

/** @returns the id of the delivery */
function sendNow(changes: Changes, { appId, contactId, message, keyId, properties, mail, at }: SentNow): number {
  const id = changes.takeId()
  const sent = { id, appId, contactId, messageId: message.id, version: message.version, eventId: null }
  // each is an email of its own
  const dedupeKey = `send ${id}`
  const times = { triggeredAt: at, dueAt: at, at }
  changes.deliveries.push({ change: 'start', ...sent, dedupeKey, joinedTo: null, ...times })
  changes.sends.push({ deliveryId: id, appId, keyId, properties, mail })
  return id
}

const OWN_TEXT: MessageContent = {
  trigger: { api: 'send' },
  mail: { subject: '', body: '', category: 'transactional' },
  isOwnText: true,
}

/** Null: the message is not live any more. */
function findSent(planning: Planning, write: SendWrite): Pick<LiveMessage, 'id' | 'version'> | null {
  const { rules } = personOf(planning.facts.people, planning.index).app
  return write.messageId === null ? findOwnText(planning, write) : (rules.bySend.get(write.messageId) ?? null)
}

/** The message behind all emails that have a text of their own. */
function findOwnText(
  { changes, facts, index }: Planning,
  { accountId, appId, at }: Pick<PersonWrite, 'accountId' | 'appId' | 'at'>,
): Pick<LiveMessage, 'id' | 'version'> {
  const { rules } = personOf(facts.people, index).app
  const own = rules.ownText ?? changes.ownTexts.get(appId)
  if (own) return { id: own.id, version: 1 }
  const made = { id: changes.takeId(), accountId, appId, content: OWN_TEXT, at }
  changes.ownTexts.set(appId, made)
  return { id: made.id, version: 1 }
}

/** Page views and actions become events; leaves and returns only change presence. A repeated report changes nothing. */
function recordReport(planning: Planning, write: VisitReportWrite): StoredVisitReport | Refused {
  const { changes, facts, index } = planning
  const known = personOf(facts.people, index)
  const found = findPerson(changes.people, known)
  const report = facts.reports[index]
  if (!report) throw new Error('a visit report was planned without facts')
  const isRepeated = report.isRepeated || changes.reported.get(known)?.includes(write.reportId) === true
  if (found && isRepeated) return { contactId: found.id, created: false, repeated: true }
  const limited = countWrite(planning, write, write.items.length)
  if (limited) return limited
  if (!found && !write.createContact) return { refusal: 'contact_not_found' }
  const nobody = { firstName: null, lastName: null, source: null }
  const person = found ?? addPerson(planning, { ...write, ...nobody })
  if ('refusal' in person) return person
  const created = found === null
  const contactId = person.id
  if (!known.isAlone) noteReport(changes, known, write.reportId)
  const applyItem = (item: ReportedItem): void => {
    const eventId = item.type === 'here' || item.type === 'leave' ? null : changes.takeId()
    if (eventId !== null) changes.events.push({ id: eventId, contactId, event: eventOf(item, write) })
    const matched = facts.matches.get(item)
    if (!matched) return
    const { at } = write
    applyToEmails(planning, matched, { contactId, eventId, properties: null, at, occurredAt: item.occurredAt })
  }
  planReport(changes, { contactId, batch: report.batch }, write, applyItem)
  return { contactId, created, repeated: false }
}

/** So that the same report is not stored again by the batch. */
function noteReport({ reported }: Changes, known: PersonFacts, reportId: string): void {
  const ids = reported.get(known)
  if (ids) ids.push(reportId)
  else reported.set(known, [reportId])
}

type ContactInput = Extract<PlannedWrite, { input: ContactWrite }>

/** Creates the person or merges into the stored one. An add never changes the source or status. */
function saveContact(planning: Planning, { name, input: write }: ContactInput): SavedContact | Refused {
  const { changes, facts, index } = planning
  const known = personOf(facts.people, index)
  const limited = countWrite(planning, write)
  if (limited) return limited
  const found = findPerson(changes.people, known)
  if (!found && name === 'updateContact') return { refusal: 'contact_not_found' }
  const { firstName = null, lastName = null, source = null } = write
  const isPending = write.asksConsent !== undefined || write.imported?.isPending === true
  const add = write.imported ? addQuietly : addPerson
  const person = found ?? add(planning, { ...write, firstName, lastName, source, isPending })
  if ('refusal' in person) return person
  const changed = changeContact(changes.people, known, write, (stored) =>
    name === 'updateContact' && write.source !== undefined ? write.source : stored.source,
  )
  if ('refusal' in changed) return changed
  const { before, after } = changed
  if (before !== after) applyContactChange(planning, changed, write)
  const isAsked = askConsent(planning, after, write)
  noteMember(changes, write, person.id, { contact: found ? changed : null, isAsked })
  const contact = addSeenTimes(after, known, changes.events)
  const wrongDates = known.app.rules.dates.length === 0 ? [] : listWrongDates(known.app.rules.dates, write.fields ?? {})
  return {
    contactId: person.id,
    created: found === null,
    contact,
    ...(isAsked ? { isAsked } : {}),
    ...(wrongDates.length > 0 ? { wrongDates } : {}),
  }
}

/** `contact`: null if the member added it. Imports have an entry of their own in the audit log. */
function noteMember(
  { memberNotes }: Changes,
  { accountId, appId, at, actor, imported }: ContactWrite,
  contactId: number,
  { contact, isAsked }: { contact: ChangedContact | null; isAsked: boolean },
): void {
  if (actor === undefined || imported) return
  const note = (action: MemberNote['action'], changed: string[] = []) =>
    memberNotes.push({ accountId, appId, contactId, actor, at, action, changed })
  if (contact === null) {
    note('contact.add')
    return
  }
  const changed = listChangedNames(contact)
  if (changed.length > 0) note('contact.change', changed)
  if (isAsked) note('contact.ask')
}

/** Sent fields by whose date a live message is triggered, and that are no dates. */
function listWrongDates(dates: AppFacts['rules']['dates'], sent: NonNullable<ContactWrite['fields']>): string[] {
  const isWrong = (name: string): boolean => {
    const value = Object.hasOwn(sent, name) ? sent[name] : null
    const isEmpty = value == null || (typeof value === 'string' && value.trim() === '')
    return !isEmpty && readDate(value, 'UTC') === undefined
  }
  return [...new Set(dates.map(({ trigger }) => trigger.date))].filter(isWrong)
}

/** Emails a pending person the link that confirms the address, unless they got it lately. */
function askConsent(
  planning: Planning,
  { id: contactId, status, fields }: StoredContact,
  write: ContactWrite,
): boolean {
  const { changes, facts, index } = planning
  const { app, asked } = personOf(facts.people, index)
  const { optIn, mailLanguages, textsLang } = app.rules
  const { appId, at, asksConsent: source } = write
  if (source === undefined || status !== 'pending' || optIn === null) return false
  const now = changes.consents.flatMap((one) => (one.contactId === contactId ? one.askedAt : []))
  if (mayAskFrom(source, [...(asked ?? []), ...now], at) > at) return false
  const language = findRequestLanguage(optIn, fields, [...mailLanguages])
  const text = textOf(optIn, language, textsLang)
  const sent = { appId, contactId, message: findOwnText(planning, write), at, keyId: null, properties: null }
  const id = sendNow(changes, { ...sent, mail: writeRequest(text, language) })
  changes.consents.push({ id, appId, contactId, askedAt: at, source, wording: versionOf(text), text })
  return true
}

/** The messages for new people start now. */
function confirmConsent(planning: Planning, write: ConsentWrite): ConfirmedConsent | Refused {
  const { changes, facts, index } = planning
  const known = personOf(facts.people, index)
  const { consentId: id, at, address } = write
  const row = confirmPerson(changes.people, known, at)
  if (row === null) return { refusal: 'contact_not_found' }
  const { id: contactId, status } = row
  if (status !== 'pending') return { contactId, status }
  changes.confirmations.push({ id, contactId, at, address })
  startForNew(planning, { contactId, at })
  return { contactId, status: 'subscribed' }
}

/** Cancels waiting emails by changed tags and fields, then starts those that added tags trigger. */
function applyContactChange(
  planning: Planning,
  { before, after }: ChangedContact,
  { imported }: Pick<ContactWrite, 'imported'>,
): void {
  const { app } = personOf(planning.facts.people, planning.index)
  const [old, tags] = [before.tags ?? [], after.tags ?? []]
  const addedTags = tags.filter((tag) => !old.includes(tag))
  const removedTags = old.filter((tag) => !tags.includes(tag))
  const change = { addedTags, removedTags, fieldsBefore: before.fields ?? {}, fieldsAfter: after.fields ?? {} }
  const starts = imported ? [] : addedTags.flatMap((tag) => app.rules.byTag.get(tag) ?? [])
  const { id: contactId, updatedAt: at } = after
  const matched = matchMessages(starts, changesCancel(app) ? change : null)
  applyToEmails(planning, matched, { contactId, eventId: null, properties: null, at, occurredAt: at })
  planning.changes.schedules.push(...planDates(app.rules, { before, after }))
}

/** A changed date moves its person, and one whose time is over triggers nothing. */
function planDates({ dates, timezone }: AppFacts['rules'], { before, after }: ChangedContact): ScheduleChange[] {
  return dates.flatMap(({ scheduleId, trigger }) => {
    const [old, dueAt] = [before, after].map(({ fields }) => dueByDate(trigger, fields ?? {}, timezone))
    if (dueAt === undefined || dueAt === old) return []
    const isAhead = dueAt !== null && dueAt > after.updatedAt
    return [{ appId: after.appId, scheduleId, contactId: after.id, dueAt: isAhead ? dueAt : null }]
  })
}

type Added = Parameters<typeof makePerson>[2] & Partial<Pick<ContactWrite, 'fields'>>

/** Starts no message. */
function addQuietly({ changes, facts, index }: Planning, write: Added): Person | Refused {
  const known = personOf(facts.people, index)
  const { people, takeId } = changes
  return makePerson(people, { facts: known, newPeople: facts.newPeople, takeId }, write)
}

/** Messages for new people start once the person has confirmed the address. */
function addPerson(planning: Planning, write: Added): Person | Refused {
  const made = addQuietly(planning, write)
  const isPending = statusOfNew(personOf(planning.facts.people, planning.index), write) === 'pending'
  if (!('refusal' in made) && !isPending) startForNew(planning, { ...write, contactId: made.id })
  return made
}

type New = Pick<Added, 'at' | 'fields'> & { contactId: number }

function startForNew(planning: Planning, { contactId, at, fields }: New): void {
  const { onCreated } = personOf(planning.facts.people, planning.index).app.rules
  if (onCreated.length === 0) return
  applyToEmails(planning, matchMessages(onCreated), {
    contactId,
    eventId: null,
    properties: null,
    at,
    occurredAt: at,
    newFields: fields,
  })
}

/** `newFields`: of a person whose fields are stored next. */
type EmailCause = {
  newFields?: ContactWrite['fields']
  contactId: number
  eventId: number | null
  properties: string | null
  at: number
  occurredAt: number
}

function applyToEmails(planning: Planning, matched: Matched, { newFields, ...cause }: EmailCause): void {
  const { changes, facts, index } = planning
  const known = personOf(facts.people, index)
  const { app } = known
  const emails = changes.emails.get(known) ?? emailsOf(known.emails)
  changes.emails.set(known, emails)
  const { deliveries, takeId } = changes
  planArrival({ emails, changes: deliveries, takeId }, matched, {
    ...cause,
    appId: app.id,
    timezone: matched.starts.some(waitsForTimeOfDay) ? timezoneOf(planning, newFields) : app.rules.timezone,
    hosts: app.rules.hosts,
  })
}

/** The person's own, else the app's. */
function timezoneOf({ changes, facts, index }: Planning, newFields: ContactWrite['fields'] | undefined): string {
  const known = personOf(facts.people, index)
  const fields = newFields ?? findFields(changes.people, known) ?? { timezone: known.emails?.timezone ?? null }
  return ownTimezone(fields) ?? known.app.rules.timezone
}
