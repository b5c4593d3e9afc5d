/**
 * Groups of writes in flight: one is planned while PostgreSQL writes the one before it to disk. They begin in their order,
 * and those that have people in common don't overlap, so the writes of each person stay in order.
 */
import { createTurns } from '../../core/in-order.ts'

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
