import type { Sql } from './engine/sql.ts'
import { and, desc, eq, isNotNull, isNull, like, lt, not, or, type SQL, sql } from 'drizzle-orm'
import { createTextIds, publicId } from '../core/ids.ts'
import { auditEntries } from './schema.ts'
import { prepareLazily } from './engine/statements.ts'

export type Done = { done: true }
export const DONE: Done = { done: true }

/** `actor`: "cli", "link", a member id or a key id. */
export type Change = { accountId: string; actor: string; at: number }

/** `address`: keyed hash. `count`: how many identical attempts the row stands for. */
export type SignInMark = { address: string; count?: number }

/** Of all writers of audit entries: entries of the same ms are read in this order. */
const nextId = createTextIds('aud')

export function createAudit(db: Sql) {
  const insert = prepareLazily(() =>
    db.orm
      .insert(auditEntries)
      .values({
        id: sql.placeholder('id'),
        accountId: sql.placeholder('accountId'),
        actor: sql.placeholder('actor'),
        action: sql.placeholder('action'),
        subject: sql.placeholder('subject'),
        createdAt: sql.placeholder('at'),
        address: sql.placeholder('address'),
        count: sql.placeholder('count'),
      })
      .prepare(),
  )
  return async (
    { accountId, actor, at }: Change,
    action: string,
    subject: string,
    mark?: SignInMark,
  ): Promise<void> => {
    const { address = null, count = 1 } = mark ?? {}
    await insert.run({ id: nextId(at), accountId, actor, action, subject, at, address, count })
  }
}

/** Of an entry about a message: its id, with the names that it had then. A rename has the old and the new one, a restore the version after it. */
export const writeMessageSubject = (id: number, ...names: string[]): string =>
  `${publicId('msg', id)} ${JSON.stringify(names)}`

/** Null if the entry is not about a message. Entries that 0.1.0 wrote have no names. */
export function readMessageSubject({ action, subject }: Pick<AuditEntry, 'action' | 'subject'>) {
  if (!action.startsWith('message.') || subject === null) return null
  const space = subject.indexOf(' ')
  return space === -1
    ? { id: subject, names: [] }
    : { id: subject.slice(0, space), names: JSON.parse(subject.slice(space + 1)) as string[] }
}

/** The person's id is missing if the address had no person. Null: about no address. */
export function readSuppressedSubject({ action, subject }: Pick<AuditEntry, 'action' | 'subject'>) {
  if (action !== 'suppression.add' && action !== 'suppression.remove') return null
  const found = /^[\w-]{43}(?: (con_\w+))?: (.*)$/su.exec(subject ?? '')
  return found && { contactId: found[1] ?? null, why: found[2] ?? '' }
}

/** Of an entry about a person whom a member added or changed. */
export const writePersonSubject = (id: number, changed: readonly string[]): string =>
  changed.length === 0 ? publicId('con', id) : `${publicId('con', id)} ${JSON.stringify(changed)}`

/** Null if the entry is not about changes of a person. */
export function readPersonSubject({ action, subject }: Pick<AuditEntry, 'action' | 'subject'>) {
  if (action !== 'contact.change' || subject === null) return null
  const space = subject.indexOf(' ')
  return { contactId: subject.slice(0, space), changed: JSON.parse(subject.slice(space + 1)) as string[] }
}

/** `subject`: a person's ID, or the list in words without values. */
export type ExportNote = Change & { action: 'contact.export' | 'data.export' | 'data.import'; subject: string }

export function createAuditWrites(db: Sql) {
  const audit = createAudit(db)
  return {
    async noteExport({ action, subject, ...by }: ExportNote): Promise<Done> {
      await audit(by, action, subject)
      return DONE
    },
  }
}

type AuditEntry = typeof auditEntries.$inferSelect

type AuditQuery = {
  accountId: string
  /** `changes`: all others */
  kind: 'all' | 'sign_ins' | 'people' | 'changes'
  /** how the action begins, without wildcards of LIKE */
  action?: string
  before: { at: number; id: string } | null
  limit: number
}

export function createAuditReads(db: Sql) {
  const { orm } = db
  const { createdAt, address, accountId, id, action } = auditEntries
  const startsWith = (text: string): SQL => like(action, `${text}%`)
  const ofPerson = sql`(${startsWith('contact.')} OR ${startsWith('suppression.')})`
  const kinds = {
    all: undefined,
    sign_ins: isNotNull(address),
    people: and(isNull(address), ofPerson),
    changes: and(isNull(address), not(ofPerson)),
  }
  return {
    async listAudit(query: AuditQuery): Promise<AuditEntry[]> {
      const { before } = query
      const older = before && or(lt(createdAt, before.at), and(eq(createdAt, before.at), lt(id, before.id)))
      const wanted = query.action === undefined ? undefined : startsWith(query.action)
      return await orm
        .select()
        .from(auditEntries)
        .where(and(eq(accountId, query.accountId), kinds[query.kind], wanted, older ?? undefined))
        .orderBy(desc(createdAt), desc(id))
        .limit(query.limit)
        .all()
    },
  }
}
