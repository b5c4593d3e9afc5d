import { describe, expect, test } from 'bun:test'
import { createFloodGuard, FLOOD_LIMITS, MOST_ADDRESSES } from '../../src/core/flood.ts'

const MINUTE = 60_000
const ADDRESS = '203.0.113.7'

function createGuard() {
  const clock = { ms: 0, monotonicMs: () => clock.ms }
  const guard = createFloodGuard({ clock })
  const refuse = (times: number, address: string, keyId = 'key_0') => {
    for (let i = 0; i < times; i++) guard.countRefusal(address, keyId)
  }
  return { clock, guard, refuse }
}

describe('the flood guard', () => {
  test('its limits are those of the contract', () => {
    expect(FLOOD_LIMITS).toEqual({ ip: { max: 1_200, windowMs: MINUTE }, key: { max: 600, windowMs: MINUTE } })
  })

  /** So many refusals of an address, without any key coming near its own limit. */
  const MANY_KEYS = 3
  const refuseByMany = (refuse: (times: number, address: string, keyId?: string) => void, address: string): void => {
    for (let i = 0; i < MANY_KEYS; i++) refuse(1_200 / MANY_KEYS, address, `key_${i}`)
  }

  test('1,200 refusals of an address pass, then it waits until the first is a minute old', () => {
    const { clock, guard, refuse } = createGuard()
    refuse(599, ADDRESS, 'key_1')
    refuse(599, ADDRESS, 'key_2')
    refuse(1, ADDRESS, 'key_3')
    expect(guard.check(ADDRESS, 'key_4')).toBe(null)
    clock.ms = 10_000
    refuse(1, ADDRESS, 'key_3')
    expect(guard.check(ADDRESS, 'key_4')).toEqual({ scope: 'ip', limit: 1_200, retryAfter: 50 })
    clock.ms = MINUTE - 1
    expect(guard.check(ADDRESS, 'key_4')).toEqual({ scope: 'ip', limit: 1_200, retryAfter: 1 })
    clock.ms = MINUTE
    expect(guard.check(ADDRESS, 'key_4')).toBe(null)
  })

  test('600 refusals of a key, from whatever addresses', () => {
    const { clock, guard, refuse } = createGuard()
    for (let i = 0; i < 600; i++) refuse(1, `198.51.100.${i % 250}`, 'key_1')
    expect(guard.check('192.0.2.1', 'key_1')).toEqual({ scope: 'key', limit: 600, retryAfter: 60 })
    expect(guard.check('192.0.2.1', 'key_2')).toBe(null)
    clock.ms = MINUTE
    expect(guard.check('192.0.2.1', 'key_1')).toBe(null)
  })

  test('where both are over, the longer wait is told', () => {
    const { clock, guard, refuse } = createGuard()
    refuseByMany(refuse, ADDRESS)
    clock.ms = 30_000
    refuse(600, '192.0.2.1', 'key_4')
    expect(guard.check(ADDRESS, 'key_4')).toEqual({ scope: 'key', limit: 600, retryAfter: 60 })
    expect(guard.check(ADDRESS, 'key_5')).toEqual({ scope: 'ip', limit: 1_200, retryAfter: 30 })
  })

  test('what goes on being refused after that does not make the wait longer', () => {
    const { clock, guard, refuse } = createGuard()
    refuseByMany(refuse, ADDRESS)
    clock.ms = 30_000
    refuse(5_000, ADDRESS)
    expect(guard.check(ADDRESS, 'key_4')).toEqual({ scope: 'ip', limit: 1_200, retryAfter: 30 })
  })

  test('IPv6 counts by the address, so that nobody shuts out their neighbour', () => {
    const { guard, refuse } = createGuard()
    refuseByMany(refuse, '2001:db8:1:2::1')
    expect(guard.check('2001:DB8:1:2:0::1', 'key_4')).toMatchObject({ scope: 'ip' })
    expect(guard.check('2001:db8:1:2::2', 'key_4')).toBe(null)
  })

  test('IPv4 written into IPv6 is the same address', () => {
    const { guard, refuse } = createGuard()
    refuseByMany(refuse, `::ffff:${ADDRESS}`)
    expect(guard.check(ADDRESS, 'key_4')).toMatchObject({ scope: 'ip' })
    expect(guard.check(`::ffff:${ADDRESS}`, 'key_4')).toMatchObject({ scope: 'ip' })
  })

  test('three times as many addresses leave no more than the ceiling', () => {
    const { guard } = createGuard()
    for (let i = 0; i < 300_000; i++) guard.countRefusal(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 'key_1')
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
