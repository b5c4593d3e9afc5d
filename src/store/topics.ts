/** Topics of messages, and which of them people have ended. */
import type { Sql } from './engine/sql.ts'
import type { IdSequence } from '../core/ids.ts'
import { type Change, createAudit, type Done, DONE, writePersonSubject } from './audit.ts'
import { createChangeNote } from './contact-changes.ts'
import type { DeliveryEnds } from './delivery-ends.ts'
import type { DeliveryRules } from './delivery-rules.ts'
import type { LiveMessages } from './live-messages.ts'
import { createOpenEmails, createSuppressionList } from './suppressions.ts'
import type { Refused } from './types.ts'

export type Topic = { id: number; name: string; description: string | null }

/** `messages`: how many are about it. `isShown`: one of them is no draft, so people may want to end it. */
export type UsedTopic = Topic & { messages: number; isShown: boolean }

/** `endedAt`: ms UTC. `actor`: a member; null: the person, or a file that was imported. */
export type EndedTopic = { topic: string; endedAt: number; actor: string | null }

/** See people/topics.ts. */
export type TopicRules = { mayResume: (ended: Pick<EndedTopic, 'actor'>, actor: string | null) => boolean }

/** Names of topics that a person ends and resumes. `actor`: a member; null: the person. */
export type TopicChoice = { contactId: number; end: string[]; resume: string[]; actor: string | null; at: number }

/** Names of topics that people ended elsewhere, whether they are known or not. `actor`: who imports them. */
type ImportedEnds = { appId: number; rows: { email: string; topics: string[] }[]; actor: string; at: number }

export type TopicChange = Change & { appId: number }
type SavedTopic = TopicChange & { id: number | null; name: string; description: string | null }

type Use = { topic: string | null; messages: number; isShown: number }

const SELECT = 'SELECT id, name, description FROM topics'

export function createTopicReads(db: Sql) {
  const list = createSuppressionList(db)
  const ofApp = db.prepare<Topic, [number]>(`${SELECT} WHERE app_id = ? ORDER BY lower(name), id`)
  const byName = db.prepare<Topic, [number, string]>(`${SELECT} WHERE app_id = ? AND name = ?`)
  // reads each message once, however many topics there are
  const uses = db.prepare<Use, [number]>(
    `SELECT ${db.dialect.jsonMember('content', 'topic')} AS topic, count(*) AS messages,
       max(CASE WHEN status <> 'draft' THEN 1 ELSE 0 END) AS "isShown"
     FROM messages JOIN message_versions AS current
       ON current.message_id = messages.id AND current.version = messages.version
     WHERE messages.app_id = ? GROUP BY topic`,
  )
  const ended = db.prepare<EndedTopic, [number, string]>(
    'SELECT topic, ended_at AS "endedAt", actor FROM ended_topics WHERE app_id = ? AND email_hash = ? ORDER BY topic',
  )
  const anyEnded = db.prepare('SELECT 1 FROM ended_topics WHERE app_id = ? LIMIT 1')
  const endedOf = db.prepare<{ hash: string; topic: string }, [number, string]>(
    `SELECT email_hash AS hash, topic FROM ${db.dialect.textsOf('?2', 'wanted')}
     ${db.dialect.crossJoin} ended_topics ON ended_topics.app_id = ?1 AND email_hash = wanted.value
     JOIN topics ON topics.app_id = ?1 AND topics.name = topic ORDER BY lower(topic)`,
  )
  const one = db.prepare<{ endedAt: number }, [number, string, string]>(
    'SELECT ended_at AS "endedAt" FROM ended_topics WHERE app_id = ? AND email_hash = ? AND topic = ?',
  )
  return {
    /** By name. */
    listTopics: async (appId: number): Promise<Topic[]> => await ofApp.all(appId),
    /** By name. Reads all messages of the app. */
    async listUsedTopics(appId: number): Promise<UsedTopic[]> {
      const topics = await ofApp.all(appId)
      if (topics.length === 0) return []
      const used = new Map((await uses.all(appId)).map((use) => [use.topic, use]))
      return topics.map((topic) => {
        const { messages = 0, isShown = 0 } = used.get(topic.name) ?? {}
        return { ...topic, messages, isShown: isShown === 1 }
      })
    },
    findTopicByName: async (appId: number, name: string): Promise<Topic | null> => await byName.get(appId, name),
    async listEndedTopics(appId: number, email: string): Promise<EndedTopic[]> {
      return await ended.all(appId, await list.hash(appId, email))
    },
    /** Of each email: those that the app still has, by name. */
    async listEndedNames(appId: number, emails: readonly string[]): Promise<string[][]> {
      if ((await anyEnded.get(appId)) === null) return emails.map(() => [])
      const hashes = await list.hashEach(appId, emails)
      const found = Map.groupBy(await endedOf.all(appId, JSON.stringify(hashes)), ({ hash }) => hash)
      return hashes.map((hash) => (found.get(hash) ?? []).map(({ topic }) => topic))
    },
    /** When the person ended the topic (ms UTC). */
    async findTopicEnd(appId: number, email: string, topic: string): Promise<number | null> {
      return (await one.get(appId, await list.hash(appId, email), topic))?.endedAt ?? null
    },
  }
}

