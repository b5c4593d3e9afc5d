/**
 * SIGKILL at a system call: a process is killed as it enters one of its writes, synchronizations, truncations, renames or
 * removals. What it acknowledged is there at the next start, and nothing is half-written.
 */
import { Database } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { MIGRATIONS } from '../../src/store/engine/migrations/index.ts'
import { databasePath, openDatabase } from '../../src/store/engine/database.ts'
import { schemaVersion } from '../../src/store/engine/upgrades.ts'
import { makeFolder } from '../data-folder.ts'
import { createRandom } from '../random.ts'
import { checkDisk, countLost, isWhole } from './check-disk.ts'
import { report, reportNotRun } from './figures.ts'

/** Of each kind of work. Without it a few of the one that does most. */
const CRASH_POINTS = process.env.CRASH_POINTS
const POINTS = Number(CRASH_POINTS ?? 2)
const SEED = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000)
const TEST_MS = 60_000 + POINTS * 4_000
const CALLS = 'write,pwrite64,fsync,fdatasync,ftruncate,unlink,unlinkat,link,linkat,rename,renameat,renameat2'
const OLD_PEOPLE = 500
const COPIED_PEOPLE = 512

const canTrace = process.platform === 'linux' && Bun.spawnSync(['sh', '-c', 'strace -qq -o /dev/null true']).success
if (!canTrace) reportNotRun('SIGKILL at system calls', 'strace is missing or may not trace')

const { folder, remove } = makeFolder()
const [before, data, trace] = ['before', 'data', 'trace'].map((name) => join(folder, name)) as [string, string, string]
afterAll(remove)

/** Checks a folder after a kill, in which these people had been acknowledged. @returns what is wrong, or null */
type Check = (acknowledged: number[]) => Promise<string | null>
type Work = { name: string; prepare: () => Promise<void>; command: string[]; check: Check; reset?: () => void }

const store = (...words: (string | number)[]): string[] => [
  process.execPath,
  join(import.meta.dir, 'store-work.ts'),
  data,
  ...words.map(String),
]

