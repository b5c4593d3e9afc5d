import { expect, test } from 'bun:test'
import { effectivePlan } from '../../src/core/plans.ts'
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

test("where a plan says nothing, the specification's limits hold", () => {
  expect(effectivePlan(SILENT)).toEqual(DEFAULTS)
})

test('what a plan says holds, also when it is nothing at all', () => {
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
