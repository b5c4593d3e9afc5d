/**
 * People whose date or inactivity will trigger a message. Each has one row per message, so that nothing is scanned:
 * test/bench/dates.ts measures a day with a million people.
 */
import type { Dialect, Sql } from './engine/sql.ts'
import { idAt } from '../core/ids.ts'
import { someInOrder } from '../core/in-order.ts'
import { createActivityReads } from './events.ts'
import type { LiveMessage, LiveMessages } from './live-messages.ts'
import type { DateTrigger, InactiveTrigger, MessageContent } from './message-types.ts'
import type { StartMessages, StartWrite } from './start-writes.ts'
import type { FieldValue } from './types.ts'

type TimedTrigger = DateTrigger | InactiveTrigger

/** Times are ms UTC. `lastActiveAt`: the last event or page view, else when the person was added. */
type LookFacts = { lastActiveAt: () => number; at: number }

/** See deliveries/schedules.ts. */
export type ScheduleRules = {
  /** `isFilledByWrites`: whoever is added or changed later is scheduled by that write. */
  planSchedule: (
    content: Pick<MessageContent, 'trigger'>,
    timezone: string,
  ) => { trigger: TimedTrigger; timezone: string | null; isFilledByWrites: boolean } | null
  planFirstLook: (
    trigger: TimedTrigger,
    facts: LookFacts & { fields: Record<string, FieldValue>; timezone: string; since: number },
  ) => number | null
  planLook: (
    trigger: TimedTrigger,
    facts: LookFacts & { dueAt: number },
  ) => { starts: { occurredAt: number; trigger: string } | null; nextAt: number | null }
  latestLook: (trigger: TimedTrigger, at: number) => number
}

/** `dueAt` null: not scheduled any more. */
export type ScheduleChange = { appId: number; scheduleId: number; contactId: number; dueAt: number | null }

/** People that a step schedules (measured: 3 ms), and whom it looks at. */
const FILLED_PEOPLE = 500
export const LOOKED_AT = 200
const DELETED_ROWS = 2_000

type Row = {
  id: number
  appId: number
  messageId: number
  trigger: string
  timezone: string | null
  since: number
  filledUntil: number
  fillTo: number | null
}
type Schedule = Omit<Row, 'trigger'> & { trigger: TimedTrigger }
type Person = { id: number; fields: string | null; createdAt: number }
type Look = { contactId: number; dueAt: number; email: string | null; createdAt: number }

const COLUMNS = `id, app_id AS "appId", message_id AS "messageId", trigger, timezone, since_at AS since,
  filled_until AS "filledUntil", fill_to AS "fillTo"`

const toSchedule = ({ trigger, ...row }: Row): Schedule => ({ ...row, trigger: JSON.parse(trigger) as TimedTrigger })

const OPEN = `SELECT ${COLUMNS} FROM message_schedules WHERE is_over = 0`
const LAST_ID = Number.MAX_SAFE_INTEGER

/**
 * The last id to fill up to: nobody below it is added any more, nor changed by a write that doesn't know the schedule.
 * With several instances, that takes a while.
 */
const fillableUntil =
  ({ lateIds }: Pick<Dialect, 'lateIds'>) =>
  ({ fillTo, since }: Pick<Row, 'fillTo' | 'since'>, at: number): number => {
    const last = fillTo ?? LAST_ID
    if (lateIds === 0) return last
    const settled = idAt(at) - lateIds
    return settled < idAt(since) ? 0 : Math.min(last, settled)
  }

export function createScheduleReads(db: Sql, { latestLook }: Pick<ScheduleRules, 'latestLook'>) {
  const open = db.prepare<Row, []>(OPEN)
  const over = db.prepare('SELECT 1 FROM message_schedules WHERE is_over = 1 LIMIT 1')
  const unfilled = db.prepare('SELECT 1 FROM contacts WHERE app_id = ? AND id > ? AND id <= ? LIMIT 1')
  const due = db.prepare('SELECT 1 FROM scheduled_people WHERE schedule_id = ? AND due_at <= ? LIMIT 1')
  const tooFar = db.prepare('SELECT 1 FROM scheduled_people WHERE schedule_id = ? AND due_at > ? LIMIT 1')
  const lastToFill = fillableUntil(db.dialect)
  const hasWork = async (schedule: Schedule, at: number): Promise<boolean> => {
    const { id, appId, trigger, filledUntil } = schedule
    if ((await unfilled.get(appId, filledUntil, lastToFill(schedule, at))) !== null) return true
    if ((await due.get(id, at)) !== null) return true
    const latest = latestLook(trigger, at)
    return Number.isFinite(latest) && (await tooFar.get(id, latest)) !== null
  }
  return {
    /** Whether `runSchedules` would change anything. A read, so that nothing is written while nobody is due. */
    hasScheduledWork: async (at: number): Promise<boolean> =>
      (await over.get()) !== null || (await someInOrder(await open.all(), (row) => hasWork(toSchedule(row), at))),
  }
}

