import { mapInOrder } from '../../core/in-order.ts'
import { DAY_MS, HOUR_MS } from '../../core/clock.ts'
import type { Arrival } from '../../store/delivery-rules.ts'
import type { Matched } from '../../store/plan-types.ts'
import type { MessageContent } from '../../store/message-types.ts'
import {
  type DoneHappening,
  FIRST_VIEWS,
  type Happening,
  type SimulationReads,
  type ViewHappening,
} from '../../store/simulation.ts'
import { VISIT_REPORT_MS, type ReportRow } from '../../store/visit-reports.ts'
import { comparePaths, lastReportUntil, type Presence, presenceAt, toLostReport } from '../../visits/presence.ts'
import { parseProperties } from '../../messages/conditions.ts'
import { matchLeave, matchMessages } from '../arrivals.ts'
import type { FactReads } from '../facts.ts'
import { listReadEvents, longestLookbackMs, readsPages, sinceWhen } from '../rules.ts'

/** A later page of a simulation reads the same, even if reports were deleted meanwhile. */
const LATER_MS = HOUR_MS

type Asked = { appId: number; content: MessageContent; from: number; now: number }

/** What may cancel a waiting email, or have it checked earlier. Times are ms UTC. */
export type PastArrival = { id: number; at: number; occurredAt: number; matched: Matched }
export type Past = Awaited<ReturnType<typeof readPast>>

/** As far back as `from`, and only what the message's rules need. */
export async function readPast(reads: SimulationReads, asked: Asked, contactId: number) {
  const { appId, content, from, now } = asked
  const { onlyIf = [] } = content
  const isPageRead = readsPages(onlyIf)
  const reportedSince = now - VISIT_REPORT_MS + LATER_MS
  const lookbackMs = longestLookbackMs(onlyIf)
  const views = isPageRead ? await reads.listViews(contactId, from - lookbackMs) : []
  let firstViews: Promise<Happening[]> | null = null
  const reports = isPageRead ? await reads.listReports(appId, contactId, reportedSince) : []
  const done = await readDone(reads, asked, contactId)
  const activity = await listActivity(reads, asked, contactId)

  const presenceOf = (when: number, quietMs: number, at: number): PastPresence | null =>
    when - lookbackMs >= reportedSince
      ? null
      : estimatePresence({
          views: views.filter((view) => view.at <= at),
          reports: reports.filter((report) => report.receivedAt <= at),
          when,
          quietMs,
          reportedSince,
        })

  return {
    /** `triggeredAt`: of the earliest event that is decided. */
    readsAt: (at: number, triggeredAt: number): Omit<FactReads, 'lastHandedAt'> => ({
      findSuppression: async () => null,
      findTopicEnd: reads.findTopicEnd,
      listHanded: async () => [],
      listViews: async (_, since) => views.filter((view) => view.at <= at && view.occurredAt >= since),
      firstViewAt: async () => {
        const isIn = (view: Happening): boolean => view.at <= at
        const firstRead = firstTime(views.slice(0, FIRST_VIEWS).filter(isIn))
        // rules ask only whether there was one before the event
        if (!isPageRead || (firstRead !== null && firstRead <= triggeredAt)) return firstRead
        firstViews ??= reads.listFirstViews(contactId)
        return firstTime((await firstViews).filter(isIn))
      },
      lastDoneAt: async ({ name, since, exceptId, fits = () => true }) =>
        lastTime(
          (done.get(name) ?? []).filter(
            (one) => isKnown(one, at, since) && one.id !== exceptId && fits(one.properties),
          ),
        ),
      lastActiveAt: async () =>
        activity.reduce<number | null>((last, one) => (one.at <= at ? latest(last, one) : last), null),
      listReports: async (_app, _contact, receivedAfter) =>
        reports.filter(({ receivedAt }) => receivedAt <= at && receivedAt > receivedAfter),
      presenceAt: ({ when, quietMs }) => presenceOf(when, quietMs, at),
    }),

    arrivals: (): PastArrival[] => [
      ...views.map((view) => cancelling(view, { path: view.path, occurredAt: view.occurredAt })),
      ...reports.flatMap((report): PastArrival[] => {
        const { id, receivedAt: at, reportedAt: occurredAt, path, isHere, isReturn } = report
        if (isReturn) return [cancelling({ id, at, occurredAt }, { path, occurredAt })]
        return isHere === false ? [{ id, at, occurredAt, matched: matchLeave() }] : []
      }),
      ...[...done].flatMap(([event, happenings]) =>
        happenings.map((one) =>
          cancelling(one, {
            event,
            occurredAt: one.occurredAt,
            properties: () => parseProperties(one.properties),
          }),
        ),
      ),
    ],
  }
}

