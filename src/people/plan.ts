/** Plans people: finds or creates the person of a write and merges what it changes. Pure. */
import { addTimes, seenAt } from '../store/timeline/seen-times.ts'
import {
  type KnownPerson,
  type AccountMonth,
  monthKey,
  type Names,
  type NewContact,
  type NewEvent,
  type PersonChange,
  type PersonFacts,
} from '../store/plan-types.ts'
import type {
  ContactRow,
  ContactStatus,
  ContactWrite,
  EventType,
  EventWrite,
  FieldValue,
  NameField,
  PersonWrite,
  Refused,
  StoredContact,
} from '../store/types.ts'
import { MAX_CUSTOM_FIELDS, MAX_CUSTOM_FIELDS_BYTES, MAX_STORED_TAGS } from '../core/field-limits.ts'

/** `names`: null if not loaded. */
export type Person = { id: number; lacksName: boolean; names: Names | null }

/** The people whom the batch changed so far. */
export type PeopleChanges = {
  changed: Map<PersonFacts, Person>
  contacts: NewContact[]
  personChanges: PersonChange[]
  /** with the batch's changes */
  current: Map<PersonFacts, StoredContact>
  /** new people by account and month */
  added: Map<string, AccountMonth & { count: number }>
}

export const noPeopleChanges = (): PeopleChanges => ({
  changed: new Map(),
  current: new Map(),
  contacts: [],
  personChanges: [],
  added: new Map(),
})

/** The calendar month (UTC) of a time (ms UTC), such as "2026-05". New people are counted by it. */
export const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7)

/** `limit` null: unlimited. */
const allowsNewPerson = (limit: number | null, newThisMonth: number): boolean => limit === null || newThisMonth < limit

/** With the batch's changes so far; null if unknown. */
export const findPerson = ({ changed }: PeopleChanges, facts: PersonFacts): Person | null =>
  (changed.size > 0 ? changed.get(facts) : undefined) ?? (isKnown(facts) ? facts : null)

export const isKnown = (person: PersonFacts): person is KnownPerson => person.id !== null

type NewPerson = Pick<PersonWrite, 'accountId' | 'appId' | 'email' | 'shownEmail' | 'newPeoplePerMonth' | 'at'> &
  Names & { source: string | null; isPending?: boolean }
type Making = { facts: PersonFacts; newPeople: ReadonlyMap<string, number>; takeId: () => number }

/** Refusal: plan_limit_reached, for the calendar month (UTC). */
export function makePerson(
  changes: PeopleChanges,
  { facts, newPeople, takeId }: Making,
  person: NewPerson,
): Person | Refused {
  const { accountId, appId, email, shownEmail, newPeoplePerMonth, firstName, lastName, source, at } = person
  const status = statusOfNew(facts, person)
  const month = monthOf(at)
  const key = monthKey({ accountId, month })
  const added = changes.added.get(key) ?? { accountId, month, count: 0 }
  if (!allowsNewPerson(newPeoplePerMonth, (newPeople.get(key) ?? 0) + added.count)) {
    return { refusal: 'plan_limit_reached' }
  }
  added.count += 1
  changes.added.set(key, added)
  const id = takeId()
  changes.contacts.push({ id, appId, email, shownEmail, firstName, lastName, source, status, at })
  const made = { id, lacksName: firstName === null || lastName === null, names: { firstName, lastName } }
  changes.changed.set(facts, made)
  return made
}

/** The address may be suppressed before the person is known, or after an erasure. */
export const statusOfNew = (
  { suppression }: Pick<PersonFacts, 'suppression'>,
  { isPending = false }: Pick<NewPerson, 'isPending'>,
): ContactStatus => suppression ?? (isPending ? 'pending' : 'subscribed')

/** A contact before and after a write. */
export type ChangedContact = { before: StoredContact; after: StoredContact }

