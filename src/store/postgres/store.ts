import type { ReadEvent } from '../event-texts.ts'
import { createSharedCall } from '../../core/in-order.ts'
import { createSealer } from '../engine/sealing.ts'
import { reportBrokenJob } from '../engine/engine.ts'
import { StoreError } from '../engine/errors.ts'
import { createInstallWrites } from '../install.ts'
import { createSecrets } from '../engine/sealed-columns.ts'
import { describeLocation, type PostgresLocation } from '../../core/data-location.ts'
import { MARK, readMark, refuseMarked } from '../move/mark.ts'
import type { Rules } from '../plan-types.ts'
import { assembleStore, type Store } from '../store.ts'
import type { Outcome } from '../writes.ts'
import { connectPostgres, DEADLINES, type Deadlines, type Postgres } from './connection.ts'
import { createPostgresEngine, GROUPS_IN_FLIGHT } from './engine.ts'
import { describeFault, isPassingFault } from './faults.ts'
import { BEAT_DEADLINES, startHeartbeat } from './heartbeat.ts'
import { commitSafely, type Instance, joinInstances } from './instance.ts'
import { watchProgress } from './lanes.ts'
import { isEmpty, migrate, POSTGRES_VERSION } from './migrations.ts'
import { arrangePartitions, makeMonths } from './partitions.ts'
import { keepAnalyzed } from './statistics.ts'
import { findServerFault, listServerRisks, readServerFacts, unreachable } from './server-facts.ts'

type OpenOptions = {
  now?: () => number
  readEvent?: ReadEvent
  rules: Rules
  masterKey?: string | null
  /** false: a database without our tables is refused */
  mayCreate?: boolean
  onCreate?: () => void
  deadlines?: Deadlines
}

/** Of their own, so that no write waits for slow reads: groups in flight, and what is noted about requests. */
const WRITE_CONNECTIONS = GROUPS_IN_FLIGHT + 1
/** Of their own, so that no lease waits for a busy pool: one each for the number, duties, what changed and `touch`. */
const LEASE_CONNECTIONS = 4

/** @throws StoreError with the reason and the remedy */
export async function openPostgresStore(location: PostgresLocation, options: OpenOptions): Promise<Store> {
  const { now = Date.now, readEvent, rules, masterKey = null, mayCreate = true, onCreate = () => {} } = options
  const postgres = connectPostgres(location, options.deadlines)
  const writing = connectPostgres({ ...location, connections: WRITE_CONNECTIONS }, options.deadlines)
  const leases = connectPostgres({ ...location, connections: LEASE_CONNECTIONS }, options.deadlines)
  const heart = connectPostgres({ ...location, connections: 1 }, { ...DEADLINES, ...BEAT_DEADLINES })
  const sealer = createSealer(masterKey)
  const disconnect = async (): Promise<void> => {
    await Promise.all([postgres, writing, leases, heart].map((one) => one.close()))
  }
  const join = async () => {
    try {
      await refuseMoved(postgres, location)
      const fault = findServerFault(await readServerFacts(postgres), location)
      if (fault !== null) throw new StoreError('unreachable', `${describeLocation(location)} can't be used: ${fault}`)
      const isNew = await isEmpty(postgres)
      if (isNew && !mayCreate) throw new StoreError('missing', describeMissing(location))
      await migrate(postgres)
      await makeMonths(postgres, now())
      await createSecrets(postgres.sql, commitSafely(postgres)).seal(sealer)
      if (isNew) onCreate()
      const joined = await joinInstances({ run: leases.run, now })
      await joined.look()
      return joined
    } catch (error) {
      await disconnect()
      throw error instanceof StoreError ? error : unreachable(error, location)
    }
  }
  const instance = await join()
  instance.start()
  const beat = () => heart.run('SELECT 1', [])
  const stopHeartbeat = startHeartbeat({ beat, listenTo: [postgres.listen, writing.listen, leases.listen] })
  const stopAnalyzing = keepAnalyzed(postgres)
  const sizes = createSizes(postgres)
  const channel = createPostgresEngine(writing, { instance, sealer, readEvent, rules })
  const { commit, isStuck } = watchProgress(channel.commit)
  const close = async (): Promise<void> => {
    stopHeartbeat()
    stopAnalyzing()
    // its leases end by themselves, too
    await instance.leave().catch(() => {})
    await disconnect()
  }
  return assembleStore(
    { ...channel, commit, touch: createTouch(leases, { checkSchema: instance.checkSchema, isStuck }), close },
    {
      instances: instance,
      sql: postgres.sql,
      sealer,
      rules,
      close: () => {},
      sizes,
      removeOldCopies: async () => [],
      arrangePartitions: (at) => arrangePartitions(postgres, at),
      schemaVersion: POSTGRES_VERSION,
      listRisks: () => listServerRisks(postgres),
    },
  )
}

async function refuseMoved({ run }: Postgres, location: PostgresLocation): Promise<void> {
  const [there] = await run(
    "SELECT to_regclass('install') IS NOT NULL AS install, to_regclass('move_state') IS NOT NULL AS receives",
    [],
  )
  const place = describeLocation(location)
  if (there?.receives === 1)
    throw new StoreError(
      'moved',
      `A move into ${place} is not finished. To continue, run the same eventpost move command again.`,
    )
  if (there?.install !== 1) return
  const [row] = await run('SELECT value FROM install WHERE name = $1', [MARK])
  refuseMarked(readMark(row?.value as string | undefined), { place, options: '' })
}

const describeMissing = (location: PostgresLocation): string =>
  `There is no Eventpost data in ${describeLocation(location)}. Run eventpost init, or check EVENTPOST_DATABASE_URL.`

/** Beside the groups of writes, which may wait for another instance for a while. */
function createTouch(
  { sql }: Postgres,
  { checkSchema, isStuck }: Pick<Instance, 'checkSchema'> & { isStuck: () => boolean },
): () => Promise<Outcome<'touch'>> {
  const { touch } = createInstallWrites(sql)
  // each one needs a connection, while commits may hang
  return createSharedCall(async () => {
    if (isStuck()) return { refusal: 'unavailable' }
    try {
      await checkSchema()
      return await touch({})
    } catch (error) {
      if (isPassingFault(error)) return { refusal: 'unavailable', reason: describeFault(error) }
      reportBrokenJob('touch', error)
      return { refusal: 'internal_error' }
    }
  })
}

const SIZE_EVERY_MS = 60_000

/** As of the last minute, because asking PostgreSQL takes time. */
function createSizes({ run }: Postgres): () => { databaseBytes: number; logBytes: number } {
  let [databaseBytes, askedAt] = [0, Number.NEGATIVE_INFINITY]
  const ask = async (): Promise<void> => {
    const [row] = await run('SELECT pg_database_size(current_database()) AS bytes', [])
    databaseBytes = Number(row?.bytes ?? 0)
  }
  const read = () => {
    if (performance.now() - askedAt >= SIZE_EVERY_MS) {
      askedAt = performance.now()
      void ask().catch(() => {})
    }
    return { databaseBytes, logBytes: 0 }
  }
  read()
  return read
}
