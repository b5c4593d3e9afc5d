import type { Database } from 'bun:sqlite'
import { createAccountWrites } from './account-writes.ts'
import { createBatchWrites } from './batch-writes.ts'
import { createCallWrites } from './call-writes.ts'
import { createContactWrites } from './contact-writes.ts'
import { createDeliveryEnds } from './delivery-ends.ts'
import { createDeliveryWrites } from './delivery-writes.ts'
import { createErasure } from './erasure.ts'
import { isBrokenDisk, isPassingFault } from './errors.ts'
import { createEventNames } from './event-names.ts'
import { createEventWrites } from './event-writes.ts'
import { createForeignWatch } from './foreign-watch.ts'
import { createIdSequence } from './ids.ts'
import { createOnce } from './idempotency.ts'
import { createKnownBatches } from './known-batches.ts'
import { createLiveMessages } from './live-messages.ts'
import { createMessageWrites } from './message-writes.ts'
import { createPeople } from './people.ts'
import { createMemberWrites } from './member-writes.ts'
import { createMembershipWrites } from './membership-writes.ts'
import type { Sealer } from './sealing.ts'
import { createSessionWrites } from './session-writes.ts'
import { createStops } from './stops.ts'
import { createSuppressionWrites } from './suppression-writes.ts'
import { createTallies } from './tallies.ts'
import { createSnippetWrites } from './snippet-writes.ts'
import { createTimeline } from './timeline.ts'
import { HELD_UNTIL } from './timeline-reads.ts'
import { createTriggers } from './triggers.ts'
import { createTwoStepWrites } from './two-step-writes.ts'
import type { ContactWrite, EventWrite, Refused } from './types.ts'
import { createUpkeep } from './upkeep.ts'
import { createUsedUp } from './used-up.ts'

/** Every write the store knows, by name; each is one step of a transaction that the engine holds. */
export type Writes = ReturnType<typeof createWrites>['writes']
export type WriteName = keyof Writes
/** A write on its way to the engine. */
export type Job<N extends WriteName = WriteName> = { name: N; input: Parameters<Writes[N]>[0] }
export type Outcome<N extends WriteName = WriteName> = ReturnType<Writes[N]> | Refused

/** Of what was erased, the timeline still knows how far it has come: no event may get an id below. */
const LAST_ID = `SELECT max(${HELD_UNTIL}, ifnull((SELECT max(id) FROM events), 0), ifnull((SELECT max(id) FROM contacts), 0),
  ifnull((SELECT max(id) FROM snippet_batches), 0), ifnull((SELECT max(id) FROM deliveries), 0),
  ifnull((SELECT max(id) FROM messages), 0)) AS id`

function createWrites(db: Database, now: () => number, sealer: Sealer, isAlone: boolean) {
  const last = db.query<{ id: number }, []>(LAST_ID)
  const ids = createIdSequence(now, last.get()?.id ?? 0)
  const [live, usedUp] = [createLiveMessages(db), createUsedUp()]
  const ends = createDeliveryEnds({ db, live, usedUp })
  const [triggers, stops] = [createTriggers({ db, ids, live, usedUp }), createStops({ db, live, ends })]
  const [people, names, tallies, once] = [
    createPeople({ db, ids, triggers }),
    createEventNames(db),
    createTallies(db),
    createOnce(db),
  ]
  const timeline = createTimeline(db, () => performance.now(), isAlone)
  const known = createKnownBatches(db)
  const events = createEventWrites({ db, ids, people, names, tallies, timeline, triggers, stops })
  const contacts = createContactWrites({ db, people, tallies, triggers, stops })
  const messages = createMessageWrites({ db, ids, live, sealer })
  const writes = {
    ...createAccountWrites({ db, messages, sealer }),
    ...createMemberWrites(db),
    ...createMembershipWrites(db),
    ...createSessionWrites(db),
    ...createTwoStepWrites({ db, sealer }),
    ...createErasure({ db, people, timeline }),
    ...createBatchWrites({ db, ids, people, known, timeline, addEvent: events.addEvent }),
    addNotes: createSnippetWrites(db).addNotes,
    ...createCallWrites(db),
    ...createUpkeep(db, timeline),
    ...messages,
    ...createDeliveryWrites({ db, live, ends, sealer }),
    ...createSuppressionWrites({ db, live, ends }),
    recordEvent: (write: EventWrite) => once(write, () => events.recordEvent(write)),
    addContact: (write: ContactWrite) => once(write, () => contacts.addContact(write)),
    updateContact: (write: ContactWrite) => once(write, () => contacts.updateContact(write)),
  }
  const forget = (): void => {
    people.forget()
    names.forget()
    live.forget()
    usedUp.forget()
  }
  /** After another process wrote: its ids count as if they were ours. */
  const catchUp = (): void => {
    forget()
    timeline.catchUp()
    known.catchUp()
    ids.passOver(last.get()?.id ?? 0)
  }
  return { writes, tallies, timeline, known, forget, catchUp }
}

