import type { AppRow } from '../accounts/access.ts'
import { idAt, timeOfId } from '../core/ids.ts'
import type { Consent } from '../people/consent.ts'
import type { ContactRow } from '../people/contacts.ts'
import type { ContactChangeRow } from '../store/contact-changes.ts'
import type { DeliveryRow } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { EventRow } from '../store/types.ts'
import type { PersonReport } from '../store/visit-reports.ts'
import { PRESENCE_MS } from '../visits/presence.ts'
import { describeDeliveries, type ListedDelivery } from './delivery-lists.ts'
import { type EventOutcome, explainEvents } from './message-explanations.ts'

export type { ContactChangeRow, PersonReport }

/** In order of `position`, an ID. `at`: when it was received or done (ms UTC). */
export type TimelineItem = { position: number; at: number } & (
  | { kind: 'event'; row: EventRow; outcomes: EventOutcome[] }
  /** `consent`: what it asks for */
  | { kind: 'email'; email: ListedDelivery; consent: Consent | null }
  /** `consent`: what it confirms */
  | { kind: 'change'; change: ContactChangeRow; consent: Consent | null }
  | { kind: 'presence'; reports: Presences }
)

/** Leaves and returns of one visit with nothing else in between, newest first. */
export type Presences = [PersonReport, ...PersonReport[]]

/** Read for a page of the timeline; more follow on the next one. */
const MAX_REPORTS = 1_000

/** Emails of one person that are listed; there are rarely more than some dozen. */
const MAX_EMAILS = 1_000

/** When it was sent or decided; when it is due if it is waiting. */
const timeOf = ({ state, sentAt, handedAt, updatedAt, dueAt }: DeliveryRow): number =>
  state === 'waiting' || state === 'deferred' ? dueAt : (sentAt ?? handedAt ?? updatedAt)

type TimelineQuery = { before: number | null; limit: number }

/**
 * Events, page views, emails and changes of a person in one stream, newest first. `next`: the next page's `before`,
 * null at the end.
 */
export async function listTimeline(
  store: Store,
  app: AppRow,
  person: ContactRow,
  { before, limit }: TimelineQuery,
): Promise<{ items: TimelineItem[]; next: number | null }> {
  const query = { appId: app.id, contactId: person.id, before, limit: limit + 1 }
  const [{ rows }, deliveries, changes, { reports, next }, consents] = await Promise.all([
    store.listEvents({ ...query, name: null }),
    store.listDeliveries({ ...query, messageId: null, states: null, before: null, limit: MAX_EMAILS }),
    store.listContactChanges(person.id, before, limit + 1),
    store.listPersonReports({ contactId: person.id, before, limit: MAX_REPORTS }),
    store.listConsents(person.id),
  ])
  const stream = [
    ...rows.map((row) => ({ position: row.id, row })),
    ...deliveries.map((delivery) => ({ position: idAt(timeOf(delivery)), delivery })),
    ...changes.map((change) => ({ position: change.id, change })),
    // page views are events
    ...reports.flatMap((report) => (report.type === 'page' ? [] : [{ position: report.id, report }])),
  ]
    .filter(({ position }) => (before === null || position < before) && (next === null || position >= next))
    .sort((a, b) => b.position - a.position)
  const found = groupReports(stream)
  const page = cutPage(found, limit)
  const events = page.flatMap((one) => ('row' in one ? one.row : []))
  const emails = page.flatMap((one) => ('delivery' in one ? one.delivery : []))
  const [outcomes, described] = await Promise.all([
    explainEvents(store, person, events),
    describeDeliveries(store, app, emails),
  ])
  const emailOf = new Map(described.map((email) => [email.work.delivery.id, email]))
  const items = page.flatMap(({ position, ...one }): TimelineItem[] => {
    if ('row' in one) {
      const { row } = one
      return [{ kind: 'event', position, at: row.receivedAt, row, outcomes: outcomes.get(row.id) ?? [] }]
    }
    if ('reports' in one) return [{ kind: 'presence', position, at: timeOfId(position), reports: one.reports }]
    if ('change' in one) {
      const { change } = one
      const isConfirmation = change.change.status?.[0] === 'pending' && change.change.status[1] === 'subscribed'
      const consent = isConfirmation ? consents.find(({ confirmedAt }) => confirmedAt === change.at) : undefined
      return [{ kind: 'change', position, at: change.at, change, consent: consent ?? null }]
    }
    const email = emailOf.get(one.delivery.id)
    const consent = consents.find(({ id }) => id === one.delivery.id) ?? null
    return email ? [{ kind: 'email', position, at: timeOf(one.delivery), email, consent }] : []
  })
  const last = page.at(-1)
  return { items, next: last && page.length < found.length ? lowestOf(last) : next }
}

type Reported = { position: number; report: PersonReport }
type Grouped = { position: number; reports: Presences }

const lowestOf = (item: { position: number } | Grouped): number =>
  'reports' in item ? (item.reports.at(-1)?.id ?? item.position) : item.position

/** In a row, and without a long silence. */
function groupReports<Other extends { position: number }>(items: (Other | Reported)[]): (Other | Grouped)[] {
  const grouped: (Other | Grouped)[] = []
  for (const item of items) {
    if (!('report' in item)) {
      grouped.push(item)
      continue
    }
    const { position, report } = item
    const last = grouped.at(-1)
    const earlier = last && 'reports' in last ? last.reports : null
    if (earlier && (earlier.at(-1)?.at ?? 0) - report.at < PRESENCE_MS) earlier.push(report)
    else grouped.push({ position, reports: [report] })
  }
  return grouped
}

/** The next page starts below the last position, so all items at it belong to this one. */
function cutPage<Item extends { position: number }>(items: Item[], limit: number): Item[] {
  const last = items[limit - 1]
  return last === undefined ? items : items.filter(({ position }, index) => index < limit || position === last.position)
}