/** For writes of people. */
export function createScheduleChanges(db: Sql) {
  const put = db.prepare(
    `INSERT INTO scheduled_people (app_id, schedule_id, contact_id, due_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (${db.dialect.keyOfApp('schedule_id', 'contact_id')}) DO UPDATE SET due_at = excluded.due_at`,
  )
  const drop = db.prepare('DELETE FROM scheduled_people WHERE schedule_id = ? AND contact_id = ?')
  return async ({ appId, scheduleId, contactId, dueAt }: ScheduleChange): Promise<void> =>
    void (dueAt === null ? await drop.run(scheduleId, contactId) : await put.run(appId, scheduleId, contactId, dueAt))
}

/** For a restored copy, which has its messages paused. */
export const END_PAUSED = `UPDATE message_schedules SET is_over = 1
  WHERE is_over = 0 AND message_id NOT IN (SELECT id FROM messages WHERE status = 'live')`

export type MessageSchedules = ReturnType<typeof createMessageSchedules>

/** For changes of messages and of the app's timezone. */
export function createMessageSchedules({ db, live, rules }: Omit<Parts, 'start' | 'rules'> & { rules: Planning }) {
  const ofApp = db.prepare<Row, [number]>(`SELECT ${COLUMNS} FROM message_schedules WHERE app_id = ? AND is_over = 0`)
  const end = db.prepare('UPDATE message_schedules SET is_over = 1 WHERE id = ?')
  const endOf = db.prepare('UPDATE message_schedules SET is_over = 1 WHERE message_id = ? AND is_over = 0')
  const { greatest, lateIds } = db.dialect
  const lastPerson = '(SELECT coalesce(max(id), 0) FROM contacts WHERE app_id = ?1)'
  const add = db.prepare(
    `INSERT INTO message_schedules (app_id, message_id, trigger, timezone, since_at, filled_until, fill_to)
     VALUES (?1, ?2, ?3, ?4, ?5, 0, CASE WHEN ?6 = 1 THEN ${greatest(lastPerson, 'CAST(?7 AS bigint)')} END)`,
  )
  /** Of whoever is being added by a write that doesn't know the schedule. */
  const lastUnaware = (at: number): number => (lateIds === 0 ? 0 : idAt(at) + lateIds)
  return {
    /** The message goes live: what was due before is no trigger. */
    restart: async (messageId: number): Promise<void> => void (await endOf.run(messageId)),

    /** After a change of the app's messages or timezone. */
    async settle(appId: number, at: number): Promise<void> {
      live.drop(appId)
      const { timed, timezone } = await live.of(appId)
      const open = await ofApp.all(appId)
      if (timed.length + open.length === 0) return
      const wanted = timed.flatMap(({ id, content }) => {
        const planned = rules.planSchedule(content, timezone)
        return planned ? [{ ...planned, messageId: id, trigger: JSON.stringify(planned.trigger) }] : []
      })
      const isSame = (row: Row, one: (typeof wanted)[number]): boolean =>
        row.messageId === one.messageId && row.trigger === one.trigger && row.timezone === one.timezone
      for (const row of open) if (!wanted.some((one) => isSame(row, one))) await end.run(row.id)
      for (const one of wanted) {
        if (open.some((row) => isSame(row, one))) continue
        const filling = [at, Number(one.isFilledByWrites), lastUnaware(at)]
        await add.run(appId, one.messageId, one.trigger, one.timezone, ...filling)
      }
      // the new schedules are read with the messages
      live.drop(appId)
    },
  }
}

type Planning = Pick<ScheduleRules, 'planSchedule'>

type Parts = {
  db: Sql
  live: Pick<LiveMessages, 'of' | 'drop'>
  start: StartMessages
  rules: Omit<ScheduleRules, 'planSchedule'>
}

