/**
 * Faults of a real file system, ext4 on a loop device: power cuts, no space left, errors, read-only. The disk's power is
 * cut in the middle of a load; what a client had been told must be there after the next start.
 */
import { afterEach, describe, expect, test } from 'bun:test'
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isBrokenDisk } from '../../src/store/engine/errors.ts'
import { databasePath } from '../../src/store/engine/database.ts'
import { type Begun, call, eventpost, type How, makeFolder, type Running, setUp, startServer } from '../cli/process.ts'
import { checkDisk, countLost, isWhole } from './check-disk.ts'
import { report, reportNotRun } from './figures.ts'
import { startLoad } from './load.ts'
import { createLoopDisk, type LoopDisk, whyNoLoopDisk } from './loop-disk.ts'

const CUTS = Number(process.env.LOOP_CUTS ?? 10)
/** A cut comes at a random moment after so many acknowledgements. */
const EVENTS_A_CUT = Number(process.env.LOOP_EVENTS ?? 100)
const CONTROL_CUTS = Math.ceil(CUTS / 10)
const MEGABYTES = 1_024
const TEST_MS = 30_000 + CUTS * 20_000
/** On a machine that does other things too. */
const FAULT_MS = 60_000
const CLIENTS = 64

const why = whyNoLoopDisk()
if (why !== null) {
  console.log(`Faults of a real file system are not tested: ${why}.`)
  reportNotRun('Power cuts on ext4', why)
}

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function prepare({ megabytes }: { megabytes: number }): Promise<{ disk: LoopDisk; data: string; begun: Begun }> {
  const disk = createLoopDisk({ megabytes })
  closing.push(disk.remove)
  const data = join(disk.path, 'data')
  // a copy in another folder, because the disk has to be at rest
  const { folder, remove } = makeFolder()
  const begun = await setUp(folder)
  cpSync(folder, data, { recursive: true })
  remove()
  disk.restart()
  return { disk, data, begun }
}

let count = 0
const anEvent = ({ appId }: Begun) => ({
  app: appId,
  email: `one${(count += 1)}@example.com`,
  event: 'results_ready',
  createContact: true,
})

async function start(data: string, how: How = {}): Promise<Running> {
  const server = await startServer({ data, ...how })
  closing.push(() => server.stop('SIGKILL'))
  return server
}

/** Cuts the power of a loaded server again and again; each start continues with what the last cut left. */
async function cutPower(cuts: number, how: How = {}) {
  const { disk, data, begun } = await prepare({ megabytes: MEGABYTES })
  const people: number[] = []
  const [damaged, lost]: [string[], number[]] = [[], []]
  for (let round = 0; round < cuts; round += 1) {
    const server = await start(data, how)
    const load = startLoad({ url: server.url, key: begun.apiKey, app: begun.appId }, { clients: CLIENTS, round })
    while (load.counted.people.length < EVENTS_A_CUT) await Bun.sleep(5)
    await Bun.sleep(Math.random() * 50)
    // a machine without power answers nobody; an fsync that is under way may return success after a shutdown
    process.kill(server.pid, 'SIGSTOP')
    disk.cutPower()
    await server.stop('SIGKILL')
    await load.ended
    people.push(...load.counted.people)
    disk.restart()
    const found = await checkDisk(data)
    if (typeof found === 'string') damaged.push(found)
    else {
      if (!isWhole(found)) damaged.push(JSON.stringify(found.differences) + found.integrity)
      lost.push(countLost(people, found))
    }
  }
  return { acknowledged: people.length, lost: Math.max(...lost), damaged }
}

