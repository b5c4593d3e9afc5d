/** Opens a data folder as a server would, in a process of its own, and tells what it found there. */
import { openDatabase } from '../../src/store/engine/database.ts'

export type Found = {
  integrity: string
  /** numbers of the people that have an event */
  people: number[]
  /** how far counts and rows are apart: all zero, or something was half there */
  differences: number[]
}

/** @returns its error where it cannot be opened */
export async function checkDisk(folder: string): Promise<Found | string> {
  const child = Bun.spawn([process.execPath, import.meta.path, folder], { stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return (await child.exited) === 0 ? (JSON.parse(out) as Found) : err
}

export const isWhole = ({ integrity, differences }: Found): boolean =>
  integrity === 'ok' && differences.every((difference) => difference === 0)

/** How many of these are not there. */
export function countLost(acknowledged: number[], { people }: Found): number {
  const kept = new Set(people)
  return acknowledged.filter((id) => !kept.has(id)).length
}

function look(folder: string): Found {
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
  return found
}

if (import.meta.main) console.log(JSON.stringify(look(process.argv[2] ?? '')))
