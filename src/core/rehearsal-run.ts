import {
  type Again,
  type MailSettings,
  type MessageContent,
  STOP_REASONS,
  type Rule,
  type Verdict,
} from '../store/message-types.ts'
import type { RehearsalReads } from '../store/rehearsal-reads.ts'
import { readTimezone } from '../store/local-time.ts'
import { whenDue } from '../store/triggers.ts'
import { type Facts, judgeRules } from './judge.ts'
import { type Moment, readHistory } from './rehearsal-history.ts'
import { readPeople, readResultPath, readTriggers } from './rehearsal-triggers.ts'
import { giveUpTime, nextOpening } from './send-window.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** So many lines of each outcome are listed, the latest ones; all are counted. */
const LISTED_LINES = 100

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

/** `counts`: how often each outcome came: send, waiting, again, gave_up, or the reason why not. */
export type Rehearsal = {
  from: number
  until: number
  triggered: number
  counts: Record<string, number>
  lines: RehearsalLine[]
}

/**
 * Who would have got a message in the last days, when, and why the others not, had it been live (messages.md,
 * Rehearsal). The app's limits per person are not looked at: they depend on other messages. Null for a trigger by tag,
 * because when a tag was added is not kept.
 */
export function rehearse(
  reads: RehearsalReads,
  { appId, content, settings, days, now, contactId: listed }: RehearsalInput,
): Rehearsal | null {
  if ('tag' in content.trigger) return null
  const from = now - days * DAY_MS
  const people = readPeople(reads, { appId, from }, content)
  const history = readHistory(reads, { appId, content, from, isTriggered: (contactId) => people.has(contactId) })
  const again = createAgain(content.again)
  const tally = createTally(listed)
  const zone = readTimezone(settings.timezone)
  const opensAt = createOpening(content, settings, zone)
  let triggered = 0
  for (const trigger of readTriggers(reads, { appId, from }, content)) {
    const { contactId, at, key } = trigger
    // what came since belongs to the next rehearsal: a page of this one is asked for later
    if (at > now) continue
    triggered += 1
    const plannedAt = whenDue(content.wait, at, zone)
    const note = ({ outcome, at: dueAt, verdicts }: Decided): void =>
      tally.add({ contactId, email: null, triggeredAt: at, dueAt, outcome, verdicts })
    if (!again.isFree(key, at, plannedAt)) {
      note({ outcome: 'again', at: plannedAt, verdicts: [] })
      continue
    }
    const times = { plannedAt, now, giveUpAt: giveUpTime(plannedAt, settings.giveUpHours), opensAt }
    const resultPath = readResultPath(content, trigger)
    const decided = decide(content, history, { contactId, at: plannedAt, triggeredAt: at, resultPath }, times)
    again.use(key, decided.at, decided.outcome === 'send')
    note(decided)
  }
  const lines = tally
    .lines()
    .map((line) => ({ ...line, email: reads.emailOf(line.contactId), verdicts: line.verdicts.map(markToday) }))
  return { from, until: now, triggered, counts: tally.counts(), lines }
}

/** When mails of a message may go: the app's hours are not for transactional ones. */
function createOpening({ mail }: MessageContent, { sendWindow }: Pick<MailSettings, 'sendWindow'>, zone: string) {
  const window = mail.category === 'transactional' ? null : sendWindow
  return (at: number): number => nextOpening(at, window, zone)
}

/** `at` (ms UTC): when it was decided, or what it waits for. */
type Decided = { outcome: string; at: number; verdicts: Verdict[] }
type Times = { plannedAt: number; now: number; giveUpAt: number; opensAt(at: number): number }

/** As the sender does: when it is due, and again whenever what held it back has passed, until it is given up. */
function decide(
  content: MessageContent,
  history: (moment: Moment) => Facts,
  moment: Moment,
  { plannedAt, now, giveUpAt, opensAt }: Times,
): Decided {
  let [at, verdicts] = [plannedAt, [] as Verdict[]]
  while (at <= now) {
    const facts = history({ ...moment, at })
    verdicts = judgeRules(content, facts)
    const outcome = outcomeOf(content, facts.contact.status, verdicts)
    if (outcome !== 'send') return { outcome, at, verdicts }
    const nextAt = verdicts.reduce((last, { until }) => Math.max(last, until ?? 0), opensAt(at))
    if (nextAt > giveUpAt) return { outcome: 'gave_up', at, verdicts: [...verdicts, givenUp(giveUpAt)] }
    if (nextAt <= at) return { outcome, at, verdicts }
    at = nextAt
  }
  return { outcome: 'waiting', at, verdicts }
}

const givenUp = (value: number): Verdict => ({ rule: 'giveUp', about: null, value, verdict: 'fail' })

const markToday = (verdict: Verdict): Verdict & { isToday?: true } =>
  ['tag', 'field', 'status'].includes(verdict.rule) ? { ...verdict, isToday: true } : verdict

function outcomeOf({ mail }: MessageContent, status: string, verdicts: Verdict[]): string {
  const isRefused = status !== 'subscribed' && !(status === 'unsubscribed' && mail.category === 'transactional')
  if (isRefused) return status
  // what cannot be told yet is no reason
  const failed = verdicts.find(({ verdict, until }) => verdict === 'fail' && until === undefined)
  return failed ? STOP_REASONS[failed.rule as Rule['rule']] : 'send'
}

/** "Once" as the queue has it: what is on its way or was sent uses it up, what was skipped gives it back. */
function createAgain(again: Again | undefined) {
  const everyMs = again && 'everyHours' in again ? again.everyHours * HOUR_MS : Number.POSITIVE_INFINITY
  const freeAt = new Map<number | string, { waitingUntil: number; sentAt: number | null }>()
  return {
    isFree(key: number | string, at: number, dueAt: number): boolean {
      const used = freeAt.get(key)
      if (!used) return true
      return used.waitingUntil <= at && (used.sentAt === null || dueAt >= used.sentAt + everyMs)
    },
    use(key: number | string, dueAt: number, isSent: boolean): void {
      freeAt.set(key, { waitingUntil: dueAt, sentAt: isSent ? dueAt : (freeAt.get(key)?.sentAt ?? null) })
    },
  }
}

function createTally(listed: number | undefined) {
  const byOutcome = new Map<string, { count: number; lines: RehearsalLine[] }>()
  return {
    add(line: RehearsalLine): void {
      const known = byOutcome.get(line.outcome) ?? { count: 0, lines: [] }
      known.count += 1
      if (listed === undefined || line.contactId === listed) known.lines.push(line)
      // cut now and then: to shift one for each of a million would take longer than to judge them
      if (known.lines.length >= 10 * LISTED_LINES) known.lines = known.lines.slice(-LISTED_LINES)
      byOutcome.set(line.outcome, known)
    },
    counts: (): Record<string, number> =>
      Object.fromEntries([...byOutcome].map(([outcome, { count }]) => [outcome, count])),
    /** The latest first. */
    lines: (): RehearsalLine[] =>
      [...byOutcome.values()]
        .flatMap(({ lines }) => lines.slice(-LISTED_LINES))
        .sort((a, b) => b.triggeredAt - a.triggeredAt),
  }
}
