/** The request log. Times are ms UTC. */
import type { Sql } from './engine/sql.ts'
import { DAY_MS } from '../core/clock.ts'
import { createInsert } from './engine/insert-rows.ts'
import { mapInOrder } from '../core/in-order.ts'
import { MOST_COUNTED } from '../core/count.ts'
import { type RetentionRules, selectKeptMs } from './retention.ts'

/** Each pool has its own limit, so that calls without a key never push out those of keys. */
export const REQUEST_POOLS = { refused: 0, unkeyed: 1, accepted: 2 } as const
export type RequestPool = keyof typeof REQUEST_POOLS

/** Account of calls that belong to none. */
export const NO_ACCOUNT = ''
/** App of calls that name none. */
export const NO_APP = 0

/** `caller`: a key ID, or what came without one. `count`: identical refusals of one moment. */
export type NewRequest = {
  pool: RequestPool
  accountId: string
  appId: number | null
  caller: string
  at: number
  method: string
  path: string
  tool: string | null
  status: number
  code: string | null
  field: string | null
  requestId: string
  count: number
}

export type RequestRow = Omit<NewRequest, 'pool'> & { id: number }

/** Null: any. `appIds`: one or two, of which one may be NO_APP. */
export type RequestFilter = {
  kind: 'refused' | 'accepted' | 'all'
  status: number | null
  code: string | null
  field: string | null
  caller: string | null
  appIds: readonly [number, number?] | null
  since: number | null
  until: number | null
}

/** `accountIds`: those whose calls are shown, which may include NO_ACCOUNT. Pages are ids between `after` and `before`. */
export type RequestQuery = RequestFilter & {
  accountIds: readonly string[]
  before: number | null
  after: number
  limit: number
}

/** Refusals of the app, and those that name none. */
export type RefusalQuery = { accountIds: readonly string[]; appId: number; since: number }

/** Refusals with the same code, field and app. */
export type RefusalGroup = Pick<NewRequest, 'status' | 'field' | 'appId'> & {
  code: string
  count: number
  lastAt: number
  lastId: number
}

/** A revoked key whose calls are refused. */
export type RevokedUse = { keyId: string; name: string; count: number }

/** `isCut`: there are more than MOST_COUNTED rows, and the groups are of the newest. */
export type Refusals = { groups: RefusalGroup[]; isCut: boolean }

const COLUMNS = `id, account_id AS "accountId", app_id AS "appId", caller, received_at AS at, method, path, tool, status, code, field,
  request_id AS "requestId", count`

type Values = [
  account: string,
  before: number,
  after: number,
  status: number | null,
  code: string | null,
  field: string | null,
  caller: string | null,
  app: number | null,
  otherApp: number | null,
  since: number,
  until: number,
  limit: number,
]

const where = (isRefused: boolean): string =>
  `account_id = ?1 AND id > ?3 AND id < ?2 AND code IS ${isRefused ? 'NOT NULL' : 'NULL'}
   AND (CAST(?4 AS bigint) IS NULL OR status = ?4) AND (CAST(?5 AS text) IS NULL OR code = ?5)
   AND (CAST(?6 AS text) IS NULL OR field = ?6) AND (CAST(?7 AS text) IS NULL OR caller = ?7)
   AND (CAST(?8 AS bigint) IS NULL OR coalesce(app_id, ${NO_APP}) IN (?8, ?9))
   AND received_at >= ?10 AND received_at < ?11 ORDER BY id DESC LIMIT ?12`

const valuesOf = (query: RequestQuery, account: string): Values => [
  account,
  query.before ?? Number.MAX_SAFE_INTEGER,
  query.after,
  query.status,
  query.code,
  query.field,
  query.caller,
  query.appIds?.[0] ?? null,
  query.appIds?.[1] ?? null,
  query.since ?? 0,
  query.until ?? Number.MAX_SAFE_INTEGER,
  query.limit,
]

