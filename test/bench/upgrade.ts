/**
 * `bun run bench:upgrade [FOLDER]`: upgrades a copy of the seeded database (`bun run seed`, which is done first where the
 * folder is missing) with the executable of a next release, whose migration changes and indexes all events. Then goes back
 * as the older executable says. Exits 1 if the server is not ready within a minute, or says nothing meanwhile for 5 s.
 */
import { cpSync, existsSync, mkdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { formatBytes } from '../../src/core/bytes.ts'
import { databasePath } from '../../src/store/engine/database.ts'
import { SCHEMA_VERSION } from '../../src/store/engine/migrations/index.ts'
import { buildNextRelease } from './releases.ts'
import { SEEDED, seededFile } from './seeded.ts'
import { createFolder, EXECUTABLE } from './service.ts'

const BARS = { readyMs: 60_000, silentMs: 5_000 }
const ASK_EVERY_MS = 100
const PORT = 18_977
const URL = `http://127.0.0.1:${PORT}`
const MIGRATION =
  'ALTER TABLE events ADD COLUMN bench INTEGER; CREATE INDEX events_for_bench ON events (app_id, name_id, contact_id)'
/** The database, its copy, and the write-ahead log of the migration. */
const TIMES_SIZE = 3

const read = (stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> => new Response(stream).text()
const statusOf = async (path: string): Promise<number> =>
  fetch(`${URL}${path}`).then(
    ({ status }) => status,
    () => 0,
  )

function start(executable: string, data: string) {
  const words = ['serve', '--data', data, '--port', String(PORT)]
  const child = Bun.spawn([executable, ...words], { stdout: 'pipe', stderr: 'pipe' })
  const said: { ms: number; line: string }[] = []
  const startedAt = performance.now()
  const ended = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of child.stdout) {
      for (const line of decoder.decode(chunk, { stream: true }).split('\n')) {
        if (line !== '') said.push({ ms: performance.now() - startedAt, line })
      }
    }
  })()
  return { child, said, ended, startedAt }
}

/** From its start until it is ready. `answers`: of /healthz and /readyz while it was not. */
async function measureStart(executable: string, data: string) {
  const { child, said, ended, startedAt } = start(executable, data)
  const answers = new Set<string>()
  let status = 0
  while ((status = await statusOf('/readyz')) !== 200 && child.exitCode === null) {
    if (status !== 0) answers.add(`healthz ${await statusOf('/healthz')}, readyz ${status}`)
    await Bun.sleep(ASK_EVERY_MS)
  }
  const ms = performance.now() - startedAt
  child.kill('SIGTERM')
  const code = await child.exited
  await ended
  const processorS = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6
  const memory = child.resourceUsage()?.maxRSS ?? 0
  const times = [0, ...said.map((line) => line.ms).filter((at) => at < ms), ms]
  const silentMs = Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? 0)))
  return { ms, code, answers: [...answers], said, silentMs, processorS, memory }
}

const source = resolve(process.argv[2] ?? SEEDED)
if (!existsSync(seededFile(source))) {
  const seed = Bun.spawn([process.execPath, join(import.meta.dir, 'seed.ts'), source], { stdout: 'inherit' })
  if ((await seed.exited) !== 0) process.exit(1)
}
const { size } = statSync(databasePath(source))
const { path: folder, remove } = createFolder()
const { bavail, bsize } = statfsSync(folder)
if (bavail * bsize < TIMES_SIZE * size) throw new Error(`${folder} needs ${formatBytes(TIMES_SIZE * size)}.`)
const data = join(folder, 'data')
const problems: string[] = []
const expect = (isSo: boolean, problem: string): void => void (isSo || problems.push(problem))

try {
  mkdirSync(data, { mode: 0o700 })
  cpSync(databasePath(source), databasePath(data))
  const nextFolder = join(folder, 'next')
  mkdirSync(nextFolder)
  const next = await buildNextRelease(nextFolder, MIGRATION)

  const upgraded = await measureStart(next, data)
  for (const { ms, line } of upgraded.said) console.log(`${(ms / 1_000).toFixed(1).padStart(6)} s  ${line}`)
  console.log(
    `${formatBytes(size)}, from schema version ${SCHEMA_VERSION} to ${SCHEMA_VERSION + 1}: ready after ${(upgraded.ms / 1_000).toFixed(1)} s`,
  )
  console.log(
    `${upgraded.processorS.toFixed(0)} s of processor time, ${formatBytes(upgraded.memory)} of memory at most`,
  )
  console.log(`longest silence ${(upgraded.silentMs / 1_000).toFixed(1)} s; until then ${upgraded.answers.join('; ')}`)
  expect(upgraded.ms <= BARS.readyMs, 'not ready within a minute')
  expect(upgraded.silentMs <= BARS.silentMs, 'silent for more than 5 s')
  expect(upgraded.answers.join() === 'healthz 200, readyz 503', 'not alive, or ready too early')

  const older = Bun.spawn([EXECUTABLE, 'serve', '--data', data, '--port', String(PORT)], {
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const refusal = await read(older.stderr)
  console.log(`the older executable: ${refusal.trim()}`)
  const command = /then run: eventpost (restore \S+ --data (\S+))\n$/.exec(refusal)
  expect((await older.exited) === 1 && refusal.trim().split('\n').length === 1, 'not refused with one line')
  expect(command?.[2] === data, 'the way back is not named')
  for (const end of ['', '-wal', '-shm']) rmSync(`${databasePath(data)}${end}`, { force: true })
  const restored = Bun.spawnSync([EXECUTABLE, ...(command?.[1] ?? '').split(' ')])
  expect(restored.exitCode === 0, 'the copy cannot be restored')
  const back = await measureStart(EXECUTABLE, data)
  console.log(`with the copy, the older executable is ready after ${(back.ms / 1_000).toFixed(1)} s`)
  expect(back.code === 0, 'the older executable does not serve the copy')
} finally {
  remove()
}
for (const problem of problems) console.error(`MISSED: ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)
