import type { Database } from 'bun:sqlite'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { IS_WAITING, WAITS_FOR_SENDER, WAITS_FOR_SERVER } from './delivery-states.ts'
import { type IdSequence, makeTextId, publicId } from '../core/ids.ts'
import type { LiveMessages } from './live-messages.ts'
import { createMessageReads } from './message-reads.ts'
import type { MailSettings, MessageContent, MessageRow, MessageStatus } from './message-types.ts'
import { sealMail } from './engine/sealed-columns.ts'
import type { Sealer } from './engine/sealing.ts'
import { appMailSettings, auditEntries, messages, messageVersions } from './schema.ts'
import type { Refused } from './types.ts'

/** Of what waits for another try, so much is due at once at a new mail server: no write may hold up the next ones. */
const TRIED_AGAIN = 10_000

type Done = { done: true }
const DONE: Done = { done: true }

export type MessageChange = { accountId: string; appId: number; actor: string; at: number }
/**
 * `id` null: the message of that name, which is made when there is none. `status` null leaves it. `basedOn`: its
 * `updatedAt` when it was read, where it must not have changed since.
 */
export type MessageDraft = {
  id: number | null
  name: string
  content: MessageContent
  status: MessageStatus | null
  basedOn?: number
}
export type SavedMessage = { id: number; name: string; version: number; status: MessageStatus; change: Change }
type StatusChange = MessageChange & { id: number; status: MessageStatus; content?: MessageContent }
type Change = 'created' | 'changed' | 'unchanged'

type Parts = { db: Database; ids: IdSequence; live: LiveMessages; sealer: Sealer }
export type MessageWrites = ReturnType<typeof createMessageWrites>

/** Messages as they are edited and turned on. Every change drops what the writing thread has cached. */
export function createMessageWrites({ db, ids, live, sealer }: Parts) {
  const orm = drizzle(db)
  const reads = createMessageReads(db, sealer)

  const audit = ({ accountId, actor, at }: MessageChange, action: string, subject: string): void => {
    orm
      .insert(auditEntries)
      .values({ id: makeTextId('aud', at), accountId, actor, action, subject, createdAt: at })
      .run()
  }

  const anyDelivery = db.prepare('SELECT 1 FROM deliveries WHERE message_id = ? LIMIT 1')
  const hasDeliveries = (messageId: number): boolean => anyDelivery.get(messageId) !== null

  const [tryServer, trySender] = [`((${WAITS_FOR_SERVER}) OR (${WAITS_FOR_SENDER}))`, WAITS_FOR_SENDER].map((which) =>
    db.prepare(
      `UPDATE deliveries SET due_at = ?, updated_at = ?, record = json_remove(record, '$.tries') WHERE id IN (
         SELECT id FROM deliveries WHERE ${IS_WAITING} AND app_id = ? AND due_at > ? AND ${which}
         ORDER BY due_at LIMIT ${TRIED_AGAIN})`,
    ),
  )

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

  /** What was ever live, or has deliveries, gets a new version; a mere draft is written over. */
  const change = (old: MessageRow, { name, content, status }: MessageDraft, at: number): SavedMessage => {
    const next = { name, status: status ?? old.status }
    const isSameContent = isEqual(content, old.content)
    const isFresh = old.status === 'draft' && !hasDeliveries(old.id)
    const version = isSameContent || isFresh ? old.version : old.version + 1
    if (isSameContent && name === old.name && next.status === old.status) {
      return { id: old.id, ...next, version, change: 'unchanged' }
    }
    if (!isSameContent) addVersion(old.id, version, content, at)
    orm
      .update(messages)
      .set({ ...next, version, updatedAt: at })
      .where(eq(messages.id, old.id))
      .run()
    return { id: old.id, ...next, version, change: 'changed' }
  }

  const findOld = (appId: number, { id, name }: MessageDraft): MessageRow | null =>
    id === null ? reads.findMessageByName(appId, name) : reads.findMessage(appId, id)

  const isOutdated = (appId: number, draft: MessageDraft): boolean =>
    draft.basedOn !== undefined && findOld(appId, draft)?.updatedAt !== draft.basedOn

  const isNameTaken = (appId: number, { id, name }: MessageDraft): boolean => {
    const other = id === null ? null : reads.findMessageByName(appId, name)
    return other !== null && other.id !== id
  }

  return {
    /** Makes or edits messages of an app, all or none. Refusals: message_not_found, message_name_taken, message_changed. */
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
     * draft, live or paused. Deliveries that come due while it is not live are skipped. `content` is what was looked at,
     * where it matters: message_changed when the message says something else by now.
     */
    setMessageStatus({ id, status, content, ...by }: StatusChange): Done | Refused {
      const old = reads.findMessage(by.appId, id)
      if (!old) return { refusal: 'message_not_found' }
      if (content && !isEqual(content, old.content)) return { refusal: 'message_changed' }
      orm.update(messages).set({ status, updatedAt: by.at }).where(eq(messages.id, id)).run()
      audit(by, `message.${status}`, publicId('msg', id))
      live.drop(by.appId)
      return DONE
    },

    /** Only what never had a delivery, else message_in_use: the deliveries say what a person was written. */
    deleteMessage({ id, ...by }: MessageChange & { id: number }): Done | Refused {
      if (!reads.findMessage(by.appId, id)) return { refusal: 'message_not_found' }
      if (hasDeliveries(id)) return { refusal: 'message_in_use' }
      orm.delete(messageVersions).where(eq(messageVersions.messageId, id)).run()
      orm.delete(messages).where(eq(messages.id, id)).run()
      audit(by, 'message.delete', publicId('msg', id))
      live.drop(by.appId)
      return DONE
    },

    /**
     * What is absent stays, null clears. What was not taken from another sender or by another mail server is due at once,
     * and its tries begin anew.
     */
    setMailSettings({ settings, ...by }: MessageChange & { settings: Partial<MailSettings> }): Done {
      if (Object.keys(settings).length === 0) return DONE
      const old = reads.mailSettings(by.appId)
      const set = sealMail(sealer, by.appId, settings)
      orm
        .insert(appMailSettings)
        .values({ appId: by.appId, ...set })
        .onConflictDoUpdate({ target: appMailSettings.appId, set })
        .run()
      const isNew = (name: 'smtpUrl' | 'fromEmail' | 'otherFromEmails') =>
        settings[name] !== undefined && !Bun.deepEquals(settings[name], old[name])
      const isNewSender = isNew('fromEmail') || isNew('otherFromEmails')
      const tryAgain = isNew('smtpUrl') ? tryServer : isNewSender ? trySender : undefined
      tryAgain?.run(by.at, by.at, by.appId, by.at)
      audit(by, 'mail.set', Object.keys(settings).join(','))
      live.drop(by.appId)
      return DONE
    },
  }
}

/** Order of keys does not matter: a form and a file write them each in its own. */
const isEqual = (a: MessageContent, b: MessageContent): boolean => Bun.deepEquals(a, b, true)
