/** The schemas of releases, in schemas/: what a database of that release has before it is upgraded. */
import { Database } from 'bun:sqlite'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { VERSION } from '../../../src/core/version.ts'

const FOLDER = join(import.meta.dir, 'schemas')
const HEAD = /^-- Eventpost (.*)\n/

export type KeptSchema = { version: number; releases: string[]; text: string }

export const schemaPath = (version: number): string => join(FOLDER, `${version}.sql`)

export const listSchemas = (): KeptSchema[] =>
  readdirSync(FOLDER)
    .map((name): KeptSchema => {
      const file = readFileSync(join(FOLDER, name), 'utf8')
      const releases = HEAD.exec(file)?.[1]?.split(', ') ?? []
      return { version: Number.parseInt(name), releases, text: file.replace(HEAD, '') }
    })
    .sort((one, other) => one.version - other.version)

type Entry = { name: string; type: string; sql: string }

/** As SQL: tables with the rows that migrations wrote, then everything else, without comments. */
export function writeSchema(db: Database): string {
  const all = <T>(sql: string): T[] => db.query<T, []>(sql).all()
  // those of a full-text index come with it
  const shadows = new Set(
    all<{ name: string }>(`SELECT name FROM pragma_table_list WHERE type = 'shadow'`).map(({ name }) => name),
  )
  const entries = all<Entry>(
    `SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid`,
  ).filter(({ name }) => !shadows.has(name))
  const isTable = ({ type }: Entry): boolean => type === 'table'
  const rows = entries
    .filter(isTable)
    .flatMap(({ name, sql }) => (/^CREATE VIRTUAL/i.test(sql) ? [] : rowsOf(db, name)))
  const lines = [
    ...entries.filter(isTable).map(({ sql }) => plain(sql)),
    ...rows,
    ...entries.filter((entry) => !isTable(entry)).map(({ sql }) => plain(sql)),
    ...['application_id', 'user_version'].map(
      (name) => `PRAGMA ${name} = ${String(db.query(`PRAGMA ${name}`).values()[0]?.[0])}`,
    ),
  ]
  return lines.map((line) => `${line.replace(RANDOM_KEY, '$1random')};\n`).join('')
}

/** Another one in each database. */
const RANDOM_KEY = /('suppression_key' *, *')[0-9a-f]{64}/

const plain = (sql: string): string =>
  sql
    .replaceAll(/--[^\n]*/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()

function rowsOf(db: Database, table: string): string[] {
  const columns = db.query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)').all(table)
  const values = columns.map(({ name }) => `quote("${name}")`).join(` || ', ' || `)
  const rows = db.query<{ row: string }, []>(`SELECT ${values} AS row FROM "${table}" ORDER BY 1`).all()
  return rows.map(({ row }) => `INSERT INTO "${table}" VALUES (${row})`)
}

export function createFrom(schema: KeptSchema, path: string): void {
  const db = new Database(path, { create: true })
  db.run('PRAGMA journal_mode = WAL')
  db.run(schema.text)
  db.close()
}

/** With the release added to those that have this schema. @throws Error if it is another one than was kept */
export function writeKept(db: Database, version: number): string {
  const kept = listSchemas().find((schema) => schema.version === version)
  const text = writeSchema(db)
  if (kept && kept.text !== text) {
    throw new Error(`${schemaPath(version)} differs: a migration was changed after its release. Add a new one instead.`)
  }
  const releases = new Set([...(kept?.releases ?? []), VERSION])
  return `-- Eventpost ${[...releases].join(', ')}\n${text}`
}
