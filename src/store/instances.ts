/** What a store knows about other instances that use its database. */
export type Instances = {
  /** Deliveries are claimed under this name. */
  instanceId: string
  /** Other instances write to this database at any time. */
  isShared: boolean
  /** false: what was read earlier may have been changed by another instance, without notice. */
  isCurrent(): boolean
  /**
   * For what one instance does at a time: its epoch if it is this one's turn, for some seconds; else null. The epoch is
   * another one whenever somebody else may have had a turn in between.
   */
  holdDuty(): Promise<number | null>
  /** How far (ms) this machine's clock is ahead of the database's, at the last look. */
  clockAheadMs(): number
  /** It differs from the database's and from another instance's, so that it is this one that is wrong. */
  isClockOff(): boolean
  /** In the order in which they started; none if others can't be. */
  listRunning(): Promise<RunningInstance[]>
}

/**
 * `since`: ms UTC. `clockAheadMs`: of the database's. `place`: the machine and the process. `silentMs`: since it was last
 * heard of; one that runs is heard of every 5 seconds.
 */
export type RunningInstance = { since: number; isThis: boolean; clockAheadMs: number; place: string; silentMs: number }

/** Then an instance has missed a heartbeat. */
const SILENT_MS = 10_000
export const isSilent = ({ silentMs }: RunningInstance): boolean => silentMs > SILENT_MS

/** For a database that one process has at a time. */
export const createLoneInstance = (): Instances => ({
  instanceId: crypto.randomUUID(),
  isShared: false,
  isCurrent: () => true,
  holdDuty: async () => 0,
  clockAheadMs: () => 0,
  isClockOff: () => false,
  listRunning: async () => [],
})
