import type { Rehearsal, RehearsalLine } from './run.ts'

/** So many lines of each outcome are listed, the latest ones; all are counted. */
const LISTED_LINES = 100

/** Counts the lines of a rehearsal by outcome, and keeps the latest of each; of one person alone where one is named. */
export function createTally(listed: number | undefined) {
  const byOutcome = new Map<string, { count: number; lines: RehearsalLine[] }>()
  let estimated = 0
  return {
    add(line: RehearsalLine): void {
      const known = byOutcome.get(line.outcome) ?? { count: 0, lines: [] }
      known.count += 1
      if (line.verdicts.some(({ isEstimated }) => isEstimated)) estimated += 1
      if (listed === undefined || line.contactId === listed) known.lines.push(line)
      // cut now and then: to shift one for each of a million would take longer than to judge them
      if (known.lines.length >= 10 * LISTED_LINES) known.lines = known.lines.slice(-LISTED_LINES)
      byOutcome.set(line.outcome, known)
    },
    counted: (): Pick<Rehearsal, 'counts' | 'estimated'> => ({
      counts: Object.fromEntries([...byOutcome].map(([outcome, { count }]) => [outcome, count])),
      estimated,
    }),
    /** The latest first. */
    lines: (): RehearsalLine[] =>
      [...byOutcome.values()]
        .flatMap(({ lines }) => lines.slice(-LISTED_LINES))
        .sort((a, b) => b.triggeredAt - a.triggeredAt),
  }
}
