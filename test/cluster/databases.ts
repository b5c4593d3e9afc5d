/** A primary and a synchronous replica, which takes its place when it fails. */
import { type PostgresServer, startPostgres, startReplica } from '../postgres/server.ts'
import { type Proxy, startProxy, type Target } from './proxy.ts'

const NAME = 'eventpost'

/** `fsync` stays on: what is acknowledged must survive. */
const SETTINGS = { max_connections: '200', wal_level: 'replica', max_wal_senders: '5' }

export type Databases = Awaited<ReturnType<typeof startDatabases>>

const targetOf = ({ port }: PostgresServer): Target => ({ host: '127.0.0.1', port })

export async function startDatabases() {
  const primary = await startPostgres(SETTINGS)
  await runOn(primary, 'postgres', `CREATE DATABASE ${NAME}`)
  const servers = [primary]
  let current = primary
  const addReplica = async (): Promise<PostgresServer> => {
    const replica = await startReplica(current, SETTINGS)
    servers.push(replica)
    // only now: without a replica, each commit would wait for one
    await runOn(current, 'postgres', "ALTER SYSTEM SET synchronous_standby_names = '*'")
    await runOn(current, 'postgres', 'SELECT pg_reload_conf()')
    return replica
  }
  let replica = await addReplica()
  const proxies: Proxy[] = []

  return {
    /** The address of an instance, and its own way to the database, which can be cut. */
    async openWay(): Promise<{ url: string; way: Proxy }> {
      const way = await startProxy(() => [targetOf(current)])
      proxies.push(way)
      return { url: `postgres://postgres@127.0.0.1:${way.port}/${NAME}`, way }
    },
    url: (): string => current.url(NAME),
    /**
     * Kills the primary, promotes the replica, and leads everyone to it. `isSilent`: no connection ends, as if the primary's
     * machine lost power. @returns when it accepted writes (ms, monotonic)
     */
    async failOver({ isSilent = false } = {}): Promise<number> {
      if (isSilent) proxies.forEach((one) => one.darken())
      await current.kill()
      if (!isSilent) proxies.forEach((one) => one.cut())
      await replica.promote()
      current = replica
      proxies.forEach((one) => one.heal())
      return await answeredAt(replica)
    },
    /** For the next failure. */
    async replace(): Promise<void> {
      replica = await addReplica()
    },
    async stop(): Promise<void> {
      for (const one of proxies) await one.stop()
      for (const one of servers.toReversed()) await one.stop()
    },
  }
}

async function answeredAt(server: PostgresServer): Promise<number> {
  for (;;) {
    try {
      await runOn(server, NAME, 'CREATE TABLE IF NOT EXISTS is_writable (x int)')
      return performance.now()
    } catch {
      await Bun.sleep(20)
    }
  }
}

async function runOn(server: PostgresServer, database: string, text: string): Promise<void> {
  const sql = new Bun.SQL(server.url(database), { max: 1, prepare: false })
  try {
    await sql.unsafe(text)
  } finally {
    await sql.close()
  }
}
