import type { Database } from 'bun:sqlite'
import { createAccountReads } from './account-reads.ts'
import { createContactReads } from './contact-reads.ts'
import { databasePath, openDatabase, openForReading, schemaVersion } from './database.ts'
import { createEngine, type Job, type Outcome, type WriteName, type Writes } from './engine.ts'
import { createEventReads } from './event-reads.ts'
import { truncateLog } from './checkpoints.ts'
import { startThreads } from './threads.ts'
import { createWriter, type Channel } from './writer.ts'

type Async<T extends Record<string, (...args: never[]) => unknown>> = {
  [K in keyof T]: (...args: Parameters<T[K]>) => Promise<Awaited<ReturnType<T[K]>>>
}

type Reads = ReturnType<typeof createReads>

/**
 * Use cases, each one atomic; no transaction leaves the store. A write resolves after its COMMIT (promises 1) with its
 * outcome or a refusal, and never rejects.
 */
export type Store = { [N in WriteName]: (input: Job<N>['input']) => Promise<Outcome<N>> } & Async<Reads> & {
    /** Resolves when what was accepted is on disk and the log is copied. */
    close(): Promise<void>
    /** Calls back after another process changed something: drop what is cached. */
    onForeignWrite(listener: () => void): void
    /** Calls back when commits can no longer be trusted; the process must stop (promises 5). */
    onBroken(listener: (reason: string) => void): void
    onCommit(listener: (commit: { rows: number; ms: number }) => void): void
    /** Whether a commit reaches the disk now. */
    canCommit(): Promise<boolean>
    /** Sizes in bytes and the number of writes that wait. */
    stats(): { waiting: number; databaseBytes: number; logBytes: number }
    schemaVersion: number
  }

const createReads = (db: Database) => ({
  ...createAccountReads(db),
  ...createContactReads(db),
  ...createEventReads(db),
})

/**
 * Opens the store of a data folder; a missing one is made.
 * @param threads true where requests must not wait for the disk
 * @throws StoreError with the reason and the remedy
 */
export async function openStore(folder: string, { threads }: { threads: boolean }): Promise<Store> {
  const channel = threads ? await startThreads(folder) : openInline(folder)
  const db = openForReading(folder)
  const listeners: ((commit: { rows: number; ms: number }) => void)[] = []
  const writer = createWriter({
    commit: channel.commit,
    monotonicMs: () => performance.now(),
    onCommit: (commit) => listeners.forEach((listener) => listener(commit)),
  })
  const overdue = setInterval(writer.answerOverdue, 250)
  overdue.unref()
  const path = databasePath(folder)

  const own = {
    close: async () => {
      clearInterval(overdue)
      await writer.idle()
      db.close()
      await channel.close()
    },
    onForeignWrite: channel.onForeignWrite,
    onBroken: channel.onBroken,
    onCommit: (listener: (commit: { rows: number; ms: number }) => void) => void listeners.push(listener),
    canCommit: async () => 'done' in (await writer.submit('touch', {})),
    stats: () => ({
      waiting: writer.waiting(),
      databaseBytes: Bun.file(path).size,
      logBytes: Bun.file(`${path}-wal`).size,
    }),
    schemaVersion: schemaVersion(db),
  }
  return { ...writesOf(writer.submit), ...readsOf(createReads(db)), ...own }
}

/** A record and not a list, so that the compiler misses a name that is left out. */
const WRITE_NAMES: Record<WriteName, true> = {
  recordEvent: true,
  addContact: true,
  updateContact: true,
  eraseContact: true,
  createAccount: true,
  createApp: true,
  createKey: true,
  revokeKey: true,
  noteKeyUse: true,
  rotateSecret: true,
  setPlan: true,
  makeSetupLink: true,
  setPasswordByLink: true,
  keepInstallValue: true,
  cleanUp: true,
  touch: true,
}

type Submit = <N extends WriteName>(name: N, input: Job<N>['input']) => Promise<Outcome<N>>
type AsyncWrites = { [N in keyof Writes]: (input: Job<N>['input']) => Promise<Outcome<N>> }

const writesOf = (submit: Submit): AsyncWrites =>
  Object.fromEntries(
    Object.keys(WRITE_NAMES).map((name) => [name, (input: Job['input']) => submit(name as WriteName, input)]),
  ) as unknown as AsyncWrites

const readsOf = (reads: Reads): Async<Reads> =>
  Object.fromEntries(
    Object.entries(reads).map(([name, read]) => [
      name,
      async (...args: never[]) => (read as (...args: never[]) => unknown)(...args),
    ]),
  ) as Async<Reads>

function openInline(folder: string): Channel {
  const db = openDatabase(folder)
  const engine = createEngine(db, Date.now)
  return {
    commit: async (jobs) => {
      const outcomes = engine.run(jobs)
      if (jobs.some((job) => job.name === 'eraseContact')) truncateLog(db)
      return outcomes
    },
    close: async () => db.close(),
    onForeignWrite: () => {},
    onBroken: () => {},
  }
}
