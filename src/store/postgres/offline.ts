/** Work on a PostgreSQL database that no instance may use meanwhile. */
import { describeLocation, type PostgresLocation } from '../../core/data-location.ts'
import { StoreError } from '../engine/errors.ts'
import { createSecrets } from '../engine/sealed-columns.ts'
import { createSealer } from '../engine/sealing.ts'
import { holdAll, type Restored } from '../restores.ts'
import { connectPostgres, DEADLINES, type Postgres } from './connection.ts'
import { commitSafely, HAS_ENDED } from './instance.ts'
import { isEmpty } from './migrations.ts'
import { unreachable } from './server-facts.ts'

/** @throws StoreError `unreachable`, `missing` or `folder_in_use` */
async function whileStopped<T>(location: PostgresLocation, work: (postgres: Postgres) => Promise<T>): Promise<T> {
  // nobody waits for its locks
  const postgres = connectPostgres({ ...location, connections: 2 }, { ...DEADLINES, idleMs: 60_000 })
  const name = describeLocation(location)
  try {
    const hasNone = await isEmpty(postgres).catch((error: unknown) => {
      throw unreachable(error, location)
    })
    if (hasNone) throw new StoreError('missing', `There is no Eventpost data in ${name}.`)
    return await commitSafely(postgres)(async () => {
      // no instance can join until the transaction ends
      await postgres.run('LOCK TABLE instances IN EXCLUSIVE MODE', [])
      const running = await postgres.run(`SELECT number FROM instances WHERE NOT ${HAS_ENDED}`, [])
      if (running.length > 0)
        throw new StoreError(
          'folder_in_use',
          `A server is using ${name}. Stop all servers first. A server that was killed counts as running for another 30 seconds.`,
        )
      return await work(postgres)
    })
  } finally {
    await postgres.close()
  }
}

/** Of a copy that PostgreSQL's own tools restored: makes it one that sends nothing by itself. `at`: ms UTC. */
export const holdRestored = (location: PostgresLocation, at: number): Promise<Restored> =>
  whileStopped(location, ({ sql }) => holdAll(sql, at))

/** `to` null: nothing stays encrypted. @returns the number of values. @throws StoreError `sealed` if `from` is wrong */
export const changeMasterKeyIn = (location: PostgresLocation, from: string, to: string | null): Promise<number> =>
  whileStopped(location, async ({ sql }) => {
    const secrets = createSecrets(sql, (work) => work())
    await secrets.seal(createSealer(from))
    return await secrets.change(createSealer(from), createSealer(to))
  })
