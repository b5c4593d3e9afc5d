import type { MailSettings, MessageContent, Verdict } from '../../store/message-types.ts'
import { readTimezone } from '../../store/local-time.ts'
import type { RehearsalReads } from '../../store/rehearsal-reads.ts'
import { whenDue } from '../../store/triggers.ts'
import { createAgain } from './again.ts'
import { createCourses, type Note } from './courses.ts'
import { createDecisions } from './decisions.ts'
import { createTally } from './tally.ts'
import { readPeople, readTriggers } from './triggers.ts'

const DAY_MS = 24 * 3_600_000

export type RehearsalInput = {
  appId: number
  content: MessageContent
  settings: Pick<MailSettings, 'sendWindow' | 'timezone' | 'giveUpHours'>
  days: number
  now: number
  /** whose lines are listed; all are counted */
  contactId?: number
}

/**
 * One person and trigger. `dueAt`: when it was decided, or would be. `isToday`: the rule was judged by what is stored of
 * the person now. Times are ms UTC.
 */
export type RehearsalLine = {
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
export type Rehearsal = {
  from: number
  until: number
  triggered: number
  counts: Record<string, number>
  estimated: number
  untried: number
  lines: RehearsalLine[]
}

/**
 * Who would have got a message in the last days, when, and why the others not, had it been live (messages.md,
 * Rehearsal). The app's limits per person are not looked at: they depend on other messages. A tag triggers nothing here:
 * when it was added is not kept.
 */
export function rehearse(reads: RehearsalReads, input: RehearsalInput): Rehearsal {
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
