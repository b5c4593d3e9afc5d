import type { Database } from 'bun:sqlite'
import type { Idempotency } from './types.ts'

/** How long an Idempotency-Key answers with its first outcome. */
const IDEMPOTENCY_MS = 24 * 3_600_000

/** What has had its time at `at` (ms UTC): all that was made until then. */
export const expiredUntil = (at: number): number => at - IDEMPOTENCY_MS

/** Callers can send neither of the two; the parts of a request lie between them, in the order of text. */
const [PART, PARTS_END] = ['\t', '\n']
/** The record of a request whose outcomes are those of its parts: no one's, and empty. */
export const REQUEST_OF_PARTS = { outcome: 'null', contactId: 0 }

type Stored = { idempotency_key: string; body_hash: string; outcome: string }

/** What is kept of a request, or of one part of it. `outcome` is JSON, null of a request that has parts. */
export type StoredOutcome = { part: number | null; bodyHash: string; outcome: string }

/** Requests from before bodies were hashed as they are now have no hash (migration 0018), and match any body. */
export const isSameBody = (storedHash: string, bodyHash: string): boolean =>
  storedHash === '' || storedHash === bodyHash

/** The key of a record: that of its request, or of one part of it. */
export const storedKey = ({ key, part }: Pick<Idempotency, 'key' | 'part'>): string =>
  part === null ? key : `${key}${PART}${part}`

function outcomeOf(row: Stored): StoredOutcome {
  const part = row.idempotency_key.split(PART)[1]
  return { part: part === undefined ? null : Number(part), bodyHash: row.body_hash, outcome: row.outcome }
}

export function createOutcomeReads(db: Database) {
  const select = db.prepare<Stored, [string, string, string, number]>(
    `SELECT idempotency_key, body_hash, outcome FROM idempotency_records
     WHERE key_id = ? AND idempotency_key >= ? AND idempotency_key < ? AND created_at > ?`,
  )
  const one = db.prepare<Stored, [string, string, number]>(
    `SELECT idempotency_key, body_hash, outcome FROM idempotency_records
     WHERE key_id = ? AND idempotency_key = ? AND created_at > ?`,
  )
  const listOutcomes = ({ keyId, key, at }: Pick<Idempotency, 'keyId' | 'key' | 'at'>): StoredOutcome[] =>
    select.all(keyId, key, `${key}${PARTS_END}`, expiredUntil(at)).map(outcomeOf)
  const findOne = (asked: Idempotency): StoredOutcome[] =>
    one.all(asked.keyId, storedKey(asked), expiredUntil(asked.at)).map(outcomeOf)

  return {
    /** What a request with this Idempotency-Key has done within the last 24 hours, and each of its parts. */
    listOutcomes,
    /** Of a part: its own outcome and that of its request; of a request: that of each of its parts as well. */
    findOutcomes: (asked: Idempotency): StoredOutcome[] =>
      asked.part === null ? listOutcomes(asked) : [{ ...asked, part: null }, asked].flatMap(findOne),
  }
}
