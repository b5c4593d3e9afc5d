import type { Sql } from './engine/sql.ts'
import type { Comparisons } from './compared-people.ts'
import type { DeliveryRules, EndFacts, EndPlan, Finish } from './delivery-rules.ts'
import { TIMED_KEY } from './delivery-states.ts'
import type { SentCache } from './caches/sent-cache.ts'

type Ended = { messageId: number; contactId: number }
type Delivery = NonNullable<EndFacts['delivery']>
type Attempt = Omit<NonNullable<EndFacts['attempt']>, 'resent'> & { resent: number }
type Parts = {
  db: Sql
  sentCache: SentCache
  comparisons: Comparisons
  rules: Pick<DeliveryRules, 'queryEnd' | 'planEnd'>
}

export type DeliveryEnds = ReturnType<typeof createDeliveryEnds>

const toAttempt = (row: Attempt | null): EndFacts['attempt'] => row && { ...row, resent: row.resent === 1 }

export function createDeliveryEnds({ db, sentCache, comparisons, rules }: Parts) {
  const find = db.prepare<Delivery, [number]>(
    'SELECT once_key AS "dedupeKey", planned_at AS "plannedAt", due_at AS "dueAt" FROM deliveries WHERE id = ?',
  )
  const findAttempt = db.prepare<Attempt, [number]>(
    'SELECT handed_at AS "handedAt", resent, record FROM deliveries WHERE id = ?',
  )
  const findJoined = db.prepare<EndFacts['joined'][number], [number]>(
    `SELECT id, triggered_at AS "triggeredAt", once_key AS "dedupeKey" FROM deliveries WHERE joined_to = ? AND state = 'joined'`,
  )
  const finish = db.prepare<Ended, (string | number | null)[]>(
    `UPDATE deliveries SET state = ?, reason = ?, record = coalesce(?, record), due_at = coalesce(?, due_at),
       sent_at = coalesce(?, sent_at), claimed_by = NULL, claimed_until = NULL, updated_at = ?,
       once_key = CASE ? WHEN 'keep' THEN once_key WHEN 'releaseTimed' THEN nullif(once_key, '${TIMED_KEY}') END,
       handed_at = CASE WHEN ? = 1 THEN ? ELSE handed_at END, held_back_at = coalesce(?, held_back_at), joined_to = coalesce(?, joined_to)
     WHERE id = ?
     RETURNING message_id AS "messageId", contact_id AS "contactId"`,
  )
  const releaseTimed = db.prepare(`UPDATE deliveries SET once_key = NULL WHERE id = ? AND once_key = '${TIMED_KEY}'`)
  const uncapture = db.prepare('DELETE FROM captured_mails WHERE delivery_id = ?')
  const dropCaptured = async (id: number): Promise<void> => void (await uncapture.run(id))
  const takeOver = db.prepare(
    `UPDATE deliveries SET state = 'waiting', planned_at = ?, due_at = ?, joined_to = NULL, updated_at = ?, once_key = ?
     WHERE id = ?`,
  )
  const moveJoined = db.prepare(`UPDATE deliveries SET joined_to = ? WHERE joined_to = ? AND state = 'joined'`)
  const endJoined = db.prepare(
    `UPDATE deliveries SET (state, reason, handed_at, held_back_at, updated_at) =
       (SELECT state, reason, handed_at, held_back_at, updated_at FROM deliveries lead WHERE lead.id = ?)
     WHERE joined_to = ? AND state = 'joined'`,
  )

  const loadFacts = async (id: number, how: Finish): Promise<EndFacts> => {
    const query = rules.queryEnd(how)
    return {
      delivery: query.delivery ? await find.get(id) : null,
      attempt: query.attempt ? toAttempt(await findAttempt.get(id)) : null,
      joined: query.joined ? await findJoined.all(id) : [],
    }
  }

  const handToHeir = async (id: number, heir: NonNullable<EndPlan['heir']>, at: number): Promise<void> => {
    await takeOver.run(heir.plannedAt, heir.dueAt, at, heir.dedupeKey, heir.id)
    await moveJoined.run(heir.id, id)
    await comparisons.passOn(id, heir.id)
  }

  const apply = async (id: number, at: number, how: Finish, plan: EndPlan): Promise<void> => {
    const { key, handedAt, isUnsent, isHeldBack, heir, dropsCaptured } = plan
    const { state, reason, record, dueAt, sentAt } = how
    const columns = [state, reason ?? null, record ?? null, dueAt ?? null, sentAt ?? null, at, key]
    const times = [Number(handedAt !== undefined), handedAt ?? null, isHeldBack ? at : null]
    const ended = await finish.get(...columns, ...times, heir?.id ?? null, id)
    if (!ended) return
    if (isHeldBack) await comparisons.compare(id, { at, isHeldBack, isCapturing: how.isCapturing })
    if (isUnsent) {
      sentCache.release(ended.messageId, ended.contactId)
      if (heir) await handToHeir(id, heir, at)
      else await endJoined.run(id, id)
    }
    if (dropsCaptured) await dropCaptured(id)
  }

  return {
    dropCaptured,
    /** A time-based deduplication key is free once the outcome is known. */
    releaseTimedKey: async (id: number): Promise<void> => void (await releaseTimed.run(id)),
    /** For ends that are planned with the rest of a batch. */
    apply,
    end: async (id: number, at: number, how: Finish): Promise<void> =>
      await apply(id, at, how, rules.planEnd(how, await loadFacts(id, how))),
  }
}
