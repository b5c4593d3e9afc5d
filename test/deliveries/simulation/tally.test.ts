/** What a simulation counts and lists of a million lines. */
import { expect, test } from 'bun:test'
import { createTally, type SimulationLine } from '../../../src/deliveries/simulation/run.ts'

const lineOf = (triggeredAt: number, changes: Partial<SimulationLine> = {}): SimulationLine => ({
  contactId: 1,
  email: null,
  triggeredAt,
  dueAt: 0,
  outcome: 'send',
  verdicts: [],
  ...changes,
})

/** When what is listed was triggered. */
const timesOf = (tally: ReturnType<typeof createTally>): number[] => tally.lines().map(({ triggeredAt }) => triggeredAt)

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)

function tallyOf(lines: SimulationLine[], listed?: number) {
  const tally = createTally(listed)
  for (const line of lines) tally.add(line)
  return tally
}

test('nothing is nothing', () => {
  expect([tallyOf([]).counted(), tallyOf([]).lines()]).toEqual([{ counts: {}, estimated: 0 }, []])
})

test.each([1, 99, 100, 101, 999, 1_000, 1_001, 5_050])('of %d all are counted, and the latest 100 listed', (count) => {
  const tally = tallyOf(numbers(0, count).map((at) => lineOf(at)))
  expect(tally.counted().counts).toEqual({ send: count })
  expect(timesOf(tally)).toEqual(numbers(Math.max(0, count - 100), count).toReversed())
})

test('each outcome has its own hundred, and all are listed by when they were triggered', () => {
  const many = numbers(0, 1_200).map((at) => lineOf(2 * at, { outcome: at % 2 === 0 ? 'send' : 'seen' }))
  const tally = tallyOf([lineOf(1, { outcome: 'done' }), ...many])
  expect(tally.counted().counts).toEqual({ done: 1, send: 600, seen: 600 })
  expect(timesOf(tally)).toEqual([...numbers(1_000, 1_200).map((at) => 2 * at), 1].toSorted((a, b) => b - a))
})

test('of one person alone the lines, and of all the counts', () => {
  const others = numbers(0, 2_000).map((at) => lineOf(at, { contactId: 2 }))
  const tally = tallyOf([lineOf(1), ...others, lineOf(5_000, { outcome: 'seen' })], 1)
  expect([tally.counted().counts, timesOf(tally)]).toEqual([{ send: 2_001, seen: 1 }, [5_000, 1]])
})

test('estimated is each line with an estimated verdict once, also where it is not listed', () => {
  const verdict = { rule: 'away', about: null, value: null, verdict: 'pass' as const }
  const estimated = { ...verdict, isEstimated: true as const }
  const lines = [[estimated, estimated], [verdict, estimated], [verdict], []].map((verdicts) => lineOf(1, { verdicts }))
  expect([tallyOf(lines), tallyOf(lines, 7)].map((tally) => tally.counted().estimated)).toEqual([2, 2])
})
