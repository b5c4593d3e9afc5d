import { locationOf } from '../../data-folder.ts'
import { beforeEach, expect, test } from 'bun:test'
import { describeSimulation } from '../../../src/deliveries/simulation/index.ts'
import { type Progress, simulate } from '../../../src/deliveries/simulation/simulate.ts'
import type { Condition } from '../../../src/store/message-types.ts'
import { openForReadingAt } from '../../../src/store/open.ts'
import { createSimulationReads } from '../../../src/store/simulation.ts'
import { DAY, HOUR } from '../../helper.ts'
import { MINUTE, page } from '../../messaging.ts'
import { type Simulating, useSimulating } from './simulating.ts'

const openSimulating = useSimulating()

let at: Simulating
beforeEach(async () => {
  at = await openSimulating()
})

async function simulateNewest(most: number, progress: Progress[] = []) {
  const { sql, close } = openForReadingAt(locationOf(at.server.folder))
  const until = at.clock.now()
  try {
    const reads = createSimulationReads(sql, { until })
    return await simulate(reads, at.inputOf({}), { most, onProgress: (one) => progress.push(one) })
  } finally {
    await close()
  }
}

test('considers only the newest triggers, and says if there were more', async () => {
  const names = ['a', 'b', 'c', 'd']
  for (const name of names) {
    await at.event(`${name}@example.com`)
    at.clock.tick(MINUTE)
  }
  const all = await simulateNewest(4)
  expect([all.triggered, all.hasMore, describeSimulation(all)]).toEqual([
    4,
    false,
    [expect.any(String), expect.any(String)],
  ])
  const some = await simulateNewest(3)
  expect([some.triggered, some.hasMore, some.counts]).toEqual([3, true, { send: 3 }])
  expect(some.lines.map(({ email }) => email)).toEqual(['d@example.com', 'c@example.com', 'b@example.com'])
  expect(describeSimulation(some)[0]).toContain('of the newest 10,000')
})

test('lists the latest hundred of each outcome, counts all, and reports progress', async () => {
  for (let index = 0; index < 205; index += 1) await at.event(`p${index}@example.com`)
  at.clock.tick(MINUTE)
  const progress: Progress[] = []
  const { counts, lines } = await simulateNewest(1_000, progress)
  expect([counts, lines.length, progress]).toEqual([{ send: 205 }, 100, [{ done: 200, of: 205 }]])
})

test('counts and lists each person once, whatever number of triggers they have', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']
  const content = { wait: { minutes: 60 }, holdback: 50, again: { once: 'property' as const, property: 'url' } }
  const sendAll = async (url: string) => {
    for (const name of names) await at.event(`${name}@example.com`, { properties: { url } })
  }
  await sendAll('https://first.example/results/1')
  at.clock.tick(2 * HOUR)
  const { people: before } = await at.simulate(content)
  expect([before.waiting, before.emailed + before.heldBack]).toEqual([0, 10])
  expect([before.emailed > 0, before.heldBack > 0]).toEqual([true, true])
  await sendAll('https://first.example/results/2')
  const { counts, people, outcomes } = await at.simulate(content)
  expect(counts).toEqual({ send: before.emailed, holdback: before.heldBack, waiting: 10 })
  expect(people).toEqual({ ...before, waiting: before.heldBack, heldBack: 0 })
  expect(outcomes.map(({ outcome, people }) => [outcome, people])).toEqual([
    ['send', before.emailed],
    ['waiting', before.heldBack],
  ])
  expect(outcomes.flatMap(({ lines }) => lines.map(({ email }) => email)).toSorted()).toEqual(
    names.map((name) => `${name}@example.com`),
  )
})

test('lists a person whose events were held back together with the rules of their email', async () => {
  const again = { once: 'property' as const, property: 'url', collect: { minutes: 30 } }
  for (const path of ['1', '2']) {
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
      await at.event(`${name}@example.com`, { properties: { url: `https://first.example/results/${path}` } })
    at.clock.tick(MINUTE)
  }
  at.clock.tick(2 * HOUR)
  const { people, outcomes } = await at.simulate({ wait: { minutes: 60 }, holdback: 50, again })
  expect([people.heldBack > 0, people.heldBack + people.emailed]).toEqual([true, 6])
  const heldBack = outcomes.find(({ outcome }) => outcome === 'holdback')?.lines ?? []
  expect(heldBack.map(({ verdicts }) => verdicts.length > 0)).toEqual(Array(people.heldBack).fill(true))
})

