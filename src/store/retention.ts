/** How long apps keep data, and the deletion of older events, page views and captured emails. Times are ms UTC. */
import type { Sql } from './engine/sql.ts'
import { filterInOrder, mapInOrder } from '../core/in-order.ts'
import { DAY_MS, HOUR_MS } from '../core/clock.ts'
import { idAt, timeOfId } from '../core/ids.ts'
import { type Done, DONE } from './audit.ts'
import { USES_DEDUPE_KEY } from './delivery-states.ts'
import type { Timeline } from './timeline/timeline.ts'
import { EVENT_TYPES, type Retention } from './types.ts'

/** When the last deleted event and page view were received (ms UTC); null: none was deleted. */
export type Expired = { eventsUntil: number | null; pageViewsUntil: number | null }

export type RetentionRules = {
  defaultRetention: Retention
  defaultRequestDays: number
  defaultResponseDays: number
  /** What came until then has expired. */
  expiredBefore: (days: number, at: number) => number
  /** What emails handed over since then did may still be noted, which takes the properties of their events. */
  notedSince: (at: number) => number
}

/** Time per commit, so that no request waits long; each chunk of rows is finished. */
const RUN_MS = 3
const CHUNK_ROWS = 20
/** Rows that one step looks at, where few are to be deleted. */
const LOOKED_ROWS = 200
const CAPTURED_ROWS = 20
/** Of an app, searched for events or page views. */
const OLDEST_ROWS = 5_000
const PASS_MS = HOUR_MS
/**
 * Stored events of a person that are searched for a name. Of people with more, the name may be found although its last
 * event has expired.
 */
const SEARCHED_EVENTS = 5_000

const [EVENT, PAGE, ACTION] = EVENT_TYPES.map((_, code) => code)
const KINDS = { events: 0, pageViews: 1 } as const
type Kind = (typeof KINDS)[keyof typeof KINDS]
export type StoredKind = keyof typeof KINDS | 'captured'
const KINDS_OF_TASKS = [KINDS.events, KINDS.pageViews, 'captured'] as const
const IS_OF_KIND: Record<Kind, string> = { 0: `type <> ${PAGE}`, 1: `type = ${PAGE}` }

/** An email to the person waits, or what it did may still be noted. */
const isNeeded = (notedSince: string): string =>
  `EXISTS (SELECT 1 FROM deliveries d WHERE d.app_id = events.app_id AND d.contact_id = events.contact_id
     AND ${USES_DEDUPE_KEY} AND (d.state IN ('waiting', 'deferred', 'claimed', 'handed') OR d.handed_at > ${notedSince}))`

/** Of what came until then. */
const lastIdOf = (until: number | null): number => (until === null ? 0 : idAt(until + 1) - 1)

type Progress = { lookedUntil: number; deletedUntil: number }

const RETENTION = `event_days AS "eventDays", page_view_days AS "pageViewDays", captured_days AS "capturedDays",
  request_days AS "requestDays", response_days AS "responseDays"`

/** SQL for how long an app keeps them (ms). `appId`: SQL, too. */
export const selectKeptMs = (appId: string, days: 'request_days' | 'response_days', defaultDays: number): string =>
  `(coalesce((SELECT ${days} FROM app_retention WHERE app_id = ${appId}), ${defaultDays}) * ${DAY_MS})`

