import {
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  type DeliveryWork,
  type MailSettings,
  type Marked,
  type UnfitEvent,
  type Verdict,
} from '../store/message-types.ts'
import { addVerdict, forgetReply, type JudgeRecord, parseRecord, wishOf } from '../store/judge-records.ts'
import { readTimezone } from '../store/local-time.ts'
import { judgePersonLimits, LIMITED_MS } from '../store/person-limits.ts'
import type { Basis, Judge, Judgement, JudgeReads } from '../store/final-check.ts'
import { isLifecycle, refusedBy } from '../store/suppression-list.ts'
import { findFailed, isSettled, judgeRules, rulesOfEvent, stopReasonOf } from './judge.ts'
import { readFacts } from './judge-facts.ts'
import { giveUpTime, nextOpening } from './send-window.ts'

export type { Basis, DeliveryRow, DeliveryWork, JudgeRecord, Marked, UnfitEvent }
export { DELIVERY_STATES, forgetReply }

const HOUR_MS = 3_600_000

/**
 * Decides about a delivery at the moment of sending, with every rule's value and verdict: the message's own rules, the
 * person's wish, and what the app has set. What a member sends on by hand asks the person's wish only. The same function
 * decides when a delivery is claimed and just before its final dot.
 */
export const judgeDelivery: Judge = (reads, work, at, known): Judgement => {
  const wish = judgeWish(reads, work)
  if (work.delivery.byHand) return judgeByHand(work, wish, at)
  const { content } = work.message
  const rules = known ?? judgeRules(content, readFacts(reads, work, at))
  const status = judgeStatus(work)
  const record: JudgeRecord = { ...lastTryOf(work), at, verdicts: [wish, status, ...rules] }
  const refused = [wish, status].find(isSettled)
  if (refused) return { verdict: 'skip', reason: reasonOf(refused), record, isOfEvent: false, unfit: [] }
  const found = findFailed(content, rules)
  const skipped = found && {
    verdict: 'skip' as const,
    reason: reasonOf(found.failed),
    record,
    isOfEvent: found.isOfEvent,
  }
  if (skipped?.isOfEvent === false) return { ...skipped, unfit: [] }
  const { verdicts, unfit } = known ? NOTHING_NEW : judgeJoined(reads, work, at)
  if (skipped) return { ...skipped, unfit }
  return { ...judgeTime(reads, work, { ...record, verdicts: [...record.verdicts, ...verdicts] }), unfit }
}

type Joined = { verdicts: Verdict[]; unfit: UnfitEvent[] }

/** What joined is among the verdicts that are known. */
const NOTHING_NEW: Joined = { verdicts: [], unfit: [] }

/** The verdicts of the events that stay in the email, and those that do not. */
function judgeJoined(reads: JudgeReads, work: DeliveryWork, at: number): Joined {
  const content = { ...work.message.content, onlyIf: rulesOfEvent(work.message.content) }
  const joined: Joined = { verdicts: [], unfit: [] }
  for (const { id, triggeredAt, event } of content.onlyIf.length === 0 ? [] : work.joined) {
    const delivery = { ...work.delivery, triggeredAt, eventId: event.id }
    const own = { ...work, delivery, event, message: { ...work.message, content } }
    const found = judgeRules(content, readFacts(reads, own, at))
    const failed = found.find(isSettled)
    if (failed === undefined) joined.verdicts.push(...found.map((verdict) => ({ ...verdict, eventAt: triggeredAt })))
    else joined.unfit.push({ id, reason: reasonOf(failed), record: JSON.stringify({ at, verdicts: found }) })
  }
  return joined
}

/** The record of a delivery, or null before anything was judged and before a member sent it on. */
export const readRecord = ({ record }: Pick<DeliveryRow, 'record'>): JudgeRecord | null => parseRecord(record)

/** When a hand-over of which nobody knows the outcome was followed by another try (ms UTC); null where that is not known. */
export function findUnconfirmed(delivery: DeliveryRow): { at: number | null } | null {
  const { unconfirmedAt } = readRecord(delivery) ?? {}
  return delivery.resent || unconfirmedAt !== undefined ? { at: unconfirmedAt ?? null } : null
}

/** Whether two emails of one delivery may have arrived, because it was sent again after an unknown outcome. */
export const mayHaveArrivedTwice = (delivery: DeliveryRow): boolean =>
  findUnconfirmed(delivery) !== null && LEFT.includes(delivery.state)

/** States of what has left, whatever became of it. */
const LEFT: readonly DeliveryState[] = ['handed', 'sent', 'unknown', 'bounced', 'complained']

/** A rule or a pause may put it off once more: what came of its last try stays known until there is another. */
function lastTryOf({ delivery }: DeliveryWork): Pick<JudgeRecord, 'tries' | 'reply' | 'unconfirmedAt' | 'isSlow'> {
  const { tries, reply, unconfirmedAt, isSlow } = readRecord(delivery) ?? {}
  return {
    ...(tries === undefined ? {} : { tries }),
    ...(reply === undefined ? {} : { reply }),
    ...(unconfirmedAt === undefined ? {} : { unconfirmedAt }),
    ...(isSlow === undefined ? {} : { isSlow }),
  }
}

