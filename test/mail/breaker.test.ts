import { beforeEach, expect, test } from 'bun:test'
import { type Breaker, createBreaker, PAUSE_MS } from '../../src/mail/breaker.ts'

let now = 0
let wallMs = 0
let breaker: Breaker
beforeEach(() => {
  now = 1_000_000
  wallMs = 0
  breaker = createBreaker({ now: () => now + wallMs, steadyNow: () => now })
})

const fail = (times: number, isClear = false): void => {
  for (let time = 0; time < times; time++) breaker.fail('a', { reason: 'smtp_421', isClear, sentAt: now })
}

test('a server that fails now and then is not paused', () => {
  fail(4)
  expect([breaker.admit('a'), breaker.isHeld('a'), breaker.listPauses()]).toEqual([true, false, []])
  breaker.succeed('a')
  fail(4)
  expect(breaker.admit('a')).toBe(true)
})

test('five failures in a row pause it, and no other', () => {
  fail(5)
  expect([breaker.admit('a'), breaker.isHeld('a'), breaker.admit('b')]).toEqual([false, true, true])
  expect(breaker.listPauses()).toEqual([{ place: 'a', reason: 'smtp_421', until: now + (PAUSE_MS[0] ?? 0) }])
  // what was in the air when it began makes it no longer
  fail(5)
  expect(breaker.pausedUntil('a')).toBe(now + (PAUSE_MS[0] ?? 0))
})

test('a server that asks for it is paused at once', () => {
  fail(1, true)
  expect(breaker.admit('a')).toBe(false)
})

test('after a pause one mail tries; each failure makes the next pause longer', () => {
  fail(1, true)
  for (const pause of [...PAUSE_MS.slice(1), PAUSE_MS.at(-1) ?? 0]) {
    now = breaker.pausedUntil('a') ?? 0
    expect([breaker.isHeld('a'), breaker.admit('a'), breaker.admit('a'), breaker.isHeld('a')]).toEqual([
      false,
      true,
      false,
      true,
    ])
    breaker.fail('a', { reason: 'econnection', isClear: false, sentAt: now })
    expect(breaker.pausedUntil('a')).toBe(now + pause)
  }
})

test('a mail from before the pause that fails while another tries does not speak for that one', () => {
  const sentAt = now
  fail(1, true)
  now = breaker.pausedUntil('a') ?? 0
  expect(breaker.admit('a')).toBe(true)
  breaker.fail('a', { reason: 'etimedout', isClear: true, sentAt })
  expect([breaker.isHeld('a'), breaker.pausedUntil('a')]).toEqual([true, now])
  breaker.succeed('a')
  expect([breaker.isHeld('a'), breaker.listPauses()]).toEqual([false, []])
})

test('the mail that tries ends the pause when it is taken, and leaves the try to another when it was not offered', () => {
  fail(1, true)
  now = breaker.pausedUntil('a') ?? 0
  expect(breaker.admit('a')).toBe(true)
  breaker.abstain('a')
  expect(breaker.admit('a')).toBe(true)
  breaker.succeed('a')
  expect([breaker.admit('a'), breaker.admit('a'), breaker.listPauses()]).toEqual([true, true, []])
})

test('what was in the air when a pause began does not end it', () => {
  fail(1, true)
  breaker.succeed('a')
  expect(breaker.isHeld('a')).toBe(true)
  now = breaker.pausedUntil('a') ?? 0
  breaker.succeed('a')
  expect(breaker.listPauses()).toEqual([])
})

test('a clock that is set moves no pause, and the end of it is told by that clock', () => {
  fail(1, true)
  const until = now + (PAUSE_MS[0] ?? 0)
  for (const set of [86_400_000, -86_400_000]) {
    wallMs = set
    expect([breaker.isHeld('a'), breaker.pausedUntil('a')]).toEqual([true, until + set])
    expect(breaker.listPauses()).toEqual([{ place: 'a', reason: 'smtp_421', until: until + set }])
  }
  now = until
  expect(breaker.isHeld('a')).toBe(false)
})

test('a place to which nobody goes any more is forgotten', () => {
  fail(1, true)
  now = (breaker.pausedUntil('a') ?? 0) + 3_600_000
  expect(breaker.isAnyPaused()).toBe(true)
  now += 1
  expect(breaker.isAnyPaused()).toBe(false)
})

const nobody = (): boolean => false

test('after each pause the next app may try, and nobody is named while it lasts or where there is none', () => {
  expect(breaker.nextToTry('a', [1, 2], nobody)).toBeNull()
  const turns: (number | null)[] = []
  for (let pause = 0; pause < 4; pause += 1) {
    fail(1, true)
    expect(breaker.nextToTry('a', [1, 4, 9], nobody)).toBeNull()
    now = breaker.pausedUntil('a') ?? 0
    turns.push(breaker.nextToTry('a', [1, 4, 9], nobody))
    breaker.admit('a')
    expect(breaker.nextToTry('a', [1, 4, 9], nobody)).toBeNull()
    // whose turn it was is known after a success too
    if (pause === 1) breaker.succeed('a')
  }
  expect(turns).toEqual([1, 4, 9, 1])
})

test('it stays the turn of the one whose mail is on its way', () => {
  fail(1, true)
  now = breaker.pausedUntil('a') ?? 0
  const isFirst = (appId: number): boolean => appId === 1
  expect(breaker.nextToTry('a', [1, 4], nobody)).toBe(1)
  expect(breaker.nextToTry('a', [4], isFirst)).toBe(1)
  expect(breaker.nextToTry('a', [4], nobody)).toBe(4)
})

test('of ten thousand places it is known whose turn it was', () => {
  const takeTurn = (place: string): number | null => {
    breaker.fail(place, { reason: 'smtp_421', isClear: true, sentAt: now })
    now = breaker.pausedUntil(place) ?? 0
    return breaker.nextToTry(place, [1, 4], nobody)
  }
  for (let index = 0; index < 10_001; index += 1) takeTurn(`place ${index}`)
  breaker.admit('place 5000')
  expect([takeTurn('place 5000'), takeTurn('place 10000')]).toEqual([4, 4])
})

test('whoever is turned away again and again while others are served is alone with that, until a mail of theirs is taken', () => {
  const turnAway = (own: string): boolean => (breaker.noteTurnedAway('a', own), breaker.isAlone(own))
  // nobody was served
  expect([turnAway('first'), turnAway('second'), turnAway('first')]).toEqual([false, false, false])
  breaker.noteServed('a', 'first')
  breaker.noteServed('a', 'second')
  expect(turnAway('first')).toBe(false)
  breaker.noteServed('a', 'second')
  // once may be chance
  expect(turnAway('first')).toBe(false)
  breaker.noteServed('a', 'second')
  expect([turnAway('first'), turnAway('second')]).toEqual([true, false])
  breaker.noteServed('b', 'first')
  expect(breaker.isAlone('first')).toBe(false)
})
