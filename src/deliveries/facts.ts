import { mapInOrder } from '../core/in-order.ts'
import { hasValue, sameValueOf } from '../messages/again.ts'
import { parseProperties } from '../messages/conditions.ts'
import { parseRecord } from '../store/decision-records.ts'
import type { Brake } from '../store/brake-rules.ts'
import type { DecisionReads, StartFacts } from '../store/delivery-rules.ts'
import type { ViewRow } from '../store/events.ts'
import type { Store } from '../store/store.ts'
import { usesOf } from '../store/message-uses.ts'
import type { DeliveryRow, MessageContent, Rule, Verdict } from '../store/message-types.ts'
import { isSamePath } from '../visits/paths.ts'
import { VISIT_REPORT_MS, type ReportRow } from '../store/visit-reports.ts'
import type { ContactRow, EventRow } from '../store/types.ts'
import { lastReportUntil, presenceAt, toLostReport } from '../visits/presence.ts'
import { type Facts, isLifecycle, isTimed, LIMITED_MS, type SendingSettings } from './decide.ts'
import {
  type EventFacts,
  listReadEvents,
  longestQuietMs,
  NOTHING_DONE,
  readsPages,
  resultPathOf,
  type RuleFacts,
  rulesOfEvent,
  sinceWhen,
} from './rules.ts'
import { isKeyUsed } from './schedules.ts'

/** The part of a delivery that a simulation knows too. */
export type DecidedWork = {
  delivery: Pick<
    DeliveryRow,
    'id' | 'appId' | 'contactId' | 'messageId' | 'eventId' | 'triggeredAt' | 'plannedAt' | 'byHand'
  > & { record?: string | null }
  message: { content: MessageContent }
  contact: Pick<ContactRow, 'email' | 'status' | 'tags' | 'fields'>
  event: Pick<EventRow, 'properties'> | null
  joined: readonly { triggeredAt: number; event: Pick<EventRow, 'id' | 'properties'> }[]
  settings: SendingSettings
  app: { hosts: readonly string[] }
  limitedMs?: number
  brakedMs?: number
  brake?: Brake | null
}

/** `presenceAt` overrides the stored reports; null: it doesn't. */
export type FactReads = DecisionReads & {
  presenceAt?: (asked: {
    when: number
    triggeredAt: number
    quietMs: number
  }) => ReturnType<EventFacts['presence']> | null
}

/** What is stored of an address that may keep it from getting an email. */
export async function readRefusal(
  store: Pick<Store, 'findSuppression' | 'findTopicEnd'>,
  appId: number,
  { contact: { email }, content: { topic } }: { contact: { email: string }; content: Pick<MessageContent, 'topic'> },
) {
  const [suppression, topicEndedAt] = await Promise.all([
    store.findSuppression(appId, email),
    topic === undefined ? null : store.findTopicEnd(appId, email, topic),
  ])
  return { suppression, topicEndedAt }
}

/** With `known`, skips facts of the message's own rules. */
export async function readFacts(
  reads: FactReads,
  work: DecidedWork,
  at: number,
  known?: readonly Verdict[],
): Promise<Facts> {
  const { delivery, message, contact, settings, joined } = work
  const { again, topic } = message.content
  const isLimited = isLifecycle(message.content) && (settings.perPersonDay !== null || settings.perPersonWeek !== null)
  const isDone = known !== undefined || delivery.byHand
  return {
    at,
    plannedAt: delivery.plannedAt,
    limitedMs: limitedMsOf(work),
    isByHand: delivery.byHand,
    suppression: await reads.findSuppression(delivery.appId, contact.email),
    topicEndedAt: topic === undefined ? null : await reads.findTopicEnd(delivery.appId, contact.email, topic),
    brake: heedsBrake(work) ? (work.brake ?? null) : null,
    lastHandedAt: isTimed(again) && !delivery.byHand ? await reads.lastHandedAt(delivery) : null,
    handed: isLimited && !delivery.byHand ? listLimited(await reads.listHanded(delivery, at - LIMITED_MS)) : [],
    place: message.content.holdback === undefined ? null : placeInMessage(delivery),
    lastActiveAt: 'inactiveDays' in message.content.trigger ? await reads.lastActiveAt(delivery.contactId) : null,
    contact: { status: contact.status, tags: contact.tags ?? [], fields: contact.fields ?? {} },
    ...(isDone ? { triggeredAt: delivery.triggeredAt, ...NOTHING_DONE } : await readVisits(reads, work, at)),
    joined: await mapInOrder(
      isDone || rulesOfEvent(message.content).length === 0 ? [] : joined,
      ({ triggeredAt, event }) =>
        readVisits(reads, { ...work, delivery: { ...delivery, triggeredAt, eventId: event.id }, event }, at),
    ),
    known,
  }
}

type Braked = { delivery: Pick<DecidedWork['delivery'], 'byHand' | 'record'>; message: { content: MessageContent } }

/** Lifecycle emails wait for it, unless a member sends a single one. */
const heedsBrake = ({ delivery: { byHand, record = null }, message }: Braked): boolean =>
  isLifecycle(message.content) && (!byHand || parseRecord(record)?.sentOn?.inBulk === true)

/** How long it waited for a limit or the brake, which doesn't count towards giving up. */
export const limitedMsOf = (work: Braked & Pick<DecidedWork, 'limitedMs' | 'brakedMs'>): number =>
  (work.limitedMs ?? 0) + (heedsBrake(work) ? (work.brakedMs ?? 0) : 0)

/** Transactional emails don't count towards the limits per person. */
const listLimited = (handed: Awaited<ReturnType<FactReads['listHanded']>>): number[] =>
  handed.filter(isLifecycle).map(({ at }) => at)

