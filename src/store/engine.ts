import type { Database } from 'bun:sqlite'
import { createAccountWrites } from './account-writes.ts'
import { createContactWrites } from './contact-writes.ts'
import { createErasure } from './erasure.ts'
import { isBrokenDisk, isPassingFault } from './errors.ts'
import { createEventNames } from './event-names.ts'
import { createEventWrites } from './event-writes.ts'
import { createIdSequence } from './ids.ts'
import { createOnce } from './idempotency.ts'
import { createPeople } from './people.ts'
import { createTallies } from './tallies.ts'
import type { ContactWrite, EventWrite, Refused } from './types.ts'
import { createUpkeep } from './upkeep.ts'

/** Every write the store knows, by name; each is one step of a transaction that the engine holds. */
export type Writes = ReturnType<typeof createWrites>['writes']
export type WriteName = keyof Writes
/** A write on its way to the engine. */
export type Job<N extends WriteName = WriteName> = { name: N; input: Parameters<Writes[N]>[0] }
export type Outcome<N extends WriteName = WriteName> = ReturnType<Writes[N]> | Refused

function createWrites(db: Database, now: () => number) {
  const last = db.query<{ id: number }, []>(
    'SELECT max(ifnull((SELECT max(id) FROM events), 0), ifnull((SELECT max(id) FROM contacts), 0)) AS id',
  )
  const ids = createIdSequence(now, last.get()?.id ?? 0)
  const [people, names, tallies, once] = [
    createPeople(db, ids),
    createEventNames(db),
    createTallies(db),
    createOnce(db),
  ]
  const events = createEventWrites({ db, ids, people, names, tallies })
  const contacts = createContactWrites({ db, people, tallies })
  const writes = {
    ...createAccountWrites(db),
    ...createErasure({ db, people, tallies }),
    ...createUpkeep(db),
    recordEvent: (write: EventWrite) => once(write, () => events.recordEvent(write)),
    addContact: (write: ContactWrite) => once(write, () => contacts.addContact(write)),
    updateContact: (write: ContactWrite) => once(write, () => contacts.updateContact(write)),
  }
  const forget = (): void => {
    people.forget()
    names.forget()
  }
  return { writes, tallies, forget }
}

export type Engine = ReturnType<typeof createEngine>

/**
 * Runs jobs against one writing connection: many in one transaction, one outcome each, in order. Synchronous, because
 * bun:sqlite is, and because an async callback in a transaction does not roll back (promises 4).
 */
export function createEngine(db: Database, now: () => number) {
  const { writes, tallies, forget } = createWrites(db, now)
  const [begin, commit, rollback] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((text) => db.prepare(text))
  const dataVersion = db.prepare<{ data_version: number }, []>('PRAGMA data_version')
  let seenVersion = dataVersion.get()?.data_version

  /** True once after another process committed: what is cached may be stale. */
  const hasForeignWrite = (): boolean => {
    const version = dataVersion.get()?.data_version
    if (version === seenVersion) return false
    seenVersion = version
    forget()
    return true
  }

  const runOne = <N extends WriteName>({ name, input }: Job<N>): Outcome<N> => {
    const write = writes[name] as (input: Job<N>['input']) => Outcome<N>
    return write(input)
  }

  const commitTogether = (jobs: Job[]): Outcome[] => {
    begin?.run()
    hasForeignWrite()
    const outcomes = jobs.map((job) => runOne(job))
    tallies.write(now())
    commit?.run()
    tallies.settle()
    return outcomes
  }

  const undo = (): void => {
    if (db.inTransaction) rollback?.run()
    tallies.forget()
    forget()
  }

  /**
   * Commits all jobs together; where one breaks the transaction, each is tried alone, so that no row fails another.
   * @throws what the disk said when it can no longer be trusted (a failed fsync, a damaged file)
   */
  const run = (jobs: Job[]): Outcome[] => {
    try {
      return commitTogether(jobs)
    } catch (error) {
      undo()
      if (isBrokenDisk(error)) throw error
      if (isPassingFault(error)) return jobs.map(() => ({ refusal: 'unavailable' }))
      if (jobs.length > 1) return jobs.flatMap((job) => run([job]))
      onBrokenJob(jobs[0]?.name, error)
      return [{ refusal: 'internal_error' }]
    }
  }
  return { run, hasForeignWrite, hasWorkDue: () => tallies.isLastEventDue(now()) }
}

/** A bug in a write: logged with its cause, answered as internal_error, and no neighbour's concern. */
function onBrokenJob(name: string | undefined, error: unknown): void {
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'
  console.error(JSON.stringify({ level: 'error', message: 'a write failed', write: name, reason }))
}
