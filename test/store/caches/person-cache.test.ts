import { describe, expect, test } from 'bun:test'
import { createPersonCache } from '../../../src/store/caches/person-cache.ts'
import { isLong } from '../../long-form.ts'
import { createRandom } from '../../random.ts'

const LONGEST = `${'a'.repeat(28)}@example.com`

describe('createPersonCache', () => {
  test('separates people of two apps and emails with the same prefix', () => {
    const cache = createPersonCache()
    cache.set(1, 'ann@example.com', 11)
    cache.set(2, 'ann@example.com', -22)
    cache.set(1, 'ann@example.com.au', 33)
    expect(cache.get(1, 'ann@example.com')).toBe(11)
    expect(cache.get(2, 'ann@example.com')).toBe(-22)
    expect(cache.get(1, 'ann@example.com.au')).toBe(33)
    expect(cache.get(3, 'ann@example.com')).toBeUndefined()
    expect(cache.get(1, 'ann@example.co')).toBeUndefined()
  })

  test('stores an email of 40 characters, but not of 41', () => {
    const cache = createPersonCache()
    cache.set(1, LONGEST, 1)
    cache.set(1, `b${LONGEST}`, 2)
    expect(LONGEST).toHaveLength(40)
    expect(cache.get(1, LONGEST)).toBe(1)
    expect(cache.get(1, `b${LONGEST}`)).toBeUndefined()
  })

  test('forgets one or all', () => {
    const cache = createPersonCache()
    for (const [index, name] of ['ann', 'bob', 'cem'].entries()) cache.set(1, `${name}@example.com`, index)
    cache.delete(1, 'bob@example.com')
    cache.delete(2, 'ann@example.com')
    cache.delete(1, 'dora@example.com')
    expect(cache.get(1, 'bob@example.com')).toBeUndefined()
    expect(cache.get(1, 'ann@example.com')).toBe(0)
    cache.clear()
    expect(cache.get(1, 'ann@example.com')).toBeUndefined()
    expect(cache.get(1, 'cem@example.com')).toBeUndefined()
  })

  test('stores each person in one slot and forgets them there', () => {
    const cache = createPersonCache()
    for (let index = 0; index < 60_000; index += 1) {
      const email = `person${index}@example.com`
      cache.set(1, email, 1)
      cache.set(1, email, 2)
      const second = cache.get(1, email)
      cache.delete(1, email)
      if (second !== 2 || cache.get(1, email) !== undefined) throw new Error(email)
    }
  })

  test('never returns the ID of another person, however many share a slot', () => {
    const cache = createPersonCache()
    const known = new Map<string, number>()
    const random = createRandom(7)
    const steps = isLong ? 300_000 : 100_000
    let found = 0
    for (let step = 0; step < steps; step += 1) {
      const [app, email] = [1 + random.below(3), `person${random.below(60_000)}@example.com`]
      const key = `${app} ${email}`
      const cached = cache.get(app, email)
      if (cached !== undefined && cached !== known.get(key)) throw new Error(`${key}: ${cached}`)
      if (cached !== undefined) found += 1
      if (random.isOften(0.1)) {
        cache.delete(app, email)
        known.delete(key)
      } else {
        const value = (random.isOften(0.5) ? 1 : -1) * (2 ** 47 + step)
        cache.set(app, email, value)
        known.set(key, value)
      }
    }
    expect(found).toBeGreaterThan(steps / 30)
  })

  test('finds most of 20,000 recurring people', () => {
    const cache = createPersonCache()
    const random = createRandom(8)
    let found = 0
    for (let step = 0; step < 200_000; step += 1) {
      const email = `person${random.below(20_000)}@example.com`
      if (cache.get(1, email) === undefined) cache.set(1, email, step)
      else if (step >= 100_000) found += 1
    }
    expect(found).toBeGreaterThan(90_000)
  })
})
