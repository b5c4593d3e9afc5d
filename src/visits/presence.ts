import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import { BATCH_MS, type ReportRow } from '../store/visit-reports.ts'

/** Without a sign for so long, whoever was here is taken to have gone: a browser may end without a word. */
export const PRESENCE_MS = 1_800_000

/** All of the last 48 hours; times are ms UTC, by when things happened. */
export type Presence = {
  /** on at least one page now */
  isHere: boolean
  /** the paths of these pages, the one that was opened last first */
  paths: string[]
  /** the same pages with when anything came from them last: a tab that crashes or loses its network says nothing of it */
  pages: { path: string; heardAt: number }[]
  /** when anything was last reported; null: nothing was */
  lastReportAt: number | null
  lastLeftAt: number | null
}

/**
 * Whether a person is here, and on which path. Each page load is judged by what it reported last,
 * whatever came in last: a request may take long, and be overtaken by the next. Who is here in one of two tabs is here. A
 * batch id names its page load before a dot and counts its batches after it; all ids without a dot are one page load.
 * @param quietMs how long a page may be open without a sign
 */
export async function readPresence(
  { store, clock }: { store: Store; clock: Clock },
  { appId, contactId }: { appId: number; contactId: number },
  quietMs = PRESENCE_MS,
): Promise<Presence> {
  const now = clock.now()
  return presenceAt(await store.listReports(appId, contactId, now - BATCH_MS), now, quietMs)
}

/** The same at any time (ms UTC), by what had happened until then; what came later only proves that a page was there. */
export function presenceAt(all: readonly ReportRow[], at: number, quietMs = PRESENCE_MS): Presence {
  const reports = all.filter(({ isHere, reportedAt }) => isHere !== null && reportedAt <= at)
  const open = lastOfEachPage(reports)
    .filter((report) => report.isHere && report.reportedAt > at - quietMs)
    .sort((a, b) => compareTimes(b, a))
  return {
    isHere: open.length > 0,
    paths: [...new Set(open.map(({ path }) => path))],
    pages: open.map(({ path, pageLoad }) => ({ path, heardAt: whenHeard(all, pageLoad) })),
    lastReportAt: latest(reports),
    lastLeftAt: latest(reports.filter(({ isHere }) => isHere === false)),
  }
}

const whenHeard = (all: readonly ReportRow[], pageLoad: number | null): number =>
  all.reduce((last, report) => (report.pageLoad === pageLoad ? Math.max(last, report.receivedAt) : last), 0)

/** A view that only the events tell of: its batch kept a later report, from which the page was still to come. */
export const toLostReport = ({ path, occurredAt }: { path: string; occurredAt: number }): ReportRow => ({
  pageLoad: null,
  batchNumber: null,
  receivedAt: Number.POSITIVE_INFINITY,
  reportedAt: occurredAt,
  path,
  isHere: true,
  isReturn: false,
})

/** When anything was last reported until `at` (ms UTC); 0 = nothing was. */
export const lastReportUntil = (reports: readonly ReportRow[], at: number): number =>
  latest(reports.filter(({ isHere, reportedAt }) => isHere !== null && reportedAt <= at)) ?? 0

function lastOfEachPage(reports: ReportRow[]): ReportRow[] {
  const byPage = new Map<number | null, ReportRow>()
  for (const report of reports) {
    const known = byPage.get(report.pageLoad)
    if (!known || isLater(report, known)) byPage.set(report.pageLoad, report)
  }
  return [...byPage.values()]
}

/**
 * By the numbers of the batches, because the time a request takes makes what it reports look later; without them, and
 * within one batch, by time, and in the same millisecond one tab was left for another: here.
 */
function isLater(a: ReportRow, b: ReportRow): boolean {
  const { batchNumber: one } = a
  const { batchNumber: other } = b
  if (one !== null && other !== null && one !== other) return one > other
  if (a.reportedAt !== b.reportedAt || a.isHere === b.isHere) return compareTimes(a, b) > 0
  return a.isHere === true
}

/** By when it happened, then by when it came; of the same millisecond always alike, in whatever order they are read. */
const compareTimes = (a: ReportRow, b: ReportRow): number =>
  a.reportedAt - b.reportedAt || a.receivedAt - b.receivedAt || comparePaths(a.path, b.path)

export const comparePaths = (a: string, b: string): number => Number(a > b) - Number(a < b)

const latest = (reports: ReportRow[]): number | null =>
  reports.reduce<number | null>((last, { reportedAt }) => Math.max(last ?? 0, reportedAt), null)
