/** A PostgreSQL server of the test's own, from Debian's package. It must not run as root, so then it runs as `postgres`. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PACKAGES = '/usr/lib/postgresql'
const USER = 'postgres'
const isRoot = process.getuid?.() === 0

/** The newest version's programs; null if none is installed. */
function findPrograms(): string | null {
  if (!existsSync(PACKAGES)) return null
  const versions = readdirSync(PACKAGES).toSorted((a, b) => Number(b) - Number(a))
  return versions[0] === undefined ? null : join(PACKAGES, versions[0], 'bin')
}

async function run(words: string[]): Promise<void> {
  const command = isRoot ? ['runuser', '-u', USER, '--', ...words] : words
  const child = Bun.spawn(command, { stdout: 'ignore', stderr: 'pipe', cwd: tmpdir() })
  const err = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(`${words.join(' ')}: ${err}`)
}

export function findFreePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } })
  const { port } = listener
  listener.stop(true)
  return port
}

export type PostgresServer = {
  port: number
  /** that the server may write into */
  folder: string
  url: (database: string) => string
  /** All its processes at once, without a warning. */
  kill: () => Promise<void>
  /** Of a replica: it accepts writes from then on. */
  promote: () => Promise<void>
  /** As after a crash. */
  restart: () => Promise<void>
  stop: () => Promise<void>
}

function requirePrograms(): string {
  const programs = findPrograms()
  if (programs === null) throw new Error('PostgreSQL is not installed. Install it: apt-get install postgresql')
  return programs
}

function makeServerFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'eventpost-postgres-'))
  if (isRoot) Bun.spawnSync(['chown', USER, folder])
  return folder
}

/** `settings`: of postgresql.conf. Durable unless they say otherwise. */
export async function startPostgres(settings: Record<string, string> = {}): Promise<PostgresServer> {
  const [programs, folder] = [requirePrograms(), makeServerFolder()]
  const data = join(folder, 'data')
  await run([join(programs, 'initdb'), '-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'])
  return await startIn(folder, settings)
}

/** A copy of the primary that follows it. */
export async function startReplica(
  primary: PostgresServer,
  settings: Record<string, string> = {},
): Promise<PostgresServer> {
  const [programs, folder] = [requirePrograms(), makeServerFolder()]
  const words = ['-D', join(folder, 'data'), '-d', primary.url('postgres'), '-R', '-X', 'stream', '-c', 'fast']
  await run([join(programs, 'pg_basebackup'), ...words])
  return await startIn(folder, settings)
}

async function startIn(folder: string, settings: Record<string, string>): Promise<PostgresServer> {
  const [programs, port] = [requirePrograms(), findFreePort()]
  const data = join(folder, 'data')
  const options = { port: String(port), unix_socket_directories: folder, listen_addresses: '127.0.0.1', ...settings }
  const words = Object.entries(options).map(([name, value]) => `-c ${name}='${value}'`)
  const control = [join(programs, 'pg_ctl'), '-D', data, '-w']
  await run([...control, '-l', join(folder, 'log'), '-o', words.join(' '), 'start'])
  let isRunning = true
  return {
    port,
    folder,
    url: (database) => `postgres://${USER}@127.0.0.1:${port}/${database}`,
    async kill() {
      isRunning = false
      const [pid = ''] = (await Bun.file(join(data, 'postmaster.pid')).text()).split('\n')
      const children = (await Bun.$`pgrep -P ${pid}`.nothrow().text()).split('\n').filter(Boolean)
      for (const one of [pid, ...children]) process.kill(Number(one), 'SIGKILL')
    },
    promote: () => run([...control, 'promote']),
    restart: () => run([...control, '-m', 'immediate', '-l', join(folder, 'log'), '-o', words.join(' '), 'restart']),
    async stop() {
      if (isRunning) await run([...control, '-m', 'immediate', 'stop'])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
