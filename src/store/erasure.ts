import type { Sql } from './engine/sql.ts'
import { type Change, createAudit } from './audit.ts'
import { IS_ENDED, USES_DEDUPE_KEY } from './delivery-states.ts'
import { publicId } from '../core/ids.ts'
import type { People } from './people.ts'
import { createSuppressionList } from './suppressions.ts'
import type { Timeline } from './timeline/timeline.ts'
import { VISIT_REPORT_TYPES } from './timeline/timeline-reads.ts'
import type { Refused } from './types.ts'

/** `secure_delete` overwrites the deleted rows; the WAL is truncated afterwards. */
export function createErasure({
  db,
  people,
  timeline,
}: {
  db: Sql
  people: People
  timeline: Pick<Timeline, 'erase'>
}) {
  const { greatest, isOneOfTexts, lockIds, personIds, positionOf } = db.dialect
  const ofPerson = personIds('events', { contact: '?1', types: `< ${VISIT_REPORT_TYPES}` })
  const tables = [
    `DELETE FROM contact_events WHERE contact_id = ?1 AND name_id IN
       (SELECT name_id FROM events WHERE id IN (${ofPerson}))`,
    `DELETE FROM needed_events WHERE id IN (${ofPerson})`,
    `DELETE FROM events WHERE id IN (${ofPerson})`,
    `DELETE FROM snippet_batches WHERE id IN (${personIds('snippet_batches', { contact: '?1', types: `>= ${VISIT_REPORT_TYPES}` })})`,
    // deletes the whole batch's record too: repeating the rest of a batch must not reveal the erased item
    `DELETE FROM idempotency_records WHERE (key_id, idempotency_key) IN
       (SELECT key_id, substr(idempotency_key, 1, ${greatest(`${positionOf('CAST(?2 AS text)', 'idempotency_key')} - 1`, '0')})
        FROM idempotency_records WHERE contact_id = ?1)`,
    'DELETE FROM idempotency_records WHERE contact_id = ?',
    `DELETE FROM contact_tags WHERE app_id = ? AND contact_id = ? AND ${isOneOfTexts('tag')}`,
    'DELETE FROM contacts WHERE id = ?',
    'DELETE FROM captured_mails WHERE delivery_id = ?',
    'DELETE FROM sends WHERE delivery_id = ?',
    'DELETE FROM deliveries WHERE id = ?',
    'DELETE FROM compared_people WHERE contact_id = ?',
    'DELETE FROM uncompared_people WHERE contact_id = ?',
    'DELETE FROM consents WHERE contact_id = ?',
    `DELETE FROM scheduled_people WHERE contact_id = ?2
       AND schedule_id IN (SELECT id FROM message_schedules WHERE app_id = ?1)`,
    `DELETE FROM people_results WHERE app_id = ?1 AND contact_id = ?2
       AND message_id IN (SELECT 0 UNION ALL SELECT id FROM messages WHERE app_id = ?1)`,
  ] as const
  const [audit, suppressions] = [createAudit(db), createSuppressionList(db)]
  const statements = tables.map((text) => db.prepare(text))
  const [done, needed, events, batches, parents, records, tags, contact, captured, sends, deliveries, ...others] =
    statements
  const [compared, uncompared, consents, scheduled, results] = others
  const tagsOf = db.prepare<{ tags: string | null }, [number]>('SELECT tags FROM contacts WHERE id = ?')
  const deliveriesOf = db.prepare<{ id: number }, [number, number, number]>(
    lockIds(
      'deliveries',
      `SELECT id FROM deliveries WHERE app_id = ? AND contact_id = ? AND ${USES_DEDUPE_KEY}
       UNION SELECT id FROM deliveries WHERE contact_id = ? AND ${IS_ENDED}`,
    ),
  )

  return {
    async eraseContact({
      appId,
      email,
      ...by
    }: Change & { appId: number; email: string }): Promise<{ contactId: number } | Refused> {
      // an imported address may have no person
      await suppressions.forget(appId, email)
      await people.load([{ appId, email }])
      const person = people.find(appId, email)
      if (!person) return { refusal: 'contact_not_found' }
      // what another transaction writes about them is there once they are locked
      const emails = await deliveriesOf.all(appId, person.id, person.id)
      await done?.run(person.id)
      await needed?.run(person.id)
      await events?.run(person.id)
      await batches?.run(person.id)
      timeline.erase(person.id)
      await parents?.run(person.id, '\t')
      await records?.run(person.id)
      await tags?.run(appId, person.id, (await tagsOf.get(person.id))?.tags ?? '[]')
      await contact?.run(person.id)
      await consents?.run(person.id)
      await scheduled?.run(appId, person.id)
      for (const { id } of emails) {
        await captured?.run(id)
        await sends?.run(id)
        await deliveries?.run(id)
      }
      await compared?.run(person.id)
      await uncompared?.run(person.id)
      await results?.run(appId, person.id)
      people.drop(appId, email)
      await audit(by, 'contact.erase', publicId('con', person.id))
      return { contactId: person.id }
    },
  }
}
