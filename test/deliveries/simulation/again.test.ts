/** When a simulation takes "once" to be used up: by the order in which things came, as the queue does. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createAgain } from '../../../src/deliveries/simulation/again.ts'
import type { Again, MessageContent } from '../../../src/store/message-types.ts'
import { BATCH, HOUR } from '../../helper.ts'
import { openSimulating, type Simulating } from './simulating.ts'

const ADA = { contactId: 1, onceValue: null }
const AT = 1_000_000

describe('a message, once decided', () => {
  type Case = [
    name: string,
    again: Again | undefined,
    ending: { at: number; byId?: number; isSent: boolean },
    free: string[],
  ]
  /** Which of these may start it again: by when they came, with their ids. */
  const ARRIVALS: Record<string, { id: number; at: number; dueAt: number }> = {
    before: { id: 8, at: AT - 1, dueAt: AT },
    beside: { id: 9, at: AT, dueAt: AT },
    'the stop': { id: 10, at: AT, dueAt: AT },
    'after it beside': { id: 11, at: AT, dueAt: AT },
    later: { id: 12, at: AT + 1, dueAt: AT + 1 },
    'an hour later': { id: 13, at: AT + HOUR, dueAt: AT + HOUR },
  }
  const stopped = ['the stop', 'after it beside', 'later', 'an hour later']
  test.each<Case>([
    ['sent', undefined, { at: AT, isSent: true }, []],
    ['skipped when it was due', undefined, { at: AT, isSent: false }, ['later', 'an hour later']],
    ['stopped', undefined, { at: AT, byId: 10, isSent: false }, stopped],
    ['sent, by time', { everyHours: 1 }, { at: AT, isSent: true }, ['an hour later']],
    ['skipped, by time', { everyHours: 1 }, { at: AT, isSent: false }, ['later', 'an hour later']],
    ['stopped, by time', { everyHours: 1 }, { at: AT, byId: 10, isSent: false }, stopped],
  ])('%s', (_, again, ending, free) => {
    const once = createAgain(again)
    once.use(ADA, { at: AT - 5, byId: 3, isSent: false })
    once.use(ADA, ending)
    const isFree = ([, { dueAt, ...arrival }]: (typeof entries)[number]) => once.isFree({ ...ADA, ...arrival }, dueAt)
    const entries = Object.entries(ARRIVALS)
    expect(entries.filter(isFree).map(([name]) => name)).toEqual(free)
    expect(once.isFree({ contactId: 2, onceValue: null, id: 1, at: AT - 9 }, AT)).toBe(true)
  })

  test('is so for one value of a property, of one person', () => {
    const once = createAgain({ once: 'property', property: 'n' })
    const keys = ['1', '2'].flatMap((onceValue) => [1, 2].map((contactId) => ({ contactId, onceValue })))
    const listFree = () => keys.map((key) => once.isFree({ ...key, id: 20, at: AT + HOUR }, AT + HOUR))
    for (const [index, key] of keys.entries()) {
      expect(listFree()).toEqual(keys.map((_, other) => other >= index))
      once.use(key, { at: AT, isSent: true })
    }
  })
})

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
