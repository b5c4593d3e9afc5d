import type { MailSettings, MessageContent, Verdict } from '../../store/message-types.ts'
import { readTimezone } from '../../store/local-time.ts'
import type { RehearsalReads } from '../../store/rehearsal-reads.ts'
import { wishOf } from '../../store/judge-records.ts'
import { refusedBy } from '../../store/suppression-list.ts'
import { findFailed, isSettled, judgeRules, rulesOfEvent, stopReasonOf } from '../judge.ts'
import { giveUpTime, nextOpening } from '../send-window.ts'
import { judgeFault, type TemplateFault } from '../../messages/template-faults.ts'
import { readHistory, type LeadsSince, type Moment, type Stop } from './history.ts'
import { createTrials } from './mails.ts'
import { readToday } from './today.ts'
import { type People, readResultPath, type Triggered } from './triggers.ts'

/**
 * `at` (ms UTC): when it was decided, or what it waits for. `byId`: of what stopped it, where something did. `isOfEvent`:
 * it is about the event by which the email was judged alone.
 */
export type Decided = { outcome: string; at: number; byId?: number; isOfEvent?: boolean; verdicts: Verdict[] }

/** `from`: ms UTC. */
type Whose = { from: number; people: People }

/** What came until `heardUntil` (ms UTC) is known; `leadsSince` is null of an event that joined an email. */
type Heard = { heardUntil: number; leadsSince: LeadsSince | null }

/** `joined`: further events that the email would list, oldest first. `giveUpAt`: ms UTC. */
type Mail = { lead: Triggered; joined: Triggered[]; giveUpAt: number }

/** `outcome` is "waiting" where it is to be judged again at `at`. `unfit`: events that are not to be listed, and why. */
type Judged = Decided & { unfit: (readonly [Triggered, Decided])[] }

/** Decides what would have become of each trigger, as the sender does. */
export function createDecisions(reads: RehearsalReads, input: RehearsalInput, whose: Whose) {
  const { appId, content, settings, now } = input
  const today = readToday(reads, { content, people: whose.people })
  const history = readHistory(reads, { appId, content, now, today, ...whose })
  const opensAt = createOpening(content, settings)
  const trials = createTrials(reads, { appId, content, today })

  const endOf = (fault: TemplateFault | null, at: number, verdicts: Verdict[]): Decided => {
    if (fault === null) return { outcome: 'send', at, verdicts }
    const { reason, verdict } = judgeFault(fault)
    return { outcome: reason, at, verdicts: [...verdicts, verdict] }
  }

  /** As the sender does: the first event is tried alone, then each other one beside it. */
  const write = ({ lead, joined }: Mail, at: number, verdicts: Verdict[]): Judged => {
    const fault = trials.findFault(lead, joined)
    if (!isMissing(fault) || joined.length === 0) return { ...endOf(fault, at, verdicts), unfit: [] }
    const alone = trials.findFault(lead, [])
    if (isMissing(alone)) return { ...endOf(alone, at, verdicts), isOfEvent: true, unfit: [] }
    const tried = joined.map((event) => [event, trials.findFault(lead, [event])] as const)
    const unfit = tried
      .filter(([, both]) => isMissing(both))
      .map(([event, both]) => [event, endOf(both, at, [])] as const)
    const dropped = new Set(unfit.map(([event]) => event))
    const rest = joined.filter((event) => !dropped.has(event))
    return { ...endOf(dropped.size > 0 ? trials.findFault(lead, rest) : fault, at, verdicts), unfit }
  }

  const ofEvent: MessageContent = { ...content, onlyIf: rulesOfEvent(content) }
  const asksEach = ofEvent.onlyIf?.length !== 0

  const momentOf = (event: Triggered, dueAt: number, heardUntil: number): Moment => {
    const { id, contactId, occurredAt: triggeredAt } = event
    return { id, contactId, triggeredAt, dueAt, at: heardUntil, resultPath: readResultPath(content, event) }
  }

  /** The verdicts of the events that stay in the email, and those that do not. */
  const judgeJoined = (joined: Triggered[], at: number): Pick<Judged, 'verdicts' | 'unfit'> => {
    const judged = { verdicts: [] as Verdict[], unfit: [] as [Triggered, Decided][] }
    for (const event of asksEach ? joined : []) {
      const verdicts = judgeRules(ofEvent, history.factsOf(momentOf(event, at, at)))
      const failed = verdicts.find(isSettled)
      if (failed) judged.unfit.push([event, { outcome: stopReasonOf(failed), at, verdicts }])
      else judged.verdicts.push(...verdicts.map((verdict) => ({ ...verdict, eventAt: event.occurredAt })))
    }
    return judged
  }

  return {
    /** The first that came and stopped an event before its email was judged; of the rules about each event alone where it only joined. */
    findStop: (event: Triggered, dueAt: number, { heardUntil, leadsSince }: Heard): Stop | null =>
      history.stopOf(momentOf(event, dueAt, heardUntil), leadsSince),

    asksEach,

    giveUpAt: (plannedAt: number): number => giveUpTime(plannedAt, settings.giveUpHours),

    /** Judges an email that is due (ms UTC). */
    judge(mail: Mail, at: number): Judged {
      const facts = history.factsOf(momentOf(mail.lead, at, at))
      const own = judgeRules(content, facts)
      const wish = refusedBy({ contact: facts.contact, message: { content } }, null)
      if (wish !== null) return { outcome: wish, at, verdicts: [wishOf(wish), ...own], unfit: [] }
      const found = findFailed(content, own)
      const stopped = found && { outcome: stopReasonOf(found.failed), at, isOfEvent: found.isOfEvent, verdicts: own }
      if (stopped?.isOfEvent === false) return { ...stopped, unfit: [] }
      const { verdicts: further, unfit } = judgeJoined(mail.joined, at)
      if (stopped) return { ...stopped, unfit }
      const verdicts = [...own, ...further]
      const nextAt = verdicts.reduce((last, { until }) => Math.max(last, until ?? 0), opensAt(at))
      if (nextAt > mail.giveUpAt)
        return { outcome: 'gave_up', at, verdicts: [...verdicts, givenUp(mail.giveUpAt)], unfit }
      if (nextAt > at) return { outcome: 'waiting', at: nextAt, verdicts, unfit }
      const dropped = new Set(unfit.map(([event]) => event))
      const joined = mail.joined.filter((event) => !dropped.has(event))
      const written = write({ ...mail, joined }, at, verdicts)
      return { ...written, unfit: [...unfit, ...written.unfit] }
    },
    countUntried: trials.countUntried,
  }
}

const isMissing = (fault: TemplateFault | null): boolean => fault !== null && 'missing' in fault

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

export type RehearsalInput = {
  appId: number
  content: MessageContent
  settings: Pick<MailSettings, 'sendWindow' | 'timezone' | 'giveUpHours'>
  days: number
  now: number
  /** whose lines are listed; all are counted */
  contactId?: number
}
