import type { Database } from 'bun:sqlite'
import { renameSync, rmSync } from 'node:fs'
import { truncateLog } from '../engine/checkpoints.ts'
import { databasePath, draftPath, hasDraft, makeDatabase, openDatabase, openFile } from '../engine/database.ts'
import { createContactIndex } from '../search/contact-index.ts'
import { readFields, storedFields } from './lines.ts'
import { sampleLines } from './samples.ts'
import { NO_PROGRESS, type Target, type TableProgress, type Writer } from './sides.ts'
import { EMPTY_INSTALL, isStored, namesOf, type Table } from './tables.ts'

const CACHE_KIB = 262_144
const SORTING_THREADS = 2

/** Becomes the database of the folder once it is complete. The second time, it goes on. */
export function openDraft(folder: string): Database {
  const path = draftPath(folder)
  if (!hasDraft(folder)) makeDraft(path)
  const db = openFile(path)
  // a power cut may end the last transactions, but leaves the file whole
  for (const pragma of ['synchronous = NORMAL', 'secure_delete = OFF', 'foreign_keys = OFF', 'temp_store = FILE'])
    db.run(`PRAGMA ${pragma}`)
  // to sort for indexes
  db.run(`PRAGMA threads = ${SORTING_THREADS}`)
  db.run(`PRAGMA cache_size = -${CACHE_KIB}`)
  return db
}

/** Under another name first: a draft that is there has its tables. */
function makeDraft(path: string): void {
  const unfinished = `${path}.new`
  removeFiles(unfinished)
  makeDatabase(unfinished).close()
  renameSync(unfinished, path)
}

const removeFiles = (path: string): void => {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
}

export function removeDraft(folder: string): void {
  const path = draftPath(folder)
  for (const one of [path, `${path}.new`]) removeFiles(one)
}

export function findDraftId(db: Database): string | null {
  if (db.query("SELECT 1 FROM sqlite_schema WHERE name = 'move_state'").get() === null) return null
  return db.query<{ id: string }, []>('SELECT id FROM move_state').get()?.id ?? null
}

