import type { Dialect, Sql } from './engine/sql.ts'
import type { Cause } from './suppression-causes.ts'
import type { ContactStatus } from './types.ts'

type Pair<Value> = [before: Value, after: Value]

/**
 * Null = unchanged. Tags are those removed and those added; values of fields are text, cut to 200 characters. `cause`: of
 * the status, or of a bounce that left it as it was; null: not known.
 */
type ContactDifference = {
  status: Pair<ContactStatus> | null
  firstName: Pair<string | null> | null
  lastName: Pair<string | null> | null
  source: Pair<string | null> | null
  tags: Pair<string[]> | null
  fields: Record<string, Pair<string | null>> | null
  cause: Cause | null
  /** ended and resumed */
  topics: Pair<string[]> | null
  /** a member added the person */
  added: true | null
}

const NO_DIFFERENCE: ContactDifference = {
  status: null,
  firstName: null,
  lastName: null,
  source: null,
  tags: null,
  fields: null,
  cause: null,
  topics: null,
  added: null,
}

/** `actor`: a member's id; null: a program, or the person. */
export type ContactChangeRow = { id: number; at: number; actor: string | null; change: ContactDifference }

/** `status`: the one after the change. */
export type StatusChange = Pick<ContactChangeRow, 'at' | 'actor'> & { status: ContactStatus }

const statusOf = ({ jsonMember }: Dialect): string => jsonMember('change', 'status.1')

export const isStatusChange = (dialect: Dialect): string => `${statusOf(dialect)} IS NOT NULL`

/** The newest change of a person's status. */
export function createStatusChangeRead(db: Sql) {
  const newest = db.prepare<StatusChange, [number]>(
    `SELECT at, actor, ${statusOf(db.dialect)} AS status FROM contact_changes
     WHERE contact_id = ? AND ${isStatusChange(db.dialect)} ORDER BY id DESC LIMIT 1`,
  )
  return async (contactId: number): Promise<StatusChange | null> => await newest.get(contactId)
}

/** Triggers record the changes (migration contact_changes). */
export function createChangeReads(db: Sql) {
  const newest = db.prepare<Omit<ContactChangeRow, 'change'> & { change: string }, [number, number, number]>(
    'SELECT id, at, actor, change FROM contact_changes WHERE contact_id = ? AND id < ? ORDER BY id DESC LIMIT ?',
  )
  return {
    findStatusChange: createStatusChangeRead(db),
    listContactChanges: async (contactId: number, before: number | null, limit: number): Promise<ContactChangeRow[]> =>
      (await newest.all(contactId, before ?? Number.MAX_SAFE_INTEGER, limit)).map(({ change, ...row }) => ({
        ...row,
        change: { ...NO_DIFFERENCE, ...(JSON.parse(change) as Partial<ContactDifference>) },
      })),
  }
}

/** Of a person, as in the trigger. */
const MOST_CHANGES = 200

type ChangeNote = {
  appId: number
  contactId: number
  at: number
  actor: string | null
  status?: ContactStatus
  cause?: Cause
  topics?: Pair<string[]>
  added?: true
}

/** Records what the trigger doesn't see: a member who adds a person or sets the status that they have already, a bounce, or topics. */
export function createChangeNote(db: Sql) {
  const { greatest, jsonArray, jsonObject, jsonOf } = db.dialect
  const status = 'CAST(?4 AS text)'
  const change = jsonObject({
    status: `CASE WHEN ${status} IS NOT NULL THEN ${jsonArray(status, status)} END`,
    cause: jsonOf('?5'),
    topics: jsonOf('?6'),
    added: jsonOf('?8'),
  })
  const add = db.prepare(
    `INSERT INTO contact_changes (app_id, contact_id, id, at, actor, change)
     SELECT CAST(?7 AS bigint), CAST(?1 AS bigint), ${greatest('(CAST(?2 AS bigint) - 1767225600000) * 8192', '1 + coalesce(max(id), 0)')},
       CAST(?2 AS bigint), CAST(?3 AS text), ${change}
     FROM contact_changes WHERE contact_id = ?1`,
  )
  const cut = db.prepare(
    `DELETE FROM contact_changes WHERE contact_id = ?1 AND id <=
       (SELECT id FROM contact_changes WHERE contact_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ${MOST_CHANGES})`,
  )
  const toJson = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))
  return async ({ appId, contactId, at, actor, status, cause, topics, added }: ChangeNote): Promise<void> => {
    await add.run(contactId, at, actor, status ?? null, toJson(cause), toJson(topics), appId, toJson(added))
    await cut.run(contactId)
  }
}

/** Of each person, the last change, if it is of this time. `?2`: their ids. */
const lastChanges = ({ isOneOf }: Dialect): string =>
  `${isOneOf('contact_id', '?2')} AND at = ?3 AND id =
     (SELECT max(id) FROM contact_changes AS newest WHERE newest.contact_id = contact_changes.contact_id)`

/** Names the member who made people's changes of this time. */
export function createChangeActor(db: Sql) {
  const name = db.prepare(`UPDATE contact_changes SET actor = ?1 WHERE ${lastChanges(db.dialect)}`)
  return async (contactIds: readonly number[], at: number, actor: string | null | undefined): Promise<void> => {
    if (actor && contactIds.length > 0) await name.run(actor, JSON.stringify(contactIds), at)
  }
}

/** Says why people's status changed at this time. */
export function createChangeCause(db: Sql) {
  const set = db.prepare(
    `UPDATE contact_changes SET change = ${db.dialect.jsonSetJson('change', 'cause', '?1')} WHERE ${lastChanges(db.dialect)}`,
  )
  return async (contactIds: readonly number[], at: number, cause: Cause | undefined): Promise<void> => {
    if (cause && contactIds.length > 0) await set.run(JSON.stringify(cause), JSON.stringify(contactIds), at)
  }
}
