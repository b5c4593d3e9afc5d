/** How much came, read from what was counted by the hour. */
import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import { PAGE_NAME } from '../store/visit-reports.ts'
import type { Access, AppRow } from '../accounts/access.ts'
import { effectivePlan } from '../accounts/plans.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Names are counted over so many days. */
const NAME_DAYS = 30
export const MOST_STAT_DAYS = 30
const TOP_NAMES = 20
/** Names of our own begin with `$`, which comes before this, and what customers send comes after it. */
const AFTER_OWN = '%'

/** The first hour (since 1970) of the day `days - 1` days ago, UTC. */
const firstHour = (now: number, days: number): number => (Math.floor(now / DAY_MS) - days + 1) * 24

const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** The names of an app's events of the last 30 days with how often they came, by the alphabet, those after `after`. */
export const listEventNames = (
  { store, clock }: { store: Store; clock: Clock },
  app: AppRow,
  { after, limit }: { after: string | null; limit: number },
) => store.listNames({ appId: app.id, sinceHour: firstHour(clock.now(), NAME_DAYS), after: after ?? AFTER_OWN, limit })

/**
 * Counts of the last `days` days (UTC, today included): by name the 20 that came most often, by day events and page
 * views, and the account's new people of this month beside what its plan allows (null = unlimited).
 */
export async function readStats(
  { store, clock }: { store: Store; clock: Clock },
  { access, app, days }: { access: Access; app: AppRow; days: number },
) {
  const now = clock.now()
  const sinceHour = firstHour(now, days)
  const [names, counts, newPeople] = await Promise.all([
    store.listTopNames({ appId: app.id, sinceHour, limit: TOP_NAMES + 1 }),
    store.countDays({ appId: app.id, sinceHour, pageName: PAGE_NAME }),
    readNewPeople({ store, clock }, access),
  ])
  const countOf = (day: number, isPage: boolean): number =>
    counts.find((one) => one.day === day && one.isPage === isPage)?.count ?? 0
  const byDay = Array.from({ length: days }, (_, index) => {
    const day = sinceHour / 24 + index
    return { day: dayText(day), events: countOf(day, false), pageViews: countOf(day, true) }
  })
  const byName = names.filter(({ name }) => name !== PAGE_NAME).slice(0, TOP_NAMES)
  return { byDay, byName: byName.map(({ name, count }) => ({ event: name, count })), newPeople }
}

/** Whether the plan takes nobody new any more this month. */
export async function isPlanUsedUp(parts: { store: Store; clock: Clock }, access: Access): Promise<boolean> {
  const { count, limit } = await readNewPeople(parts, access)
  return limit !== null && count >= limit
}

/** The account's new people of this calendar month (UTC), and how many its plan allows; null = any number. */
export async function readNewPeople(
  { store, clock }: { store: Store; clock: Clock },
  { key, plan }: Access,
): Promise<{ month: string; count: number; limit: number | null }> {
  const month = new Date(clock.now()).toISOString().slice(0, 7)
  const { newPeoplePerMonth } = effectivePlan(plan)
  const limit = newPeoplePerMonth === Infinity ? null : newPeoplePerMonth
  return { month, count: await store.countNewPeople(key.accountId, month), limit }
}
