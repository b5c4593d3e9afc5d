import type { Database } from 'bun:sqlite'
import { mergeContact } from './contact-merging.ts'
import { createContactReads } from './contacts.ts'
import type { StoredContact, ContactRow, ContactWrite, FieldValue, Refused, SavedContact } from './types.ts'
import type { People } from './people.ts'
import type { Cancellations } from './cancellations.ts'
import type { Counters } from './counters.ts'
import type { Triggers } from './triggers.ts'

type Parts = { db: Database; people: People; counters: Counters; triggers: Triggers; cancellations: Cancellations }

/** People written by name: add and merge, update, erase. */
export function createContactWrites({ db, people, counters, triggers, cancellations }: Parts) {
  const reads = createContactReads(db)
  const save = db.prepare(
    `UPDATE contacts SET first_name = ?, last_name = ?, source = ?, tags = ?, fields = ?, updated_at = ? WHERE id = ?`,
  )
  const addTag = db.prepare('INSERT OR IGNORE INTO contact_tags (app_id, tag, contact_id) VALUES (?, ?, ?)')
  const removeTag = db.prepare('DELETE FROM contact_tags WHERE app_id = ? AND tag = ? AND contact_id = ?')

  const found = <Row>(row: Row | null): Row => {
    if (!row) throw new Error('a contact that was just written is missing')
    return row
  }
  const readStored = (id: number): StoredContact => found(reads.storedById(id))

  /** Merges into the stored row; a row that stays the same is not written. */
  const merge = (id: number, write: ContactWrite, source: string | null): ContactRow | Refused => {
    const old = readStored(id)
    const next = mergeContact(old, write)
    if ('refusal' in next) return next
    const columns = [next.firstName, next.lastName, source, toJson(next.tags), toJson(next.fields)] as const
    const before = [old.firstName, old.lastName, old.source, toJson(old.tags ?? []), toJson(old.fields ?? {})]
    if (columns.every((value, index) => value === before[index])) return found(reads.byId(id))
    save.run(...columns, write.at, id)
    for (const tag of write.removeTags) removeTag.run(write.appId, tag, id)
    for (const tag of write.tags) addTag.run(write.appId, tag, id)
    people.drop(write.appId, write.email)
    const now = found(reads.byId(id))
    tellOfChange(old, now, write.at)
    return now
  }

  /** What the change settles of what waits, then what it triggers. */
  const tellOfChange = (old: StoredContact, now: StoredContact, at: number): void => {
    const { appId, id: contactId } = now
    const [before, after] = [old.tags ?? [], now.tags ?? []]
    const addedTags = after.filter((tag) => !before.includes(tag))
    const removedTags = before.filter((tag) => !after.includes(tag))
    const [fieldsBefore, fieldsAfter] = [old.fields ?? {}, now.fields ?? {}]
    cancellations.onContactChange({ appId, contactId, at, addedTags, removedTags, fieldsBefore, fieldsAfter })
    for (const tag of addedTags) triggers.onTagAdded(appId, contactId, { tag, at })
  }

  const countUsage = ({ buckets, at }: ContactWrite): void => {
    for (const bucket of buckets) counters.countUsage(bucket, at)
  }

  return {
    /** Makes the person, or merges into a known one without touching source and status. */
    addContact(write: ContactWrite): SavedContact | Refused {
      countUsage(write)
      const known = people.find(write.appId, write.email)
      const names = { firstName: write.firstName ?? null, lastName: write.lastName ?? null }
      const person = known ?? people.add({ ...write, ...names })
      if ('refusal' in person) return person
      const source = known ? readStored(known.id).source : write.source
      const contact = merge(person.id, write, source)
      return 'refusal' in contact ? contact : { contactId: person.id, created: known === null, contact }
    },

    /** Never makes anyone. */
    updateContact(write: ContactWrite): SavedContact | Refused {
      countUsage(write)
      const known = people.find(write.appId, write.email)
      if (!known) return { refusal: 'contact_not_found' }
      const source = write.source ?? readStored(known.id).source
      const contact = merge(known.id, write, source)
      return 'refusal' in contact ? contact : { contactId: known.id, created: false, contact }
    },
  }
}

const toJson = (value: string[] | Record<string, FieldValue>): string | null =>
  Object.keys(value).length === 0 ? null : JSON.stringify(value)
