/**
 * This instance among those that use the database: its number in ids, its turns at what one does at a time, and whether what
 * it caches is still true. Leases end by the database's clock.
 */
import { hostname } from 'node:os'
import { compareClock, isTooFar } from '../../core/clock-difference.ts'
import { createSharedCall, createTurns } from '../../core/in-order.ts'
import { createIdSequence, idAt, type IdSequence, LAST_INSTANCE, timeOfId } from '../../core/ids.ts'
import { UNSURE, USES_DEDUPE_KEY } from '../delivery-states.ts'
import { StoreError } from '../engine/errors.ts'
import { POSTGRES } from '../engine/sql.ts'
import type { Instances } from '../instances.ts'
import type { Postgres, Run } from './connection.ts'
import { partOf } from './counter-parts.ts'
import { IdsUsedUp, isPassingFault } from './faults.ts'
import { refuseNewer } from './migrations.ts'

const PLACE = `${hostname()}, process ${process.pid}`
const NUMBER_LEASE_MS = 30_000
const RENEW_MS = 5_000
const DUTY_LEASE_MS = 15_000
const LOOK_MS = 500
/** A slower answer says too little about the clock. */
const SLOW_LOOK_MS = 1_000
/** What is cached counts for so long after the last answer. */
const CURRENT_MS = 1_500

const idsOf = (ms: number): number => idAt(timeOfId(0) + ms)
/** How far ids are reserved, and how many of them must be left for a commit group. */
const RESERVED_IDS = idsOf(60_000)
const LEFT_IDS = idsOf(10_000)

/** ms UTC */
export const DATABASE_NOW = 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)'

/**
 * Of a row with `held_until`: the lease was given by a database server whose clock was ahead. The limit is at least twice
 * the lease, so that no lease ends when a clock is set back a little.
 */
const isAhead = (leases: number, leaseMs: number): string => `held_until > ${DATABASE_NOW} + ${leases * leaseMs}`
const hasEnded = (leaseMs: number, leases = 2): string =>
  `(held_until <= ${DATABASE_NOW} OR ${isAhead(leases, leaseMs)})`
/** Of a row of `instances`. */
export const IS_AHEAD = isAhead(2, NUMBER_LEASE_MS)
export const HAS_ENDED = hasEnded(NUMBER_LEASE_MS)
/** For claims, which are taken from an instance only if it stopped. Leases are renewed seconds apart, so the limit is higher. */
export const HAS_SURELY_ENDED = hasEnded(NUMBER_LEASE_MS, 3)
const IS_DUTY_FREE = hasEnded(DUTY_LEASE_MS)

/** The server's own, whatever a test puts in its place. */
const SERVER_NOW = 'CAST(floor(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)'

/** For a number that nobody had: rows that were moved here. */
const LAST_ID = `(SELECT max(id) FROM (SELECT max(id) AS id FROM events UNION ALL SELECT max(id) FROM contacts
  UNION ALL SELECT max(id) FROM snippet_batches UNION ALL SELECT max(id) FROM deliveries
  UNION ALL SELECT max(id) FROM messages UNION ALL SELECT max(id) FROM topics) AS last)`

/** The number that was given back longest ago, because the clocks of its holders may differ. */
const TAKE = `UPDATE instances SET holder = $1, held_since = ${DATABASE_NOW}, held_until = ${DATABASE_NOW} + ${NUMBER_LEASE_MS},
    place = $3, clock_ahead = 0, ids_until = ${RESERVED_IDS} + greatest($2::bigint, ids_until, CASE WHEN ids_until = 0 THEN ${LAST_ID} END)
  WHERE number = (SELECT number FROM instances WHERE ${HAS_ENDED}
    ORDER BY ids_until, number LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING number, ids_until AS "idsUntil"`

const RENEW = `UPDATE instances SET held_until = ${DATABASE_NOW} + ${NUMBER_LEASE_MS}, ids_until = greatest(ids_until, $3::bigint),
    clock_ahead = $4::bigint, held_since = CASE WHEN ${HAS_ENDED} THEN ${DATABASE_NOW} ELSE held_since END
  WHERE number = $1 AND holder = $2 RETURNING ids_until AS "idsUntil"`

const LEAVE = `UPDATE instances SET holder = '', held_until = 0, ids_until = $3::bigint WHERE number = $1 AND holder = $2`

const TAKE_DUTY = `UPDATE duties SET holder = $1, held_until = ${DATABASE_NOW} + ${DUTY_LEASE_MS},
    epoch = CASE WHEN holder = $1 AND NOT ${IS_DUTY_FREE} THEN epoch ELSE epoch + 1 END
  WHERE name = 'maintenance' AND (holder = $1 OR ${IS_DUTY_FREE}) RETURNING epoch`

const LEAVE_DUTY = `UPDATE duties SET held_until = 0 WHERE holder = $1`

const LIST_RUNNING = `SELECT held_since AS since, holder = $1 AS "isThis", clock_ahead AS "clockAheadMs", place,
    greatest(0, ${DATABASE_NOW} + ${NUMBER_LEASE_MS} - held_until) AS "silentMs" FROM instances WHERE NOT ${HAS_ENDED}
  ORDER BY held_since, number`

