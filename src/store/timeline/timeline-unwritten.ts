import type { Database } from 'bun:sqlite'
import { INDEXED_UNTIL } from './timeline-reads.ts'

export const RUN_ROWS = 4_096

/**
 * Unindexed events and visit reports, sorted for writing. They are in a temporary table, which a rollback restores
 * like any other.
 */
export function createUnwritten(db: Database) {
  db.run(
    'CREATE TEMP TABLE IF NOT EXISTS unwritten (position INTEGER PRIMARY KEY, contact_id INTEGER, type INTEGER, id INTEGER)',
  )
  const clear = db.prepare('DELETE FROM temp.unwritten')
  const read = db.prepare(
    `INSERT INTO temp.unwritten (contact_id, type, id)
     SELECT contact_id, type, id FROM
       (SELECT contact_id, type, id FROM events WHERE id > ${INDEXED_UNTIL}
        UNION ALL SELECT contact_id, type, id FROM snippet_batches WHERE id > ${INDEXED_UNTIL} ORDER BY id LIMIT ${RUN_ROWS})
     ORDER BY contact_id, type, id`,
  )
  const extent = db.prepare<{ rows: number; last: number | null }, []>(
    'SELECT count(*) AS rows, max(id) AS last FROM temp.unwritten',
  )
  // OR IGNORE: a killed process may have left some of the rows
  const slice = 'contact_id, type, id FROM temp.unwritten WHERE position > ? AND position <= ?'
  const toTimeline = db.prepare(`INSERT OR IGNORE INTO timeline SELECT ${slice}`)
  const toRun = db.prepare(`INSERT OR IGNORE INTO timeline_run_rows SELECT ?, ${slice}`)
  const dropPerson = db.prepare('DELETE FROM temp.unwritten WHERE contact_id = ?')
  const dropGone = db.prepare(
    `DELETE FROM temp.unwritten AS u WHERE NOT EXISTS
       (SELECT 1 FROM events WHERE id = u.id AND type = u.type
        UNION ALL SELECT 1 FROM snippet_batches WHERE id = u.id AND type = u.type)`,
  )

  return {
    /** Replaces the content with the oldest unindexed rows. @returns their number and last id */
    read(): { rows: number; last: number | null } {
      clear.run()
      read.run()
      return extent.get() ?? { rows: 0, last: null }
    },
    writeToTimeline: (from: number, until: number): void => void toTimeline.run(from, until),
    writeToRun: (run: number, from: number, until: number): void => void toRun.run(run, from, until),
    erase: (contactId: number): void => void dropPerson.run(contactId),
    dropGone: (): void => void dropGone.run(),
  }
}