export function createRetentionReads(db: Sql, { defaultRetention }: Pick<RetentionRules, 'defaultRetention'>) {
  const retention = db.prepare<Retention, [number]>(`SELECT ${RETENTION} FROM app_retention WHERE app_id = ?`)
  const deleted = createDeletedReads(db)
  const oldest = Object.values(KINDS).map((kind) =>
    db.prepare<{ rows: number; found: number }, [number, number]>(
      `SELECT count(*) AS rows, count(*) FILTER (WHERE ${IS_OF_KIND[kind]}) AS found FROM
         (SELECT type FROM events WHERE app_id = ? AND id <= ? ORDER BY id LIMIT ${OLDEST_ROWS}) AS oldest`,
    ),
  )
  const captured = db.prepare<{ one: number }, [number, number, number]>(
    'SELECT 1 AS one FROM captured_mails WHERE app_id = ? AND delivery_id <= ? AND created_at <= ? LIMIT 1',
  )
  return {
    /** Whether any of it came until then; also true if the oldest rows are all of another kind. */
    async hasStored(appId: number, what: StoredKind, until: number): Promise<boolean> {
      if (what === 'captured') return (await captured.get(appId, lastIdOf(until), until)) !== null
      const { rows, found } = (await oldest[KINDS[what]]?.get(appId, lastIdOf(until))) ?? { rows: 0, found: 0 }
      return found > 0 || rows === OLDEST_ROWS
    },
    findRetention: async (appId: number): Promise<Retention> => (await retention.get(appId)) ?? defaultRetention,
    findExpired: async (appId: number): Promise<Expired> => ({
      eventsUntil: timeOrNull(await deleted(appId, KINDS.events)),
      pageViewsUntil: timeOrNull(await deleted(appId, KINDS.pageViews)),
    }),
  }
}

const timeOrNull = (id: number): number | null => (id === 0 ? null : timeOfId(id))

function createDeletedReads(db: Sql) {
  const read = db.prepare<{ id: number }, [number, number]>(
    'SELECT deleted_until AS id FROM expiry_progress WHERE app_id = ? AND kind = ?',
  )
  return async (appId: number, kind: Kind): Promise<number> => (await read.get(appId, kind))?.id ?? 0
}

/** Up to this id, all events of a name's kind were deleted. */
export function createExpiredReads(db: Sql) {
  const deleted = createDeletedReads(db)
  const needed = db.prepare<{ id: number | null }, [number]>('SELECT min(id) AS id FROM needed_events WHERE app_id = ?')
  return async (appId: number, isPageView: boolean): Promise<number> => {
    const until = await deleted(appId, isPageView ? KINDS.pageViews : KINDS.events)
    return until === 0 ? 0 : Math.min(until, ((await needed.get(appId))?.id ?? Number.MAX_SAFE_INTEGER) - 1)
  }
}

export function createRetentionSettings(db: Sql) {
  const save = db.prepare(
    `INSERT INTO app_retention (app_id, event_days, page_view_days, captured_days, request_days, response_days)
     VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (app_id) DO UPDATE SET event_days = excluded.event_days, page_view_days = excluded.page_view_days,
       captured_days = excluded.captured_days, request_days = excluded.request_days, response_days = excluded.response_days`,
  )
  return async (
    appId: number,
    { eventDays, pageViewDays, capturedDays, requestDays, responseDays }: Retention,
  ): Promise<Done> => {
    await save.run(appId, eventDays, pageViewDays, capturedDays, requestDays, responseDays)
    return DONE
  }
}

type ExpiringEvent = { id: number; contactId: number; type: number; nameId: number; at: number; isNeeded: number }

/** `now` is monotonic (ms). */
type Parts = { db: Sql; timeline: Pick<Timeline, 'remove'>; rules: RetentionRules; now: () => number }
type Task = { appId: number; kind: Kind | 'captured' | 'needed' }

