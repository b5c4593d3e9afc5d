import { beforeEach, expect, test } from 'bun:test'
import { type Attempt, type Breaker, createBreaker, PAUSE_MS } from '../../src/mail/breaker.ts'

let now = 0
let wallMs = 0
let breaker: Breaker
beforeEach(() => {
  now = 1_000_000
  wallMs = 0
  breaker = createBreaker({ now: () => now + wallMs, steadyNow: () => now })
})

const FIRST_MS = PAUSE_MS[0] ?? 0
const OUTAGE = { reason: 'econnection', isClear: false }
const PLEA = { reason: 'smtp_421', isClear: true }

const fail = (times: number, failure = OUTAGE): void => {
  for (let time = 0; time < times; time++) breaker.begin().fail(failure)
}
const tryAgain = (): Attempt => {
  now = breaker.findPause()?.until ?? 0
  expect(breaker.isBlocked()).toBe(false)
  return breaker.begin()
}

test('occasional failures cause no pause', () => {
  fail(4)
  expect([breaker.isBlocked(), breaker.findPause()]).toEqual([false, null])
  breaker.begin().succeed()
  fail(4)
  expect(breaker.isBlocked()).toBe(false)
})

test('five failures in a row cause a pause', () => {
  const inFlight = Array.from({ length: 5 }, () => breaker.begin())
  fail(5)
  const pause = { reason: 'econnection', until: now + FIRST_MS, isAsked: false }
  expect([breaker.isBlocked(), breaker.findPause()]).toEqual([true, pause])
  // started before the pause: doesn't extend it
  inFlight.forEach((attempt) => attempt.fail(PLEA))
  expect(breaker.findPause()).toEqual(pause)
})

test('a server that asks for a pause is paused at once', () => {
  fail(1, PLEA)
  expect(breaker.isBlocked()).toBe(true)
})

test('after a pause one email is tried, and each failure makes the next pause longer', () => {
  fail(1, PLEA)
  for (const pause of [...PAUSE_MS.slice(1), PAUSE_MS.at(-1) ?? 0]) {
    const attempt = tryAgain()
    expect(breaker.isBlocked()).toBe(true)
    attempt.fail(OUTAGE)
    expect(breaker.findPause()?.until).toBe(now + pause)
  }
})

test('a pause ends early when the server can be reached again, and one email is tried', () => {
  fail(5)
  breaker.endPause()
  expect(breaker.isBlocked()).toBe(false)
  const attempt = breaker.begin()
  expect(breaker.isBlocked()).toBe(true)
  attempt.fail(OUTAGE)
  expect(breaker.findPause()?.until).toBe(now + (PAUSE_MS[1] ?? 0))
})

test('a pause that the server asked for does not end early', () => {
  fail(1, PLEA)
  breaker.endPause()
  expect(breaker.findPause()?.until).toBe(now + FIRST_MS)
})

test('a failure from before the pause does not count for the try', () => {
  const before = breaker.begin()
  fail(1, PLEA)
  const attempt = tryAgain()
  before.fail(PLEA)
  expect([breaker.isBlocked(), breaker.findPause()?.until]).toEqual([true, now])
  attempt.succeed()
  expect([breaker.isBlocked(), breaker.findPause()]).toEqual([false, null])
})

test('the tried email ends the pause when it is accepted, and passes the try on when it was not offered', () => {
  fail(1, PLEA)
  tryAgain().abstain()
  expect(breaker.isBlocked()).toBe(false)
  breaker.begin().succeed()
  expect([breaker.isBlocked(), breaker.findPause()]).toEqual([false, null])
  fail(5)
  expect(breaker.findPause()?.until).toBe(now + FIRST_MS)
})

test('a slow try passes to another email, and still reports its outcome', () => {
  fail(1, PLEA)
  const slow = tryAgain()
  slow.abstain()
  const other = breaker.begin()
  slow.fail(OUTAGE)
  expect(breaker.findPause()?.until).toBe(now + (PAUSE_MS[1] ?? 0))
  // one pause for both
  other.fail(OUTAGE)
  expect(breaker.findPause()?.until).toBe(now + (PAUSE_MS[1] ?? 0))
})

test('an email from before a pause does not end it', () => {
  const before = breaker.begin()
  expect(before.isInterrupted()).toBe(false)
  fail(1, PLEA)
  expect(before.isInterrupted()).toBe(true)
  before.succeed()
  expect(breaker.isBlocked()).toBe(true)
  const attempt = tryAgain()
  expect(attempt.isInterrupted()).toBe(false)
  attempt.succeed()
  expect([before.isInterrupted(), breaker.findPause()]).toEqual([false, null])
})

test('a clock change does not move a pause', () => {
  fail(1, PLEA)
  const until = now + FIRST_MS
  for (const set of [86_400_000, -86_400_000]) {
    wallMs = set
    expect([breaker.isBlocked(), breaker.findPause()?.until]).toEqual([true, until + set])
  }
  now = until
  expect(breaker.isBlocked()).toBe(false)
})
