import { readLocale, readTimezone } from './local-time.ts'
import type { Database, Statement } from 'bun:sqlite'
import type { ContactStatus, FieldValue } from './types.ts'

/** What a mail may say of somebody. */
export type PersonFacts = {
  email: string
  firstName: string | null
  lastName: string | null
  tags: string[] | null
  fields: Record<string, FieldValue> | null
}
export type PersonRow = PersonFacts & { id: number; status: ContactStatus }

type Stored = Omit<PersonRow, 'tags' | 'fields'> & { tags: string | null; fields: string | null }

/** So many people are looked up by one statement, and so many are handed on, before others get their turn. */
const PEOPLE_AT_ONCE = 1_000
const PEOPLE_A_TURN = 30
const KNOWN_TEXTS = 1_000

/** Taking tags and fields apart takes as long as finding somebody: only where they are asked for. */
type Asked = { tags: boolean; fields: boolean }
const selectPerson = ({ tags, fields }: Asked): string =>
  `SELECT contacts.id, email, first_name AS firstName, last_name AS lastName, status,
     ${tags ? 'tags' : 'NULL AS tags'}, ${fields ? 'fields' : 'NULL AS fields'}`

/**
 * Looks up people by their ids, which come first in `statement` as JSON; in ascending order that takes a third of the time
 * (measured).
 */
export function* eachById<Row>(
  statement: Statement<Row, [string]>,
  ids: readonly number[],
  giveWay: () => void,
): Generator<Row> {
  for (let first = 0; first < ids.length; first += PEOPLE_AT_ONCE) {
    const rows = statement.all(JSON.stringify(ids.slice(first, first + PEOPLE_AT_ONCE)))
    for (const [index, row] of rows.entries()) {
      if (index % PEOPLE_A_TURN === 0) giveWay()
      yield row
    }
  }
}

type StoredApp = { name: string; homeUrl: string | null; timezone: string | null; locale: string | null }

/** People as they are today, for a simulation. Ids are ascending; `giveWay` is called many times a millisecond. */
export function createSimulationPeople(db: Database, giveWay: () => void) {
  const parse = createParser()
  const person = db.prepare<Stored, [number]>(
    `${selectPerson({ tags: true, fields: true })} FROM contacts WHERE id = ?`,
  )
  const email = db.prepare<{ email: string }, [number]>('SELECT email FROM contacts WHERE id = ?')
  const app = db.prepare<StoredApp, [number]>(
    `SELECT name, home_url AS homeUrl, timezone, locale FROM apps
     LEFT JOIN app_mail_settings ON app_id = apps.id WHERE apps.id = ?`,
  )
  const from = 'FROM json_each(?) CROSS JOIN contacts ON contacts.id = value'
  const unwilling = db.prepare<Pick<PersonRow, 'id' | 'status'>, [string]>(
    `SELECT contacts.id, status ${from} WHERE status <> 'subscribed'`,
  )

  return {
    emailOf: (contactId: number): string | null => email.get(contactId)?.email ?? null,

    /** Null of those who were erased since. For one after the other. */
    personOf(contactId: number): PersonRow | null {
      giveWay()
      const found = person.get(contactId)
      return found && parse(found)
    },

    appOf(appId: number) {
      const found = app.get(appId)
      return found && { ...found, timezone: readTimezone(found.timezone), locale: readLocale(found.locale) }
    },

    /** With the tags and fields that are asked for. */
    *eachPersonOf(ids: readonly number[], asked: Asked): Generator<PersonRow> {
      const people = db.prepare<Stored, [string]>(`${selectPerson(asked)} ${from}`)
      for (const found of eachById(people, ids, giveWay)) yield parse(found)
    },

    /** Only those who may not be written to, who are few. */
    eachUnwillingOf: (ids: readonly number[]): Generator<Pick<PersonRow, 'id' | 'status'>> =>
      eachById(unwilling, ids, giveWay),
  }
}

/** Takes people's tags and fields apart; a few texts are those of many people. */
function createParser(): (stored: Stored) => PersonRow {
  const known = new Map<string, unknown>()
  const parse = (text: string): unknown => {
    const found = known.get(text)
    if (found !== undefined) return found
    const parsed: unknown = JSON.parse(text)
    if (known.size < KNOWN_TEXTS) known.set(text, parsed)
    return parsed
  }
  return (stored) =>
    Object.assign(stored, {
      tags: stored.tags === null ? null : (parse(stored.tags) as string[]),
      fields: stored.fields === null ? null : (parse(stored.fields) as Record<string, FieldValue>),
    })
}
