import { expect, test } from 'bun:test'
import { addVerdict, parseRecord, suppressionVerdict } from '../../src/store/decision-records.ts'
import type { Verdict } from '../../src/store/message-types.ts'

const seen: Verdict = { rule: 'notSeen', about: '/r', value: null, verdict: 'pass' }
const [may, not] = [suppressionVerdict(null), suppressionVerdict('unsubscribed')]

test('the suppression rule passes when nothing suppresses the person', () => {
  expect([may.verdict, may.value, not.verdict, not.value]).toEqual(['pass', null, 'fail', 'unsubscribed'])
})

test('an empty record parses to nothing', () => expect(parseRecord(null)).toBeNull())

test('a record of 0.1.0 has the rule under its present name', () => {
  const old = { at: 1, tries: 2, verdicts: [{ ...not, rule: 'wish' }, seen] }
  expect(parseRecord(JSON.stringify(old))).toEqual({ at: 1, tries: 2, verdicts: [not, seen] })
  expect(not.rule).toBe('suppression')
})

test.each([
  ['of nothing before', null, { at: 9, verdicts: [not] }],
  ['alone', { at: 1, verdicts: [may] }, { at: 9, verdicts: [not] }],
  ['beside others', { at: 1, verdicts: [may, seen] }, { at: 9, rulesAt: 1, verdicts: [not, seen] }],
  ['that was not asked before', { at: 1, verdicts: [seen] }, { at: 9, rulesAt: 1, verdicts: [not, seen] }],
  ['once more', { at: 5, rulesAt: 1, verdicts: [may, seen] }, { at: 9, rulesAt: 1, verdicts: [not, seen] }],
  ['at the same time', { at: 9, verdicts: [may, seen] }, { at: 9, verdicts: [not, seen] }],
  [
    'of what a member sent on',
    { at: 1, verdicts: [], sentOn: { at: 3 }, keptAt: 1, tries: 2 },
    { at: 9, verdicts: [not], sentOn: { at: 3 }, keptAt: 1, tries: 2 },
  ],
])('a later decision: a rule %s', (_, earlier, record) => {
  expect(addVerdict(earlier, not, 9)).toEqual(record)
})