/** What the rules said, when they were asked, stays beside the wish of now; what the mail itself was like is seen anew. */
function judgeByHand({ delivery }: DeliveryWork, wish: Verdict, at: number): Judgement {
  const earlier = readRecord(delivery)
  const kept = earlier?.verdicts.filter(({ rule }) => !['link', 'template', 'giveUp'].includes(rule)) ?? []
  const record = addVerdict(earlier && { ...earlier, verdicts: kept }, wish, at)
  const judged = { record, unfit: [] }
  return wish.verdict === 'fail'
    ? { verdict: 'skip', reason: reasonOf(wish), isOfEvent: false, ...judged }
    : { verdict: 'send', ...judged }
}

const reasonOf = (failed: Verdict): string => {
  if (failed.rule === 'wish') return String(failed.value)
  return failed.rule === 'message' ? 'message_paused' : stopReasonOf(failed)
}

function judgeWish(reads: JudgeReads, work: DeliveryWork): Verdict {
  const suppression = reads.findSuppression(work.app.id, work.contact.email)
  return wishOf(refusedBy(work, suppression))
}

const judgeStatus = ({ message }: DeliveryWork): Verdict => ({
  rule: 'message',
  about: null,
  value: message.status,
  verdict: message.status === 'live' ? 'pass' : 'fail',
})

/** When a delivery is given up (ms UTC). */
export const whenToGiveUp = ({ delivery, settings }: Pick<DeliveryWork, 'delivery' | 'settings'>): number =>
  giveUpTime(delivery.plannedAt, settings.giveUpHours)

/** Whether now is the time: what a rule waits to learn, again, the send window and the limits, within which it is given up after a while. */
function judgeTime(reads: JudgeReads, work: DeliveryWork, record: JudgeRecord): Judgement {
  const { settings } = work
  const waits = [judgeAgain(reads, work, record.at)]
  if (isLifecycle(work.message.content)) {
    waits.push(judgeWindow(settings, record.at), ...judgeLimits(reads, work, record.at))
  }
  const asked = waits.filter((wait) => wait !== null)
  const verdicts = [...record.verdicts, ...asked.map(({ verdict }) => verdict)]
  const failed = [...record.verdicts.flatMap(toWait), ...asked].filter(({ verdict }) => verdict.verdict === 'fail')
  const dueAt = Math.max(record.at, ...failed.map(({ until }) => until))
  const giveUpAt = whenToGiveUp(work)
  const isTooLate = record.at > giveUpAt || dueAt > giveUpAt
  if (isTooLate) verdicts.push({ rule: 'giveUp', about: null, value: giveUpAt, verdict: 'fail' })
  const judged = { record: { ...record, verdicts }, unfit: [] }
  const again = failed.find(({ verdict }) => verdict.rule === 'again')
  if (again) return { verdict: 'skip', reason: 'again', isOfEvent: false, ...judged }
  if (isTooLate) return { verdict: 'skip', reason: 'gave_up', isOfEvent: false, ...judged }
  const [first] = failed
  if (!first) return { verdict: 'send', ...judged }
  const reason = first.verdict.until === undefined ? first.verdict.rule : 'unsure'
  return { verdict: 'defer', reason, dueAt, ...judged }
}

/** A rule about time with when it would pass. */
type Wait = { verdict: Verdict; until: number }

const toWait = (verdict: Verdict): Wait[] => (verdict.until === undefined ? [] : [{ verdict, until: verdict.until }])

const wait = (rule: string, about: string | null, value: number | null, at: number, until: number): Wait => ({
  verdict: { rule, about, value, verdict: until <= at ? 'pass' : 'fail' },
  until,
})

function judgeAgain(reads: JudgeReads, { delivery, message }: DeliveryWork, at: number): Wait | null {
  const { again } = message.content
  if (again === undefined || !('everyHours' in again)) return null
  const lastAt = reads.lastHandedAt(delivery)
  const until = lastAt === null ? at : lastAt + again.everyHours * HOUR_MS
  return wait('again', String(again.everyHours), lastAt, at, until)
}

function judgeWindow({ sendWindow, timezone }: MailSettings, at: number): Wait | null {
  if (sendWindow === null) return null
  const opensAt = nextOpening(at, sendWindow, readTimezone(timezone))
  return wait('window', `${sendWindow.from}-${sendWindow.until}`, opensAt, at, opensAt)
}

function judgeLimits(reads: JudgeReads, { delivery, settings }: DeliveryWork, at: number): Wait[] {
  if (settings.perPersonDay === null && settings.perPersonWeek === null) return []
  const handed = reads.listHanded(delivery.appId, delivery.contactId, at - LIMITED_MS)
  return judgePersonLimits(settings, handed, at).map(({ rule, most, count, until }) =>
    wait(rule, String(most), count, at, until),
  )
}
