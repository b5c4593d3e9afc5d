import type { Database } from 'bun:sqlite'
import { and, asc, desc, eq, inArray, isNull, lt, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { type IdSequence, publicId } from '../core/ids.ts'
import { createAudit, type Done, DONE } from './audit.ts'
import { createDeliveryCounts } from './delivery-counts.ts'
import type { LiveMessages } from './live-messages.ts'
import { MESSAGE_STATUSES, type MessageContent, type MessageRow, type MessageStatus } from './message-types.ts'
import { auditEntries, messages, messageVersions } from './schema.ts'
import type { Refused } from './types.ts'
import { prepareLazily } from './engine/statements.ts'

export type MessageChange = { accountId: string; appId: number; actor: string; at: number }
/** Null `id`: found by name, or created. Null `status`: unchanged. `basedOn`: refuse if `updatedAt` differs (null: if it exists). */
export type MessageDraft = {
  id: number | null
  name: string
  content: MessageContent
  status: MessageStatus | null
  basedOn?: number | null
}
export type SavedMessage = { id: number; name: string; version: number; status: MessageStatus; change: Change }
type StatusChange = MessageChange & { id: number; status: MessageStatus; content?: MessageContent }
type Change = 'created' | 'changed' | 'unchanged'
type StatusChanged = { messageId: number; at: number; status: MessageStatus }

type Joined = { message: typeof messages.$inferSelect; content: MessageRow['content'] }
const toMessageRow = ({ message, content }: Joined): MessageRow => ({ ...message, content })

export function createMessageReads(db: Database) {
  const orm = drizzle(db)
  const fields = { message: messages, content: messageVersions.content }
  const isCurrent = and(eq(messageVersions.messageId, messages.id), eq(messageVersions.version, messages.version))
  const select = () => orm.select(fields).from(messages).innerJoin(messageVersions, isCurrent)
  const ofApp = eq(messages.appId, sql.placeholder('appId'))
  const all = prepareLazily(() => select().where(ofApp).orderBy(asc(messages.id)).prepare())
  const byId = prepareLazily(() =>
    select()
      .where(and(eq(messages.id, sql.placeholder('id')), ofApp))
      .prepare(),
  )
  const byName = prepareLazily(() =>
    select()
      .where(and(ofApp, eq(messages.name, sql.placeholder('name'))))
      .prepare(),
  )
  const oneVersion = prepareLazily(() =>
    orm
      .select(fields)
      .from(messages)
      .innerJoin(messageVersions, eq(messageVersions.messageId, messages.id))
      .where(and(eq(messages.id, sql.placeholder('id')), eq(messageVersions.version, sql.placeholder('version'))))
      .prepare(),
  )
  const manyVersions = prepareLazily(() =>
    orm
      .select({ ...fields, version: messageVersions.version })
      .from(messageVersions)
      .innerJoin(messages, eq(messageVersions.messageId, messages.id))
      .where(
        sql`(${messageVersions.messageId}, ${messageVersions.version}) IN
        (SELECT value ->> 0, value ->> 1 FROM json_each(${sql.placeholder('versions')}))`,
      )
      .prepare(),
  )

  return {
    listMessages: (appId: number): MessageRow[] => all.all({ appId }).map(toMessageRow),

    findMessage(appId: number, id: number): MessageRow | null {
      const found = byId.get({ appId, id })
      return found ? toMessageRow(found) : null
    },

    findMessageByName(appId: number, name: string): MessageRow | null {
      const found = byName.get({ appId, name })
      return found ? toMessageRow(found) : null
    },

    findVersion(id: number, version: number): MessageRow | null {
      const found = oneVersion.get({ id, version })
      return found ? { ...toMessageRow(found), version } : null
    },

    listVersionsById(versions: { messageId: number; version: number }[]): MessageRow[] {
      const pairs = new Set(versions.map(({ messageId, version }) => JSON.stringify([messageId, version])))
      const found = manyVersions.all({ versions: `[${[...pairs].join()}]` })
      return found.map(({ version, ...one }) => ({ ...toMessageRow(one), version }))
    },

    /** From the audit log, oldest first. `at`: ms UTC. */
    listStatusChanges(of: readonly Pick<MessageRow, 'accountId' | 'id'>[]): StatusChanged[] {
      const { accountId, createdAt, action, subject, address } = auditEntries
      const ids = new Map(of.map(({ id }) => [publicId('msg', id), id]))
      const accounts = [...new Set(of.map((one) => one.accountId))]
      return orm
        .select({ at: createdAt, action, subject })
        .from(auditEntries)
        .where(
          and(
            inArray(accountId, accounts),
            isNull(address),
            inArray(subject, [...ids.keys()]),
            inArray(
              action,
              MESSAGE_STATUSES.map((status) => `message.${status}`),
            ),
          ),
        )
        .orderBy(asc(createdAt), asc(sql`rowid`))
        .all()
        .flatMap((row) => {
          const messageId = ids.get(row.subject ?? '')
          const status = MESSAGE_STATUSES.find((one) => row.action === `message.${one}`)
          return messageId === undefined || status === undefined ? [] : [{ messageId, at: row.at, status }]
        })
    },

    listVersions: (
      id: number,
      { before, limit }: { before: number | null; limit: number },
    ): { version: number; createdAt: number; content: MessageRow['content'] }[] =>
      orm
        .select({
          version: messageVersions.version,
          createdAt: messageVersions.createdAt,
          content: messageVersions.content,
        })
        .from(messageVersions)
        .where(and(eq(messageVersions.messageId, id), lt(messageVersions.version, before ?? Number.MAX_SAFE_INTEGER)))
        .orderBy(desc(messageVersions.version))
        .limit(limit)
        .all(),
  }
}

type Parts = { db: Database; ids: IdSequence; live: LiveMessages }
export type MessageWrites = ReturnType<typeof createMessageWrites>

export function createMessageWrites({ db, ids, live }: Parts) {
  const orm = drizzle(db)
  const reads = createMessageReads(db)

  const audit = createAudit(db)
  const { hasDeliveries } = createDeliveryCounts(db)

  const addVersion = (messageId: number, version: number, content: MessageContent, createdAt: number): void => {
    orm
      .insert(messageVersions)
      .values({ messageId, version, content, createdAt })
      .onConflictDoUpdate({ target: [messageVersions.messageId, messageVersions.version], set: { content, createdAt } })
      .run()
  }

  const add = ({ accountId, appId, at }: MessageChange, draft: MessageDraft): SavedMessage => {
    const [id, status] = [ids.next(), draft.status ?? 'draft']
    const { name } = draft
    orm.insert(messages).values({ id, accountId, appId, name, status, version: 1, createdAt: at, updatedAt: at }).run()
    addVersion(id, 1, draft.content, at)
    return { id, name, version: 1, status, change: 'created' }
  }

  /** A draft without deliveries is overwritten; anything else gets a new version. */
  const change = (old: MessageRow, { name, content, status }: MessageDraft, at: number): SavedMessage => {
    const next = { name, status: status ?? old.status }
    const isSameContent = isEqual(content, old.content)
    const isOverwritable = old.status === 'draft' && !hasDeliveries(old.id)
    const version = isSameContent || isOverwritable ? old.version : old.version + 1
    if (isSameContent && name === old.name && next.status === old.status) {
      return { id: old.id, ...next, version, change: 'unchanged' }
    }
    if (!isSameContent) addVersion(old.id, version, content, at)
    orm
      .update(messages)
      .set({ ...next, version, updatedAt: nextUpdate(old, at) })
      .where(eq(messages.id, old.id))
      .run()
    return { id: old.id, ...next, version, change: 'changed' }
  }

  const findOld = (appId: number, { id, name }: MessageDraft): MessageRow | null =>
    id === null ? reads.findMessageByName(appId, name) : reads.findMessage(appId, id)

  const isOutdated = (appId: number, draft: MessageDraft): boolean =>
    draft.basedOn !== undefined && (findOld(appId, draft)?.updatedAt ?? null) !== draft.basedOn

  const isNameTaken = (appId: number, { id, name }: MessageDraft): boolean => {
    const other = id === null ? null : reads.findMessageByName(appId, name)
    return other !== null && other.id !== id
  }

  return {
    /** All or none. Refusals: message_not_found, message_name_taken, message_changed. */
    saveMessages({ drafts, ...by }: MessageChange & { drafts: MessageDraft[] }): { saved: SavedMessage[] } | Refused {
      if (drafts.some((draft) => draft.id !== null && !findOld(by.appId, draft)))
        return { refusal: 'message_not_found' }
      if (drafts.some((draft) => isOutdated(by.appId, draft))) return { refusal: 'message_changed' }
      if (drafts.some((draft) => isNameTaken(by.appId, draft))) return { refusal: 'message_name_taken' }
      const saved = drafts.map((draft) => {
        const old = findOld(by.appId, draft)
        const one = old ? change(old, draft, by.at) : add(by, draft)
        if (one.change !== 'unchanged') audit(by, 'message.save', publicId('msg', one.id))
        if (one.status !== (old?.status ?? 'draft')) audit(by, `message.${one.status}`, publicId('msg', one.id))
        return one
      })
      live.drop(by.appId)
      return { saved }
    },

    /**
     * Deliveries that come due while the message is not live are skipped. `content`: refuse with message_changed if
     * it is outdated.
     */
    setMessageStatus({ id, status, content, ...by }: StatusChange): Done | Refused {
      const old = reads.findMessage(by.appId, id)
      if (!old) return { refusal: 'message_not_found' }
      if (content && !isEqual(content, old.content)) return { refusal: 'message_changed' }
      orm
        .update(messages)
        .set({ status, updatedAt: nextUpdate(old, by.at) })
        .where(eq(messages.id, id))
        .run()
      audit(by, `message.${status}`, publicId('msg', id))
      live.drop(by.appId)
      return DONE
    },

    /** Refuses message_in_use if there are deliveries, because they refer to the content that was sent. */
    deleteMessage({ id, ...by }: MessageChange & { id: number }): Done | Refused {
      if (!reads.findMessage(by.appId, id)) return { refusal: 'message_not_found' }
      if (hasDeliveries(id)) return { refusal: 'message_in_use' }
      orm.delete(messageVersions).where(eq(messageVersions.messageId, id)).run()
      orm.delete(messages).where(eq(messages.id, id)).run()
      audit(by, 'message.delete', publicId('msg', id))
      live.drop(by.appId)
      return DONE
    },
  }
}

/** Differs after each change, so that `basedOn` finds two within a millisecond. */
const nextUpdate = ({ updatedAt }: MessageRow, at: number): number => Math.max(at, updatedAt + 1)

/** Ignores key order, which differs between forms and files. */
const isEqual = (a: MessageContent, b: MessageContent): boolean => Bun.deepEquals(a, b, true)
