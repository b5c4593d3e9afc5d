/**
 * Indexes for searching people (migration 22). Names and fields are indexed with their change, by triggers. Events and
 * page views are indexed after their commit, many at once, so that recording them costs nothing. What there was before
 * the migration is indexed in steps.
 */
import type { Database } from 'bun:sqlite'
import type { Sql } from '../engine/sql.ts'

/** Rows of each part that a step indexes (measured: 2 ms). */
const ROWS = 500
const IDLE_MS = 4
/** Under load, a commit takes a step this often. */
const STEP_EVERY_MS = 200
/**
 * The same where more rows arrive than such a step can index: they are indexed once the load falls (measured with
 * `bun run bench:against`: 7% more page views a second).
 */
const STEP_EVERY_OVERLOADED_MS = 2_000

const PARTS = ['contacts', 'seen', 'events'] as const
type Part = (typeof PARTS)[number]
type Progress = { part: Part; doneUntil: number; thereUntil: number }

const SELECT_PROGRESS = 'SELECT part, done_until AS doneUntil, there_until AS thereUntil FROM contact_index_progress'

/** The token of an app in the index of names; see migration 22. */
export const appToken = (appId: number): string =>
  String.fromCodePoint(...[64_000_000, 8_000, 1].map((unit) => 19_968 + (Math.floor(appId / unit) % 8_000)))

const FIELD_VALUE = `iif(json_each.type IN ('true', 'false'), json_each.type, CAST(json_each.value AS TEXT))`
const APP_TOKEN = 'char(19968 + app_id / 64000000 % 8000, 19968 + app_id / 8000 % 8000, 19968 + app_id % 8000)'

export type ContactIndex = ReturnType<typeof createContactIndex>

/** `isInline`: no thread indexes while idle, so each commit does. */
export function createContactIndex(db: Database, monotonicMs: () => number, isInline: boolean) {
  const progress = db.prepare<Progress, []>(SELECT_PROGRESS)
  const mark = db.prepare('UPDATE contact_index_progress SET done_until = ? WHERE part = ?')
  const lastOf = (table: 'contacts' | 'events') =>
    db.prepare<{ rows: number; last: number | null }, [number, number]>(
      `SELECT count(*) AS rows, max(id) AS last FROM
         (SELECT id FROM ${table} WHERE id > ? AND id <= ? ORDER BY id LIMIT ${ROWS})`,
    )
  const [lastContact, lastEvent] = [lastOf('contacts'), lastOf('events')]
  const ofRange = 'id > ?1 AND id <= ?2'
  const fill: Record<Part, { run: (from: number, until: number) => unknown }[]> = {
    contacts: [
      db.prepare(
        `INSERT INTO contact_names (rowid, app, name)
         SELECT id, ${APP_TOKEN}, full_name FROM contacts WHERE ${ofRange} AND full_name IS NOT NULL ORDER BY id`,
      ),
      db.prepare(
        `INSERT OR IGNORE INTO contact_fields SELECT app_id, json_each.key, ${FIELD_VALUE}, contacts.id
         FROM contacts, json_each(fields) WHERE contacts.id > ?1 AND contacts.id <= ?2`,
      ),
    ],
    seen: [
      db.prepare(`INSERT OR IGNORE INTO contact_activity SELECT id, app_id, 0 FROM contacts WHERE ${ofRange}`),
      db.prepare(
        `INSERT INTO people_days (app_id, day, people)
         SELECT app_id, created_at / 86400000, count(*) FROM contacts WHERE ${ofRange} GROUP BY 1, 2
         ON CONFLICT DO UPDATE SET people = people + excluded.people`,
      ),
    ],
    events: [
      db.prepare(
        `INSERT OR IGNORE INTO contact_events
         SELECT name_id, contact_id FROM events WHERE ${ofRange} AND type <> 1 ORDER BY name_id, contact_id`,
      ),
      db.prepare(
        `INSERT INTO contact_activity
         SELECT contact_id, app_id, max(ifnull(occurred_at, received_at)) FROM events
         WHERE ${ofRange} AND type = 1 GROUP BY contact_id
         ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at WHERE excluded.seen_at > seen_at`,
      ),
    ],
  }
  let isWaiting = true
  let steppedAt = -Infinity
  let addedSince = 0

  /** @returns whether this part has more */
  const fillPart = ({ part, doneUntil, thereUntil }: Progress): boolean => {
    // later contacts index their names and fields themselves
    const end = part === 'contacts' ? thereUntil : Number.MAX_SAFE_INTEGER
    const { rows, last } = (part === 'events' ? lastEvent : lastContact).get(doneUntil, end) ?? { rows: 0, last: null }
    const until = last ?? (part === 'contacts' ? thereUntil : doneUntil)
    if (until === doneUntil) return false
    for (const statement of fill[part]) statement.run(doneUntil, until)
    mark.run(until, part)
    return rows === ROWS
  }

  const step = (): void => {
    steppedAt = monotonicMs()
    addedSince = 0
    isWaiting = progress.all().map(fillPart).includes(true)
  }

  return {
    /** There may be rows to index. `added`: how many this commit adds. */
    note(added = 0): void {
      isWaiting = true
      addedSince += added
    },
    advance(isIdle: boolean): void {
      const until = monotonicMs() + IDLE_MS
      const everyMs = addedSince > ROWS ? STEP_EVERY_OVERLOADED_MS : STEP_EVERY_MS
      const isDue = isIdle || isInline || monotonicMs() - steppedAt >= everyMs
      if (isWaiting && isDue) step()
      while (isIdle && isWaiting && monotonicMs() < until) step()
    },
    hasWaiting: (): boolean => isWaiting,
  }
}

/** `share`: how much of what there was before the migration is indexed, from 0 to 1. */
export function createIndexReads(db: Sql) {
  const progress = db.prepare<Progress, []>(SELECT_PROGRESS)
  const first = db.prepare<{ id: number | null }, []>('SELECT min(id) AS id FROM contacts')
  return {
    async contactIndexShare(): Promise<number> {
      const parts = (await progress.all()).filter(({ doneUntil, thereUntil }) => doneUntil < thereUntil)
      if (parts.length === 0) return 1
      // ids are in order of time
      const from = (await first.get())?.id ?? 0
      return Math.min(
        ...parts.map(({ doneUntil, thereUntil }) => Math.max(0, doneUntil - from) / Math.max(1, thereUntil - from)),
      )
    },
  }
}
