import { afterEach, beforeEach, describe, expect, jest, test } from 'bun:test'
import { DrizzleQueryError } from 'drizzle-orm'
import { type Maintenance, startMaintenance } from '../../src/ops/maintenance.ts'
import { createLog } from '../../src/ops/log.ts'
import { createTestServer, DAY, type TestServer } from '../helper.ts'
import { keepOutput } from './keep-output.ts'

const SAVE_USES_MS = 30_000
const CLEAN_UP_MS = 60_000
const RUN_SCHEDULES_MS = 5_000
const REMOVE_COPIES_MS = 3_600_000

let server: TestServer
let maintenance: Maintenance
let lines: string[] = []
let batches: (number | Error)[] = []
let newest = Promise.withResolvers<number | null>()
const calls = {
  backups: 0,
  saveUses: 0,
  limits: 0,
  abuseLimits: 0,
  cleanUp: [] as number[],
  schedules: [] as number[],
  removeOldCopies: [] as number[],
  arrangePartitions: [] as number[],
  expire: [] as number[],
}

beforeEach(async () => {
  server = await createTestServer()
  Object.assign(calls, {
    backups: 0,
    saveUses: 0,
    limits: 0,
    abuseLimits: 0,
    cleanUp: [],
    schedules: [],
    removeOldCopies: [],
    arrangePartitions: [],
    expire: [],
  })
  lines = []
  batches = []
  newest = Promise.withResolvers()
  const parts = server.parts()
  const log = createLog(server.clock.now, keepOutput(lines))
  jest.useFakeTimers()
  maintenance = startMaintenance(
    {
      ...parts,
      access: { ...parts.access, saveUses: async () => void calls.saveUses++ },
      limits: { ...parts.limits, forgetIdle: () => void calls.limits++ },
      abuseLimits: { ...parts.abuseLimits, forgetIdle: () => void calls.abuseLimits++ },
      store: {
        ...parts.store,
        holdDuty: async () => 1,
        removeOldCopies: async (now) => {
          calls.removeOldCopies.push(now)
          return ['/data/old']
        },
        arrangePartitions: async (now) => void calls.arrangePartitions.push(now),
        hasScheduledWork: async (at) => {
          calls.schedules.push(at)
          return false
        },
        findNewestTime: () => newest.promise,
        expire: async ({ at }) => {
          calls.expire.push(at)
          return { deleted: 0, isMore: false }
        },
        cleanUp: async ({ at }) => {
          calls.cleanUp.push(at)
          const deleted = batches.shift() ?? 0
          if (deleted instanceof Error) throw deleted
          return { deleted }
        },
        stats: () => ({ ...parts.store.stats(), logBytes: 2 ** 31 }),
      },
      backups: { runIfDue: async () => void calls.backups++ },
      watchesLog: true,
    },
    log,
  )
})
afterEach(async () => {
  maintenance.stop()
  jest.useRealTimers()
  await server.close()
})

/** Moves the clock and waits for what it started. */
async function pass(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms)
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

describe('startMaintenance', () => {
  test('looks every minute whether a backup is due', async () => {
    for (const _ of [1, 2, 3]) await pass(CLEAN_UP_MS)
    expect(calls.backups).toBe(3)
  })

  test('warns of a write-ahead log that another program must shorten and does not', async () => {
    await pass(10 * CLEAN_UP_MS)
    await pass(1_000)
    expect(lines.join('')).toContain('the write-ahead log is over 1 GB')
  })

  test('saves key usage every 30 seconds', async () => {
    await pass(SAVE_USES_MS - 1)
    expect(calls.saveUses).toBe(0)
    await pass(1)
    expect(calls.saveUses).toBe(1)
    await pass(SAVE_USES_MS)
    expect(calls.saveUses).toBe(2)
  })

  test('removes idle entries and deletes old rows every minute', async () => {
    batches = [500, 500, 3]
    await pass(CLEAN_UP_MS)
    const now = server.clock.now()
    expect(calls).toMatchObject({ limits: 1, abuseLimits: 1, cleanUp: [now, now, now, now] })
  })

  test('removes the copies of upgrades that are a week old, by a clock that did not just jump ahead', async () => {
    server.clock.wallMs += 30 * DAY
    await pass(REMOVE_COPIES_MS)
    expect(calls.removeOldCopies).toEqual([server.clock.wallMs - 30 * DAY])
    jest.advanceTimersByTime(1_000)
    const logged = lines
      .join('')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
    expect(logged).toContainEqual(
      expect.objectContaining({
        level: 'info',
        message: 'removed the copy made before an upgrade a week ago',
        file: '/data/old',
      }),
    )
  })

  test('arranges partitions every hour, by a clock that did not just jump ahead', async () => {
    const now = server.clock.now()
    server.clock.wallMs += 400 * DAY
    await pass(3_600_000)
    expect(calls.arrangePartitions).toEqual([now])
  })

  test('runs schedules every 5 seconds, by a clock that did not just jump ahead', async () => {
    const now = server.clock.now()
    await pass(RUN_SCHEDULES_MS)
    server.clock.wallMs += 30 * DAY
    await pass(RUN_SCHEDULES_MS)
    server.clock.wallMs -= 30 * DAY
    await pass(RUN_SCHEDULES_MS)
    expect(calls.schedules).toEqual([now, now, now])
  })

  test('deletes what has expired every minute, by a clock that never jumps ahead', async () => {
    newest.resolve(null)
    const now = server.clock.now()
    server.clock.wallMs += 400 * DAY
    await pass(CLEAN_UP_MS)
    expect(calls.expire).toEqual([now])
  })

  test('deletes nothing for a day after a start long after the newest row, since the clock may be ahead', async () => {
    newest.resolve(server.clock.now() - 400 * DAY)
    await pass(CLEAN_UP_MS)
    expect(calls.expire).toEqual([])
    server.clock.elapsedMs += DAY
    await pass(CLEAN_UP_MS)
    expect(calls.expire).toHaveLength(1)
  })

  test('a failing task is logged and tried again', async () => {
    batches = [new Error('the disk is full'), 2]
    await pass(CLEAN_UP_MS)
    jest.advanceTimersByTime(1_000)
    expect(JSON.parse(lines.join(''))).toMatchObject({
      level: 'error',
      message: 'maintenance failed',
      task: 'clean up',
      reason: 'Error: the disk is full',
    })
    await pass(CLEAN_UP_MS)
    expect(calls.cleanUp).toHaveLength(3)
    batches = [new DrizzleQueryError('select canary', ['canary'], new Error('connection refused'))]
    await pass(CLEAN_UP_MS)
    jest.advanceTimersByTime(1_000)
    expect(lines.at(-1)).toContain('"reason":"Error: connection refused"')
    expect(lines.join('')).not.toContain('canary')
  })

  test('stop ends them', async () => {
    maintenance.stop()
    await pass(10 * CLEAN_UP_MS)
    expect(calls).toMatchObject({ saveUses: 0, cleanUp: [] })
  })
})