export function createRequestReads(db: Sql) {
  const prepare = <Row>(sql: (isRefused: boolean) => string) => ({
    refused: db.prepare<Row, Values>(sql(true)),
    accepted: db.prepare<Row, Values>(sql(false)),
  })
  const list = prepare<RequestRow>((isRefused) => `SELECT ${COLUMNS} FROM requests WHERE ${where(isRefused)}`)
  const count = prepare<{ rows: number; count: number }>(
    (isRefused) =>
      `SELECT count(*) AS rows, CAST(coalesce(sum(count), 0) AS bigint) AS count FROM (SELECT count FROM requests WHERE ${where(isRefused)}) AS counted`,
  )
  const byRequestId = db.prepare<RequestRow, [string, string]>(
    `SELECT ${COLUMNS} FROM requests WHERE request_id = ? AND account_id = ? ORDER BY id`,
  )
  const refusals = db.prepare<RefusalGroup & { rows: number }, [string, number, number, number]>(
    `SELECT code, field, app_id AS "appId", status, CAST(sum(count) AS bigint) AS count, max(received_at) AS "lastAt", max(id) AS "lastId",
       count(*) AS rows FROM
       (SELECT id, code, field, app_id, status, received_at, count FROM requests WHERE account_id = ? AND code IS NOT NULL
         AND (app_id = ? OR app_id IS NULL) AND received_at >= ? ORDER BY id DESC LIMIT ?) AS refused
     GROUP BY code, field, app_id, status ORDER BY "lastId" DESC`,
  )
  const revoked = db.prepare<RevokedUse, [string, number, number]>(
    `SELECT api_keys.id AS "keyId", name, CAST(sum(count) AS bigint) AS count FROM
       (SELECT caller, code, count FROM requests WHERE account_id = ?1 AND code IS NOT NULL AND received_at >= ?2
         ORDER BY id DESC LIMIT ?3) AS refused
     JOIN api_keys ON api_keys.id = caller AND revoked_at IS NOT NULL
     WHERE code = 'invalid_api_key' GROUP BY api_keys.id ORDER BY 3 DESC`,
  )
  const kindsOf = ({ kind, code, field }: RequestFilter): ('refused' | 'accepted')[] => {
    // accepted ones have no code and no field
    if (code !== null || field !== null) return kind === 'accepted' ? [] : ['refused']
    return kind === 'all' ? ['refused', 'accepted'] : [kind]
  }
  const eachPart = async <T>(
    query: RequestQuery,
    read: (kind: 'refused' | 'accepted', values: Values) => Promise<T>,
  ): Promise<T[]> => {
    const parts = query.accountIds.flatMap((account) => kindsOf(query).map((kind) => ({ kind, account })))
    return mapInOrder(parts, ({ kind, account }) => read(kind, valuesOf(query, account)))
  }

  return {
    /** Newest first. */
    listRequests: async (query: RequestQuery): Promise<RequestRow[]> =>
      (await eachPart(query, async (kind, values) => await list[kind].all(...values)))
        .flat()
        .toSorted((a, b) => b.id - a.id)
        .slice(0, query.limit),

    /** Identical refusals count each. Null if more rows match than are counted. */
    async countRequests(query: RequestQuery): Promise<number | null> {
      const parts = await eachPart(
        { ...query, limit: MOST_COUNTED + 1 },
        async (kind, values) => await count[kind].get(...values),
      )
      const rows = parts.reduce((sum, part) => sum + (part?.rows ?? 0), 0)
      return rows > MOST_COUNTED ? null : parts.reduce((sum, part) => sum + (part?.count ?? 0), 0)
    },

    /** Several for a batch whose events were refused for different reasons. */
    findRequests: async (accountIds: readonly string[], requestId: string): Promise<RequestRow[]> =>
      (await mapInOrder(accountIds, (accountId) => byRequestId.all(requestId, accountId))).flat(),

    /** The one with most calls first. */
    listRevokedUses: async (accountId: string, since: number): Promise<RevokedUse[]> =>
      await revoked.all(accountId, since, MOST_COUNTED),

    /** The last of each group first. */
    async summarizeRefusals({ accountIds, appId, since }: RefusalQuery): Promise<Refusals> {
      const found = (
        await mapInOrder(accountIds, (accountId) => refusals.all(accountId, appId, since, MOST_COUNTED + 1))
      ).flat()
      const isCut = found.reduce((sum, { rows }) => sum + rows, 0) > MOST_COUNTED
      const groups = found.map(({ rows: _, ...group }) => group)
      return { groups: groups.toSorted((a, b) => b.lastId - a.lastId), isCut }
    },
  }
}

export type RequestRules = { mostRequests: Readonly<Record<RequestPool, number>> }

type Caller = { pool: number; accountId: string; caller: string }

