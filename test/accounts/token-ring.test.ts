import { expect, test } from 'bun:test'
import {
  addTokens,
  createTokenRing,
  dropReturned,
  isIdle,
  listTokens,
  msUntilReturned,
  removeTokens,
} from '../../src/accounts/token-ring.ts'
import { isLong } from '../long-form.ts'
import { createRandom } from '../random.ts'

const STEPS = isLong ? 20_000 : 5_000

test('tokens of 6,000 different milliseconds take 64 KB, a few almost nothing', () => {
  const ring = createTokenRing(3_600_000)
  const bytes = (): number => ring.stamps.byteLength + ring.counts.byteLength
  addTokens(ring, 0, 1)
  expect(bytes()).toBe(32)
  for (let at = 1; at < 6_000; at++) addTokens(ring, at, 1)
  expect(bytes()).toBe(64 * 1_024)
  expect([ring.tokens, ring.slotMs]).toEqual([6_000, 1])
})

test('100,000 tokens return to the millisecond', () => {
  const ring = createTokenRing(3_600_000)
  for (let token = 0; token < 100_000; token++) addTokens(ring, token * 30, 1)
  for (const token of [0, 1, 33_333, 99_999]) {
    dropReturned(ring, token * 30 + 3_599_999)
    expect(ring.tokens).toBe(100_000 - token)
    dropReturned(ring, token * 30 + 3_600_000)
    expect(ring.tokens).toBe(99_999 - token)
  }
})

test('a full ring delays tokens by at most two slots, and returns none early', () => {
  const { below } = createRandom(11)
  const most = 64
  const ring = createTokenRing(100_000, most)
  let list: [takenAt: number, count: number][] = []
  let widest = 1
  for (let at = 2 ** 32 - 500_000, step = 0; step < STEPS; step++, at += below(step % 5_000 < 2_500 ? 40 : 4_000)) {
    dropReturned(ring, at)
    const within = (ms: number): number => list.reduce((sum, [taken, count]) => sum + (at - taken < ms ? count : 0), 0)
    expect(ring.tokens).toBeGreaterThanOrEqual(within(100_000))
    expect(ring.tokens).toBeLessThanOrEqual(within(100_000 + 2 * ring.slotMs))
    expect(ring.entries).toBeLessThanOrEqual(most)
    const count = 1 + below(4)
    list.push([addTokens(ring, at, count), count])
    list = list.filter(([taken]) => at - taken < 300_000)
    widest = Math.max(widest, ring.slotMs)
  }
  expect(widest).toBeGreaterThan(1_000)
  dropReturned(ring, 2 ** 40)
  expect([ring.tokens, ring.slotMs]).toEqual([0, 1])
})

test('removes tokens from the middle, wherever the ring starts or timestamps wrap', () => {
  const { below } = createRandom(7)
  const ring = createTokenRing(1_000)
  let list: number[] = []
  for (let at = 2 ** 32 - 5_000, step = 0; step < STEPS; step++, at += below(120)) {
    dropReturned(ring, at)
    list = list.filter((stamp) => at - stamp < 1_000)
    const count = below(4)
    addTokens(ring, at, count)
    list.push(...Array<number>(count).fill(at))
    const stamp = list[below(list.length)]
    if (stamp !== undefined && below(3) === 0) {
      removeTokens(ring, stamp, 1, at)
      list.splice(list.indexOf(stamp), 1)
    }
    const listed = listTokens(ring, at).flatMap(([taken, tokens]) => Array<number>(tokens).fill(taken))
    expect(listed).toEqual(list)
    const needed = 1 + below(3)
    const last = list[needed - 1]
    expect(msUntilReturned(ring, needed, at)).toBe(last === undefined ? 0 : last + 1_000 - at)
  }
})

test('a ring is idle when its latest token is a window old or none is left', () => {
  const ring = createTokenRing(1_000)
  expect(isIdle(ring, 0)).toBe(true)
  const stamp = addTokens(ring, 5, 1)
  expect([isIdle(ring, 1_004), isIdle(ring, 1_005), isIdle(ring, 2 ** 40)]).toEqual([false, true, true])
  removeTokens(ring, stamp, 1, 6)
  expect(isIdle(ring, 6)).toBe(true)
})