const plural = (count: number, noun: string): string => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`

describe.skipIf(why !== null)('a power cut', () => {
  test(
    'loses nothing acknowledged and leaves nothing partial',
    async () => {
      const { acknowledged, lost, damaged } = await cutPower(CUTS)
      const asked = CUTS * EVENTS_A_CUT
      report({
        target: 'Power cuts on ext4: acknowledged events lost',
        asked: `0 of ${asked.toLocaleString('en')} over ${plural(CUTS, 'cut')}`,
        measured: `${lost} of ${acknowledged.toLocaleString('en')}, ${damaged.length} files damaged`,
        isReached: lost === 0 && damaged.length === 0 && acknowledged >= asked,
      })
      expect(damaged).toEqual([])
      expect(lost).toBe(0)
      expect(acknowledged).toBeGreaterThanOrEqual(asked)
    },
    TEST_MS,
  )

  // or the test above could not fail
  test(
    'loses events with synchronous=NORMAL',
    async () => {
      const main = join(import.meta.dir, '../../src/main.ts')
      const program = [process.execPath, '--preload', join(import.meta.dir, 'normal.ts'), main]
      const { acknowledged, lost } = await cutPower(CONTROL_CUTS, { program })
      report({
        target: 'The same with synchronous=NORMAL, the control',
        asked: 'loses events',
        measured: `${lost.toLocaleString('en')} of ${acknowledged.toLocaleString('en')} over ${plural(CONTROL_CUTS, 'cut')}`,
        isReached: lost > 0,
      })
      expect(lost).toBeGreaterThan(0)
    },
    TEST_MS,
  )
})

describe.skipIf(why !== null)('a disk', () => {
  const RECOVERS_MS = 5_000

  test(
    'without space refuses writes, and accepts them again once there is some',
    async () => {
      const { disk, data, begun } = await prepare({ megabytes: 64 })
      const server = await start(data)
      const target = { url: server.url, key: begun.apiKey, app: begun.appId }
      const post = () => call(server.url, begun.apiKey, 'POST', '/api/v1/events', anEvent(begun))
      const load = startLoad(target, { clients: 8, round: 0 })
      const { counts, people } = load.counted
      while (people.length < EVENTS_A_CUT) await Bun.sleep(5)
      const fill = join(disk.path, 'fill')
      Bun.spawnSync(['dd', 'if=/dev/zero', `of=${fill}`, 'bs=64k'], { stderr: 'ignore' })
      while (counts.other_status < 50) await Bun.sleep(5)
      const [refused, read] = [
        await post(),
        await call(server.url, begun.apiKey, 'GET', `/api/v1/events?app=${begun.appId}`),
      ]
      const isLoss = isBrokenDisk(Object.assign(new Error(), { code: 'SQLITE_IOERR_WRITE' }), databasePath(data))

      rmSync(fill)
      const from = performance.now()
      while ((await post()).status !== 202) await Bun.sleep(10)
      const ms = performance.now() - from
      load.stop()
      await load.ended
      const { code } = await server.stop()
      const found = await checkDisk(data)
      const lost = typeof found === 'string' ? found : countLost(people, found)
      report({
        target: 'Full disk: writes are accepted again',
        asked: `within ${RECOVERS_MS / 1_000} s, 0 lost`,
        measured: `${(ms / 1_000).toFixed(1)} s, ${lost} lost`,
        isReached: ms <= RECOVERS_MS && lost === 0,
      })
      expect([refused.status, refused.body.error, read.status]).toEqual([503, 'unavailable', 200])
      expect([lost, code]).toEqual([0, 0])
      expect(ms).toBeLessThan(RECOVERS_MS)
      // SQLite reports a quota as an error of the disk
      expect(isLoss).toBe(false)
    },
    FAULT_MS,
  )

  test.each([
    ['fails', (disk: LoopDisk) => disk.cutPower()],
    ['turns read-only', (disk: LoopDisk) => disk.failItself()],
  ] as const)(
    'that %s under load ends the server',
    async (what, happen) => {
      const { disk, data, begun } = await prepare({ megabytes: 64 })
      const server = await start(data)
      const load = startLoad({ url: server.url, key: begun.apiKey, app: begun.appId }, { clients: 8, round: 0 })
      while (load.counted.people.length < EVENTS_A_CUT) await Bun.sleep(5)
      happen(disk)
      const code = await server.ended()
      report({
        target: `A disk that ${what} under load`,
        asked: 'the server exits 1',
        measured: `exit ${code}`,
        isReached: code === 1,
      })
      expect(code).toBe(1)
      expect(server.said.out).toContain('stopped because the disk failed')
      await load.ended
    },
    FAULT_MS,
  )

  test(
    'that is read-only is refused at the start, and nothing is changed',
    async () => {
      const { disk, data } = await prepare({ megabytes: 64 })
      disk.setMode('ro')
      const { code, out, err } = await eventpost(['serve', '--port', '0', '--data', data])
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(/^eventpost: Eventpost can't read from or write to the data folder [^\n]*--data\.\n$/)
      disk.setMode('rw')
      expect(readdirSync(data)).toEqual(['eventpost.db'])
    },
    FAULT_MS,
  )
})
