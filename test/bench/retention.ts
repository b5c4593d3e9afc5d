/**
 * `bun run lab:retention`: events beside the deletion of a million old ones, on the executable. Exits 1 where the slowest
 * hundredth takes longer than 50 ms, or nothing was deleted. The same is measured before and after, because machines differ.
 */
import { Database } from 'bun:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { idAt } from '../../src/core/ids.ts'
import { databasePath } from '../../src/store/engine/database.ts'
import { call, eventpost, makeFolder, setUp, startServer } from '../cli/process.ts'

const MOST_MS = 50
const OLD = Number(process.env.LAB_EVENTS ?? 1_000_000)
const PEOPLE = Math.ceil(OLD / 10)
const ROUND_MS = Number(process.env.LAB_ROUND_MS ?? 20_000)
/** A busy machine may not delete all of them in a reasonable time. */
const BESIDE_MS = Number(process.env.LAB_BESIDE_MS ?? 30 * 60_000)
const DAY_MS = 86_400_000
const NEXT_MS = 5
const program = [join(import.meta.dir, '../../dist/eventpost')]

const { folder, remove } = makeFolder(tmpdir())
const { appId: app, apiKey } = await setUp(folder)
fill()
const server = await startServer({ data: folder, program, timeoutMs: 0 })
const db = new Database(databasePath(folder), { readonly: true })
const oldEnd = idAt(Date.now() - 30 * DAY_MS)
const countOld = (): number => Number(db.query('SELECT count(*) FROM events WHERE id < ?').values(oldEnd)[0]?.[0])

/** Old events of people in no order, with their indexes, as a service would have made them over a year. */
function fill(): void {
  const filling = new Database(databasePath(folder))
  const from = idAt(Date.now() - 400 * DAY_MS)
  filling.run('PRAGMA synchronous = OFF')
  filling.run(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${PEOPLE})
    INSERT INTO contacts (id, app_id, email, status, created_at, updated_at)
    SELECT ${from} + i, 1, 'p' || i || '@example.com', 'subscribed', 1, 1 FROM n`)
  filling.run(`INSERT INTO event_names (id, app_id, name) VALUES (1, 1, 'signup'), (2, 1, '$page'), (3, 1, 'paid')`)
  const step = Math.floor((300 * DAY_MS * 8192) / OLD)
  filling.run(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${OLD})
    INSERT INTO events (id, app_id, contact_id, name_id, type, via, properties, path, received_at)
    SELECT ${from} + ${PEOPLE} + i * ${step}, 1, ${from} + 1 + abs(i * 7919) % ${PEOPLE}, 1 + i % 3, i % 3 = 1, i % 3 = 1,
      iif(i % 3 = 1, NULL, '{"url":"https://app.example.com/results/' || i || '","headline":"Your pictures are ready"}'),
      iif(i % 3 = 1, '/results/' || i, NULL), ${Date.now() - 400 * DAY_MS} + i * ${Math.floor(step / 8192)} FROM n`)
  filling.run('INSERT INTO timeline SELECT contact_id, type, id FROM events ORDER BY contact_id, type, id')
  filling.run(
    `INSERT OR IGNORE INTO contact_events SELECT name_id, contact_id FROM events WHERE type <> 1 ORDER BY 1, 2`,
  )
  for (const mark of ['timeline_until', 'timeline_merged_until'])
    filling.run(`UPDATE install SET value = (SELECT max(id) FROM events) WHERE name = '${mark}'`)
  filling.run('UPDATE contact_index_progress SET done_until = (SELECT max(id) FROM events)')
  filling.run('PRAGMA wal_checkpoint(TRUNCATE)')
  filling.close()
}

type Latency = { p50: number; p99: number; most: number; count: number }

let sent = 0
async function measure(isOver: () => boolean): Promise<Latency> {
  const times: number[] = []
  while (!isOver()) {
    sent += 1
    const event = { app, email: `p${1 + (sent % PEOPLE)}@example.com`, event: 'results_ready' }
    const startedAt = performance.now()
    const { status } = await call(server.url, apiKey, 'POST', '/api/v1/events', event)
    if (status !== 202) throw new Error(`an event was answered ${status}`)
    times.push(performance.now() - startedAt)
    await Bun.sleep(NEXT_MS)
  }
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { p50: at(0.5), p99: at(0.99), most: at(1), count: times.length }
}

const during = (ms: number) => {
  const until = performance.now() + ms
  return () => performance.now() >= until
}

try {
  const before = await measure(during(ROUND_MS))
  await eventpost(['app', 'set', app, '--data', folder, '--keep-events', '30', '--keep-page-views', '30'], { program })
  // a running server begins its next pass within an hour of the last one, and a new server within a minute
  let [left, lookAt, begunAt, endedAt] = [OLD, 0, 0, 0]
  const beside = await measure(() => {
    if (performance.now() >= lookAt) {
      left = countOld()
      lookAt = performance.now() + 2_000
      if (left < OLD && begunAt === 0) begunAt = performance.now()
      endedAt = performance.now()
    }
    return left === 0 || (begunAt > 0 && performance.now() - begunAt >= BESIDE_MS)
  })
  const after = await measure(during(ROUND_MS))
  const cell = (ms: number): string => ms.toFixed(1).padStart(10)
  console.log(
    `${'ms of an event'.padEnd(36)}${['p50', 'p99', 'most', 'events'].map((one) => one.padStart(10)).join('')}`,
  )
  for (const [name, { p50, p99, most, count }] of Object.entries({ before, beside, after }))
    console.log(`${name.padEnd(36)}${cell(p50)}${cell(p99)}${cell(most)}${String(count).padStart(10)}`)
  const deleted = OLD - left
  console.log(`${deleted} of ${OLD} deleted, ${Math.round(deleted / ((endedAt - begunAt) / 1_000))} a second`)
  process.exitCode = beside.p99 <= MOST_MS && deleted > 0 ? 0 : 1
} finally {
  db.close()
  await server.stop()
  remove()
}
