import { parseProperties, propertyOf } from '../store/conditions.ts'
import type { DeliveryWork, Rule } from '../store/message-types.ts'
import { isSamePath, pathOfUrl } from '../store/paths.ts'
import { BATCH_MS, type ReportRow } from '../store/snippet-types.ts'
import type { JudgeReads } from '../store/final-check.ts'
import { sinceWhen } from '../store/stops.ts'
import type { Facts } from './judge.ts'
import { lastReportUntil, PRESENCE_MS, presenceAt, toLostReport } from '../visits/presence.ts'

const MINUTE_MS = 60_000

/** What the store knows about a delivery's person, as far as the message's rules ask. */
export function readFacts(reads: JudgeReads, { delivery, message, contact, event }: DeliveryWork, at: number) {
  const { triggeredAt } = delivery
  const { onlyIf = [] } = message.content
  const looks = onlyIf.some(({ rule }) => rule === 'away' || rule === 'seen' || rule === 'notSeen')
  const reports = looks ? reads.listReports(delivery.appId, contact.id, triggeredAt - BATCH_MS) : []
  const before = looks ? addLostViews(reads, reports, { ...delivery, onlyIf }) : []
  const views = looks ? reads.listViews(contact.id, triggeredAt) : []
  const returns = reports.filter(({ isReturn }) => isReturn)
  const visits = [...views, ...returns.map(({ path, reportedAt }) => ({ path, occurredAt: reportedAt }))]
  const done = readDone(reads, { delivery, onlyIf }, at)
  return {
    at,
    triggeredAt,
    contact: { status: contact.status, tags: contact.tags ?? [], fields: contact.fields ?? {} },
    resultPath: pathOfUrl(propertyOf(parseProperties(event?.properties ?? null), 'url')),
    firstViewAt: looks ? earliest(reads.firstViewAt(contact.id), ...returns.map(({ reportedAt }) => reportedAt)) : null,
    presence: (when, quietMs) => presenceAt(when <= triggeredAt ? before : reports, when, quietMs),
    viewedAt: (path, since) => {
      const found = visits.filter((visit) => visit.occurredAt >= since && isSamePath(visit.path, path))
      return earliest(...found.map(({ occurredAt }) => occurredAt))
    },
    doneAt: (name, since) => done.get(`${name} ${since}`) ?? null,
  } satisfies Facts
}

const earliest = (...times: (number | null)[]): number | null =>
  times.reduce((first, time) => (first === null || (time !== null && time < first) ? time : first), null)

type Asked = { contactId: number; triggeredAt: number; onlyIf: readonly Rule[] }

/** What is known of the time when it was triggered. A batch keeps its last report only: a view that none follows was open. */
function addLostViews(reads: JudgeReads, reports: ReportRow[], asked: Asked): ReportRow[] {
  const { contactId, triggeredAt, onlyIf } = asked
  const quiet = onlyIf.map((rule) => (rule.rule === 'away' ? (rule.quietMinutes ?? 0) * MINUTE_MS : 0))
  const views = reads.listViews(contactId, triggeredAt - Math.max(PRESENCE_MS, ...quiet))
  const lastAt = lastReportUntil(reports, triggeredAt)
  const lost = views.filter(({ occurredAt }) => occurredAt > lastAt && occurredAt <= triggeredAt)
  return [...reports, ...lost.map(toLostReport)]
}

/** By event and time, as the rules will ask. */
function readDone(
  reads: JudgeReads,
  { delivery, onlyIf }: { delivery: DeliveryWork['delivery']; onlyIf: readonly Rule[] },
  at: number,
): Map<string, number | null> {
  const { appId, contactId, triggeredAt, eventId: exceptId } = delivery
  const done = new Map<string, number | null>()
  for (const rule of onlyIf) {
    if (rule.rule !== 'done' && rule.rule !== 'notDone') continue
    const since = sinceWhen(rule.since, triggeredAt, at)
    const name = rule.event
    done.set(`${name} ${since}`, reads.lastDoneAt({ appId, contactId, name, since, exceptId }))
  }
  return done
}
