import { messageOf } from '../core/error-text.ts'
import { createAccountReads } from './accounts.ts'
import { createActivationReads } from './activation.ts'
import { createAlertReads } from './alerts.ts'
import { createAppReads } from './apps.ts'
import { createAuditReads } from './audit.ts'
import { createBackupReads } from './backups.ts'
import { createConsentReads } from './consents.ts'
import { createChangeReads } from './contact-changes.ts'
import { createContactSearch } from './search/contact-search.ts'
import { createContactReads } from './contacts.ts'
import { createPostgresContactSearch } from './postgres/contact-search.ts'
import type { ServerRisk } from './postgres/server-facts.ts'
import { createCounterReads } from './counters.ts'
import { type ClaimedDeliveries, unpackClaim } from './delivery-writes.ts'
import { createDeliveryCounts } from './delivery-counts.ts'
import { createResultReads } from './message-results.ts'
import { createDeliveryReads } from './deliveries.ts'
import { createReportedReads } from './delivery-reports.ts'
import { databasePath, logPath, openForReading } from './engine/database.ts'
import { createSealer, type Sealer } from './engine/sealing.ts'
import { type OnUpgrade, removeOldCopies, schemaVersion } from './engine/upgrades.ts'
import { type Channel, createWriter, startThreads } from './engine/writer.ts'
import { createEventReads, createHistoryReads } from './events.ts'
import type { ReadEvent } from './event-texts.ts'
import { createDeciding } from './final-check.ts'
import { createOutcomeReads } from './idempotency.ts'
import { createInstallReads } from './install.ts'
import { createLoneInstance, type Instances } from './instances.ts'
import { createKeyReads } from './keys.ts'
import { createLinkReads } from './links.ts'
import { createMailRateReads } from './mail-rates.ts'
import { createMailSettingsReads } from './mail-settings.ts'
import { createMailLanguageReads, createMailSources } from './mail-sources.ts'
import { createCallReads } from './mcp-calls.ts'
import { createMemberReads } from './members.ts'
import { createMessageReads } from './messages.ts'
import type { Rules } from './plan-types.ts'
import { createDryRuns } from './planned-writes.ts'
import { createRequestReads } from './requests.ts'
import { createRetentionReads } from './retention.ts'
import { createScheduleReads } from './schedules.ts'
import { createSenderDomainReads } from './sender-domains.ts'
import { createDomainCheckReads } from './domain-checks.ts'
import { createSessionReads } from './sessions.ts'
import { createSuppressionReads } from './suppressions.ts'
import { createTopicReads } from './topics.ts'
import { createTwoStepReads } from './two-step.ts'
import { createReportReads } from './visit-reports.ts'
import { createMonitoringReads } from './monitoring.ts'
import { createOwnerReads } from './weekly-summaries.ts'
import type { LimitUse, Refused } from './types.ts'
import type { Job, Outcome, WriteName, Writes } from './writes.ts'
import { createEngine } from './engine/engine.ts'
import type { Sql } from './engine/sql.ts'
import { createSqliteSql } from './engine/sqlite-sql.ts'
import { isDamage, StoreError } from './engine/errors.ts'
import { isFolderServed } from './engine/folder-lock.ts'
import { openForWriting } from './engine/sealed-columns.ts'

type Async<T extends Record<string, (...args: never[]) => unknown>> = {
  [K in keyof T]: (...args: Parameters<T[K]>) => Promise<Awaited<ReturnType<T[K]>>>
}

type Reads = ReturnType<typeof createReads>
type DeliveryReads = ReturnType<typeof createDeliveryReads>
export type Dependencies = { sealer: Sealer; rules: Rules }

/**
 * Each operation is atomic; no transaction leaves the store. Writes resolve after COMMIT with the outcome or a
 * refusal, and never reject.
 */
export type Store = {
  [N in Exclude<WriteName, 'claimDeliveries'>]: (input: Job<N>['input']) => Promise<Outcome<N>>
} & Async<Reads> &
  Instances & {
    claimDeliveries(input: Job<'claimDeliveries'>['input']): Promise<ClaimedDeliveries | Refused>

    /** Resolves when all accepted writes are on disk and the WAL is checkpointed. */
    close(): Promise<void>
    /** Another process changed anything, or another instance what is cached. */
    onForeignWrite(listener: () => void): void
    /** Before the outcomes of a commit, what is used of its limits; null if this process counts alone. */
    onLimitUse: ((listener: (uses: LimitUse[]) => void) => void) | null
    /** Commits can't be trusted any more: the process must stop. */
    onBroken(listener: (reason: string) => void): void
    onFault(listener: FaultListener): void
    onCommit(listener: (commit: { rows: number; ms: number }) => void): void
    canCommit(): Promise<boolean>
    stats(): { waiting: number; databaseBytes: number; logBytes: number }
    /** Resolves with the removed files. */
    removeOldCopies(now: number): Promise<string[]>
    /** Makes and drops parts of large tables, where the engine has them. */
    arrangePartitions(now: number): Promise<void>
    schemaVersion: number
    /** Settings of a database server by which a crash loses data. */
    listRisks(): Promise<ServerRisk[]>
  }