export function createScheduleWrites({ db, live, start, rules }: Parts) {
  const open = db.prepare<Row, []>(OPEN)
  const over = db.prepare<{ id: number }, []>('SELECT id FROM message_schedules WHERE is_over = 1 LIMIT 1')
  const purge = db.prepare(
    `DELETE FROM scheduled_people WHERE schedule_id = ?1 AND contact_id IN
       (SELECT contact_id FROM scheduled_people WHERE schedule_id = ?1 LIMIT ${DELETED_ROWS})`,
  )
  const remove = db.prepare('DELETE FROM message_schedules WHERE id = ?')
  const people = db.prepare<Person, [number, number, number]>(
    `SELECT id, fields, created_at AS "createdAt" FROM contacts
     WHERE app_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ${FILLED_PEOPLE}`,
  )
  const noteFilled = db.prepare('UPDATE message_schedules SET filled_until = ? WHERE id = ?')
  const due = db.prepare<Look, [number, number]>(
    `SELECT contact_id AS "contactId", due_at AS "dueAt", email, coalesce(created_at, 0) AS "createdAt"
     FROM scheduled_people LEFT JOIN contacts ON contacts.id = contact_id
     WHERE schedule_id = ? AND due_at <= ? ORDER BY due_at LIMIT ${LOOKED_AT}`,
  )
  const lookNow = db.prepare(
    `UPDATE scheduled_people SET due_at = ?1 WHERE schedule_id = ?2 AND contact_id IN
       (SELECT contact_id FROM scheduled_people WHERE schedule_id = ?2 AND due_at > ?3 LIMIT ${LOOKED_AT})`,
  )
  // a write of the person may have changed the row since it was read
  const put = db.prepare(
    'INSERT INTO scheduled_people (app_id, schedule_id, contact_id, due_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const ofLook = 'WHERE schedule_id = ? AND contact_id = ? AND due_at = ?'
  const move = db.prepare(`UPDATE scheduled_people SET due_at = ? ${ofLook}`)
  const drop = db.prepare(`DELETE FROM scheduled_people ${ofLook}`)
  const lastToFill = fillableUntil(db.dialect)
  const { lastActiveAt } = createActivityReads(db)

  const purgeOne = async (): Promise<boolean> => {
    const one = await over.get()
    if (one && (await purge.run(one.id)).changes === 0) await remove.run(one.id)
    return one !== null
  }

  /** Read only where it decides. */
  const lastActive = async (trigger: TimedTrigger, contactId: number, createdAt: number): Promise<number> =>
    'inactiveDays' in trigger ? ((await lastActiveAt(contactId)) ?? createdAt) : createdAt

  const fill = async (schedule: Schedule, at: number): Promise<boolean> => {
    const { id, appId, trigger, timezone, since, filledUntil } = schedule
    const found = await people.all(appId, filledUntil, lastToFill(schedule, at))
    const last = found.at(-1)
    if (!last) return false
    for (const person of found) {
      const fields = person.fields === null ? {} : (JSON.parse(person.fields) as Record<string, FieldValue>)
      const activeAt = await lastActive(trigger, person.id, person.createdAt)
      const facts = { fields, timezone: timezone ?? 'UTC', lastActiveAt: () => activeAt, since, at }
      const dueAt = rules.planFirstLook(trigger, facts)
      if (dueAt !== null) await put.run(appId, id, person.id, dueAt)
    }
    await noteFilled.run(last.id, id)
    return found.length === FILLED_PEOPLE
  }

  const look = async ({ id, appId, messageId, trigger }: Schedule, at: number): Promise<boolean> => {
    const message = (await live.of(appId)).timed.find((one) => one.id === messageId)
    const found = await due.all(id, at)
    const starts: StartWrite[] = []
    for (const { contactId, dueAt, email, createdAt } of found) {
      const activeAt = await lastActive(trigger, contactId, createdAt)
      const facts = { dueAt, lastActiveAt: () => activeAt, at }
      const { starts: started, nextAt } = rules.planLook(trigger, facts)
      if (email === null || nextAt === null) await drop.run(id, contactId, dueAt)
      else await move.run(nextAt, id, contactId, dueAt)
      if (email !== null && started && message) starts.push(startOf({ appId, email, message, at }, started))
    }
    if (starts.length > 0) await start(starts)
    return found.length === LOOKED_AT
  }

  return {
    /** One step. `hasMore`: there is more to do at once. */
    async runSchedules({ at }: { at: number }): Promise<{ hasMore: boolean }> {
      let hasMore = await purgeOne()
      for (const schedule of (await open.all()).map(toSchedule)) {
        const latest = rules.latestLook(schedule.trigger, at)
        if (Number.isFinite(latest)) await lookNow.run(at, schedule.id, latest)
        hasMore = (await fill(schedule, at)) || hasMore
        hasMore = (await look(schedule, at)) || hasMore
      }
      return { hasMore }
    },
  }
}

type Starting = Pick<StartWrite, 'appId' | 'email' | 'at'> & { message: LiveMessage }

const startOf = ({ message, ...person }: Starting, started: { occurredAt: number; trigger: string }): StartWrite => ({
  ...person,
  ...started,
  messages: [message],
  eventId: null,
  properties: null,
  idempotency: null,
})
