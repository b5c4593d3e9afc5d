/** Connections to PostgreSQL: a deadline for each call, transactions, and statements as store modules run them. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { ReservedSQL } from 'bun'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import type { PostgresLocation } from '../../core/data-location.ts'
import { toStorable } from './storable-text.ts'
import { type Orm, POSTGRES, type Sql, type SqlValue, type Statement } from '../engine/sql.ts'

/** The server ends what takes longer. */
const STATEMENT_MS = 8_000
const LOCK_MS = 4_000
/** For a server that no longer answers, which the client would await for ever. */
const ANSWER_MS = 10_000
const CONNECT_SECONDS = 5

/** Runs one text; `values` are its parameters. `count`: the rows that it returned or changed. */
export type Run = (text: string, values: SqlValue[]) => Promise<Rows>
/** Rows as lists, because joined tables may have columns of the same name. */
type RunForValues = (text: string, values: SqlValue[]) => Promise<unknown[][]>
type Runs = { run: Run; runForValues: RunForValues; runScript: (text: string) => Promise<void> }
type Row = Record<string, unknown>
type Rows = Row[] & { count: number }
type Queries = Pick<ReservedSQL, 'unsafe'>

/** The server did not answer in time: whether it did what was asked is unknown. */
export class NoAnswer extends Error {
  override name = 'NoAnswer'
}

/** Thrown by `transaction` if the connection was lost while the commit was awaited. */
export class UnknownCommit extends Error {
  override name = 'UnknownCommit'
}

export type Postgres = ReturnType<typeof connectPostgres>

export function connectPostgres({ url, connections, prepares }: PostgresLocation) {
  const pool = new Bun.SQL(url, {
    max: connections,
    prepare: prepares,
    bigint: true,
    connectionTimeout: CONNECT_SECONDS,
    connection: {
      application_name: 'eventpost',
      statement_timeout: String(STATEMENT_MS),
      lock_timeout: String(LOCK_MS),
      idle_in_transaction_session_timeout: String(2 * ANSWER_MS),
    },
  })
  const onPool = runsOn(pool)
  /** of the transaction that is open for the caller */
  const open = new AsyncLocalStorage<Runs>()
  const runs = (): Runs => open.getStore() ?? onPool
  const run: Run = (text, values) => runs().run(text, values)

  const begin = async <Result>(mode: string, work: () => Promise<Result>): Promise<Result> => {
    const connection = await inTime(pool.reserve())
    const here = runsOn(connection)
    const { run: runHere } = here
    let isDone = false
    try {
      await runHere(`BEGIN ${mode}`, [])
      const result = await open.run(here, work)
      await commit(runHere)
      isDone = true
      return result
    } finally {
      // a failed or unanswered transaction must not go on in the next one
      if (!isDone)
        await runHere('ROLLBACK', [])
          .then(() => (isDone = true))
          .catch(() => {})
      if (isDone) await connection.release()
      else connection.close({ timeout: 0 }).catch(() => {})
    }
  }

  const sql: Sql = {
    dialect: POSTGRES,
    prepare: (text) => prepare(run, text),
    orm: createOrm((text, values) => runs().runForValues(text, values)),
    readTogether: (read) => begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', read),
  }
  return {
    sql,
    run,
    /** Several statements, without values. */
    runScript: async (text: string): Promise<void> => (open.getStore() ?? onPool).runScript(text),
    /** What `work` writes is stored as a whole. Locks decide what waits for what. */
    transaction: <Result>(work: () => Promise<Result>): Promise<Result> =>
      begin('ISOLATION LEVEL READ COMMITTED', work),
    close: (): Promise<void> => pool.close({ timeout: CONNECT_SECONDS }),
  }
}

async function commit(run: Run): Promise<void> {
  try {
    await run('COMMIT', [])
  } catch (error) {
    throw new UnknownCommit('PostgreSQL did not confirm a commit', { cause: error })
  }
}

const runsOn = (queries: Queries): Runs => ({
  runScript: async (text) => void (await inTime(queries.unsafe(text).simple())),
  run: async (text, values) => {
    const rows = (await inTime(queries.unsafe(text, values.map(toStorable)))) as Rows
    for (const row of rows) for (const [name, value] of Object.entries(row)) row[name] = toStored(value)
    return rows
  },
  runForValues: async (text, values) => {
    const rows = (await inTime(queries.unsafe(text, values.map(toStorable)).values())) as unknown[][]
    return rows.map((row) => row.map(toStored))
  },
})

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new NoAnswer('PostgreSQL did not answer in time')), ANSWER_MS)
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Numbers and truth as SQLite has them. */
const toStored = (value: unknown): unknown =>
  typeof value === 'bigint' || typeof value === 'boolean' ? Number(value) : value

function prepare<Found, Values extends readonly SqlValue[]>(run: Run, text: string): Statement<Found, Values> {
  const numbered = numberValues(text)
  // without the properties that the client's lists have
  const all = async (values: Values): Promise<Found[]> => Array.from(await run(numbered, [...values])) as Found[]
  return {
    get: async (...values) => (await all(values))[0] ?? null,
    all: (...values) => all(values),
    run: async (...values) => ({ changes: (await run(numbered, [...values])).count }),
  }
}

/** `?` becomes `$1` and so on, and `?2` becomes `$2`, outside of quoted texts. */
export function numberValues(text: string): string {
  let last = 0
  return text.replaceAll(/'[^']*'|\?(\d*)/g, (found, number: string | undefined) =>
    number === undefined ? found : `$${number === '' ? (last += 1) : number}`,
  )
}

/** PostgreSQL doesn't take the table's name there: `on conflict ("apps"."id")`. */
const toPostgres = (text: string): string =>
  numberValues(text).replace(/ on conflict \([^)]*\)/, (target) => target.replaceAll(/"\w+"\./g, ''))

/** Other texts that Drizzle writes for SQLite's tables are PostgreSQL's too. */
const createOrm = (runForValues: RunForValues): Orm =>
  drizzle(async (text, values, method) => {
    const rows = await runForValues(toPostgres(text), values as SqlValue[])
    return { rows: method === 'get' ? (rows[0] as unknown[]) : rows }
  }) as unknown as Orm
