import type { Database } from 'bun:sqlite'
import type { AccountRules } from './account-rules.ts'
import type { Idempotency, Refused } from './types.ts'

/** Callers cannot send these characters; a request's parts sort between them. */
const [PART, PARTS_END] = ['\t', '\n']
/** The record of a request with parts: its outcome is in the parts. */
export const REQUEST_OF_PARTS = { outcome: 'null', contactId: 0 }

type Stored = { idempotency_key: string; body_hash: string; outcome: string }

/** `part` is null for the request itself. `outcome`: JSON, null if the request has parts. */
export type StoredOutcome = { part: number | null; bodyHash: string; outcome: string }

/** By `outcomeKey`, then by part. */
export type KeyedOutcomes = ReadonlyMap<string, ReadonlyMap<number | null, StoredOutcome>>

export const outcomeKey = (keyId: string, key: string): string => `${keyId} ${key}`

export type NewOutcome = Idempotency & { outcome: string; contactId: number }

/** Stored outcomes and those that the batch adds for its later writes. */
export type KnownOutcomes = { stored: KeyedOutcomes; added: Map<string, Map<number | null, NewOutcome>> }

/** Erasing the person of `contactId` deletes the outcome. */
export type OnceOutcome = { contactId: number; replayed?: true }

export type PlanOnce = <T extends OnceOutcome>(
  known: KnownOutcomes,
  idempotency: Idempotency,
  run: () => T | Refused,
) => T | Refused

const storedKey = ({ key, part }: Pick<Idempotency, 'key' | 'part'>): string =>
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

/** The outcomes of requests, for planning. */
export function createOutcomeFacts(db: Database, rules: Pick<AccountRules, 'expiredUntil'>) {
  const { findOutcomes } = createOutcomeReads(db, rules)
  return (requests: readonly Idempotency[]): KeyedOutcomes => {
    const found = new Map<string, Map<number | null, StoredOutcome>>()
    for (const idempotency of requests) {
      const stored = findOutcomes(idempotency)
      if (stored.length === 0) continue
      const id = outcomeKey(idempotency.keyId, idempotency.key)
      const parts = found.get(id) ?? new Map<number | null, StoredOutcome>()
      for (const one of stored) parts.set(one.part, one)
      found.set(id, parts)
    }
    return found
  }
}

export function createOutcomeWrites(db: Database): (outcome: NewOutcome) => void {
  const add = db.prepare(
    `INSERT OR REPLACE INTO idempotency_records (key_id, idempotency_key, body_hash, outcome, contact_id, created_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )
  return (request) => {
    const { keyId, bodyHash, outcome, contactId, at } = request
    add.run(keyId, storedKey(request), bodyHash, outcome, contactId, at)
  }
}

/** Runs a write that isn't planned in a batch, once per Idempotency-Key. */
export function createOnce(db: Database, rules: Pick<AccountRules, 'expiredUntil'> & { planOnce: PlanOnce }) {
  const [loadOutcomes, addOutcome] = [createOutcomeFacts(db, rules), createOutcomeWrites(db)]
  return <T extends OnceOutcome>(idempotency: Idempotency | null, run: () => T | Refused): T | Refused => {
    if (idempotency === null) return run()
    const known: KnownOutcomes = { stored: loadOutcomes([idempotency]), added: new Map() }
    const outcome = rules.planOnce(known, idempotency, run)
    for (const parts of known.added.values()) for (const added of parts.values()) addOutcome(added)
    return outcome
  }
}
