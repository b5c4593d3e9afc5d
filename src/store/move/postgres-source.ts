import { StoreError } from '../engine/errors.ts'
import { MOVED } from '../postgres/faults.ts'
import { MARK, type Mark, readMark } from './mark.ts'
import { countRows, readRows, sampleRows } from './postgres-rows.ts'
import { findInstance, type Queries, type Server } from './server.ts'
import type { Source } from './sides.ts'
import { storedName, type Table } from './tables.ts'

/** The server: everything is read in one transaction of it. */
export async function createPostgresSource(server: Server): Promise<Source> {
  const reserved = await server.reserve()
  await reserved.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  return {
    // triggers refuse every write
    fingerprint: null,
    count: (table) => countRows(reserved, table),
    read: (table, after) => readRows(reserved, table, after),
    sample: (table, after, rows) => sampleRows(reserved, table, after, rows),
    close: async () => {
      await reserved.unsafe('ROLLBACK').catch(() => {})
      await reserved.release()
    },
  }
}

export async function findServerMark(queries: Queries): Promise<Mark | null> {
  const [there] = (await queries.unsafe("SELECT to_regclass('install') IS NOT NULL AS has")) as { has: boolean }[]
  if (there?.has !== true) return null
  const [row] = (await queries.unsafe('SELECT value FROM install WHERE name = $1', [MARK])) as { value: string }[]
  return readMark(row?.value)
}

const REFUSE = 'eventpost_refuse_moved'

const describeRefusal = ({ to }: Mark): string =>
  `The data was moved to ${to}, or is being moved there. Stop this server, and use the data there.`

/** Also in a text between $$. */
const quote = (text: string): string => `'${text.replaceAll("'", "''").replaceAll('$', "' || chr(36) || '")}'`

/** Also keeps out an instance that was frozen or cut off, and comes back. It waits for transactions that are open. */
export async function markServer(server: Server, tables: readonly Table[], mark: Mark): Promise<void> {
  await server.begin(async (queries) => {
    await queries.unsafe(
      `CREATE OR REPLACE FUNCTION ${REFUSE}() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${MOVED}', MESSAGE = ${quote(describeRefusal(mark))}; END $$`,
    )
    for (const name of tables.map(storedName).filter((table) => table !== 'install')) {
      await queries.unsafe(
        `CREATE OR REPLACE TRIGGER ${REFUSE} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${name}
           FOR EACH STATEMENT EXECUTE FUNCTION ${REFUSE}()`,
      )
    }
    const fault = await findInstance(queries)
    if (fault !== null) throw new StoreError('folder_in_use', fault)
    await saveMark(queries, mark)
  })
}

export const saveMark = async (queries: Queries, mark: Mark): Promise<void> =>
  void (await queries.unsafe(
    'INSERT INTO install (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    [MARK, JSON.stringify(mark)],
  ))

export async function unmarkServer(server: Server): Promise<void> {
  await server.begin(async (queries) => {
    await queries.unsafe(`DROP FUNCTION IF EXISTS ${REFUSE}() CASCADE`)
    await queries.unsafe('DELETE FROM install WHERE name = $1', [MARK])
  })
}
