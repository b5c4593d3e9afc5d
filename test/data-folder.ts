/** Data folders for tests: in memory where the machine has room there, with a database that is migrated already. */
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databasePath } from '../src/store/engine/database.ts'
import { STORE_RULES } from '../src/deliveries/deliveries.ts'
import { openStore } from '../src/store/store.ts'

const MEMORY = '/dev/shm'
const TEMPLATES = join(import.meta.dir, '../dist/test')
const MIGRATIONS = join(import.meta.dir, '../src/store/engine/migrations')

function findPlace(): string {
  try {
    accessSync(MEMORY, constants.W_OK)
    return MEMORY
  } catch {
    return tmpdir()
  }
}
const PLACE = findPlace()

/** An empty folder of the test's own. */
export function makeFolder(place = PLACE): { folder: string; remove: () => void } {
  const folder = mkdtempSync(join(place, 'eventpost-test-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Made once for each state of the migrations, whichever test comes first. */
async function makeTemplate(): Promise<string> {
  const migrations = readdirSync(MIGRATIONS).map((file) => readFileSync(join(MIGRATIONS, file), 'utf8'))
  const path = join(TEMPLATES, `${Bun.hash(migrations.join('\n'))}.db`)
  if (existsSync(path)) return path
  mkdirSync(TEMPLATES, { recursive: true })
  const folder = mkdtempSync(join(TEMPLATES, 'making-'))
  const store = await openStore(folder, { threads: false, rules: STORE_RULES })
  await store.close()
  // others may make it at the same time; each has the same
  renameSync(databasePath(folder), path)
  rmSync(folder, { recursive: true })
  return path
}

let template: Promise<string> | null = null

/** The file of a migrated, empty database. */
export const findTemplate = (): Promise<string> => (template ??= makeTemplate())

/** An empty database in a folder of the test's own, which removes it. */
export async function makeDataFolder(): Promise<string> {
  const path = await findTemplate()
  const folder = mkdtempSync(join(PLACE, 'eventpost-test-'))
  copyFileSync(path, databasePath(folder))
  return folder
}

/**
 * Folders, new ones or those that are given, whose databases begin with what `begin` wrote: it runs once in a process, then
 * each folder gets a copy.
 */
export function createBeginnings<T>(
  begin: (folder: string) => Promise<T>,
): (folder?: string) => Promise<{ folder: string; begun: T }> {
  const make = async () => {
    const folder = await makeDataFolder()
    const begun = await begin(folder)
    const bytes = readFileSync(databasePath(folder))
    rmSync(folder, { recursive: true })
    return { begun, bytes }
  }
  let made: ReturnType<typeof make> | null = null
  return async (given) => {
    const { begun, bytes } = await (made ??= make())
    const folder = given ?? mkdtempSync(join(PLACE, 'eventpost-test-'))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(databasePath(folder), bytes, { mode: 0o600 })
    return { folder, begun }
  }
}
