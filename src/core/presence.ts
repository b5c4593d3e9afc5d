import { BATCH_MS, type ReportRow } from '../store/snippet-types.ts'
import type { Parts } from './parts.ts'

/** Without a sign for so long, whoever was here is taken to have gone (messages.md): a browser may end without a word. */
export const PRESENCE_MS = 1_800_000

/** All of the last 48 hours; times are ms UTC, by when things happened. */
export type Presence = {
  /** on at least one page now */
  isHere: boolean
  /** the paths of these pages, the one that was opened last first */
  paths: string[]
  /** when anything was last reported; null: nothing was */
  lastReportAt: number | null
  lastLeftAt: number | null
}

/**
 * Whether a person is here, and on which path (snippet.md, Presence). Each page load is judged by what it reported last, by
 * when that happened, so a late repetition changes nothing, and who is here in one of two tabs is here. A batch id names
 * its page load before a dot; all ids without one count as one page load.
 * @param quietMs how long a page may be open without a sign
 */
export async function readPresence(
  { store, clock }: Pick<Parts, 'store' | 'clock'>,
  { appId, contactId }: { appId: number; contactId: number },
  quietMs = PRESENCE_MS,
): Promise<Presence> {
  const now = clock.now()
  return presenceAt(await store.listReports(appId, contactId, now - BATCH_MS), now, quietMs)
}

/** The same at any time (ms UTC), by what had happened until then. */
export function presenceAt(all: readonly ReportRow[], at: number, quietMs = PRESENCE_MS): Presence {
  const reports = all.filter(({ reportedAt }) => reportedAt <= at)
  const open = lastOfEachPage(reports)
    .filter((report) => report.isHere && report.reportedAt > at - quietMs)
    .sort((a, b) => b.reportedAt - a.reportedAt)
  return {
    isHere: open.length > 0,
    paths: [...new Set(open.map(({ path }) => path))],
    lastReportAt: latest(reports),
    lastLeftAt: latest(reports.filter(({ isHere }) => !isHere)),
  }
}

function lastOfEachPage(reports: ReportRow[]): ReportRow[] {
  const byPage = new Map<number | null, ReportRow>()
  for (const report of reports) {
    const known = byPage.get(report.pageLoad)
    if (!known || isLater(report, known)) byPage.set(report.pageLoad, report)
  }
  return [...byPage.values()]
}

/** In the same millisecond one tab was left for another: here. */
const isLater = (a: ReportRow, b: ReportRow): boolean =>
  a.reportedAt > b.reportedAt || (a.reportedAt === b.reportedAt && a.isHere)

const latest = (reports: ReportRow[]): number | null =>
  reports.reduce<number | null>((last, { reportedAt }) => Math.max(last ?? 0, reportedAt), null)
