import { expect, test } from 'bun:test'
import { nameOfRule } from '../../../src/dashboard/deliveries/delivery-labels.tsx'
import { VERDICT_TEXTS } from '../../../src/deliveries/describe-verdict.ts'

test('every check has a name in words', () => {
  const unnamed = [...VERDICT_TEXTS.keys()].filter((rule) => nameOfRule({ rule, about: null }) === rule)
  expect(unnamed).toEqual([])
})
