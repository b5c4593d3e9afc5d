import { MINUTE_MS } from '../core/clock.ts'
import type { Access as StoredAccess, Plan } from '../store/types.ts'
import { type Limit, RATE_LIMITS } from './limits.ts'

const PLAN_DEFAULTS = {
  newPeoplePerMonth: Infinity,
  eventsPerHour: RATE_LIMITS.events.max,
  addsPerHour: RATE_LIMITS.contactAdds.max,
  updatesPerHour: RATE_LIMITS.contactUpdates.max,
  mcpCallsPerMinute: 1_200,
} as const satisfies Partial<Plan>

/** Stored for a lifted rate, because null means the default. */
export const LIFTED_RATE = 1_000_000_000

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

/** Per key. HTTP and MCP share the buckets. */
export type LimitedWrite = 'events' | 'contactAdds' | 'contactUpdates'

const PLAN_FIELD = {
  events: 'eventsPerHour',
  contactAdds: 'addsPerHour',
  contactUpdates: 'updatesPerHour',
} as const satisfies Record<LimitedWrite, keyof Plan>

/** The store remembers counts under the bucket's name. */
type KeyLimit = { bucket: string; limit: Limit }
export type KeyLimits = Readonly<Record<LimitedWrite | 'mcpCalls', KeyLimit>>

export function limitsOf({ key, plan }: Pick<StoredAccess, 'key' | 'plan'>): KeyLimits {
  const rates = effectivePlan(plan)
  const limitOf = (write: LimitedWrite): KeyLimit => ({
    bucket: `${write}:${key.id}`,
    limit: { ...RATE_LIMITS[write], max: rates[PLAN_FIELD[write]] },
  })
  return {
    events: limitOf('events'),
    contactAdds: limitOf('contactAdds'),
    contactUpdates: limitOf('contactUpdates'),
    mcpCalls: { bucket: `mcp:${key.id}`, limit: { max: rates.mcpCallsPerMinute, windowMs: MINUTE_MS } },
  }
}