const LIST_OTHERS = `SELECT holder, held_until AS "until", clock_ahead AS "aheadMs" FROM instances
  WHERE NOT ${HAS_ENDED} AND holder <> $1`

/** Another one after a failover, when the last moments may be lost. */
const LIFE = 'CAST(extract(epoch FROM pg_postmaster_start_time()) AS text)'
const VERSIONS = `(SELECT version FROM schema_version) AS schema,
  (SELECT concat(version, ' ', stamp, ' ', ${LIFE}) FROM settings_version) AS settings`

/** The order lets PostgreSQL take the first row of an index. With EXISTS, it reads the whole table for an app without rows. */
const hasRow = (table: string, { order, and = 'true' }: { order: string; and?: string }): string =>
  `(SELECT 1 FROM ${table} WHERE app_id = apps.value AND ${and} ORDER BY ${order} LIMIT 1) IS NOT NULL`

/** A default by which a crash or a failover loses what was answered. It counts at the commit. */
const COMMIT_SAFELY = `CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
  THEN set_config('synchronous_commit', 'on', true) END`

/** For transactions that don't look around. */
export const commitSafely =
  ({ send, transaction }: Pick<Postgres, 'send' | 'transaction'>) =>
  <Result>(work: () => Promise<Result>): Promise<Result> =>
    transaction(() => {
      send(`SELECT ${COMMIT_SAFELY}`, [])
      return work()
    })

/** `$2`: the apps. */
const LOOK = `SELECT set_config('eventpost.part', $1, true), ${COMMIT_SAFELY}, ${VERSIONS}, apps.value AS app,
    ${hasRow('deliveries', { order: 'contact_id', and: USES_DEDUPE_KEY })} AS "hasDeliveries",
    ${hasRow('deliveries', { order: 'contact_id', and: `reason = '${UNSURE}' AND state = 'deferred'` })} AS "hasUnsure",
    ${hasRow('suppressions', { order: 'email_hash' })} AS "hasSuppressions"
  FROM (SELECT 1) AS always LEFT JOIN ${POSTGRES.numbersOf('$2', 'apps')} ON true`
const LOCK_SETTINGS = 'SELECT 1 FROM settings_version FOR UPDATE'

/** What an app has, which decides what is read of its people. `hasUnsure`: emails that wait to know whether somebody left. */
export type AppLook = { app: number; hasDeliveries: boolean; hasUnsure: boolean; hasSuppressions: boolean }
/** `version`: of the settings. While it stays the same, no stored row was lost either. */
export type GroupLook = { version: string; apps: AppLook[] }

type LookOptions = { lane: number; appIds: readonly number[]; locks: boolean }
/** `wallNow`: this machine's clock (ms UTC), also in tests. */
type Given = { run: Run; now: () => number; monotonicMs?: () => number; wallNow?: () => number }
type Held = { number: number; ids: IdSequence; lastId: number; until: number; isLost: boolean }

export type Instance = Awaited<ReturnType<typeof joinInstances>>