/** Without values, for the audit log, which outlives the person. */
export function listChangedNames({ before, after }: ChangedContact): string[] {
  const isChanged = (one: unknown, other: unknown): boolean => JSON.stringify(one) !== JSON.stringify(other)
  const [old, fields] = [before.fields ?? {}, after.fields ?? {}]
  const names = Object.keys({ ...old, ...fields }).filter((name) => isChanged(old[name], fields[name]))
  return [
    ...(['firstName', 'lastName', 'source', 'tags'] as const).filter((name) => isChanged(before[name], after[name])),
    ...names.map((name) => `fields.${name}`),
  ]
}

/** Merges a write into a contact; an unchanged contact is not written. Refusals: see mergeContact. */
export function changeContact(
  changes: PeopleChanges,
  facts: PersonFacts,
  write: ContactWrite,
  sourceOf: (stored: StoredContact) => string | null,
): ChangedContact | Refused {
  const before = findRow(changes, facts)
  if (!before) throw new Error('a contact was changed without facts')
  const next = mergeContact(before, write)
  if ('refusal' in next) return next
  const source = sourceOf(before)
  const { firstName, lastName, tags, fields } = next
  const now = [firstName, lastName, source, JSON.stringify(tags), JSON.stringify(fields)]
  const old = [before.firstName, before.lastName, before.source, JSON.stringify(before.tags ?? [])]
  if (now.every((value, index) => value === [...old, JSON.stringify(before.fields ?? {})][index])) {
    return { before, after: before }
  }
  const { appId, email, at, tags: addTags, removeTags, actor } = write
  const names = { firstName, lastName }
  const change = { change: 'contact', appId, email, id: before.id, ...names, source, tags, fields, at } as const
  changes.personChanges.push({ ...change, addTags, removeTags, actor })
  const after = { ...before, ...names, source, tags: orNull(tags), fields: orNull(fields), updatedAt: at }
  changes.current.set(facts, after)
  changes.changed.set(facts, { id: before.id, lacksName: firstName === null || lastName === null, names })
  return { before, after }
}

/** Makes a pending person subscribed. @returns their row as it was; null if it was not loaded */
export function confirmPerson(changes: PeopleChanges, facts: PersonFacts, at: number): StoredContact | null {
  const row = findRow(changes, facts)
  if (row?.status === 'pending') changes.current.set(facts, { ...row, status: 'subscribed', updatedAt: at })
  return row
}

/** With the batch's changes so far; null if neither the batch changed the person nor the row was loaded. */
export const findFields = (changes: PeopleChanges, facts: PersonFacts) => {
  const row = findRow(changes, facts)
  return row && (row.fields ?? {})
}

/** With the batch's changes so far; null if it was not loaded. */
const findRow = (changes: PeopleChanges, facts: PersonFacts): StoredContact | null =>
  changes.current.get(facts) ?? facts.contact?.row ?? findCreated(changes, facts)

/** A contact that the batch created. */
function findCreated({ changed, contacts }: PeopleChanges, facts: PersonFacts): StoredContact | null {
  const made = changed.get(facts)
  const row = made && contacts.findLast(({ id }) => id === made.id)
  if (!row) return null
  const { at, ...contact } = row
  return { ...contact, tags: null, fields: null, createdAt: at, updatedAt: at }
}

const NEVER_SEEN = { firstViews: [], lastViews: [], lastEvents: [] }

/** `events`: of the batch so far. */
export function addSeenTimes(row: StoredContact, facts: PersonFacts, events: readonly NewEvent[]): ContactRow {
  const own = facts.isAlone ? [] : events.filter(({ contactId }) => contactId === row.id)
  const timesOf = (type: EventType): number[] =>
    own.flatMap(({ event }) => (event.type === type ? (event.occurredAt ?? event.at) : []))
  const seen = addTimes(facts.contact?.seen ?? NEVER_SEEN, { views: timesOf('page'), events: timesOf('event') })
  return { ...row, ...seenAt(seen) }
}

const orNull = <Value extends string[] | Record<string, FieldValue>>(value: Value): Value | null =>
  Object.keys(value).length === 0 ? null : value

