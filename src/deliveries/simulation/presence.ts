import { BATCH_MS, type ReportRow } from '../../store/snippet-types.ts'
import { lastReportUntil, type Presence, presenceAt, toLostReport } from '../../visits/presence.ts'
import { findFrom, firstIndex, type Happened, type Timeline } from './timeline.ts'

/** The next page of a simulation may be asked for so much later, when more was deleted, and is judged alike. */
const LATER_MS = 3_600_000

/** What is stored of one person; reports are by when they were made, `late` are those of them that came long after. */
export type Visits = { views: Timeline; reports: readonly ReportRow[]; late: readonly ReportRow[] }

/** `isEstimated`: by page views alone. */
export type PastPresence = Presence & { isEstimated?: true }

/** `when`: ms UTC, as it was known at `heardUntil`; `quietMs`: how long a page may be open without a sign. */
type Asked = { when: number; triggeredAt: number; quietMs: number; heardUntil: number }

/** Since when all reports of open pages are still there, and how far back the rules of a message look. */
export type Known = { reportedSince: number; lookbackMs: number }

/** @returns ms UTC, for a simulation of the moment `now` */
export const reportedSince = (now: number): number => now - BATCH_MS + LATER_MS

/**
 * Whether a person was there, as a simulation knows it now. As far back as reports are kept, by these, and by views that no
 * report until then follows. Before, a view that no report follows proves nothing: somebody was there between two views
 * that are no more than `quietMs` apart, and had left after the last.
 */
export function pastPresence(visits: Visits, asked: Asked, known: Known): PastPresence {
  const { reportedSince: since, lookbackMs } = known
  const isEstimated = asked.when - lookbackMs < since
  const reports = reportsAround(visits, asked)
  const lastAt = lastReportUntil(reports, asked.when)
  // live looks for views that no report tells of only before the trigger (judge-facts.ts)
  const asksViews = isEstimated || asked.when <= asked.triggeredAt
  const range = { after: lastAt, provenSince: isEstimated ? since : 0 }
  const views = asksViews ? viewsAsReports(visits.views, asked, range) : []
  const presence = presenceAt([...reports, ...views], asked.when, asked.quietMs)
  return isEstimated ? { ...presence, isEstimated } : presence
}

/** How long the last report of a page may have been on its way, and so look older than the one before it. */
const UNDERWAY_MS = 60_000

/** What came so late proves that its page was there then, however long ago it was made. */
export const isLate = ({ receivedAt, reportedAt }: ReportRow): boolean => receivedAt > reportedAt + UNDERWAY_MS

/** All that tells whether somebody is there: what came later proves it, and of what is long ago only the last counts. */
function reportsAround({ reports: all, late }: Visits, { when, quietMs, heardUntil }: Asked): ReportRow[] {
  const found: ReportRow[] = []
  const next = firstIndex(all, ({ reportedAt }) => reportedAt > when)
  let [hasReport, hasLeave] = [false, false]
  for (let index = next - 1; index >= 0; index -= 1) {
    const report = all[index]
    if (!report) break
    if (hasReport && hasLeave && report.reportedAt < when - quietMs - UNDERWAY_MS) {
      found.push(...late.filter((one) => one.reportedAt <= report.reportedAt && one.receivedAt <= heardUntil))
      break
    }
    if (report.receivedAt > heardUntil) continue
    found.push(report)
    hasReport ||= report.isHere !== null
    hasLeave ||= report.isHere === false
  }
  for (let index = next; index < all.length; index += 1) {
    const report = all[index]
    if (!report || report.reportedAt > heardUntil) break
    if (report.receivedAt <= heardUntil) found.push(report)
  }
  return found
}

type Range = { after: number; provenSince: number }

/** The last view that no report follows; before `provenSince` with what came after it. */
function viewsAsReports({ byTime }: Timeline, { when, quietMs, heardUntil }: Asked, range: Range): ReportRow[] {
  const isKnown = ({ at }: Happened) => at <= heardUntil
  const next = firstIndex(byTime, ({ occurredAt }) => occurredAt > when)
  const last = findFrom(byTime, next - 1, -1, isKnown)
  if (last === null || last.occurredAt <= range.after) return []
  if (last.occurredAt >= range.provenSince) return [toLostReport({ ...last, path: last.path ?? '' })]
  const following = findFrom(byTime, next, 1, isKnown)?.occurredAt ?? Number.POSITIVE_INFINITY
  return [toGuess({ ...last, path: last.path ?? '' }, following, quietMs)]
}

/** No hash of a page load is below zero. */
const GUESSED_LOAD = -1

function toGuess(
  { path, occurredAt }: { path: string; occurredAt: number },
  nextAt: number,
  quietMs: number,
): ReportRow {
  const isHere = nextAt - occurredAt <= quietMs
  const receivedAt = isHere ? nextAt : occurredAt
  return {
    pageLoad: GUESSED_LOAD,
    batchNumber: null,
    receivedAt,
    reportedAt: occurredAt,
    path,
    isHere,
    isReturn: false,
  }
}