export function createExpiry({ db, timeline, rules, now }: Parts) {
  const { expiredBefore, notedSince } = rules
  const { findRetention } = createRetentionReads(db, rules)
  const apps = db.prepare<{ appId: number }, []>('SELECT id AS "appId" FROM apps')
  const expireEvents = createEventExpiry({ db, timeline })
  const progress = db.prepare<Progress, [number, number]>(
    'SELECT looked_until AS "lookedUntil", deleted_until AS "deletedUntil" FROM expiry_progress WHERE app_id = ? AND kind = ?',
  )
  const note = db.prepare(
    `INSERT INTO expiry_progress (app_id, kind, looked_until, deleted_until) VALUES (?, ?, ?, ?)
     ON CONFLICT (app_id, kind) DO UPDATE SET looked_until = excluded.looked_until, deleted_until = excluded.deleted_until`,
  )
  const extent = db.prepare<{ rows: number; last: number | null }, [number, number, number]>(
    `SELECT count(*) AS rows, max(id) AS last FROM
       (SELECT id FROM events WHERE app_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ${LOOKED_ROWS}) AS next`,
  )
  const columns = (since: string): string =>
    `id, contact_id AS "contactId", type, name_id AS "nameId", coalesce(occurred_at, received_at) AS at,
     ${isNeeded(since)} AS "isNeeded"`
  const expiring = Object.values(KINDS).map((kind) =>
    db.prepare<ExpiringEvent, [number, number, number, number]>(
      `SELECT ${columns('?4')} FROM events WHERE app_id = ?1 AND id > ?2 AND id <= ?3 AND ${IS_OF_KIND[kind]}
       ORDER BY id LIMIT ${CHUNK_ROWS}`,
    ),
  )
  const keep = db.prepare('INSERT INTO needed_events (id, app_id) VALUES (?, ?) ON CONFLICT DO NOTHING')
  const release = db.prepare('DELETE FROM needed_events WHERE id = ?')
  const neededApps = db.prepare<{ appId: number }, []>('SELECT DISTINCT app_id AS "appId" FROM needed_events')
  const needed = db.prepare<{ id: number }, [number, number]>(
    `SELECT id FROM needed_events WHERE id > ? AND app_id = ? ORDER BY id LIMIT ${CHUNK_ROWS}`,
  )
  const stillNeeded = db.prepare<ExpiringEvent, [string, number]>(
    `SELECT ${columns('?2')} FROM events WHERE ${db.dialect.isOneOfEvents('id', '?1')} ORDER BY id`,
  )
  const captured = db.prepare(
    `DELETE FROM captured_mails WHERE delivery_id IN
       (SELECT delivery_id FROM captured_mails WHERE app_id = ? AND delivery_id <= ? AND created_at <= ?
        LIMIT ${CAPTURED_ROWS})`,
  )
  const pass: { beganAt: number; tasks: Task[]; neededAfter: number } = { beganAt: 0, tasks: [], neededAfter: 0 }

  const begin = async (at: number): Promise<void> => {
    const waiting = (await neededApps.all()).map(({ appId }): Task => ({ appId, kind: 'needed' }))
    const tasks = (await apps.all()).flatMap(({ appId }): Task[] => KINDS_OF_TASKS.map((kind) => ({ appId, kind })))
    Object.assign(pass, { beganAt: at, tasks: [...waiting, ...tasks], neededAfter: 0 })
  }

  /** By the settings of now, which may have changed since the pass began; null: nothing expires. */
  const untilOf = async (appId: number, kind: Kind | 'captured', at: number): Promise<number | null> => {
    const { eventDays, pageViewDays, capturedDays } = await findRetention(appId)
    const days = kind === 'captured' ? capturedDays : kind === KINDS.events ? eventDays : pageViewDays
    return days === null ? null : expiredBefore(days, at)
  }

  /** @returns how many rows were deleted, and whether the task is over */
  const stepEvents = async (
    appId: number,
    kind: Kind,
    until: number,
    at: number,
  ): Promise<{ deleted: number; isOver: boolean }> => {
    const { lookedUntil, deletedUntil } = (await progress.get(appId, kind)) ?? { lookedUntil: 0, deletedUntil: 0 }
    const { rows, last } = (await extent.get(appId, lookedUntil, lastIdOf(until))) ?? { rows: 0, last: null }
    if (last === null) return { deleted: 0, isOver: true }
    const found = (await expiring[kind]?.all(appId, lookedUntil, last, notedSince(at))) ?? []
    const [kept, gone] = [found.filter((row) => row.isNeeded === 1), found.filter((row) => row.isNeeded === 0)]
    for (const { id } of kept) await keep.run(id, appId)
    await expireEvents(appId, gone)
    const isWhole = found.length === CHUNK_ROWS
    await note.run(appId, kind, isWhole ? (found.at(-1)?.id ?? last) : last, gone.at(-1)?.id ?? deletedUntil)
    return { deleted: gone.length, isOver: !isWhole && rows < LOOKED_ROWS }
  }

  const stepNeeded = async (appId: number, at: number): Promise<{ deleted: number; isOver: boolean }> => {
    const ids = (await needed.all(pass.neededAfter, appId)).map(({ id }) => id)
    const rows = await stillNeeded.all(JSON.stringify(ids), notedSince(at))
    const limits = await mapInOrder(Object.values(KINDS), async (kind) => lastIdOf(await untilOf(appId, kind, at)))
    const isGone = ({ id, type, isNeeded: isStaying }: ExpiringEvent): boolean =>
      isStaying === 0 && id <= (limits[type === PAGE ? KINDS.pageViews : KINDS.events] ?? 0)
    const gone = rows.filter(isGone)
    const staying = new Set(rows.flatMap((row) => (isGone(row) ? [] : row.id)))
    await expireEvents(appId, gone)
    for (const id of ids) if (!staying.has(id)) await release.run(id)
    const isOver = ids.length < CHUNK_ROWS
    pass.neededAfter = isOver ? 0 : (ids.at(-1) ?? 0)
    return { deleted: gone.length, isOver }
  }

  const step = async ({ appId, kind }: Task, at: number): Promise<{ deleted: number; isOver: boolean }> => {
    if (kind === 'needed') return await stepNeeded(appId, at)
    const until = await untilOf(appId, kind, at)
    if (until === null) return { deleted: 0, isOver: true }
    if (kind !== 'captured') return await stepEvents(appId, kind, until, at)
    const { changes: deleted } = await captured.run(appId, lastIdOf(until), until)
    return { deleted, isOver: deleted < CAPTURED_ROWS }
  }

  return {
    /** A part of an hourly pass. `isMore`: call it again. */
    async expire({ at }: { at: number }): Promise<{ deleted: number; isMore: boolean }> {
      if (pass.tasks.length === 0 && Math.abs(at - pass.beganAt) >= PASS_MS) await begin(at)
      const end = now() + RUN_MS
      let deleted = 0
      while (pass.tasks[0] && now() < end) {
        const done = await step(pass.tasks[0], at)
        deleted += done.deleted
        if (done.isOver) pass.tasks.shift()
      }
      return { deleted, isMore: pass.tasks.length > 0 }
    },
  }
}

