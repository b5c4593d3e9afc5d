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

/** A rate that is lifted, as a plan keeps it, where null is the default: more than a machine takes, or one may set. */
export const LIFTED_RATE = 1_000_000_000

/** The numbers that hold for an account, whether its plan says them or the defaults do; Infinity = unlimited. */
export const effectivePlan = (plan: Plan) => ({
  newPeoplePerMonth: plan.newPeoplePerMonth ?? PLAN_DEFAULTS.newPeoplePerMonth,
  eventsPerHour: effectiveRate(plan, 'eventsPerHour'),
  addsPerHour: effectiveRate(plan, 'addsPerHour'),
  updatesPerHour: effectiveRate(plan, 'updatesPerHour'),
  mcpCallsPerMinute: effectiveRate(plan, 'mcpCallsPerMinute'),
  snippetLimits: plan.snippetLimits,
})

type Rate = Exclude<keyof Plan, 'newPeoplePerMonth' | 'snippetLimits'>

function effectiveRate(plan: Plan, rate: Rate): number {
  const planned = plan[rate] ?? PLAN_DEFAULTS[rate]
  return planned >= LIFTED_RATE ? Infinity : planned
}
