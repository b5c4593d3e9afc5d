import type { ReportRow } from '../store/visit-reports.ts'

/** Silence for this long means gone: browsers may end without a report. */
export const PRESENCE_MS = 1_800_000

/** Of the last 48 hours, by time of the event (ms UTC). */
export type Presence = {
  isHere: boolean
  paths: string[]
  /** `heardAt`: the page's last report; crashed tabs send none */
  pages: { path: string; heardAt: number }[]
  lastReportAt: number | null
  lastLeftAt: number | null
}

/**
 * Each page load counts by its last report in its own order, because requests may overtake each other. One open tab
 * means here. A batch id is `page load.number`. Later reports than `at` only prove that a page was open. @param quietMs
 * how long a page may be silent
 */
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

/** A view known from events only: its batch stored a later report. */
export const toLostReport = ({ path, occurredAt }: { path: string; occurredAt: number }): ReportRow => ({
  pageLoad: null,
  reportNumber: null,
  receivedAt: Number.POSITIVE_INFINITY,
  reportedAt: occurredAt,
  path,
  isHere: true,
  isReturn: false,
})

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

/** By batch number, else by time. At equal times one tab replaced another: here. */
function isLater(a: ReportRow, b: ReportRow): boolean {
  const { reportNumber: one } = a
  const { reportNumber: other } = b
  if (one !== null && other !== null && one !== other) return one > other
  if (a.reportedAt !== b.reportedAt || a.isHere === b.isHere) return compareTimes(a, b) > 0
  return a.isHere === true
}

/** By time, then arrival, so that the order is stable. */
const compareTimes = (a: ReportRow, b: ReportRow): number =>
  a.reportedAt - b.reportedAt || a.receivedAt - b.receivedAt || comparePaths(a.path, b.path)

export const comparePaths = (a: string, b: string): number => Number(a > b) - Number(a < b)

const latest = (reports: ReportRow[]): number | null =>
  reports.reduce<number | null>((last, { reportedAt }) => Math.max(last ?? 0, reportedAt), null)
