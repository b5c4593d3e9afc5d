/**
 * Power cuts: at many moments of a load, the disk as it would then be is opened by a fresh process.
 * It must open clean, hold every event that had been acknowledged, and nothing half. `bun run test:faults` does it longer.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Begun, makeFolder, setUp, startServer } from '../cli/process.ts'
import { createRandom, type Random } from '../random.ts'
import { checkDisk, countLost, isWhole } from './check-disk.ts'
import { createDisk, type Entry, readRecord } from './disk.ts'
import { report } from './figures.ts'
import { readPeople, startLoad } from './load.ts'
import { canMakeFaults, createShim, type Fault } from './shim.ts'

const CUTS = Number(process.env.POWER_CUTS ?? 12)
const SEED = Number(process.env.POWER_CUT_SEED ?? Date.now() % 1_000_000)
const LOAD_MS = Number(process.env.POWER_CUT_LOAD_MS ?? 1_200)
/** A cut takes about a tenth of a second. */
const TEST_MS = 20_000 + CUTS * 1_000

const { folder, remove } = makeFolder()
const [data, before, after] = ['data', 'before', 'after'].map((name) => join(folder, name)) as [string, string, string]
let begun: Begun
let shim: ReturnType<typeof createShim>

beforeAll(async () => {
  if (!canMakeFaults) return
  begun = await setUp(data)
  cpSync(data, before, { recursive: true })
  shim = createShim(folder, data)
})
afterAll(remove)

/** Runs a server under load, from the same beginning each time, and kills it. @returns what its disk was asked to do */
async function record(...faults: Fault[]): Promise<Entry[]> {
  rmSync(data, { recursive: true })
  cpSync(before, data, { recursive: true })
  const server = await startServer({ data, env: shim.recordingEnv(...faults) })
  const load = startLoad({ url: server.url, key: begun.apiKey, app: begun.appId }, { clients: 64, round: 0 })
  await Bun.sleep(LOAD_MS)
  await server.stop('SIGKILL')
  await load.ended
  const entries = readRecord(shim.record)
  rmSync(shim.record)
  return entries
}

/** Moments of the record, in order: anywhere, around each kind of sync, and while the log is copied. */
function chooseMoments(entries: Entry[], random: Random): number[] {
  const database = entries.find((entry) => entry.kind === 'name' && entry.data.toString().endsWith('.db'))?.file
  const all = Array.from(entries.keys())
  const syncs = all.filter((index) => entries[index]?.kind === 'sync')
  const copies = all.filter((index) => entries[index]?.kind === 'write' && entries[index].file === database)
  const kinds = [all, syncs, copies].filter((list) => list.length > 0)
  return Array.from({ length: CUTS }, (_, number) => {
    const list = kinds[number % kinds.length] ?? all
    const near = list[random.below(list.length)] ?? 0
    return Math.max(0, near - random.below(3))
  }).sort((a, b) => a - b)
}

const acknowledgedIn = ({ kind, data: answer }: Entry): number[] =>
  kind === 'answer' ? readPeople(answer.toString()) : []

const readBase = (): Record<string, Buffer> =>
  Object.fromEntries(readdirSync(before).map((name) => [name, readFileSync(join(before, name))]))

function fill(files: Map<string, Buffer>): void {
  rmSync(after, { recursive: true, force: true })
  mkdirSync(after)
  for (const [name, bytes] of files) if (name.startsWith('eventpost.db')) writeFileSync(join(after, name), bytes)
}

/** Cuts the power at many moments of a record. @returns what was wrong with the disks, and how many were acknowledgements how much */
async function cutPower(entries: Entry[]) {
  // a failure names its seed, and the seed brings back its cuts
  const random = createRandom(SEED)
  const disk = createDisk(data, readBase())
  const acknowledged: number[] = []
  const acknowledgements: number[] = []
  const [damaged, lost]: [string[], number[]] = [[], []]
  let next = 0
  for (const moment of chooseMoments(entries, random)) {
    for (; next < moment; next++) {
      const entry = entries[next] as Entry
      disk.advance(entry)
      acknowledged.push(...acknowledgedIn(entry))
    }
    fill(disk.cut(random))
    const found = await checkDisk(after)
    acknowledgements.push(acknowledged.length)
    if (typeof found === 'string') damaged.push(found)
    else {
      if (!isWhole(found)) damaged.push(JSON.stringify(found))
      lost.push(countLost(acknowledged, found))
    }
  }
  return { damaged, lost: lost.filter((count) => count > 0), most: Math.max(...acknowledgements) }
}

describe.skipIf(!canMakeFaults)(`a power cut (seed ${SEED})`, () => {
  test(
    'loses nothing acknowledged and leaves nothing partial',
    async () => {
      const entries = await record()
      const { damaged, lost, most } = await cutPower(entries)
      report({
        target: 'Simulated power cuts, with torn and reordered sectors',
        asked: '0 lost, 0 damaged',
        measured: `${lost.length} of ${CUTS} disks lost events, ${damaged.length} damaged, up to ${most.toLocaleString('en')} acknowledged`,
        isReached: lost.length + damaged.length === 0,
      })
      expect(damaged).toEqual([])
      expect(lost).toEqual([])
      expect(most).toBeGreaterThan(200)
    },
    TEST_MS,
  )

  // or the test above could not fail
  test(
    'is detected if fsync does nothing',
    async () => {
      const { damaged, lost } = await cutPower(await record('FAULT_NO_SYNC'))
      expect(damaged.length + lost.length).toBeGreaterThan(CUTS / 4)
    },
    TEST_MS,
  )
})
