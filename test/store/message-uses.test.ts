/** SQL and the function over rows agree on what uses up a message. */
import { afterAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { filterInOrder } from '../../src/core/in-order.ts'
import { openDatabase } from '../../src/store/engine/database.ts'
import { createMessageUses, usesOf } from '../../src/store/message-uses.ts'
import { DELIVERY_STATES, type DeliveryRow } from '../../src/store/message-types.ts'
import { makeMigratedFolder } from './samples.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'

const { folder, remove } = await makeMigratedFolder()
const db = openDatabase(folder)
afterAll(() => {
  db.close()
  remove()
})

const KEYS = ['', 'timed', 'a', 'b']
const OF = { appId: 1, contactId: 7, messageId: 3 }
const uses = createMessageUses(createSqliteSql(db))
const insert = db.prepare(
  `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, triggered_at, planned_at, due_at,
     attempt, handed_at, held_back_at, resent, by_hand, updated_at, joined_to)
   VALUES (?, 1, ?, ?, 1, ?, ?, 0, 0, 0, 0, ?, ?, 0, 0, 0, ?)`,
)

type Row = Pick<DeliveryRow, 'contactId' | 'messageId' | 'dedupeKey' | 'state' | 'handedAt' | 'heldBackAt'>
const time = fc.integer({ min: 1, max: 9 })
const row: fc.Arbitrary<Row> = fc
  .record({
    contactId: fc.constantFrom(7, 7, 7, 8),
    messageId: fc.constantFrom(3, 3, 3, 4),
    dedupeKey: fc.constantFrom(null, ...KEYS),
    state: fc.constantFrom(...DELIVERY_STATES),
    times: fc.oneof(fc.record({ handedAt: fc.option(time) }), fc.record({ heldBackAt: time })),
  })
  .map(({ times, ...one }) => ({ handedAt: null, heldBackAt: null, ...one, ...times }))
const isSameKey = (a: Row, b: Row): boolean =>
  a.dedupeKey !== null && a.dedupeKey === b.dedupeKey && a.contactId === b.contactId && a.messageId === b.messageId
const rows = fc.uniqueArray(row, { maxLength: 12, comparator: isSameKey })

const isOfMessage = ({ contactId, messageId }: Row): boolean => contactId === OF.contactId && messageId === OF.messageId

test('keys, number and last time are the same by SQL', async () => {
  await fc.assert(
    fc.asyncProperty(rows, async (all) => {
      db.run('DELETE FROM deliveries')
      for (const [index, { contactId, messageId, dedupeKey, state, handedAt, heldBackAt }] of all.entries())
        insert.run(index + 1, contactId, messageId, dedupeKey, state, handedAt, heldBackAt, null)
      const { keys, count, lastHandedAt } = usesOf(all.filter(isOfMessage))
      expect(await filterInOrder(KEYS, (key) => uses.isKeyUsed(OF, key))).toEqual(KEYS.filter((key) => keys.has(key)))
      expect([await uses.countUses(OF), await uses.lastHandedAt(OF)]).toEqual([count, lastHandedAt])
    }),
  )
})

test('the email that is decided does not count, nor do its further events', async () => {
  db.run('DELETE FROM deliveries')
  insert.run(1, OF.contactId, OF.messageId, null, 'sent', 1, null, null)
  insert.run(2, OF.contactId, OF.messageId, 'a', 'waiting', 5, null, null)
  insert.run(3, OF.contactId, OF.messageId, 'b', 'joined', 6, null, 2)
  expect([await uses.lastHandedAt(OF), await uses.lastHandedAt({ ...OF, id: 2 })]).toEqual([6, 1])
})
