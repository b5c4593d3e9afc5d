import { expect, test } from 'bun:test'
import { parseRecord } from '../../src/store/decision-records.ts'
import type { Verdict } from '../../src/store/message-types.ts'

const seen: Verdict = { rule: 'notSeen', about: '/r', value: null, verdict: 'pass' }
const not: Verdict = { rule: 'suppression', about: null, value: 'unsubscribed', verdict: 'fail' }

test('an empty record parses to nothing', () => expect(parseRecord(null)).toBeNull())

test('a record of 0.1.0 has the rule under its present name', () => {
  const old = { at: 1, tries: 2, verdicts: [{ ...not, rule: 'wish' }, seen] }
  expect(parseRecord(JSON.stringify(old))).toEqual({ at: 1, tries: 2, verdicts: [not, seen] })
})

test('a record without verdicts has none', () =>
  expect(parseRecord('{"at":1,"tries":2}')).toEqual({ at: 1, tries: 2, verdicts: [] }))
