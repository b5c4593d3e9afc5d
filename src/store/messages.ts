import type { Sql } from './engine/sql.ts'
import { and, asc, count, desc, eq, inArray, isNull, lt, ne, sql } from 'drizzle-orm'
import { mapInOrder } from '../core/in-order.ts'
import { type IdSequence, publicId } from '../core/ids.ts'
import { createAudit, type Done, DONE, writeMessageSubject } from './audit.ts'
import { createDeliveryCounts } from './delivery-counts.ts'
import type { MessageSchedules } from './schedules.ts'
import { MESSAGE_STATUSES, type MessageContent, type MessageRow, type MessageStatus } from './message-types.ts'
import { auditEntries, messages, messageVersions } from './schema.ts'
import type { AccountRules } from './account-rules.ts'
import { type AddOutcomes, createOnce, type OnceOutcome, type PlanOnce } from './idempotency.ts'
import type { Idempotency, Refused } from './types.ts'
import { OWN_TEXT_NAME } from './sends.ts'
import { prepareLazily, withValue } from './engine/statements.ts'
import type { TopicWrites } from './topics.ts'

export type MessageChange = { accountId: string; appId: number; actor: string; at: number }
/**
 * Null `id`: found by name, or created. Null `status`: unchanged. `basedOn`: refuse if `updatedAt` differs (null: if it
 * exists). `movesWaiting`: for the audit log; see `moveWaiting`.
 */
export type MessageDraft = {
  id: number | null
  name: string
  content: MessageContent
  status: MessageStatus | null
  basedOn?: number | null
  movesWaiting?: boolean
  /** of content that nobody wrote anew: a copy of another message, or an earlier version of this one */
  origin?: 'copy' | { version: number }
}
/** `waiting`: emails that wait, in any version. */
export type SavedMessage = {
  id: number
  name: string
  version: number
  status: MessageStatus
  updatedAt: number
  change: Change
  waiting: number
}
type Once = { idempotency?: Idempotency | null }
type StatusChange = MessageChange & Once & { id: number; status: MessageStatus; content?: MessageContent }
type Change = 'created' | 'changed' | 'unchanged'

/** `old`: found by the draft's id, or by its name if it has no id. `namesake`: has the name of a draft with an id. */
export type DraftFacts = { old: MessageRow | null; namesake: MessageRow | null }
export type SavePlan = {
  change: Change
  status: MessageStatus
  version: number
  updatedAt: number
  storesContent: boolean
  /** for the audit log */
  actions: string[]
}

/** See messages/message-changes.ts. */
export type MessageRules = {
  /** `listStored`: all messages of the app. */
  refuseDrafts: (
    drafts: readonly (DraftFacts & { draft: MessageDraft })[],
    listStored: () => MessageRow[],
  ) => Refused | null
  planSave: (
    draft: MessageDraft,
    facts: Pick<DraftFacts, 'old'> & { hasDeliveries: () => boolean; at: number },
  ) => SavePlan
  planStatus: (
    wanted: Pick<StatusChange, 'status' | 'content' | 'at'>,
    old: MessageRow | null,
  ) => Pick<SavePlan, 'status' | 'updatedAt'> | Refused
  refuseDeletion: (facts: {
    old: MessageRow | null
    hasDeliveries: () => boolean
    listStored: () => MessageRow[]
  }) => Refused | null
  /** whether an email of one version can use the other */
  mayMove: (from: MessageContent, to: MessageContent) => boolean
}

/** `actor`: who wrote it; null where an older installation did not store it. */
export type MessageVersion = { version: number; createdAt: number; content: MessageContent; actor: string | null }

export type SavedMessages = { saved: SavedMessage[] } & OnceOutcome

/** Erasing a person keeps the outcome of a key that changed a message. */
const OF_NOBODY = { contactId: 0 }

type StatusChanged = { messageId: number; at: number; status: MessageStatus }

type Joined = { message: typeof messages.$inferSelect; content: MessageRow['content'] }
const toMessageRow = ({ message, content }: Joined): MessageRow => ({ ...message, content })

