import type { Database } from 'bun:sqlite'
import type { createDeliveryReads } from './delivery-reads.ts'
import { wishOf } from './judge-records.ts'
import type { DeliveryWork, Marked, Verdict } from './message-types.ts'
import { judgePersonLimits, LIMITED_MS } from './person-limits.ts'
import { createSuppressionList, isLifecycle, refusedBy } from './suppression-list.ts'

const HOUR_MS = 3_600_000

type Because = Exclude<Extract<Marked, { held: false }>['because'], 'lost'>
/** Why a mail must not go now, as a verdict; `dueAt`: when it may (ms UTC), null = never. */
type Found = { because: Because; verdict: Verdict; dueAt: number | null }

type Reads = Pick<ReturnType<typeof createDeliveryReads>, 'lastHandedAt' | 'listHanded'>

/**
 * The last look at the person's wish, at how often the message may come, and at the limits, in the transaction that hands
 * the mail over: several mails to one person may have been judged at once. What a member sends on asks the wish only.
 */
export function createLastLook(db: Database, reads: Reads) {
  const suppressions = createSuppressionList(db)

  const findTooSoon = ({ delivery, message }: DeliveryWork, at: number): Found | null => {
    const { again } = message.content
    if (again === undefined || !('everyHours' in again)) return null
    const lastAt = reads.lastHandedAt(delivery)
    if (lastAt === null || lastAt + again.everyHours * HOUR_MS <= at) return null
    const verdict: Verdict = { rule: 'again', about: String(again.everyHours), value: lastAt, verdict: 'fail' }
    return { because: 'again', verdict, dueAt: null }
  }

  const findFullLimit = ({ app, contact, message, settings }: DeliveryWork, at: number): Found | null => {
    const isLimited = settings.perPersonDay !== null || settings.perPersonWeek !== null
    if (!isLimited || !isLifecycle(message.content)) return null
    const limits = judgePersonLimits(settings, reads.listHanded(app.id, contact.id, at - LIMITED_MS), at)
    const full = limits.find(({ until }) => until > at)
    if (!full) return null
    const verdict: Verdict = { rule: full.rule, about: String(full.most), value: full.count, verdict: 'fail' }
    return { because: full.rule, verdict, dueAt: full.until }
  }

  return (work: DeliveryWork, at: number): Found | null => {
    const because = refusedBy(work, suppressions.find(work.app.id, work.contact.email))
    if (because !== null) return { because, verdict: wishOf(because), dueAt: null }
    return work.delivery.byHand ? null : (findTooSoon(work, at) ?? findFullLimit(work, at))
  }
}
