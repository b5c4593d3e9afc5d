import { describeLocation, type PostgresLocation } from '../../core/data-location.ts'
import { StoreError } from '../engine/errors.ts'
import { listFunctions, migrate } from '../postgres/migrations.ts'
import { addMonths, monthsBetween } from '../postgres/partitions.ts'
import { countRows, sampleRows } from './postgres-rows.ts'
import { connectForMove, type Queries, runOn, type Server } from './server.ts'
import { NO_PROGRESS, type Target, type TableProgress, type Writer } from './sides.ts'
import { EMPTY_INSTALL, type Key, namesOf, storedName, type Table } from './tables.ts'

/** With more, the two cores of a small server have nothing more to do. */
const LANES = 3

/**
 * Commits don't wait for the disk: rows and the progress that counts them survive a crash together or not at all. The last
 * commit waits, and everything before it is then on the disk, too.
 */
const SETTINGS = { synchronous_commit: 'off', maintenance_work_mem: '256MB' }

const OUR_TABLES = `FROM pg_class AS c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = c.oid AND deptype = 'e')`

export type TargetState =
  { kind: 'empty' } | { kind: 'other' } | { kind: 'receiving'; id: string; fingerprint: string | null }

export async function findTargetState(queries: Queries): Promise<TargetState> {
  const tables = (await queries.unsafe(`SELECT relname AS name ${OUR_TABLES}`)) as { name: string }[]
  if (tables.length === 0) return { kind: 'empty' }
  if (!tables.some(({ name }) => name === 'move_state')) return { kind: 'other' }
  const [state] = (await queries.unsafe('SELECT id, fingerprint FROM move_state')) as {
    id: string
    fingerprint: string | null
  }[]
  return state === undefined ? { kind: 'empty' } : { kind: 'receiving', ...state }
}

/** Creates the tables without indexes: those are built faster from all rows. The second time, it goes on. */
export async function openPostgresTarget(location: PostgresLocation, begun: Begun): Promise<Target> {
  const server = await connectForMove(location, LANES + 1, SETTINGS)
  try {
    await begin(server, begun)
    const progress = await readProgress(server)
    return {
      lanes: LANES,
      progress,
      openWriter: (table) => openWriter(server, table),
      index: async (table, rows) => {
        await runLater(server, storedName(table))
        if (rows > 0) await server.unsafe(`ANALYZE ${storedName(table)}`)
      },
      count: (table) => countRows(server, table),
      sample: (table: Table, after: Key | null, rows: number) => sampleRows(server, table, after, rows),
      complete: () => complete(server),
      release: async () => {
        await onDisk(server, 'DROP TABLE move_state, move_progress, move_later')
      },
      close: () => server.close({ timeout: 0 }),
    }
  } catch (error) {
    await server.close({ timeout: 0 })
    throw error
  }
}

/** `firstAt`: of the oldest event. */
type Begun = { id: string; fingerprint: string | null; tables: readonly Table[]; firstAt: number; at: number }

async function begin(server: Server, { id, fingerprint, tables, firstAt, at }: Begun): Promise<void> {
  await server.begin(async (queries) => {
    await queries.unsafe('CREATE TABLE IF NOT EXISTS move_state (id text NOT NULL, fingerprint text)')
    await queries.unsafe(
      'INSERT INTO move_state (id, fingerprint) SELECT $1::text, $2::text WHERE NOT EXISTS (SELECT 1 FROM move_state)',
      [id, fingerprint],
    )
    const [first] = (await queries.unsafe('SELECT id FROM move_state')) as { id: string }[]
    if (first?.id !== id) throw new StoreError('file_exists', 'Another move into this database has begun.')
  })
  const [there] = (await server.unsafe("SELECT to_regclass('move_later') IS NOT NULL AS has")) as { has: boolean }[]
  if (there?.has === true) return
  await migrate(runOn(server))
  await addMonths(runOn(server), monthsBetween(firstAt, at))
  await server.begin(async (queries) => {
    await queries.unsafe('CREATE TABLE move_progress (name text PRIMARY KEY, progress text NOT NULL)')
    await queries.unsafe(
      'CREATE TABLE move_later (position bigint GENERATED ALWAYS AS IDENTITY, name text NOT NULL, sql text NOT NULL)',
    )
    await queries.unsafe(EMPTY_INSTALL)
    await takeAway(queries, tables)
  })
}

const LAST = '(last)'
type Later = { name: string; drop: string; sql: string }

/** Foreign keys first, because they need the keys of other tables. `order`: in which they are made again. */
const CONSTRAINTS = `SELECT CASE contype WHEN 'f' THEN '${LAST}' ELSE conrelid::regclass::text END AS name,
    format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS drop,
    format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS sql
  FROM pg_constraint WHERE contype IN ('f', 'p', 'u') AND conrelid::regclass::text = ANY ($1::text[])
  ORDER BY contype = 'f' DESC, conname`
const INDEXES = `SELECT indrelid::regclass::text AS name, format('DROP INDEX %s', indexrelid::regclass) AS drop,
    replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') AS sql
  FROM pg_index WHERE indrelid::regclass::text = ANY ($1::text[]) ORDER BY indexrelid`
const TRIGGERS = `SELECT DISTINCT '${LAST}' AS name, format('ALTER TABLE %s DISABLE TRIGGER USER', tgrelid::regclass) AS drop,
    format('ALTER TABLE %s ENABLE TRIGGER USER', tgrelid::regclass) AS sql
  FROM pg_trigger WHERE NOT tgisinternal AND tgrelid::regclass::text = ANY ($1::text[])`

