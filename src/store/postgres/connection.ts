/** Connections to PostgreSQL: a deadline for each call, transactions, and statements as store modules run them. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { ReservedSQL } from 'bun'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import type { PostgresLocation } from '../../core/data-location.ts'
import { type Orm, POSTGRES, type Sql, type SqlValue, type Statement } from '../engine/sql.ts'
import { Unavailable } from '../engine/errors.ts'
import { type Client, createClients } from './client.ts'
import {
  describeFault,
  isAborted,
  isBroken,
  isConflict,
  isEndedAlone,
  isLostConnection,
  isPassingFault,
  isUnanswered,
  UnknownCommit,
} from './faults.ts'
import type { Silence } from './heartbeat.ts'
import { inTime } from './in-time.ts'
import { createPool } from './pool.ts'
import { toStorable } from './storable-text.ts'

export const DEADLINES = {
  /** The server ends what takes longer. */
  statementMs: 8_000,
  lockMs: 3_000,
  /**
   * The server ends a transaction that waits longer for its client: an instance that stands still has locks. One that is
   * only busy tries again. The two transactions of an instance may hold the same lock, one after the other.
   */
  idleMs: 1_000,
  /** For a server that no longer answers, which the client would await for ever. */
  answerMs: 10_000,
  /**
   * Shorter than `statementMs`: a server that waits for its replica ends the wait at that limit, and reports a commit that
   * the replica doesn't have as done.
   */
  commitMs: 5_000,
  /** For a connection, while all are in use. */
  waitMs: 5_000,
  openMs: 3_000,
  /** For a server that takes no connections: a restart takes less. */
  graceMs: 1_000,
}
export type Deadlines = typeof DEADLINES

/**
 * Plans that PostgreSQL made while tables were small become slow, so it makes them again: after 32 transactions of a
 * connection, 64, 128 and so on, and at the latest after so many.
 */
const FIRST_PLANS = 32
const MOST_PER_PLAN = 4_096
const isTimeToPlan = (transactions: number): boolean =>
  transactions >= FIRST_PLANS && (transactions % MOST_PER_PLAN === 0 || Number.isInteger(Math.log2(transactions)))

const limitsOf = ({ statementMs, lockMs, idleMs }: Deadlines): Record<string, number> => ({
  statement_timeout: statementMs,
  lock_timeout: lockMs,
  idle_in_transaction_session_timeout: idleMs,
})

/** Runs one text; `values` are its parameters. `count`: the rows that it returned or changed. */
export type Run = (text: string, values: SqlValue[]) => Promise<Rows>
/** Runs a text before all that follows in the transaction, and at the latest with its commit, which fails if it fails. */
export type Send = (text: string, values: SqlValue[]) => void
/** Rows as lists, because joined tables may have columns of the same name. */
type RunForValues = (text: string, values: SqlValue[]) => Promise<unknown[][]>
type Runs = { run: Run; runForValues: RunForValues; runScript: (text: string, answerMs?: number) => Promise<void> }
type Transaction = Runs & { send: Send }
type Row = Record<string, unknown>
type Rows = Row[] & { count: number; command?: string }

export type Postgres = ReturnType<typeof connectPostgres>

