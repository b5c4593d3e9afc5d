/** What the API sends at once, and what asks for consent, beside its deliveries. */
import type { Sql } from './engine/sql.ts'
import type { MessageContent, MessageRow, OwnMail, SendWrite, StoredSend } from './message-types.ts'
import type { EventRow, StoredContact } from './types.ts'

export type NewSend = Pick<SendWrite, 'appId' | 'properties' | 'mail'> &
  Pick<StoredSend, 'keyId'> & { deliveryId: number }
/** The message of an app whose emails each have a text of their own. */
export type NewOwnText = { id: number; accountId: string; appId: number; content: MessageContent; at: number }

type Stored = { deliveryId: number; keyId: string | null; properties: string | null; mail: string | null }

const COLUMNS = 'delivery_id AS "deliveryId", key_id AS "keyId", properties, mail'

const toSend = ({ deliveryId: _, mail, ...row }: Stored): StoredSend => ({
  ...row,
  mail: mail === null ? null : (JSON.parse(mail) as OwnMail),
})

export function createSendReads(db: Sql) {
  const one = db.prepare<Stored, [number]>(`SELECT ${COLUMNS} FROM sends WHERE delivery_id = ?`)
  const many = db.prepare<Stored, [string]>(`SELECT ${COLUMNS} FROM sends WHERE ${db.dialect.isOneOf('delivery_id')}`)
  return {
    /** Null if an event, a person or a page triggered it. */
    async findSend(deliveryId: number): Promise<StoredSend | null> {
      const row = await one.get(deliveryId)
      return row && toSend(row)
    },
    listSends: async (deliveryIds: readonly number[]): Promise<Map<number, StoredSend>> =>
      new Map((await many.all(JSON.stringify(deliveryIds))).map((row) => [row.deliveryId, toSend(row)])),
  }
}

const ASKING_NAME = 'Confirm email address'

/** The message of an email. A text of its own is called by its subject, except one that asks for consent. */
export function applySend<M extends Pick<MessageRow, 'name' | 'content'>>(message: M, send: StoredSend | null): M {
  if (send === null || send.mail === null) return message
  const {
    keyId,
    mail: { shownSubject, ...mail },
  } = send
  const content = { ...message.content, mail }
  return keyId === null
    ? { ...message, name: ASKING_NAME, content: { ...content, asksConsent: true } }
    : { ...message, name: shownSubject ?? mail.subject, content }
}

/** The values of a call, as those of an event. */
export const eventOf = ({ properties }: StoredSend, contact: Pick<StoredContact, 'id' | 'email'>, at: number) =>
  ({
    id: 0,
    contactId: contact.id,
    email: contact.email,
    type: 'event',
    name: '',
    properties,
    path: null,
    via: 'api',
    receivedAt: at,
    occurredAt: at,
  }) satisfies EventRow

/** No message of a member has this name. */
export const OWN_TEXT_NAME = ''

export function createSendWrites(db: Sql) {
  const add = db.prepare('INSERT INTO sends (delivery_id, app_id, key_id, properties, mail) VALUES (?, ?, ?, ?, ?)')
  const addMessage = db.prepare(
    `INSERT INTO messages (id, account_id, app_id, name, status, version, created_at, updated_at)
     VALUES (?, ?, ?, '${OWN_TEXT_NAME}', 'live', 1, ?, ?)`,
  )
  const addVersion = db.prepare(
    'INSERT INTO message_versions (app_id, message_id, version, content, created_at) VALUES (?, ?, 1, ?, ?)',
  )
  return {
    addSend: async ({ deliveryId, appId, keyId, properties, mail }: NewSend): Promise<void> =>
      void (await add.run(deliveryId, appId, keyId, properties, mail === null ? null : JSON.stringify(mail))),
    async addOwnText({ id, accountId, appId, content, at }: NewOwnText): Promise<void> {
      await addMessage.run(id, accountId, appId, at, at)
      await addVersion.run(appId, id, JSON.stringify(content), at)
    },
  }
}
