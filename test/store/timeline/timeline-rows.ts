import type { Database } from 'bun:sqlite'
import { expect } from 'bun:test'
import type { Engine } from '../../../src/store/engine/engine.ts'
import { createTimeline, type Timeline } from '../../../src/store/timeline/timeline.ts'
import { AT } from '../samples.ts'

export const RUN_ROWS = 4_096
export const REST_MS = 200

type Row = [contactId: number, type: number, id: number]

/** What the index of people's events holds itself. */
export const listIndexed = (db: Database): Row[] =>
  db.query<Row, []>('SELECT * FROM timeline ORDER BY contact_id, type, id').values() as Row[]

/** What it should hold in the end. */
export const wanted = (db: Database): Row[] =>
  db
    .query<Row, []>(
      `SELECT contact_id, type, id FROM events UNION ALL
       SELECT contact_id, type, id FROM snippet_batches ORDER BY contact_id, type, id`,
    )
    .values() as Row[]

export const countOf = (db: Database, table: string): number =>
  db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0

export const emailOf = (person: number): string => `p${person}@example.com`

/** What a pause is used for, look by look. */
export function rest(db: Database, timeline: Timeline): void {
  for (let look = 0; look < 100 && timeline.hasWaiting(); look += 1) {
    db.transaction(() => timeline.advance(true))()
    timeline.settle()
  }
}

/** What the writing thread does now and then. */
export async function lookAround({ readEarlier, tidy }: Engine): Promise<void> {
  readEarlier()
  await tidy()
}

/** Events of so many people, or of whoever `personOf` says, as a commit writes them; ids are counted up from 1. */
export function createFeed(db: Database, people: number | ((id: number) => number) = 101) {
  const personOf = typeof people === 'number' ? (id: number) => (id * 7919) % people : people
  let now = 1_000
  let id = 0
  const timeline = createTimeline(db, () => now)
  const insert = db.prepare(
    `INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at)
     SELECT ?1 + key, 1, value, 1, (?1 + key) % 3, 0, ${AT} FROM json_each(?2)`,
  )
  return {
    timeline,
    rest: () => rest(db, timeline),
    /** A transaction that is given up after its part of the work. */
    fail: (isIdle: boolean): void => {
      expect(
        db.transaction(() => {
          timeline.advance(isIdle)
          throw new Error('undone')
        }),
      ).toThrow('undone')
      timeline.undo()
    },
    wait: (ms: number) => void (now += ms),
    commit: (rows: number): void => {
      db.transaction(() => {
        const people = Array.from({ length: rows }, (_, row) => personOf(id + 1 + row))
        insert.run(id + 1, JSON.stringify(people))
        id += rows
        for (let row = 0; row < rows; row += 1) timeline.count()
        timeline.advance(false)
      })()
      timeline.settle()
    },
  }
}