export function createFolderTarget(db: Database, { id, folder }: { id: string; folder: string }): Target {
  if (findDraftId(db) === null) db.transaction(() => begin(db, id)).immediate()
  const rows = db.query<{ name: string; progress: string }, []>('SELECT name, progress FROM move_progress').all()
  return {
    // one connection writes at a time
    lanes: 1,
    progress: new Map(
      rows.map(({ name, progress }) => [name, { ...NO_PROGRESS, ...(JSON.parse(progress) as object) }]),
    ),
    openWriter: async (table) => createWriter(db, table),
    index: async (table) => runLater(db, table.name),
    count: async ({ name, condition }) =>
      db.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${name} WHERE ${condition}`).get()?.rows ?? 0,
    sample: async (table, after, count) => sampleLines(db, table, after, count),
    complete: async () => complete(db),
    release: async () => {
      truncateLog(db)
      db.close()
      // opening it removes what is left of the move, also after a crash in between
      renameSync(draftPath(folder), databasePath(folder))
      openDatabase(folder).close()
    },
    close: async () => db.close(),
  }
}

const LAST = '(last)'

function begin(db: Database, id: string): void {
  db.run('CREATE TABLE move_state (id TEXT NOT NULL) STRICT')
  db.run('CREATE TABLE move_progress (name TEXT PRIMARY KEY, progress TEXT NOT NULL) STRICT')
  db.run('CREATE TABLE move_later (position INTEGER PRIMARY KEY, name TEXT NOT NULL, sql TEXT NOT NULL) STRICT')
  db.run('INSERT INTO move_state (id) VALUES (?)', [id])
  db.run(EMPTY_INSTALL)
  const later = db
    .query<{ type: string; name: string; tableName: string; sql: string }, []>(
      `SELECT type, name, tbl_name AS tableName, sql FROM sqlite_schema
       WHERE type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY type, rowid`,
    )
    .all()
  for (const { type, name, tableName, sql } of later) {
    db.run(`DROP ${type} ${name}`)
    db.run('INSERT INTO move_later (name, sql) VALUES (?, ?)', [type === 'trigger' ? LAST : tableName, sql])
  }
}

/** For each, so that a stopped move makes none twice. */
function runLater(db: Database, name: string): void {
  const later = db
    .query<{ position: number; sql: string }, [string]>(
      'SELECT position, sql FROM move_later WHERE name = ? ORDER BY position',
    )
    .all(name)
  for (const { position, sql } of later) {
    db.transaction(() => {
      db.run(sql)
      db.run('DELETE FROM move_later WHERE position = ?', [position])
    }).immediate()
  }
}

/** SQLite's limit of parameters is far above. */
const ROWS_PER_INSERT = 32

function createWriter(db: Database, table: Table): Writer {
  const columns = table.columns.filter(isStored)
  const width = columns.length
  const row = `(${columns.map(() => '?').join(', ')})`
  const insertOf = (rows: number) =>
    db.prepare(`INSERT INTO ${table.name} (${namesOf(columns)}) VALUES ${Array(rows).fill(row).join(', ')}`)
  const [many, one] = [insertOf(ROWS_PER_INSERT), insertOf(1)]
  const saveProgress = db.prepare(
    'INSERT INTO move_progress (name, progress) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET progress = excluded.progress',
  )
  return {
    async add({ bytes, rows }) {
      if (!db.inTransaction) db.run('BEGIN IMMEDIATE')
      const fields = storedFields(table, readFields(bytes))
      if (fields.length !== rows * width)
        throw new Error(`${rows} rows of ${table.name} have ${fields.length} values instead of ${rows * width}`)
      const whole = rows - (rows % ROWS_PER_INSERT)
      for (let row = 0; row < whole; row += ROWS_PER_INSERT)
        many.run(...fields.slice(row * width, (row + ROWS_PER_INSERT) * width))
      for (let row = whole; row < rows; row += 1) one.run(...fields.slice(row * width, (row + 1) * width))
    },
    async save(progress: TableProgress) {
      if (!db.inTransaction) db.run('BEGIN IMMEDIATE')
      saveProgress.run(table.name, JSON.stringify(progress))
      db.run('COMMIT')
    },
    async close() {
      if (db.inTransaction) db.run('ROLLBACK')
    },
  }
}

const LAST_OF = (table: string): string => `(SELECT ifnull(max(id), 0) FROM ${table})`
/** Steps of the index in one transaction. */
const INDEX_STEPS = 200

/** What PostgreSQL has no tables for. Events are counted for the people's filters already. */
function complete(db: Database): void {
  db.transaction(() => {
    db.run(
      `INSERT OR IGNORE INTO timeline SELECT contact_id, type, id FROM events
       UNION ALL SELECT contact_id, type, id FROM snippet_batches ORDER BY 1, 2, 3`,
    )
    db.run(
      `UPDATE install SET value = CAST(max(${LAST_OF('events')}, ${LAST_OF('snippet_batches')}) AS TEXT) WHERE name LIKE 'timeline_%until'`,
    )
    db.run(
      `UPDATE contact_index_progress SET there_until = CASE part WHEN 'events' THEN ${LAST_OF('events')} ELSE ${LAST_OF('contacts')} END,
         done_until = CASE part WHEN 'events' THEN ${LAST_OF('events')} ELSE done_until END`,
    )
  }).immediate()
  fillIndex(db)
  runLater(db, LAST)
  db.run('PRAGMA optimize')
}

/** People's names, fields and days, until nothing is left to index. */
export function fillIndex(db: Database): void {
  const index = createContactIndex(db, () => performance.now(), false)
  const advance = db.transaction(() => {
    for (let step = 0; step < INDEX_STEPS && index.hasWaiting(); step += 1) index.advance(true)
  })
  while (index.hasWaiting()) advance.immediate()
}
