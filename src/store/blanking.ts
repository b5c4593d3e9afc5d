/**
 * What SQLite leaves behind. `secure_delete` blanks a row where it lies, but when rows move to another page because
 * theirs is full or nearly empty, the old page may keep a copy in its unused middle, between the list of its cells and
 * their content (measured: 5,000 people leave about 230 such texts in 10 MB). Nothing reads those bytes, so they are
 * blanked in the file itself, while the log is empty and no one else can write.
 */
import type { Database } from 'bun:sqlite'
import { fsyncSync, readSync, statSync, writeSync } from 'node:fs'
import { truncateLog } from './checkpoints.ts'

const CHUNK_BYTES = 1024 * 1024
/** Where a page's cell list begins, by its kind: interior index and table, leaf index and table. */
const HEADER_BYTES = new Map([
  [2, 12],
  [5, 12],
  [10, 8],
  [13, 8],
])
/**
 * An overflow page begins with the number of the next one: up to here (137 GB) its first byte is 0 or 1, and so is never
 * taken for a kind.
 */
const PAGES_MAX = 2 ** 25

type Gap = { from: number; to: number }

/**
 * Numbers of the pages (from 1) whose unused middle holds more than dead cell pointers. Reads the whole file, 1 MB at a
 * time, on any thread; what was copied into the log only since is no concern, for no one moves what is deleted already.
 */
export function findStalePages(file: number): number[] {
  const pageBytes = readPageBytes(file)
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  const found: number[] = []
  for (let position = 0; ;) {
    const bytes = readSync(file, chunk, 0, CHUNK_BYTES, position)
    for (let at = 0; at + pageBytes <= bytes; at += pageBytes) {
      // the first page holds the schema and no one's data
      const page = (position + at) / pageBytes + 1
      if (page > 1 && page < PAGES_MAX && hasStaleText(chunk.subarray(at, at + pageBytes))) found.push(page)
    }
    if (bytes < pageBytes) return found
    position += bytes - (bytes % pageBytes)
  }
}

/**
 * Blanks the unused middle of pages and takes back the mark of the erasures until then.
 * @param file a descriptor that stays open as long as any connection: to close one would drop SQLite's locks
 * @returns false when someone else holds on to the log: try again
 */
export function blankPages(db: Database, file: number, { pages, mark }: { pages: number[]; mark: string }): boolean {
  if (!truncateLog(db)) return false
  db.run('BEGIN IMMEDIATE')
  try {
    const isEmpty = statSync(`${db.filename}-wal`, { throwIfNoEntry: false })?.size === 0
    if (isEmpty) {
      const pageBytes = readPageBytes(file)
      for (const page of pages) blankPage(file, (page - 1) * pageBytes, pageBytes)
      fsyncSync(file)
      db.run('PRAGMA shrink_memory')
      // a change of any kind makes every other connection let go of the pages it has in memory
      db.run(`UPDATE install SET value = iif(value = ?, '0', CAST(value AS INTEGER) + 1) WHERE name = 'blanking_due'`, [
        mark,
      ])
    }
    db.run('COMMIT')
    return isEmpty
  } catch (error) {
    if (db.inTransaction) db.run('ROLLBACK')
    throw error
  }
}

/** Empties the log for a new look at the file. @returns the mark of the erasures until now, null when it is not empty */
export function beginBlanking(db: Database): string | null {
  if (!truncateLog(db)) return null
  return db.query<{ value: string }, []>(`SELECT value FROM install WHERE name = 'blanking_due'`).get()?.value ?? '0'
}

function readPageBytes(file: number): number {
  const header = Buffer.alloc(18)
  readSync(file, header, 0, header.length, 0)
  return header.readUInt16BE(16)
}

/** The unused middle of a page of a table or an index; null for every other kind. */
function findGap(page: Buffer): Gap | null {
  const header = HEADER_BYTES.get(page[0] ?? 0)
  if (header === undefined) return null
  const gap = { from: header + 2 * page.readUInt16BE(3), to: page.readUInt16BE(5) }
  return gap.from <= gap.to && gap.to <= page.length ? gap : null
}

/** A cell pointer lies on an even byte and is below 4,096: any two bytes of text, and few numbers, have one above 16. */
function hasStaleText(page: Buffer): boolean {
  const gap = findGap(page)
  if (!gap) return false
  for (let at = gap.from; at < gap.to; at += 2) if ((page[at] ?? 0) > 16) return true
  return false
}

function blankPage(file: number, position: number, pageBytes: number): void {
  const page = Buffer.alloc(pageBytes)
  readSync(file, page, 0, pageBytes, position)
  const gap = findGap(page)
  if (gap) writeSync(file, Buffer.alloc(gap.to - gap.from), 0, gap.to - gap.from, position + gap.from)
}
