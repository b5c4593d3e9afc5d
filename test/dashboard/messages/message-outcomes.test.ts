import { expect, test } from 'bun:test'
import { describeOutcome } from '../../../src/dashboard/messages/message-outcomes.tsx'
import { CANCELLATION_REASONS, SUPPRESSION_REASONS } from '../../../src/store/message-types.ts'

const OTHERS = [
  'send',
  'waiting',
  'joined',
  'again',
  'gave_up',
  'never_reported',
  'no_page',
  'came_back',
  'left_too_recently',
  'missing_value',
  'broken_template',
  'empty_mail',
  'pending',
  'topic',
  'date_changed',
  'active_again',
  'holdback',
]
const OUTCOMES = [...OTHERS, ...Object.values(CANCELLATION_REASONS), ...SUPPRESSION_REASONS]

test.each(OUTCOMES)('%s in words of its own', (outcome) => {
  expect(describeOutcome(outcome)).toMatch(/^[A-Z]([a-z ,]|URL)+$/)
  expect(OUTCOMES.filter((other) => describeOutcome(other) === describeOutcome(outcome))).toEqual([outcome])
})
