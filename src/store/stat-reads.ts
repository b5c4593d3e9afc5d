import type { Database } from 'bun:sqlite'
import { and, desc, eq, gt, gte, sql, sum } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import type { CallRow } from './call-types.ts'
import * as tables from './schema.ts'

const HOURS_A_DAY = 24

/** `day` counts days since 1970 (UTC). */
export type NameCount = { name: string; count: number }
export type DayCount = { day: number; isPage: boolean; count: number }

/** Reads of what was counted by the hour, so that no question scans events, and of the calls over MCP. */
export function createStatReads(db: Database) {
  const orm = drizzle(db)
  const { eventNames, rollups, newPeople, mcpCalls } = tables

  /** From the names to their hours: the other way round every hour of the app would be looked at. */
  const joined = and(eq(rollups.appId, eventNames.appId), eq(rollups.nameId, eventNames.id))
  const total = sum(rollups.count).mapWith(Number)

  return {
    /** Names with events since an hour (since 1970), in the order of the alphabet, those after `after`. */
    listNames: ({
      appId,
      sinceHour,
      after,
      limit,
    }: {
      appId: number
      sinceHour: number
      after: string
      limit: number
    }): NameCount[] =>
      orm
        .select({ name: eventNames.name, count: total })
        .from(eventNames)
        .crossJoin(rollups)
        .where(and(eq(eventNames.appId, appId), gt(eventNames.name, after), joined, gte(rollups.hour, sinceHour)))
        .groupBy(eventNames.name)
        .orderBy(eventNames.name)
        .limit(limit)
        .all(),

    /** The names that came most often since an hour, the most frequent first. */
    listTopNames: ({ appId, sinceHour, limit }: { appId: number; sinceHour: number; limit: number }): NameCount[] =>
      orm
        .select({ name: eventNames.name, count: total })
        .from(eventNames)
        .crossJoin(rollups)
        .where(and(eq(eventNames.appId, appId), joined, gte(rollups.hour, sinceHour)))
        .groupBy(eventNames.name)
        .orderBy(desc(total), eventNames.name)
        .limit(limit)
        .all(),

    /** How many came on each day since an hour; page views, which have the name `pageName`, by themselves. */
    countDays({ appId, sinceHour, pageName }: { appId: number; sinceHour: number; pageName: string }): DayCount[] {
      const day = sql<number>`${rollups.hour} / ${HOURS_A_DAY}`
      const isPage = sql<number>`${eventNames.name} = ${pageName}`
      return orm
        .select({ day, isPage: isPage.mapWith(Boolean), count: total })
        .from(eventNames)
        .crossJoin(rollups)
        .where(and(eq(eventNames.appId, appId), joined, gte(rollups.hour, sinceHour)))
        .groupBy(day, isPage)
        .orderBy(day)
        .all()
    },

    /** The new people of an account in a month (UTC, "2026-05"). */
    countNewPeople: (accountId: string, month: string): number =>
      orm
        .select({ count: newPeople.count })
        .from(newPeople)
        .where(and(eq(newPeople.accountId, accountId), eq(newPeople.month, month)))
        .get()?.count ?? 0,

    /** The last calls of an account over MCP, newest first. */
    listCalls: (accountId: string, limit: number): CallRow[] =>
      orm
        .select()
        .from(mcpCalls)
        .where(eq(mcpCalls.accountId, accountId))
        .orderBy(desc(mcpCalls.calledAt), desc(mcpCalls.id))
        .limit(limit)
        .all()
        .map(({ id: _, ...call }) => call),
  }
}
