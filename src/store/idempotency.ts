import type { Database } from 'bun:sqlite'
import type { Idempotency, Refused } from './types.ts'

/** How long an Idempotency-Key answers with its first outcome. */
const IDEMPOTENCY_MS = 24 * 3_600_000

/** What has had its time at `at` (ms UTC): all that was made until then. */
export const expiredUntil = (at: number): number => at - IDEMPOTENCY_MS

/** Callers can send neither of the two; the parts of a request lie between them, in the order of text. */
const [PART, PARTS_END] = ['\t', '\n']
/** The record of a request whose outcomes are those of its parts: no one's, and empty. */
const OF_NOBODY = 0

type Outcome = { contactId: number; replayed?: true }
type Stored = { idempotency_key: string; body_hash: string; outcome: string }

/** What is kept of a request, or of one part of it. `outcome` is JSON, null of a request that has parts. */
export type StoredOutcome = { part: number | null; bodyHash: string; outcome: string }

/** Requests from before bodies were hashed as they are now have no hash (migration 0018), and match any body. */
export const isSameBody = (storedHash: string, bodyHash: string): boolean =>
  storedHash === '' || storedHash === bodyHash

const storedKey = ({ key, part }: Idempotency): string => (part === null ? key : `${key}${PART}${part}`)

/**
 * Runs a write at most once per Idempotency-Key. The record is committed with the write itself; a refusal is not kept,
 * so the caller can mend the cause and send the same key again. The first part of a request that is done leaves a record
 * of the request as well, which holds its key against every other one.
 */
export function createOnce(db: Database) {
  const select = db.prepare<Stored, [string, string, number]>(
    `SELECT idempotency_key, body_hash, outcome FROM idempotency_records
     WHERE key_id = ? AND idempotency_key = ? AND created_at > ?`,
  )
  const insert = db.prepare(
    `INSERT OR REPLACE INTO idempotency_records (key_id, idempotency_key, body_hash, outcome, contact_id, created_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )
  const { listOutcomes } = createOutcomeReads(db)
  const find = (asked: Idempotency): StoredOutcome[] =>
    select.all(asked.keyId, storedKey(asked), expiredUntil(asked.at)).map(outcomeOf)

  return <T extends Outcome>(write: { idempotency: Idempotency | null }, run: () => T | Refused): T | Refused => {
    const { idempotency } = write
    if (!idempotency) return run()
    const { keyId, key, bodyHash, part, at } = idempotency
    // the records of parts that were done later outlive that of their request
    const records =
      part === null ? listOutcomes(idempotency) : [{ ...idempotency, part: null }, idempotency].flatMap(find)
    if (records.some((record) => !isSameBody(record.bodyHash, bodyHash))) return { refusal: 'idempotency_mismatch' }
    const earlier = records.find((record) => record.part === part)
    if (earlier) return { ...(JSON.parse(earlier.outcome) as T), replayed: true }
    const outcome = run()
    if ('refusal' in outcome) return outcome
    insert.run(keyId, storedKey(idempotency), bodyHash, JSON.stringify(outcome), outcome.contactId, at)
    const hasRequest = records.some((record) => record.part === null)
    if (part !== null && !hasRequest) insert.run(keyId, key, bodyHash, 'null', OF_NOBODY, at)
    return outcome
  }
}

function outcomeOf(row: Stored): StoredOutcome {
  const part = row.idempotency_key.split(PART)[1]
  return { part: part === undefined ? null : Number(part), bodyHash: row.body_hash, outcome: row.outcome }
}

export function createOutcomeReads(db: Database) {
  const select = db.prepare<Stored, [string, string, string, number]>(
    `SELECT idempotency_key, body_hash, outcome FROM idempotency_records
     WHERE key_id = ? AND idempotency_key >= ? AND idempotency_key < ? AND created_at > ?`,
  )
  return {
    /** What a request with this Idempotency-Key has done within the last 24 hours, and each of its parts. */
    listOutcomes: ({ keyId, key, at }: Pick<Idempotency, 'keyId' | 'key' | 'at'>): StoredOutcome[] =>
      select.all(keyId, key, `${key}${PARTS_END}`, expiredUntil(at)).map(outcomeOf),
  }
}
