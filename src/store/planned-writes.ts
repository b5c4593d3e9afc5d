import type { Database } from 'bun:sqlite'
import type { Counters } from './counters.ts'
import type { DeliveryEnds } from './delivery-ends.ts'
import type { EventNames } from './events.ts'
import { storedKey } from './idempotency.ts'
import type { IdSequence } from '../core/ids.ts'
import type { LiveMessages } from './live-messages.ts'
import type { People } from './people.ts'
import type {
  ContactChange,
  DeliveryChange,
  NewDelivery,
  NewEvent,
  NewReport,
  Plan,
  PlannedOutcome,
  PlannedWrite,
  Planner,
} from './plan-types.ts'
import { createPlannedFacts } from './planned-facts.ts'
import type { SentCache } from './sent-cache.ts'
import type { KnownBatches } from './timeline/known-batches.ts'
import type { Timeline } from './timeline/timeline.ts'
import { EVENT_TYPES, type FieldValue, VIAS } from './types.ts'

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
  known: KnownBatches
  rules: Planner
}

/** Writes about people, many at once: their facts are loaded, a plan is made of them, and its rows are written. */
export function createPlannedWrites(parts: Parts) {
  const { db, ids, people, live, sentCache, known, rules } = parts
  const facts = createPlannedFacts({ db, people, live, sentCache, known })
  const apply = createApplying(parts)

  return (batch: readonly PlannedWrite[]): PlannedOutcome[] => {
    const whose = facts.loadPeople(batch)
    const query = rules.queryFacts(batch, whose)
    const { newPeople, outcomes } = facts.loadFacts(query)
    const { matches, reports } = query
    const plan = rules.planWrites(batch, { people: whose, matches, reports, firstId: ids.next(), newPeople, outcomes })
    ids.passOver(plan.lastId)
    apply(plan)
    return plan.outcomes
  }
}

function createApplying({ db, people, names, live, ends, counters, timeline, known }: Parts) {
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
  const addRequest = db.prepare(
    `INSERT OR REPLACE INTO idempotency_records (key_id, idempotency_key, body_hash, outcome, contact_id, created_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )

  const applyPeople = ({ contacts, newPeople, filledNames }: Plan): void => {
    for (const { id, appId, email, shownEmail, firstName, lastName, source, status, at } of contacts) {
      addContact.run(id, appId, email, shownEmail, firstName, lastName, source, status, at, at)
      people.remember(appId, email, { id, lacksName: firstName === null || lastName === null })
    }
    for (const { accountId, month, count } of newPeople) addNew.run(accountId, month, count)
    for (const { appId, email, id, firstName, lastName, at } of filledNames) {
      fillNames.run(firstName, lastName, at, id)
      people.remember(appId, email, { id, lacksName: firstName === null || lastName === null })
    }
  }

  const applyContactChange = (change: ContactChange): void => {
    const { appId, email, id, firstName, lastName, source, tags, fields, addTags, removeTags, at } = change
    saveContact.run(firstName, lastName, source, toJson(tags), toJson(fields), at, id)
    for (const tag of removeTags) removeTag.run(appId, tag, id)
    for (const tag of addTags) addTag.run(appId, tag, id)
    people.remember(appId, email, { id, lacksName: firstName === null || lastName === null })
  }

  const applyReport = (report: NewReport): void => {
    const { id, appId, contactId, batch, at, items, pageLoad, batchNumber, age, path, code, isWhole } = report
    addReport.run(id, appId, contactId, batch, at, items, pageLoad, batchNumber, age, path, code)
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
    const { id, appId, contactId, messageId, version, eventId, onceKey, triggeredAt, dueAt, at, joinedTo } = row
    const state = row.change === 'join' ? 'joined' : 'waiting'
    const whose = [id, appId, contactId, messageId, version, eventId, onceKey]
    addDelivery.run(...whose, state, triggeredAt, dueAt, dueAt, at, joinedTo)
    live.noteDelivery(appId)
  }

  const applyChange = (row: DeliveryChange): void => {
    if (row.change === 'cancel') {
      const { id, at, reason, record, isOfEvent } = row
      ends.end(id, at, { state: 'skipped', reason, record, isOfEvent })
    } else if (row.change === 'cameBack') noteVisit.run(row.at, row.isResult ? row.at : null, row.id)
    else applyDelivery(row)
  }

  return (plan: Plan): void => {
    for (const { buckets, at } of plan.counted) for (const bucket of buckets) counters.countUsage(bucket, at)
    applyPeople(plan)
    for (const change of plan.contactChanges) applyContactChange(change)
    for (const report of plan.reports) applyReport(report)
    for (const event of plan.events) applyEvent(event)
    for (const change of plan.deliveries) applyChange(change)
    for (const request of plan.requests) {
      const { keyId, bodyHash, outcome, contactId, at } = request
      addRequest.run(keyId, storedKey(request), bodyHash, outcome, contactId, at)
    }
  }
}

const toJson = (value: string[] | Record<string, FieldValue>): string | null =>
  Object.keys(value).length === 0 ? null : JSON.stringify(value)
