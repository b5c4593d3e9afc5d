/** What browsers report of visits: page views, actions, and how long a page stays open. Times are milliseconds UTC. */
import type { Database } from 'bun:sqlite'
import { idAt } from '../core/ids.ts'
import { BATCH_TYPES, selectHeldIds, selectIds, selectLatePeople } from './timeline/timeline-reads.ts'
import type { PersonWrite } from './types.ts'

/** Under this name page views are stored; no customer can send it. */
export const PAGE_NAME = '$page'

/**
 * What a browser reported: a page view, an action, that the page was hidden or left (`leave`), or that it is visible again
 * (`here`). `name` is an action's.
 */
export type ReportedItem = {
  type: 'page' | 'action' | 'leave' | 'here'
  name: string | null
  path: string
  occurredAt: number
}

/** All that one request of the browser script brings: stored together, or not at all. */
export type BatchWrite = Omit<PersonWrite, 'buckets' | 'idempotency'> & {
  batchId: string
  createContact: boolean
  items: ReportedItem[]
}

/** `repeated`: the batch was stored before, within 48 hours. */
export type StoredBatch = { contactId: number; created: boolean; repeated: boolean }

/** How long a batch's id is remembered, and with it what it said of presence: longer while a mail to the person waits. */
export const BATCH_MS = 48 * 3_600_000

/**
 * What a batch reported last: `isHere` for a page view or a return, false for a leave, null when it told of actions only.
 * `isReturn`: the page was open before and became visible again, which is no page view; a batch keeps each of these.
 * `pageLoad` null = it names none; `batchNumber` tells which batch of its page load it was, null = it does not say.
 * `receivedAt` is when its page was there to send it, `reportedAt` when what it reports happened.
 */
export type ReportRow = {
  pageLoad: number | null
  batchNumber: number | null
  receivedAt: number
  reportedAt: number
  path: string
  isHere: boolean | null
  isReturn: boolean
}

/** How `snippet_batches.is_here` stores a report; null = no report. */
export const REPORT_CODES = { leave: 0, page: 1, here: 2 } as const

/** One batch, as the limits count it. */
export type BatchSize = { appId: number; email: string; receivedAt: number; items: number }

const IS_BATCH = `>= ${BATCH_TYPES}`

export type StoredReport = Omit<ReportRow, 'isHere' | 'isReturn'> & { code: number | null }

export const toReport = <R extends StoredReport>({ code, ...row }: R) => ({
  ...row,
  isHere: code === null ? null : code !== REPORT_CODES.leave,
  isReturn: code === REPORT_CODES.here,
})

export function createReportReads(db: Database) {
  const limited = db.prepare<{ id: number }, []>(
    'SELECT apps.id FROM apps JOIN accounts ON accounts.id = apps.account_id WHERE accounts.snippet_limits = 1',
  )
  // up to 60,000 rows an app, so without the price of building each twice
  const sizes = db.prepare<BatchSize, [number, number, string]>(
    `SELECT b.app_id AS appId, c.email, b.received_at AS receivedAt, b.items
     FROM snippet_batches b JOIN contacts c ON c.id = b.contact_id
     WHERE b.id >= ? AND b.received_at > ? AND b.items > 0 AND b.app_id IN (SELECT value FROM json_each(?))
     ORDER BY b.received_at`,
  )

  return {
    ...createPresenceReads(db),

    /** What limits have counted since `receivedAfter` (ms UTC), to fill the buckets at start; oldest first. */
    listBatchSizes(receivedAfter: number): BatchSize[] {
      const apps = limited.all().map(({ id }) => id)
      // where none is limited, many may have come
      return apps.length === 0 ? [] : sizes.all(idAt(receivedAfter), receivedAfter, JSON.stringify(apps))
    },
  }
}

/** `isHeldOnly`: of people of whom no batch lies in the table alone, so that it need not be read. */
export function createPresenceReads(db: Database, { isHeldOnly = false } = {}) {
  const ofPerson = { contact: '?2', types: IS_BATCH }
  const reports = db.prepare<StoredReport, [number, number, number]>(
    `SELECT page_load AS pageLoad, batch_number AS batchNumber, received_at AS receivedAt,
       received_at - ifnull(age, 0) AS reportedAt, ifnull(path, '') AS path, is_here AS code
     FROM snippet_batches WHERE app_id = ?1 AND received_at > ?3 AND id IN
       (${isHeldOnly ? selectHeldIds(ofPerson) : selectIds('snippet_batches', ofPerson)})`,
  )

  return {
    /** What a person's page loads reported, of batches received after `receivedAfter` (ms UTC). */
    listReports: (appId: number, contactId: number, receivedAfter: number): ReportRow[] =>
      reports.all(appId, contactId, receivedAfter).map(toReport),
  }
}

/** Those of some people of whom a batch lies in the table alone. */
export function createLateReports(db: Database) {
  const late = db.prepare<{ id: number }, [string]>(selectLatePeople('snippet_batches', IS_BATCH, '?'))
  return (people: readonly number[]): Set<number> => new Set(late.all(JSON.stringify(people)).map(({ id }) => id))
}
