import { beforeEach, describe, expect, test } from 'bun:test'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { BATCH, HOUR } from '../../helper.ts'
import { MINUTE, page } from '../../messaging.ts'
import { type Simulating, useSimulating } from './simulating.ts'

const openSimulating = useSimulating()

describe('events of one batch in the same millisecond', () => {
  let at: Simulating
  beforeEach(async () => {
    at = await openSimulating()
  })

  const READY = { event: 'results_ready', properties: { n: 1 } }
  const PAID = { event: 'paid' }
  type Case = [name: string, content: Partial<MessageContent>, events: object[], counts: Record<string, number>]
  test.each<Case>([
    [
      'start it once, although it is due at once',
      { onlyIf: [{ rule: 'tag', has: 'beta' }] },
      [READY, READY],
      { tag: 1 },
    ],
    [
      'start it again after one of them cancelled it',
      { onlyIf: [{ rule: 'notDone', event: 'paid' }], wait: { minutes: 10 } },
      [READY, READY, PAID, READY, READY],
      { done: 2 },
    ],
    [
      'start it again if each cancels the one before',
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

test('"once" stays used up when an email passes from its first event to another', async () => {
  const at = await openSimulating()
  const content: Partial<MessageContent> = {
    again: { once: 'person', collect: { minutes: 30 } },
    wait: { minutes: 10 },
    onlyIf: [{ rule: 'notSeen' }],
  }
  const result = (n: number) =>
    at.event('ada@example.com', { properties: { url: `https://first.example/results/${n}` } })
  await at.putLive(content)
  for (const n of [1, 2]) {
    await result(n)
    at.clock.tick(MINUTE)
  }
  await at.browse('ada@example.com', page('/results/1'))
  at.clock.tick(HOUR)
  await at.messaging.decide()
  await result(3)
  at.clock.tick(HOUR)
  await at.messaging.decide()
  const live = (await at.messaging.deliveries()).map(({ state, reason }) => reason ?? state)
  const { counts } = await at.simulate(content)
  expect([live, counts]).toEqual([['seen', 'sent'], { seen: 1, send: 1, again: 1 }])
})
