/** Clients that send slowly, read nothing or say nothing cost the others no time. */
import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { makeFolder, setUp, startServer } from '../cli/process.ts'
import { createClient } from './client.ts'
import { report } from './figures.ts'
import { median, pace, quantile } from './pace.ts'
import { sendEvent } from './load.ts'

const CLIENTS = Number(process.env.SLOW_CLIENTS ?? 40)
const SECONDS = Number(process.env.SLOW_SECONDS ?? 1)
const ROUNDS = Number(process.env.SLOW_ROUNDS ?? 1)
const PER_SECOND = 200
/** The short form runs beside many other tests, so it only shows that none waits for the slow ones to end. */
const P99_MS = process.env.SLOW_SECONDS === undefined ? 8_000 : 20

const { folder, remove } = makeFolder()
afterAll(remove)

test(
  `${CLIENTS} slow clients`,
  async () => {
    const begun = await setUp(folder)
    const server = await startServer({ data: folder })
    const { apiKey: key, appId: app } = begun
    const program = [process.execPath, join(import.meta.dir, 'slow-clients.ts'), server.url, key, app, String(CLIENTS)]
    const slow = Bun.spawn(program, { stdout: 'pipe', stderr: 'inherit' })
    await slow.stdout.getReader().read()

    const p99s: number[] = []
    let failed = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const times = await pace({ seconds: SECONDS, perSecond: PER_SECOND }, async (number) => {
        const client = createClient(server.url, key)
        const sent = await sendEvent(client, app, `r${round}n${number}@example.com`)
        client.close()
        if (sent.is !== 'answered' || sent.status !== 202) failed += 1
      })
      p99s.push(quantile(times, 0.99))
    }
    slow.kill('SIGKILL')
    const p99 = median(p99s)
    report({
      target: `${CLIENTS.toLocaleString('en')} slow clients: p99 of the others`,
      asked: `at most ${P99_MS} ms`,
      measured: `${p99.toFixed(1)} ms (median of ${ROUNDS}: ${p99s.map((ms) => ms.toFixed(1)).join(', ')})`,
      isReached: p99 <= P99_MS && failed === 0,
    })
    await server.stop('SIGKILL')
    expect(failed).toBe(0)
    expect(p99).toBeLessThanOrEqual(P99_MS)
  },
  60_000 + ROUNDS * SECONDS * 2_000,
)
