import { expect, test } from 'bun:test'
import { outweighs } from '../../src/people/suppressions.ts'
import { SUPPRESSION_REASONS } from '../../src/store/message-types.ts'

test('anything replaces no suppression', () => {
  for (const reason of SUPPRESSION_REASONS) {
    expect([outweighs(reason, null), outweighs(reason, 'subscribed')]).toEqual([true, true])
  }
})

test('a bounce or complaint replaces unsubscribing, and nothing replaces these', () => {
  const replacing = (current: (typeof SUPPRESSION_REASONS)[number]) =>
    SUPPRESSION_REASONS.filter((reason) => outweighs(reason, current))
  expect(replacing('unsubscribed')).toEqual(['bounced', 'complained'])
  expect([replacing('bounced'), replacing('complained')]).toEqual([[], []])
})
