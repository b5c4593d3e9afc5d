import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { DEFAULT_RETENTION, describeDeletions, findDeletions } from '../../src/accounts/retention.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { databasePath } from '../../src/store/engine/database.ts'
import { truncateLog } from '../../src/store/engine/checkpoints.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import type { EventWrite, Retention } from '../../src/store/types.ts'
import {
  AT,
  BY,
  contactWrite,
  DAY,
  done,
  eventWrite,
  HOUR,
  makeMigratedFolder,
  newAccount,
  visitReportWrite,
} from './samples.ts'

let folder: string
let remove: () => void
let store: Store
let now = AT
let db: Database
beforeEach(async () => {
  ;({ folder, remove } = await makeMigratedFolder())
  now = AT
  store = await openStore(folder, { threads: false, now: () => now, rules: STORE_RULES })
  done(await store.createAccount(newAccount(1)))
  db = new Database(databasePath(folder))
})
afterEach(async () => {
  db.close()
  await store.close()
  remove()
})

const keep = async (retention: Partial<Retention>): Promise<void> => {
  const app = await store.findApp(1)
  if (!app) throw new Error('there is no app')
  const { name, homeUrl, hosts, timezone, locale } = app
  const snippet = { hosts: [], addsPeople: false }
  const settings = {
    name,
    homeUrl,
    hosts,
    timezone,
    locale,
    snippet,
    retention: { ...DEFAULT_RETENTION, ...retention },
  }
  done(await store.updateApp({ ...BY, appId: 1, settings }))
}
const record = async (changes: Partial<EventWrite> = {}) =>
  done(await store.recordEvent(eventWrite({ at: now, ...changes })))
const view = async (path: string, email = 'ada@example.com') => {
  const items = [{ type: 'page' as const, name: null, path, occurredAt: now }]
  done(await store.recordVisitReport(visitReportWrite({ at: now, email, reportId: `${path}.${now}`, items })))
}
/** Until the pass is over. */
const expire = async (): Promise<number> => {
  let deleted = 0
  for (let isMore = true; isMore;) {
    const outcome = done(await store.expire({ at: now }))
    deleted += outcome.deleted
    isMore = outcome.isMore
  }
  return deleted
}
const listed = async (name: string | null = null, contactId: number | null = null) =>
  (await store.listEvents({ appId: 1, contactId, name, before: null, limit: 100 })).rows.map(
    (row) => row.path ?? row.name,
  )
const rowsOf = (table: string): number => Number(db.query(`SELECT count(*) FROM ${table}`).values()[0]?.[0])
const found = async (filter: object) => {
  const nobody = { search: null, tag: null, status: null, field: null, event: null, seen: null, email: null }
  const query = { appId: 1, sort: 'newest' as const, after: null, limit: 10, isCounted: true }
  return (await store.findPeople({ ...query, filter: { ...nobody, ...filter } })).people.map(({ email }) => email)
}

test('by default nothing of a person expires', async () => {
  await record()
  await view('/old')
  now += 5_000 * DAY
  expect(await expire()).toBe(0)
  expect(await listed()).toEqual(['/old', 'results_ready'])
  expect(await store.findExpired(1)).toEqual({ eventsUntil: null, pageViewsUntil: null })
})

