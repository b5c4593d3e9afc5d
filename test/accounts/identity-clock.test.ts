import { describe, expect, test } from 'bun:test'
import { PREVIOUS_SECRET_VALID_MS, signEmail, verifyIdentity } from '../../src/accounts/identity.ts'
import { type Clock, expiryNow, systemClock } from '../../src/core/clock.ts'

const DAY = PREVIOUS_SECRET_VALID_MS

/** A process that started at 0 by its wall clock, which was stepped since. */
const clockAt = (elapsedMs: number, stepMs: number): Clock => ({
  now: () => elapsedMs + stepMs,
  monotonicMs: () => elapsedMs,
  steadyNow: () => elapsedMs,
})

describe('the system clock', () => {
  test('the steady clock starts at the wall clock and advances with the monotonic one', async () => {
    expect(Math.abs(systemClock.steadyNow() - systemClock.now())).toBeLessThan(60_000)
    const [steady, monotonic] = [systemClock.steadyNow(), systemClock.monotonicMs()]
    await Bun.sleep(5)
    const apart = systemClock.steadyNow() - steady - (systemClock.monotonicMs() - monotonic)
    expect(Math.abs(apart)).toBeLessThanOrEqual(1)
    expect(systemClock.steadyNow()).toBeGreaterThan(steady)
  })
})

describe('the previous identity secret, when the clock steps by a day', () => {
  const email = 'ada@example.com'
  const isValid = (retiredAt: number, clock: Clock): boolean => {
    const secrets = [
      { id: 'new', secret: 'new', retiredAt: null },
      { id: 'old', secret: 'old', retiredAt },
    ]
    return verifyIdentity({ email, signature: signEmail(email, 'old'), secrets, now: expiryNow(clock) }).ok
  }
  test('forward after the rotation: works for exactly 24 hours', () => {
    expect(isValid(0, clockAt(1, DAY))).toBe(true)
    expect(isValid(0, clockAt(DAY - 1, DAY))).toBe(true)
    expect(isValid(0, clockAt(DAY, DAY))).toBe(false)
  })
  test('back before another process rotated: works for 24 hours by both clocks', () => {
    const rotatedAt = 1_000 - DAY
    expect(isValid(rotatedAt, clockAt(2_000, -DAY))).toBe(true)
    expect(isValid(rotatedAt, clockAt(DAY + 999, -DAY))).toBe(true)
    expect(isValid(rotatedAt, clockAt(DAY + 1_000, -DAY))).toBe(false)
  })
})
