import { describe, expect, test } from 'bun:test'
import { createFloodGuard, FLOOD_LIMITS, MOST_ADDRESSES } from '../../src/core/flood.ts'

const MINUTE = 60_000
const ADDRESS = '203.0.113.7'

function createGuard() {
  const clock = { ms: 0, monotonicMs: () => clock.ms }
  const guard = createFloodGuard({ clock })
  const refuse = (times: number, address: string, keyId: string | null) => {
    for (let i = 0; i < times; i++) guard.countRefusal(address, keyId)
  }
  return { clock, guard, refuse }
}

describe('the flood guard', () => {
  test('its limits are those of the contract', () => {
    expect(FLOOD_LIMITS).toEqual({ ip: { max: 1_200, windowMs: MINUTE }, key: { max: 600, windowMs: MINUTE } })
  })

  test('1,200 refusals of an address pass, then it waits until the first is a minute old', () => {
    const { clock, guard, refuse } = createGuard()
    refuse(1_199, ADDRESS, null)
    expect(guard.check(ADDRESS, null)).toBe(null)
    clock.ms = 10_000
    refuse(1, ADDRESS, null)
    expect(guard.check(ADDRESS, null)).toEqual({ scope: 'ip', limit: 1_200, retryAfter: 50 })
    clock.ms = MINUTE - 1
    expect(guard.check(ADDRESS, null)).toEqual({ scope: 'ip', limit: 1_200, retryAfter: 1 })
    clock.ms = MINUTE
    expect(guard.check(ADDRESS, null)).toBe(null)
  })

  test('600 refusals of a key, from whatever addresses', () => {
    const { clock, guard, refuse } = createGuard()
    for (let i = 0; i < 600; i++) refuse(1, `198.51.100.${i % 250}`, 'key_1')
    expect(guard.check('192.0.2.1', 'key_1')).toEqual({ scope: 'key', limit: 600, retryAfter: 60 })
    expect(guard.check('192.0.2.1', 'key_2')).toBe(null)
    expect(guard.check('192.0.2.1', null)).toBe(null)
    clock.ms = MINUTE
    expect(guard.check('192.0.2.1', 'key_1')).toBe(null)
  })

  test('a refusal with a key counts for the address too', () => {
    const { guard, refuse } = createGuard()
    refuse(600, ADDRESS, 'key_1')
    refuse(599, ADDRESS, 'key_2')
    expect(guard.check(ADDRESS, 'key_2')).toBe(null)
    refuse(1, ADDRESS, null)
    expect(guard.check(ADDRESS, 'key_2')).toEqual({ scope: 'ip', limit: 1_200, retryAfter: 60 })
    expect(guard.check(ADDRESS, null)).toEqual({ scope: 'ip', limit: 1_200, retryAfter: 60 })
  })

  test('where both are over, the longer wait is told', () => {
    const { clock, guard, refuse } = createGuard()
    refuse(1_200, ADDRESS, null)
    clock.ms = 30_000
    refuse(600, '192.0.2.1', 'key_1')
    expect(guard.check(ADDRESS, 'key_1')).toEqual({ scope: 'key', limit: 600, retryAfter: 60 })
    expect(guard.check(ADDRESS, 'key_2')).toEqual({ scope: 'ip', limit: 1_200, retryAfter: 30 })
  })

  test('what goes on being refused after that does not make the wait longer', () => {
    const { clock, guard, refuse } = createGuard()
    refuse(1_200, ADDRESS, null)
    clock.ms = 30_000
    refuse(5_000, ADDRESS, null)
    expect(guard.check(ADDRESS, null)).toEqual({ scope: 'ip', limit: 1_200, retryAfter: 30 })
  })

  test('IPv6 without a key counts by /64, and does not shut out the keys of the same network', () => {
    const { guard, refuse } = createGuard()
    for (let i = 0; i < 1_200; i++) refuse(1, `2001:db8:1:2::${i.toString(16)}`, null)
    expect(guard.check('2001:db8:1:2:ffff::', null)).toMatchObject({ scope: 'ip' })
    expect(guard.check('2001:db8:1:3::1', null)).toBe(null)
    expect(guard.check('2001:db8:1:2::1', 'key_1')).toBe(null)
  })

  test('IPv4 written into IPv6 is the same address', () => {
    const { guard, refuse } = createGuard()
    refuse(1_200, `::ffff:${ADDRESS}`, null)
    expect(guard.check(ADDRESS, null)).toMatchObject({ scope: 'ip' })
    expect(guard.check(`::ffff:${ADDRESS}`, 'key_1')).toMatchObject({ scope: 'ip' })
  })

  test('three times as many addresses leave no more than the ceiling', () => {
    const { guard } = createGuard()
    for (let i = 0; i < 300_000; i++) guard.countRefusal(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, null)
    expect(guard.addressCount()).toBeLessThanOrEqual(MOST_ADDRESSES)
  })

  test('asking leaves no trace, and idle addresses are forgotten', () => {
    const { clock, guard, refuse } = createGuard()
    guard.check(ADDRESS, 'key_1')
    expect(guard.addressCount()).toBe(0)
    refuse(1, ADDRESS, 'key_1')
    clock.ms = MINUTE
    guard.forgetIdle()
    expect(guard.addressCount()).toBe(0)
  })
})
