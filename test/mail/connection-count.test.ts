import { expect, test } from 'bun:test'
import {
  type ConnectionCount,
  countAllowed,
  noteOpened,
  noteRefused,
  UNLIMITED,
} from '../../src/mail/connection-count.ts'

const LIMIT = 10
const allowed = (count: ConnectionCount, at: number): number => countAllowed(count, { at, limit: LIMIT })

test('all until a refusal, then as many as there were', () => {
  expect(allowed(UNLIMITED, 0)).toBe(LIMIT)
  // ten are opened, and seven of them refused
  const count = [9, 8, 7, 6, 5, 4, 3].reduce((known, others) => noteRefused(known, { others, at: 100 }), UNLIMITED)
  expect([allowed(count, 100), count]).toEqual([3, { most: 3, learnedAt: 100, growAt: 600, waitMs: 500 }])
  expect(allowed(noteRefused(count, { others: 0, at: 200 }), 200)).toBe(1)
})

test('one more is tried later, and seldom if it is refused again', () => {
  let count = noteRefused(UNLIMITED, { others: 3, at: 0 })
  const tries: number[] = []
  for (let at = 0; at < 3_600_000; at += 100) {
    if (allowed(count, at) === 3) continue
    tries.push(at)
    count = noteRefused(count, { others: 3, at })
  }
  expect(tries.slice(0, 5)).toEqual([500, 1_500, 3_500, 7_500, 15_500])
  expect(tries.length).toBeLessThan(25)
  expect([count.most, count.learnedAt]).toEqual([3, 0])
})

test('grows with what the server accepts, and is forgotten when it accepts all', () => {
  let count = noteRefused(UNLIMITED, { others: 8, at: 0 })
  expect(noteOpened(count, { open: 8, at: 10, limit: LIMIT })).toBe(count)
  count = noteOpened(count, { open: 9, at: 600, limit: LIMIT })
  expect([allowed(count, 600), allowed(count, 1_100)]).toEqual([9, 10])
  expect(noteOpened(count, { open: 10, at: 1_200, limit: LIMIT })).toEqual(UNLIMITED)
})