/** Removes events from every index, and notes when their people were active. */
function createEventExpiry({ db, timeline }: Pick<Parts, 'db' | 'timeline'>) {
  const { dialect } = db
  const remove = db.prepare(`DELETE FROM events WHERE ${dialect.isOneOfEvents('id', '?1')}`)
  const noteActivity = createActivityNote(db)
  const stored = dialect.personIds('events', { contact: '?1', types: `IN (${EVENT}, ${ACTION})` })
  const isLeft = db.prepare<object, [number, number]>(
    `SELECT 1 FROM (SELECT id FROM (${stored}) AS stored LIMIT ${SEARCHED_EVENTS}) AS ids
     ${dialect.crossJoin} events ON events.id = ids.id WHERE events.name_id = ?2 LIMIT 1`,
  )
  const countStored = db.prepare<{ rows: number }, [number]>(
    `SELECT count(*) AS rows FROM (SELECT id FROM (${stored}) AS stored LIMIT ${SEARCHED_EVENTS}) AS ids`,
  )
  const forgetName = db.prepare('DELETE FROM contact_events WHERE name_id = ? AND contact_id = ?')

  const forgetNames = async (contactId: number, rows: ExpiringEvent[]): Promise<void> => {
    const names = [...new Set(rows.flatMap(({ type, nameId }) => (type === PAGE ? [] : nameId)))]
    const gone = await filterInOrder(names, async (nameId) => (await isLeft.get(contactId, nameId)) === null)
    if (gone.length === 0 || ((await countStored.get(contactId))?.rows ?? 0) >= SEARCHED_EVENTS) return
    for (const nameId of gone) await forgetName.run(nameId, contactId)
  }

  return async (appId: number, events: ExpiringEvent[]): Promise<void> => {
    if (events.length === 0) return
    await remove.run(JSON.stringify(events.map(({ id }) => id)))
    timeline.remove(events)
    const byPerson = Map.groupBy(events, ({ contactId }) => contactId)
    for (const [contactId, rows] of [...byPerson].toSorted(([a], [b]) => a - b)) {
      await noteActivity(appId, contactId, rows)
      await forgetNames(contactId, rows)
    }
  }
}

