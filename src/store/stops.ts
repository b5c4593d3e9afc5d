import type { Database } from 'bun:sqlite'
import { compares, parseProperties, propertyOf } from './conditions.ts'
import type { DeliveryEnds } from './delivery-ends.ts'
import { USES_ONCE_UP } from './delivery-states.ts'
import type { JudgeRecord } from './judge-records.ts'
import type { LiveMessages } from './live-messages.ts'
import { type DeliveryState, type Rule, type Since, STOP_REASONS, type Verdict } from './message-types.ts'
import { isSamePath, pathOfUrl } from './paths.ts'
import { type Arrived, collectMsOf } from './triggers.ts'
import type { FieldValue } from './types.ts'

const DAY_MS = 24 * 3_600_000
/** A visit within this time counts as the message's doing. */
const CAME_BACK_MS = 7 * DAY_MS

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

/** @returns the verdict that settles a waiting delivery for good, or null */
type Settle = (rule: Rule, delivery: Joined) => Verdict | null
type Settled = { rule: Rule; verdict: Verdict }

function findSettled(rules: readonly Rule[], delivery: Joined, settle: Settle): Settled | null {
  for (const rule of rules) {
    const verdict = settle(rule, delivery)
    if (verdict !== null) return { rule, verdict }
  }
  return null
}

/**
 * Stops deliveries that wait as soon as something arrives that settles them, in the transaction that writes it, and notes who came back after a mail. What a member sends on by hand asks no rule,
 * so none stops it.
 */
export type Stops = ReturnType<typeof createStops>

export function createStops({ db, live, ends }: { db: Database; live: LiveMessages; ends: DeliveryEnds }) {
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

  const endBy = (id: number, at: number, settled: Settled | null): void => {
    if (settled === null) return
    const { rule, verdict } = settled
    const record: JudgeRecord = { at, verdicts: [verdict] }
    const reason = STOP_REASONS[rule.rule]
    ends.end(id, at, { state: 'skipped', reason, record: JSON.stringify(record), isOfEvent: isOfEvent(rule) })
  }

  const stopSettled = ({ appId, contactId, at }: Person, settle: Settle): void => {
    for (const delivery of open.all(appId, contactId)) {
      const { onlyIf = [], again } = live.contentOf(delivery.messageId, delivery.version)
      const found = findSettled(onlyIf, delivery, settle)
      // before the first event ends: the email passes to the next of those that are left. One that is written right now
      // is asked once more before it goes
      if (collectMsOf(again) !== null && (found || delivery.state !== 'claimed')) {
        const rules = onlyIf.filter(isOfEvent)
        for (const joined of rules.length === 0 ? [] : joinedTo.all(delivery.id)) {
          endBy(joined.id, at, findSettled(rules, joined, settle))
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

  const settleByVisit =
    ({ path, occurredAt }: Visit): Settle =>
    (rule, { eventId, triggeredAt }) => {
      if (rule.rule !== 'notSeen' || occurredAt < triggeredAt) return null
      const result = resultPath(eventId)
      return result !== null && isSamePath(path, result) ? stoppedBy(rule, result, occurredAt) : null
    }

  const onVisit = (visit: Visit): void => {
    if (live.of(visit.appId).stoppedBy.has('notSeen')) stopSettled(visit, settleByVisit(visit))
    noteReturn(visit)
  }

  return {
    /** A page that was open before is visible again: no page view, but the person is back on it. */
    onReturn(visit: Visit): void {
      if (live.of(visit.appId).hasDeliveries) onVisit(visit)
    },
    onEvent(arrived: Arrived): void {
      const rules = live.of(arrived.appId)
      if (!rules.hasDeliveries) return
      const { eventId, type, name, path, occurredAt } = arrived
      if (type === 'page') {
        if (path !== null) onVisit({ ...arrived, path })
      } else if (rules.stoppingEvents.has(name)) {
        stopSettled(arrived, (rule, delivery) =>
          rule.rule === 'notDone' && rule.event === name && delivery.eventId !== eventId
            ? settleDone(rule, delivery, occurredAt)
            : null,
        )
      }
    },
    onContactChange(change: ContactChange): void {
      const { hasDeliveries, stoppedBy } = live.of(change.appId)
      if (!hasDeliveries || !(stoppedBy.has('tag') || stoppedBy.has('field'))) return
      stopSettled(change, (rule) => settleByChange(rule, change))
    },
  }
}

export const stoppedBy = (rule: Rule, about: string, value: Verdict['value']): Verdict => ({
  rule: rule.rule,
  about,
  value,
  verdict: 'fail',
})

/**
 * Whether a rule is about one event: the page that its `url` names, or the time since it happened. Of the events of one
 * email each is asked, and what fails leaves the email to the others. Any other rule is about the person at sending.
 */
export function isOfEvent(rule: Rule): boolean {
  switch (rule.rule) {
    case 'seen':
    case 'notSeen':
      return true
    case 'away':
      return rule.at === 'trigger'
    case 'done':
    case 'notDone':
      return rule.since === undefined || rule.since === 'trigger'
    default:
      return false
  }
}

/** From when on a rule about a past event looks (ms UTC). `at`: when the delivery is judged. */
export function sinceWhen(since: Since | undefined, triggeredAt: number, at: number): number {
  if (since === 'ever') return 0
  return since === undefined || since === 'trigger' ? triggeredAt : at - since.days * DAY_MS
}

const settleDone = (rule: Extract<Rule, { rule: 'notDone' }>, delivery: Joined, occurredAt: number): Verdict | null =>
  occurredAt >= sinceWhen(rule.since, delivery.triggeredAt, delivery.dueAt)
    ? stoppedBy(rule, rule.event, occurredAt)
    : null

/** Only what the change itself turned: a tag that was never there may still come. */
function settleByChange(rule: Rule, change: ContactChange): Verdict | null {
  if (rule.rule === 'tag') {
    const [tag, turned] = 'has' in rule ? [rule.has, change.removedTags] : [rule.lacks, change.addedTags]
    return turned.includes(tag) ? stoppedBy(rule, tag, !('has' in rule)) : null
  }
  if (rule.rule !== 'field') return null
  const [before, after] = [change.fieldsBefore, change.fieldsAfter].map((fields) => propertyOf(fields, rule.field))
  if (!compares(before, rule) || compares(after, rule)) return null
  return stoppedBy(rule, rule.field, (after as FieldValue | undefined) ?? null)
}