async function run(
  { command, reset }: Pick<Work, 'command' | 'reset'>,
  strace: string[],
): Promise<{ out: string; isKilled: boolean }> {
  rmSync(data, { recursive: true, force: true })
  cpSync(before, data, { recursive: true })
  reset?.()
  const traced = ['strace', '-f', '-qq', '-o', trace, ...strace]
  const child = Bun.spawn([...traced, ...command], { stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  const code = await child.exited
  const isKilled = child.signalCode === 'SIGKILL' || code === 137
  if (!isKilled && code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${err}`)
  return { out, isKilled }
}

/** How often each call is made, by the thread that makes it most: strace counts by thread. */
async function countCalls(work: Work): Promise<Map<string, number>> {
  await run(work, ['-e', `trace=${CALLS}`])
  const byThread = new Map<string, number>()
  for (const [, thread = '', call = ''] of readFileSync(trace, 'utf8').matchAll(/^(\d+) +(\w+)\(/gm)) {
    byThread.set(`${thread} ${call}`, (byThread.get(`${thread} ${call}`) ?? 0) + 1)
  }
  const counts = new Map<string, number>()
  for (const [key, count] of byThread) {
    const call = key.split(' ')[1] ?? ''
    counts.set(call, Math.max(counts.get(call) ?? 0, count))
  }
  return counts
}

type Point = { call: string; number: number }

/** The same share for each call, spread over all of its times; what a rare one leaves goes to the others. */
function choosePoints(counts: Map<string, number>, random = createRandom(SEED)): Point[] {
  const calls = [...counts].sort(([, a], [, b]) => a - b)
  let left = POINTS
  return calls.flatMap(([call, count], index) => {
    const share = Math.min(count, Math.ceil(left / (calls.length - index)))
    left -= share
    return Array.from({ length: share }, (_, part) => ({
      call,
      number: 1 + Math.floor(((part + random.next()) * count) / share),
    }))
  })
}

/** Copies that were made before a migration: each is whole, and of its version. */
function findPartialCopy(): string | null {
  for (const name of readdirSync(data)) {
    const [, version] = /\.before-(\d+)$/.exec(name) ?? []
    if (version === undefined) continue
    const copy = new Database(join(data, name), { readonly: true })
    const [integrity, events] = ['PRAGMA integrity_check', 'SELECT count(*) FROM events'].map(
      (sql) => copy.query(sql).values()[0]?.[0],
    )
    const found = [schemaVersion(copy), integrity, events]
    copy.close()
    if (!Bun.deepEquals(found, [Number(version) - 1, 'ok', OLD_PEOPLE])) return `${name}: ${found.join(', ')}`
  }
  return null
}

const checkStore: Check = async (acknowledged) => {
  const found = await checkDisk(data)
  if (typeof found === 'string') return found
  if (!isWhole(found)) return `${found.integrity} ${found.differences.join(' ')}`
  const lost = countLost(acknowledged, found)
  return lost > 0 ? `${lost} lost` : findPartialCopy()
}

/** At version 1, with everything that later versions count. */
function createOldDatabase(): void {
  const db = openDatabase(before, MIGRATIONS.slice(0, 1))
  db.transaction(() => {
    for (let id = 1; id <= OLD_PEOPLE; id += 1) {
      db.run(
        `INSERT INTO contacts (id, app_id, email, status, created_at, updated_at) VALUES (?, 1, ?, 'subscribed', 0, 0)`,
        [id, `old${id}@example.com`],
      )
      db.run(
        `INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at) VALUES (?, 1, ?, 1, 0, 0, 0)`,
        [id, id],
      )
    }
    db.run(`INSERT INTO event_names (id, app_id, name) VALUES (1, 1, 'old')`)
    db.run('INSERT INTO rollups VALUES (1, 1, 0, ?, 1, ?)', [OLD_PEOPLE, OLD_PEOPLE])
    db.run(`INSERT INTO new_people VALUES ('acc_1', '1970-01', ?)`, [OLD_PEOPLE])
  })()
  db.close()
}

const ALL_WORKS: Work[] = [
  {
    name: 'recording events',
    prepare: async () => openDatabase(before).close(),
    command: store(320, 100),
    check: checkStore,
  },
  {
    name: 'checkpoints',
    // a log of 6 MB at the start, and again while it runs
    prepare: async () => void Bun.spawnSync(store(320, 16_000, 'killed').with(2, before)),
    command: store(640, 16_000),
    check: checkStore,
  },
  {
    name: 'a migration',
    prepare: async () => createOldDatabase(),
    command: store(16, 100),
    check: (acknowledged) =>
      checkStore([...Array.from({ length: OLD_PEOPLE }, (_, index) => index + 1), ...acknowledged]),
  },
]

const MAIN = join(import.meta.dir, '../../src/main.ts')
const copy = join(folder, 'copy')
const eventpost = (...words: string[]): string[] => [process.execPath, MAIN, ...words, '--data', data]

/** A file under its final name is whole, or it is not there. */
const checkCopy = async (path: string): Promise<string | null> => {
  if (!existsSync(path)) return null
  const read = join(folder, 'read')
  rmSync(read, { recursive: true, force: true })
  mkdirSync(read)
  cpSync(path, databasePath(read))
  const found = await checkDisk(read)
  if (typeof found === 'string') return found
  return isWhole(found) && found.people.length === COPIED_PEOPLE ? null : `${path} has ${found.people.length} events`
}

ALL_WORKS.push(
  {
    name: 'a backup',
    prepare: async () => void Bun.spawnSync(store(COPIED_PEOPLE, 1_000).with(2, before)),
    reset: () => rmSync(copy, { recursive: true, force: true }),
    command: eventpost('backup', copy),
    check: async () => (await checkStore([])) ?? (await checkCopy(copy)),
  },
  {
    name: 'a restore',
    prepare: async () => {
      rmSync(copy, { force: true })
      Bun.spawnSync(store(COPIED_PEOPLE, 1_000).with(2, before))
      Bun.spawnSync(eventpost('backup', copy).with(-1, before))
      rmSync(before, { recursive: true })
      mkdirSync(before)
    },
    command: eventpost('restore', copy),
    check: async () => {
      const wrong = (await checkCopy(databasePath(data))) ?? (await checkCopy(copy))
      if (wrong !== null || existsSync(databasePath(data))) return wrong
      // what a killed one left must not stand in the way of the next
      const { stderr } = Bun.spawnSync(eventpost('restore', copy))
      return existsSync(databasePath(data)) ? await checkCopy(databasePath(data)) : stderr.toString()
    },
  },
)

const WORKS = ALL_WORKS.filter(({ name }) => CRASH_POINTS !== undefined || name === 'a migration')

const numbersIn = (out: string): number[] => Array.from(out.matchAll(/^\d+$/gm), ([number]) => Number(number))

/** Earlier if this run makes fewer calls than the one that was counted. */
async function killAt(work: Work, call: string, number: number): ReturnType<typeof run> {
  const ran = await run(work, ['-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${number}`])
  return ran.isKilled || number === 1 ? ran : await killAt(work, call, Math.ceil(number / 2))
}

describe.skipIf(!canTrace)(`SIGKILL at a system call (seed ${SEED})`, () => {
  test.each(WORKS)(
    'of $name',
    async (work) => {
      const { name, prepare, check } = work
      rmSync(before, { recursive: true, force: true })
      await prepare()
      const points = choosePoints(await countCalls(work))
      const wrong: string[] = []
      let [kills, acknowledgements] = [0, 0]
      for (const { call, number } of points) {
        const { out, isKilled } = await killAt(work, call, number)
        if (isKilled) kills += 1
        const acknowledged = numbersIn(out)
        acknowledgements += acknowledged.length
        const found = await check(acknowledged)
        if (found !== null) wrong.push(`${call} ${number}: ${found}`)
      }
      report({
        target: `SIGKILL at system calls of ${name}`,
        asked: '0 lost, 0 half-written',
        measured: `${wrong.length} of ${kills} kills, ${acknowledgements.toLocaleString('en')} acknowledged`,
        isReached: wrong.length === 0 && kills > points.length / 2,
      })
      expect(wrong).toEqual([])
      expect(kills).toBeGreaterThan(points.length / 2)
    },
    TEST_MS,
  )
})
