/** The counts that triggers keep are those of the deliveries, whatever is done to these; and reading them scans nothing. */
import type { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createComparing } from '../../src/store/compared-people.ts'
import { idAt } from '../../src/core/ids.ts'
import { createDeliveryCounts } from '../../src/store/delivery-counts.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'
import { createResultReads } from '../../src/store/message-results.ts'
import { DELIVERY_STATES } from '../../src/store/message-types.ts'
import { DAY } from '../durations.ts'
import { isLong } from '../long-form.ts'
import { listTexts, useFolder } from './databases.ts'

const folder = useFolder()

const MESSAGES = [1, 2]
const START = 20_600 * DAY
const HALF_DAY = (idAt(START + DAY) - idAt(START)) / 2

const at = fc
  .option(fc.integer({ min: 0, max: 3 }), { nil: null })
  .map((day) => (day === null ? null : START + day * DAY))
const change = fc.record({
  id: fc.integer({ min: 1, max: 6 }).map((index) => idAt(START) + index * HALF_DAY + 7),
  kind: fc.constantFrom('put', 'put', 'put', 'delete'),
  message: fc.constantFrom(...MESSAGES),
  state: fc.constantFrom(...DELIVERY_STATES),
  reason: fc.constantFrom(null, 'seen', 'holdback'),
  joinedTo: fc.constantFrom(null, null, 99),
  triggered: fc.integer({ min: 0, max: 3 }),
  isCompared: fc.boolean(),
  isHeldBack: fc.boolean(),
  handedAt: at,
  heldBackAt: at,
  cameBackAt: at,
  openedAt: at,
  goalAt: at,
  deliveredAt: at,
})
type Change = typeof change extends fc.Arbitrary<infer One> ? One : never

async function apply(db: Database, one: Change): Promise<void> {
  if (one.kind === 'delete') {
    db.run('DELETE FROM deliveries WHERE id = ?', [one.id])
    return void db.run('DELETE FROM compared_people WHERE delivery_id = ?', [one.id])
  }
  const now = START + one.triggered * DAY
  db.run(
    `INSERT OR IGNORE INTO deliveries (id, app_id, contact_id, message_id, version, triggered_at, planned_at, due_at,
       updated_at, once_key, state, reason, attempt, resent, by_hand)
     VALUES (?1, 1, ?1 / 2, ?2, 1, ?3, ?3, ?3, ?3, NULL, ?4, ?5, 1, 0, 0)`,
    // reports come later
    [one.id, one.message, now, REPORTED.includes(one.state) ? 'sent' : one.state, one.reason],
  )
  if (one.isCompared)
    await createComparing(createSqliteSql(db)).compare(one.id, { at: now, isHeldBack: one.isHeldBack })
  const reached = [one.cameBackAt, one.openedAt, one.goalAt]
  db.run(
    `UPDATE deliveries SET state = ?, reason = ?, joined_to = ?, handed_at = ?, held_back_at = ?, came_back_at = ?,
       opened_at = ?, goal_at = ?, delivered_at = ? WHERE id = ?`,
    [one.state, one.reason, one.joinedTo, one.handedAt, one.heldBackAt, ...reached, one.deliveredAt, one.id],
  )
  db.run('UPDATE compared_people SET came_back_at = ?, opened_at = ?, goal_at = ? WHERE delivery_id = ?', [
    ...reached,
    one.id,
  ])
}

const REPORTED: readonly string[] = ['bounced', 'complained']
const SENT = `state IN ('handed', 'sent', 'unknown', 'bounced', 'complained')`
const REACHED = 'count(came_back_at) AS cameBack, count(opened_at) AS opened, count(goal_at) AS reachedGoal'

