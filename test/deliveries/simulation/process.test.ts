/** What a simulation's process is to the others on the machine. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createSimulations } from '../../../src/deliveries/simulation/index.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { idAt } from '../../../src/core/ids.ts'
import { createTestServer, type TestServer } from '../../helper.ts'

const MAIN = join(import.meta.dir, '../../../src/main.ts')
const WAIT_MS = 10_000
// whoever gives way waits long on a machine that does much else
setDefaultTimeout(60_000)

let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
})
afterAll(() => server.close())

/** A service whose simulation waits for its request; prints the id of its process. */
const SERVICE = `
  const child = Bun.spawn([process.execPath, '${MAIN}', '--simulation'], { stdin: 'pipe', stdout: 'pipe' })
  console.log(child.pid)
  await child.exited`

async function startService() {
  const service = Bun.spawn([process.execPath, '-e', SERVICE], { stdout: 'pipe', stderr: 'inherit' })
  const { value } = await service.stdout.getReader().read()
  return { service, child: Number(new TextDecoder().decode(value)) }
}

async function until(isSo: () => boolean): Promise<boolean> {
  for (let waited = 0; !isSo() && waited < WAIT_MS; waited += 10) await Bun.sleep(10)
  return isSo()
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return '' // it has ended meanwhile
  }
}

/** How the threads of a process are scheduled: 0 as usual, 5 when nobody else wants the processor. */
const listPolicies = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).map(
    (thread) => readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').split(') ')[1]?.split(' ')[38] ?? '',
  )

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Few: a share of its own may be a small one, beside tests that leave it little. */
/** Of the processor, that a process has used: hundredths of a second. */
const ticksOf = (pid: number): number => Number(/\) (?:\S+ ){11}(\d+)/.exec(read(`/proc/${pid}/stat`))?.[1] ?? 0)

const EVENTS = 20_000

function fill(folder: string): void {
  const db = openDatabase(folder)
  const now = Date.now()
  db.run(`INSERT INTO event_names (id, app_id, name) VALUES (1, 1, 'e')`)
  db.run(
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ?)
     INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at) SELECT ? + i, 1, i, 1, 0, 0, ? FROM n`,
    [EVENTS, idAt(now), now],
  )
  db.close()
}

/** Simulates a message; `onSeen` is called with its process, again and again. */
async function simulate(onSeen: (child: string) => unknown) {
  const content = { trigger: { event: 'e' }, mail: { subject: 'S', body: 'B' } }
  const settings = { sendWindow: null, timezone: null, giveUpHours: null }
  const running = { done: false }
  const asked = createSimulations(server.folder).simulate({ appId: 1, content, settings, days: 7, now: Date.now() })
  void asked.finally(() => (running.done = true))
  while (!running.done) {
    for (const child of read(`/proc/self/task/${process.pid}/children`).split(' ')) {
      // the others are not ours to look at
      if (read(`/proc/${child}/cmdline`).includes('--simulation')) onSeen(child)
    }
    await Bun.sleep(1)
  }
  return asked
}

describe.skipIf(process.platform !== 'linux')('its process', () => {
  test('steps back with every thread, and ends with the service, however that ends', async () => {
    const { service, child } = await startService()
    try {
      expect(await until(() => read(`/proc/${child}/oom_score_adj`) === '1000')).toBe(true)
      expect(new Set(listPolicies(child))).toEqual(new Set(['5']))
      expect(listPolicies(service.pid)).not.toContain('5')
      // so that it cannot see that its input has ended
      process.kill(child, 'SIGSTOP')
      service.kill('SIGKILL')
      await service.exited
      expect(await until(() => !isRunning(child))).toBe(true)
    } finally {
      service.kill('SIGKILL')
      if (isRunning(child)) process.kill(child, 'SIGKILL')
    }
  })

  test('is not told the secrets of the service', async () => {
    process.env.EVENTPOST_MASTER_KEY = 'k'.repeat(32)
    try {
      let told = ''
      while (told === '') await simulate((child) => (told = read(`/proc/${child}/environ`)))
      expect(told).toContain('PATH=')
      expect(told).not.toContain('EVENTPOST_')
    } finally {
      delete process.env.EVENTPOST_MASTER_KEY
    }
  })

  test('starts again with a share of its own where others never leave the processor', async () => {
    fill(server.folder)
    // they leave most of it to the tests that run beside this one
    const busy = ['nice', '-n', '10', 'sh', '-c', 'while :; do :; done']
    const others = Array.from({ length: 2 * availableParallelism() }, () => Bun.spawn(busy))
    try {
      // a shell that has only begun to load leaves the processor
      expect(await until(() => others.every(({ pid }) => ticksOf(pid) > 1))).toBe(true)
      const paces = new Set<string>()
      const outcome = await simulate((child) => paces.add(read(`/proc/${child}/cmdline`).split('\0').at(-2) ?? ''))
      expect(outcome).toMatchObject({ triggered: EVENTS })
      expect(Array.from(paces)).toEqual(['idle', 'low'])
    } finally {
      for (const other of others) other.kill('SIGKILL')
    }
  })

  test('says nothing when nobody reads its answer', async () => {
    const input = { appId: 1, content: { trigger: { event: 'e' } }, settings: {}, days: 7, now: Date.now() }
    const stdin = Buffer.from(JSON.stringify({ folder: server.folder, input, askedBy: process.pid }))
    const child = Bun.spawn([process.execPath, MAIN, '--simulation', 'low'], { stdin, stdout: 'pipe', stderr: 'pipe' })
    await child.stdout.cancel()
    expect(await new Response(child.stderr).text()).toBe('')
    expect(await child.exited).toBe(0)
  })
})
