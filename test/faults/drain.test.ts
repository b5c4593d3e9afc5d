/** SIGTERM: no accepted request is cut, what was acknowledged is there, the log is copied, exit 0. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Begun, makeFolder, setUp, startServer } from '../cli/process.ts'
import { createClient, type Sent } from './client.ts'
import { report } from './figures.ts'
import { readBack, sendEvent, startLoad } from './load.ts'

const ROUNDS = Number(process.env.DRAINS ?? 1)
const CLIENTS = 200

const { folder, remove } = makeFolder()
let begun: Begun

beforeAll(async () => {
  begun = await setUp(folder)
})
afterAll(remove)

const serve = async () => {
  const server = await startServer({ data: folder })
  return { server, target: { url: server.url, key: begun.apiKey, app: begun.appId } }
}

const logBytes = (): number => {
  const log = join(folder, 'eventpost.db-wal')
  return existsSync(log) ? statSync(log).size : 0
}

/** Requests to a server that is told to stop, within a second or two. */
const MOST_LOOKS = 50

describe('SIGTERM', () => {
  test(
    'under load: every request gets a full answer or is refused',
    async () => {
      const total = { answered: 0, cut: 0, lost: 0, codes: new Set<number | null>(), mostMs: 0 }
      for (let round = 0; round < ROUNDS; round += 1) {
        const { server, target } = await serve()
        const load = startLoad(target, { clients: CLIENTS, round })
        await Bun.sleep(700)
        const { code, ms } = await server.stop()
        await load.ended
        const { answered, refused: _, ...others } = load.counted.counts
        const again = await serve()
        const stored = new Set(await readBack(again.target))
        await again.server.stop()
        total.answered += answered
        total.cut += others.cut + others.unanswered + others.other_status
        total.lost += load.counted.acknowledged.filter((email) => !stored.has(email)).length
        total.codes.add(code)
        total.mostMs = Math.max(total.mostMs, ms)
        expect([others, server.said.err, logBytes()]).toEqual([{ unanswered: 0, cut: 0, other_status: 0 }, '', 0])
      }
      report({
        target: `SIGTERM with ${CLIENTS} clients: accepted requests cut off`,
        asked: '0, exit 0',
        measured: `${total.cut} of ${total.answered.toLocaleString('en')} in ${ROUNDS} stops, ${total.lost} lost, exit ${[...total.codes].join(', ')}, ${(total.mostMs / 1_000).toFixed(1)} s at most`,
        isReached: total.cut === 0 && total.lost === 0 && Bun.deepEquals([...total.codes], [0]),
      })
      expect([total.lost, [...total.codes]]).toEqual([0, [0]])
      expect(total.answered).toBeGreaterThan(CLIENTS)
      expect(total.mostMs).toBeLessThan(10_000)
    },
    10_000 + ROUNDS * 20_000,
  )

  test('during a body: waits for it and refuses new requests', async () => {
    const { server, target } = await serve()
    const body = JSON.stringify({ app: target.app, email: 'slow@example.com', event: 'slow', createContact: true })
    const head = `POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${target.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    let got = ''
    const ended = Promise.withResolvers<void>()
    const { hostname, port } = new URL(target.url)
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: { data: (_, data) => void (got += data.toString()), close: () => ended.resolve() },
    })
    socket.write(head + body.slice(0, 20))
    await Bun.sleep(50)
    const stopping = server.stop()
    await Bun.sleep(700)
    const late = await createClient(target.url, target.key).send('GET /healthz')
    socket.write(body.slice(20))
    await ended.promise
    expect(late).toEqual({ is: 'refused' })
    expect(got).toStartWith('HTTP/1.1 202 Accepted\r\n')
    expect(got).toMatch(/^connection: close\r$/im)
    expect((await stopping).code).toBe(0)
  })

  test('during a request of nearly 10 seconds: answers it', async () => {
    const { server, target } = await serve()
    const body = JSON.stringify({ app: target.app, email: 'slow2@example.com', event: 'slow', createContact: true })
    const head = `POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${target.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    let got = ''
    const ended = Promise.withResolvers<void>()
    const { hostname, port } = new URL(target.url)
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: { data: (_, data) => void (got += data.toString()), close: () => ended.resolve() },
    })
    socket.write(head + body.slice(0, 20))
    await Bun.sleep(50)
    const stopping = server.stop()
    const from = performance.now()
    for (let sent = 20; sent < 29; sent += 1) {
      // by the clock, because on a busy machine each sleep is a little longer
      await Bun.sleep(from + (sent - 19) * 1_060 - performance.now())
      socket.write(body.slice(sent, sent + 1))
    }
    socket.write(body.slice(29))
    await ended.promise
    expect(got).toStartWith('HTTP/1.1 202 Accepted\r\n')
    expect((await stopping).code).toBe(0)
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} when idle ends it at once, whoever keeps a connection open`, async () => {
      const { server, target } = await serve()
      const { hostname, port } = new URL(target.url)
      const silent = await Bun.connect({ hostname, port: Number(port), socket: { data: () => {} } })
      const kept = createClient(target.url, target.key)
      expect(await sendEvent(kept, target.app, `${signal}@example.com`)).toMatchObject({ status: 202 })
      expect(kept.isOpen()).toBe(true)
      const { code, ms } = await server.stop(signal)
      expect(code).toBe(0)
      expect(ms).toBeLessThan(1_000)
      expect(logBytes()).toBe(0)
      expect(server.said.out).toContain('"message":"stopped"')
      silent.end()
      kept.close()
    })
  }

  test('readiness fails while it waits', async () => {
    const { server, target } = await serve()
    const ask = (): Promise<Sent> => createClient(target.url, target.key).send('GET /readyz')
    expect(await ask()).toMatchObject({ status: 200 })
    const stopping = server.stop()
    // it listens for another moment; a connection made while it closes the socket would be reset
    const seen: unknown[] = []
    while (!seen.includes(503) && seen.length < MOST_LOOKS) {
      const sent = await ask()
      seen.push(sent.is === 'answered' ? sent.status : sent.is)
      await Bun.sleep(20)
    }
    expect(seen.at(-1)).toBe(503)
    expect(seen.filter((one) => one !== 200 && one !== 503)).toEqual([])
    await stopping
    expect(await ask()).toMatchObject({ is: 'refused' })
  })
})
