import type { Database } from 'bun:sqlite'
import type { AccountRules } from './account-rules.ts'
import type { Idempotency } from './types.ts'

/** Callers cannot send these characters; a request's parts sort between them. */
const [PART, PARTS_END] = ['\t', '\n']
/** The record of a request with parts: its outcome is in the parts. */
export const REQUEST_OF_PARTS = { outcome: 'null', contactId: 0 }

type Stored = { idempotency_key: string; body_hash: string; outcome: string }

/** `part` is null for the request itself. `outcome`: JSON, null if the request has parts. */
export type StoredOutcome = { part: number | null; bodyHash: string; outcome: string }

export const storedKey = ({ key, part }: Pick<Idempotency, 'key' | 'part'>): string =>
  part === null ? key : `${key}${PART}${part}`

function outcomeOf(row: Stored): StoredOutcome {
  const part = row.idempotency_key.split(PART)[1]
  return { part: part === undefined ? null : Number(part), bodyHash: row.body_hash, outcome: row.outcome }
}

export function createOutcomeReads(db: Database, { expiredUntil }: Pick<AccountRules, 'expiredUntil'>) {
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
  const findOne = (query: Idempotency): StoredOutcome[] =>
    one.all(query.keyId, storedKey(query), expiredUntil(query.at)).map(outcomeOf)

  return {
    listOutcomes,
    /** For a part, its own outcome and the request's. */
    findOutcomes: (query: Idempotency): StoredOutcome[] =>
      query.part === null ? listOutcomes(query) : [{ ...query, part: null }, query].flatMap(findOne),
  }
}
