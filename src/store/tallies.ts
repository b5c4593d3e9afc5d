import type { Database } from 'bun:sqlite'

const HOUR_MS = 3_600_000
/** Times of last events are written when this many people wait or this much time went by: one page then takes several. */
const FLUSH_PEOPLE = 1_000
const FLUSH_AFTER_MS = 1_000

export type Counted = { appId: number; nameId: number; eventId: number; receivedAt: number }

/**
 * What a commit counts once for many rows: hourly rollups, used-up limits, and when people had their last event.
 * `write` belongs inside the transaction; `forget` after a rollback.
 */
export type Tallies = ReturnType<typeof createTallies>

export function createTallies(db: Database) {
  const addRollup = db.prepare(
    `INSERT INTO rollups (app_id, name_id, hour, count, first_event_id, last_event_id) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count, last_event_id = excluded.last_event_id`,
  )
  const addUsage = db.prepare(
    `INSERT INTO limit_usage (bucket, second, count) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  )
  const lastEvents = createLastEvents(db)
  const rollups = new Map<string, Counted & { count: number; lastEventId: number }>()
  const usage = new Map<string, { bucket: string; second: number; count: number }>()

  return {
    countEvent(event: Counted): void {
      const id = `${event.appId}:${event.nameId}:${hourOf(event.receivedAt)}`
      const known = rollups.get(id)
      if (!known) rollups.set(id, { ...event, count: 1, lastEventId: event.eventId })
      else {
        known.count += 1
        known.lastEventId = event.eventId
      }
    },
    countUsage(bucket: string, at: number): void {
      const second = Math.floor(at / 1000)
      const id = `${second}:${bucket}`
      const known = usage.get(id)
      if (known) known.count += 1
      else usage.set(id, { bucket, second, count: 1 })
    },
    noteLastEvent: lastEvents.note,
    write(now: number): void {
      for (const r of rollups.values()) {
        addRollup.run(r.appId, r.nameId, hourOf(r.receivedAt), r.count, r.eventId, r.lastEventId)
      }
      for (const u of usage.values()) addUsage.run(u.bucket, u.second, u.count)
      lastEvents.writeIfDue(now)
    },
    /** After a commit: what `write` wrote is done. */
    settle(): void {
      rollups.clear()
      usage.clear()
      lastEvents.settle()
    },
    /** After a rollback: the same rows will be counted again. */
    forget(): void {
      rollups.clear()
      usage.clear()
      lastEvents.forget()
    },
    isLastEventDue: lastEvents.isDue,
    catchUp: lastEvents.catchUp,
  }
}

const hourOf = (at: number): number => Math.floor(at / HOUR_MS)

/**
 * `contacts.last_event_at`, brought up to date in bulk: one random page a person in every commit would cost a third of
 * the rate (measured). Up to which event that was done is kept in the same transaction, so readers add what came after
 * (contact-reads.ts) and a start after a crash makes up for it.
 */
function createLastEvents(db: Database) {
  const update = db.prepare('UPDATE contacts SET last_event_at = max(ifnull(last_event_at, 0), ?) WHERE id = ?')
  const setMark = db.prepare(
    `INSERT INTO install (name, value) VALUES ('last_events_until', ?)
     ON CONFLICT DO UPDATE SET value = excluded.value`,
  )
  // `+` keeps the index on people out of it, which would read all events ever kept at each start
  const missed = db.prepare<{ contact_id: number; at: number; id: number }, []>(
    `SELECT contact_id, max(ifnull(occurred_at, received_at)) AS at, max(id) AS id FROM events
     WHERE type = 0 AND id > (SELECT CAST(value AS INTEGER) FROM install WHERE name = 'last_events_until')
     GROUP BY +contact_id`,
  )
  let waiting = new Map<number, number>()
  let staged: { contactId: number; at: number; eventId: number }[] = []
  let lastEventId = 0
  let writtenAt = 0
  let isWritten = false

  const keep = (contactId: number, at: number, eventId: number): void => {
    waiting.set(contactId, Math.max(waiting.get(contactId) ?? 0, at))
    lastEventId = Math.max(lastEventId, eventId)
  }
  /** From the database alone: what it holds and the mark has not passed. */
  const catchUp = (): void => {
    waiting = new Map()
    for (const row of missed.all()) keep(row.contact_id, row.at, row.id)
  }
  catchUp()

  const isDue = (now: number): boolean => {
    const people = waiting.size + staged.length
    return people > 0 && (people >= FLUSH_PEOPLE || Math.abs(now - writtenAt) >= FLUSH_AFTER_MS)
  }
  return {
    note: (contactId: number, at: number, eventId: number): void => void staged.push({ contactId, at, eventId }),
    isDue,
    writeIfDue(now: number): void {
      if (!isDue(now)) return
      const rows = [...staged, ...Array.from(waiting, ([contactId, at]) => ({ contactId, at }))]
      // in the order of the table, so that neighbours share a page
      for (const row of rows.sort((a, b) => a.contactId - b.contactId)) update.run(row.at, row.contactId)
      setMark.run(String(staged.reduce((last, row) => Math.max(last, row.eventId), lastEventId)))
      writtenAt = now
      isWritten = true
    },
    settle(): void {
      for (const { contactId, at, eventId } of staged) keep(contactId, at, eventId)
      if (isWritten) waiting = new Map()
      staged = []
      isWritten = false
    },
    forget(): void {
      staged = []
      isWritten = false
    },
    catchUp,
  }
}
