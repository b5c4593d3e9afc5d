/** Everything that is stored about one person: for the page, the API and the command line. */
import type { AppRow } from '../accounts/access.ts'
import type { Clock } from '../core/clock.ts'
import { publicId } from '../core/ids.ts'
import type { Refused } from '../store/types.ts'
import { eventView } from '../events/events.ts'
import { consentView } from '../people/consent.ts'
import { type ContactRow, contactView } from '../people/contacts.ts'
import { describeCause } from '../people/suppressions.ts'
import { listChosenTopics, topicView } from '../people/topics.ts'
import type { ContactChangeRow } from '../store/contact-changes.ts'
import type { DeliveryRow } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { PersonReports } from '../store/visit-reports.ts'
import { deliveryView } from './deliveries.ts'
import { describeDeliveries, type ListedDelivery } from './delivery-lists.ts'

/** Read at a time, so that other requests wait a few ms. */
const EXPORT_ROWS = 200

const iso = (at: number): string => new Date(at).toISOString()
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

/** Members are other people, so they are not named. */
const nameMember = (): string => 'a member'

/** One JSON object in pieces, so that memory does not grow with the person's events. */
export async function* exportPerson(
  { store }: { store: Store },
  app: AppRow,
  person: ContactRow,
): AsyncGenerator<string> {
  const [suppressed, expired] = await Promise.all([
    store.findSuppressed(app.id, person.email),
    store.findExpired(app.id),
  ])
  const suppression = suppressed && {
    reason: suppressed.reason,
    since: iso(suppressed.createdAt),
    why: suppressed.cause && describeCause(suppressed.cause, nameMember),
  }
  const deleted = {
    eventsUntil: isoOrNull(expired.eventsUntil),
    pageViewsUntil: isoOrNull(expired.pageViewsUntil),
  }
  yield `{"person":${JSON.stringify(contactView(person, app))},"suppression":${JSON.stringify(suppression)},`
  const [changes, topics, consents] = await Promise.all([
    store.listContactChanges(person.id, null, EXPORT_ROWS),
    listChosenTopics(store, app, person.email),
    readConsents(store, person),
  ])
  yield `"changes":${JSON.stringify(changes.map(changeView))},"topics":${JSON.stringify(topics.map(topicView))},`
  yield `"consents":${JSON.stringify(consents)},"emails":[`
  yield* joinPieces(listEmails(store, app, person))
  yield '],"pageReports":['
  yield* joinPieces(listReports(store, person))
  yield `],"deleted":${JSON.stringify(deleted)},"events":[`
  yield* joinPieces(listEvents(store, app, person))
  yield ']}\n'
}

/** `actor`: a member, an API key or "cli". In the audit log, which outlives the person, so it names no email. */
export const noteExport = (
  { store, clock }: { store: Store; clock: Pick<Clock, 'now'> },
  { accountId }: Pick<AppRow, 'accountId'>,
  { person, actor }: { person: Pick<ContactRow, 'id'>; actor: string },
): Promise<{ done: true } | Refused> =>
  store.noteExport({ accountId, actor, at: clock.now(), action: 'contact.export', subject: publicId('con', person.id) })

async function* joinPieces(items: AsyncGenerator<object[]>): AsyncGenerator<string> {
  let separator = ''
  for await (const some of items) {
    if (some.length === 0) continue
    yield separator + some.map((item) => JSON.stringify(item)).join(',')
    separator = ','
  }
}

const changeView = ({ at, change }: ContactChangeRow) => ({
  at: iso(at),
  ...change,
  cause: change.cause && describeCause(change.cause, nameMember),
})

const readConsents = async (store: Store, { id, appId }: ContactRow) =>
  Promise.all(
    (await store.listConsents(id)).map(async (one) => consentView(one, await store.findWording(appId, one.wording))),
  )

async function* listEmails(store: Store, app: AppRow, person: ContactRow): AsyncGenerator<object[]> {
  const query = { appId: app.id, contactId: person.id, messageId: null, states: null, limit: EXPORT_ROWS }
  for (let before: number | null = null; ;) {
    const rows: DeliveryRow[] = await store.listDeliveries({ ...query, before })
    const described = await describeDeliveries(store, app, rows)
    yield await Promise.all(described.map((one) => emailView(store, one)))
    const last = rows.at(-1)
    if (rows.length < EXPORT_ROWS || !last) return
    before = last.id
  }
}

/** With the values of POST /send, and the text of captured emails. */
async function emailView(store: Store, { work: { delivery, send, message }, explained }: ListedDelivery) {
  const captured = await store.findCaptured(delivery.appId, delivery.id)
  return {
    ...deliveryView(delivery, send),
    message: message.name,
    why: explained.why,
    properties: send?.properties == null ? null : (JSON.parse(send.properties) as unknown),
    captured: captured && {
      at: iso(captured.createdAt),
      subject: captured.content?.subject ?? null,
      text: captured.content?.text ?? captured.raw,
    },
  }
}

async function* listReports(store: Store, { id: contactId }: ContactRow): AsyncGenerator<object[]> {
  let before: number | null = null
  do {
    const found: PersonReports = await store.listPersonReports({ contactId, before, limit: EXPORT_ROWS })
    yield found.reports.map(({ type, path, at }) => ({ type, path, at: iso(at) }))
    before = found.next
  } while (before !== null)
}

async function* listEvents(store: Store, app: AppRow, { id: contactId }: ContactRow): AsyncGenerator<object[]> {
  const query = { appId: app.id, contactId, name: null, limit: EXPORT_ROWS }
  let before: number | null = null
  do {
    const page: Awaited<ReturnType<Store['listEvents']>> = await store.listEvents({ ...query, before })
    yield page.rows.map(eventView)
    before = page.next
  } while (before !== null)
}
