/** Executables of this release and of a next one that has one migration more, made from a copy of the sources. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scripts } from '../../package.json'

const ROOT = join(import.meta.dir, '../..')
const INDEX = 'src/store/engine/migrations/index.ts'
const END_OF_MIGRATIONS = '\n]\n'

/** @returns the path of the executable */
export async function buildNextRelease(folder: string, migration: string): Promise<string> {
  for (const name of ['src', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  for (const name of ['node_modules', 'dist']) symlinkSync(join(ROOT, name), join(folder, name))
  const index = join(folder, INDEX)
  const source = readFileSync(index, 'utf8')
  const at = source.indexOf(END_OF_MIGRATIONS, source.indexOf('export const MIGRATIONS'))
  writeFileSync(index, `${source.slice(0, at)}\n  ${JSON.stringify(migration)},${source.slice(at)}`)
  const executable = join(folder, 'eventpost-next')
  const words = [...scripts.compile.split(' ').slice(1), '--bytecode', '--outfile', executable]
  const child = Bun.spawn([process.execPath, ...words], { cwd: folder, stdout: 'ignore', stderr: 'pipe' })
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text())
  return executable
}
