import { createDecisions, type SimulationInput } from './decisions.ts'
import type { Verdict } from '../../store/message-types.ts'
import { readTimezone } from '../../store/local-time.ts'
import type { SimulationReads } from '../../store/simulation-reads.ts'
import { whenDue } from '../../store/triggers.ts'
import { createAgain } from './again.ts'
import { createCourses, type Note } from './courses.ts'
import { readPeople, readTriggers } from './triggers.ts'

const DAY_MS = 24 * 3_600_000

/**
 * One person and trigger. `dueAt`: when it was decided, or would be. `isToday`: the rule was judged by what is stored of
 * the person now. Times are ms UTC.
 */
export type SimulationLine = {
  contactId: number
  email: string | null
  triggeredAt: number
  dueAt: number
  outcome: string
  verdicts: (Verdict & { isToday?: true })[]
}

/**
 * `counts`: how often each outcome came: send, waiting, joined, again, gave_up, or the reason why not. `estimated`: how many of
 * those that were judged have a rule that was judged by page views alone. `untried`: how many mails were not filled in,
 * because it would take too long.
 */
export type Simulation = {
  from: number
  until: number
  triggered: number
  counts: Record<string, number>
  estimated: number
  untried: number
  lines: SimulationLine[]
}

/** How many triggers were looked at, of how many. */
export type Progress = { done: number; of: number }

/**
 * Who would have got a message in the last days, when, and why the others not, had it been live. The app's limits per person are not looked at: they depend on other messages. A tag triggers nothing here:
 * when it was added is not kept.
 */
export function simulate(
  reads: SimulationReads,
  input: SimulationInput,
  onProgress: (progress: Progress) => void = () => {},
): Simulation {
  const { appId, content, days, now } = input
  const from = now - days * DAY_MS
  const people = readPeople(reads, { appId, from }, content)
  const decisions = createDecisions(reads, input, { from, people })
  const tally = createTally(input.contactId)
  const note: Note = ({ contactId, occurredAt: triggeredAt }, { outcome, at: dueAt, verdicts }) =>
    tally.add({ contactId, email: null, triggeredAt, dueAt, outcome, verdicts })
  const courses = createCourses({ again: content.again, once: createAgain(content.again), decisions, now, note })
  const zone = readTimezone(input.settings.timezone)
  let triggered = 0
  for (const trigger of readTriggers(reads, { appId, from }, content)) {
    triggered += 1
    if (triggered % 1_000 === 0) onProgress({ done: triggered, of: triggered })
    courses.take(trigger, whenDue(content.wait, trigger, zone))
  }
  courses.finish()
  const lines = tally
    .lines()
    .map((line) => ({ ...line, email: reads.emailOf(line.contactId), verdicts: line.verdicts.map(markToday) }))
  return { from, until: now, triggered, ...tally.counted(), untried: decisions.countUntried(), lines }
}

const markToday = (verdict: Verdict): Verdict & { isToday?: true } =>
  isOfToday(verdict) ? { ...verdict, isToday: true } : verdict

const isOfToday = ({ rule, about }: Verdict): boolean =>
  ['tag', 'field', 'status', 'wish'].includes(rule) || (rule === 'template' && (about?.startsWith('contact.') ?? false))

/** So many lines of each outcome are listed, the latest ones; all are counted. */
const LISTED_LINES = 100

/** Counts the lines of a simulation by outcome, and keeps the latest of each; of one person alone where one is named. */
export function createTally(listed: number | undefined) {
  const byOutcome = new Map<string, { count: number; lines: SimulationLine[] }>()
  let estimated = 0
  return {
    add(line: SimulationLine): void {
      const known = byOutcome.get(line.outcome) ?? { count: 0, lines: [] }
      known.count += 1
      if (line.verdicts.some(({ isEstimated }) => isEstimated)) estimated += 1
      if (listed === undefined || line.contactId === listed) known.lines.push(line)
      // cut now and then: to shift one for each of a million would take longer than to judge them
      if (known.lines.length >= 10 * LISTED_LINES) known.lines = known.lines.slice(-LISTED_LINES)
      byOutcome.set(line.outcome, known)
    },
    counted: (): Pick<Simulation, 'counts' | 'estimated'> => ({
      counts: Object.fromEntries([...byOutcome].map(([outcome, { count }]) => [outcome, count])),
      estimated,
    }),
    /** The latest first. */
    lines: (): SimulationLine[] =>
      [...byOutcome.values()]
        .flatMap(({ lines }) => lines.slice(-LISTED_LINES))
        .sort((a, b) => b.triggeredAt - a.triggeredAt),
  }
}
