import type { Database } from 'bun:sqlite'
import type { MessageContent, MessageRow, SuppressionReason } from './message-types.ts'
import type { ContactRow } from './types.ts'

/** Blinds the addresses on the list; made with the first look at it. */
const KEY_NAME = 'suppression_key'

export type Suppressed = { emailHash: string; reason: SuppressionReason; createdAt: number }

/** Who is not written to, found by address and kept without it: the list outlives a person's erasure. */
export function createSuppressionList(db: Database) {
  const readKey = db.prepare<{ value: string }, [string]>('SELECT value FROM install WHERE name = ?')
  const select = db.prepare<{ reason: SuppressionReason }, [number, string]>(
    'SELECT reason FROM suppressions WHERE app_id = ? AND email_hash = ?',
  )
  let key: string | null = null

  /** Without a key nobody was ever suppressed. */
  const hash = (appId: number, email: string): string | null => {
    key ??= readKey.get(KEY_NAME)?.value ?? null
    return key && new Bun.CryptoHasher('sha256', key).update(`${appId}:${email}`).digest('base64url')
  }

  return {
    hash,
    /**
     * In the writing thread, before an address is added. What is stored decides: a key that was made before in a
     * transaction which did not last is remembered here, and stored now.
     */
    ensureKey(): void {
      const stored = readKey.get(KEY_NAME)?.value
      key = stored ?? key ?? Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')
      if (stored === undefined) db.run('INSERT INTO install (name, value) VALUES (?, ?)', [KEY_NAME, key])
    },
    /** Why an address (normalised) is not written to, or null. */
    find(appId: number, email: string): SuppressionReason | null {
      const emailHash = hash(appId, email)
      return emailHash === null ? null : (select.get(appId, emailHash)?.reason ?? null)
    },
  }
}

/** Unsubscribing leaves transactional mail. */
export const isLifecycle = ({ mail }: MessageContent): boolean => mail.category !== 'transactional'

/** Why a mail must not go to this person, by the list and by what is stored of them; null when it may. */
export function refusedBy(
  { contact, message }: { contact: Pick<ContactRow, 'status'>; message: Pick<MessageRow, 'content'> },
  suppression: SuppressionReason | null,
): SuppressionReason | null {
  const reasons = [suppression, contact.status]
  const blocking = reasons.find((reason) => reason === 'bounced' || reason === 'complained')
  if (blocking === 'bounced' || blocking === 'complained') return blocking
  return isLifecycle(message.content) && reasons.includes('unsubscribed') ? 'unsubscribed' : null
}
