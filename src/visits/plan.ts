/** What a visit report leaves: rows that tell of presence, returns to open pages, and events. Plain data in and out. */
import type { NewReport } from '../store/plan-types.ts'
import { type BatchWrite, REPORT_CODES, type ReportedItem } from '../store/visit-reports.ts'

type Report = ReportedItem & { type: keyof typeof REPORT_CODES }
const isReport = (item: ReportedItem): item is Report => item.type !== 'action'

export type ReportChanges = { reports: NewReport[]; takeId: () => number }

/** `batch`: the hash of its id. */
type Whole = { contactId: number; batch: number }

/**
 * The rows of a report, of which the last is that of all of it. Of its items it keeps the last one, and each return to an
 * open page. @returns the returns, which have no event that tells of them
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

/** The latest by when it happened, of equals the last: a page load reports in order. */
function findLastReport(items: readonly ReportedItem[]): Report | null {
  let last: Report | null = null
  for (const item of items) {
    if (isReport(item) && (last === null || item.occurredAt >= last.occurredAt)) last = item
  }
  return last
}

/** 53 bits, as many as a number holds exactly: of 28,800 batches, the most of a person in 48 hours, no two are alike. */
export const hashBatchId = (id: string): number =>
  (Bun.hash.xxHash32(id, 1) >>> 11) * 2 ** 32 + Bun.hash.xxHash32(id, 0)

/** A batch id may begin with the name of its page load and a dot; a whole number after it is its place in the page load. */
function readPlace(id: string): { pageLoad: number | null; batchNumber: number | null } {
  const end = id.indexOf('.')
  if (end < 1) return { pageLoad: null, batchNumber: null }
  const place = id.slice(end + 1)
  return { pageLoad: Bun.hash.xxHash32(id.slice(0, end)), batchNumber: /^\d{1,9}$/.test(place) ? Number(place) : null }
}
