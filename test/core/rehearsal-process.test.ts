/** What a rehearsal's process is to the others on the machine (promises 4). */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRehearsals } from '../../src/core/rehearsals.ts'
import { createTestServer, type TestServer } from '../helper.ts'

const MAIN = join(import.meta.dir, '../../src/main.ts')
const WAIT_MS = 10_000

let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
})
afterAll(() => server.close())

/** A service whose rehearsal waits for its request; prints the id of its process. */
const SERVICE = `
  const child = Bun.spawn([process.execPath, '${MAIN}', '--rehearsal'], { stdin: 'pipe', stdout: 'pipe' })
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
      const content = { trigger: { event: 'e' }, mail: { subject: 'S', body: 'B' } }
      const settings = { sendWindow: null, timezone: null, giveUpHours: null }
      const { rehearse } = createRehearsals(server.folder)
      let told = ''
      while (told === '') {
        const running = { done: false }
        const asked = rehearse({ appId: 1, content, settings, days: 7, now: Date.now() })
        void asked.finally(() => (running.done = true))
        while (!running.done) {
          const child = read(`/proc/self/task/${process.pid}/children`)
          // the others are not ours to look at
          if (read(`/proc/${child}/cmdline`).includes('--rehearsal')) told = read(`/proc/${child}/environ`)
          await Bun.sleep(0)
        }
      }
      expect(told).toContain('PATH=')
      expect(told).not.toContain('EVENTPOST_')
    } finally {
      delete process.env.EVENTPOST_MASTER_KEY
    }
  })

  test('says nothing when nobody reads its answer', async () => {
    const input = { appId: 1, content: { trigger: { event: 'e' } }, settings: {}, days: 7, now: Date.now() }
    const stdin = Buffer.from(JSON.stringify({ folder: server.folder, input, askedBy: process.pid }))
    const child = Bun.spawn([process.execPath, MAIN, '--rehearsal'], { stdin, stdout: 'pipe', stderr: 'pipe' })
    await child.stdout.cancel()
    expect(await new Response(child.stderr).text()).toBe('')
    expect(await child.exited).toBe(0)
  })
})
