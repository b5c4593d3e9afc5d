import type { Database } from 'bun:sqlite'
import type { Counters } from '../counters.ts'
import type { EventNames } from '../events.ts'
import { storedKey } from '../idempotency.ts'
import type { IsRepeated, LimitUsage, RowWrites } from '../planned-writes.ts'
import type { ContactIndex } from '../search/contact-index.ts'
import type { KnownReports } from '../timeline/known-reports.ts'
import type { Timeline } from '../timeline/timeline.ts'
import { selectIndexedIds, VISIT_REPORT_TYPES } from '../timeline/timeline-reads.ts'
import { EVENT_TYPES, VIAS } from '../types.ts'
import { DELETED_PER_RUN } from '../upkeep.ts'
import { VISIT_REPORT_MS } from '../visit-reports.ts'

type Parts = {
  db: Database
  names: EventNames
  counters: Counters
  timeline: Timeline
  known: KnownReports
  contactIndex: Pick<ContactIndex, 'note'>
}

export function createSqliteRows({ db, names, counters, timeline, known, contactIndex }: Parts): RowWrites {
  const addContact = db.prepare(
    `INSERT INTO contacts (id, app_id, email, shown_email, first_name, last_name, source, status, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const addNewPeople = db.prepare(
    `INSERT INTO new_people (account_id, month, count) VALUES (?, ?, ?)
     ON CONFLICT (account_id, month) DO UPDATE SET count = new_people.count + excluded.count`,
  )
  const addReport = db.prepare(
    `INSERT INTO snippet_batches
       (id, app_id, contact_id, batch, received_at, items, page_load, batch_number, age, path, is_here)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const addEvent = db.prepare(
    `INSERT INTO events (id, app_id, contact_id, name_id, type, via, properties, path, received_at, occurred_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  // a key that expired may not be removed yet
  const addOutcome = db.prepare(
    `INSERT INTO idempotency_records (key_id, idempotency_key, body_hash, outcome, contact_id, created_at, app_id)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (key_id, idempotency_key) DO UPDATE SET body_hash = excluded.body_hash, outcome = excluded.outcome,
       contact_id = excluded.contact_id, created_at = excluded.created_at, app_id = excluded.app_id`,
  )

  return {
    addContacts(contacts) {
      for (const { id, appId, email, shownEmail, firstName, lastName, source, status, at } of contacts)
        addContact.run(id, appId, email, shownEmail, firstName, lastName, source, status, at, at)
      if (contacts.length > 0) contactIndex.note(contacts.length)
    },
    addNewPeople(counts) {
      for (const { accountId, month, count } of counts) addNewPeople.run(accountId, month, count)
    },
    addReports(reports) {
      for (const report of reports) {
        const { id, appId, contactId, batch, at, items, pageLoad, reportNumber, age, path, code, isWhole } = report
        addReport.run(id, appId, contactId, batch, at, items, pageLoad, reportNumber, age, path, code)
        timeline.count()
        if (isWhole) known.add(id, contactId, batch, at)
      }
    },
    addEvents(events) {
      for (const { id, contactId, event } of events) {
        const { appId, type, name, via, properties, path, at, occurredAt } = event
        const nameId = names.idOf(appId, name)
        const happened = occurredAt === at ? null : occurredAt
        const [typeCode, viaCode] = [EVENT_TYPES.indexOf(type), VIAS.indexOf(via)]
        addEvent.run(id, appId, contactId, nameId, typeCode, viaCode, properties, path, at, happened)
        timeline.count()
        counters.countEvent({ appId, nameId, eventId: id, receivedAt: at })
      }
      if (events.length > 0) contactIndex.note(events.length)
    },
    addOutcomes(outcomes) {
      for (const one of outcomes)
        addOutcome.run(one.keyId, storedKey(one), one.bodyHash, one.outcome, one.contactId, one.at, one.appId)
    },
  }
}

/** This process counts before it writes, so usage is only stored. */
export function createSqliteUsage(db: Database, counters: Counters): LimitUsage {
  const remove = db.prepare(
    `DELETE FROM limit_usage WHERE (bucket, second) IN
       (SELECT bucket, second FROM limit_usage WHERE second < ? LIMIT ${DELETED_PER_RUN})`,
  )
  return {
    used: new Map(),
    count: ({ bucket }, { count, at }) => counters.countUsage(bucket, at, count),
    removeExpired: async (second) => remove.run(second).changes,
  }
}

export function createRepeatCheck(db: Database, known: Pick<KnownReports, 'find'>): IsRepeated {
  const isReport = 'contact_id = ?1 AND batch = ?2 AND received_at > ?3'
  const isUnindexed = db.prepare(`SELECT 1 FROM snippet_batches WHERE ${isReport} AND id = ?4`)
  const ofType = `= ${VISIT_REPORT_TYPES} + (?2 & 65535)`
  const isIndexed = db.prepare(
    `SELECT 1 FROM snippet_batches
     WHERE ${isReport} AND id IN (${selectIndexedIds('snippet_batches', { contact: '?1', types: ofType, from: '?4', upTo: '?5' })})`,
  )
  return ({ person, batch, at }) => {
    if (person.id === null) return false
    const { id, indexed } = known.find(person.id, batch)
    const since = at - VISIT_REPORT_MS
    if (id !== null && isUnindexed.get(person.id, batch, since, id) !== null) return true
    return indexed !== null && isIndexed.get(person.id, batch, since, indexed.from, indexed.upTo) !== null
  }
}
