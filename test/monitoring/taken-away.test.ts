/** `bun run lab:alerts`: the whole service in real time. Tests move the clock instead (monitor.test.ts). */
import { afterAll, expect, test } from 'bun:test'
import { report } from '../faults/figures.ts'
import { join } from 'node:path'
import { eventpost, makeFolder, type Running, startServer } from '../cli/process.ts'
import { startMailServer } from '../mail/mail-server.ts'
import { signWebhook } from '../../src/monitoring/webhook.ts'

const SECRET = `whsec_${Buffer.from('a secret of thirty-two characters').toString('base64')}`
const MINUTE = 60_000

type Hook = { type: string; at: number; isSigned: boolean }

async function until(isSo: () => boolean, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!isSo() && performance.now() < deadline) await Bun.sleep(100)
}

let server: Running | null = null
afterAll(() => server?.stop('SIGKILL'))

test.skipIf(process.env.ALERTS !== 'all')(
  'a mail server taken away is reported within a minute, and its return once, over restarts',
  async () => {
    const place = makeFolder()
    const data = join(place.folder, 'data')
    const password = join(place.folder, 'password')
    await Bun.write(password, 'correct horse battery\n')
    const owner = ['--email', 'owner@example.com', '--app', 'Demo', '--password-file', password]
    expect((await eventpost(['init', '--data', data, ...owner])).code).toBe(0)
    const [first, second] = await Promise.all([startMailServer(), startMailServer()])
    const hooks: Hook[] = []
    const webhook = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: async (request) => {
        const body = await request.text()
        const header = (name: string): string => request.headers.get(name) ?? ''
        const call = { id: header('webhook-id'), at: Number(header('webhook-timestamp')) * 1_000, body }
        const isSigned = header('webhook-signature') === signWebhook(SECRET, call)
        hooks.push({ type: (JSON.parse(body) as Hook).type, at: performance.now(), isSigned })
        return new Response('')
      },
    })
    const env = {
      EVENTPOST_SMTP_URL: first.url,
      EVENTPOST_MAIL_FROM: 'Post <post@example.com>',
      EVENTPOST_ALERT_SMTP_URL: second.url,
      EVENTPOST_ALERT_WEBHOOK_URL: `http://127.0.0.1:${webhook.port}/hook`,
      EVENTPOST_ALERT_WEBHOOK_SECRET: SECRET,
      EVENTPOST_ALERT_PRIVATE_HOSTS: '127.0.0.1',
    }
    server = await startServer({ data, env })
    await Bun.sleep(15_000)
    await first.stop()
    const goneAt = performance.now()
    await until(() => hooks.length > 0 && second.received.length > 0, MINUTE)
    const reportedMs = (hooks[0]?.at ?? Number.POSITIVE_INFINITY) - goneAt
    console.log(`reported after ${Math.round(reportedMs / 1_000)} s`)
    report({
      target: 'A mail server that is taken away is reported by webhook and a second server',
      asked: 'within 60 s',
      measured: `${(reportedMs / 1_000).toFixed(0)} s`,
      isReached: reportedMs < MINUTE,
    })
    expect(hooks.map(({ type, isSigned }) => [type, isSigned])).toEqual([['alert.opened', true]])
    expect(second.received.map(({ to }) => to)).toEqual([['owner@example.com']])
    expect(reportedMs).toBeLessThan(MINUTE)
    const { code, out } = await eventpost(['doctor', '--data', data, '--offline'])
    expect([code, out.includes("can't be reached, since")]).toEqual([1, true])
    await server.stop()
    server = await startServer({ data, env })
    await Bun.sleep(25_000)
    expect(hooks).toHaveLength(1)
    const back = await startMailServer({}, {}, first.port)
    await until(() => hooks.length > 1 && back.received.length > 0, 2 * MINUTE)
    await server.stop()
    server = await startServer({ data, env })
    await Bun.sleep(15_000)
    await server.stop()
    expect(hooks.map(({ type }) => type)).toEqual(['alert.opened', 'alert.resolved'])
    expect([second.received.length, back.received.length]).toEqual([1, 1])
    await Promise.all([back.stop(), second.stop(), webhook.stop(true)])
    place.remove()
  },
  6 * MINUTE,
)
