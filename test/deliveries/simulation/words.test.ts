import { expect, test } from 'bun:test'
import { saySimulation } from '../../../src/deliveries/simulation/words.ts'

test('says always what is never looked at, and what was not this time', () => {
  const [limits, ...none] = saySimulation({ estimated: 0, untried: 0 })
  expect([limits, none]).toEqual([expect.stringContaining('a day or a week is not looked at'), []])
  expect(saySimulation({ estimated: 1, untried: 0 })).toEqual([
    expect.stringContaining('48 hours. One of these is older, and was judged by page views alone'),
    limits,
  ])
  expect(saySimulation({ estimated: 12_345, untried: 6_789 })).toEqual([
    expect.stringContaining('48 hours. 12,345 of these are older, and were judged by page views alone'),
    expect.stringContaining('not for 6,789'),
    limits,
  ])
})
