import { beforeEach, describe, expect, test } from 'bun:test'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { addPerson } from '../../api/reports.ts'
import { DAY, HOUR } from '../../helper.ts'
import { leave, MINUTE, page } from '../../messaging.ts'
import { type Simulating, useSimulating } from './simulating.ts'

const openSimulating = useSimulating()

const ADA = 'ada@example.com'
const urlOf = (result: number) => ({ properties: { url: `https://first.example/results/${result}` } })

let at: Simulating
beforeEach(async () => {
  at = await openSimulating()
})

async function countLive(): Promise<Record<string, number>> {
  await at.messaging.decide()
  const counts: Record<string, number> = {}
  for (const { state, reason } of await at.messaging.deliveries()) {
    const outcome = state === 'sent' ? 'send' : (reason ?? state)
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

const wait = { minutes: 60 }

describe('a person whose email was cancelled', () => {
  const cases: [string, Partial<MessageContent>, () => Promise<unknown>, string][] = [
    ['by a view', { onlyIf: [{ rule: 'notSeen' }] }, () => at.browse(ADA, page('/results/1')), 'seen'],
    [
      'by an event',
      { onlyIf: [{ rule: 'notDone', event: 'paid' }] },
      () => at.event(ADA, { event: 'paid', properties: {} }),
      'done',
    ],
  ]
  test.each(cases)('%s, may get it for what comes then', async (_, given, stop, reason) => {
    const content = { ...given, wait }
    await at.putLive(content)
    await at.event(ADA, urlOf(1))
    at.clock.tick(10 * MINUTE)
    const stoppedAt = at.clock.now()
    await stop()
    at.clock.tick(10 * MINUTE)
    await at.event(ADA, urlOf(2))
    at.clock.tick(2 * HOUR)
    expect(await countLive()).toEqual({ [reason]: 1, send: 1 })
    const { counts, lines } = await at.simulate(content)
    expect(counts).toEqual({ [reason]: 1, send: 1 })
    expect(lines.find(({ outcome }) => outcome === reason)?.dueAt).toBe(stoppedAt)
  })
})

test('the first cancellation is the reason, even if an earlier rule would fail when due', async () => {
  const content: Partial<MessageContent> = { onlyIf: [{ rule: 'away', minutes: 300 }, { rule: 'notSeen' }], wait }
  await at.putLive(content)
  await at.event(ADA, urlOf(1))
  at.clock.tick(10 * MINUTE)
  await at.browse(ADA, page('/results/1'))
  at.clock.tick(2 * HOUR)
  expect(await countLive()).toEqual({ seen: 1 })
  expect((await at.simulate(content)).counts).toEqual({ seen: 1 })
})

test('events before the trigger do not cancel it; the rules find them when due', async () => {
  const content: Partial<MessageContent> = { onlyIf: [{ rule: 'notDone', event: 'paid', since: { days: 2 } }], wait }
  await at.putLive(content)
  await at.event(ADA, { event: 'paid', properties: {} })
  at.clock.tick(DAY)
  await at.event(ADA, urlOf(1))
  at.clock.tick(10 * MINUTE)
  await at.event(ADA, urlOf(2))
  at.clock.tick(2 * HOUR)
  expect(await countLive()).toEqual({ done: 1 })
  expect((await at.simulate(content)).counts).toEqual({ done: 1, again: 1 })
})

test('an arrival during the wait for the send window cancels it', async () => {
  const sendWindow = { days: [1, 2, 3, 4, 5, 6, 7], from: '08:00', until: '09:00' }
  const settings = { sendWindow, timezone: 'UTC', giveUpHours: null }
  const content: Partial<MessageContent> = { onlyIf: [{ rule: 'notSeen' }] }
  at.clock.tick(DAY - (at.clock.now() % DAY) + 12 * HOUR)
  await at.putLive(content)
  await at.event(ADA, urlOf(1))
  at.clock.tick(HOUR)
  const stoppedAt = at.clock.now()
  await at.browse(ADA, page('/results/1'))
  at.clock.tick(DAY)
  const { counts, lines } = await at.simulate(content, { settings })
  expect(counts).toEqual({ seen: 1 })
  expect(lines[0]?.dueAt).toBe(stoppedAt)
})

test('a late arrival does not free "once" before it arrived', async () => {
  const content: Partial<MessageContent> = { onlyIf: [{ rule: 'notSeen' }], wait }
  await at.putLive(content)
  await at.event(ADA, urlOf(1))
  at.clock.tick(20 * MINUTE)
  await at.event(ADA, urlOf(2))
  at.clock.tick(10 * MINUTE)
  await at.browse(ADA, page('/results/1', 25 * MINUTE))
  at.clock.tick(3 * HOUR)
  expect(await countLive()).toEqual({ seen: 1 })
  expect((await at.simulate(content)).counts).toEqual({ seen: 1, again: 1 })
})

test('a rule about the days before the due time does not cancel earlier', async () => {
  const onlyIf: MessageContent['onlyIf'] = [{ rule: 'notDone', event: 'paid', since: { days: 1 } }]
  const content: Partial<MessageContent> = { onlyIf, wait: { minutes: 3 * 24 * 60 } }
  await at.putLive(content)
  await at.event(ADA, urlOf(1))
  at.clock.tick(HOUR)
  await at.event(ADA, { event: 'paid', properties: {} })
  at.clock.tick(HOUR)
  expect(await countLive()).toEqual({ waiting: 1 })
  expect((await at.simulate(content)).counts).toEqual({ waiting: 1 })
})

test('an event from a clock ahead of ours cancels it when it arrives', async () => {
  const content: Partial<MessageContent> = { onlyIf: [{ rule: 'notDone', event: 'paid' }], wait: { minutes: 5 } }
  await at.putLive(content)
  await at.event(ADA, urlOf(1))
  at.clock.tick(4 * MINUTE)
  const occurredAt = new Date(at.clock.now() + 8 * MINUTE).toISOString()
  await at.event(ADA, { event: 'paid', properties: {}, occurredAt })
  at.clock.tick(HOUR)
  expect(await countLive()).toEqual({ done: 1 })
  expect((await at.simulate(content)).counts).toEqual({ done: 1 })
})

test('an email that waits to know whether its person left is decided soon after they left, as in live sending', async () => {
  const content: Partial<MessageContent> = {
    onlyIf: [
      { rule: 'away', at: 'trigger' },
      { rule: 'away', minutes: 5 },
    ],
    wait: { minutes: 10 },
  }
  await addPerson(at.server)
  await at.putLive(content)
  await at.browse(ADA, page('/new'))
  at.clock.tick(5 * MINUTE)
  await at.event(ADA, urlOf(1))
  at.clock.tick(10 * MINUTE)
  expect(await countLive()).toEqual({ unsure: 1 })
  expect((await at.simulate(content)).counts).toEqual({ waiting: 1 })
  at.clock.tick(MINUTE)
  await at.browse(ADA, leave('/new'))
  at.clock.tick(5 * MINUTE)
  expect(await countLive()).toEqual({ not_away: 1 })
  expect((await at.simulate(content)).counts).toEqual({ not_away: 1 })
})
