import type { Database } from 'bun:sqlite'
import { listKeptNames } from './contact-merging.ts'
import type { EventNames } from './events.ts'
import type { IdSequence } from '../core/ids.ts'
import type { People, Person } from './people.ts'
import type { Cancellations } from './cancellations.ts'
import type { Counters } from './counters.ts'
import type { Timeline } from './timeline/timeline.ts'
import type { Triggers } from './triggers.ts'
import { EVENT_TYPES, VIAS, type EventWrite, type NameField, type RecordedEvent, type Refused } from './types.ts'

type NewEvent = Pick<EventWrite, 'appId' | 'type' | 'name' | 'via' | 'properties' | 'path' | 'at' | 'occurredAt'>
/** Answers the event's id. */
export type AddEvent = (contactId: number, event: NewEvent) => number

type Parts = {
  db: Database
  ids: IdSequence
  people: People
  names: EventNames
  counters: Counters
  timeline: Timeline
  triggers: Triggers
  cancellations: Cancellations
}

const NO_NAMES: NameField[] = []

/** One event, its person if they are new and may be made, and what both count towards. */
export function createEventWrites({ db, ids, people, names, counters, timeline, triggers, cancellations }: Parts) {
  const insert = db.prepare(
    `INSERT INTO events (id, app_id, contact_id, name_id, type, via, properties, path, received_at, occurred_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const fillNames = db.prepare(
    `UPDATE contacts SET first_name = ifnull(first_name, ?), last_name = ifnull(last_name, ?), updated_at = ?
     WHERE id = ? AND ((first_name IS NULL AND ? IS NOT NULL) OR (last_name IS NULL AND ? IS NOT NULL))`,
  )

  const selectNames = db.prepare<{ firstName: string | null; lastName: string | null }, [number]>(
    'SELECT first_name AS firstName, last_name AS lastName FROM contacts WHERE id = ?',
  )

  /** Names on an event fill what is empty and never overwrite. @returns those that were not taken */
  const fillEmptyNames = (write: EventWrite, person: Person): NameField[] => {
    const { appId, email, firstName, lastName, at } = write
    if (firstName === null && lastName === null) return NO_NAMES
    const stored = selectNames.get(person.id)
    if (person.lacksName) {
      fillNames.run(firstName, lastName, at, person.id, firstName, lastName)
      people.drop(appId, email)
    }
    return stored ? listKeptNames(stored, write) : NO_NAMES
  }

  /** The row of an event, page view or action of a known person, its count, and what it cancels and triggers. */
  const addEvent: AddEvent = (contactId, event) => {
    const { appId, type, name, via, properties, path, at, occurredAt } = event
    const nameId = names.idOf(appId, name)
    const eventId = ids.next()
    const happened = occurredAt === at ? null : occurredAt
    const [typeCode, viaCode] = [EVENT_TYPES.indexOf(type), VIAS.indexOf(via)]
    insert.run(eventId, appId, contactId, nameId, typeCode, viaCode, properties, path, at, happened)
    timeline.count()
    counters.countEvent({ appId, nameId, eventId, receivedAt: at })
    const arrived = { eventId, appId, contactId, type, name, properties, path, at, occurredAt: occurredAt ?? at }
    cancellations.onEvent(arrived)
    triggers.onEvent(arrived)
    return eventId
  }

  return {
    addEvent,
    recordEvent(write: EventWrite): RecordedEvent | Refused {
      for (const bucket of write.buckets) counters.countUsage(bucket, write.at)
      const known = people.find(write.appId, write.email)
      if (!known && !write.createContact) return { refusal: 'contact_not_found' }
      const person = known ?? people.add({ ...write, source: null })
      if ('refusal' in person) return person
      const keptNames = known ? fillEmptyNames(write, known) : NO_NAMES
      const eventId = addEvent(person.id, write)
      const recorded = { contactId: person.id, eventId, created: known === null }
      return keptNames.length > 0 ? { ...recorded, keptNames } : recorded
    },
  }
}
