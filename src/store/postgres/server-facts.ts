/** What can be wrong with a database before anything is stored in it. */
import type { Postgres } from './connection.ts'

export const describeCreate = (database: string): string =>
  `CREATE DATABASE ${database} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`
const CREATE = describeCreate('eventpost')

/** `provider`: c = the system's library, b = PostgreSQL's own, i = ICU. */
export type ServerFacts = {
  version: number
  encoding: string
  provider: string
  collation: string
  schema: string | null
  mayCreate: boolean
}

/** The oldest version that is tested. */
const LEAST_VERSION = 15

export async function readServerFacts({ run }: Pick<Postgres, 'run'>): Promise<ServerFacts> {
  const [row] = await run(
    `SELECT current_setting('server_version_num')::int / 10000 AS version, pg_encoding_to_char(encoding) AS encoding,
       datlocprovider AS provider, datcollate AS collation, current_schema() AS schema,
       coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS "mayCreate"
     FROM pg_database WHERE datname = current_database()`,
    [],
  )
  if (row === undefined) throw new Error('PostgreSQL did not describe the database')
  return { ...(row as ServerFacts), mayCreate: Boolean(row.mayCreate) }
}

/** Texts must be sorted by their bytes, as SQLite does. @returns null if the database can be used */
export function findServerFault({
  version,
  encoding,
  provider,
  collation,
  schema,
  mayCreate,
}: ServerFacts): string | null {
  if (version < LEAST_VERSION)
    return `it has PostgreSQL ${version}, and Eventpost needs version ${LEAST_VERSION} or newer. Upgrade the server.`
  if (encoding !== 'UTF8') return `its encoding is ${encoding}. Create a database with UTF8: ${CREATE}`
  if (provider === 'i' || !/^(C|POSIX|C\.UTF-?8)$/i.test(collation))
    return `it sorts text by the rules of ${collation}. Create a database with the C locale: ${CREATE}`
  if (schema === null || !mayCreate)
    return "this user isn't allowed to create tables in it. Make the user its owner: ALTER DATABASE ... OWNER TO ..."
  return null
}
