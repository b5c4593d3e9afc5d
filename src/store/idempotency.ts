import type { Database } from 'bun:sqlite'
import type { Idempotency, Refused } from './types.ts'

/** How long an Idempotency-Key answers with its first outcome (api.md, Fields). */
export const IDEMPOTENCY_MS = 24 * 3_600_000

type Outcome = { contactId: number; replayed?: true }

/**
 * Runs a write at most once per Idempotency-Key. The record is committed with the write itself; a refusal is not kept,
 * so the caller can mend the cause and send the same key again.
 */
export function createOnce(db: Database) {
  const select = db.prepare<{ body_hash: string; outcome: string }, [string, string, number]>(
    `SELECT body_hash, outcome FROM idempotency_records
     WHERE key_id = ? AND idempotency_key = ? AND created_at > ?`,
  )
  const insert = db.prepare(
    `INSERT OR REPLACE INTO idempotency_records (key_id, idempotency_key, body_hash, outcome, contact_id, created_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )

  return <T extends Outcome>(
    write: { idempotency: Idempotency | null; at: number },
    run: () => T | Refused,
  ): T | Refused => {
    const { idempotency, at } = write
    if (!idempotency) return run()
    const { keyId, key, bodyHash } = idempotency
    const earlier = select.get(keyId, key, at - IDEMPOTENCY_MS)
    if (earlier && earlier.body_hash !== bodyHash) return { refusal: 'idempotency_mismatch' }
    if (earlier) return { ...(JSON.parse(earlier.outcome) as T), replayed: true }
    const outcome = run()
    if (!('refusal' in outcome)) insert.run(keyId, key, bodyHash, JSON.stringify(outcome), outcome.contactId, at)
    return outcome
  }
}
