import type { Database } from 'bun:sqlite'
import { createComparedReads, createComparedWrites } from './compared-people.ts'
import { createChangeActor } from './contact-changes.ts'
import type { ContactIndex } from './search/contact-index.ts'
import { createConsentReads, createConsentWrites } from './consents.ts'
import { createContactReads } from './contacts.ts'
import { TAKES_EVENTS, USES_DEDUPE_KEY, WAITS_FOR_LIMIT } from './delivery-states.ts'
import { createMessageUses, IS_OF_MESSAGE, type MessageOfPerson, type UsedFacts } from './message-uses.ts'
import { type IdSequence, idSince } from '../core/ids.ts'
import { createOutcomeFacts, createOutcomeWrites } from './idempotency.ts'
import { createLiveMessages, type LiveMessages } from './live-messages.ts'
import { createScheduleChanges } from './schedules.ts'
import { createSendWrites } from './sends.ts'
import { createPersonReads, type People } from './people.ts'
import type { Goal } from './message-types.ts'
import {
  type AppFacts,
  type AwaitedGoal,
  type BatchPeople,
  type ContactChange,
  type DeliveryChange,
  type EmailFacts,
  type EmailQuery,
  type FactQuery,
  type JoinedFacts,
  type MessageQuery,
  type Names,
  type NewDelivery,
  type NewEvent,
  type NewReport,
  type PersonFacts,
  type Plan,
  type PlannedOutcome,
  type PlannedWrite,
  type Planner,
  type Rules,
  type ReportQuery,
  type SentFacts,
  type WaitingFacts,
  isRefused,
  monthKey,
} from './plan-types.ts'
import { VISIT_REPORT_MS } from './visit-reports.ts'
import type { KnownReports } from './timeline/known-reports.ts'
import { VISIT_REPORT_TYPES, selectIndexedIds } from './timeline/timeline-reads.ts'
import { createSentCache, type SentCache } from './caches/sent-cache.ts'
import { createSuppressionList } from './suppressions.ts'
import { EVENT_TYPES, type FieldValue, VIAS } from './types.ts'
import type { Counters } from './counters.ts'
import type { DeliveryEnds } from './delivery-ends.ts'
import type { EventNames } from './events.ts'
import type { Timeline } from './timeline/timeline.ts'

type Parts = {
  db: Database
  ids: IdSequence
  people: People
  names: EventNames
  live: LiveMessages
  sentCache: SentCache
  ends: DeliveryEnds
  counters: Counters
  timeline: Timeline
  known: KnownReports
  contactIndex: Pick<ContactIndex, 'note'>
  rules: PlanRules
}

type PlanRules = Planner & Pick<Rules, 'defaultResponseDays'>

export function createPlannedWrites(parts: Parts) {
  const { ids } = parts
  const [makePlan, apply] = [createPlanning(parts), createApplying(parts)]

  return (batch: readonly PlannedWrite[]): PlannedOutcome[] => {
    const plan = makePlan(batch, ids.next())
    ids.passOver(plan.lastId)
    apply(plan)
    return plan.outcomes
  }
}

function createPlanning({ rules, ...parts }: FactParts & { rules: PlanRules }) {
  const facts = createPlannedFacts({ ...parts, rules })

  return (batch: readonly PlannedWrite[], firstId: number): Plan => {
    const people = facts.loadPeople(batch)
    const query = rules.queryFacts(batch, people)
    const { newPeople, outcomes } = facts.loadFacts(query)
    const { matches, reports } = query
    return rules.planWrites(batch, { people, matches, reports, firstId, newPeople, outcomes })
  }
}

/** The ids of a plan that is not applied: after all that are stored, so that its emails are the newest. */
const UNSTORED_IDS = Number.MAX_SAFE_INTEGER - 2 ** 20

/** What a visit report may repeat, which no dry run is of. */
const NO_BATCHES: FactParts['known'] = { find: () => ({ id: null, indexed: null }) }

export type DryRunWrite = Exclude<PlannedWrite, { name: 'recordVisitReport' }>

