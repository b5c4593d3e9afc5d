import { expect, test } from 'bun:test'
import { effectivePlan, LIFTED_RATE } from '../../src/accounts/plans.ts'
import type { Plan } from '../../src/store/types.ts'

const SILENT: Plan = {
  newPeoplePerMonth: null,
  eventsPerHour: null,
  addsPerHour: null,
  updatesPerHour: null,
  mcpCallsPerMinute: null,
  snippetLimits: true,
}
const DEFAULTS = {
  newPeoplePerMonth: Infinity,
  eventsPerHour: 6_000,
  addsPerHour: 600,
  updatesPerHour: 6_000,
  mcpCallsPerMinute: 1_200,
  snippetLimits: true,
}

test('a plan without limits has the documented ones', () => {
  expect(effectivePlan(SILENT)).toEqual(DEFAULTS)
})

test('rates can be lifted', () => {
  const lifted = {
    eventsPerHour: LIFTED_RATE,
    addsPerHour: LIFTED_RATE,
    updatesPerHour: LIFTED_RATE,
    mcpCallsPerMinute: LIFTED_RATE,
  }
  const { eventsPerHour, addsPerHour, updatesPerHour, mcpCallsPerMinute } = effectivePlan({ ...SILENT, ...lifted })
  expect([eventsPerHour, addsPerHour, updatesPerHour, mcpCallsPerMinute]).toEqual(Array(4).fill(Infinity))
  expect(effectivePlan({ ...SILENT, eventsPerHour: LIFTED_RATE - 1 }).eventsPerHour).toBe(LIFTED_RATE - 1)
})

test('an explicit limit applies, even if it lifts the limit', () => {
  const said = {
    newPeoplePerMonth: 0,
    eventsPerHour: 1,
    addsPerHour: 2,
    updatesPerHour: 3,
    mcpCallsPerMinute: 4,
    snippetLimits: false,
  } satisfies Plan
  expect(effectivePlan(said)).toEqual(said)
})
