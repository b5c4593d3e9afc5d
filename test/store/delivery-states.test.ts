/** What is asked of deliveries, however many there are, is asked of an index. */
import type { Database } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import { openDatabase } from '../../src/store/engine/database.ts'
import { createComparing } from '../../src/store/compared-people.ts'
import { createDeliveryEnds } from '../../src/store/delivery-ends.ts'
import { createDeliveryQueue, prepareDeliveryStatements } from '../../src/store/delivery-queue.ts'
import { createDeliveryRetries } from '../../src/store/delivery-retries.ts'
import { createDeliveryReads } from '../../src/store/deliveries.ts'
import { createErasure } from '../../src/store/erasure.ts'
import { createMailSources } from '../../src/store/mail-sources.ts'
import { createLiveMessages } from '../../src/store/live-messages.ts'
import { createDeliveryCounts } from '../../src/store/delivery-counts.ts'
import { createSealer } from '../../src/store/engine/sealing.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { createPlannedFacts } from '../../src/store/planned-writes.ts'
import { createSentCache } from '../../src/store/caches/sent-cache.ts'
import { createSuppressionWrites } from '../../src/store/suppressions.ts'
import { createKnownReports } from '../../src/store/timeline/known-reports.ts'
import { createTimeline } from '../../src/store/timeline/timeline.ts'
import { makeMigratedFolder } from './samples.ts'
import type { Sql } from '../../src/store/engine/sql.ts'
import { createRepeatCheck } from '../../src/store/engine/sqlite-rows.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'

const { folder, remove } = await makeMigratedFolder()
const db = openDatabase(folder)
const sealer = createSealer(null)
afterAll(() => {
  db.close()
  remove()
})
// two messages, so that the pages of an app are those of both
db.run(`INSERT INTO accounts (id, name, snippet_limits, created_at) VALUES ('acc', 'A', 1, 1)`)
db.run(`INSERT INTO apps (id, account_id, public_id, site_id, name, created_at) VALUES (1, 'acc', 'a', 's', 'A', 1)`)
for (const id of [1, 2]) {
  db.run(`INSERT INTO messages VALUES (${id}, 'acc', 1, 'M${id}', 'live', 1, 1, 1)`)
  db.run(
    `INSERT INTO message_versions (message_id, version, content, created_at)
     VALUES (${id}, 1, '{"trigger":{"event":"e"},"mail":{}}', 1)`,
  )
}

/** The plans of all statements about deliveries that are prepared or run meanwhile. */
function plansOf(run: (db: Sql) => unknown): string[] {
  const texts = new Set<string>()
  const watched = Object.create(db) as Database
  watched.prepare = ((text: string) => {
    if (/\bdeliveries\b/.test(text) && !/^\s*INSERT INTO/.test(text)) texts.add(text)
    return db.query(text)
  }) as Database['prepare']
  watched.query = watched.prepare as Database['query']
  watched.transaction = db.transaction.bind(db)
  run(createSqliteSql(watched))
  return Array.from(texts, (text) => {
    const statement = db.query<{ detail: string }, null[]>(`EXPLAIN QUERY PLAN ${text}`)
    const plan = statement.all(...Array<null>(statement.paramsCount).fill(null))
    return plan.map(({ detail }) => detail).join('; ')
  })
}

const query = { appId: 1, messageId: null, contactId: null, states: null, before: 9, limit: 5 }
function parts(watched: Sql) {
  const common = {
    db: watched,
    live: createLiveMessages(watched, createMailSources(watched, sealer)),
    sentCache: createSentCache(),
    comparisons: createComparing(watched),
    rules: STORE_RULES,
  }
  return { ...common, ends: createDeliveryEnds(common) }
}
const timeline = createTimeline(db, () => 0)
const people = {
  load: () => {},
  find: () => null,
  remember: () => {},
  drop: () => {},
  settle: () => {},
  undo: () => {},
  forget: () => {},
}

describe('no statement scans all deliveries', () => {
  test.each<[string, number, (watched: Sql) => unknown]>([
    ['the queue', 3, (watched) => createDeliveryQueue(watched)],
    ['retries', 4, (watched) => createDeliveryRetries({ db: watched, rules: STORE_RULES })],
    ['claims and marks', 9, (watched) => prepareDeliveryStatements(watched)],
    [
      'facts of a person',
      8,
      (watched) =>
        createPlannedFacts({
          ...parts(watched),
          people,
          isRepeated: createRepeatCheck(db, createKnownReports(db)),
          newPeople: () => 0,
        }),
    ],
    ['suppression', 4, (watched) => createSuppressionWrites(parts(watched))],
    ['erasure', 2, (watched) => createErasure({ db: watched, people, timeline })],
    ['live messages', 1, (watched) => createLiveMessages(watched, createMailSources(watched, sealer)).of(1)],
    ['counts of a message', 3, (watched) => createDeliveryCounts(watched).countDeliveries(1)],
    ['counts of several messages', 3, (watched) => createDeliveryCounts(watched).countEmailsOf([1])],
    [
      'pages of an app',
      3,
      (watched) => createDeliveryReads(watched, createMailSources(watched, sealer)).listDeliveries(query),
    ],
    [
      'pages of a message',
      3,
      (watched) =>
        createDeliveryReads(watched, createMailSources(watched, sealer)).listDeliveries({ ...query, messageId: 1 }),
    ],
    [
      'pages of the emails that were decided',
      3,
      (watched) => {
        const reads = createDeliveryReads(watched, createMailSources(watched, sealer))
        const decided = {
          ...query,
          isLead: true,
          states: ['sent'] as const,
          or: [{ state: 'skipped' as const, reason: 'holdback' }],
          outcome: 'opened' as const,
        }
        return [
          reads.listDeliveries({ ...decided, outcome: null }),
          reads.listDeliveries(decided),
          reads.countMatching(decided),
        ]
      },
    ],
    [
      'pages of a person',
      2,
      (watched) =>
        createDeliveryReads(watched, createMailSources(watched, sealer)).listDeliveries({ ...query, contactId: 1 }),
    ],
    [
      'deliveries of an event',
      2,
      (watched) =>
        createDeliveryReads(watched, createMailSources(watched, sealer)).listDeliveriesOfEvent({
          appId: 1,
          contactId: 1,
          eventId: 1,
        }),
    ],
    [
      'how many emails a person had',
      1,
      (watched) =>
        createDeliveryReads(watched, createMailSources(watched, sealer)).listHanded(
          { id: 0, appId: 1, contactId: 2 },
          3,
        ),
    ],
  ])('%s', (_, least, run) => {
    const plans = plansOf(run)
    expect(plans.length).toBeGreaterThanOrEqual(least)
    // gone through are the apps that wait, the few that someone has claimed, so many of the newest, lists of ids and of reasons, and what a limit cut
    const wrong = plans.filter((plan) =>
      /SCAN (?!waiting|heads|states|newest|found|listed|counted|\(subquery-1\)|json_each|CONSTANT ROW|deliveries USING INDEX deliveries_claimed)/.test(
        plan,
      ),
    )
    expect(wrong).toEqual([])
  })
})