export function connectPostgres({ url, connections, prepares }: PostgresLocation, deadlines = DEADLINES) {
  const limits = limitsOf(deadlines)
  const connect = createClients(url, {
    prepare: prepares,
    openMs: deadlines.openMs,
    // poolers refuse other settings of a session, and give the next transaction another one
    connection: { application_name: 'eventpost', ...(prepares ? mapValues(limits, String) : {}) },
  })
  const pool = createPool({ connect, size: connections, ...deadlines })
  const runsOf = (connection: Client): Runs => createRuns(deadlines, connection.queries(), () => pool.hear(connection))
  const transactions = new WeakMap<Client, number>()
  const arePlansOld = (connection: Client): boolean => {
    const count = (transactions.get(connection) ?? 0) + 1
    transactions.set(connection, count)
    return prepares && isTimeToPlan(count)
  }
  const setLimits = Object.entries(limits).map(([name, ms]) => `SET LOCAL ${name} = ${ms}`)
  /** of the transaction that is open for the caller */
  const open = new AsyncLocalStorage<Transaction>()

  /** Reads: what fails with its connection, or because another transaction was in the way, can run twice. */
  const read = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work().catch((error) => {
        if (isConflict(error) || (isLostConnection(error) && !isUnanswered(error))) return work()
        throw error
      })
    } catch (error) {
      throw isPassingFault(error) ? new Unavailable(describeFault(error), { cause: error }) : error
    }
  }
  /** A pooler leaves no limits on a session, so that each call needs a transaction for them. */
  const useAny = <Result>(work: (runs: Runs) => Promise<Result>): Promise<Result> =>
    read(() =>
      prepares
        ? pool.use((connection) => work(runsOf(connection)), isBroken)
        : begin('ISOLATION LEVEL READ COMMITTED', () => work(inTransaction())).catch(throwLost),
    )
  const runs = (): Runs => open.getStore() ?? alone
  const alone: Runs = {
    run: (text, values) => useAny((one) => one.run(text, values)),
    runForValues: (text, values) => useAny((one) => one.runForValues(text, values)),
    // only its own limits end it
    runScript: (text) => read(() => pool.use((connection) => runsOf(connection).runScript(text), isBroken)),
  }
  const run: Run = (text, values) => runs().run(text, values)
  const inTransaction = (): Transaction => {
    const transaction = open.getStore()
    if (transaction === undefined) throw new Error('This needs a transaction')
    return transaction
  }
  const send: Send = (text, values) => inTransaction().send(text, values)

  const begin = <Result>(mode: string, work: () => Promise<Result>, flush = NOTHING): Promise<Result> => {
    const beginOn = async (connection: Client): Promise<Result> => {
      const runs = runsOf(connection)
      if (arePlansOld(connection)) await runs.run('DISCARD PLANS', [])
      return await runTransaction(runs, prepares ? `BEGIN ${mode}` : [`BEGIN ${mode}`, ...setLimits])
    }
    const runTransaction = async (here: Runs, beginning: string | string[]): Promise<Result> => {
      const transaction = openTransaction(here, { beginning, flush, ...deadlines })
      try {
        const result = await open.run(transaction.runs, work)
        await transaction.commit()
        return result
      } catch (error) {
        if (!(error instanceof UnknownCommit)) await transaction.rollback(error)
        throw error
      }
    }
    return pool.use(beginOn, isBroken)
  }

  const sql: Sql = {
    dialect: POSTGRES,
    prepare: (text) => prepare(run, text),
    orm: createOrm((text, values) => runs().runForValues(text, values)),
    readTogether: (work) => read(() => begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', work).catch(throwLost)),
  }
  return {
    sql,
    run,
    send,
    /** A value of the open transaction: work that goes on after its transaction failed doesn't reach the next one's. */
    perTransaction<Value>(create: () => Value): () => Value {
      const values = new WeakMap<Transaction, Value>()
      return () => {
        const transaction = inTransaction()
        const value = values.get(transaction) ?? create()
        values.set(transaction, value)
        return value
      }
    },
    /** Several statements, without values, such as a migration: only the server's limits end them. */
    runScript: (text: string): Promise<void> => runs().runScript(text),
    /**
     * What `work` writes is stored as a whole. Locks decide what waits for what. `flush` sends what waits to be written;
     * it is called before each other statement and before the commit.
     */
    transaction: <Result>(work: () => Promise<Result>, flush?: () => void): Promise<Result> =>
      begin('ISOLATION LEVEL READ COMMITTED', work, flush),
    listen: (silence: Silence) => pool.listen(silence, (connection) => runsOf(connection).run('SELECT 1', [])),
    close: pool.close,
  }
}

const NOTHING = (): void => {}

/** What only reads has nothing to confirm. */
const throwLost = (error: unknown): never => {
  throw error instanceof UnknownCommit ? error.cause : error
}

