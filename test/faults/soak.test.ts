/**
 * A long load with a fault every minute, none of which ends the server: it may not grow, neither in memory nor in its
 * log, and at the end, after a SIGKILL, nothing acknowledged is missing.
 */
import { Database } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { databasePath, logPath } from '../../src/store/engine/database.ts'
import { makeFolder, setUp, startServer } from '../cli/process.ts'
import { checkDisk, countLost, isWhole } from './check-disk.ts'
import { createClient } from './client.ts'
import { report } from './figures.ts'
import { readPeople, sendEvent, startLoad } from './load.ts'
import { median, pace } from './pace.ts'
import { canMakeFaults, createShim } from './shim.ts'

/** The short form has minutes of a second, and says nothing about memory. */
const IS_SHORT = process.env.SOAK_MINUTES === undefined
const MINUTES = Number(process.env.SOAK_MINUTES ?? 3)
const MINUTE_MS = IS_SHORT ? 1_000 : 60_000
const PER_SECOND = IS_SHORT ? 50 : 200
/** Until its caches are full and its code is compiled. */
const WARM_MINUTES = IS_SHORT ? 1 : Math.min(5, Math.floor(MINUTES / 3))
const MOST_GROWTH = 0.05
const MOST_LOG_BYTES = 64 * 1024 * 1024
const SAMPLE_MS = 250
const READ_EVERY = 20

const { folder, remove } = makeFolder()
afterAll(remove)

const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1_024

describe.skipIf(!canMakeFaults)('a soak', () => {
  test(
    `of ${MINUTES} minutes with a fault in each`,
    async () => {
      const data = join(folder, 'data')
      const begun = await setUp(data)
      const shim = createShim(folder, data)
      const server = await startServer({ data, env: shim.env('FAULT_FULL'), timeoutMs: 0 })
      const target = { url: server.url, key: begun.apiKey, app: begun.appId }
      const lasts = (seconds: number) => Bun.sleep(((seconds * MINUTE_MS) / 60_000) * 1_000)
      const people: number[] = []
      const wait = { round: 0 }

      const withDatabase = async (sql: string, seconds: number): Promise<void> => {
        const db = new Database(databasePath(data))
        db.run('PRAGMA busy_timeout = 2000')
        db.run(sql)
        db.query('SELECT count(*) FROM install').get()
        await lasts(seconds)
        db.close()
      }
      const FAULTS: (() => Promise<void>)[] = [
        async () => {
          shim.set('FAULT_FULL')
          await lasts(5)
          shim.clear('FAULT_FULL')
        },
        () => withDatabase('BEGIN IMMEDIATE', 3),
        // the log cannot start over while another program reads an old state
        () => withDatabase('BEGIN', 5),
        async () => {
          const script = join(import.meta.dir, 'slow-clients.ts')
          const slow = Bun.spawn([process.execPath, script, target.url, target.key, target.app, '200'], {
            stdout: 'ignore',
          })
          await lasts(20)
          slow.kill('SIGKILL')
          await slow.exited
        },
        async () => {
          const burst = startLoad(target, { clients: 200, round: (wait.round += 1) })
          await lasts(3)
          burst.stop()
          await burst.ended
          people.push(...burst.counted.people)
        },
        async () => {
          const { hostname, port } = new URL(target.url)
          for (let count = 0; count < 200; count += 1) {
            const socket = connect(Number(port), hostname)
            socket.on('error', () => {})
            socket.end(crypto.getRandomValues(Buffer.alloc(2_000)))
            await Bun.sleep(5)
          }
        },
      ]

      const from = performance.now()
      const memory: { minute: number; bytes: number }[] = []
      let mostLog = 0
      const sampling = setInterval(() => {
        memory.push({ minute: Math.floor((performance.now() - from) / MINUTE_MS), bytes: residentBytes(server.pid) })
        mostLog = Math.max(mostLog, Bun.file(logPath(data)).size)
      }, SAMPLE_MS)
      const clients = Array.from({ length: 16 }, () => createClient(target.url, target.key))
      const isBusy = clients.map(() => false)
      let refused = 0
      const loading = pace({ seconds: (MINUTES * MINUTE_MS) / 1_000, perSecond: PER_SECOND }, async (number) => {
        const free = isBusy.indexOf(false)
        const client = clients[free]
        // the clients are all waiting: an open loop would only count its own queue
        if (!client) return
        isBusy[free] = true
        const isRead = number % READ_EVERY === 0
        const sent = isRead
          ? await client.send(`GET /api/v1/events?app=${target.app}&limit=20`)
          : await sendEvent(client, target.app, `soak${number}@example.com`)
        isBusy[free] = false
        if (sent.is === 'answered' && sent.status === 202) people.push(...readPeople(sent.body))
        else if (!isRead) refused += 1
      })
      for (let minute = 0; minute < MINUTES; minute += 1) {
        await lasts(20)
        await FAULTS[minute % FAULTS.length]?.()
        await Bun.sleep(Math.max(0, from + (minute + 1) * MINUTE_MS - performance.now()))
      }
      await loading
      clearInterval(sampling)
      for (const client of clients) client.close()
      expect((await server.stop('SIGKILL')).code).toBeNull()

      const memoryIn = (minute: number): number =>
        median(memory.filter((sample) => sample.minute === minute).map(({ bytes }) => bytes))
      const [early, late] = [memoryIn(WARM_MINUTES), memoryIn(MINUTES - 1)]
      const growth = late / early - 1
      const found = await checkDisk(data)
      const lost = typeof found === 'string' ? found : countLost(people, found)
      const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MB`
      report({
        target: `Soak of ${MINUTES} minutes, ${PER_SECOND} requests a second, ${MINUTES} faults`,
        asked: `memory +5% at most, WAL under ${megabytes(MOST_LOG_BYTES)}, 0 lost`,
        measured: `memory ${megabytes(early)} to ${megabytes(late)} (${(growth * 100).toFixed(1)}%), WAL ${megabytes(mostLog)}, ${lost} of ${people.length.toLocaleString('en')} lost, ${refused.toLocaleString('en')} refused`,
        isReached: growth <= MOST_GROWTH && mostLog < MOST_LOG_BYTES && lost === 0,
      })
      console.log(Array.from({ length: MINUTES }, (_, minute) => megabytes(memoryIn(minute))).join(', '))
      if (typeof found === 'string') throw new Error(found)
      expect([lost, isWhole(found)]).toEqual([0, true])
      expect(people.length).toBeGreaterThan((MINUTES * MINUTE_MS * PER_SECOND) / 1_000 / 2)
      expect(mostLog).toBeLessThan(MOST_LOG_BYTES)
      if (!IS_SHORT) expect(growth).toBeLessThanOrEqual(MOST_GROWTH)
    },
    60_000 + MINUTES * MINUTE_MS * 2,
  )
})
