import { describe, expect, test } from 'bun:test'
import { createLimits, RATE_LIMITS, type Limit } from '../../src/accounts/limits.ts'
import { createRandom } from '../random.ts'
import { createListModel } from './limits-model.ts'

const HOUR = 3_600_000
const EVENTS: Limit = { max: 6_000, windowMs: HOUR }

/** The wall clock is set to show that it isn't used. */
function createClock(start = 0) {
  const clock = { ms: start, wall: 1_750_000_000_000, monotonicMs: () => clock.ms, now: () => clock.wall }
  return clock
}

describe('an hour of 6,000', () => {
  test('the limits match the documentation', () => {
    expect(RATE_LIMITS).toEqual({
      events: { max: 6_000, windowMs: HOUR },
      contactAdds: { max: 600, windowMs: HOUR },
      addsPerVisitor: { max: 5, windowMs: 600_000 },
      contactUpdates: { max: 6_000, windowMs: HOUR },
    })
  })

  test('6,000 pass at once, the next one exactly an hour after the first', () => {
    const clock = createClock(5)
    const limits = createLimits({ clock })
    for (let i = 1; i <= 6_000; i++) {
      const taken = limits.take('k', EVENTS)
      expect([taken.allowed, taken.remaining]).toEqual([1, 6_000 - i])
    }
    const refused = { allowed: 0, remaining: 0, resetSeconds: 3_600, retryAfterSeconds: 3_600 }
    expect(limits.take('k', EVENTS)).toMatchObject(refused)
    clock.ms += HOUR - 1
    expect(limits.take('k', EVENTS)).toMatchObject({ ...refused, resetSeconds: 1, retryAfterSeconds: 1 })
    clock.ms += 1
    expect(limits.take('k', EVENTS, 6_001)).toMatchObject({ allowed: 6_000, remaining: 0, retryAfterSeconds: 3_600 })
  })

  test('6,000 at 0:59 are not followed by 6,000 at 60:00', () => {
    const clock = createClock()
    const limits = createLimits({ clock })
    clock.ms = 59_999
    expect(limits.take('k', EVENTS, 6_000).allowed).toBe(6_000)
    clock.ms = HOUR
    expect(limits.take('k', EVENTS)).toMatchObject({ allowed: 0, retryAfterSeconds: 60 })
    clock.ms = HOUR + 59_998
    expect(limits.take('k', EVENTS).allowed).toBe(0)
    clock.ms = HOUR + 59_999
    expect(limits.take('k', EVENTS).allowed).toBe(1)
  })

  test.each([
    [0, 3_600],
    [1, 3_600],
    [1_000, 3_599],
    [3_598_999, 2],
    [3_599_000, 1],
    [3_599_999, 1],
    [3_600_000, 0],
  ])('%i ms after the only take, reset says %i s', (ms, seconds) => {
    const clock = createClock()
    const limits = createLimits({ clock })
    limits.take('k', EVENTS)
    clock.ms = ms
    expect(limits.peek('k', EVENTS).resetSeconds).toBe(seconds)
  })

  test('fractions of milliseconds never let one through early', () => {
    const clock = createClock(0.9)
    const limits = createLimits({ clock })
    expect(limits.take('k', { max: 1, windowMs: 1_000 })).toMatchObject({ allowed: 1, resetSeconds: 1 })
    clock.ms = 1_000.8
    expect(limits.take('k', { max: 1, windowMs: 1_000 }).allowed).toBe(0)
    clock.ms = 1_001
    expect(limits.take('k', { max: 1, windowMs: 1_000 }).allowed).toBe(1)
  })
})

describe('take, peek and give back', () => {
  test('a batch takes as many as fit', () => {
    const limits = createLimits({ clock: createClock() })
    const limit = { max: 150, windowMs: HOUR }
    expect(limits.take('k', limit, 100)).toMatchObject({ allowed: 100, remaining: 50, retryAfterSeconds: 0 })
    expect(limits.take('k', limit, 100)).toMatchObject({ allowed: 50, remaining: 0, retryAfterSeconds: 3_600 })
    expect(limits.take('k', limit, 100)).toMatchObject({ allowed: 0, remaining: 0 })
  })

  test('peek takes nothing and creates no bucket', () => {
    const limits = createLimits({ clock: createClock() })
    const unused = { allowed: 1, remaining: 6_000, resetSeconds: 0, retryAfterSeconds: 0 }
    expect(limits.peek('k', EVENTS)).toMatchObject(unused)
    expect(limits.bucketCount()).toBe(0)
    limits.take('k', EVENTS)
    expect(limits.peek('k', EVENTS).remaining).toBe(5_999)
    expect(limits.peek('k', EVENTS).remaining).toBe(5_999)
  })

  test('buckets do not share', () => {
    const limits = createLimits({ clock: createClock() })
    const limit = { max: 1, windowMs: HOUR }
    expect([limits.take('a', limit).allowed, limits.take('b', limit).allowed, limits.take('a', limit).allowed]).toEqual(
      [1, 1, 0],
    )
  })

  test('giving back frees at most what was taken', () => {
    const limits = createLimits({ clock: createClock() })
    limits.giveBack('k')
    limits.take('k', EVENTS)
    limits.giveBack('k')
    limits.giveBack('k')
    expect(limits.peek('k', EVENTS)).toMatchObject({ remaining: 6_000, resetSeconds: 0 })
  })

  test('giving back twice undoes the latest two takes', () => {
    const clock = createClock()
    const limits = createLimits({ clock })
    for (clock.ms = 0; clock.ms < 3_000; clock.ms += 1_000) limits.take('k', EVENTS)
    limits.giveBack('k')
    limits.giveBack('k')
    expect(limits.peek('k', EVENTS)).toMatchObject({ remaining: 5_999, resetSeconds: 3_597 })
  })

  test.each([2, 100_001])('giving back returns the tokens of that take, not of a later one', (max) => {
    const clock = createClock()
    const limits = createLimits({ clock })
    const limit = { max, windowMs: HOUR }
    const mine = limits.take('k', limit, max - 1)
    clock.ms = 60_000
    limits.take('k', limit)
    limits.giveBack('k', mine)
    clock.ms = HOUR
    expect(limits.peek('k', limit)).toMatchObject({ remaining: max - 1, resetSeconds: 60 })
  })

  test('giving back after the window changes nothing', () => {
    const clock = createClock()
    const limits = createLimits({ clock })
    const mine = limits.take('k', EVENTS)
    clock.ms = HOUR - 1
    limits.take('k', EVENTS)
    clock.ms = HOUR
    limits.giveBack('k', mine)
    expect(limits.peek('k', EVENTS).remaining).toBe(5_999)
  })
})

describe('compared with a list of every take', () => {
  const { below } = createRandom(20_260_101)

  test('the ring answers exactly like the list, with changing limits and returned takes', () => {
    const clock = createClock(2 ** 32 - 50_000)
    const limits = createLimits({ clock })
    const model = createListModel()
    let limit = { max: 40, windowMs: 10_000 }
    for (let step = 0; step < 40_000; step++) {
      clock.ms += below(5) === 0 ? below(3_000) : below(40)
      if (below(300) === 0) clock.ms += 10_000
      if (below(50) === 0) limit = { ...limit, max: below(90) }
      const count = below(6) === 0 ? below(30) : 1
      const taken = limits.take('k', limit, count)
      expect(taken).toMatchObject(model.take(clock.ms, limit, count))
      if (below(8) === 0) {
        limits.giveBack('k', taken)
        model.giveBack(taken.allowed)
      }
    }
  })
})
