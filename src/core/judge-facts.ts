import { parseProperties, propertyOf } from '../store/conditions.ts'
import type { DeliveryWork, Rule } from '../store/message-types.ts'
import { isSamePath, pathOfUrl } from '../store/paths.ts'
import { BATCH_MS, type ReportRow } from '../store/snippet-types.ts'
import type { Store } from '../store/store.ts'
import { sinceWhen } from '../store/stops.ts'
import type { Facts } from './judge.ts'
import { lastReportUntil, PRESENCE_MS, presenceAt, toLostReport } from './presence.ts'

const MINUTE_MS = 60_000

/** What the store knows about a delivery's person, as far as the message's rules ask. */
export async function readFacts(store: Store, { delivery, message, contact, event }: DeliveryWork, at: number) {
  const { triggeredAt } = delivery
  const { onlyIf = [] } = message.content
  const looks = onlyIf.some(({ rule }) => rule === 'away' || rule === 'seen' || rule === 'notSeen')
  const reports = looks ? await store.listReports(delivery.appId, contact.id, triggeredAt - BATCH_MS) : []
  const before = looks ? await addLostViews(store, reports, { ...delivery, onlyIf }) : []
  const views = looks ? await store.listViews(contact.id, triggeredAt) : []
  const done = await readDone(store, { delivery, onlyIf }, at)
  return {
    at,
    triggeredAt,
    contact: { status: contact.status, tags: contact.tags ?? [], fields: contact.fields ?? {} },
    resultPath: pathOfUrl(propertyOf(parseProperties(event?.properties ?? null), 'url')),
    firstViewAt: looks ? await store.firstViewAt(contact.id) : null,
    presence: (when, quietMs) => presenceAt(when <= triggeredAt ? before : reports, when, quietMs),
    viewedAt: (path, since) => {
      const times = views.filter((view) => view.occurredAt >= since && isSamePath(view.path, path))
      return times.length === 0 ? null : Math.min(...times.map(({ occurredAt }) => occurredAt))
    },
    doneAt: (name, since) => done.get(`${name} ${since}`) ?? null,
  } satisfies Facts
}

type Asked = { contactId: number; triggeredAt: number; onlyIf: readonly Rule[] }

/** What is known of the time when it was triggered. A batch keeps its last report only: a view that none follows was open. */
async function addLostViews(store: Store, reports: ReportRow[], asked: Asked): Promise<ReportRow[]> {
  const { contactId, triggeredAt, onlyIf } = asked
  const quiet = onlyIf.map((rule) => (rule.rule === 'away' ? (rule.quietMinutes ?? 0) * MINUTE_MS : 0))
  const views = await store.listViews(contactId, triggeredAt - Math.max(PRESENCE_MS, ...quiet))
  const lastAt = lastReportUntil(reports, triggeredAt)
  const lost = views.filter(({ occurredAt }) => occurredAt > lastAt && occurredAt <= triggeredAt)
  return [...reports, ...lost.map(toLostReport)]
}

/** By event and time, as the rules will ask. */
async function readDone(
  store: Store,
  { delivery, onlyIf }: { delivery: DeliveryWork['delivery']; onlyIf: readonly Rule[] },
  at: number,
): Promise<Map<string, number | null>> {
  const { appId, contactId, triggeredAt, eventId: exceptId } = delivery
  const done = new Map<string, number | null>()
  for (const rule of onlyIf) {
    if (rule.rule !== 'done' && rule.rule !== 'notDone') continue
    const since = sinceWhen(rule.since, triggeredAt, at)
    const name = rule.event
    done.set(`${name} ${since}`, await store.lastDoneAt({ appId, contactId, name, since, exceptId }))
  }
  return done
}
