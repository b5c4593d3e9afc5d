import { expect, test } from 'bun:test'
import {
  addTokens,
  createTokenRing,
  dropReturned,
  isIdle,
  listTokens,
  msUntilReturned,
  removeTokens,
  SLOTS_PER_WINDOW,
} from '../../src/accounts/token-ring.ts'
import { createRandom } from '../random.ts'

test('6,000 tokens take 24 KB, the first few hardly anything', () => {
  const ring = createTokenRing(3_600_000, false)
  addTokens(ring, 0, 1, 6_000)
  expect(ring.stamps.byteLength).toBeLessThanOrEqual(32)
  addTokens(ring, 1, 5_999, 6_000)
  expect(ring.stamps.byteLength).toBe(24_000)
})

test('slots are never more than a window has, whatever is taken', () => {
  const ring = createTokenRing(3_600_000, true)
  for (let at = 0; at < 9_000_000; at += 97) {
    dropReturned(ring, at)
    addTokens(ring, at, 1_000, Infinity)
    expect(ring.entries).toBeLessThanOrEqual(SLOTS_PER_WINDOW + 2)
  }
})

test('tokens of the middle are taken out wherever the ring begins and the stamps wrap', () => {
  const { below } = createRandom(7)
  const ring = createTokenRing(1_000, false)
  let list: number[] = []
  for (let at = 2 ** 32 - 5_000, step = 0; step < 20_000; step++, at += below(120)) {
    dropReturned(ring, at)
    list = list.filter((stamp) => at - stamp < 1_000)
    const count = below(4)
    addTokens(ring, at, count, 60)
    list.push(...Array<number>(count).fill(at))
    const stamp = list[below(list.length)]
    if (stamp !== undefined && below(3) === 0) {
      removeTokens(ring, stamp, 1, at)
      list.splice(list.indexOf(stamp), 1)
    }
    expect(listTokens(ring, at)).toEqual(list.map((taken) => [taken, 1]))
    const needed = 1 + below(3)
    const last = list[needed - 1]
    expect(msUntilReturned(ring, needed, at)).toBe(last === undefined ? 0 : last + 1_000 - at)
  }
})

test('a ring is idle once its latest token is a window old, or when nothing is left in it', () => {
  const ring = createTokenRing(1_000, false)
  expect(isIdle(ring, 0)).toBe(true)
  const stamp = addTokens(ring, 5, 1, 10)
  expect([isIdle(ring, 1_004), isIdle(ring, 1_005), isIdle(ring, 2 ** 40)]).toEqual([false, true, true])
  removeTokens(ring, stamp, 1, 6)
  expect(isIdle(ring, 6)).toBe(true)
})
