/** Where a host name leads: its addresses are made up, the servers are real. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, mock, spyOn, test } from 'bun:test'
import dns from 'node:dns/promises'
import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs'
import { connect as connectTo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { connectPostgres, DEADLINES, type Postgres } from '../../../src/store/postgres/connection.ts'
import { describeFault, isPassingFault } from '../../../src/store/postgres/faults.ts'
import { CA, SIGNED } from '../../mail/certificates.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'

const [FIRST, SECOND, NOBODY, SILENT, RELAYED] = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']
/** The certificate has it, and the first address. */
const NAME = 'mail.internal'

let first: PostgresServer
let second: PostgresServer
let addresses: string[] = []
let one: Postgres

/** Certificates belong to the server's user. */
function writeCertificate({ folder }: PostgresServer): void {
  const { uid, gid } = statSync(join(folder, 'data'))
  for (const [name, text] of [
    ['server.crt', SIGNED.cert],
    ['server.key', SIGNED.key],
  ] as const) {
    const path = join(folder, 'data', name)
    writeFileSync(path, text)
    chmodSync(path, 0o600)
    chownSync(path, uid, gid)
  }
}

beforeAll(async () => {
  first = await startPostgres({ fsync: 'off', listen_addresses: FIRST })
  second = await startPostgres({ fsync: 'off', listen_addresses: SECOND, port: String(first.port) })
  for (const server of [first, second]) {
    writeCertificate(server)
    const admin = new Bun.SQL(`postgres://postgres@localhost/postgres?host=${server.folder}&port=${first.port}`, {
      max: 1,
    })
    await admin.unsafe('ALTER SYSTEM SET ssl = on')
    await admin.unsafe('SELECT pg_reload_conf()')
    await admin.close()
  }
  writeFileSync(join(first.folder, 'ca.pem'), CA)
}, 240_000)
beforeEach(() => {
  const lookup = async (name: string) => {
    if (addresses.length === 0) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' })
    return addresses.map((address) => ({ address, family: 4 }))
  }
  spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup)
})
afterEach(async () => {
  await one?.close()
  mock.restore()
})
afterAll(async () => {
  await first?.stop()
  await second?.stop()
})

const connect = (name: string, options = '', deadlines = DEADLINES): Postgres =>
  (one = connectPostgres(
    { url: `postgres://postgres@${name}:${first.port}/postgres${options}`, connections: 2, prepares: true },
    deadlines,
  ))
const findServer = async ({ run }: Postgres): Promise<unknown> =>
  (await run('SELECT host(inet_server_addr()) AS address', []))[0]?.address

test('a name that has several addresses leads to the one where something answers', async () => {
  addresses = [NOBODY, SECOND]
  expect(await findServer(connect(NAME))).toBe(SECOND)
})

test('an address where nothing answers takes its share of the time', async () => {
  const silent = Bun.listen({ hostname: SILENT, port: first.port, socket: { data: () => {} } })
  addresses = [SILENT, SECOND]
  expect(await findServer(connect(NAME))).toBe(SECOND)
  silent.stop(true)
})

describe('of three addresses', () => {
  /** Leads to the first server, whose answers take so long. */
  const relaySlowly = (hostname: string, ms: number): Server =>
    createServer((socket) => {
      const there = connectTo({ host: FIRST, port: first.port })
      for (const side of [socket, there]) side.on('error', () => {})
      socket.pipe(there)
      setTimeout(() => there.pipe(socket), ms)
    }).listen(first.port, hostname)

  test('that all answer slowly, the first one is not given up after a third of the time', async () => {
    addresses = [RELAYED, NOBODY, SILENT]
    const relays = addresses.map((hostname) => relaySlowly(hostname, 3_300))
    expect(await findServer(connect(NAME, '', { ...DEADLINES, openMs: 9_000, waitMs: 9_000 }))).toBe(FIRST)
    for (const relay of relays) relay.close()
  })

  test('the one that answered is tried first the next time', async () => {
    let attempts = 0
    const silent = Bun.listen({
      hostname: SILENT,
      port: first.port,
      socket: { open: () => void (attempts += 1), data: () => {} },
    })
    addresses = [SILENT, NOBODY, SECOND]
    expect(await findServer(connect(NAME))).toBe(SECOND)
    // its connection ends
    await one.run('SELECT pg_terminate_backend(pg_backend_pid())', []).catch(() => {})
    expect(await findServer(one)).toBe(SECOND)
    expect(attempts).toBe(1)
    silent.stop(true)
  })
})

test('a name that can not be found may be found later', async () => {
  addresses = []
  const error = await findServer(connect(NAME)).catch((fault: unknown) => fault)
  expect(isPassingFault(error)).toBe(true)
  addresses = [FIRST]
  expect(await findServer(one)).toBe(FIRST)
})

describe('a certificate', () => {
  const verified = () => `?sslmode=verify-full&sslrootcert=${join(first.folder, 'ca.pem')}`
  const isEncrypted = async ({ run }: Postgres): Promise<unknown> =>
    (await run('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()', []))[0]?.ssl

  test('counts for the name, whatever the address', async () => {
    addresses = [SECOND]
    expect(await isEncrypted(connect(NAME, verified()))).toBe(1)
    expect(await findServer(one)).toBe(SECOND)
  })

  test('for the address, but not for the name, is refused', async () => {
    addresses = [FIRST]
    const error = await isEncrypted(connect('other.internal', verified())).catch((fault: unknown) => fault)
    expect(describeFault(error)).toContain("certificate isn't accepted")
    // the certificate has this address
    expect(await isEncrypted(connect(FIRST, verified()))).toBe(1)
  })

  test('of an unknown CA is refused', async () => {
    addresses = [FIRST]
    const error = await isEncrypted(connect(NAME, '?sslmode=verify-full')).catch((fault: unknown) => fault)
    expect(describeFault(error)).toContain("certificate isn't accepted")
  })

  test('is not asked for without sslmode', async () => {
    addresses = [FIRST]
    expect(await isEncrypted(connect(NAME))).toBe(0)
  })
})

test('a connection that is made after a failover leads to the new address', async () => {
  addresses = [FIRST]
  connect(NAME)
  expect(await findServer(one)).toBe(FIRST)
  await first.kill()
  addresses = [SECOND]
  expect(await findServer(one)).toBe(SECOND)
})
