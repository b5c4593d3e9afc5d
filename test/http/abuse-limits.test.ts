import { describe, expect, test } from 'bun:test'
import { createAbuseLimits, ABUSE_LIMITS } from '../../src/http/abuse-limits.ts'
import { MOST_ADDRESSES } from '../../src/accounts/limits.ts'

const MINUTE = 60_000
const ADDRESS = '203.0.113.7'
const NOON = Date.UTC(2026, 4, 15, 12)
const KEY = { id: 'key_1', name: 'Production' }
const OTHER = { id: 'key_2', name: 'Other' }

function createGuard() {
  const clock = { ms: 0, monotonicMs: () => clock.ms, now: () => NOON + clock.ms }
  const guard = createAbuseLimits({ clock })
  const times = (count: number, run: () => void) => {
    for (let i = 0; i < count; i++) run()
  }
  return { clock, guard, times }
}

describe('abuse limits', () => {
  test('match the documentation', () => {
    expect(ABUSE_LIMITS).toEqual({ address: { max: 1_200, windowMs: MINUTE }, key: { max: 600, windowMs: MINUTE } })
  })

  test('600 refusals of a key, then it waits until the first is a minute old', () => {
    const { clock, guard, times } = createGuard()
    times(599, () => guard.countRefusal(KEY.id))
    expect(guard.checkKey(KEY)).toBe(null)
    clock.ms = 10_000
    guard.countRefusal(KEY.id)
    expect(guard.checkKey(KEY)).toEqual({
      refusal: 'rate_limited',
      message:
        'The key "Production" (key_1) has reached its limit of 600 refused requests per minute. Send this again in 50 seconds, at 12:01:00 UTC.',
      limited: {
        scope: 'key',
        keyId: 'key_1',
        limitName: 'refused_requests_per_minute',
        limit: 600,
        retryAfter: 50,
        retryAt: '2026-05-15T12:01:00.000Z',
      },
    })
    expect(guard.checkKey(OTHER)).toBe(null)
    clock.ms = MINUTE - 1
    expect(guard.checkKey(KEY)).toMatchObject({
      limited: { retryAfter: 1 },
      message: expect.stringContaining('1 second,'),
    })
    clock.ms = MINUTE
    expect(guard.checkKey(KEY)).toBe(null)
  })

  test('1,200 requests of an address without a key', () => {
    const { clock, guard, times } = createGuard()
    times(1_199, () => guard.countWithoutKey(ADDRESS))
    expect(guard.checkAddress(ADDRESS)).toBe(null)
    guard.countWithoutKey(ADDRESS)
    expect(guard.checkAddress(ADDRESS)).toEqual({
      refusal: 'rate_limited',
      message:
        'The address 203.0.113.7 has reached its limit of 1,200 requests per minute without a valid API key. Send this again in 60 seconds, at 12:01:00 UTC.',
      limited: {
        scope: 'ip',
        limitName: 'requests_without_key_per_minute',
        limit: 1_200,
        retryAfter: 60,
        retryAt: '2026-05-15T12:01:00.000Z',
      },
    })
    expect([guard.checkAddress('203.0.113.8'), guard.checkKey(KEY)]).toEqual([null, null])
    clock.ms = MINUTE
    expect(guard.checkAddress(ADDRESS)).toBe(null)
  })

  test('further refusals do not extend the wait', () => {
    const { clock, guard, times } = createGuard()
    times(600, () => guard.countRefusal(KEY.id))
    times(1_200, () => guard.countWithoutKey(ADDRESS))
    clock.ms = 30_000
    times(5_000, () => guard.countRefusal(KEY.id))
    times(5_000, () => guard.countWithoutKey(ADDRESS))
    expect(guard.checkKey(KEY)).toMatchObject({ limited: { retryAfter: 30 } })
    expect(guard.checkAddress(ADDRESS)).toMatchObject({ limited: { retryAfter: 30 } })
  })

  test('an IPv6 /64 counts as one address', () => {
    const { guard, times } = createGuard()
    let host = 0
    times(1_200, () => guard.countWithoutKey(`2001:db8:1:2::${(host++).toString(16)}`))
    expect(guard.checkAddress('2001:DB8:1:2:ffff::1')).toMatchObject({ limited: { scope: 'ip' } })
    expect(guard.checkAddress('2001:db8:1:3::1')).toBe(null)
  })

  test('IPv4 written into IPv6 is the same address', () => {
    const { guard, times } = createGuard()
    times(1_200, () => guard.countWithoutKey(`::ffff:${ADDRESS}`))
    expect(guard.checkAddress(ADDRESS)).toMatchObject({ limited: { scope: 'ip' } })
    expect(guard.checkAddress(`::ffff:${ADDRESS}`)).toMatchObject({ limited: { scope: 'ip' } })
  })

  test('never holds more addresses than its maximum', () => {
    const { guard } = createGuard()
    for (let i = 0; i < 300_000; i++) guard.countWithoutKey(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)
    expect(guard.addressCount()).toBeLessThanOrEqual(MOST_ADDRESSES)
  })

  test('checks store nothing, and idle addresses are removed', () => {
    const { clock, guard } = createGuard()
    guard.checkAddress(ADDRESS)
    expect(guard.addressCount()).toBe(0)
    guard.countWithoutKey(ADDRESS)
    clock.ms = MINUTE
    guard.forgetIdle()
    expect(guard.addressCount()).toBe(0)
  })

  test('the time in the message is never too early', () => {
    const { clock, guard, times } = createGuard()
    times(600, () => guard.countRefusal(KEY.id))
    clock.ms = 1
    expect(guard.checkKey(KEY)).toMatchObject({
      message: expect.stringContaining('in 60 seconds, at 12:01:01 UTC.'),
      limited: { retryAfter: 60, retryAt: '2026-05-15T12:01:01.000Z' },
    })
  })

  test('the name of a key is quoted without invisible characters', () => {
    const { guard, times } = createGuard()
    times(600, () => guard.countRefusal(KEY.id))
    const refusal = guard.checkKey({ id: KEY.id, name: 'a\u202eb\u200bc' })
    expect(refusal?.message).toContain('The key "abc" (key_1) has')
  })
})
