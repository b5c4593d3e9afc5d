/** When a simulation takes "once" to be used up: by the order in which things came, as the queue does. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { BATCH, HOUR } from '../../helper.ts'
import { openSimulating, type Simulating } from './simulating.ts'

describe('several events of one batch, which came in the same millisecond,', () => {
  let at: Simulating
  beforeEach(async () => {
    at = await openSimulating()
  })
  afterEach(() => at.close())

  const READY = { event: 'results_ready', properties: { n: 1 } }
  const PAID = { event: 'paid' }
  type Case = [name: string, content: Partial<MessageContent>, events: object[], counts: Record<string, number>]
  test.each<Case>([
    ['start it once, though it is due at once', { onlyIf: [{ rule: 'tag', has: 'beta' }] }, [READY, READY], { tag: 1 }],
    [
      'start it again after one of them stopped it',
      { onlyIf: [{ rule: 'notDone', event: 'paid' }], wait: { minutes: 10 } },
      [READY, READY, PAID, READY, READY],
      { done: 2 },
    ],
    [
      'start it again where each stops the one before',
      { onlyIf: [{ rule: 'notDone', event: 'results_ready' }], wait: { minutes: 10 } },
      [READY, READY],
      { done: 2 },
    ],
  ])('%s', async (_, content, events, counts) => {
    await at.putLive(content)
    const app = at.server.first.appId
    const body = { events: events.map((event) => ({ app, email: 'ada@example.com', createContact: true, ...event })) }
    expect((await at.server.call('POST', BATCH, { body })).status).toBe(207)
    at.clock.tick(HOUR)
    const live = Object.values(await at.decideLive())
    const { counts: simulated, triggered } = await at.simulate(content)
    const { again = 0, ...decided } = simulated
    expect([live, decided]).toEqual([[Object.keys(counts)[0] ?? ''], counts])
    expect(again).toBe(triggered - (await at.messaging.deliveries()).length)
  })
})
