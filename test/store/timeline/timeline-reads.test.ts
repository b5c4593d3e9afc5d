/** Whatever the index of people's events holds yet, the same is read. */
import type { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { createContactReads } from '../../../src/store/contacts.ts'
import { createEngine } from '../../../src/store/engine/engine.ts'
import type { Job } from '../../../src/store/writes.ts'
import { createEventReads, type EventQuery, createHistoryReads } from '../../../src/store/events.ts'
import { createSealer } from '../../../src/store/engine/sealing.ts'
import { createReportReads } from '../../../src/store/visit-reports.ts'
import { EVENT_TYPES } from '../../../src/store/types.ts'
import { createRandom } from '../../random.ts'
import { isLong } from '../../long-form.ts'
import { useFolder } from '../databases.ts'
import { failing } from '../failing.ts'
import { AT, visitReportWrite, BY, eventWrite, HOUR } from '../samples.ts'
import { emailOf, listIndexed, lookAround, wanted } from './timeline-rows.ts'
import { createSqliteSql } from '../../../src/store/engine/sqlite-sql.ts'

const folder = useFolder()

/** `failNext`: its next commit finds the disk full. `isAlone`: a service; else a command beside it. */
function openEngine(isAlone: boolean) {
  const db = folder.open()
  const { failNext } = failing(db, 'COMMIT', 'SQLITE_FULL')
  return { db, engine: createEngine(db, () => AT, createSealer(null), { isAlone, rules: STORE_RULES }), failNext }
}

const PEOPLE = 4

/** What was written, as the reads should tell it. */
type Known = { person: number; type: number; name: string; at: number }
/** A batch of the browser script. */
type Sent = { person: number; reportId: string; at: number }

/** When the events of all pages came. */
async function listAll({ listEvents }: ReturnType<typeof createEventReads>, query: EventQuery): Promise<number[]> {
  const { rows, next } = await listEvents(query)
  const times = rows.map(({ receivedAt }) => receivedAt)
  return next === null ? times : [...times, ...(await listAll({ listEvents } as never, { ...query, before: next }))]
}

/** Every read of a person's events, beside the same from a list. */
async function expectSame(db: Database, known: Known[], sent: Sent[], ids: Map<number, number>): Promise<void> {
  const [events, contacts, history] = [
    createEventReads(createSqliteSql(db)),
    createContactReads(createSqliteSql(db)),
    createHistoryReads(createSqliteSql(db)),
  ]
  const { listReports } = createReportReads(createSqliteSql(db))
  for (let person = 0; person < PEOPLE; person += 1) {
    const contactId = ids.get(person)
    if (contactId === undefined) continue
    const theirs = known.filter((one) => one.person === person)
    const ofType = (type: number) => theirs.filter((one) => one.type === type).map(({ at }) => at)
    const query = { appId: 1, contactId, name: null, before: null, limit: 1_000 }
    const named = await listAll(events, { ...query, name: 'b' })
    expect(await listAll(events, query)).toEqual(theirs.map(({ at }) => at).toReversed())
    expect(named).toEqual(theirs.flatMap(({ name, at }) => (name === 'b' ? [at] : [])).toReversed())
    const found = await contacts.byId(contactId)
    const views = ofType(1)
    expect([found?.lastEventAt, found?.firstSeenAt, found?.lastSeenAt]).toEqual([
      ofType(0).at(-1) ?? null,
      views[0] ?? null,
      views.at(-1) ?? null,
    ])
    expect(await history.firstViewAt(contactId)).toBe(views[0] ?? null)
    expect((await history.listViews(contactId, AT)).map(({ occurredAt }) => occurredAt)).toEqual(views)
    const done = theirs.filter(({ type, name }) => type !== 1 && name === 'a').map(({ at }) => at)
    expect(await history.lastDoneAt({ appId: 1, contactId, name: 'a', since: AT, exceptId: null })).toBe(
      done.at(-1) ?? null,
    )
    const reported = (await listReports(1, contactId, AT)).map(({ receivedAt }) => receivedAt)
    expect(reported).toEqual(sent.flatMap(({ person: who, at }) => (who === person ? [at] : [])))
  }
}

const MORE_SEEDS: [number, number, number][] = [
  [2, 40, 0],
  [3, 40, 0],
  [5, 256, 0],
  [6, 256, 0],
  [8, 40, 6_000],
]

/** Steps of a service and of a command beside it, in any order; reads are asked after each, on a connection of their own. */
test.each([[1, 40, 0], [4, 256, 0], [7, 40, 6_000], [9, 256, 9_000], ...(isLong ? MORE_SEEDS : [])])(
  'reads are the same after any writes, rollbacks, erasures and indexing (%d)',
  async (seed, batchRows, before) => {
    const random = createRandom(seed)
    let [one, two] = [openEngine(true), openEngine(false)]
    const reader = folder.open()
    let known: Known[] = []
    let sent: Sent[] = []
    const ids = new Map<number, number>()
    let at = AT
    const write = (): [Job, Known] => {
      at += 1
      const [person, type, name] = [random.below(PEOPLE), random.below(3), random.pick(['a', 'b'])]
      const path = type === 1 ? '/' : null
      const changes = { email: emailOf(person), type: EVENT_TYPES[type] ?? 'event', name, path, at }
      return [
        { name: 'recordEvent', input: eventWrite(changes) },
        { person, type, name, at },
      ]
    }
    const report = (): [Job, Sent] => {
      at += 1
      const [person, reportId] = [random.below(PEOPLE), `load.${random.below(40)}`]
      const items = [{ type: 'leave', name: null, path: '/', occurredAt: at } as const]
      const input = visitReportWrite({ email: emailOf(person), reportId, at, items, createContact: true })
      return [
        { name: 'recordVisitReport', input },
        { person, reportId, at },
      ]
    }
    const steps = {
      record: async (rows = 1 + random.below(batchRows)) => {
        const batch = Array.from({ length: rows }, write)
        const { engine } = rows > batchRows || random.isOften(0.8) ? one : two
        const outcomes = await engine.run(batch.map(([job]) => job))
        for (const [index, outcome] of outcomes.entries()) {
          const row = batch[index]?.[1]
          if (!row || !('contactId' in outcome)) throw new Error('an event was refused')
          known.push(row)
          ids.set(row.person, outcome.contactId)
        }
      },
      /** Of forty ids, so that many come again; one that comes twice in a commit is a repetition too. */
      report: async () => {
        const batch = Array.from({ length: 1 + random.below(batchRows / 4) }, report)
        const { engine } = random.isOften(0.8) ? one : two
        const outcomes = await engine.run(batch.map(([job]) => job))
        for (const [index, outcome] of outcomes.entries()) {
          const row = batch[index]?.[1]
          if (!row || !('repeated' in outcome)) throw new Error('a batch was refused')
          const isKnown = sent.some(({ person, reportId }) => person === row.person && reportId === row.reportId)
          expect(outcome.repeated).toBe(isKnown)
          if (!isKnown) sent.push(row)
          ids.set(row.person, outcome.contactId)
        }
      },
      undo: async () => {
        one.failNext()
        expect(await one.engine.run([write()[0], report()[0]])).toMatchObject([
          { refusal: 'unavailable' },
          { refusal: 'unavailable' },
        ])
      },
      restart: () => {
        if (random.isOften(0.5)) one = openEngine(true)
        else two = openEngine(false)
      },
      erase: async () => {
        const person = random.below(PEOPLE)
        const { engine, db } = random.isOften(0.7) ? one : two
        await engine.run([{ name: 'eraseContact', input: { ...BY, appId: 1, email: emailOf(person) } }])
        const contactId = ids.get(person)
        if (contactId !== undefined) expect(listIndexed(db).filter(([contact]) => contact === contactId)).toEqual([])
        known = known.filter((row) => row.person !== person)
        sent = sent.filter((row) => row.person !== person)
        ids.delete(person)
      },
      rest: async () => {
        for (let look = random.below(4); look >= 0; look -= 1) await lookAround(one.engine)
      },
    }
    const records = Array.from({ length: Math.min(20, batchRows / 10) }, () => 'record' as const)
    const reports = records.map(() => 'report' as const)
    const order = ['rest', ...records, ...reports, 'undo', 'erase', 'restart'] as const
    const waitingRuns = reader.query('SELECT 1 FROM timeline_runs WHERE is_whole')
    let withRuns = 0
    const log = console.error
    console.error = () => {}
    try {
      if (before > 0) await steps.record(before)
      for (let step = 0; step < 60; step += 1) {
        await steps[random.pick(order)]()
        // where much is written, to read all of it after each step takes too long
        if (before === 0 || step % 9 === 0) await expectSame(reader, known, sent, ids)
        if (waitingRuns.get() !== null) withRuns += 1
      }
    } finally {
      console.error = log
    }
    for (let look = 0; look < 200; look += 1) await lookAround(one.engine)
    expect(listIndexed(reader)).toEqual(wanted(reader))
    expect(withRuns > 0).toBe(before > 0)
  },
)

test('the last event is the one that arrived last, indexed or not', async () => {
  const { db, engine } = openEngine(true)
  const record = (email: string, hoursAgo: number): Job => ({
    name: 'recordEvent',
    input: eventWrite({ email, occurredAt: AT - hoursAgo * HOUR }),
  })
  await engine.run(Array.from({ length: 20 }, (_, index) => record('ada@example.com', 20 - index)))
  for (let look = 0; look < 3; look += 1) await lookAround(engine)
  expect(listIndexed(db)).toHaveLength(20)
  const others = Array.from({ length: 600 }, (_, index) => record(emailOf(index), 1))
  await engine.run([...others, ...Array.from({ length: 10 }, () => record('ada@example.com', 30))])
  expect(listIndexed(db)).toHaveLength(20)
  const { findContact } = createContactReads(createSqliteSql(db))
  expect(await findContact(1, 'ada@example.com')).toMatchObject({ lastEventAt: AT - HOUR })
  for (let look = 0; look < 3; look += 1) await lookAround(engine)
  expect(await findContact(1, 'ada@example.com')).toMatchObject({ lastEventAt: AT - HOUR })
})

test('the last event may be in a pending run', async () => {
  const { db, engine } = openEngine(true)
  const record = (email: string, hoursAgo: number): Job => ({
    name: 'recordEvent',
    input: eventWrite({ email, occurredAt: AT - hoursAgo * HOUR }),
  })
  const others = (count: number): Job[] => Array.from({ length: count }, (_, index) => record(emailOf(index % 50), 1))
  await engine.run([
    ...Array.from({ length: 20 }, (_, index) => record('ada@example.com', 20 - index)),
    ...others(4_100),
  ])
  for (let commit = 0; commit < 2; commit += 1) await engine.run(others(4_096))
  expect(db.query('SELECT count(*) FROM timeline_runs WHERE is_whole').values()).not.toEqual([[0]])
  await engine.run([...Array.from({ length: 10 }, () => record('ada@example.com', 30)), ...others(600)])
  expect(await createContactReads(createSqliteSql(db)).findContact(1, 'ada@example.com')).toMatchObject({
    lastEventAt: AT - HOUR,
  })
})