async function takeAway(queries: Queries, tables: readonly Table[]): Promise<void> {
  const names = `{${tables.map(storedName).join(',')}}`
  for (const text of [CONSTRAINTS, INDEXES, TRIGGERS]) {
    for (const { name, drop, sql } of (await queries.unsafe(text, [names])) as Later[]) {
      await queries.unsafe(drop)
      await queries.unsafe('INSERT INTO move_later (name, sql) VALUES ($1, $2)', [name, sql])
    }
  }
}

const onDisk = async (server: Server, text: string): Promise<void> =>
  void (await server.unsafe(`SET LOCAL synchronous_commit = on; ${text}`).simple())

/** Each with its note, so that a stopped move makes none twice. */
async function runLater(server: Server, name: string): Promise<void> {
  const later = (await server.unsafe('SELECT position, sql FROM move_later WHERE name = $1 ORDER BY position', [
    name,
  ])) as { position: string; sql: string }[]
  for (const { position, sql } of later) {
    // one transaction
    await server.unsafe(`${sql}; DELETE FROM move_later WHERE position = ${position}`).simple()
  }
}

async function readProgress(server: Server): Promise<Map<string, TableProgress>> {
  const rows = (await server.unsafe('SELECT name, progress FROM move_progress')) as { name: string; progress: string }[]
  return new Map(
    rows.map(({ name, progress }) => [name, { ...NO_PROGRESS, ...(JSON.parse(progress) as TableProgress) }]),
  )
}

/** One transaction from save to save. */
async function openWriter(server: Server, table: Table): Promise<Writer> {
  const connection = await server.reserve()
  const text = `COPY ${storedName(table)} (${namesOf(table.columns)}) FROM STDIN`
  let copy: { query: Bun.SQL.Query<{ count: number }>; writer: WritableStreamDefaultWriter; rows: number } | null = null

  const beginCopy = async () => {
    await connection.unsafe('BEGIN')
    const query = connection.unsafe(text) as Bun.SQL.Query<{ count: number }>
    return { query, writer: query.writable().getWriter(), rows: 0 }
  }
  return {
    async add({ bytes, rows }): Promise<void> {
      copy ??= await beginCopy()
      copy.rows += rows
      await copy.writer.write(bytes)
    },
    async save(progress): Promise<void> {
      if (copy === null) await connection.unsafe('BEGIN')
      else {
        await copy.writer.close()
        const { count } = await copy.query
        if (count !== copy.rows) throw new Error(`PostgreSQL stored ${count} of ${copy.rows} rows of ${table.name}`)
      }
      await connection.unsafe(
        `INSERT INTO move_progress (name, progress) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET progress = excluded.progress`,
        [table.name, JSON.stringify(progress)],
      )
      await connection.unsafe('COMMIT')
      copy = null
    },
    async close(): Promise<void> {
      if (copy === null) return void connection.release()
      await copy.writer.abort().catch(() => {})
      await connection
        .unsafe('ROLLBACK')
        .then(() => connection.release())
        .catch(() => connection.close({ timeout: 0 }))
    },
  }
}

const SEQUENCES = `SELECT format('SELECT setval(%L, coalesce(max(%I), 0) + 1, false) FROM %I', pg_get_serial_sequence(table_name, column_name),
    column_name, table_name) AS sql
  FROM information_schema.columns
  WHERE table_schema = current_schema() AND is_identity = 'YES' AND table_name NOT LIKE 'move\\_%'`
const FILL_FIELDS = `INSERT INTO contact_fields (app_id, name, value, contact_id)
  SELECT app_id, key, value, id FROM contacts, json_each_text(fields::json) AS fields (key, value)
  WHERE fields IS NOT NULL AND value IS NOT NULL ON CONFLICT DO NOTHING`
/** As if every window were the longest: what has left a shorter one is taken away when it is read. */
const FILL_WINDOWS = `INSERT INTO limit_windows (bucket, seconds, total, passed, last_second)
  SELECT bucket, 3600, sum(count), 0, max(second) FROM limit_usage GROUP BY bucket`
/** Ids of instances must follow those that were moved. */
const PASS_IDS = `UPDATE instances SET ids_until = greatest(ids_until, (SELECT max(id) FROM (
    SELECT max(id) AS id FROM events UNION ALL SELECT max(id) FROM contacts UNION ALL SELECT max(id) FROM snippet_batches
    UNION ALL SELECT max(id) FROM deliveries UNION ALL SELECT max(id) FROM messages UNION ALL SELECT max(id) FROM topics) AS ids))`

async function complete(server: Server): Promise<void> {
  await server.begin(async (queries) => {
    for (const { sql } of (await queries.unsafe(SEQUENCES)) as { sql: string }[]) await queries.unsafe(sql)
    await queries.unsafe('DELETE FROM contact_fields')
    await queries.unsafe(FILL_FIELDS)
    await queries.unsafe('DELETE FROM limit_windows')
    await queries.unsafe(FILL_WINDOWS)
    await queries.unsafe(PASS_IDS)
  })
  await runLater(server, LAST)
  await server.unsafe('ANALYZE contact_fields')
  await onDisk(server, 'UPDATE move_state SET id = id')
}

/** Only of a move that was not finished. */
export async function clearPostgresTarget(server: Server): Promise<void> {
  await server.begin(async (queries) => {
    const tables = (await queries.unsafe(`SELECT c.oid::regclass::text AS name ${OUR_TABLES}`)) as { name: string }[]
    if (tables.length > 0) await queries.unsafe(`DROP TABLE ${tables.map(({ name }) => name).join(', ')} CASCADE`)
    for (const name of listFunctions()) await queries.unsafe(`DROP FUNCTION IF EXISTS ${name} CASCADE`)
  })
}

export const refuseOther = (location: PostgresLocation): StoreError =>
  new StoreError('file_exists', `${describeLocation(location)} already has tables. Use an empty database.`)
