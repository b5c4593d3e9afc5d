import { describe, expect, test } from 'bun:test'
import {
  createIdRange,
  createIdSequence,
  createTextIds,
  LAST_INSTANCE,
  makeTextId,
  publicId,
  readPublicId,
} from '../../src/core/ids.ts'
import { AT, DAY } from '../store/samples.ts'

describe('createIdSequence', () => {
  test('ascends within a millisecond, during a burst, and when the clock is set back', () => {
    let now = AT
    const ids = createIdSequence(() => now)
    let last = 0
    const takeMore = (count: number): void => {
      for (let i = 0; i < count; i++) {
        const id = ids.next()
        if (id <= last || !Number.isSafeInteger(id)) throw new Error(`${id} after ${last}`)
        last = id
      }
    }
    for (const step of [0, 1, -DAY, 5, -1, DAY, 3 * DAY, -DAY]) {
      now += step
      takeMore(5_000)
    }
  })

  test('continues after the highest ID in use, also of another process', () => {
    const before = createIdSequence(() => AT + DAY).next()
    const ids = createIdSequence(() => AT, before)
    expect(ids.next()).toBeGreaterThan(before)
    ids.passOver(before + 1_000)
    expect(ids.next()).toBe(before + 1_008)
    ids.passOver(before)
    expect(ids.next()).toBe(before + 1_024)
  })

  test('gives each instance ids of its own', () => {
    const made = Array.from({ length: LAST_INSTANCE + 1 }, (_, instance) => {
      const ids = createIdSequence(() => AT, 0, instance)
      const first = createIdRange(ids.next())
      const batch = [first.next(), first.next(), first.next()]
      ids.passOver(first.last())
      return [...batch, ids.next()]
    }).flat()
    expect(new Set(made).size).toBe(made.length)
  })

  test('follows the clock', () => {
    let now = AT
    const ids = createIdSequence(() => now)
    const first = ids.next()
    now += 1
    expect(ids.next() - first).toBe(8_192)
  })

  test('lasts until the year 2060 below 2^53', () => {
    expect(createIdSequence(() => Date.UTC(2060, 0, 1)).next()).toBeLessThan(2 ** 53)
  })
})

test('text ids ascend within a millisecond, and differ between processes', () => {
  const [ids, others] = [createTextIds('aud'), createTextIds('aud')]
  const made = Array.from({ length: 100 }, () => ids(AT))
  expect(made.toSorted()).toEqual(made)
  expect(new Set([...made, ...Array.from({ length: 100 }, () => others(AT))]).size).toBe(200)
  expect(made.every((id) => /^aud_\w{21}$/.test(id))).toBe(true)
  expect(ids(AT + 1) > ids(AT)).toBe(true)
})

describe('public ids', () => {
  test.each([0, 1, 35, 36, 229_394_439_462_912, Number.MAX_SAFE_INTEGER])('%p round-trips', (id) => {
    for (const prefix of ['con', 'evt'] as const) {
      expect(publicId(prefix, id)).toMatch(/^(con|evt)_[0-9a-z]{11}$/)
      expect(readPublicId(prefix, publicId(prefix, id))).toBe(id)
    }
  })

  test('texts sort like their numbers', () => {
    const ids = [0, 35, 36, 1_295, 1_296, 2 ** 40, 2 ** 52, Number.MAX_SAFE_INTEGER]
    const texts = ids.map((id) => publicId('evt', id))
    expect(texts.toSorted()).toEqual(texts)
  })

  test.each([
    [''],
    ['con_'],
    ['con_1'],
    ['evt_00000000001'],
    ['con_0000000001'],
    ['con_000000000001'],
    ['con_0000000000A'],
    ['con_0000000000-'],
    ['con_-0000000001'],
    ['con_00000000 01'],
    ['con_0000000000\n'],
    ['con_00000000001\n'],
    [' con_00000000001'],
    ['CON_00000000001'],
    ['con_0000000000١'],
    ['con_1e300000000 OR 1=1'],
    ['con_zzzzzzzzzzz'],
    [`con_${(2 ** 53).toString(36).padStart(11, '0')}`],
  ])('%p is not a valid ID', (text) => {
    expect(readPublicId('con', text)).toBeNull()
  })
})

test('text IDs are prefixed, of one length, sorted by time and unique', () => {
  const ids = Array.from({ length: 2_000 }, (_, index) => makeTextId('key', AT + index))
  expect(ids.every((id) => /^key_[0-9a-z]{21}$/.test(id))).toBe(true)
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(Array.from({ length: 2_000 }, () => makeTextId('aud', AT))).size).toBe(2_000)
})