export const createReads = (db: Sql, { sealer, rules }: Dependencies, deliveries: DeliveryReads) => ({
  ...createAccountReads(db, sealer),
  ...createReportedReads(db),
  ...createAlertReads(db),
  ...createMonitoringReads(db),
  ...createOwnerReads(db),
  ...createAppReads(db),
  ...createKeyReads(db, sealer),
  ...createLinkReads(db, rules),
  ...createMemberReads(db, rules),
  ...createSessionReads(db),
  ...createTwoStepReads(db, sealer),
  ...createAuditReads(db),
  ...createBackupReads(db),
  ...createInstallReads(db),
  ...createActivationReads(db),
  ...createContactReads(db),
  ...(db.dialect.engine === 'sqlite' ? createContactSearch(db) : createPostgresContactSearch(db)),
  ...createChangeReads(db),
  ...createConsentReads(db),
  ...createEventReads(db),
  ...createHistoryReads(db),
  ...createReportReads(db),
  ...createCounterReads(db),
  ...createCallReads(db),
  ...createRequestReads(db),
  ...createRetentionReads(db, rules),
  ...createOutcomeReads(db, rules),
  ...createMessageReads(db),
  ...createMailLanguageReads(db),
  ...createMailSettingsReads(db, sealer),
  ...createScheduleReads(db, rules),
  ...createSenderDomainReads(db),
  ...createDomainCheckReads(db),
  ...createMailRateReads(db),
  ...createDeliveryCounts(db),
  ...createResultReads(db),
  ...deliveries,
  ...createSuppressionReads(db),
  ...createTopicReads(db),
  ...createDryRuns(db, rules),
  decideDelivery: createDeciding(db, deliveries, rules).decideDelivery,
})

/**
 * Without threads, `now` makes ids (ms UTC) and `readEvent` parses event texts. `masterKey` seals stored secrets.
 */
export type OpenOptions = {
  threads: boolean
  now?: () => number
  readEvent?: ReadEvent
  rules: Rules
  masterKey?: string | null
  /** another program copies and restarts the write-ahead log */
  hasExternalCheckpoints?: boolean
  onUpgrade?: OnUpgrade
}

/**
 * With `threads`, commits run on another thread, so requests don't wait for the disk.
 * @throws StoreError with the reason and the remedy
 */
export async function openStore(folder: string, options: OpenOptions): Promise<Store> {
  const { threads, now = Date.now, masterKey = null, readEvent, rules, onUpgrade } = options
  const { hasExternalCheckpoints = false } = options
  const sealer = createSealer(masterKey)
  const channel = threads
    ? await startThreads(folder, { masterKey, hasExternalCheckpoints, onUpgrade })
    : await openInline(folder, { now, sealer, readEvent, rules, onUpgrade })
  try {
    return createStore(folder, channel, { sealer, rules })
  } catch (error) {
    await channel.close()
    throw error
  }
}

function createStore(folder: string, channel: Channel, dependencies: Dependencies): Store {
  const db = openForReading(folder)
  return assembleStore(channel, {
    ...dependencies,
    sql: createSqliteSql(db),
    close: () => db.close(),
    sizes: () => ({ databaseBytes: Bun.file(databasePath(folder)).size, logBytes: Bun.file(logPath(folder)).size }),
    removeOldCopies: (now) => removeOldCopies(folder, now),
    arrangePartitions: async () => {},
    schemaVersion: schemaVersion(db),
    listRisks: async () => [],
    instances: createLoneInstance(),
  })
}

/** What an engine is read with. */
export type Reading = Dependencies &
  Pick<Store, 'removeOldCopies' | 'arrangePartitions' | 'schemaVersion' | 'listRisks'> & {
    sql: Sql
    close: () => void
    sizes: () => { databaseBytes: number; logBytes: number }
    instances: Instances
  }

