/** What can be wrong with a database before anything is stored in it. */
import {
  databaseOf,
  describeLocation,
  describeTakenUser,
  type PostgresLocation,
  userOf,
} from '../../core/data-location.ts'
import { StoreError } from '../engine/errors.ts'
import type { Postgres } from './connection.ts'
import { describeFault, isDenied } from './faults.ts'

export const describeCreate = (database: string): string =>
  `CREATE DATABASE ${database} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`
const CREATE = describeCreate('eventpost')

/** `provider`: c = the system's library, b = PostgreSQL's own, i = ICU. */
export type ServerFacts = {
  version: number
  encoding: string
  provider: string
  collation: string
  /** null unless the provider is ICU */
  icuLocale: string | null
  schema: string | null
  mayCreate: boolean
}

/** The oldest version that is tested. */
const LEAST_VERSION = 15

export async function readServerFacts({ run }: Pick<Postgres, 'run'>): Promise<ServerFacts> {
  const [row] = await run(
    `SELECT current_setting('server_version_num')::int / 10000 AS version, pg_encoding_to_char(encoding) AS encoding,
       datlocprovider AS provider, datcollate AS collation,
       coalesce(to_jsonb(pg_database)->>'datlocale', to_jsonb(pg_database)->>'daticulocale') AS "icuLocale", current_schema() AS schema,
       coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS "mayCreate"
     FROM pg_database WHERE datname = current_database()`,
    [],
  )
  if (row === undefined) throw new Error('PostgreSQL did not describe the database')
  return { ...(row as ServerFacts), mayCreate: Boolean(row.mayCreate) }
}

/** A setting by which a crash of the server's machine loses or damages data. Eventpost only overrides the last one. */
export type ServerRisk = { setting: 'fsync' | 'full_page_writes' | 'synchronous_commit'; value: string }

export async function listServerRisks({ run }: Pick<Postgres, 'run'>): Promise<ServerRisk[]> {
  const rows = await run(
    `SELECT setting, current_setting(setting) AS value
     FROM unnest(ARRAY['fsync', 'full_page_writes', 'synchronous_commit']) AS names (setting)
     WHERE current_setting(setting) IN ('off', 'local')`,
    [],
  )
  return rows.map((row) => ({ ...(row as ServerRisk) }))
}

/** Texts must be sorted by their bytes, as SQLite does. @returns null if the database can be used */
export function findServerFault(
  { version, encoding, provider, collation, icuLocale, schema, mayCreate }: ServerFacts,
  location: PostgresLocation,
): string | null {
  if (version < LEAST_VERSION)
    return `it runs PostgreSQL ${version}, but Eventpost needs version ${LEAST_VERSION} or newer. Upgrade the server.`
  if (encoding !== 'UTF8') return `its encoding is ${encoding}. Create a database with UTF8: ${CREATE}`
  if (provider === 'i')
    return `it sorts text by the rules of the ICU locale ${icuLocale}. Create a database with the C locale: ${CREATE}`
  // PostgreSQL's own provider sorts by bytes, whatever the locale
  if (provider !== 'b' && !/^(C|POSIX|C\.UTF-?8)$/i.test(collation))
    return `it sorts text by the rules of ${collation}. Create a database with the C locale: ${CREATE}`
  if (schema === null || !mayCreate)
    return `the user ${userOf(location)} isn't allowed to create tables in it. ${makeOwner(location)}`
  return null
}

const makeOwner = (location: PostgresLocation): string =>
  `Make ${userOf(location)} its owner: ALTER DATABASE "${databaseOf(location)}" OWNER TO "${userOf(location)}".`

/** `message`: of the server. Being the owner of the database is not enough where another user has created the tables. */
export const describeDenied = (message: string, location: PostgresLocation): string =>
  /schema|database/.test(message)
    ? `${message}. ${makeOwner(location)}`
    : `${message} (user ${userOf(location)}). Connect as the owner of the tables, or run this as a superuser in this database for each of them: ALTER TABLE ... OWNER TO "${userOf(location)}".`

/** With the reason and the remedy, for errors while a database is opened. */
export const unreachable = (error: unknown, location: PostgresLocation): StoreError => {
  const reason = isDenied(error)
    ? describeDenied(describeFault(error), location)
    : [
        `${withStop(error)} Check EVENTPOST_DATABASE_URL (user ${userOf(location)}) and the database server.`,
        describeTakenUser(location) ?? [],
      ]
        .flat()
        .join(' ')
  return new StoreError('unreachable', `${describeLocation(location)} can't be used: ${reason}`)
}

const withStop = (error: unknown): string => describeFault(error).replace(/\.?$/, '.')
