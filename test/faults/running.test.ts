/** Disks that fail under a running server. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { closeSync, copyFileSync, cpSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Begun, call, makeFolder, type Running, setUp, startServer } from '../cli/process.ts'
import { report } from './figures.ts'
import { readBack } from './load.ts'
import { canMakeFaults, createShim, type Shim } from './shim.ts'

let folder = ''
let remove = (): void => {}
let data = ''
let begun: Begun
let server: Running
let count = 0

beforeEach(async () => {
  ;({ folder, remove } = makeFolder())
  data = join(folder, 'data')
  begun = await setUp(data)
})
afterEach(async () => {
  await server.stop('SIGKILL')
  remove()
})

const target = () => ({ url: server.url, key: begun.apiKey, app: begun.appId })

async function post() {
  count += 1
  const email = `p${count}@example.com`
  const body = { app: begun.appId, email, event: 'results_ready', createContact: true }
  const { status, body: answer, headers } = await call(server.url, begun.apiKey, 'POST', '/api/v1/events', body)
  return { email, status, error: answer.error, retryAfter: headers.get('retry-after') }
}

/** What was logged of commits that fail, and that they no longer do. */
const linesOf = ({ said }: Running) =>
  said.out
    .split('\n')
    .filter((line) => /"message":"(nothing can be|writes are)/.test(line))
    .map((line) => {
      const { time: _, ...fields } = JSON.parse(line) as Record<string, string>
      return fields
    })

const readiness = async (): Promise<number> => (await fetch(`${server.url}/readyz`)).status

/** Asks again and again. @returns milliseconds until it was so. @throws Error when it takes longer than `mostMs` */
async function until(mostMs: number, isSo: () => Promise<boolean>): Promise<number> {
  const from = performance.now()
  while (!(await isSo())) {
    if (performance.now() - from > mostMs) throw new Error(`not within ${mostMs} ms`)
    await Bun.sleep(50)
  }
  return performance.now() - from
}

describe('the data file', () => {
  const accidents = {
    removed: (file: string) => rmSync(file),
    replaced: (file: string) => {
      copyFileSync(file, `${file}.other`)
      renameSync(`${file}.other`, file)
    },
    'gone with its folder': () => {
      cpSync(data, `${data}.moved`, { recursive: true })
      rmSync(data, { recursive: true })
    },
  }
  for (const [what, happen] of Object.entries(accidents)) {
    test(`${what}: readiness red and writes refused within 2 s`, async () => {
      server = await startServer({ data })
      expect([(await post()).status, await readiness()]).toEqual([202, 200])
      happen(join(data, 'eventpost.db'))
      const unavailable = { status: 503, error: 'unavailable', retryAfter: '2' }
      const ms = await until(2_000, async () => (await post()).status === 503 && (await readiness()) === 503)
      report({
        target: `Data file ${what}: not ready, writes refused`,
        asked: 'within 2 s',
        measured: `${(ms / 1_000).toFixed(1)} s`,
        isReached: true,
      })
      expect(await post()).toMatchObject(unavailable)
      await server.stop()
      expect(linesOf(server)).toEqual([
        { level: 'error', message: 'nothing can be saved', reason: 'the database file was replaced or removed' },
      ])
    })
  }
})

test('the data file damaged: nothing more is acknowledged, and the process exits', async () => {
  server = await startServer({ data })
  const first = await post()
  // the log and the caches hold what was written lately, so what is read next comes from the file
  expect([first.status, (await server.stop()).code]).toEqual([202, 0])
  server = await startServer({ data })
  const { size } = statSync(join(data, 'eventpost.db'))
  const file = openSync(join(data, 'eventpost.db'), 'r+')
  writeSync(file, Buffer.alloc(size - 8_192, 0xa5), 0, size - 8_192, 8_192)
  closeSync(file)
  const answers: number[] = []
  while (answers.length < 20) answers.push((await post().catch(() => ({ status: 0 }))).status)
  const code = await server.ended()
  const isReached = code === 1 && !answers.includes(202)
  report({
    target: 'Data file damaged while running',
    asked: 'not acknowledged, exit 1',
    measured: `${answers.filter((status) => status === 202).length} acknowledged, exit ${code}`,
    isReached,
  })
  expect([code, answers.includes(202)]).toEqual([1, false])
})

describe.skipIf(!canMakeFaults)('the disk', () => {
  let shim: Shim
  beforeEach(() => {
    shim = createShim(folder, data)
  })

  test('full: 503, reads work, and it recovers within 5 s', async () => {
    server = await startServer({ data, env: shim.env('FAULT_FULL') })
    const first = await post()
    expect(first.status).toBe(202)
    shim.set('FAULT_FULL')
    for (let turn = 0; turn < 5; turn++) {
      expect(await post()).toMatchObject({ status: 503, error: 'unavailable', retryAfter: '2' })
      expect(await readBack(target())).toEqual([first.email])
    }
    await until(2_000, async () => (await readiness()) === 503)
    shim.clear('FAULT_FULL')
    await until(5_000, async () => (await post()).status === 202 && (await readiness()) === 200)
    expect((await server.stop()).code).toBe(0)
    expect(linesOf(server)).toEqual([
      { level: 'error', message: 'nothing can be saved', reason: expect.stringContaining('full') },
      { level: 'info', message: 'writes are saved again' },
    ])
  })

  for (const [what, fault] of [
    ['a write', 'FAULT_WRITE_FAILS'],
    ['an fsync', 'FAULT_SYNC_FAILS'],
  ] as const) {
    test(`that fails ${what}: nothing is acknowledged, and the process exits`, async () => {
      server = await startServer({ data, env: shim.env(fault) })
      const first = await post()
      expect(first.status).toBe(202)
      shim.set(fault)
      const second = await post().catch(() => ({ status: 0 }))
      const code = await server.ended()
      report({
        target: `Failed ${what.replace(/^an? /, '')}`,
        asked: 'not acknowledged, exit 1',
        measured: `${second.status === 202 ? '' : 'not '}acknowledged, exit ${code}`,
        isReached: second.status !== 202 && code === 1,
      })
      expect([0, 503]).toContain(second.status)
      expect(code).toBe(1)
      expect(server.said.out).toContain('stopped because the disk failed')

      server = await startServer({ data })
      expect(await readBack(target())).toContain(first.email)
      expect((await post()).status).toBe(202)
    })
  }
})
