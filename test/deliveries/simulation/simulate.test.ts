import { locationOf } from '../../data-folder.ts'
import { beforeEach, expect, test } from 'bun:test'
import { describeSimulation } from '../../../src/deliveries/simulation/index.ts'
import { type Progress, simulate } from '../../../src/deliveries/simulation/simulate.ts'
import { openForReadingAt } from '../../../src/store/open.ts'
import { createSimulationReads } from '../../../src/store/simulation.ts'
import { MINUTE } from '../../messaging.ts'
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

test('always names what is never considered, and what was skipped this time', () => {
  const nothing = { hasMore: false, estimated: 0, untried: 0 }
  const always = [
    expect.stringContaining('Past events are simulated in the order they arrived'),
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