type Opening = Pick<Deadlines, 'answerMs' | 'commitMs'> & { beginning: string | string[]; flush: () => void }

/** Statements are sent without awaiting those before, because a connection runs them in order. */
function openTransaction(here: Runs, { beginning, flush, answerMs, commitMs }: Opening) {
  const failures: Error[] = []
  let isOver = false
  const noteFailure = (error: unknown): void =>
    void failures.push(error instanceof Error ? error : new Error(String(error)))
  const note = (answer: Promise<unknown>): Promise<unknown> => answer.catch(noteFailure)
  const begun = typeof beginning === 'string' ? here.run(beginning, []) : here.runScript(beginning.join('; '), answerMs)
  void note(begun)
  const afterBegin = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    void note(answer)
    await begun
    try {
      return await answer
    } catch (error) {
      // what was sent before it is the reason
      throw isAborted(error) ? (failures[0] ?? error) : error
    }
  }
  /** Otherwise a part of the work that another part's failure left behind would write without a transaction. */
  const refuseLate = (): void => {
    if (isOver) throw new Error('The transaction of this statement is over')
  }
  const flushed = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    refuseLate()
    flush()
    return await afterBegin(ask())
  }
  const runs: Transaction = {
    run: (text, values) => flushed(() => here.run(text, values)),
    runForValues: (text, values) => flushed(() => here.runForValues(text, values)),
    runScript: (text) => flushed(() => here.runScript(text)),
    send(text, values) {
      refuseLate()
      void note(here.run(text, values))
    },
  }
  return {
    runs,
    async commit(): Promise<void> {
      isOver = true
      const answer = await inTime(here.run('COMMIT', []), commitMs).catch(noteFailure)
      // what the server refused before, or the commit itself
      const refused = failures.find((reason) => !isLostConnection(reason) || isEndedAlone(reason))
      if (refused !== undefined) throw refused
      if (failures.length > 0) throw new UnknownCommit('PostgreSQL did not confirm a commit', { cause: failures[0] })
      if (answer?.command === 'ROLLBACK') throw new Error('PostgreSQL rolled a transaction back')
    },
    /** A connection that was lost is closed instead. */
    async rollback(error: unknown): Promise<void> {
      isOver = true
      if (!isLostConnection(error)) await here.run('ROLLBACK', [])
    },
  }
}

const mapValues = <Value, Result>(from: Record<string, Value>, map: (value: Value) => Result): Record<string, Result> =>
  Object.fromEntries(Object.entries(from).map(([name, value]) => [name, map(value)]))

/** Of what only the server's own limits end (ms). */
const NEVER = 0

/** What `unsafe` sends without values waits for all answers before it. */
function templateOf(text: string): TemplateStringsArray {
  const template = Object.defineProperty([text], 'raw', { value: [text] })
  return template as unknown as TemplateStringsArray
}

/** `hear`: the server answered, be it with an error. */
function createRuns({ answerMs }: Deadlines, queries: ReservedSQL, hear: () => void): Runs {
  const answered = async <Answer>(answer: Promise<Answer>, ms = answerMs): Promise<Answer> => {
    try {
      const given = await (ms === NEVER ? answer : inTime(answer, ms))
      hear()
      return given
    } catch (error) {
      if (!isLostConnection(error)) hear()
      throw error
    }
  }
  return {
    runScript: async (text, ms = NEVER) => void (await answered(queries.unsafe(text).simple(), ms)),
    run: async (text, values) => {
      const query = values.length === 0 ? queries(templateOf(text)) : queries.unsafe(text, values.map(toStorable))
      const rows = (await answered(query)) as Rows
      for (const row of rows) for (const name in row) row[name] = toStored(row[name])
      return rows
    },
    runForValues: async (text, values) => {
      const rows = (await answered(queries.unsafe(text, values.map(toStorable)).values())) as unknown[][]
      return rows.map((row) => row.map(toStored))
    },
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