test('counts as unseen only people whose every email would have been sent without page views', async () => {
  const content = { onlyIf: [{ rule: 'away' as const }], again: { once: 'property' as const, property: 'url' } }
  for (const email of ['none@example.com', 'later@example.com']) await at.event(email)
  at.clock.tick(DAY)
  expect((await at.simulate(content)).people).toMatchObject({ emailed: 2, unseen: 2 })
  await at.browse('later@example.com', page('/wait'))
  at.clock.tick(2 * HOUR)
  for (const email of ['none@example.com', 'later@example.com'])
    await at.event(email, { properties: { url: 'https://first.example/results/2' } })
  at.clock.tick(2 * HOUR)
  const { counts, people } = await at.simulate(content)
  expect([counts, people]).toMatchObject([{ send: 4 }, { emailed: 2, unseen: 1 }])
})

test('counts the events that were too old when they arrived', async () => {
  const late = new Date(at.clock.now() - 72 * HOUR - 1).toISOString()
  await at.event('late@example.com', { occurredAt: late })
  await at.event('late@example.com', { occurredAt: late, properties: {} })
  await at.event('a@example.com', { occurredAt: new Date(at.clock.now() - 72 * HOUR).toISOString() })
  const found = await at.simulate()
  expect([found.triggered, found.people.triggered, found.tooOld]).toEqual([1, 1, 2])
  expect(describeSimulation(found)).toContain(
    '2 events were received more than 72 hours after they happened. They trigger no email.',
  )
  expect(describeSimulation({ ...found, tooOld: 1 })).toContain(
    '1 event was received more than 72 hours after it happened. It triggers no email.',
  )
  await at.event('b@example.com')
  const newest = await simulateNewest(1)
  expect([newest.tooOld, newest.hasMore]).toEqual([0, true])
  await at.event('late@example.com', { occurredAt: late, properties: { url: 'https://first.example/results/2' } })
  expect(describeSimulation(await simulateNewest(1))).toContain(
    'At least 1 event was received more than 72 hours after it happened. It triggers no email.',
  )
})

test('counts by arrival the events that were too old, however long before they happened', async () => {
  const ago = (ms: number) => new Date(at.clock.now() - ms).toISOString()
  await at.event('earlier@example.com', { occurredAt: ago(30 * DAY) })
  at.clock.tick(7 * DAY + 1)
  await at.event('late@example.com', { occurredAt: ago(10 * DAY) })
  // in time, of before
  at.clock.tick(6 * DAY)
  await at.event('before@example.com', { occurredAt: ago(2 * DAY) })
  const count = async (days: number, where?: Condition[]) => {
    const { triggered, tooOld } = await at.simulate({ trigger: { event: 'results_ready', where } }, { days })
    return [triggered, tooOld]
  }
  expect(await count(7)).toEqual([1, 1])
  expect(await count(1)).toEqual([0, 0])
  expect(await count(14)).toEqual([1, 2])
  const elsewhere = { property: 'url', is: 'equal' as const, to: 'https://other.example' }
  expect(await count(14, [elsewhere])).toEqual([0, 0])
})

test('always names what is never considered, and what was skipped this time', () => {
  const nothing = { hasMore: false, tooOld: 0, estimated: 0, untried: 0 }
  const always = [
    expect.stringContaining('Past events and page views are simulated in the order they arrived'),
    expect.stringContaining('Daily and weekly limits per person are ignored'),
  ]
  expect(describeSimulation(nothing)).toEqual(always)
  expect(describeSimulation({ ...nothing, estimated: 1 })).toEqual([
    expect.stringContaining('48 hours. One of these triggers is older and was checked against page views only'),
    ...always,
  ])
  expect(describeSimulation({ ...nothing, estimated: 12_345, untried: 6_789 })).toEqual([
    expect.stringContaining('12,345 of these triggers are older and were checked'),
    expect.stringContaining('only for the first emails, not for the other 6789'),
    ...always,
  ])
})