/** On a reading connection, and with nothing of the writing thread's memory: its rules and people are read each time. */
export function createDryRuns(db: Database, rules: PlanRules) {
  const open = () => {
    const [live, sentCache] = [createLiveMessages(db, () => null), createSentCache()]
    const parts = { db, people: createPersonReads(db), live, sentCache, known: NO_BATCHES, rules }
    const makePlan = createPlanning(parts)
    return db.transaction((write: DryRunWrite): Plan => {
      for (const one of [live, sentCache]) one.forget()
      return makePlan([write], UNSTORED_IDS)
    })
  }
  let plan: ReturnType<typeof open> | null = null

  return {
    /** The plan that the write would be made by now, which is not applied. */
    planDryRun(write: DryRunWrite): Plan {
      plan ??= open()
      return plan(write)
    },
  }
}

type FactParts = Pick<Parts, 'db' | 'live' | 'sentCache'> & {
  people: Pick<People, 'find'>
  known: Pick<KnownReports, 'find'>
  rules: Pick<Rules, 'defaultResponseDays'>
}
type Row = Omit<WaitingFacts, 'content' | 'parts' | 'properties'>

const JOINED_COLUMNS = 'id, event_id AS eventId, once_key AS dedupeKey, triggered_at AS triggeredAt'
const WAITING_COLUMNS = `${JOINED_COLUMNS}, message_id AS messageId, version, state, reason, planned_at AS plannedAt, due_at AS dueAt,
  handed_at AS handedAt`
const DECIDED_AT = 'ifnull(held_back_at, handed_at) AS decidedAt'
const IS_SENT_OR_HELD_BACK = `app_id = ? AND contact_id = ? AND ${USES_DEDUPE_KEY} AND joined_to IS NULL
  AND (state IN ('handed', 'sent', 'unknown') OR held_back_at IS NOT NULL) AND ifnull(held_back_at, handed_at) >= ?`
type Version = { messageId: number; version: number }
const JOINED_COUNT = `(SELECT count(*) FROM deliveries AS one WHERE one.joined_to = leads.id AND one.state = 'joined') AS joined`

export function createPlannedFacts({ db, people, live, sentCache, known, rules }: FactParts) {
  const names = db.prepare<Names, [number]>(
    'SELECT first_name AS firstName, last_name AS lastName FROM contacts WHERE id = ?',
  )
  const contacts = createContactReads(db)
  const suppressions = createSuppressionList(db)
  const { listConsents } = createConsentReads(db)
  const newPeople = db.prepare<{ count: number }, [string, string]>(
    'SELECT count FROM new_people WHERE account_id = ? AND month = ?',
  )
  const loadOutcomes = createOutcomeFacts(db, rules)
  const loadEmails = createEmailFacts({ db, live, sentCache })
  const isRepeated = createRepeatCheck({ db, known })

  const loadPerson = (app: AppFacts, email: string, at: number): PersonFacts => {
    const found = people.find(app.id, email)
    const [id, lacksName] = found === null ? [null, true] : [found.id, found.lacksName]
    const isUnsure = id !== null && live.isUnsure(id, at)
    const unloaded = { names: null, contact: null, suppression: null, asked: null, emails: null }
    return { app, isAlone: true, isUnsure, id, lacksName, ...unloaded }
  }

  return {
    loadPeople(batch: readonly PlannedWrite[]): BatchPeople {
      const apps = new Map<number, { app: AppFacts; byEmail: Map<string, PersonFacts> }>()
      return batch.map((write) => {
        if (isRefused(write)) return null
        const { appId, email, at } = write.input
        let of = apps.get(appId)
        if (of === undefined) {
          const app = { id: appId, rules: live.of(appId), hasDeliveries: live.hasDeliveries(appId) }
          apps.set(appId, (of = { app, byEmail: new Map() }))
        }
        const loaded = of.byEmail.get(email)
        if (loaded !== undefined) {
          loaded.isAlone = false
          return loaded
        }
        const person = loadPerson(of.app, email, at)
        of.byEmail.set(email, person)
        return person
      })
    },

    loadFacts(queries: FactQuery) {
      for (const person of queries.names) person.names ??= names.get(person.id)
      for (const person of queries.contacts) person.contact ??= contacts.findWithTimes(person.id)
      for (const { email, person } of queries.newcomers) person.suppression = suppressions.find(person.app.id, email)
      for (const person of queries.asked) person.asked ??= listConsents(person.id).map(({ askedAt }) => askedAt)
      for (const query of queries.reports) if (query) query.isRepeated = isRepeated(query)
      for (const query of queries.emails) query.person.emails = loadEmails(query)
      return {
        newPeople: new Map(
          queries.months.map((one) => [monthKey(one), newPeople.get(one.accountId, one.month)?.count ?? 0]),
        ),
        outcomes: loadOutcomes(queries.outcomes),
      }
    },
  }
}

