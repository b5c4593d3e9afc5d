import type { Database } from 'bun:sqlite'
import type { ContactStatus } from './types.ts'

type Pair<Value> = [before: Value, after: Value]

/** Null = unchanged. Tags are those removed and those added; values of fields are text, cut to 200 characters. */
type ContactDifference = {
  status: Pair<ContactStatus> | null
  firstName: Pair<string | null> | null
  lastName: Pair<string | null> | null
  source: Pair<string | null> | null
  tags: Pair<string[]> | null
  fields: Record<string, Pair<string | null>> | null
  /** ended and resumed */
  topics?: Pair<string[]>
}

/** `actor`: a member's id; null: a program, or the person. */
export type ContactChangeRow = { id: number; at: number; actor: string | null; change: ContactDifference }

/** `status`: the one after the change. */
export type StatusChange = Pick<ContactChangeRow, 'at' | 'actor'> & { status: ContactStatus }

/** The newest change of a person's status. */
export function createStatusChangeRead(db: Database) {
  const newest = db.prepare<StatusChange, [number]>(
    `SELECT at, actor, json_extract(change, '$.status[1]') AS status FROM contact_changes
     WHERE contact_id = ? AND json_extract(change, '$.status[1]') IS NOT NULL ORDER BY id DESC LIMIT 1`,
  )
  return (contactId: number): StatusChange | null => newest.get(contactId)
}

/** Triggers record the changes (migration contact_changes). */
export function createChangeReads(db: Database) {
  const newest = db.prepare<Omit<ContactChangeRow, 'change'> & { change: string }, [number, number, number]>(
    'SELECT id, at, actor, change FROM contact_changes WHERE contact_id = ? AND id < ? ORDER BY id DESC LIMIT ?',
  )
  return {
    findStatusChange: createStatusChangeRead(db),
    listContactChanges: (contactId: number, before: number | null, limit: number): ContactChangeRow[] =>
      newest
        .all(contactId, before ?? Number.MAX_SAFE_INTEGER, limit)
        .map(({ change, ...row }) => ({ ...row, change: JSON.parse(change) as ContactDifference })),
  }
}

/** Of a person, as in the trigger. */
const MOST_CHANGES = 200

/** Records which topics of emails a person ended and resumed. */
export function createTopicNote(db: Database) {
  const add = db.prepare(
    `INSERT INTO contact_changes (contact_id, id, at, actor, change)
     SELECT ?1, max((?2 - 1767225600000) * 8192, 1 + ifnull(max(id), 0)), ?2, ?3,
       json_object('status', NULL, 'firstName', NULL, 'lastName', NULL, 'source', NULL, 'tags', NULL, 'fields', NULL,
         'topics', json(?4))
     FROM contact_changes WHERE contact_id = ?1`,
  )
  const drop = db.prepare(
    `DELETE FROM contact_changes WHERE contact_id = ?1 AND id <= (
       SELECT id FROM contact_changes WHERE contact_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ${MOST_CHANGES})`,
  )
  return (
    contactId: number,
    { at, actor, topics }: Pick<ContactChangeRow, 'at' | 'actor'> & { topics: Pair<string[]> },
  ): void => {
    add.run(contactId, at, actor, JSON.stringify(topics))
    drop.run(contactId)
  }
}

/** Records that a member set the status that the person has already. */
export function createStatusNote(db: Database) {
  const add = db.prepare(
    `INSERT INTO contact_changes (contact_id, id, at, actor, change)
     SELECT ?1, 1 + ifnull(max(id), (?2 - 1767225600000) * 8192), ?2, ?3, json_object('status', json_array(?4, ?4))
     FROM contact_changes WHERE contact_id = ?1`,
  )
  return (contactId: number, { at, actor, status }: StatusChange): void => void add.run(contactId, at, actor, status)
}

/** Names the member who made a person's change of this time. */
export function createChangeActor(db: Database) {
  const name = db.prepare(
    `UPDATE contact_changes SET actor = ?1 WHERE contact_id = ?2 AND at = ?3 AND id =
       (SELECT max(id) FROM contact_changes WHERE contact_id = ?2)`,
  )
  return (contactId: number, at: number, actor: string | null | undefined): void => {
    if (actor) name.run(actor, contactId, at)
  }
}
