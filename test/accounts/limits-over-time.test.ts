import { describe, expect, test } from 'bun:test'
import { createLimits, type Limit } from '../../src/accounts/limits.ts'

const HOUR = 3_600_000
const EVENTS: Limit = { max: 6_000, windowMs: HOUR }

/** The wall clock is set to show that it isn't used. */
function createClock(start = 0) {
  const clock = { ms: start, wall: 1_750_000_000_000, monotonicMs: () => clock.ms, now: () => clock.wall }
  return clock
}

describe('a limit that changes while the server runs', () => {
  test.each([
    ['lowered', 100, 10, 60, { allowed: 0, remaining: 0 }],
    ['raised', 100, 200, 60, { allowed: 1, remaining: 139 }],
    ['raised by much', 100, 100_100, 60, { allowed: 1, remaining: 100_039 }],
    ['lifted', 100, Infinity, 60, { allowed: 1, remaining: Infinity, retryAfterSeconds: 0 }],
    ['no longer lifted', Infinity, 100, 60, { allowed: 1, remaining: 39 }],
    ['no longer lifted, after many', Infinity, 100, 300_000, { allowed: 0, remaining: 0 }],
    ['closed', 100, 0, 60, { allowed: 0, remaining: 0, retryAfterSeconds: 3_600 }],
  ])('%s: used tokens stay counted', (_, before, after, count, expected) => {
    const clock = createClock()
    const limits = createLimits({ clock })
    limits.take('k', { max: before, windowMs: HOUR }, count)
    expect(limits.take('k', { max: after, windowMs: HOUR })).toMatchObject(expected)
    clock.ms = HOUR
    expect(limits.peek('k', { max: after, windowMs: HOUR }).remaining).toBe(after)
  })

  test('after lowering, retry waits for enough tokens, reset only for the oldest', () => {
    const clock = createClock()
    const limits = createLimits({ clock })
    for (clock.ms = 0; clock.ms < 10_000; clock.ms += 1_000) limits.take('k', EVENTS)
    const taken = limits.take('k', { max: 3, windowMs: HOUR })
    expect(taken).toMatchObject({ allowed: 0, remaining: 0, resetSeconds: 3_590, retryAfterSeconds: 3_597 })
  })

  test('a limit that was lifted answers like any other after the window', () => {
    const clock = createClock()
    const limits = createLimits({ clock })
    limits.take('k', { max: Infinity, windowMs: HOUR }, 1_000_000)
    clock.ms = HOUR
    expect(limits.take('k', EVENTS)).toMatchObject({ allowed: 1, remaining: 5_999, resetSeconds: 3_600 })
  })
})

describe('clocks', () => {
  test('a clock step of a day in either direction changes nothing', () => {
    const clock = createClock()
    const limits = createLimits({ clock })
    limits.take('k', EVENTS, 6_000)
    for (const step of [86_400_000, -172_800_000]) {
      clock.wall += step
      expect(limits.take('k', EVENTS)).toMatchObject({ allowed: 0, retryAfterSeconds: 3_600 })
    }
    clock.ms = HOUR
    expect(limits.take('k', EVENTS).allowed).toBe(1)
  })

  test.each([49.71, 50, 99.42, 365, 3_650])('a bucket untouched for %d days is full again', (days) => {
    const clock = createClock(HOUR * 7)
    const limits = createLimits({ clock })
    limits.take('k', EVENTS, 6_000)
    clock.ms = Math.floor(clock.ms + days * 86_400_000)
    expect(limits.take('k', EVENTS, 6_000).allowed).toBe(6_000)
    expect(limits.take('k', EVENTS)).toMatchObject({ allowed: 0, retryAfterSeconds: 3_600 })
  })

  test('one take an hour for ten years is always the only one counted', () => {
    const clock = createClock()
    const limits = createLimits({ clock })
    for (let hour = 0; hour < 87_600; hour++) {
      if (limits.take('k', EVENTS).remaining !== 5_999) throw new Error(`hour ${hour}`)
      clock.ms += HOUR
    }
  })

  test('a time before the latest take counts as the time of that take', () => {
    const clock = createClock(10_000)
    const limits = createLimits({ clock })
    const limit = { max: 2, windowMs: 1_000 }
    limits.take('k', limit)
    limits.take('k', limit, 1, 9_000)
    clock.ms = 10_999
    expect(limits.take('k', limit).allowed).toBe(0)
  })

  test('refuses a window longer than its timestamps support', () => {
    const limits = createLimits({ clock: createClock() })
    expect(() => limits.take('k', { max: 1, windowMs: 2 ** 30 + 1 })).toThrow(RangeError)
  })
})