/** @throws StoreError if too many run */
export async function joinInstances({ run, now, monotonicMs = () => performance.now(), wallNow = Date.now }: Given) {
  const holder = crypto.randomUUID()
  let aheadMs = 0
  let differsFromOther = false
  /** The others whose clocks differ from this one's, with their leases when that was found. */
  let differing = new Map<unknown, number>()
  const isClockOff = (): boolean => differsFromOther && isTooFar(aheadMs)

  const takeNumber = async (): Promise<Held> => {
    const [row] = await run(TAKE, [holder, idAt(now()) - 1, PLACE])
    if (!row) throw tooMany()
    const { number, idsUntil } = row as { number: number; idsUntil: number }
    const after = idsUntil - RESERVED_IDS
    return { number, ids: createIdSequence(now, after, number), lastId: after, until: idsUntil, isLost: false }
  }
  let held = await takeNumber()

  const renew = createSharedCall(async (): Promise<void> => {
    const one = held
    const reserved = Math.max(idAt(now()), one.lastId) + RESERVED_IDS
    const [row] = await run(RENEW, [one.number, holder, reserved, aheadMs])
    if (row) one.until = Number(row.idsUntil)
    else one.isLost = true
    await compareWithOthers()
  })

  /**
   * If all differ from the database alike, its clock is wrong. Another one counts once it has renewed its lease since:
   * until then, it may have died, or not know yet that the database's clock jumped.
   */
  const compareWithOthers = async (): Promise<void> => {
    const others = isTooFar(aheadMs) ? await run(LIST_OTHERS, [holder]) : []
    const found = others
      .filter((other) => isTooFar(aheadMs - Number(other.aheadMs)))
      .map((other) => [other.holder, Number(other.until)] as const)
    differsFromOther = found.some(([other, until]) => (differing.get(other) ?? until) !== until)
    differing = new Map(found.map(([other, until]) => [other, differing.get(other) ?? until]))
  }

  /** Ids that were not reserved may be those of another instance. */
  const noteId = (id: number): number => {
    held.lastId = Math.max(held.lastId, id)
    if (id > held.until) throw new IdsUsedUp('The ids that this instance has reserved are used up')
    return id
  }
  const isShort = ({ lastId, until }: Held): boolean => until - Math.max(idAt(now()), lastId) < LEFT_IDS

  const prepareIds = async (): Promise<void> => {
    if (!held.isLost && isShort(held)) await renew()
    if (held.isLost) held = await takeNumber()
  }

  /** With the wrong time, it leaves them to others. */
  const takeDuty = async (by: Run): Promise<number | null> => {
    if (isClockOff()) return null
    const [row] = await by(TAKE_DUTY, [holder])
    return row ? Number(row.epoch) : null
  }

  let lastEpoch: number | null = null

  const listeners: (() => void)[] = []
  let [version, confirmedMs, isLooking] = ['', Number.NEGATIVE_INFINITY, false]
  /** Of the settings. @throws StoreError if a newer executable has changed the schema meanwhile */
  const toVersion = ([row]: Awaited<ReturnType<Run>>): Pick<GroupLook, 'version'> => {
    refuseNewer(Number(row?.schema))
    return { version: String(row?.settings) }
  }
  /**
   * Of a group of writes, which stores its counts in a part of its own, so that it waits for no other. `locks`: nobody else
   * changes the settings until its end.
   */
  const lookAround = async (by: Run, { lane, appIds, locks }: LookOptions): Promise<GroupLook> => {
    const part = String(partOf({ number: held.number, lane }))
    if (locks) await by(LOCK_SETTINGS, [])
    const rows = await by(LOOK, [part, JSON.stringify(appIds)])
    return { ...toVersion(rows), apps: rows.filter(({ app }) => app !== null).map(toAppLook) }
  }
  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    const [askedMs, before] = [monotonicMs(), wallNow()]
    try {
      const rows = await run(`SELECT ${VERSIONS}, ${SERVER_NOW} AS now`, [])
      if (monotonicMs() - askedMs <= SLOW_LOOK_MS)
        aheadMs = compareClock(Number(rows[0]?.now), { before, after: wallNow() })
      const found = toVersion(rows)
      if (found.version !== version) for (const listener of listeners) listener()
      version = found.version
      confirmedMs = askedMs
    } finally {
      isLooking = false
    }
  }
  const timers: ReturnType<typeof setInterval>[] = []
  const every = (ms: number, work: () => Promise<void>): void => {
    // without an answer, what is cached and reserved runs out
    const timer = setInterval(() => void work().catch(() => {}), ms)
    timer.unref()
    timers.push(timer)
  }

  const instances: Instances = {
    instanceId: holder,
    isShared: true,
    isCurrent: () => monotonicMs() - confirmedMs < CURRENT_MS,
    holdDuty: createSharedCall(async () => {
      try {
        return (lastEpoch = await takeDuty(run))
      } catch (error) {
        // somebody must say that the database is gone; what is written has its own check
        if (isPassingFault(error)) return lastEpoch
        throw error
      }
    }),
    async listRunning() {
      const rows = await run(LIST_RUNNING, [holder])
      return rows.map(({ since, isThis, clockAheadMs, place, silentMs }) => ({
        since: Number(since),
        isThis: isThis === 1,
        clockAheadMs: Number(clockAheadMs),
        place: String(place),
        silentMs: Number(silentMs),
      }))
    },
    clockAheadMs: () => aheadMs,
    isClockOff,
  }
  return {
    ...instances,
    ids: {
      next: () => noteId(held.ids.next()),
      passOver(id) {
        held.ids.passOver(noteId(id))
      },
    } satisfies IdSequence,
    /** Before a commit group. */
    prepareIds: createTurns<void, void>(prepareIds),
    renew,
    look,
    lookAround,
    /** @throws StoreError if a newer executable has changed the schema */
    checkSchema: async (): Promise<void> => void toVersion(await run(`SELECT ${VERSIONS}`, [])),
    /** In a transaction: until its end, no other instance takes over. */
    takeDuty,
    onForeignWrite: (listener: () => void): void => void listeners.push(listener),
    start(): void {
      every(RENEW_MS, () =>
        look()
          .catch(() => {})
          .then(renew),
      )
      every(LOOK_MS, look)
    },
    async leave(): Promise<void> {
      timers.forEach(clearInterval)
      await run(LEAVE_DUTY, [holder])
      await run(LEAVE, [held.number, holder, held.lastId])
    },
  }
}

const toAppLook = (row: Record<string, unknown>): AppLook => ({
  app: Number(row.app),
  hasDeliveries: row.hasDeliveries === 1,
  hasUnsure: row.hasUnsure === 1,
  hasSuppressions: row.hasSuppressions === 1,
})

const tooMany = (): StoreError =>
  new StoreError(
    'too_many_instances',
    `${LAST_INSTANCE + 1} instances already use this database, which is the maximum. Stop one of them. An instance that was killed counts for another ${NUMBER_LEASE_MS / 1000} seconds.`,
  )