const latest = (last: number | null, { occurredAt }: Happening): number => Math.max(last ?? occurredAt, occurredAt)

/** Only if inactivity triggers the message. */
const listActivity = async (
  reads: SimulationReads,
  { content: { trigger }, from }: Asked,
  contactId: number,
): Promise<Happening[]> =>
  'inactiveDays' in trigger ? await reads.listActivity(contactId, from - trigger.inactiveDays * DAY_MS) : []

const cancelling = ({ id, at, occurredAt }: Happening, arrival: Arrival): PastArrival => ({
  id,
  at,
  occurredAt,
  matched: matchMessages([], arrival),
})

const isKnown = (one: Happening, at: number, since: number): boolean => one.at <= at && one.occurredAt >= since

const firstTime = (found: readonly Happening[]): number | null =>
  found.reduce<number | null>((first, { occurredAt }) => Math.min(first ?? occurredAt, occurredAt), null)
const lastTime = (found: readonly Happening[]): number | null =>
  found.reduce<number | null>((last, { occurredAt }) => Math.max(last ?? occurredAt, occurredAt), null)

async function readDone(
  reads: SimulationReads,
  { appId, content: { onlyIf = [] }, from }: Asked,
  contactId: number,
): Promise<Map<string, DoneHappening[]>> {
  const since = new Map<string, number>()
  for (const { name, since: asked } of listReadEvents(onlyIf)) {
    const own = sinceWhen(asked, from, from)
    since.set(name, Math.min(since.get(name) ?? own, own))
  }
  return new Map(
    await mapInOrder([...since], async ([name, earliest]) => [
      name,
      await reads.listDone({ appId, contactId, name, since: earliest }),
    ]),
  )
}

type PastPresence = Presence & { isEstimated?: true }

type Estimating = {
  views: readonly ViewHappening[]
  reports: readonly ReportRow[]
  when: number
  quietMs: number
  /** all reports since then are still stored */
  reportedSince: number
}

/** Where reports were deleted (ms UTC): present between page views at most `quietMs` apart. */
export function estimatePresence({ views, reports, when, quietMs, reportedSince }: Estimating): PastPresence {
  const inOrder = views.toSorted((a, b) => a.occurredAt - b.occurredAt || comparePaths(a.path, b.path))
  const last = inOrder.findLast(({ occurredAt }) => occurredAt <= when)
  const next = inOrder.find(({ occurredAt }) => occurredAt > when)
  const isReported = last === undefined || last.occurredAt <= lastReportUntil(reports, when)
  const guessed = isReported
    ? []
    : [last.occurredAt >= reportedSince ? toLostReport(last) : toGuess(last, next, quietMs)]
  return { ...presenceAt([...reports, ...guessed], when, quietMs), isEstimated: true }
}

/** Never the hash of a real page load. */
const GUESSED_LOAD = -1

function toGuess({ path, occurredAt }: ViewHappening, next: ViewHappening | undefined, quietMs: number): ReportRow {
  const nextAt = next?.occurredAt ?? Number.POSITIVE_INFINITY
  const isHere = nextAt - occurredAt <= quietMs
  return {
    pageLoad: GUESSED_LOAD,
    reportNumber: null,
    receivedAt: isHere ? nextAt : occurredAt,
    reportedAt: occurredAt,
    path,
    isHere,
    isReturn: false,
  }
}
