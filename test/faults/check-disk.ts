/** A process of its own that opens a data folder as a server would, and prints what it finds there. */
import { openDatabase } from '../../src/store/engine/database.ts'

export type Found = {
  integrity: string
  /** numbers of the people that have an event */
  people: number[]
  /** how far counts and rows are apart: all zero, or something was half there */
  differences: number[]
}

const folder = process.argv[2]
if (folder === undefined) throw new Error('which folder?')
const db = openDatabase(folder)
const numbers = (sql: string): number[] => db.query(sql).values().flat().map(Number)
const found: Found = {
  integrity: String(db.query('PRAGMA integrity_check').values().flat()[0]),
  people: numbers('SELECT contact_id FROM events'),
  differences: numbers(`SELECT (SELECT count(*) FROM events) - (SELECT count(*) FROM contacts),
    (SELECT count(*) FROM events) - (SELECT ifnull(sum(count), 0) FROM rollups),
    (SELECT count(*) FROM events) - (SELECT ifnull(sum(count), 0) FROM daily_rollups),
    (SELECT count(*) FROM contacts) - (SELECT ifnull(sum(count), 0) FROM new_people)`),
}
db.close()
console.log(JSON.stringify(found))