export type Engine = ReturnType<typeof createEngine>

/**
 * Runs jobs against one writing connection: many in one transaction, one outcome each, in order. Synchronous, because
 * bun:sqlite is, and because an async callback in a transaction does not roll back (promises 4). `isAlone`: no other
 * process has one for longer than a command.
 */
export function createEngine(db: Database, now: () => number, sealer: Sealer, isAlone = true) {
  // first of all: what another process writes from here on is noticed
  const foreign = createForeignWatch(db, () => catchUp())
  const { writes, tallies, timeline, known, forget, catchUp } = createWrites(db, now, sealer, isAlone)
  const [begin, commit, rollback] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((text) => db.prepare(text))
  let broken: { cause: unknown } | null = null
  let isBusy = false

  const runOne = <N extends WriteName>({ name, input }: Job<N>): Outcome<N> => {
    const write = writes[name] as (input: Job<N>['input']) => Outcome<N>
    return write(input)
  }

  const commitTogether = (jobs: Job[]): Outcome[] => {
    begin?.run()
    foreign.look()
    const outcomes = jobs.map((job) => runOne(job))
    tallies.write()
    // a transaction without jobs is there for the index alone
    timeline.advance(jobs.length === 0)
    commit?.run()
    tallies.settle()
    timeline.settle()
    known.settle()
    isBusy = true
    return outcomes
  }

  const undo = (): void => {
    if (db.inTransaction) rollback?.run()
    tallies.forget()
    timeline.undo()
    known.undo()
    forget()
  }

  /** What the disk holds is no longer known: nothing is acknowledged any more (promises 5). */
  const stop = (cause: unknown): never => {
    broken = { cause }
    throw cause
  }

  /**
   * Commits all jobs together; where one breaks the transaction, each half is tried by itself, so that no row fails
   * another and 256 rows with a bad one take 16 commits.
   * @throws what the disk said when it can no longer be trusted (a failed fsync, a damaged file), now and ever after
   */
  const run = (jobs: Job[]): Outcome[] => {
    if (broken) throw broken.cause
    try {
      return commitTogether(jobs)
    } catch (error) {
      try {
        undo()
      } catch (cause) {
        return stop(cause)
      }
      if (isBrokenDisk(error)) return stop(error)
      if (isPassingFault(error)) return jobs.map(() => ({ refusal: 'unavailable', reason: reasonOf(error) }))
      const half = jobs.length >> 1
      if (half > 0) return [...run(jobs.slice(0, half)), ...run(jobs.slice(half))]
      reportBrokenJob(jobs[0]?.name, error)
      return jobs.map(() => ({ refusal: 'internal_error' }))
    }
  }

  /**
   * Called now and then: where nothing was written since the last time, puts some of people's events in order.
   * @returns whether there is more to do, and time for it
   */
  const tidy = (): boolean => {
    const isTime = !isBusy && timeline.hasWaiting()
    isBusy = false
    if (isTime) run([])
    const isDone = isBusy
    isBusy = false
    return isDone && timeline.hasWaiting()
  }
  /** Called now and then: reads some of what came before the start. */
  const { readEarlier } = known
  return { run, tidy, readEarlier, hasForeignWrite: foreign.take }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown')

/** A bug in a write: logged with its cause, answered as internal_error, and no neighbour's concern. */
function reportBrokenJob(name: string | undefined, error: unknown): void {
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'
  console.error(JSON.stringify({ level: 'error', message: 'a write failed', write: name, reason }))
}
