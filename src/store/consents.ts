/** Whom an app asked to confirm their address, in which words, and who did. */
import type { Sql } from './engine/sql.ts'
import type { OptInText } from './message-types.ts'
import type { ConsentSource } from './types.ts'

/** Times are ms UTC. `wording`: a version. `address`: of who confirmed; null: not stored. */
export type Consent = {
  id: number
  contactId: number
  askedAt: number
  source: ConsentSource
  wording: string
  confirmedAt: number | null
  address: string | null
}

/** `id`: of the delivery that asks. */
export type NewConsent = Pick<Consent, 'id' | 'contactId' | 'askedAt' | 'source' | 'wording'> & {
  appId: number
  text: OptInText
}

/** `id`: of the consent. */
export type Confirmation = Pick<Consent, 'id' | 'contactId' | 'address'> & { at: number }

const COLUMNS =
  'id, contact_id AS "contactId", asked_at AS "askedAt", source, wording, confirmed_at AS "confirmedAt", address'

/** Of a person who was asked and never confirmed. */
export const IS_UNCONFIRMED = `EXISTS (SELECT 1 FROM consents WHERE contact_id = contacts.id)
  AND NOT EXISTS (SELECT 1 FROM consents WHERE contact_id = contacts.id AND confirmed_at IS NOT NULL)`

export function createConsentReads(db: Sql) {
  const one = db.prepare<Consent, [number]>(`SELECT ${COLUMNS} FROM consents WHERE id = ?`)
  const ofContact = db.prepare<Consent, [number]>(
    `SELECT ${COLUMNS} FROM consents WHERE contact_id = ? ORDER BY id DESC`,
  )
  const wording = db.prepare<OptInText, [number, string]>(
    'SELECT subject, body, button FROM consent_wordings WHERE app_id = ? AND version = ?',
  )
  return {
    findConsent: async (id: number): Promise<Consent | null> => await one.get(id),
    /** Newest first. */
    listConsents: async (contactId: number): Promise<Consent[]> => await ofContact.all(contactId),
    findWording: async (appId: number, version: string): Promise<OptInText | null> => await wording.get(appId, version),
  }
}

export function createConsentWrites(db: Sql) {
  const add = db.prepare(
    'INSERT INTO consents (id, app_id, contact_id, asked_at, source, wording) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const addWording = db.prepare(
    `INSERT INTO consent_wordings (app_id, version, subject, body, button) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const confirm = db.prepare('UPDATE consents SET confirmed_at = ?, address = ? WHERE id = ? AND contact_id = ?')
  const subscribe = db.prepare(
    `UPDATE contacts SET status = 'subscribed', updated_at = ? WHERE id = ? AND status = 'pending'`,
  )
  return {
    async addConsent({ id, appId, contactId, askedAt, source, wording, text }: NewConsent): Promise<void> {
      await add.run(id, appId, contactId, askedAt, source, wording)
      await addWording.run(appId, wording, text.subject, text.body, text.button)
    },
    async confirmConsent({ id, contactId, at, address }: Confirmation): Promise<void> {
      await confirm.run(at, address, id, contactId)
      await subscribe.run(at, contactId)
    },
  }
}