/** From the deliveries alone. */
const recount = (db: Database) => ({
  days: db
    .query(
      `SELECT message_id, ${START / DAY} + (id - ${idAt(START)}) / ${idAt(START + DAY) - idAt(START)} AS day,
         CASE WHEN held_back_at IS NOT NULL THEN 'heldBack' WHEN ${SENT} THEN 'sent'
           WHEN state IN ('kept', 'skipped', 'failed', 'joined') THEN state ELSE 'waiting' END AS outcome,
         CASE WHEN state IN ('skipped', 'failed') THEN ifnull(reason, '') ELSE '' END AS reason,
         count(*) AS emails, ${REACHED}
       FROM deliveries WHERE joined_to IS NULL GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
    )
    .all(),
  reports: db
    .query(
      `SELECT message_id, ${START / DAY} + (id - ${idAt(START)}) / ${idAt(START + DAY) - idAt(START)} AS day,
         count(delivered_at) AS delivered, sum(state = 'bounced') AS bounced, sum(state = 'complained') AS complained
       FROM deliveries GROUP BY 1, 2 HAVING count(delivered_at) + sum(state IN ('bounced', 'complained')) > 0
       ORDER BY 1, 2`,
    )
    .all(),
  compared: db
    .query(
      `SELECT message_id, decided_at / ${DAY} AS day, is_held_back AS isHeldBack, is_first AS isFirst, count(*) AS people,
         ${REACHED}
       FROM compared_people GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
    )
    .all(),
})

const kept = (db: Database) => ({
  days: db
    .query(
      `SELECT message_id, day, outcome, reason, emails, came_back AS cameBack, opened, reached_goal AS reachedGoal
       FROM message_days WHERE emails <> 0 OR came_back <> 0 OR opened <> 0 OR reached_goal <> 0 ORDER BY 1, 2, 3, 4`,
    )
    .all(),
  reports: db
    .query(
      `SELECT message_id, day, delivered, bounced, complained FROM message_reports
       WHERE delivered <> 0 OR bounced <> 0 OR complained <> 0 ORDER BY 1, 2`,
    )
    .all(),
  compared: db
    .query(
      `SELECT message_id, day, is_held_back AS isHeldBack, is_first AS isFirst, people, came_back AS cameBack, opened,
         reached_goal AS reachedGoal
       FROM message_comparisons WHERE people <> 0 OR came_back <> 0 OR opened <> 0 OR reached_goal <> 0
       ORDER BY 1, 2, 3, 4`,
    )
    .all(),
})

test('the kept counts are those of the deliveries', async () => {
  const db = folder.open()
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 20 }), async (changes) => {
      for (const table of ['deliveries', 'compared_people']) db.run(`DELETE FROM ${table}`)
      for (const one of changes) await apply(db, one)
      expect(kept(db)).toEqual(recount(db))
    }),
    { numRuns: isLong ? 300 : 100 },
  )
})

test('every read finds its rows by the primary key of the counts', () => {
  const db = folder.open()
  const texts = listTexts(db, (sql) => [createResultReads(sql), createDeliveryCounts(sql)])
  const ofResults = texts.filter((text) => /message_(days|comparisons|reports)/.test(text))
  expect(ofResults).toHaveLength(11)
  for (const text of ofResults) {
    const plan = db.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${text}`).all()
    const found = plan.map(({ detail }) => detail).filter((detail) => /message_(days|comparisons|reports)/.test(detail))
    expect(found).not.toEqual([])
    for (const detail of found) expect(detail).toMatch(/^SEARCH message_\w+ USING PRIMARY KEY \(message_id=\?/)
  }
})

test('what needs attention is found by indexes alone', () => {
  const db = folder.open()
  const texts = listTexts(db, createResultReads)
  const ofDeliveries = texts.filter((text) => text.includes('deliveries ON message_id'))
  expect(ofDeliveries).toHaveLength(3)
  for (const text of ofDeliveries) {
    const plan = db.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${text}`).all()
    const details = plan.map(({ detail }) => detail).filter((detail) => / deliveries /.test(detail))
    expect(details).toHaveLength(1)
    expect(details[0]).toMatch(
      /^SEARCH deliveries USING COVERING INDEX deliveries_by_\w+ \(message_id=\?.* AND state=\?\)$/,
    )
  }
})
