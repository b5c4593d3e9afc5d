import type { MailSettings, MessageContent, Verdict } from '../../store/message-types.ts'
import { readTimezone } from '../../store/local-time.ts'
import type { RehearsalReads } from '../../store/rehearsal-reads.ts'
import { wishOf } from '../../store/judge-records.ts'
import { refusedBy } from '../../store/suppression-list.ts'
import { judgeRules, stopReasonOf } from '../judge.ts'
import { giveUpTime, nextOpening } from '../send-window.ts'
import { judgeFault } from '../template-faults.ts'
import { type Moment, readHistory } from './history.ts'
import { createTrials } from './mails.ts'
import type { RehearsalInput } from './run.ts'
import { readToday } from './today.ts'
import { type People, readResultPath, type Triggered } from './triggers.ts'

/** `at` (ms UTC): when it was decided, or what it waits for. `byId`: of what stopped it, where something did. */
export type Decided = { outcome: string; at: number; byId?: number; verdicts: Verdict[] }

/** `from`: ms UTC. */
type Whose = { from: number; people: People }

/** Decides what would have become of each trigger, as the sender does (messages.md, Rehearsal). */
export function createDecisions(reads: RehearsalReads, input: RehearsalInput, whose: Whose) {
  const { appId, content, settings, now } = input
  const today = readToday(reads, { content, people: whose.people })
  const history = readHistory(reads, { appId, content, now, today, ...whose })
  const opensAt = createOpening(content, settings)
  const trials = createTrials(reads, { appId, content, today })

  const write = (trigger: Triggered, at: number, verdicts: Verdict[]): Decided => {
    const fault = trials.findFault(trigger)
    if (fault === null) return { outcome: 'send', at, verdicts }
    const { reason, verdict } = judgeFault(fault)
    return { outcome: reason, at, verdicts: [...verdicts, verdict] }
  }

  return {
    /** When it is due (ms UTC), and again whenever what held it back has passed, until it is given up. */
    decide(trigger: Triggered, plannedAt: number): Decided {
      const { id, contactId, occurredAt: triggeredAt } = trigger
      const resultPath = readResultPath(content, trigger)
      const moment: Moment = { id, contactId, triggeredAt, resultPath, dueAt: plannedAt, at: plannedAt }
      const giveUpAt = giveUpTime(plannedAt, settings.giveUpHours)
      let [at, verdicts] = [plannedAt, [] as Verdict[]]
      for (;;) {
        moment.dueAt = at
        moment.at = Math.min(at, now)
        const stop = history.stopOf(moment)
        if (stop) return { outcome: stopReasonOf(stop.verdict), at: stop.at, byId: stop.id, verdicts: [stop.verdict] }
        if (at > now) return { outcome: 'waiting', at, verdicts }
        const facts = history.factsOf(moment)
        verdicts = judgeRules(content, facts)
        const wish = refusedBy({ contact: facts.contact, message: { content } }, null)
        if (wish !== null) return { outcome: wish, at, verdicts: [wishOf(wish), ...verdicts] }
        const outcome = findReason(verdicts)
        if (outcome !== null) return { outcome, at, verdicts }
        const nextAt = verdicts.reduce((last, { until }) => Math.max(last, until ?? 0), opensAt(at))
        if (nextAt > giveUpAt) return { outcome: 'gave_up', at, verdicts: [...verdicts, givenUp(giveUpAt)] }
        if (nextAt <= at) return write(trigger, at, verdicts)
        at = nextAt
      }
    },
    countUntried: trials.countUntried,
  }
}

/** When mails of a message may go: the app's hours are not for transactional ones. */
function createOpening(
  { mail }: MessageContent,
  { sendWindow, timezone }: Pick<MailSettings, 'sendWindow' | 'timezone'>,
): (at: number) => number {
  const window = mail.category === 'transactional' ? null : sendWindow
  const zone = readTimezone(timezone)
  return (at) => nextOpening(at, window, zone)
}

const givenUp = (value: number): Verdict => ({ rule: 'giveUp', about: null, value, verdict: 'fail' })

/** What cannot be told yet is no reason. */
function findReason(verdicts: Verdict[]): string | null {
  const failed = verdicts.find(({ verdict, until }) => verdict === 'fail' && until === undefined)
  return failed ? stopReasonOf(failed) : null
}
