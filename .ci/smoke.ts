/**
 * `bun run smoke [PLATFORM]`: checks the checksums of `bun run build:all`, and for each executable that can run here: it
 * sets up, serves, stores an event, shows a page, is healthy, and stops. On Debian, executables for musl need the packages
 * `musl` and `gcc`, and those for arm64 `qemu-user-static` and `libc6-arm64-cross`. Lists what was not run, and why.
 */
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../package.json'
import {
  type Begun,
  call,
  eventpost,
  eventpostJson,
  type How,
  makeFolder,
  type Running,
  startServer,
} from '../test/cli/process.ts'

const DIST = join(import.meta.dir, '../dist')
const MUSL = '/lib/ld-musl-x86_64.so.1'
const ARM_EMULATOR = '/usr/bin/qemu-aarch64-static'
const ARM_LIBRARIES = '/usr/aarch64-linux-gnu'

/** An emulator is slow. */
const READY_MS = 90_000

type Runner = { words: string[]; env?: Record<string, string> } | { missing: string }

/** By platform, such as `linux-x64-musl`. */
function findRunner(platform: string, folder: string): Runner {
  const [system, processor] = platform.split('-')
  const isMusl = platform.includes('musl')
  if (system !== process.platform) return { missing: `a machine with ${system}` }
  if (processor === process.arch) return isMusl ? prepareMusl(folder) : { words: [] }
  if (processor !== 'arm64' || isMusl) return { missing: `a machine with ${processor}${isMusl ? ' and musl' : ''}` }
  return existsSync(ARM_EMULATOR) && existsSync(ARM_LIBRARIES)
    ? { words: [ARM_EMULATOR, '-L', ARM_LIBRARIES] }
    : { missing: 'the packages qemu-user-static and libc6-arm64-cross' }
}

/** Alpine Linux has a C++ library for musl. Elsewhere, glibc's is used with the shim. */
function prepareMusl(folder: string): Runner {
  if (!existsSync(MUSL)) return { missing: 'the package musl' }
  const libraries = join(folder, 'libraries')
  const found = ['libstdc++.so.6', 'libgcc_s.so.1'].map((name) => findLibrary(name))
  if (found.includes(null)) return existsSync('/usr/lib/libstdc++.so.6') ? { words: [] } : { missing: 'libstdc++' }
  mkdirSync(libraries, { recursive: true })
  for (const path of found)
    if (path) cpSync(path, join(libraries, path.slice(path.lastIndexOf('/'))), { dereference: true })
  const build = (output: string, source: string) =>
    Bun.spawnSync(['cc', '-shared', '-fPIC', '-nostdlib', '-o', join(libraries, output), '-x', 'c', source]).success
  const shim = join(libraries, 'shim.so')
  // the library names glibc's loader
  if (!build('shim.so', join(import.meta.dir, 'musl-shim.c')) || !build('ld-linux-x86-64.so.2', '/dev/null'))
    return { missing: 'a C compiler' }
  return { words: [], env: { LD_LIBRARY_PATH: libraries, LD_PRELOAD: shim } }
}

const findLibrary = (name: string): string | null =>
  ['/usr/lib/x86_64-linux-gnu', '/lib/x86_64-linux-gnu'].map((folder) => join(folder, name)).find(existsSync) ?? null

async function check(how: How, data: string): Promise<void> {
  const printed = await eventpostJson<{ version: string }>(['version'], how)
  if (printed.version !== version) throw new Error(`it is version ${printed.version}, not ${version}`)
  if (!(await eventpost(['licenses'], how)).out.includes('\nSQLite')) throw new Error('licenses does not name SQLite')
  const begun = await eventpostJson<Begun>(['init', '--data', data, '--email', 'a@example.com', '--app', 'Demo'], how)
  const server = await startServer({ ...how, data, readyMs: READY_MS })
  await use(server, begun, how).finally(() => server.stop())
  if ((await server.ended()) !== 0) throw new Error('it did not stop with code 0')
}

async function use(server: Running, begun: Begun, how: How): Promise<void> {
  const event = { app: begun.appId, email: 'ada@example.com', event: 'results_ready', createContact: true }
  const sent = await call(server.url, begun.apiKey, 'POST', '/api/v1/events', event)
  const page = await fetch(`${server.url}/docs/start`)
  if (sent.status !== 202) throw new Error(`the event was answered with ${sent.status}`)
  if (!(await page.text()).includes('<h1')) throw new Error(`the page was answered with ${page.status}`)
  const { code, err } = await eventpost(['health', '--port', new URL(server.url).port], how)
  if (code !== 0) throw new Error(err)
}

async function smoke(file: string, platform: string): Promise<string> {
  const { folder, remove } = makeFolder()
  try {
    const runner = findRunner(platform, folder)
    if ('missing' in runner) return `not run: needs ${runner.missing}`
    const startedAt = performance.now()
    await check({ program: [...runner.words, join(DIST, file)], cwd: folder, env: runner.env }, join(folder, 'data'))
    return `works (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)`
  } finally {
    remove()
  }
}

const sums = readFileSync(join(DIST, 'SHA256SUMS'), 'utf8').trim().split('\n')
let failures = 0
for (const line of sums) {
  const [sum, file = ''] = line.split(/\s+/)
  const platform = file.replace(/^eventpost-|\.exe$/g, '')
  if (process.argv[2] !== undefined && process.argv[2] !== platform) continue
  const bytes = readFileSync(join(DIST, file))
  const isSame = new Bun.CryptoHasher('sha256').update(bytes).digest('hex') === sum
  const result = isSame
    ? await smoke(file, platform).catch((error: unknown) => `FAILED: ${String(error)}`)
    : 'FAILED: the checksum differs'
  if (result.startsWith('FAILED')) failures += 1
  console.log(`${platform.padEnd(24)} ${(bytes.length / 1e6).toFixed(0).padStart(4)} MB  ${result}`)
}
process.exit(failures === 0 ? 0 : 1)
