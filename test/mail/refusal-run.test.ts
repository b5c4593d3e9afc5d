import { expect, test } from 'bun:test'
import { isLimit, MANY, NO_REFUSALS, noteAcceptance, noteRefusal, type RefusalRun } from '../../src/mail/refusal-run.ts'

const HOUR = 3_600_000

function refuse(run: RefusalRun, count: number, { at = 0, wasRefused = false, from = 0 } = {}): RefusalRun {
  return Array.from({ length: count }, (_, index) => `p${from + index}`).reduce(
    (known, to) => noteRefusal(known, { to, wasRefused }, at),
    run,
  )
}
const accept = (run: RefusalRun, wasRefused: boolean): RefusalRun => noteAcceptance(run, { wasRefused })

test('several different recipients in a row are a limit', () => {
  expect(isLimit(refuse(NO_REFUSALS, MANY - 1))).toBe(false)
  expect(isLimit(refuse(NO_REFUSALS, MANY))).toBe(true)
})

test('the same recipient again and again is none', () => {
  const run = Array.from({ length: 20 }).reduce<RefusalRun>((known) => refuse(known, 1), NO_REFUSALS)
  expect(isLimit(run)).toBe(false)
})

test('with others accepted in between, they are none', () => {
  const run = Array.from({ length: 20 }).reduce<RefusalRun>(
    (known, _, index) => accept(refuse(known, MANY - 1, { from: index * MANY }), false),
    NO_REFUSALS,
  )
  expect(run).toEqual(NO_REFUSALS)
})

test('a server that accepts those whom it refused, and refuses others, refuses everyone at first', () => {
  const run = refuse(accept(refuse(NO_REFUSALS, MANY), true), MANY, { from: 10, at: 60_000 })
  expect([isLimit(run), run.trustedUntil]).toEqual([false, 60_000 + HOUR])
  expect(isLimit(refuse(run, 100, { at: HOUR }))).toBe(false)
  expect(isLimit(refuse(run, MANY, { at: 60_000 + HOUR }))).toBe(true)
})

test.each<[string, (run: RefusalRun) => RefusalRun]>([
  ['refuses one of them again', (run) => refuse(run, 1, { wasRefused: true })],
  ['accepts another', (run) => accept(run, false)],
])('but not one that then %s', (_, next) => {
  const run = refuse(next(accept(refuse(NO_REFUSALS, MANY), true)), MANY, { from: 10 })
  expect([isLimit(run), run.trustedUntil]).toEqual([true, NO_REFUSALS.trustedUntil])
})
