/** Statistics from hourly counts. */
import { DAY_HOURS, DAY_MS, type Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import { PAGE_NAME } from '../store/visit-reports.ts'
import type { Access, AppRow } from '../accounts/access.ts'
import { effectivePlan } from '../accounts/plans.ts'

const NAME_DAYS = 30
export const MOST_STAT_DAYS = 30
const TOP_NAMES = 20
/** Our own names begin with `$`, which sorts before `%`; names of customers sort after it. */
const AFTER_OWN = '%'

/** In hours since 1970: the start of the UTC day `days - 1` days ago. */
const firstHour = (now: number, days: number): number => (Math.floor(now / DAY_MS) - days + 1) * DAY_HOURS

/** Names of events from this hour on are listed and suggested. */
export const firstNameHour = (now: number): number => firstHour(now, NAME_DAYS)

const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** Names and counts of the last 30 days, sorted by name, starting after `after`. */
export const listEventNames = (
  { store, clock }: { store: Store; clock: Clock },
  app: AppRow,
  { after, limit }: { after: string | null; limit: number },
) => store.listNames({ appId: app.id, sinceHour: firstNameHour(clock.now()), after: after ?? AFTER_OWN, limit })

/** The last `days` UTC days including today: the 20 most frequent names, counts by day, and new people this month. */
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
    const day = sinceHour / DAY_HOURS + index
    return { day: dayText(day), events: countOf(day, false), pageViews: countOf(day, true) }
  })
  const byName = names.filter(({ name }) => name !== PAGE_NAME).slice(0, TOP_NAMES)
  return { byDay, byName: byName.map(({ name, count }) => ({ event: name, count })), newPeople }
}

/** This calendar month (UTC). `limit` null: unlimited. */
export async function readNewPeople(
  { store, clock }: { store: Store; clock: Clock },
  { key, plan }: Access,
): Promise<{ month: string; count: number; limit: number | null }> {
  const month = new Date(clock.now()).toISOString().slice(0, 7)
  const { newPeoplePerMonth } = effectivePlan(plan)
  const limit = newPeoplePerMonth === Infinity ? null : newPeoplePerMonth
  return { month, count: await store.countNewPeople(key.accountId, month), limit }
}
