import type { Plan } from '../store/types.ts'
import { RATE_LIMITS } from './limits.ts'

/** What holds where a plan says nothing (spec 8; mcp.md). */
const PLAN_DEFAULTS = {
  newPeoplePerMonth: Infinity,
  eventsPerHour: RATE_LIMITS.events.max,
  addsPerHour: RATE_LIMITS.contactAdds.max,
  updatesPerHour: RATE_LIMITS.contactUpdates.max,
  mcpCallsPerMinute: 1_200,
} as const satisfies Partial<Plan>

/** The numbers that hold for an account, whether its plan says them or the defaults do; Infinity = unlimited. */
export const effectivePlan = (plan: Plan) => ({
  newPeoplePerMonth: plan.newPeoplePerMonth ?? PLAN_DEFAULTS.newPeoplePerMonth,
  eventsPerHour: plan.eventsPerHour ?? PLAN_DEFAULTS.eventsPerHour,
  addsPerHour: plan.addsPerHour ?? PLAN_DEFAULTS.addsPerHour,
  updatesPerHour: plan.updatesPerHour ?? PLAN_DEFAULTS.updatesPerHour,
  mcpCallsPerMinute: plan.mcpCallsPerMinute ?? PLAN_DEFAULTS.mcpCallsPerMinute,
  snippetLimits: plan.snippetLimits,
})
