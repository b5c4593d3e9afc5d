/** Plans the rows of a visit report, from which presence is read. Pure. */
import type { NewReport } from '../store/plan-types.ts'
import { type BatchWrite, REPORT_CODES, type ReportedItem } from '../store/visit-reports.ts'

type Report = ReportedItem & { type: keyof typeof REPORT_CODES }
const isReport = (item: ReportedItem): item is Report => item.type !== 'action'

export type ReportChanges = { reports: NewReport[]; takeId: () => number }

/** `batch`: the hash of its id. */
type Whole = { contactId: number; batch: number }

/**
 * Adds a row for each return to an open page and, last, one for the whole report with its latest item. @returns the
 * returns, which have no events
 */
export function planReport({ reports, takeId }: ReportChanges, whole: Whole, write: BatchWrite): Report[] {
  const { appId, batchId, at, items } = write
  const { contactId } = whole
  const { pageLoad, batchNumber } = readPlace(batchId)
  const last = findLastReport(items)
  const add = (batch: number, report: Report | null, isWhole: boolean): void => {
    const age = report ? at - report.occurredAt : null
    const path = report ? report.path : null
    const code = report ? REPORT_CODES[report.type] : null
    const id = takeId()
    const count = isWhole ? items.length : 0
    reports.push({ id, appId, contactId, batch, at, items: count, pageLoad, batchNumber, age, path, code, isWhole })
  }
  const returns: Report[] = []
  for (const [index, item] of items.entries()) {
    if (item.type !== 'here' || !isReport(item)) continue
    // no batch id has a line feed
    if (last && item.occurredAt < last.occurredAt) {
      add(hashBatchId(`${batchId}\n${index}`), item, false)
    } else if (item !== last) continue
    returns.push(item)
  }
  add(whole.batch, last, true)
  return returns
}

/** The latest by time; of equal times the last, because a page load reports in order. */
function findLastReport(items: readonly ReportedItem[]): Report | null {
  let last: Report | null = null
  for (const item of items) {
    if (isReport(item) && (last === null || item.occurredAt >= last.occurredAt)) last = item
  }
  return last
}

/** 53 bits, the most a number holds exactly: a person's reports of 48 hours, at most 28,800, don't collide. */
export const hashBatchId = (id: string): number =>
  (Bun.hash.xxHash32(id, 1) >>> 11) * 2 ** 32 + Bun.hash.xxHash32(id, 0)

/** The id of a report may be `page load.number`. */
function readPlace(id: string): { pageLoad: number | null; batchNumber: number | null } {
  const end = id.indexOf('.')
  if (end < 1) return { pageLoad: null, batchNumber: null }
  const place = id.slice(end + 1)
  return { pageLoad: Bun.hash.xxHash32(id.slice(0, end)), batchNumber: /^\d{1,9}$/.test(place) ? Number(place) : null }
}
