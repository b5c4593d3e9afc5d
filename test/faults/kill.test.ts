/** kill -9 in the middle of a load: what was acknowledged is there after a restart, and nothing is half. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Begun, makeFolder, setUp, startServer } from '../cli/process.ts'
import { report } from './figures.ts'
import { readBack, startLoad } from './load.ts'

const ROUNDS = 3
const CLIENTS = 300

const { folder, remove } = makeFolder()
let begun: Begun

beforeAll(async () => {
  begun = await setUp(folder)
})
afterAll(remove)

test('a killed server loses no acknowledged write', async () => {
  const acknowledged: string[] = []
  const unanswered: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const server = await startServer({ data: folder })
    const load = startLoad({ url: server.url, key: begun.apiKey, app: begun.appId }, { clients: CLIENTS, round })
    // in the middle of the load, however slow the machine is
    while (load.counted.acknowledged.length === 0) await Bun.sleep(10)
    await Bun.sleep(300 + Math.random() * 400)
    expect((await server.stop('SIGKILL')).code).toBeNull()
    await load.ended
    expect(load.counted.counts.other_status).toBe(0)
    acknowledged.push(...load.counted.acknowledged)
    unanswered.push(...load.counted.unanswered)

    const again = await startServer({ data: folder })
    const stored = await readBack({ url: again.url, key: begun.apiKey, app: begun.appId })
    const kept = new Set(stored)
    const lost = acknowledged.filter((email) => !kept.has(email))
    if (round === ROUNDS - 1) {
      report({
        target: `SIGKILL with ${CLIENTS} clients`,
        asked: '0 lost',
        measured: `${lost.length} of ${acknowledged.length.toLocaleString('en')} in ${ROUNDS} kills`,
        isReached: lost.length === 0,
      })
    }
    expect(lost).toEqual([])
    expect(kept.size).toBe(stored.length)
    // unacknowledged events may be there, and nothing else
    const known = new Set([...acknowledged, ...unanswered])
    expect(stored.filter((email) => !known.has(email))).toEqual([])
    expect((await again.stop()).code).toBe(0)
  }
})