export function createRequestWrites(db: Sql, { mostRequests }: RequestRules) {
  const insert = createInsert(db, 'requests', {
    pool: 'bigint',
    account_id: 'text',
    app_id: 'bigint',
    caller: 'text',
    received_at: 'bigint',
    method: 'text',
    path: 'text',
    tool: 'text',
    status: 'bigint',
    code: 'text',
    field: 'text',
    request_id: 'text',
    count: 'bigint',
  })
  const total = db.prepare<{ rows: number }, [number]>(
    'SELECT CAST(coalesce(sum(rows), 0) AS bigint) AS rows FROM request_callers WHERE pool = ?',
  )
  const mostRows = (columns: string): string =>
    `SELECT ${columns} FROM request_callers WHERE pool = ? ORDER BY rows DESC LIMIT 1`
  const columns = 'pool, account_id AS "accountId", caller, rows'
  // while another instance counts the caller's requests, the log is cut with one of the next requests
  const largest = db.prepare<Caller & { rows: number }, [number]>(
    db.dialect.engine === 'postgres'
      ? `SELECT ${columns} FROM request_callers
         WHERE (pool, account_id, caller) IN (${mostRows('pool, account_id, caller')}) FOR UPDATE SKIP LOCKED`
      : mostRows(columns),
  )
  const removeOldest = db.prepare(
    `DELETE FROM requests WHERE id IN
       (SELECT id FROM requests WHERE pool = ? AND account_id = ? AND caller = ? ORDER BY id LIMIT ?${db.dialect.skipLocked})`,
  )
  const counting = createCallerCounts(db)

  /** Removes the oldest of the caller with the most, so that one caller doesn't push out others: each instance what it added. */
  const trim = async (pool: RequestPool): Promise<void> => {
    let excess = ((await total.get(REQUEST_POOLS[pool]))?.rows ?? 0) - mostRequests[pool]
    while (excess > 0) {
      const most = await largest.get(REQUEST_POOLS[pool])
      if (!most) return
      const { changes } = await removeOldest.run(most.pool, most.accountId, most.caller, Math.min(excess, most.rows))
      // another instance is removing the rest
      if (changes === 0) return
      await counting.add([most], -changes)
      excess -= changes
    }
  }

  return {
    async addRequests(requests: NewRequest[]): Promise<{ done: true }> {
      await insert(
        requests.map(({ pool, accountId, appId, at, requestId, ...row }) => ({
          ...row,
          pool: REQUEST_POOLS[pool],
          account_id: accountId,
          app_id: appId,
          received_at: at,
          request_id: requestId,
        })),
      )
      await counting.add(
        requests.map((one) => ({ ...one, pool: REQUEST_POOLS[one.pool] })),
        1,
      )
      for (const pool of new Set(requests.map((one) => one.pool))) await trim(pool)
      return { done: true }
    },
  }
}

function createCallerCounts(db: Sql) {
  const count = db.prepare(
    `INSERT INTO request_callers (pool, account_id, caller, rows) VALUES (?, ?, ?, ?)
     ON CONFLICT (pool, account_id, caller) DO UPDATE SET rows = request_callers.rows + excluded.rows`,
  )
  const forget = db.prepare(
    'DELETE FROM request_callers WHERE pool = ? AND account_id = ? AND caller = ? AND rows <= 0',
  )
  return {
    /** `rows` for each. In the order of their keys, so that instances don't wait for each other in a circle. */
    async add(callers: readonly Caller[], rows: number): Promise<void> {
      const byKey = Map.groupBy(callers, ({ pool, accountId, caller }) => `${pool} ${accountId} ${caller}`)
      for (const [, same] of [...byKey].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
        const [{ pool, accountId, caller }] = same as [Caller]
        await count.run(pool, accountId, caller, rows * same.length)
        if (rows < 0) await forget.run(pool, accountId, caller)
      }
    },
  }
}

/** Rows scanned per commit, so that no request waits long. */
const SCANNED_PER_RUN = 2_000

type UpkeepRules = Pick<RetentionRules, 'defaultRequestDays'>

/**
 * Removes requests that are older than their app keeps them, up to `limit`; those of no app by the default. Goes through
 * the log in order of arrival, as far as the fewest days reach, and then starts again.
 * @returns how many
 */
export function createRequestUpkeep(db: Sql, { defaultRequestDays }: UpkeepRules, limit: number) {
  const fewestDays = db.prepare<{ days: number }, []>(
    `SELECT ${db.dialect.least(String(defaultRequestDays), `coalesce(min(request_days), ${defaultRequestDays})`)} AS days FROM app_retention`,
  )
  const scan = db.prepare<{ last: number | null; old: number }, [number, number]>(
    `SELECT max(id) AS last, count(*) FILTER (WHERE received_at <= ?2) AS old FROM
       (SELECT id, received_at FROM requests WHERE id > ?1 ORDER BY id LIMIT ${SCANNED_PER_RUN}) AS scanned`,
  )
  const remove = db.prepare<Caller, [number, number, number]>(
    `DELETE FROM requests WHERE id IN
       (SELECT id FROM requests WHERE id > ? AND id <= ?
          AND received_at <= ? - ${selectKeptMs('requests.app_id', 'request_days', defaultRequestDays)} LIMIT ${limit})
     RETURNING pool, account_id AS "accountId", caller`,
  )
  const counting = createCallerCounts(db)
  let scannedUntil = 0
  return async (at: number): Promise<number> => {
    const { last, old } =
      (await scan.get(scannedUntil, at - ((await fewestDays.get())?.days ?? defaultRequestDays) * DAY_MS)) ?? {}
    const removed = !last || !old ? [] : await remove.all(scannedUntil, last, at)
    await counting.add(removed, -1)
    if (removed.length < limit) scannedUntil = last && old ? last : 0
    return removed.length
  }
}
