/**
 * Groups of writes in flight: one is planned while PostgreSQL writes the one before it to disk. They begin in their order,
 * and those that have people in common don't overlap, so the writes of each person stay in order.
 */
import { createTurns } from '../../core/in-order.ts'
import type { Channel } from '../engine/writer.ts'
import type { Outcome } from '../writes.ts'

type People = ReadonlySet<string>
/** `people`: null if they are not known, so that it runs alone. */
type OpenGroup = { people: People | null; end: Promise<void> }
type Run<Group, Result> = (group: Group) => Promise<Result>

const overlaps = (a: People | null, b: People | null): boolean => a === null || b === null || !a.isDisjointFrom(b)

/** Each of `lanes` runs one group at a time. */
export function createLanes<Group, Result>(
  lanes: readonly Run<Group, Result>[],
  peopleOf: (group: Group) => People | null,
): Run<Group, Result> {
  const idle = [...lanes]
  const open = new Set<OpenGroup>()

  const takeLane = async (people: People | null): Promise<Run<Group, Result>> => {
    for (;;) {
      const isFree = ![...open].some((group) => overlaps(group.people, people))
      const lane = isFree ? idle.pop() : undefined
      if (lane) return lane
      await Promise.race([...open].map(({ end }) => end))
    }
  }
  const begin = createTurns(async (group: Group) => {
    const people = peopleOf(group)
    const run = await takeLane(people)
    const { promise: end, resolve } = Promise.withResolvers<void>()
    const one = { people, end }
    open.add(one)
    const finish = (): void => {
      open.delete(one)
      idle.push(run)
      resolve()
    }
    return { run, finish }
  })

  return async (group) => {
    const { run, finish } = await begin(group)
    try {
      return await run(group)
    } finally {
      finish()
    }
  }
}

/** Longer than instances that stand still stop others. */
const STUCK_MS = 3_000

const isFailure = (outcome: Outcome): boolean =>
  'refusal' in outcome && (outcome.refusal === 'unavailable' || outcome.refusal === 'commit_unconfirmed')

/**
 * `isStuck`: groups are in flight, and for a while none has ended, except with failures. With all lanes stuck, the server may
 * still answer everything else.
 */
export function watchProgress(
  commit: Channel['commit'],
  monotonicMs = () => performance.now(),
): { commit: Channel['commit']; isStuck: () => boolean } {
  let inFlight = 0
  /** of the first group since the last one that was stored (ms, monotonic) */
  let beganMs: number | null = null
  let endedMs = Number.NEGATIVE_INFINITY
  return {
    async commit(jobs) {
      // what failed long ago says nothing about now
      if (inFlight === 0 && monotonicMs() - endedMs > STUCK_MS) beganMs = null
      inFlight += 1
      beganMs ??= monotonicMs()
      try {
        const outcomes = await commit(jobs)
        // the others in flight have as long as new ones
        if (!outcomes.every(isFailure)) beganMs = inFlight > 1 ? monotonicMs() : null
        return outcomes
      } finally {
        inFlight -= 1
        endedMs = monotonicMs()
      }
    },
    isStuck: () => inFlight > 0 && beganMs !== null && monotonicMs() - beganMs > STUCK_MS,
  }
}
