/** Behind PgBouncer, which gives each transaction another connection. Debian's package; without it, nothing is tested here. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { readEventText } from '../../../src/events/event-input.ts'
import { connectPostgres, DEADLINES } from '../../../src/store/postgres/connection.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { findFreePort, type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { done, eventWrite, newAccount } from '../samples.ts'

const PGBOUNCER = Bun.which('pgbouncer', { PATH: `${process.env.PATH}:/usr/sbin` })
/** Fewer than clients, so that they share connections. */
const SERVER_CONNECTIONS = 2

async function startPooler(server: PostgresServer, command: string) {
  const folder = mkdtempSync(join(tmpdir(), 'eventpost-pgbouncer-'))
  chmodSync(folder, 0o755)
  const port = findFreePort()
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: SERVER_CONNECTIONS,
    max_client_conn: 100,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const file = join(folder, 'pgbouncer.ini')
  const databases = `[databases]\n* = host=127.0.0.1 port=${server.port} user=postgres`
  await Bun.write(file, `${databases}\n[pgbouncer]\n${lines.join('\n')}\n`)
  // it must not run as root
  const user = process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--'] : []
  const child = Bun.spawn([...user, command, file], { stdout: 'ignore', stderr: 'ignore', cwd: tmpdir() })
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await child.exited
    rmSync(folder, { recursive: true, force: true })
  }
  return { port, stop }
}

describe.skipIf(PGBOUNCER === null)('a pooler in transaction mode', () => {
  let server: PostgresServer
  let pooler: Awaited<ReturnType<typeof startPooler>>
  let store: Store
  const locationOf = (port: number) => ({
    url: server.url('postgres').replace(`:${server.port}`, `:${port}`),
    connections: 10,
    prepares: false,
  })
  beforeAll(async () => {
    server = await startPostgres({ fsync: 'off' })
    pooler = await startPooler(server, PGBOUNCER ?? '')
    const open = () => openPostgresStore(locationOf(pooler.port), { readEvent: readEventText, rules: STORE_RULES })
    // it may not listen yet
    store = await open().catch(() => Bun.sleep(500).then(open))
    done(await store.createAccount(newAccount()))
  }, 240_000)
  afterAll(async () => {
    await store?.close()
    await pooler?.stop()
    await server?.stop()
  })

  test('without its setting, is refused with the setting to make', async () => {
    const opened = openPostgresStore({ ...locationOf(pooler.port), prepares: true }, { rules: STORE_RULES })
    await expect(opened).rejects.toThrow('Set EVENTPOST_DATABASE_POOLER=transaction.')
  })

  test('writes and reads at the same time share few connections', async () => {
    const emails = Array.from({ length: 30 }, (_, index) => `person${index}@example.com`)
    const outcomes = await Promise.all(emails.map((email) => store.recordEvent(eventWrite({ email }))))
    for (const outcome of outcomes) done(outcome)
    const found = await Promise.all(emails.map((email) => store.findContact(1, email)))
    expect(found.map((person) => person?.email)).toEqual(emails)
    const direct = connectPostgres({ ...locationOf(server.port), connections: 1 })
    const [row] = await direct.run(
      "SELECT count(*) AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
      [],
    )
    expect(Number(row?.n)).toBeLessThanOrEqual(SERVER_CONNECTIONS)
    await direct.close()
  })

  test('limits hold in each transaction and for each call, and are left to no other', async () => {
    const one = connectPostgres({ ...locationOf(pooler.port), connections: 1 })
    const other = new Bun.SQL(locationOf(pooler.port).url, { max: 1, prepare: false })
    const readLimit = async (): Promise<unknown> => (await one.run('SHOW statement_timeout', []))[0]?.statement_timeout
    const expected = `${DEADLINES.statementMs / 1_000}s`
    expect([await one.transaction(readLimit), await readLimit()]).toEqual([expected, expected])
    expect([...(await other.unsafe('SHOW statement_timeout'))]).toEqual([{ statement_timeout: '0' }])
    await other.close()
    await one.close()
  })
})
