import {
  type Again,
  type MailSettings,
  type MessageContent,
  STOP_REASONS,
  type Rule,
  type Verdict,
} from '../store/message-types.ts'
import type { RehearsalReads } from '../store/rehearsal-reads.ts'
import { whenDue } from '../store/triggers.ts'
import { type Facts, judgeRules } from './judge.ts'
import { type Moment, readHistory } from './rehearsal-history.ts'
import { readPeople, readTriggers } from './rehearsal-triggers.ts'
import { nextOpening } from './send-window.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** So many lines of each outcome are listed, the latest ones; all are counted. */
const LISTED_LINES = 100

export type RehearsalInput = {
  appId: number
  content: MessageContent
  settings: Pick<MailSettings, 'sendWindow' | 'timezone'>
  days: number
  now: number
  /** whose lines are listed; all are counted */
  contactId?: number
}

/** One person and trigger. `isToday`: the rule was judged by what is stored of the person now. Times are ms UTC. */
export type RehearsalLine = {
  contactId: number
  email: string | null
  triggeredAt: number
  dueAt: number
  outcome: string
  verdicts: (Verdict & { isToday?: true })[]
}

/** `counts`: how often each outcome came: send, waiting, again, or the reason why not. */
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
  const zone = settings.timezone ?? 'UTC'
  let triggered = 0
  for (const { contactId, at, resultPath, key } of readTriggers(reads, { appId, from }, content)) {
    // what came since belongs to the next rehearsal: a page of this one is asked for later
    if (at > now) continue
    triggered += 1
    const dueAt = nextOpening(whenDue(content.wait, at, zone), settings.sendWindow, zone)
    const note = (outcome: string, verdicts: Verdict[] = []): void =>
      tally.add({ contactId, email: null, triggeredAt: at, dueAt, outcome, verdicts })
    if (!again.isFree(key, at, dueAt)) note('again')
    else if (dueAt > now) note('waiting')
    else {
      const { judgedAt, verdicts, status } = judgeUntilSettled(content, history, {
        contactId,
        at: dueAt,
        triggeredAt: at,
        resultPath,
      })
      const outcome = judgedAt > now ? 'waiting' : outcomeOf(content, status, verdicts)
      again.use(key, judgedAt, outcome === 'send')
      note(outcome, verdicts)
    }
  }
  const lines = tally
    .lines()
    .map((line) => ({ ...line, email: reads.emailOf(line.contactId), verdicts: line.verdicts.map(markToday) }))
  return { from, until: now, triggered, counts: tally.counts(), lines }
}

/** When it is due, and once more where a rule could not be told by then. `judgedAt` (ms UTC) may be still to come. */
function judgeUntilSettled(content: MessageContent, history: (moment: Moment) => Facts, moment: Moment) {
  const facts = history(moment)
  const { status } = facts.contact
  const verdicts = judgeRules(content, facts)
  const failed = verdicts.filter(({ verdict }) => verdict === 'fail')
  const judgedAt = Math.max(moment.at, ...failed.map(({ until }) => until ?? 0))
  const isSettled = judgedAt === moment.at || failed.some(({ until }) => until === undefined)
  if (isSettled) return { judgedAt: moment.at, verdicts, status }
  return { judgedAt, verdicts: judgeRules(content, history({ ...moment, at: judgedAt })), status }
}

const markToday = (verdict: Verdict): Verdict & { isToday?: true } =>
  ['tag', 'field', 'status'].includes(verdict.rule) ? { ...verdict, isToday: true } : verdict

function outcomeOf({ mail }: MessageContent, status: string, verdicts: Verdict[]): string {
  const isRefused = status !== 'subscribed' && !(status === 'unsubscribed' && mail.category === 'transactional')
  if (isRefused) return status
  const failed = verdicts.find(({ verdict }) => verdict === 'fail')
  return failed ? STOP_REASONS[failed.rule as Rule['rule']] : 'send'
}

/** "Once" as the queue has it: what is on its way or was sent uses it up, what was skipped gives it back. */
function createAgain(again: Again | undefined) {
  const everyMs = again && 'everyHours' in again ? again.everyHours * HOUR_MS : Number.POSITIVE_INFINITY
  const freeAt = new Map<string, { waitingUntil: number; sentAt: number | null }>()
  return {
    isFree(key: string, at: number, dueAt: number): boolean {
      const used = freeAt.get(key)
      if (!used) return true
      return used.waitingUntil <= at && (used.sentAt === null || dueAt >= used.sentAt + everyMs)
    },
    use(key: string, dueAt: number, isSent: boolean): void {
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