/** What an event or a change may do to a person's emails: those that wait or were sent, and the keys that are used. */
function createEmailFacts({ db, live, sentCache }: Pick<FactParts, 'db' | 'live' | 'sentCache'>) {
  const uses = createMessageUses(db)
  // ids are in order of arrival, so the index skips old deliveries
  const isLead = `${IS_OF_MESSAGE} AND id >= ? AND ${TAKES_EVENTS} AND version = ?`
  const nearLeads = db.prepare<Row, number[]>(
    `SELECT ${WAITING_COLUMNS}, ${JOINED_COUNT} FROM deliveries AS leads INDEXED BY deliveries_once
     WHERE ${isLead} AND triggered_at BETWEEN ? AND ?`,
  )
  // an email that waits only for the person's limit accepts events until it is sent
  const limitedLeads = db.prepare<Row, number[]>(
    `SELECT ${WAITING_COLUMNS}, ${JOINED_COUNT} FROM deliveries AS leads INDEXED BY deliveries_once
     WHERE ${isLead} AND ${WAITS_FOR_LIMIT}`,
  )
  const waiting = db.prepare<Row, [number, number]>(
    `SELECT ${WAITING_COLUMNS}, 0 AS joined FROM deliveries WHERE app_id = ? AND contact_id = ? AND ${USES_DEDUPE_KEY}
       AND state IN ('waiting', 'deferred', 'claimed') AND by_hand = 0`,
  )
  const joinedTo = db.prepare<Omit<JoinedFacts, 'properties'>, [number]>(
    `SELECT ${JOINED_COLUMNS} FROM deliveries WHERE joined_to = ? AND state = 'joined'`,
  )
  const compared = createComparedReads(db)
  const sent = db.prepare<Omit<SentFacts, 'of' | 'properties'> & { eventId: number | null }, [number, number, number]>(
    `SELECT id, event_id AS eventId, ${DECIDED_AT}, came_back_at AS cameBackAt, opened_at AS openedAt
     FROM deliveries WHERE ${IS_SENT_OR_HELD_BACK} AND (came_back_at IS NULL OR opened_at IS NULL)`,
  )
  const withoutGoal = db.prepare<Omit<AwaitedGoal, 'of' | keyof Goal> & Version, [number, number, number]>(
    `SELECT id, message_id AS messageId, version, ${DECIDED_AT}
     FROM deliveries WHERE ${IS_SENT_OR_HELD_BACK} AND goal_at IS NULL`,
  )
  const propertiesOf = db.prepare<{ properties: string | null }, [number]>('SELECT properties FROM events WHERE id = ?')
  const timezoneOf = db.prepare<{ timezone: FieldValue | null }, [number]>(
    "SELECT fields ->> 'timezone' AS timezone FROM contacts WHERE id = ?",
  )

  const propertiesBy = (eventId: number | null): string | null =>
    eventId === null ? null : (propertiesOf.get(eventId)?.properties ?? null)

  const loadWaiting = ({ person, waiting: mode }: EmailQuery): WaitingFacts[] => {
    const of = <One extends { eventId: number | null }>(one: One) => ({
      ...one,
      properties: mode === 'withProperties' ? propertiesBy(one.eventId) : null,
    })
    return waiting.all(person.app.id, person.id).map((row) => {
      const parts = joinedTo.all(row.id).map(of)
      return { ...of(row), content: live.contentOf(row.messageId, row.version), joined: parts.length, parts }
    })
  }

  const loadLeads = ({ person }: EmailQuery, { message, near, room, limitedSince }: MessageQuery): WaitingFacts[] => {
    if (near.length === 0) return []
    const found = new Map<number, WaitingFacts>()
    const add = (rows: Row[]): Row[] => {
      for (const row of rows) found.set(row.id, { ...row, content: message.content, properties: null, parts: [] })
      return rows
    }
    const key = [person.app.id, person.id, message.id]
    let isEnough = true
    for (const { from, until } of near) {
      const rows = add(nearLeads.all(...key, idSince(from), message.version, from, until))
      isEnough &&= rows.some(({ joined }) => joined < room)
    }
    if (!isEnough && limitedSince !== null) add(limitedLeads.all(...key, idSince(limitedSince), message.version))
    return [...found.values()]
  }

  const isUsed = (of: MessageOfPerson, key: string): boolean => {
    const { messageId, contactId } = of
    if (key !== '') return uses.isKeyUsed(of, key)
    if (sentCache.has(messageId, contactId)) return true
    const isFound = uses.isKeyUsed(of, key)
    // cached on the second event only: most people trigger a message once and would evict the others
    if (isFound) sentCache.add(messageId, contactId)
    return isFound
  }

  const loadUsed = ({ person: { app, id } }: EmailQuery, query: MessageQuery): UsedFacts => {
    const { keys, needsKeys, needsCount, needsHanded, message } = query
    const of = { appId: app.id, contactId: id, messageId: message.id }
    return {
      keys: new Set(needsKeys ? uses.listKeys(of) : [...keys].filter((key) => isUsed(of, key))),
      count: needsCount ? uses.countUses(of) : 0,
      lastHandedAt: needsHanded ? uses.lastHandedAt(of) : null,
    }
  }

  const loadSent = ({ person: { app, id }, sentSince }: EmailQuery): SentFacts[] => {
    if (sentSince === null) return []
    const decided = app.rules.holdsBack ? compared.listWithoutReturn(id, sentSince) : []
    return [
      ...sent.all(app.id, id, sentSince).map((row) => ({ of: 'email' as const, ...row })),
      ...decided.map((row) => ({ of: 'comparison' as const, ...row })),
    ].map(({ eventId, ...row }) => ({
      ...row,
      properties:
        row.openedAt === null
          ? [eventId, ...joinedTo.all(row.id).map((one) => one.eventId)].map((one) => propertiesBy(one))
          : [],
    }))
  }

  const loadGoals = ({ person: { app, id }, goalsSince }: EmailQuery): AwaitedGoal[] => {
    if (goalsSince === null) return []
    const decided = app.rules.holdsBack ? compared.listWithoutGoal(id, goalsSince) : []
    return [
      ...withoutGoal.all(app.id, id, goalsSince).map((row) => ({ of: 'email' as const, ...row })),
      ...decided.map((row) => ({ of: 'comparison' as const, ...row })),
    ].flatMap(({ messageId, version, ...row }) => {
      const { goal } = live.contentOf(messageId, version)
      return goal ? [{ ...row, ...goal }] : []
    })
  }

  return (query: EmailQuery): EmailFacts => {
    const waiting = query.waiting === 'none' ? [] : loadWaiting(query)
    const used = new Map<number, UsedFacts>()
    for (const [messageId, one] of query.messages) {
      if (query.waiting === 'none') waiting.push(...loadLeads(query, one))
      used.set(messageId, loadUsed(query, one))
    }
    const timezone = query.needsTimezone ? (timezoneOf.get(query.person.id)?.timezone ?? null) : null
    return { timezone, waiting, sent: loadSent(query), goals: loadGoals(query), used }
  }
}

