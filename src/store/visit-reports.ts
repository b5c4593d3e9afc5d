/** Page views, actions and presence reported by browsers. Times are ms UTC. */
import type { Sql } from './engine/sql.ts'
import { HOUR_MS } from '../core/clock.ts'
import { idAt } from '../core/ids.ts'
import { VISIT_REPORT_TYPES } from './timeline/timeline-reads.ts'
import type { PersonWrite } from './types.ts'

/** Event name of stored page views; customers cannot use it. */
export const PAGE_NAME = '$page'

/** `leave`: the page was hidden or closed. `here`: it became visible again. `name`: only for actions. */
export type ReportedItem = {
  type: 'page' | 'action' | 'leave' | 'here'
  name: string | null
  path: string
  occurredAt: number
}

export type VisitReportWrite = Omit<PersonWrite, 'idempotency'> & {
  reportId: string
  createContact: boolean
  items: ReportedItem[]
}

export type StoredVisitReport = { contactId: number; created: boolean; repeated: boolean }

/** How long a report's id and presence data are kept; longer while an email to the person waits. */
export const VISIT_REPORT_MS = 48 * HOUR_MS

/**
 * The last item of a report. `isHere`: true for a page view or return, false for a leave, null if it has actions
 * only. `isReturn`: the page became visible again, which is not a page view. `pageLoad`, `reportNumber`: null if not
 * given. `receivedAt`: when the page was there to send it; `reportedAt`: when the item happened.
 */
export type ReportRow = {
  pageLoad: number | null
  reportNumber: number | null
  receivedAt: number
  reportedAt: number
  path: string
  isHere: boolean | null
  isReturn: boolean
}

export const REPORT_CODES = { leave: 0, page: 1, here: 2 } as const

export type BatchSize = { appId: number; email: string; receivedAt: number; items: number }

const TYPES = new Map<number | null, PersonReport['type']>([
  [REPORT_CODES.leave, 'leave'],
  [REPORT_CODES.page, 'page'],
  [REPORT_CODES.here, 'here'],
])

const IS_BATCH = `>= ${VISIT_REPORT_TYPES}`

/** `at`: when it happened (ms UTC). */
export type PersonReport = { id: number; type: keyof typeof REPORT_CODES; path: string; at: number }

/** Newest first. `next`: below this id there are more; null at the end. */
export type PersonReports = { reports: PersonReport[]; next: number | null }

type PersonReportQuery = { contactId: number; before: number | null; limit: number }

export type StoredReport = Omit<ReportRow, 'isHere' | 'isReturn'> & { code: number | null }

export const toReport = <R extends StoredReport>({ code, ...row }: R) => ({
  ...row,
  isHere: code === null ? null : code !== REPORT_CODES.leave,
  isReturn: code === REPORT_CODES.here,
})

export function createReportReads(db: Sql) {
  const limited = db.prepare<{ id: number }, []>(
    'SELECT apps.id FROM apps JOIN accounts ON accounts.id = apps.account_id WHERE accounts.snippet_limits = 1',
  )
  const sizes = db.prepare<BatchSize, [number, number, string]>(
    `SELECT b.app_id AS "appId", c.email, b.received_at AS "receivedAt", b.items
     FROM snippet_batches b JOIN contacts c ON c.id = b.contact_id
     WHERE b.id >= ? AND b.received_at > ? AND b.items > 0 AND ${db.dialect.isOneOf('b.app_id')}
     ORDER BY b.received_at`,
  )
  const ofPerson = db.prepare<Omit<PersonReport, 'type'> & { code: number | null }, [number, number, number]>(
    `SELECT id, received_at - coalesce(age, 0) AS at, coalesce(path, '') AS path, is_here AS code
     FROM snippet_batches WHERE id IN
       (SELECT id FROM (${db.dialect.personIds('snippet_batches', { contact: '?1', types: IS_BATCH })}) AS all_ids WHERE id < ?2
        ORDER BY id DESC LIMIT ?3) ORDER BY id DESC`,
  )

  return {
    ...createPresenceReads(db),

    async listPersonReports({ contactId, before, limit }: PersonReportQuery): Promise<PersonReports> {
      const rows = await ofPerson.all(contactId, before ?? Number.MAX_SAFE_INTEGER, limit)
      const reports = rows.flatMap(({ code, ...row }) => {
        const type = TYPES.get(code)
        return type === undefined ? [] : [{ ...row, type }]
      })
      return { reports, next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) }
    },

    async listBatchSizes(receivedAfter: number): Promise<BatchSize[]> {
      const apps = (await limited.all()).map(({ id }) => id)
      // without limited apps, the query would scan many reports for nothing
      return apps.length === 0 ? [] : await sizes.all(idAt(receivedAfter), receivedAfter, JSON.stringify(apps))
    },
  }
}

export function createPresenceReads(db: Sql, { isIndexedOnly = false } = {}) {
  const ofPerson = { contact: '?2', types: IS_BATCH }
  const { indexedPersonIds, personIds } = db.dialect
  const reports = db.prepare<StoredReport, [number, number, number]>(
    `SELECT page_load AS "pageLoad", batch_number AS "reportNumber", received_at AS "receivedAt",
       received_at - coalesce(age, 0) AS "reportedAt", coalesce(path, '') AS path, is_here AS code
     FROM snippet_batches WHERE app_id = ?1 AND received_at > ?3 AND id IN
       (${isIndexedOnly ? indexedPersonIds('snippet_batches', ofPerson) : personIds('snippet_batches', ofPerson)})`,
  )

  return {
    listReports: async (appId: number, contactId: number, receivedAfter: number): Promise<ReportRow[]> =>
      (await reports.all(appId, contactId, receivedAfter)).map(toReport),
  }
}

export function createUnindexedReports(db: Sql) {
  const { unindexedPeople } = db.dialect
  if (unindexedPeople === null) return async () => new Set<number>()
  const unindexed = db.prepare<{ id: number }, [string]>(unindexedPeople('snippet_batches', IS_BATCH, '?'))
  return async (people: readonly number[]): Promise<Set<number>> =>
    new Set((await unindexed.all(JSON.stringify(people))).map(({ id }) => id))
}