export function createMessageReads(db: Sql) {
  const { orm, dialect } = db
  const fields = { message: messages, content: messageVersions.content }
  const isCurrent = and(eq(messageVersions.messageId, messages.id), eq(messageVersions.version, messages.version))
  const select = () => orm.select(fields).from(messages).innerJoin(messageVersions, isCurrent)
  const ofApp = and(eq(messages.appId, sql.placeholder('appId')), ne(messages.name, OWN_TEXT_NAME))
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
        sql`(${messageVersions.messageId}, ${messageVersions.version}) IN (SELECT CAST(value ->> 0 AS bigint),
          CAST(value ->> 1 AS bigint) FROM ${withValue((list) => dialect.itemsOf(list, 'pairs'), sql.placeholder('versions'))})`,
      )
      .prepare(),
  )

  const withoutSender = prepareLazily(() =>
    orm
      .select({ appId: messages.appId, messages: count() })
      .from(messages)
      .innerJoin(messageVersions, isCurrent)
      .where(
        and(
          eq(messages.status, 'live'),
          sql`${sql.raw(dialect.jsonMember('message_versions.content', 'mail.fromEmail'))} IS NULL`,
        ),
      )
      .groupBy(messages.appId)
      .prepare(),
  )

  return {
    /** Live messages that name no sender address, by app. */
    countLiveWithoutSender: async (): Promise<Map<number, number>> =>
      new Map((await withoutSender.all()).map((found) => [found.appId, found.messages])),

    listMessages: async (appId: number): Promise<MessageRow[]> => (await all.all({ appId })).map(toMessageRow),

    async findMessage(appId: number, id: number): Promise<MessageRow | null> {
      const found = await byId.get({ appId, id })
      return found ? toMessageRow(found) : null
    },

    async findMessageByName(appId: number, name: string): Promise<MessageRow | null> {
      const found = await byName.get({ appId, name })
      return found ? toMessageRow(found) : null
    },

    async findVersion(id: number, version: number): Promise<MessageRow | null> {
      const found = await oneVersion.get({ id, version })
      return found ? { ...toMessageRow(found), version } : null
    },

    async listVersionsById(versions: { messageId: number; version: number }[]): Promise<MessageRow[]> {
      const pairs = new Set(versions.map(({ messageId, version }) => JSON.stringify([messageId, version])))
      const found = await manyVersions.all({ versions: `[${[...pairs].join()}]` })
      return found.map(({ version, ...one }) => ({ ...toMessageRow(one), version }))
    },

    /** From the audit log, oldest first. `at`: ms UTC. */
    async listStatusChanges(of: readonly Pick<MessageRow, 'accountId' | 'id'>[]): Promise<StatusChanged[]> {
      const { id, accountId, createdAt, action, subject, address } = auditEntries
      const ids = new Map(of.map(({ id }) => [publicId('msg', id), id]))
      const accounts = [...new Set(of.map((one) => one.accountId))]
      // the message's names follow its id, except in older entries
      const firstSpace = sql.raw(dialect.positionOf("' '", "subject || ' '"))
      const ofMessage = sql<string>`substr(${subject}, 1, ${firstSpace} - 1)`
      return (
        await orm
          .select({ at: createdAt, action, ofMessage })
          .from(auditEntries)
          .where(
            and(
              inArray(accountId, accounts),
              isNull(address),
              inArray(ofMessage, [...ids.keys()]),
              inArray(
                action,
                MESSAGE_STATUSES.map((status) => `message.${status}`),
              ),
            ),
          )
          .orderBy(asc(createdAt), asc(id))
          .all()
      ).flatMap((row) => {
        const messageId = ids.get(row.ofMessage)
        const status = MESSAGE_STATUSES.find((one) => row.action === `message.${one}`)
        return messageId === undefined || status === undefined ? [] : [{ messageId, at: row.at, status }]
      })
    },

    listVersions: async (
      id: number,
      { before, limit }: { before: number | null; limit: number },
    ): Promise<MessageVersion[]> =>
      await orm
        .select({
          version: messageVersions.version,
          createdAt: messageVersions.createdAt,
          content: messageVersions.content,
          actor: messageVersions.actor,
        })
        .from(messageVersions)
        .where(and(eq(messageVersions.messageId, id), lt(messageVersions.version, before ?? Number.MAX_SAFE_INTEGER)))
        .orderBy(desc(messageVersions.version))
        .limit(limit)
        .all(),
  }
}

type Parts = {
  db: Sql
  ids: IdSequence
  topics: Pick<TopicWrites, 'ensureTopic'>
  schedules: MessageSchedules
  addOutcomes: AddOutcomes
  rules: MessageRules & Pick<AccountRules, 'defaultResponseDays'> & { planOnce: PlanOnce }
}
export type MessageWrites = ReturnType<typeof createMessageWrites>

