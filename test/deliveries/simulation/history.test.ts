import { withSql } from '../../data-folder.ts'
import { beforeEach, describe, expect, test } from 'bun:test'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { idAt } from '../../../src/core/ids.ts'
import { DAY, HOUR } from '../../helper.ts'
import { MINUTE, page } from '../../messaging.ts'
import { outcomesOf, type Simulating, useSimulating } from './simulating.ts'

const openSimulating = useSimulating()

let at: Simulating
beforeEach(async () => {
  at = await openSimulating()
})

describe('if unknown visitors are skipped, a person who', () => {
  const onlyIf: MessageContent['onlyIf'] = [
    { rule: 'notSeen', ifUnknown: 'skip' },
    { rule: 'away', minutes: 30, ifUnknown: 'skip' },
  ]

  test.each([
    ['was seen long before the range', 10 * DAY, 7],
    ['was seen within the range', 2 * DAY, 7],
    ['was seen before a month', 40 * DAY, 30],
  ])('%s', async (_, before, days) => {
    await at.event('old@example.com', { event: 'signed_up' })
    await at.browse('old@example.com', page('/x'))
    await at.putLive({ onlyIf })
    at.clock.tick(before)
    await at.event('old@example.com')
    at.clock.tick(MINUTE)
    expect(await at.decideLive()).toEqual({ 'old@example.com': 'send' })
    expect(outcomesOf(await at.simulate({ onlyIf }, { days }))).toEqual({ 'old@example.com': 'send' })
  })

  test('was seen only after the decision', async () => {
    await at.putLive({ onlyIf })
    await at.event('new@example.com')
    at.clock.tick(MINUTE)
    expect(await at.decideLive()).toEqual({ 'new@example.com': 'never_reported' })
    at.clock.tick(HOUR)
    await at.browse('new@example.com', page('/x'))
    at.clock.tick(DAY)
    expect(outcomesOf(await at.simulate({ onlyIf }))).toEqual({ 'new@example.com': 'never_reported' })
  })

  test('was seen between the event and the decision', async () => {
    const content = { onlyIf, wait: { minutes: 60 } }
    await at.putLive(content)
    await at.event('new@example.com')
    at.clock.tick(10 * MINUTE)
    await at.browse('new@example.com', page('/x'))
    at.clock.tick(2 * HOUR)
    expect(await at.decideLive()).toEqual({ 'new@example.com': 'send' })
    expect(outcomesOf(await at.simulate(content))).toEqual({ 'new@example.com': 'send' })
  })
})

const ADA = 'ada@example.com'

describe('an event that happened in the same millisecond', () => {
  test.each<['done' | 'notDone', string]>([
    ['done', 'send'],
    ['notDone', 'done'],
  ])('as the person it added: %s', async (rule, outcome) => {
    const onlyIf: MessageContent['onlyIf'] = [{ rule, event: 'results_ready' }]
    const content: Partial<MessageContent> = { trigger: { contact: 'created' }, wait: { minutes: 10 }, onlyIf }
    await at.putLive(content)
    await at.event(ADA)
    at.clock.tick(HOUR)
    expect(await at.decideLive()).toEqual({ [ADA]: outcome })
    expect(outcomesOf(await at.simulate(content))).toEqual({ [ADA]: outcome })
  })

  test('as the trigger, with a clock of whole seconds', async () => {
    const content: Partial<MessageContent> = { wait: { minutes: 10 }, onlyIf: [{ rule: 'notDone', event: 'paid' }] }
    await at.putLive(content)
    const occurredAt = new Date(at.clock.now()).toISOString()
    await at.event(ADA, { event: 'paid', occurredAt, properties: {} })
    at.clock.tick(20)
    await at.event(ADA, { occurredAt })
    at.clock.tick(HOUR)
    expect(await at.decideLive()).toEqual({ [ADA]: 'done' })
    expect(outcomesOf(await at.simulate(content))).toEqual({ [ADA]: 'done' })
  })

  test('as the page that triggered it, in one batch', async () => {
    const onlyIf: MessageContent['onlyIf'] = [{ rule: 'done', event: 'pressed', since: 'ever' }]
    const content: Partial<MessageContent> = { trigger: { page: '/pricing' }, wait: { minutes: 10 }, onlyIf }
    await at.event(ADA, { event: 'signed_up' })
    at.clock.tick(MINUTE)
    await at.putLive(content)
    await at.browse(ADA, page('/pricing'), { type: 'track', name: 'pressed', path: '/pricing', age: 0 })
    at.clock.tick(HOUR)
    expect(await at.decideLive()).toEqual({ [ADA]: 'send' })
    expect(outcomesOf(await at.simulate(content))).toEqual({ [ADA]: 'send' })
  })
})

describe('events after the email was sent', () => {
  test.each<[string, MessageContent['onlyIf'], () => Promise<unknown>]>([
    ['a view', [{ rule: 'notSeen' }], () => at.browse(ADA, page('/results/1', 15 * MINUTE))],
    [
      'an event',
      [{ rule: 'notDone', event: 'paid' }],
      () =>
        at.event(ADA, {
          event: 'paid',
          properties: {},
          occurredAt: new Date(at.clock.now() - 15 * MINUTE).toISOString(),
        }),
    ],
  ])('%s, changes nothing', async (_, onlyIf, tell) => {
    const content = { wait: { minutes: 10 }, onlyIf }
    await at.putLive(content)
    await at.event(ADA)
    at.clock.tick(20 * MINUTE)
    expect(await at.decideLive()).toEqual({ [ADA]: 'send' })
    await tell()
    at.clock.tick(HOUR)
    expect(outcomesOf(await at.simulate(content))).toEqual({ [ADA]: 'send' })
  })
})

test('many events and views of a person take no longer each than a few', async () => {
  await at.event(ADA)
  await at.browse(ADA, page('/wait'))
  const first = at.clock.now()
  await withSql(at.server.folder, async (sql) => {
    const list = sql.prepare<{ id: number }>('SELECT id FROM events WHERE app_id = ? ORDER BY id')
    const [event, view] = await list.all(at.messaging.app.id)
    const copy = sql.prepare(
      `INSERT INTO events (id, app_id, contact_id, name_id, type, via, properties, path, received_at)
       WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9999)
       SELECT CAST(?1 AS bigint) + n * CAST(?2 AS bigint), app_id, contact_id, name_id, type, via, properties, path,
         CAST(?3 AS bigint) + n * 5000
       FROM events, numbers WHERE id = ?4`,
    )
    const step = idAt(first + 5_000) - idAt(first)
    await copy.run(idAt(first), step, first, event?.id ?? 0)
    await copy.run(idAt(first + 1), step, first + 1, view?.id ?? 0)
  })
  at.clock.tick(2 * DAY)
  const content: Partial<MessageContent> = {
    onlyIf: [{ rule: 'away', minutes: 5 }, { rule: 'notSeen' }, { rule: 'notDone', event: 'paid', since: 'ever' }],
    again: { once: 'property', property: 'n' },
  }
  const startedAt = process.cpuUsage()
  expect((await at.simulate(content)).triggered).toBe(10_000)
  const { user, system } = process.cpuUsage(startedAt)
  // CPU time of all threads; if each event read all others, this would take a minute
  expect((user + system) / 1_000).toBeLessThan(10_000)
})
