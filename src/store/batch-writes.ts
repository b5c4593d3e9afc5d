import type { Database } from 'bun:sqlite'
import type { IdSequence } from '../core/ids.ts'
import type { KnownBatches } from './timeline/known-batches.ts'
import type { AddEvent } from './event-writes.ts'
import type { People } from './people.ts'
import {
  BATCH_MS,
  type BatchWrite,
  PAGE_NAME,
  REPORT_CODES,
  type ReportedItem,
  type StoredBatch,
} from './visit-reports.ts'
import type { Cancellations } from './cancellations.ts'
import type { Timeline } from './timeline/timeline.ts'
import { BATCH_TYPES, selectHeldIds } from './timeline/timeline-reads.ts'
import type { Refused } from './types.ts'

type Parts = {
  db: Database
  ids: IdSequence
  people: People
  known: KnownBatches
  timeline: Timeline
  cancellations: Cancellations
  addEvent: AddEvent
}

/** Batches of the browser script: page views and actions as events, `leave` and `here` as presence only. */
export function createBatchWrites({ db, ids, people, known, timeline, cancellations, addEvent }: Parts) {
  const insert = db.prepare(
    `INSERT INTO snippet_batches
       (id, app_id, contact_id, batch, received_at, items, page_load, batch_number, age, path, is_here)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const isOne = 'contact_id = ?1 AND batch = ?2 AND received_at > ?3'
  const waits = db.prepare(`SELECT 1 FROM snippet_batches WHERE ${isOne} AND id = ?4`)
  const ofType = `= ${BATCH_TYPES} + (?2 & 65535)`
  const isHeld = db.prepare(
    `SELECT 1 FROM snippet_batches
     WHERE ${isOne} AND id IN (${selectHeldIds({ contact: '?1', types: ofType, from: '?4', upTo: '?5' })})`,
  )

  const isRepeated = (contactId: number, batch: number, at: number): boolean => {
    const { id, held } = known.find(contactId, batch)
    const since = at - BATCH_MS
    if (id !== null && waits.get(contactId, batch, since, id) !== null) return true
    return held !== null && isHeld.get(contactId, batch, since, held.from, held.upTo) !== null
  }

  type Row = { batch: number; items: number; report: Report | null }

  const addRow = (contactId: number, { appId, batchId, at }: BatchWrite, { batch, items, report }: Row): number => {
    const [age, path] = report ? [at - report.occurredAt, report.path] : [null, null]
    const code = report && REPORT_CODES[report.type]
    const { pageLoad, batchNumber } = readPlace(batchId)
    const id = ids.next()
    insert.run(id, appId, contactId, batch, at, items, pageLoad, batchNumber, age, path, code)
    timeline.count()
    return id
  }

  /** False when the person sent a batch with this id within 48 hours. */
  const addBatch = (contactId: number, write: BatchWrite): boolean => {
    const { appId, batchId, at, items } = write
    const batch = hashBatchId(batchId)
    if (isRepeated(contactId, batch, at)) return false
    const last = findLastReport(items)
    for (const [index, item] of items.entries()) {
      if (item.type !== 'here' || !isReport(item)) continue
      const { path, occurredAt } = item
      // one that something else followed has no event that tells of it: it gets a row of its own; no batch id has a line feed
      if (last && occurredAt < last.occurredAt) {
        addRow(contactId, write, { batch: hashBatchId(`${batchId}\n${index}`), items: 0, report: item })
      } else if (item !== last) continue
      cancellations.onReturn({ appId, contactId, at, path, occurredAt })
    }
    known.add(addRow(contactId, write, { batch, items: items.length, report: last }), contactId, batch, at)
    return true
  }

  const addItem = (contactId: number, { appId, at }: BatchWrite, item: ReportedItem): void => {
    const { type, path, occurredAt } = item
    if (type === 'leave' || type === 'here') return
    const name = item.name ?? PAGE_NAME
    addEvent(contactId, { appId, type, name, via: 'browser', properties: null, path, at, occurredAt })
  }

  return {
    /** All items or none. Refused with contact_not_found, or where `createContact` says so plan_limit_reached. */
    recordBatch(write: BatchWrite): StoredBatch | Refused {
      const found = people.find(write.appId, write.email)
      if (!found && !write.createContact) return { refusal: 'contact_not_found' }
      const person = found ?? people.add({ ...write, firstName: null, lastName: null, source: null })
      if ('refusal' in person) return person
      const isNew = addBatch(person.id, write)
      if (isNew) for (const item of write.items) addItem(person.id, write, item)
      return { contactId: person.id, created: found === null, repeated: !isNew }
    },
  }
}

type Report = ReportedItem & { type: keyof typeof REPORT_CODES }
const isReport = (item: ReportedItem): item is Report => item.type !== 'action'

/** The latest by when it happened, of equals the last: a page load reports in order. */
function findLastReport(items: ReportedItem[]): Report | null {
  let last: Report | null = null
  for (const item of items) {
    if (isReport(item) && (last === null || item.occurredAt >= last.occurredAt)) last = item
  }
  return last
}

/** 53 bits, as many as a number holds exactly: of 28,800 batches, the most of a person in 48 hours, no two are alike. */
const hashBatchId = (id: string): number => (Bun.hash.xxHash32(id, 1) >>> 11) * 2 ** 32 + Bun.hash.xxHash32(id, 0)

/** A batch id may begin with the name of its page load and a dot; a whole number after it is its place in the page load. */
function readPlace(id: string): { pageLoad: number | null; batchNumber: number | null } {
  const end = id.indexOf('.')
  if (end < 1) return { pageLoad: null, batchNumber: null }
  const place = id.slice(end + 1)
  return { pageLoad: Bun.hash.xxHash32(id.slice(0, end)), batchNumber: /^\d{1,9}$/.test(place) ? Number(place) : null }
}
