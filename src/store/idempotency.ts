import type { Maybe, Sql } from './engine/sql.ts'
import { eachTogether, mapInOrder } from '../core/in-order.ts'
import { type RetentionRules, selectKeptMs } from './retention.ts'
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

/** What is written once, in one app. `accountId`: of the API key. */
export type OnceRequest = Idempotency & { appId: number; accountId: string }
export type NewOutcome = OnceRequest & { outcome: string; contactId: number }

/** Stored outcomes and those that the batch adds for its later writes. */
export type KnownOutcomes = { stored: KeyedOutcomes; added: Map<string, Map<number | null, NewOutcome>> }

/** Erasing the person of `contactId` deletes the outcome. */
export type OnceOutcome = { contactId: number; replayed?: true }

export type PlanOnce = <T extends OnceOutcome>(
  known: KnownOutcomes,
  idempotency: OnceRequest,
  run: () => T | Refused,
) => T | Refused

export const storedKey = ({ key, part }: Pick<Idempotency, 'key' | 'part'>): string =>
  part === null ? key : `${key}${PART}${part}`

function outcomeOf(row: Stored): StoredOutcome {
  const part = row.idempotency_key.split(PART)[1]
  return { part: part === undefined ? null : Number(part), bodyHash: row.body_hash, outcome: row.outcome }
}

type OutcomeRules = Pick<RetentionRules, 'defaultResponseDays'>

export function createOutcomeReads(db: Sql, { defaultResponseDays }: OutcomeRules) {
  // only read for a stored record, so that new keys cost nothing more
  const isStored = `created_at > ? - ${selectKeptMs('idempotency_records.app_id', 'response_days', defaultResponseDays)}`
  const select = db.prepare<Stored, [string, string, string, number]>(
    `SELECT idempotency_key, body_hash, outcome FROM idempotency_records
     WHERE key_id = ? AND idempotency_key >= ? AND idempotency_key < ? AND ${isStored}`,
  )
  const one = db.prepare<Stored, [string, string, number]>(
    `SELECT idempotency_key, body_hash, outcome FROM idempotency_records
     WHERE key_id = ? AND idempotency_key = ? AND ${isStored}`,
  )
  const listOutcomes = async ({
    keyId,
    key,
    at,
  }: Pick<Idempotency, 'keyId' | 'key' | 'at'>): Promise<StoredOutcome[]> =>
    (await select.all(keyId, key, `${key}${PARTS_END}`, at)).map(outcomeOf)
  const findOne = async (query: Idempotency): Promise<StoredOutcome[]> =>
    (await one.all(query.keyId, storedKey(query), query.at)).map(outcomeOf)

  return {
    listOutcomes,
    /** For a part, its own outcome and the request's. */
    findOutcomes: async (query: Idempotency): Promise<StoredOutcome[]> =>
      query.part === null
        ? await listOutcomes(query)
        : (await mapInOrder([{ ...query, part: null }, query], findOne)).flat(),
  }
}

/** The outcomes of requests, for planning. */
export function createOutcomeFacts(db: Sql, rules: OutcomeRules) {
  const { findOutcomes } = createOutcomeReads(db, rules)
  return async (requests: readonly Idempotency[]): Promise<KeyedOutcomes> => {
    const found = new Map<string, Map<number | null, StoredOutcome>>()
    await eachTogether(requests, async (idempotency) => {
      const stored = await findOutcomes(idempotency)
      if (stored.length === 0) return
      const id = outcomeKey(idempotency.keyId, idempotency.key)
      const parts = found.get(id) ?? new Map<number | null, StoredOutcome>()
      for (const one of stored) parts.set(one.part, one)
      found.set(id, parts)
    })
    return found
  }
}

export type AddOutcomes = (outcomes: readonly NewOutcome[]) => Maybe<void>

/** A refusal is not stored, so this asks whether there is an outcome already. */
const NOT_YET: Refused = { refusal: 'internal_error' }

type OnceWrite = { idempotency: Idempotency | null; appId: number; accountId: string }
type OnceParts = { db: Sql; addOutcomes: AddOutcomes; rules: OutcomeRules & { planOnce: PlanOnce } }

/** Runs a write that isn't planned in a batch, once per Idempotency-Key. */
export function createOnce({ db, addOutcomes, rules }: OnceParts) {
  const loadOutcomes = createOutcomeFacts(db, rules)
  return async <T extends OnceOutcome>(
    { idempotency, appId, accountId }: OnceWrite,
    run: () => Promise<T | Refused>,
  ): Promise<T | Refused> => {
    if (idempotency === null) return await run()
    const known: KnownOutcomes = { stored: await loadOutcomes([idempotency]), added: new Map() }
    const ofApp = { ...idempotency, appId, accountId }
    const before = rules.planOnce<T>(known, ofApp, () => NOT_YET)
    if (before !== NOT_YET) return before
    const done = await run()
    const outcome = rules.planOnce<T>(known, ofApp, () => done)
    await addOutcomes([...known.added.values()].flatMap((parts) => [...parts.values()]))
    return outcome
  }
}

/** Removes records of each app that are older than it keeps them, up to `limit`. @returns how many */
export function createOutcomeUpkeep(db: Sql, { defaultResponseDays }: OutcomeRules, limit: number) {
  const keptMs = selectKeptMs('kept.app', 'response_days', defaultResponseDays)
  const remove = db.prepare(
    `WITH RECURSIVE kept (app) AS (SELECT min(app_id) FROM idempotency_records UNION ALL
       SELECT (SELECT min(app_id) FROM idempotency_records WHERE app_id > kept.app) FROM kept WHERE app IS NOT NULL)
     DELETE FROM idempotency_records WHERE (key_id, idempotency_key) IN
       (SELECT key_id, idempotency_key FROM kept ${db.dialect.crossJoin} idempotency_records
        ON app_id = kept.app AND created_at <= ? - ${keptMs} LIMIT ${limit})`,
  )
  return async (at: number): Promise<number> => (await remove.run(at)).changes
}

/** Removes what has expired, before the app keeps its records for longer. */
export function createOutcomeExpiry(db: Sql, { defaultResponseDays }: OutcomeRules) {
  const keptMs = selectKeptMs('?1', 'response_days', defaultResponseDays)
  const remove = db.prepare(`DELETE FROM idempotency_records WHERE app_id = ?1 AND created_at <= ?2 - ${keptMs}`)
  return async (appId: number, at: number): Promise<void> => void (await remove.run(appId, at))
}
