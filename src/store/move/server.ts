/** Connections for a move, without the short deadlines of a server, and what can be wrong with a database. */
import {
  databaseOf,
  describeLocation,
  describeTakenUser,
  type PostgresLocation,
  userOf,
} from '../../core/data-location.ts'
import { StoreError } from '../engine/errors.ts'
import type { Postgres } from '../postgres/connection.ts'
import { describeUntrusted } from '../postgres/faults.ts'
import { HAS_ENDED } from '../postgres/instance.ts'
import { describeCreate, describeDenied } from '../postgres/server-facts.ts'

const CONNECT_SECONDS = 10
const LOCK_MS = 10_000

export type Server = Bun.SQL
export type Queries = Pick<Bun.SQL, 'unsafe'>

/** A snapshot waits while the folder builds an index. Not every version of PostgreSQL has all of these. */
const LIMITS = ['statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout']

/** `settings`: of PostgreSQL, for each connection. @throws StoreError for what the user can put right */
export async function connectForMove(
  location: PostgresLocation,
  connections: number,
  settings: Record<string, string> = {},
): Promise<Server> {
  const open = (max: number, more: Record<string, string>): Server =>
    new Bun.SQL(location.url, {
      max,
      prepare: location.prepares,
      connectionTimeout: CONNECT_SECONDS,
      connection: { application_name: 'eventpost move', lock_timeout: String(LOCK_MS), ...more },
    })
  const first = open(1, {})
  try {
    const known = await atServer(location, () => listSettings(first, LIMITS))
    return open(connections, { ...Object.fromEntries(known.map((name) => [name, '0'])), ...settings })
  } finally {
    await first.close({ timeout: 0 })
  }
}

/** @returns those that the server knows */
async function listSettings(server: Server, names: readonly string[]): Promise<string[]> {
  const found: { name: string }[] = await server`SELECT name FROM pg_settings WHERE name IN ${server(names)}`
  return found.map(({ name }) => name)
}

/** @throws StoreError for what the user can put right */
export async function atServer<Result>(location: PostgresLocation, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const reason = describeFault(error, location)
    throw reason === null ? error : new StoreError('unreachable', `${describeLocation(location)}: ${reason}`)
  }
}

/** Like the engine's connections, but a large script may take its time. For one caller. */
export function runOn(server: Server): Pick<Postgres, 'run' | 'runScript' | 'transaction'> {
  let queries: Queries = server
  return {
    run: async (text, values) => (await queries.unsafe(text, values)) as Awaited<ReturnType<Postgres['run']>>,
    runScript: async (text) => void (await queries.unsafe(text).simple()),
    transaction: <Result>(work: () => Promise<Result>) =>
      server.begin(async (transaction) => {
        queries = transaction
        try {
          return await work()
        } finally {
          queries = server
        }
      }) as Promise<Result>,
  }
}

const valueOf = (error: Error, name: 'code' | 'errno'): string =>
  name in error ? String((error as unknown as Record<string, unknown>)[name]) : ''

const withUser = (fault: string, location: PostgresLocation): string =>
  [fault, describeTakenUser(location) ?? []].flat().join(' ')

/** By the server's code (postgresql.org/docs/current/errcodes-appendix.html) or the client's. */
const FAULTS: readonly [RegExp, (message: string, location: PostgresLocation) => string][] = [
  [/^28P01$/, (_message, location) => withUser(`the password for user ${userOf(location)} is wrong.`, location)],
  [/^28000$/, (message, location) => withUser(`the server refuses this user: ${message}.`, location)],
  [
    /^3D000$/,
    (_message, location) =>
      `there is no database ${databaseOf(location)}. Create it: ${describeCreate(databaseOf(location))}`,
  ],
  [/^42501$/, describeDenied],
  [/^53100$/, () => "the server's disk is full. Free up space, then run the command again to continue."],
  [/^53300$/, () => 'the server has no connections left. Raise max_connections, or stop other programs.'],
  [
    /^55P03$/,
    () =>
      "another program holds a lock on the database's tables. Stop that program, then run the command again to continue.",
  ],
  [/^25006$/, () => 'the server is read-only and may be a replica. Use the primary.'],
  [/TLS_NOT_AVAILABLE|SSL/, () => "the server doesn't support TLS, but the URL requires it."],
  [
    /CONNECTION_(REFUSED|FAILED)|ENOTFOUND|ECONNREFUSED/,
    () => 'nothing responds there. Check the host and the port, and that the server is running.',
  ],
  [/CONNECTION_TIMEOUT/, () => 'nothing responded there in time. Check the host, the port and firewalls.'],
  [
    /^(57P0[1-5]|08\w{3})$|CONNECTION_CLOSED|LIFETIME|IDLE/,
    () => 'the connection was lost. Run the command again to continue.',
  ],
]

function describeFault(error: unknown, location: PostgresLocation): string | null {
  if (!(error instanceof Error) || error instanceof StoreError) return null
  const codes = [valueOf(error, 'errno'), valueOf(error, 'code')]
  const known = FAULTS.find(([pattern]) => codes.some((code) => pattern.test(code)))
  return known?.[1](error.message, location) ?? describeUntrusted(error)
}

const CONNECTED = "datname = current_database() AND application_name = 'eventpost'"
const END_CONNECTIONS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${CONNECTED}`

/** `until`: ms UTC, when the last lease ends if nobody renews it. `hosts`: of the connections, as PostgreSQL sees them. */
type Uses = { instances: number; until: number; connections: number; hosts: string }

/** Of instances that use the database: by their leases, else by their connections. @returns null if there is none */
export async function findInstance(server: Queries): Promise<string | null> {
  const [there] = (await server.unsafe("SELECT to_regclass('instances') IS NOT NULL AS has")) as { has: boolean }[]
  const leases = there?.has
    ? `SELECT count(*)::int AS instances, coalesce(max(held_until), 0)::float8 AS until FROM instances
       WHERE holder <> '' AND NOT ${HAS_ENDED}`
    : 'SELECT 0 AS instances, 0::float8 AS until'
  const [uses] = (await server.unsafe(
    `SELECT * FROM (${leases}) AS leases, (SELECT count(*)::int AS connections,
       string_agg(DISTINCT coalesce(host(client_addr), 'a local socket'), ', ') AS hosts
       FROM pg_stat_activity WHERE ${CONNECTED}) AS connected`,
  )) as Uses[]
  return uses === undefined ? null : describeUses(uses)
}

function describeUses({ instances, until, connections, hosts }: Uses): string | null {
  const from = connections > 0 ? `, connected from ${hosts}` : ''
  if (instances > 0)
    return `${instances === 1 ? '1 instance is' : `${instances} instances are`} using the database${from}. Stop all servers, then try again. If an instance's machine is down, wait until ${new Date(until).toISOString()}. If the machine is still running, end the process there, even if it is frozen.`
  if (connections > 0)
    return `Eventpost still has ${connections === 1 ? '1 open connection' : `${connections} open connections`} from ${hosts}. If Eventpost is still running on one of these machines, stop it there. If a machine is down, end these connections in this database: ${END_CONNECTIONS}`
  return null
}