/**
 * Notes the first and last times that only deleted events had. Most have a later event that is stored, so that few rows are
 * written: each is a page of its own.
 */
function createActivityNote(db: Sql) {
  const { find } = createExpiredActivity(db)
  const newest = EVENT_TYPES.map((_, type) =>
    db.prepare<{ at: number | null }, [number]>(
      `SELECT coalesce(occurred_at, received_at) AS at FROM events WHERE id =
         (${db.dialect.somePersonIds('events', { contact: '?1', types: `= ${type}`, order: 'DESC', limit: '1' })})`,
    ),
  )
  const save = db.prepare(
    `INSERT INTO expired_activity (app_id, contact_id, first_view_at, last_view_at, last_event_at, last_action_at)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (${db.dialect.keyOfApp('contact_id')}) DO UPDATE SET first_view_at = excluded.first_view_at,
       last_view_at = excluded.last_view_at, last_event_at = excluded.last_event_at,
       last_action_at = excluded.last_action_at`,
  )

  return async (appId: number, contactId: number, deleted: readonly ExpiringEvent[]): Promise<void> => {
    const before = await find(contactId)
    const timesOf = (type: number | undefined): number[] => deleted.flatMap((row) => (row.type === type ? row.at : []))
    const lastOf = async (type: number | undefined, noted: number | null | undefined): Promise<number | null> => {
      const last = Math.max(noted ?? 0, ...timesOf(type))
      const isNoted = last === (noted ?? 0) || ((await newest[type ?? 0]?.get(contactId))?.at ?? 0) >= last
      return isNoted ? (noted ?? null) : last
    }
    const firstViewAt = Math.min(before?.firstViewAt ?? Number.MAX_SAFE_INTEGER, ...timesOf(PAGE))
    const after: Activity = {
      contactId,
      firstViewAt: firstViewAt === Number.MAX_SAFE_INTEGER ? null : firstViewAt,
      lastViewAt: await lastOf(PAGE, before?.lastViewAt),
      lastEventAt: await lastOf(EVENT, before?.lastEventAt),
      lastActionAt: await lastOf(ACTION, before?.lastActionAt),
    }
    if (Bun.deepEquals(after, before ?? { contactId, ...NO_ACTIVITY })) return
    await save.run(appId, contactId, after.firstViewAt, after.lastViewAt, after.lastEventAt, after.lastActionAt)
  }
}

const NO_ACTIVITY = { firstViewAt: null, lastViewAt: null, lastEventAt: null, lastActionAt: null }

type Activity = {
  contactId: number
  firstViewAt: number | null
  lastViewAt: number | null
  lastEventAt: number | null
  lastActionAt: number | null
}

const ACTIVITY = `contact_id AS "contactId", first_view_at AS "firstViewAt", last_view_at AS "lastViewAt",
  last_event_at AS "lastEventAt", last_action_at AS "lastActionAt"`

/** When the deleted events of people happened. */
export function createExpiredActivity(db: Sql) {
  const one = db.prepare<Activity, [number]>(`SELECT ${ACTIVITY} FROM expired_activity WHERE contact_id = ?`)
  const many = db.prepare<Activity, [string]>(
    `SELECT ${ACTIVITY} FROM expired_activity WHERE ${db.dialect.isOneOf('contact_id')}`,
  )
  return {
    find: async (contactId: number): Promise<Activity | null> => await one.get(contactId),
    list: async (contactIds: readonly number[]): Promise<ReadonlyMap<number, Activity>> =>
      new Map((await many.all(JSON.stringify(contactIds))).map((row) => [row.contactId, row])),
  }
}

/** The last of them; null: none. */
export const lastExpired = (activity: Activity | null): number | null => {
  const { lastViewAt, lastEventAt, lastActionAt } = activity ?? {}
  const times = [lastViewAt, lastEventAt, lastActionAt].filter((at) => typeof at === 'number')
  return times.length === 0 ? null : Math.max(...times)
}