type Parts = {
  db: Sql
  ids: IdSequence
  live: LiveMessages
  ends: DeliveryEnds
  rules: TopicRules & Pick<DeliveryRules, 'cancelByTopic'>
}

export type TopicWrites = ReturnType<typeof createTopicWrites>

export function createTopicWrites({ db, ids, live, ends, rules }: Parts) {
  const [list, audit, noteTopics] = [createSuppressionList(db), createAudit(db), createChangeNote(db)]
  const reads = createTopicReads(db)
  const { dialect } = db
  const topicOfMessage = dialect.jsonMember('content', 'topic')
  const byId = db.prepare<Topic, [number, number]>(`${SELECT} WHERE id = ? AND app_id = ?`)
  const add = db.prepare('INSERT INTO topics (id, app_id, name, description, created_at) VALUES (?, ?, ?, ?, ?)')
  const change = db.prepare('UPDATE topics SET name = ?, description = ? WHERE id = ?')
  const remove = db.prepare('DELETE FROM topics WHERE id = ?')
  const renameInMessages = db.prepare(
    `UPDATE message_versions SET content = ${dialect.jsonSet('content', 'topic', 'CAST(?1 AS text)')}
     WHERE message_id IN (SELECT id FROM messages WHERE app_id = ?2) AND ${topicOfMessage} = ?3`,
  )
  // an email has the topic of its own version
  const onTheirWay = db.prepare<object, [number, string]>(
    `SELECT 1 FROM messages JOIN message_versions AS own ON own.message_id = messages.id
     WHERE messages.app_id = ? AND ${topicOfMessage} = ? AND EXISTS (
       SELECT 1 FROM deliveries${dialect.indexedBy('deliveries_by_message')}
       WHERE deliveries.message_id = messages.id AND state IN ('waiting', 'deferred', 'claimed', 'handed')
         AND deliveries.version = own.version) LIMIT 1`,
  )
  const byEmail = db.prepare<{ id: number }, [number, string]>('SELECT id FROM contacts WHERE app_id = ? AND email = ?')
  const renameEnded = db.prepare(
    `UPDATE ended_topics SET topic = ?1 WHERE app_id = ?2 AND topic = ?3 AND NOT EXISTS (
       SELECT 1 FROM ended_topics AS other
       WHERE other.app_id = ?2 AND other.email_hash = ended_topics.email_hash AND other.topic = ?1)`,
  )
  const person = db.prepare<{ accountId: string; appId: number; email: string }, [number]>(
    `SELECT account_id AS "accountId", app_id AS "appId", email
     FROM contacts JOIN apps ON apps.id = app_id WHERE contacts.id = ?`,
  )
  // what a member ended, the person can't take back
  const end = db.prepare(
    `INSERT INTO ended_topics (app_id, email_hash, topic, ended_at, actor) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (app_id, email_hash, topic) DO UPDATE SET actor = coalesce(excluded.actor, ended_topics.actor)`,
  )
  const resume = db.prepare('DELETE FROM ended_topics WHERE app_id = ? AND email_hash = ? AND topic = ?')
  const cancelOpen = createOpenEmails({ db, live, ends })

  type Ending = { appId: number; email: string; contactId: number | null; topics: string[]; at: number }

  /** Waiting emails about them are cancelled. `actor`: a member. @returns those that were not ended before */
  const endTopics = async (
    { appId, email, contactId, topics, at }: Ending,
    actor: string | null,
  ): Promise<string[]> => {
    const hash = await list.hash(appId, email)
    const before = new Set((await reads.listEndedTopics(appId, email)).map(({ topic }) => topic))
    for (const topic of topics) await end.run(appId, hash, topic, at, actor)
    if (contactId !== null)
      await cancelOpen({ appId, contactIds: [contactId], at }, (waiting) => rules.cancelByTopic(waiting, topics, at))
    return topics.filter((topic) => !before.has(topic))
  }

  const addTopic = async ({ appId, at, name, description, ...by }: Omit<SavedTopic, 'id'>): Promise<void> => {
    await add.run(ids.next(), appId, name, description, at)
    await audit({ ...by, at }, 'topic.add', name)
  }

  return {
    /** Of a message that is saved: added if the app has none of this name. */
    async ensureTopic(by: TopicChange, name: string): Promise<void> {
      if ((await reads.findTopicByName(by.appId, name)) === null) await addTopic({ ...by, name, description: null })
    },

    writes: {
      /** Null `id`: a new one. A new name is that of its messages, too. Refusals: not_found, message_name_taken. */
      async saveTopic(saved: SavedTopic): Promise<Done | Refused> {
        const { id, appId, name, description, ...by } = saved
        const namesake = await reads.findTopicByName(appId, name)
        if (namesake && namesake.id !== id) return { refusal: 'message_name_taken' }
        if (id === null) {
          await addTopic(saved)
          return DONE
        }
        const old = await byId.get(id, appId)
        if (!old) return { refusal: 'not_found' }
        await change.run(name, description, id)
        if (old.name !== name) {
          await renameInMessages.run(name, appId, old.name)
          await renameEnded.run(name, appId, old.name)
          live.drop(appId)
        }
        await audit(by, 'topic.change', old.name === name ? name : `${old.name} → ${name}`)
        return DONE
      },

      /**
       * People who ended it have still ended it if it is added again. Refusals: not_found, message_in_use,
       * delivery_in_use (emails whose links need it).
       */
      async deleteTopic({ id, appId, ...by }: TopicChange & { id: number }): Promise<Done | Refused> {
        const old = await byId.get(id, appId)
        if (!old) return { refusal: 'not_found' }
        if ((await reads.listUsedTopics(appId)).some((one) => one.id === id && one.messages > 0))
          return { refusal: 'message_in_use' }
        if (await onTheirWay.get(appId, old.name)) return { refusal: 'delivery_in_use' }
        await remove.run(id)
        await audit(by, 'topic.delete', old.name)
        return DONE
      },

      /** Waiting emails about ended topics are cancelled at once. Repeatable. Refusals: not_found. */
      async chooseTopics({ contactId, end: wanted, resume: resumed, actor, at }: TopicChoice): Promise<Done | Refused> {
        const found = await person.get(contactId)
        if (!found) return { refusal: 'not_found' }
        const { accountId, appId, email } = found
        const before = new Map((await reads.listEndedTopics(appId, email)).map((one) => [one.topic, one]))
        const ended = await endTopics({ appId, email, contactId, topics: wanted, at }, actor)
        const left = resumed.filter((topic) => {
          const ended = before.get(topic)
          return ended !== undefined && rules.mayResume(ended, actor)
        })
        const hash = await list.hash(appId, email)
        for (const topic of left) await resume.run(appId, hash, topic)
        if (ended.length + left.length === 0) return DONE
        await noteTopics({ appId, contactId, at, actor, topics: [ended, left] })
        if (actor !== null)
          await audit({ accountId, actor, at }, 'contact.change', writePersonSubject(contactId, ['topics']))
        return DONE
      },

      /** Repeatable. Who ended a topic before stays its actor. */
      async importTopicEnds({ appId, rows, actor, at }: ImportedEnds): Promise<Done> {
        for (const { email, topics } of rows) {
          const contactId = (await byEmail.get(appId, email))?.id ?? null
          const ended = await endTopics({ appId, email, contactId, topics, at }, null)
          if (contactId !== null && ended.length > 0)
            await noteTopics({ appId, contactId, at, actor, topics: [ended, []] })
        }
        return DONE
      },
    },
  }
}