describe('restore', () => {
  test.each([
    ['ages', [3_599_999, 1_000, 0]],
    ['ages with counts', [[3_599_999, 1] as const, [1_000, 2] as const]],
    ['in any order, with what is over or in the future', [-5_000, 3_600_000, 9e9, 1_000, 3_599_999]],
  ])('tokens return at their original time: %s', (_, ago) => {
    const clock = createClock(20)
    const limits = createLimits({ clock })
    limits.restore('k', EVENTS, ago)
    expect(limits.peek('k', EVENTS)).toMatchObject({ remaining: 5_997, resetSeconds: 1 })
    clock.ms += 1
    expect(limits.peek('k', EVENTS)).toMatchObject({ remaining: 5_998, resetSeconds: 3_599 })
    clock.ms += HOUR
    expect(limits.peek('k', EVENTS)).toMatchObject({ remaining: 6_000, resetSeconds: 0 })
  })

  test('restores more than the limit, in addition to later usage', () => {
    const clock = createClock()
    const limits = createLimits({ clock })
    const limit = { max: 10, windowMs: HOUR }
    limits.take('k', limit, 4)
    limits.restore('k', limit, [[1_800_000, 12]])
    expect(limits.take('k', limit)).toMatchObject({ allowed: 0, resetSeconds: 1_800, retryAfterSeconds: 1_800 })
    clock.ms = 1_800_000
    expect(limits.take('k', limit)).toMatchObject({ allowed: 1, remaining: 5, resetSeconds: 1_800 })
  })

  test('a million tokens of a lifted limit are restored', () => {
    const clock = createClock()
    const limits = createLimits({ clock })
    limits.restore('k', EVENTS, [
      [60_000, 500_000],
      [59_500, 500_000],
    ])
    expect(limits.take('k', EVENTS)).toMatchObject({ allowed: 0, resetSeconds: 3_540, retryAfterSeconds: 3_541 })
  })

  test('nothing to restore leaves no bucket', () => {
    const limits = createLimits({ clock: createClock() })
    limits.restore('k', EVENTS, [HOUR])
    expect(limits.bucketCount()).toBe(0)
  })
})

describe('memory', () => {
  test('forgetIdle drops returned tokens and keeps others', () => {
    const clock = createClock()
    const limits = createLimits({ clock })
    limits.take('early', EVENTS)
    clock.ms = 1
    limits.take('late', EVENTS)
    clock.ms = HOUR
    limits.forgetIdle()
    expect(limits.bucketCount()).toBe(1)
    expect(limits.peek('late', EVENTS).remaining).toBe(5_999)
  })

  test('idle buckets are removed when new ones are added', () => {
    const clock = createClock()
    const limits = createLimits({ clock })
    const limit = { max: 5, windowMs: 1_000 }
    for (let i = 0; i < 100_000; i++) {
      limits.take(`address ${i}`, limit)
      clock.ms += 1
    }
    expect(limits.bucketCount()).toBeLessThan(5_000)
  })

  test('with a ceiling the oldest buckets go first', () => {
    const limits = createLimits({ clock: createClock(), mostBuckets: 1_000 })
    for (let i = 0; i < 10_000; i++) limits.take(`address ${i}`, EVENTS)
    expect(limits.bucketCount()).toBeLessThanOrEqual(1_000)
    expect(limits.peek('address 9999', EVENTS).remaining).toBe(5_999)
    expect(limits.peek('address 0', EVENTS).remaining).toBe(6_000)
  })
})
