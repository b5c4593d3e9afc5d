/** The built executable, for the tests of it: made anew where its sources are newer. */
import { Database } from 'bun:sqlite'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '..')
export const EXECUTABLE = join(ROOT, 'dist/eventpost')
/** Also for whoever waits until another has built it. */
export const BUILD_MS = 120_000

function isOutdated(): boolean {
  if (!existsSync(EXECUTABLE)) return true
  const builtAt = statSync(EXECUTABLE).mtimeMs
  const list = (folder: string): string[] =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`)
  const sources = [
    ...list('src'),
    ...list('snippet'),
    '.ci/build-snippet.ts',
    '.ci/build-licenses.ts',
    '.ci/bundled-licenses.txt',
  ]
  return [...sources, 'package.json', 'bun.lock'].some((name) => statSync(join(ROOT, name)).mtimeMs > builtAt)
}

async function build(): Promise<void> {
  for (const words of [['assets'], ['compile', '--bytecode', '--outfile', 'dist/eventpost']]) {
    const child = Bun.spawn([process.execPath, 'run', ...words], { cwd: ROOT, stdout: 'ignore', stderr: 'pipe' })
    if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text())
  }
}

/** Of several test processes that want the same thing one makes it. The lock is the system's own, so that none is left behind. */
export async function makeAlone<T>(name: string, make: () => Promise<T>): Promise<T> {
  mkdirSync(join(ROOT, 'dist'), { recursive: true })
  const lock = new Database(join(ROOT, `dist/${name}.lock`), { create: true })
  try {
    lock.run(`PRAGMA busy_timeout = ${BUILD_MS}`)
    lock.run('BEGIN EXCLUSIVE')
    return await make()
  } finally {
    lock.close()
  }
}

export const ensureExecutable = (): Promise<void> =>
  makeAlone('executable', async () => {
    if (isOutdated()) await build()
  })