/** Whether a visit report arrived before. */
function createRepeatCheck({ db, known }: Pick<FactParts, 'db' | 'known'>) {
  const isReport = 'contact_id = ?1 AND batch = ?2 AND received_at > ?3'
  const isUnindexed = db.prepare(`SELECT 1 FROM snippet_batches WHERE ${isReport} AND id = ?4`)
  const ofType = `= ${VISIT_REPORT_TYPES} + (?2 & 65535)`
  const isIndexed = db.prepare(
    `SELECT 1 FROM snippet_batches
     WHERE ${isReport} AND id IN (${selectIndexedIds({ contact: '?1', types: ofType, from: '?4', upTo: '?5' })})`,
  )
  return ({ person, batch, at }: ReportQuery): boolean => {
    if (person.id === null) return false
    const { id, indexed } = known.find(person.id, batch)
    const since = at - VISIT_REPORT_MS
    if (id !== null && isUnindexed.get(person.id, batch, since, id) !== null) return true
    return indexed !== null && isIndexed.get(person.id, batch, since, indexed.from, indexed.upTo) !== null
  }
}

function createApplying({ db, people, names, live, ends, counters, timeline, known, contactIndex }: Parts) {
  const suppressions = createSuppressionList(db)
  const addContact = db.prepare(
    `INSERT INTO contacts (id, app_id, email, shown_email, first_name, last_name, source, status, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const addNew = db.prepare(
    `INSERT INTO new_people (account_id, month, count) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  )
  const fillNames = db.prepare('UPDATE contacts SET first_name = ?, last_name = ?, updated_at = ? WHERE id = ?')
  const saveContact = db.prepare(
    'UPDATE contacts SET first_name = ?, last_name = ?, source = ?, tags = ?, fields = ?, updated_at = ? WHERE id = ?',
  )
  const addTag = db.prepare('INSERT OR IGNORE INTO contact_tags (app_id, tag, contact_id) VALUES (?, ?, ?)')
  const removeTag = db.prepare('DELETE FROM contact_tags WHERE app_id = ? AND tag = ? AND contact_id = ?')
  const addReport = db.prepare(
    `INSERT INTO snippet_batches
       (id, app_id, contact_id, batch, received_at, items, page_load, batch_number, age, path, is_here)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const addEvent = db.prepare(
    `INSERT INTO events (id, app_id, contact_id, name_id, type, via, properties, path, received_at, occurred_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const addDelivery = db.prepare(
    `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, event_id, once_key, state,
       triggered_at, planned_at, due_at, attempt, resent, by_hand, updated_at, joined_to)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const noteVisit = db.prepare(
    'UPDATE deliveries SET came_back_at = ifnull(came_back_at, ?), opened_at = ifnull(opened_at, ?) WHERE id = ?',
  )
  const noteGoal = db.prepare('UPDATE deliveries SET goal_at = ifnull(goal_at, ?) WHERE id = ?')
  const emails: ReturnType<typeof createComparedWrites> = {
    noteReturn: (id, at, isResult) => void noteVisit.run(at, isResult ? at : null, id),
    noteGoal: (id, at) => void noteGoal.run(at, id),
  }
  const checkEarlier = db.prepare('UPDATE deliveries SET due_at = ?, updated_at = ? WHERE id = ?')
  const compared = createComparedWrites(db)
  const addOutcome = createOutcomeWrites(db)
  const nameActor = createChangeActor(db)
  const { addSend, addOwnText } = createSendWrites(db)
  const { addConsent, confirmConsent } = createConsentWrites(db)
  const changeSchedule = createScheduleChanges(db)

  const applyPeople = ({ contacts, newPeople, personChanges }: Plan): void => {
    for (const { id, appId, email, shownEmail, firstName, lastName, source, status, at } of contacts) {
      addContact.run(id, appId, email, shownEmail, firstName, lastName, source, status, at, at)
      if (status !== 'subscribed' && status !== 'pending') suppressions.name(appId, email)
      people.remember(appId, email, { id, lacksName: firstName === null || lastName === null })
    }
    for (const { accountId, month, count } of newPeople) addNew.run(accountId, month, count)
    for (const change of personChanges) {
      const { appId, email, id, firstName, lastName, at } = change
      if (change.change === 'contact') applyContactChange(change)
      else fillNames.run(firstName, lastName, at, id)
      people.remember(appId, email, { id, lacksName: firstName === null || lastName === null })
    }
  }

  const applyContactChange = (change: ContactChange): void => {
    const { appId, id, firstName, lastName, source, tags, fields, addTags, removeTags, at, actor } = change
    saveContact.run(firstName, lastName, source, toJson(tags), toJson(fields), at, id)
    for (const tag of removeTags) removeTag.run(appId, tag, id)
    for (const tag of addTags) addTag.run(appId, tag, id)
    nameActor(id, at, actor)
  }

  const applyReport = (report: NewReport): void => {
    const { id, appId, contactId, batch, at, items, pageLoad, reportNumber, age, path, code, isWhole } = report
    addReport.run(id, appId, contactId, batch, at, items, pageLoad, reportNumber, age, path, code)
    timeline.count()
    if (isWhole) known.add(id, contactId, batch, at)
  }

  const applyEvent = ({ id, contactId, event }: NewEvent): void => {
    const { appId, type, name, via, properties, path, at, occurredAt } = event
    const nameId = names.idOf(appId, name)
    const happened = occurredAt === at ? null : occurredAt
    const [typeCode, viaCode] = [EVENT_TYPES.indexOf(type), VIAS.indexOf(via)]
    addEvent.run(id, appId, contactId, nameId, typeCode, viaCode, properties, path, at, happened)
    timeline.count()
    counters.countEvent({ appId, nameId, eventId: id, receivedAt: at })
  }

  const applyDelivery = (row: NewDelivery): void => {
    const { id, appId, contactId, messageId, version, eventId, dedupeKey, triggeredAt, dueAt, at, joinedTo } = row
    const state = row.change === 'join' ? 'joined' : 'waiting'
    const key = [id, appId, contactId, messageId, version, eventId, dedupeKey]
    addDelivery.run(...key, state, triggeredAt, dueAt, dueAt, at, joinedTo)
    live.noteDelivery(appId)
  }

  const applyReached = (row: Extract<DeliveryChange, { change: 'cameBack' | 'goal' }>): void => {
    const { noteReturn, noteGoal } = row.of === 'email' ? emails : compared
    if (row.change === 'goal') noteGoal(row.id, row.at)
    else noteReturn(row.id, row.at, row.isResult)
  }

  const applyChange = (row: DeliveryChange): void => {
    if (row.change === 'cancel') {
      ends.apply(row.id, row.at, row.finish, row.plan)
    } else if (row.change === 'checkEarlier') checkEarlier.run(row.dueAt, row.at, row.id)
    else if (row.change === 'cameBack' || row.change === 'goal') applyReached(row)
    else applyDelivery(row)
  }

  return (plan: Plan): void => {
    for (const { buckets, at } of plan.counted) for (const bucket of buckets) counters.countUsage(bucket, at)
    applyPeople(plan)
    const added = plan.contacts.length + plan.events.length
    if (added > 0) contactIndex.note(added)
    for (const report of plan.reports) applyReport(report)
    for (const event of plan.events) applyEvent(event)
    for (const message of plan.ownTexts) {
      addOwnText(message)
      live.drop(message.appId)
    }
    for (const change of plan.deliveries) applyChange(change)
    for (const change of plan.schedules) changeSchedule(change)
    for (const send of plan.sends) addSend(send)
    for (const consent of plan.consents) addConsent(consent)
    for (const confirmation of plan.confirmations) confirmConsent(confirmation)
    for (const request of plan.requests) addOutcome(request)
  }
}

const toJson = (value: string[] | Record<string, FieldValue>): string | null =>
  Object.keys(value).length === 0 ? null : JSON.stringify(value)
