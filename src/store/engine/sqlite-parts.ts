import type { Database } from 'bun:sqlite'
import { createIdSequence } from '../../core/ids.ts'
import { createSentCache } from '../caches/sent-cache.ts'
import { createCounters } from '../counters.ts'
import { createEventNames } from '../events.ts'
import type { LiveMessages } from '../live-messages.ts'
import { createPeople } from '../people.ts'
import { END_PAUSED } from '../schedules.ts'
import { createContactIndex } from '../search/contact-index.ts'
import { createKnownReports } from '../timeline/known-reports.ts'
import { createTimeline } from '../timeline/timeline.ts'
import { INDEXED_UNTIL } from '../timeline/timeline-reads.ts'
import type { EngineParts } from '../writes.ts'
import { createNewPeopleReads } from '../planned-writes.ts'
import { createSqliteSql } from './sqlite-sql.ts'
import { createRepeatCheck, createSqliteUsage, createSqliteRows } from './sqlite-rows.ts'

/** Includes the timeline's position, because ids must not be reused after their rows were erased. */
const LAST_ID = `SELECT max(${INDEXED_UNTIL}, ifnull((SELECT max(id) FROM events), 0), ifnull((SELECT max(id) FROM contacts), 0),
  ifnull((SELECT max(id) FROM snippet_batches), 0), ifnull((SELECT max(id) FROM deliveries), 0),
  ifnull((SELECT max(id) FROM messages), 0), ifnull((SELECT max(id) FROM topics), 0)) AS id`

type Caches = { live: Pick<LiveMessages, 'settle' | 'forget'>; sentCache: ReturnType<typeof createSentCache> }

/** `isAlone`: no other process writes for longer than a command. */
export function createSqliteParts(db: Database, { now, isAlone }: { now: () => number; isAlone: boolean }) {
  const last = db.query<{ id: number }, []>(LAST_ID)
  const ids = createIdSequence(now, last.get()?.id ?? 0)
  const [people, names, counters] = [createPeople(db), createEventNames(db), createCounters(db)]
  const timeline = createTimeline(db, () => performance.now(), isAlone)
  const known = createKnownReports(db)
  const contactIndex = createContactIndex(db, () => performance.now(), !isAlone)
  const sql = createSqliteSql(db)
  db.run(END_PAUSED)
  const engine: EngineParts = {
    ids,
    people,
    usage: createSqliteUsage(db, counters),
    newPeople: createNewPeopleReads(sql),
    timeline,
    rows: createSqliteRows({ db, names, counters, timeline, known, contactIndex }),
    isRepeated: createRepeatCheck(db, known),
    mergeCounts: () => {},
  }

  return {
    engine,
    settle({ live, sentCache }: Caches): void {
      for (const one of [counters, timeline, known, people, names, live, sentCache]) one.settle()
    },
    undo({ live, sentCache }: Caches): void {
      counters.forget()
      for (const one of [timeline, known, people, names, sentCache]) one.undo()
      contactIndex.note()
      // messages are changed in place, so all of them are reloaded
      live.forget()
    },
    /** After another process wrote: drops caches and continues after its ids. */
    catchUp({ live, sentCache }: Caches): void {
      for (const one of [people, names, live, sentCache]) one.forget()
      timeline.catchUp()
      known.catchUp()
      contactIndex.note()
      ids.passOver(last.get()?.id ?? 0)
    },
    /** `isIdle`: the transaction has no jobs and only maintains the index. */
    finish(isIdle: boolean): void {
      counters.write()
      timeline.advance(isIdle)
      contactIndex.advance(isIdle)
    },
    hasWaiting: (): boolean => timeline.hasWaiting() || contactIndex.hasWaiting(),
    readEarlier: known.readEarlier,
  }
}
