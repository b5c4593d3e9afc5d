import {
  type AppResults,
  type Comparison,
  type Difference,
  type GoalPeriod,
  lastDays,
  readGoals,
  readResults,
  type Results,
} from './results.ts'
import type { Clock } from '../core/clock.ts'
import type { MessageCounts, MessageRow } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import { publicId } from '../core/ids.ts'

const iso = (at: number): string => new Date(at).toISOString()

/** States without deliveries are left out. */
export const countsView = (counts: MessageCounts): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))

const RESULT_DAYS = 30

/** Results of the message's emails, as the API and MCP show them. */
export async function viewOutcome({ store, clock }: { store: Store; clock: Clock }, message: MessageRow) {
  const range = lastDays(RESULT_DAYS, clock.now())
  const [counts, results, goals] = await Promise.all([
    store.countDeliveries(message.id),
    readResults(store, message.id, range),
    readGoals(store, message, range),
  ])
  return { counts: countsView(counts), results: resultsView(results, goals) }
}

const LISTED_REASONS = 5

const LISTED_GOALS = 5

/**
 * `extra`: people more than without the email, with the margin of the 95% interval; null: too few people to tell.
 * `goals`: only if emails had different ones, until those times.
 */
const resultsView = (
  { funnel, days, heldBack, reasons, compared }: Results,
  { compared: goals }: { compared: GoalPeriod[] },
) => ({
  days: days.length,
  ...funnel,
  ...(goals.length < 2 ? {} : { goals: goals.slice(-LISTED_GOALS).map(goalView) }),
  heldBack,
  notSent: reasons.slice(0, LISTED_REASONS).map(({ reason, emails }) => ({ reason, emails })),
  ...(heldBack === 0 ? {} : { compared: Object.fromEntries(Object.entries(compared).map(compareView)) }),
})

const goalView = ({ event, until }: GoalPeriod) => ({ event, until: until === null ? null : iso(until) })

const compareView = ([name, { emailed, heldBack, extra }]: [string, Comparison]) => [
  name,
  { emailed, heldBack, ...extraView(extra) },
]

const extraView = (extra: Difference | null) =>
  extra === null ? { extra } : { extra: Math.round(extra.estimate), margin: Math.round(extra.margin) }

/** All are people, each counted once. */
export const appResultsView = ({ emailed, cameBack, compared, alreadySeen }: AppResults) => ({
  emailed,
  cameBack,
  alreadySeen,
  compared: compared && { people: compared.people, ...extraView(compared.extra) },
})

export const messageView = ({ id, name, status, version, createdAt, updatedAt }: MessageRow) => ({
  id: publicId('msg', id),
  name,
  status,
  version,
  createdAt: iso(createdAt),
  updatedAt: iso(updatedAt),
})