export function createMessageWrites({ db, ids, topics, schedules, addOutcomes, rules }: Parts) {
  const { orm, dialect } = db
  const reads = createMessageReads(db)

  const audit = createAudit(db)
  const once = createOnce({ db, addOutcomes, rules })
  const { hasDeliveries, countEmails } = createDeliveryCounts(db)

  const key = [messageVersions.messageId, messageVersions.version]
  const target = dialect.engine === 'postgres' ? [...key, messageVersions.appId] : key
  const addVersion = async (
    messageId: number,
    version: number,
    content: MessageContent,
    by: MessageChange,
  ): Promise<void> => {
    const written = { content, createdAt: by.at, actor: by.actor }
    await orm
      .insert(messageVersions)
      .values({ appId: by.appId, messageId, version, ...written })
      .onConflictDoUpdate({ target, set: written })
      .run()
  }

  const add = async (
    { accountId, appId, at }: MessageChange,
    name: string,
    { status, version }: SavePlan,
  ): Promise<number> => {
    const id = ids.next()
    await orm
      .insert(messages)
      .values({ id, accountId, appId, name, status, version, createdAt: at, updatedAt: at })
      .run()
    return id
  }

  /** Of all versions, because they mean the same message. */
  const renameTriggers = async (appId: number, before: string, name: string): Promise<void> => {
    const { messageId } = messageVersions
    const ofApp = orm.select({ id: messages.id }).from(messages).where(eq(messages.appId, appId))
    await orm
      .update(messageVersions)
      .set({
        content: withValue((value) => dialect.jsonSet('content', 'trigger.message', `CAST(${value} AS text)`), name),
      })
      .where(
        and(inArray(messageId, ofApp), sql`${sql.raw(dialect.jsonMember('content', 'trigger.message'))} = ${before}`),
      )
      .run()
  }

  const change = async (id: number, name: string, { status, version, updatedAt }: SavePlan): Promise<number> => {
    await orm.update(messages).set({ name, status, version, updatedAt }).where(eq(messages.id, id)).run()
    return id
  }

  const findOld = async (appId: number, { id, name }: MessageDraft): Promise<MessageRow | null> =>
    id === null ? await reads.findMessageByName(appId, name) : await reads.findMessage(appId, id)

  const findFacts = async (appId: number, draft: MessageDraft): Promise<DraftFacts> => ({
    old: await findOld(appId, draft),
    namesake: draft.id === null ? null : await reads.findMessageByName(appId, draft.name),
  })

  const save = async (by: MessageChange, draft: MessageDraft): Promise<SavedMessage> => {
    const { name, content } = draft
    // after the drafts before it
    const old = await findOld(by.appId, draft)
    const isUsed = old !== null && (await hasDeliveries(old.id))
    const facts = { old, at: by.at, hasDeliveries: () => isUsed }
    const plan = rules.planSave(draft, facts)
    const { status, version, updatedAt, change: made } = plan
    const id = old ? await change(old.id, name, plan) : await add(by, name, plan)
    if (plan.storesContent) await addVersion(id, version, content, by)
    if (content.topic !== undefined) await topics.ensureTopic(by, content.topic)
    if (old && old.name !== name) await renameTriggers(by.appId, old.name, name)
    for (const action of plan.actions) {
      const names = old !== null && action === 'message.rename' ? [old.name, name] : [name]
      const { origin } = draft
      const restored = action === 'message.restore' && typeof origin === 'object' ? [String(origin.version)] : []
      await audit(by, action, writeMessageSubject(id, ...names, ...restored))
    }
    return { id, name, version, status, updatedAt, change: made, waiting: old ? (await countEmails(id)).waiting : 0 }
  }

  return {
    /** All or none. Refusals: message_not_found, message_name_taken, message_changed. */
    saveMessages: ({
      drafts,
      idempotency = null,
      ...by
    }: MessageChange & Once & { drafts: MessageDraft[] }): Promise<SavedMessages | Refused> =>
      once({ idempotency, ...by }, async () => {
        const facts = await mapInOrder(drafts, async (draft) => ({ draft, ...(await findFacts(by.appId, draft)) }))
        const stored = await reads.listMessages(by.appId)
        const refused = rules.refuseDrafts(facts, () => stored)
        if (refused) return refused
        const saved = await mapInOrder(drafts, (draft) => save(by, draft))
        for (const [index, { id, status }] of saved.entries())
          if (status === 'live' && facts[index]?.old?.status !== 'live') await schedules.restart(id)
        await schedules.settle(by.appId, by.at)
        return { saved, ...OF_NOBODY }
      }),

    /**
     * Deliveries that come due while the message is not live are skipped. `content`: refuse with message_changed if
     * it is outdated.
     */
    setMessageStatus: ({
      id,
      status,
      content,
      idempotency = null,
      ...by
    }: StatusChange): Promise<(Done & OnceOutcome) | Refused> =>
      once({ idempotency, ...by }, async () => {
        const old = await reads.findMessage(by.appId, id)
        const planned = rules.planStatus({ status, content, at: by.at }, old)
        if ('refusal' in planned) return planned
        await orm.update(messages).set(planned).where(eq(messages.id, id)).run()
        await audit(by, `message.${planned.status}`, writeMessageSubject(id, old?.name ?? ''))
        if (old?.status !== 'live') await schedules.restart(id)
        await schedules.settle(by.appId, by.at)
        return { ...DONE, ...OF_NOBODY }
      }),

    /** Refusals: message_not_found, message_in_use. */
    async deleteMessage({ id, ...by }: MessageChange & { id: number }): Promise<Done | Refused> {
      const old = await reads.findMessage(by.appId, id)
      const [isUsed, stored] = [await hasDeliveries(id), await reads.listMessages(by.appId)]
      const refused = rules.refuseDeletion({ old, hasDeliveries: () => isUsed, listStored: () => stored })
      if (refused) return refused
      await orm.delete(messageVersions).where(eq(messageVersions.messageId, id)).run()
      await orm.delete(messages).where(eq(messages.id, id)).run()
      await audit(by, 'message.delete', writeMessageSubject(id, old?.name ?? ''))
      await schedules.settle(by.appId, by.at)
      return DONE
    },
  }
}