const NO_NAMES: NameField[] = []
const NAMES: readonly NameField[] = ['firstName', 'lastName']

export const bringsNames = ({ firstName, lastName }: Names): boolean => firstName !== null || lastName !== null

/** Names of an event fill empty ones and never overwrite. @returns the names that were ignored */
export function fillEmptyNames(
  changes: PeopleChanges,
  { facts, person }: { facts: PersonFacts; person: Person },
  write: Pick<EventWrite, 'appId' | 'email' | 'at'> & Names,
): NameField[] {
  const { names } = person
  if (names === null || !bringsNames(write)) return NO_NAMES
  const filled = { firstName: names.firstName ?? write.firstName, lastName: names.lastName ?? write.lastName }
  if (filled.firstName !== names.firstName || filled.lastName !== names.lastName) {
    const { appId, email, at } = write
    changes.personChanges.push({ change: 'names', appId, email, id: person.id, at, ...filled })
    const row = findRow(changes, facts)
    if (row) changes.current.set(facts, { ...row, ...filled, updatedAt: at })
    const lacksName = filled.firstName === null || filled.lastName === null
    changes.changed.set(facts, { id: person.id, lacksName, names: filled })
  }
  return listKeptNames(names, write)
}

/** Names of an event that differ from the stored ones and are ignored. */
const listKeptNames = (stored: Names, sent: Names): NameField[] =>
  NAMES.filter((name) => {
    const [current, offered] = [stored[name], sent[name]]
    return current !== null && offered !== null && tidy(current) !== tidy(offered)
  })

/** Whitespace doesn't make a different name. */
const tidy = (name: string): string => name.trim().replaceAll(/\s+/g, ' ')

type Stored = Pick<ContactRow, 'firstName' | 'lastName' | 'tags' | 'fields'>
type Change = Pick<ContactWrite, 'firstName' | 'lastName' | 'tags' | 'removeTags' | 'fields'>
type Merged = Pick<ContactRow, 'firstName' | 'lastName'> & { tags: string[]; fields: Record<string, FieldValue> }

/** Refuses additions beyond a limit (tags_full, fields_full). Removing always works. */
function mergeContact(old: Stored, change: Change): Merged | Refused {
  const next = {
    firstName: change.firstName === undefined ? old.firstName : change.firstName,
    lastName: change.lastName === undefined ? old.lastName : change.lastName,
    tags: mergeTags(old.tags ?? [], change),
    fields: mergeFields(old.fields ?? {}, change.fields ?? {}),
  }
  return findOverfull(old, next) ?? next
}

const mergeTags = (old: string[], { tags, removeTags }: Change): string[] =>
  [...new Set([...old, ...tags])].filter((tag) => !removeTags.includes(tag))

/** null removes. Entries, not assignment: a field may be called `__proto__`. */
function mergeFields(old: Record<string, FieldValue>, changes: Record<string, FieldValue | null>) {
  const merged = new Map<string, FieldValue | null>([...Object.entries(old), ...Object.entries(changes)])
  const entries = Array.from(merged).filter((entry): entry is [string, FieldValue] => entry[1] !== null)
  return Object.fromEntries(entries)
}

function findOverfull(old: Stored, next: Merged): Refused | null {
  const [tagsBefore, tags] = [old.tags?.length ?? 0, next.tags.length]
  if (tags > MAX_STORED_TAGS && tags > tagsBefore) return { refusal: 'tags_full' }
  const [before, after] = [sizeOf(old.fields), sizeOf(next.fields)]
  if (after.keys > MAX_CUSTOM_FIELDS && after.keys > before.keys) return { refusal: 'fields_full' }
  return after.bytes > MAX_CUSTOM_FIELDS_BYTES && after.bytes > before.bytes ? { refusal: 'fields_full' } : null
}

const sizeOf = (fields: Stored['fields']) => ({
  keys: Object.keys(fields ?? {}).length,
  bytes: Buffer.byteLength(JSON.stringify(fields ?? {})),
})