type Visits = EventFacts & Pick<RuleFacts, 'firstReportedAt'>

async function readVisits(
  reads: FactReads,
  { delivery, message, event, app }: DecidedWork,
  at: number,
): Promise<Visits> {
  const { appId, contactId, triggeredAt } = delivery
  const { onlyIf = [] } = message.content
  const isPageRead = readsPages(onlyIf)
  const reports = isPageRead ? await reads.listReports(appId, contactId, triggeredAt - VISIT_REPORT_MS) : []
  const firstViewAt = isPageRead ? await reads.firstViewAt(contactId) : null
  const allViews = firstViewAt === null ? [] : await reads.listViews(contactId, triggeredAt - longestQuietMs(onlyIf))
  const before = addLostViews(reports, allViews, triggeredAt)
  const views = allViews.filter(({ occurredAt }) => occurredAt >= triggeredAt)
  const returns = reports.filter(({ isReturn }) => isReturn)
  const visits = [...views, ...returns.map(({ path, reportedAt }) => ({ path, occurredAt: reportedAt }))]
  const sameValue = (property: string) => sameValueOf(parseProperties(event?.properties ?? null), property)
  const done = await readDone(reads, { delivery, onlyIf, sameValue }, at)
  return {
    triggeredAt,
    resultPath: resultPathOf(event?.properties ?? null, app.hosts),
    firstReportedAt: earliest(firstViewAt, ...returns.map(({ reportedAt }) => reportedAt)),
    presence: (when, quietMs) =>
      reads.presenceAt?.({ when, triggeredAt, quietMs }) ??
      presenceAt(when <= triggeredAt ? before : reports, when, quietMs),
    firstOnPageSince: (path, since) => {
      const found = visits.filter((visit) => visit.occurredAt >= since && isSamePath(visit.path, path))
      return earliest(...found.map(({ occurredAt }) => occurredAt))
    },
    firstVisitSince: (since) =>
      earliest(...visits.filter((visit) => visit.occurredAt >= since).map(({ occurredAt }) => occurredAt)),
    doneAt: (name, since, same) => done.get(keyOfDone(name, since, same)) ?? null,
    sameValue,
  }
}

const earliest = (...times: (number | null)[]): number | null =>
  times.reduce((first, time) => (first === null || (time !== null && time < first) ? time : first), null)

/** A batch stores its last report only, so earlier views are restored from events. */
function addLostViews(reports: ReportRow[], views: readonly ViewRow[], triggeredAt: number): ReportRow[] {
  const lastAt = lastReportUntil(reports, triggeredAt)
  const lost = views.filter(({ occurredAt }) => occurredAt > lastAt && occurredAt <= triggeredAt)
  return [...reports, ...lost.map(toLostReport)]
}

type DoneOf = Pick<DecidedWork, 'delivery'> & Pick<EventFacts, 'sameValue'> & { onlyIf: readonly Rule[] }

async function readDone(
  reads: FactReads,
  { delivery, onlyIf, sameValue }: DoneOf,
  at: number,
): Promise<Map<string, number | null>> {
  const { appId, contactId, triggeredAt, eventId: exceptId } = delivery
  const done = new Map<string, number | null>()
  for (const { name, since: asked, same } of listReadEvents(onlyIf)) {
    const since = sinceWhen(asked, triggeredAt, at)
    const query = { appId, contactId, name, since, exceptId }
    const lastAt =
      same === undefined
        ? await reads.lastDoneAt(query)
        : await readSame(reads, query, { same, value: sameValue(same) })
    done.set(keyOfDone(name, since, same), lastAt)
  }
  return done
}

const keyOfDone = (name: string, since: number, same = ''): string => `${name} ${since} ${same}`

type Same = { same: string; value: ReturnType<EventFacts['sameValue']> }

const readSame = async (
  reads: FactReads,
  query: Parameters<FactReads['lastDoneAt']>[0],
  { same, value }: Same,
): Promise<number | null> =>
  value === null
    ? null
    : await reads.lastDoneAt({ ...query, fits: (properties) => hasValue(parseProperties(properties), same, value) })

/** `at`: arrival; `occurredAt`: when it happened. `properties` is JSON. */
export type Arrival = { at: number; occurredAt: number; properties: string | null }

type EarlierDeliveries = { deliveries: readonly DeliveryRow[]; timezone: string }

/** Without emails that the event could join. */
export function readStart({ deliveries, timezone }: EarlierDeliveries, came: Arrival): StartFacts {
  const { keys, count, lastHandedAt } = usesOf(deliveries)
  return {
    ...came,
    timezone,
    properties: () => parseProperties(came.properties),
    leads: null,
    isUsedUp: (key) => isKeyUsed(keys, key),
    hasAny: () => count > 0,
    lastHandedAt: () => lastHandedAt,
  }
}

type Ids = { contactId: number; messageId: number }

const HASH_RANGE = 2 ** 32
/** Overwritten by each call: a new buffer takes twice as long (measured: 550 and 250 ns). */
const hashed = new Uint8Array(Bun.SHA256.byteLength)
const hashedView = new DataView(hashed.buffer)

/**
 * The person's place among all people of the message, from 0 to under 100: evenly spread, the same in every version, and
 * unrelated to their places in other messages. A larger share keeps everyone that a smaller one held back.
 */
export function placeInMessage({ contactId, messageId }: Ids): number {
  Bun.SHA256.hash(`${messageId}:${contactId}`, hashed)
  return (100 * hashedView.getUint32(0)) / HASH_RANGE
}
