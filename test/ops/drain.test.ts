/** Requests in progress: test/faults/drain.test.ts. */
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

const OPS = join(import.meta.dir, '../../src/ops')

/** A bare server whose store closes or fails to. */
const program = (happens: string, closeStore: string): string => `
  import { drainOnSignals } from '${OPS}/drain.ts'
  import { createLog } from '${OPS}/log.ts'
  const answer = async () => new Response()
  const http = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
  const log = createLog(Date.now)
  const said = (message) => log.write('info', message)
  const health = { isDraining: false }
  drainOnSignals({
    http, answer, health, log,
    maintenance: { stop: () => said('maintenance stopped') },
    lock: { release: () => said('lock released') },
    sender: { stop: async () => said('sender stopped'), countHanded: () => 0 },
    stopMailMs: 1_000,
    dependencies: {
      access: { saveUses: async () => said('uses saved') },
      notes: { save: async () => said('notes saved') },
      calls: { save: async () => said('calls saved') },
      requests: { save: async () => said('requests saved') },
      monitor: { settle: async () => said('alerts noted') },
      signInNotes: { save: async () => said('sign-in notes saved') },
      feed: { end: () => said('feed ended') },
      simulations: { stop: async () => said('simulations ended') },
      store: { close: async () => { ${closeStore} } },
    },
  })
  ${happens}
`
const CLOSES = `said('store closed, readiness red: ' + health.isDraining)`
const STOPPED = [
  'stopping',
  'feed ended',
  'maintenance stopped',
  'simulations ended',
  'sender stopped',
  'alerts noted',
  'uses saved',
  'notes saved',
  'calls saved',
  'requests saved',
  'sign-in notes saved',
  'store closed, readiness red: true',
  'lock released',
  'stopped',
]

async function run(happens: string, closeStore = CLOSES) {
  const child = Bun.spawn([process.execPath, '-e', program(happens, closeStore)], { stderr: 'pipe', timeout: 100_000 })
  const [out, code] = await Promise.all([new Response(child.stdout).text(), child.exited])
  const lines = out
    .trim()
    .split('\n')
    .map((line): { message: string; reason?: string } => JSON.parse(line))
  return { code, said: lines.map(({ message }) => message), reasons: lines.flatMap(({ reason }) => reason ?? []) }
}

describe('drainOnSignals', () => {
  test.each(['SIGTERM', 'SIGINT'])('%s: everything in order, exit 0', async (signal) => {
    expect(await run(`process.kill(process.pid, '${signal}')`)).toEqual({ code: 0, said: STOPPED, reasons: [] })
  })

  test('a second signal changes nothing', async () => {
    const twice = `process.kill(process.pid, 'SIGTERM'); setTimeout(() => process.kill(process.pid, 'SIGINT'), 20)`
    expect(await run(twice)).toEqual({ code: 0, said: STOPPED, reasons: [] })
  })

  test('an uncaught exception: the same, exit 1 with its reason', async () => {
    const { code, said, reasons } = await run(`setTimeout(() => { throw new Error('a bug') })`)
    expect([code, said]).toEqual([1, ['uncaught exception', ...STOPPED]])
    expect(reasons).toEqual([expect.stringContaining('Error: a bug')])
  })

  test('a rejected promise is logged and survived', async () => {
    const { code, said, reasons } = await run(
      `Promise.reject(new Error('a bug')); setTimeout(() => process.kill(process.pid, 'SIGTERM'), 50)`,
    )
    expect([code, said]).toEqual([0, ['unhandled promise rejection', ...STOPPED]])
    expect(reasons).toEqual([expect.stringContaining('Error: a bug')])
  })

  test('a store that cannot close: exit 1 with the reason', async () => {
    const { code, said, reasons } = await run(
      `process.kill(process.pid, 'SIGTERM')`,
      `throw new Error('the disk is gone')`,
    )
    expect([code, said.at(-1)]).toEqual([1, 'the server could not stop cleanly'])
    expect(said).not.toContain('stopped')
    expect(reasons).toEqual([expect.stringContaining('Error: the disk is gone')])
  })
})
