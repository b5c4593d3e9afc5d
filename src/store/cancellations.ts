import type { Database } from 'bun:sqlite'
import { parseProperties, propertyOf } from './conditions.ts'
import type { DeliveryEnds } from './delivery-ends.ts'
import { USES_ONCE_UP } from './delivery-states.ts'
import type { DecisionRecord } from './decision-records.ts'
import type { LiveMessages } from './live-messages.ts'
import type { Arrival, Cancelled, DeliveryRules } from './delivery-rules.ts'
import type { DeliveryState, MessageContent } from './message-types.ts'
import { isSamePath, pathOfUrl } from './paths.ts'
import type { Arrived } from './triggers.ts'
import type { FieldValue } from './types.ts'

/** A visit within this time counts as the message's doing. */
const CAME_BACK_MS = 7 * 24 * 3_600_000

type Open = {
  id: number
  messageId: number
  version: number
  state: DeliveryState
  eventId: number | null
  triggeredAt: number
  dueAt: number
}
/** An event that joined the email of another. */
type Joined = Pick<Open, 'id' | 'eventId' | 'triggeredAt' | 'dueAt'>
type Reached = { id: number; eventId: number | null; handedAt: number }

/** What was changed of a person by name. */
export type ContactChange = {
  appId: number
  contactId: number
  at: number
  addedTags: string[]
  removedTags: string[]
  fieldsBefore: Record<string, FieldValue>
  fieldsAfter: Record<string, FieldValue>
}

type Person = { appId: number; contactId: number; at: number }
/** The person is on a page: they opened it, or came back to it. */
type Visit = Person & { path: string; occurredAt: number }

type Parts = { db: Database; live: LiveMessages; ends: DeliveryEnds; rules: DeliveryRules }

/** What arrived; `isOwn`: whether it is itself what triggered a delivery. */
type What = { arrival: Arrival; isOwn: (eventId: number | null) => boolean }

/**
 * Cancels deliveries that wait as soon as something arrives that rules them out, in the transaction that writes it, and
 * notes who came back after an email. What a member sends on by hand asks no rule, so nothing cancels it.
 */
export type Cancellations = ReturnType<typeof createCancellations>

export function createCancellations({ db, live, ends, rules }: Parts) {
  const open = db.prepare<Open, [number, number]>(
    `SELECT id, message_id AS messageId, version, state, event_id AS eventId, triggered_at AS triggeredAt,
       due_at AS dueAt FROM deliveries WHERE app_id = ? AND contact_id = ? AND ${USES_ONCE_UP}
       AND state IN ('waiting', 'deferred', 'claimed') AND by_hand = 0`,
  )
  const reached = db.prepare<Reached, [number, number, number]>(
    `SELECT id, event_id AS eventId, handed_at AS handedAt FROM deliveries
     WHERE app_id = ? AND contact_id = ? AND ${USES_ONCE_UP}
       AND state IN ('handed', 'sent', 'unknown') AND handed_at >= ?
       AND (came_back_at IS NULL OR opened_at IS NULL)`,
  )
  const joinedTo = db.prepare<Joined, [number]>(
    `SELECT id, event_id AS eventId, triggered_at AS triggeredAt, due_at AS dueAt FROM deliveries
     WHERE joined_to = ? AND state = 'joined'`,
  )
  const noteVisit = db.prepare(
    'UPDATE deliveries SET came_back_at = ifnull(came_back_at, ?), opened_at = ifnull(opened_at, ?) WHERE id = ?',
  )
  const propertiesOf = db.prepare<{ properties: string | null }, [number]>('SELECT properties FROM events WHERE id = ?')

  const resultPath = (eventId: number | null): string | null => {
    const row = eventId === null ? null : propertiesOf.get(eventId)
    return row ? pathOfUrl(propertyOf(parseProperties(row.properties), 'url')) : null
  }

  const findCancelled = (
    { triggeredAt, dueAt, eventId }: Joined,
    content: MessageContent,
    { arrival, isOwn }: What,
    isJoined: boolean,
  ) =>
    isOwn(eventId)
      ? null
      : rules.findCancelled(content, { triggeredAt, dueAt, isJoined, resultPath: () => resultPath(eventId) }, arrival)

  const endBy = (id: number, at: number, cancelled: Cancelled | null): void => {
    if (cancelled === null) return
    const { reason, verdict, isOfEvent } = cancelled
    const record: DecisionRecord = { at, verdicts: [verdict] }
    ends.end(id, at, { state: 'skipped', reason, record: JSON.stringify(record), isOfEvent })
  }

  const cancelBy = ({ appId, contactId, at }: Person, what: What): void => {
    for (const delivery of open.all(appId, contactId)) {
      const content = live.contentOf(delivery.messageId, delivery.version)
      const found = findCancelled(delivery, content, what, false)
      // before the first event ends: the email passes to the next of those that are left. One that is written right now
      // is asked once more before it goes
      if (isCollecting(content) && (found || delivery.state !== 'claimed')) {
        for (const joined of joinedTo.all(delivery.id)) {
          endBy(joined.id, at, findCancelled(joined, content, what, true))
        }
      }
      endBy(delivery.id, at, found)
    }
  }

  const noteReturn = ({ appId, contactId, occurredAt, path }: Visit): void => {
    for (const { id, eventId, handedAt } of reached.all(appId, contactId, occurredAt - CAME_BACK_MS)) {
      if (occurredAt < handedAt) continue
      const isResult = isResultOf(eventId, path) || joinedTo.all(id).some((one) => isResultOf(one.eventId, path))
      noteVisit.run(occurredAt, isResult ? occurredAt : null, id)
    }
  }

  const isResultOf = (eventId: number | null, path: string): boolean => {
    const result = resultPath(eventId)
    return result !== null && isSamePath(path, result)
  }

  const onVisit = (visit: Visit): void => {
    if (live.of(visit.appId).cancelledBy.has('notSeen')) cancelBy(visit, { arrival: visit, isOwn: () => false })
    noteReturn(visit)
  }

  return {
    /** A page that was open before is visible again: no page view, but the person is back on it. */
    onReturn(visit: Visit): void {
      if (live.of(visit.appId).hasDeliveries) onVisit(visit)
    },
    onEvent(arrived: Arrived): void {
      const app = live.of(arrived.appId)
      if (!app.hasDeliveries) return
      const { eventId, type, name, path, occurredAt } = arrived
      if (type === 'page') {
        if (path !== null) onVisit({ ...arrived, path })
      } else if (app.cancellingEvents.has(name)) {
        cancelBy(arrived, { arrival: { event: name, occurredAt }, isOwn: (id) => id === eventId })
      }
    },
    onContactChange(change: ContactChange): void {
      const { hasDeliveries, cancelledBy } = live.of(change.appId)
      if (!hasDeliveries || !(cancelledBy.has('tag') || cancelledBy.has('field'))) return
      cancelBy(change, { arrival: change, isOwn: () => false })
    },
  }
}

const isCollecting = ({ again }: MessageContent): boolean => again !== undefined && 'collect' in again
