import type { Database } from 'bun:sqlite'
import { and, desc, eq, gte, lt, lte, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { contacts, eventNames, events, rollups } from './schema.ts'
import { EVENT_TYPES, VIAS, type EventRow } from './types.ts'

/** How many hours of a name are looked up at once. */
const STRETCHES = 64

export type EventQuery = {
  appId: number
  contactId: number | null
  name: string | null
  /** an event id; the page holds what came before it */
  before: number | null
  limit: number
}

/** Of one type, where the index of people is asked: it holds each type by itself. */
type Range = { from: number; before: number; type?: number }

/** Reads of events, newest first. */
export function createEventReads(db: Database) {
  const orm = drizzle(db)

  const page = ({ appId, contactId, limit }: EventQuery, nameId: number | null, range: Range): EventRow[] =>
    orm
      .select({
        event: events,
        email: contacts.email,
        name: eventNames.name,
      })
      .from(events)
      .innerJoin(contacts, eq(contacts.id, events.contactId))
      .innerJoin(eventNames, eq(eventNames.id, events.nameId))
      .where(
        and(
          // `+` keeps the app out of the choice of an index: the person's is the better one
          contactId === null
            ? eq(events.appId, appId)
            : and(eq(events.contactId, contactId), sql`+${events.appId} = ${appId}`),
          range.type === undefined ? undefined : eq(events.type, range.type),
          gte(events.id, range.from),
          lt(events.id, range.before),
          nameId === null ? undefined : eq(events.nameId, nameId),
        ),
      )
      .orderBy(desc(events.id))
      .limit(limit)
      .all()
      .map(toEventRow)

  const ofPerson = (query: EventQuery, nameId: number | null, before: number): EventRow[] =>
    EVENT_TYPES.flatMap((_, type) => page(query, nameId, { from: 0, before, type }))
      .sort((a, b) => b.id - a.id)
      .slice(0, query.limit)

  const findName = (appId: number, name: string): number | null =>
    orm
      .select({ id: eventNames.id })
      .from(eventNames)
      .where(and(eq(eventNames.appId, appId), eq(eventNames.name, name)))
      .get()?.id ?? null

  /**
   * The hours in which a name came, latest events first: a rare name among ten million events is found without a scan.
   * By id and not by hour, because hours repeat themselves when the clock is set back.
   */
  const stretchesOf = (appId: number, nameId: number, before: number) =>
    orm
      .select({ from: rollups.firstEventId, to: rollups.lastEventId })
      .from(rollups)
      .where(and(eq(rollups.appId, appId), eq(rollups.nameId, nameId), lte(rollups.firstEventId, before - 1)))
      .orderBy(desc(rollups.lastEventId))
      .limit(STRETCHES)
      .all()

  const byName = (query: EventQuery, nameId: number, before: number): EventRow[] => {
    const found: EventRow[] = []
    let cursor = before
    while (found.length < query.limit) {
      const stretches = stretchesOf(query.appId, nameId, cursor)
      for (const { from, to } of stretches) {
        const limit = query.limit - found.length
        if (limit <= 0) break
        found.push(...page({ ...query, limit }, nameId, { from, before: Math.min(cursor, to + 1) }))
        cursor = Math.min(cursor, from)
      }
      if (stretches.length < STRETCHES) break
    }
    return found
  }

  return {
    findEvent(id: number): EventRow | null {
      const row = orm
        .select({ event: events, email: contacts.email, name: eventNames.name })
        .from(events)
        .innerJoin(contacts, eq(contacts.id, events.contactId))
        .innerJoin(eventNames, eq(eventNames.id, events.nameId))
        .where(eq(events.id, id))
        .get()
      return row ? toEventRow(row) : null
    },

    listEvents(query: EventQuery): EventRow[] {
      const before = query.before ?? Number.MAX_SAFE_INTEGER
      const nameId = query.name === null ? null : findName(query.appId, query.name)
      if (query.name !== null && nameId === null) return []
      if (query.contactId !== null) return ofPerson(query, nameId, before)
      return nameId === null ? page(query, null, { from: 0, before }) : byName(query, nameId, before)
    },
  }
}

type Joined = { event: typeof events.$inferSelect; email: string; name: string }

const toEventRow = ({ event, email, name }: Joined): EventRow => ({
  id: event.id,
  contactId: event.contactId,
  email,
  type: EVENT_TYPES[event.type] ?? 'event',
  name,
  properties: event.properties,
  path: event.path,
  via: VIAS[event.via] ?? 'api',
  receivedAt: event.receivedAt,
  occurredAt: event.occurredAt ?? event.receivedAt,
})