export function assembleStore(channel: Channel, { sql, ...reading }: Reading): Store {
  const reads = createReads(sql, reading, createDeliveryReads(sql, createMailSources(sql, reading.sealer)))
  const listeners: ((commit: { rows: number; ms: number }) => void)[] = []
  const damageListeners: ((reason: string) => void)[] = []
  const faults = createFaultWatch()
  const monotonicMs = (): number => performance.now()
  const writer = createWriter({
    commit: faults.watch(channel.commit),
    monotonicMs,
    onCommit: (commit) => listeners.forEach((listener) => listener(commit)),
    gatherMs: channel.gatherMs,
  })
  const { apart } = channel
  const apartWriter = apart ? createWriter({ commit: apart.commit, monotonicMs, onCommit: () => {} }) : null
  const writers = apartWriter ? [writer, apartWriter] : [writer]
  const submit: Submit = (name, input) =>
    (apartWriter && apart?.names.has(name) ? apartWriter : writer).submit(name, input)
  const overdue = setInterval(() => writers.forEach((one) => one.answerOverdue()), 250)
  overdue.unref()

  const closeAll = async (): Promise<void> => {
    await Promise.all(writers.map((one) => one.stop()))
    clearInterval(overdue)
    reading.close()
    await channel.close()
  }
  let closing: Promise<void> | null = null

  return {
    ...pickInstances(reading.instances),
    ...writesOf(channel.writeNames, submit),
    claimDeliveries: async (input) => {
      const claimed = await writer.submit('claimDeliveries', input)
      return 'refusal' in claimed ? claimed : unpackClaim(claimed)
    },
    ...readsOf(reads, (reason) => damageListeners.forEach((listener) => listener(reason))),
    close: () => (closing ??= closeAll()),
    onForeignWrite: channel.onForeignWrite,
    onLimitUse: channel.onLimitUse ?? null,
    onBroken: (listener) => {
      damageListeners.push(listener)
      channel.onBroken(listener)
    },
    onCommit: (listener) => void listeners.push(listener),
    onFault: faults.onFault,
    canCommit: async () => {
      const outcome = await (channel.touch?.() ?? writer.submit('touch', {}))
      faults.note(outcome)
      return 'done' in outcome
    },
    stats: () => ({ waiting: writer.waiting(), ...reading.sizes() }),
    removeOldCopies: reading.removeOldCopies,
    arrangePartitions: reading.arrangePartitions,
    schemaVersion: reading.schemaVersion,
    listRisks: reading.listRisks,
  }
}

const pickInstances = ({
  instanceId,
  isShared,
  isCurrent,
  holdDuty,
  clockAheadMs,
  isClockOff,
  listRunning,
}: Instances): Instances => ({
  instanceId,
  isShared,
  isCurrent,
  holdDuty,
  clockAheadMs,
  isClockOff,
  listRunning,
})

type Submit = <N extends WriteName>(name: N, input: Job<N>['input']) => Promise<Outcome<N>>
type AsyncWrites = { [N in keyof Writes]: (input: Job<N>['input']) => Promise<Outcome<N>> }

const writesOf = (names: readonly WriteName[], submit: Submit): AsyncWrites =>
  Object.fromEntries(
    names.map((name) => [name, (input: Job['input']) => submit(name, input)]),
  ) as unknown as AsyncWrites

/** A damaged file is found by reads first: without its keys, no write reaches the writer. */
const readsOf = (reads: Reads, onDamage: (reason: string) => void): Async<Reads> =>
  Object.fromEntries(
    Object.entries(reads).map(([name, read]) => [
      name,
      async (...args: never[]) => {
        try {
          return await (read as (...args: never[]) => unknown)(...args)
        } catch (error) {
          if (isDamage(error)) onDamage(messageOf(error))
          throw error
        }
      },
    ]),
  ) as Async<Reads>

/** Used if the disk gave no reason: the queue is full or a commit takes too long. */
const NO_REASON = 'commits take too long'

/** Null when commits work again. */
export type FaultListener = (reason: string | null) => void

/** One outcome per commit is enough: a temporary fault (full disk, replaced file) refuses all of them. */
export function createFaultWatch() {
  const listeners: FaultListener[] = []
  let fault: string | null = null

  const note = (outcome: Outcome | undefined): void => {
    const isFault = outcome !== undefined && 'refusal' in outcome && outcome.refusal === 'unavailable'
    const reason = isFault ? (outcome.reason ?? NO_REASON) : null
    if (reason === fault) return
    fault = reason
    for (const listener of listeners) listener(reason)
  }
  const watch =
    (commit: Channel['commit']): Channel['commit'] =>
    async (jobs) => {
      const outcomes = await commit(jobs)
      // jobs refused before any write say nothing about the disk
      const attempted = outcomes.find((outcome) => !('refused' in outcome))
      if (attempted || outcomes.length === 0) note(attempted)
      return outcomes
    }
  return { watch, note, onFault: (listener: FaultListener) => void listeners.push(listener) }
}

type InlineOptions = Pick<OpenOptions, 'readEvent' | 'rules' | 'onUpgrade'> & { now: () => number; sealer: Sealer }

/** Runs the engine on this thread, for short-lived commands. @throws StoreError if the folder cannot be opened */
async function openInline(
  folder: string,
  { now, sealer, readEvent, rules, onUpgrade }: InlineOptions,
): Promise<Channel> {
  const db = await openForWriting(folder, sealer, { beforeFirst: () => refuseWhileServed(folder), onUpgrade })
  const engine = createEngine(db, now, sealer, { isAlone: false, readEvent, rules })
  const broken: ((reason: string) => void)[] = []
  return {
    writeNames: engine.writeNames,
    commit: async (jobs) => {
      try {
        return await engine.run(jobs)
      } catch (error) {
        for (const listener of broken) listener(messageOf(error))
        throw error
      }
    },
    close: async () => db.close(),
    onForeignWrite: () => {},
    onBroken: (listener) => void broken.push(listener),
  }
}

/** A server without the key could not read what a command seals with it. */
function refuseWhileServed(folder: string): void {
  if (!isFolderServed(folder)) return
  const problem = `A server is using ${folder} without the master key.`
  throw new StoreError('folder_in_use', `${problem} Restart it with EVENTPOST_MASTER_KEY, then try again.`)
}
