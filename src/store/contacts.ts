import type { Sql } from './engine/sql.ts'
import { selectFields } from './engine/columns.ts'
import { createPostgresSeenTimes } from './postgres/seen-times.ts'
import { createSeenTimes, seenAt } from './timeline/seen-times.ts'
import type { ContactRow, FieldValue, StoredContact } from './types.ts'

const MAX_ID = Number.MAX_SAFE_INTEGER

export type ContactCursor = { id: number; updatedAt: number | null }
export type ContactQuery = {
  appId: number
  tag: string | null
  updatedAfter: number | null
  before: ContactCursor | null
  limit: number
}

export type StoredJson = Omit<StoredContact, 'tags' | 'fields'> & { tags: string | null; fields: string | null }

export const CONTACT_FIELDS = {
  id: 'contacts.id',
  appId: 'contacts.app_id',
  email: 'contacts.email',
  shownEmail: 'contacts.shown_email',
  firstName: 'contacts.first_name',
  lastName: 'contacts.last_name',
  source: 'contacts.source',
  status: 'contacts.status',
  tags: 'contacts.tags',
  fields: 'contacts.fields',
  createdAt: 'contacts.created_at',
  updatedAt: 'contacts.updated_at',
} satisfies Record<keyof StoredContact, string>

export const toContact = ({ tags, fields, ...row }: StoredJson): StoredContact => ({
  ...row,
  tags: tags === null ? null : (JSON.parse(tags) as string[]),
  fields: fields === null ? null : (JSON.parse(fields) as Record<string, FieldValue>),
})

type FieldValues = { values: string[]; isAll: boolean }

type FieldPeopleQuery = { name: string; values: readonly string[]; most: number }

/** How many people have a value in a field. */
export type FieldValueCount = { value: string; people: number }

export function createContactReads(db: Sql) {
  const { dialect } = db
  const select = <Values extends (number | string)[]>(rest: string) =>
    db.prepare<StoredJson, Values>(`SELECT ${selectFields(CONTACT_FIELDS)} FROM ${rest}`)
  const oneById = select<[number]>('contacts WHERE id = ?')
  const oneByEmail = select<[number, string]>('contacts WHERE app_id = ? AND email = ?')
  const manyById = select<[string]>(`contacts WHERE ${dialect.isOneOf('id')}`)
  const newest = select<[number, number, number]>('contacts WHERE app_id = ? AND id < ? ORDER BY id DESC LIMIT ?')
  const tagged = select<[number, string, number, number]>(
    `contact_tags JOIN contacts ON contacts.id = contact_tags.contact_id
     WHERE contact_tags.app_id = ? AND tag = ? AND contact_id < ? ORDER BY contact_id DESC LIMIT ?`,
  )
  const byUpdate = `contacts.app_id = ?1 AND updated_at > ?2 AND (updated_at, contacts.id) < (?3, ?4)
     ORDER BY updated_at DESC, contacts.id DESC LIMIT ?5`
  const updated = select<[number, number, number, number, number]>(`contacts WHERE ${byUpdate}`)
  const updatedTagged = select<[number, number, number, number, number, string]>(
    `contacts JOIN contact_tags ON contact_tags.app_id = ?1 AND tag = ?6 AND contact_id = contacts.id WHERE ${byUpdate}`,
  )
  const ofField = 'contact_fields WHERE app_id = ?1 AND name = ?2 AND value'
  // one look into the index per value, however many people have it
  const distinctValues = (pick: 'min' | 'max', next: string) =>
    db.prepare<{ value: string }, [number, string, string, number]>(
      `WITH RECURSIVE found(last) AS (
         SELECT ${pick}(value) FROM ${ofField} >= ?3
         UNION ALL SELECT (SELECT ${pick}(value) FROM ${ofField} ${next}) FROM found WHERE last IS NOT NULL)
       SELECT last AS value FROM found WHERE last IS NOT NULL LIMIT ?4`,
    )
  const [firstValues, lastValues] = [distinctValues('min', '> last'), distinctValues('max', '< last AND value >= ?3')]
  const peopleOf = db.prepare<FieldValueCount, [number, string, string, number]>(
    `SELECT value, count(*) AS people FROM
       (SELECT contact_fields.value FROM ${dialect.textsOf('?3', 'wanted')} ${dialect.crossJoin} contact_fields
          ON app_id = ?1 AND name = ?2 AND contact_fields.value = wanted.value LIMIT ?4) AS found GROUP BY value`,
  )
  const findTimes = dialect.engine === 'sqlite' ? createSeenTimes(db) : createPostgresSeenTimes(db)
  // the rows and their events must come from one snapshot
  const readSeen = async (rows: StoredContact[]): Promise<ContactRow[]> =>
    (await findTimes(rows)).map(({ row, seen }) => ({ ...row, ...seenAt(seen) }))
  const findSeen = (find: () => Promise<StoredContact[]>): Promise<ContactRow[]> =>
    db.readTogether(async () => readSeen(await find()))
  const one = (row: StoredJson | null): StoredContact[] => (row ? [toContact(row)] : [])

  const list = async ({ appId, tag, updatedAfter, before, limit }: ContactQuery): Promise<StoredContact[]> => {
    const id = before?.id ?? MAX_ID
    if (updatedAfter === null) {
      return (tag === null ? await newest.all(appId, id, limit) : await tagged.all(appId, tag, id, limit)).map(
        toContact,
      )
    }
    const position = [appId, updatedAfter, before?.updatedAt ?? MAX_ID, id, limit] as const
    return (tag === null ? await updated.all(...position) : await updatedTagged.all(...position, tag)).map(toContact)
  }

  return {
    byId: async (contactId: number): Promise<ContactRow | null> =>
      (await findSeen(async () => one(await oneById.get(contactId))))[0] ?? null,
    findWithTimes: async (contactId: number) => (await findTimes(one(await oneById.get(contactId))))[0] ?? null,
    storedById: async (contactId: number): Promise<StoredContact | null> =>
      one(await oneById.get(contactId))[0] ?? null,
    /** In the order of the ids. For callers that read in a snapshot. */
    async listSeenContacts(ids: number[]): Promise<ContactRow[]> {
      const rows = new Map((await manyById.all(JSON.stringify(ids))).map((row) => [row.id, row]))
      return readSeen(ids.flatMap((id) => one(rows.get(id) ?? null)))
    },
    listContactsById: async (ids: number[]): Promise<StoredContact[]> =>
      (await manyById.all(JSON.stringify(ids))).map(toContact),
    findContact: async (appId: number, email: string): Promise<ContactRow | null> =>
      (await findSeen(async () => one(await oneByEmail.get(appId, email))))[0] ?? null,
    /** Each once and as text: the first and the last `most` of them. */
    async listFieldValues(appId: number, { name, most }: { name: string; most: number }): Promise<FieldValues> {
      const first = (await firstValues.all(appId, name, '', most)).map(({ value }) => value)
      const end = first.at(-1)
      if (first.length < most || end === undefined) return { values: first, isAll: true }
      // the last of the first ones comes again if there are no others
      const last = (await lastValues.all(appId, name, end, most + 1)).map(({ value }) => value)
      const isAll = last.at(-1) === end
      return { values: [...first, ...last.slice(0, isAll ? -1 : most).reverse()], isAll }
    },
    /** Up to `most` people. */
    countFieldPeople: async (appId: number, { name, values, most }: FieldPeopleQuery): Promise<FieldValueCount[]> =>
      await peopleOf.all(appId, name, JSON.stringify(values), most),
    listContacts: (query: ContactQuery): Promise<ContactRow[]> => findSeen(() => list(query)),
  }
}
