import type { Database } from 'bun:sqlite'
import type { AddEvent } from './event-writes.ts'
import type { People } from './people.ts'
import { BATCH_MS, type BatchWrite, PAGE_NAME, type ReportedItem, type StoredBatch } from './snippet-types.ts'
import type { Refused } from './types.ts'

type Parts = { db: Database; people: People; addEvent: AddEvent }

/** Batches of the browser script: page views and actions as events, leaves as presence (spec 4.5, 6). */
export function createBatchWrites({ db, people, addEvent }: Parts) {
  const insert = db.prepare(
    `INSERT INTO snippet_batches (app_id, contact_id, batch, received_at, items, page_load, batch_number, age, path, is_here)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET received_at = excluded.received_at, items = excluded.items,
       age = excluded.age, path = excluded.path, is_here = excluded.is_here
     WHERE received_at <= excluded.received_at - ${BATCH_MS}`,
  )

  /** False when the person sent a batch with this id within 48 hours. */
  const addBatch = (contactId: number, { appId, batchId, at, items }: BatchWrite): boolean => {
    const last = findLastReport(items)
    const [age, path] = last ? [at - last.occurredAt, last.path] : [null, null]
    const isHere = last && Number(last.type === 'page')
    const ids = [appId, contactId, hashBatchId(batchId)] as const
    const { pageLoad, batchNumber } = readPlace(batchId)
    return insert.run(...ids, at, items.length, pageLoad, batchNumber, age, path, isHere).changes > 0
  }

  const addItem = (contactId: number, { appId, at }: BatchWrite, item: ReportedItem): void => {
    const { type, path, occurredAt } = item
    if (type === 'leave') return
    const name = item.name ?? PAGE_NAME
    addEvent(contactId, { appId, type, name, via: 'browser', properties: null, path, at, occurredAt })
  }

  return {
    /** All items or none. Refused with contact_not_found, or where `createContact` says so plan_limit_reached. */
    recordBatch(write: BatchWrite): StoredBatch | Refused {
      const known = people.find(write.appId, write.email)
      if (!known && !write.createContact) return { refusal: 'contact_not_found' }
      const person = known ?? people.add({ ...write, firstName: null, lastName: null, source: null })
      if ('refusal' in person) return person
      const isNew = addBatch(person.id, write)
      if (isNew) for (const item of write.items) addItem(person.id, write, item)
      return { contactId: person.id, created: known === null, repeated: !isNew }
    },
  }
}

/** The latest by when it happened, of equals the last: a page load reports in order. */
function findLastReport(items: ReportedItem[]): ReportedItem | null {
  let last: ReportedItem | null = null
  for (const item of items) {
    if (item.type !== 'action' && (last === null || item.occurredAt >= last.occurredAt)) last = item
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