describe('events and page views that are older than the app keeps them', () => {
  test('are deleted each by their own age, from every index', async () => {
    const { contactId } = await record({ name: 'signup' })
    await view('/old')
    await record({ name: 'first' })
    const firstAt = now
    now += 20 * DAY
    await view('/later')
    await record({ name: 'signup' })
    await keep({ eventDays: 10, pageViewDays: 40 })
    const before = await store.byId(contactId)
    expect(await expire()).toBe(2)
    expect(await listed()).toEqual(['signup', '/later', '/old'])
    expect(await listed(null, contactId)).toEqual(['signup', '/later', '/old'])
    expect([await listed('first'), await listed('signup'), await listed('$page')]).toEqual([
      [],
      ['signup'],
      ['/later', '/old'],
    ])
    now += 30 * DAY
    expect(await expire()).toBe(2)
    expect(await listed()).toEqual(['/later'])
    expect(rowsOf('events')).toBe(1)
    // when people were seen stays, as does how many events there were
    expect(await store.byId(contactId)).toEqual(before)
    expect(await store.lastActiveAt(contactId)).toBe(AT + 20 * DAY)
    expect(await store.firstViewAt(contactId)).toBe(AT)
    expect(await store.countNames(1, 0)).toMatchObject({ total: 5 })
    expect(await store.latestActivity(1)).toMatchObject({ lastEventAt: AT + 20 * DAY })
    const { eventsUntil, pageViewsUntil } = await store.findExpired(1)
    expect([eventsUntil, pageViewsUntil]).toEqual([AT + 20 * DAY, firstAt])
  })

  test('keep when their person was first and last seen, in whatever order they came', async () => {
    const happened = fc.record({
      type: fc.constantFrom('event', 'page', 'action'),
      days: fc.nat(12),
      lateDays: fc.nat(30),
    })
    const law = fc.asyncProperty(
      fc.array(happened, { minLength: 1, maxLength: 12 }),
      fc.nat(40),
      async (all, later) => {
        const email = `${(number += 1)}@example.com`
        let contactId = 0
        for (const { type, days, lateDays } of all) {
          now += days * DAY
          const path = type === 'page' ? '/' : null
          const written = { type, path, email, occurredAt: now - lateDays * DAY } as const
          contactId = (await record(written)).contactId
        }
        const read = async () => [
          { ...(await store.byId(contactId)) },
          await store.lastActiveAt(contactId),
          await store.firstViewAt(contactId),
        ]
        const before = await read()
        now += later * DAY + HOUR
        await expire()
        expect(await read()).toEqual(before)
      },
    )
    let number = 0
    await keep({ eventDays: 20, pageViewDays: 10 })
    await fc.assert(law, { numRuns: 40 })
  })

  test('are no longer found by a search, unless a later one of that name is stored', async () => {
    await record({ name: 'signup' })
    await record({ name: 'first' })
    now += 20 * DAY
    await record({ name: 'signup' })
    const did = (name: string) => found({ event: { name, isDone: true } })
    expect([await did('first'), await did('signup')]).toEqual([['ada@example.com'], ['ada@example.com']])
    await keep({ eventDays: 10 })
    await expire()
    expect([await did('first'), await did('signup')]).toEqual([[], ['ada@example.com']])
  })

  test('of other apps and of a longer retention stay, also if it was shorter before', async () => {
    done(await store.createAccount(newAccount(2)))
    await record({ accountId: 'acc_2', appId: 2 })
    await record()
    await keep({ eventDays: 100 })
    now += 50 * DAY
    expect(await expire()).toBe(0)
    await keep({ eventDays: 20 })
    now += HOUR
    expect(await expire()).toBe(1)
    expect(rowsOf('events')).toBe(1)
    await keep({ eventDays: null })
    await record()
    now += 400 * DAY
    expect(await expire()).toBe(0)
  })

  test('go up to a day late, so that a clock that is a day off deletes nothing early', async () => {
    await record()
    await keep({ eventDays: 10 })
    now += 11 * DAY - 1
    expect(await expire()).toBe(0)
    now += HOUR
    expect(await expire()).toBe(1)
  })

  test('stay while an email to their person waits, and go with the next pass after it', async () => {
    const { contactId } = await record()
    await record({ email: 'bob@example.com' })
    const insert = `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, triggered_at,
      planned_at, due_at, attempt, resent, by_hand, updated_at) VALUES (1, 1, ?, 1, 1, '', 'waiting', 1, 1, 1, 0, 0, 0, 1)`
    db.query(insert).run(contactId)
    await keep({ eventDays: 10 })
    now += 30 * DAY
    expect(await expire()).toBe(1)
    now += HOUR
    expect([await expire(), rowsOf('needed_events')]).toEqual([0, 1])
    db.run(`UPDATE deliveries SET state = 'skipped'`)
    now += HOUR
    expect([await expire(), rowsOf('needed_events'), rowsOf('events')]).toEqual([1, 0, 0])
  })

  test('that were needed stay if the app keeps them longer by then', async () => {
    const { contactId } = await record()
    await record({ email: 'bob@example.com' })
    const insert = `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, triggered_at,
      planned_at, due_at, attempt, resent, by_hand, updated_at) VALUES (1, 1, ?, 1, 1, '', 'waiting', 1, 1, 1, 0, 0, 0, 1)`
    db.query(insert).run(contactId)
    await keep({ eventDays: 10 })
    now += 30 * DAY
    await expire()
    await keep({ eventDays: 100 })
    db.run(`UPDATE deliveries SET state = 'skipped'`)
    now += HOUR
    expect([await expire(), rowsOf('events')]).toEqual([0, 1])
    expect(await listed('results_ready')).toEqual(['results_ready'])
    await keep({ eventDays: 10 })
    now += HOUR
    expect([await expire(), rowsOf('events')]).toEqual([1, 0])
  })

  test('stay from the moment on that the app keeps them longer, also while others are deleted', async () => {
    await Promise.all(Array.from({ length: 900 }, () => store.recordEvent(eventWrite())))
    await keep({ eventDays: 10 })
    now += 20 * DAY
    const { isMore, deleted } = done(await store.expire({ at: now }))
    expect([isMore, deleted < 900]).toEqual([true, true])
    await keep({ eventDays: 100 })
    expect([await expire(), rowsOf('events')]).toEqual([0, 900 - deleted])
  })

  test('are overwritten in the file', async () => {
    const mark = `zq${Bun.hash('expired').toString(36)}qz`
    for (let i = 0; i < 50; i += 1)
      await record({ properties: JSON.stringify({ mark, i }), email: `p${i}@example.com` })
    await keep({ eventDays: 10 })
    now += 20 * DAY
    expect(await expire()).toBe(50)
    truncateLog(db)
    expect(readFileSync(databasePath(folder)).includes(mark)).toBe(false)
  })

  test('leave nothing behind of a person who is erased', async () => {
    await record()
    await view('/old')
    await keep({ eventDays: 10, pageViewDays: 10 })
    now += 20 * DAY
    await expire()
    expect(rowsOf('expired_activity')).toBe(1)
    done(await store.eraseContact({ ...BY, appId: 1, email: 'ada@example.com' }))
    expect(rowsOf('expired_activity')).toBe(0)
  })

  test('are deleted a few at a time, and the next call goes on', async () => {
    await store.addContact(contactWrite())
    for (let round = 0; round < 6; round += 1) {
      const writes = Array.from({ length: 1_000 }, (_, i) => store.recordEvent(eventWrite({ name: `n${i % 7}` })))
      for (const outcome of await Promise.all(writes)) done(outcome)
    }
    expect(rowsOf('timeline')).toBeGreaterThan(1_000)
    await keep({ eventDays: 10 })
    now += 20 * DAY
    const first = done(await store.expire({ at: now }))
    expect([first.isMore, first.deleted < 6_000]).toEqual([true, true])
    expect(first.deleted + (await expire())).toBe(6_000)
    expect([rowsOf('events'), rowsOf('timeline'), rowsOf('timeline_run_rows'), rowsOf('contact_events')]).toEqual([
      0, 0, 0, 0,
    ])
  })
})

test('captured emails expire after 30 days by default, or as the app says, and their delivery stays', async () => {
  const capture = db.query(`INSERT INTO captured_mails (delivery_id, app_id, raw, created_at) VALUES (?, 1, '', ?)`)
  const idOf = (at: number): number => (at - Date.UTC(2026, 0, 1)) * 8192
  for (let i = 0; i < 50; i += 1) capture.run(idOf(AT) + i, AT + i)
  capture.run(idOf(AT + 10 * DAY), AT + 10 * DAY)
  now += 31 * DAY - 1
  expect(await expire()).toBe(0)
  now += HOUR
  expect([await expire(), rowsOf('captured_mails')]).toEqual([50, 1])
  await keep({ capturedDays: null })
  now += 500 * DAY
  expect(await expire()).toBe(0)
  await keep({ capturedDays: 5 })
  now += HOUR
  expect([await expire(), rowsOf('captured_mails')]).toEqual([1, 0])
})

describe('what a lower number of days deletes', () => {
  const lower = (after: Partial<Retention>, before: Partial<Retention> = {}) =>
    findDeletions(store, {
      appId: 1,
      before: { ...DEFAULT_RETENTION, ...before },
      after: { ...DEFAULT_RETENTION, ...before, ...after },
      now,
    })
  const namesOf = async (...change: Parameters<typeof lower>) => (await lower(...change)).map(({ name }) => name)

  test('is only what is stored and older, of the kind whose days are fewer than before', async () => {
    await record()
    now += 10 * DAY
    await view('/')
    now += 10 * DAY
    expect(await lower({ eventDays: 21, pageViewDays: 11 })).toEqual([])
    expect(await lower({ eventDays: 20, pageViewDays: 10 })).toEqual([
      { name: 'events', before: AT },
      { name: 'page views', before: AT + 10 * DAY },
    ])
    expect(await namesOf({ eventDays: 7 }, { eventDays: 20, pageViewDays: 7 })).toEqual(['events'])
    expect(await namesOf({}, { eventDays: 7, pageViewDays: 7 })).toEqual([])
    expect(await namesOf({ eventDays: 10, pageViewDays: null }, { eventDays: 7, pageViewDays: 7 })).toEqual([])
    expect(await namesOf({ pageViewDays: 10 }, { pageViewDays: 3_650 })).toEqual(['page views'])
    const other = { appId: 2, before: DEFAULT_RETENTION, after: { ...DEFAULT_RETENTION, eventDays: 7 }, now }
    expect(await findDeletions(store, other)).toEqual([])
  })

  test('is nothing that was deleted before', async () => {
    await record()
    await keep({ eventDays: 10 })
    now += 20 * DAY
    await expire()
    expect(await namesOf({ eventDays: 7 }, { eventDays: 10 })).toEqual([])
  })

  test('includes captured emails', async () => {
    const id = (AT - Date.UTC(2026, 0, 1)) * 8192
    db.query(`INSERT INTO captured_mails (delivery_id, app_id, raw, created_at) VALUES (?, 1, '', ?)`).run(id, AT)
    now += 5 * DAY
    expect(await namesOf({ capturedDays: 6 })).toEqual([])
    expect(await namesOf({ capturedDays: 5 })).toEqual(['captured emails'])
  })

  test('is found in a few thousand rows, else it is probably there', async () => {
    db.run(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at) SELECT i, 1, 1, 1, 1, 0, ${AT} FROM n`)
    expect(await namesOf({ eventDays: 7 })).toEqual(['events'])
    db.run('DELETE FROM events WHERE id = 5000')
    expect(await namesOf({ eventDays: 7 })).toEqual([])
  })

  test('is described with the days of the timezone', () => {
    const deletions = [
      { name: 'events', before: Date.UTC(2026, 4, 3, 23) },
      { name: 'captured emails', before: Date.UTC(2026, 5, 2, 12) },
    ]
    expect(describeDeletions(deletions, 'Europe/Zurich')).toBe(
      'Events before 4 May 2026 and captured emails before 2 June 2026 will be deleted.',
    )
    expect(describeDeletions(deletions.slice(0, 1), 'UTC')).toBe('Events before 3 May 2026 will be deleted.')
  })
})
