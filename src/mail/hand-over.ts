/** A mail goes to its server, and what that answered is written down (messages.md, Sending). */
import type { DeliveryWork, JudgeRecord, Marked } from '../core/deliveries.ts'
import type { Breaker } from './breaker.ts'
import type { ComposedMail } from './compose.ts'
import { claimOf, type Delivered, type DeliverParts, done, endOf, persist, putOff, retry } from './marks.ts'
import { type Outcome, reasonOf } from './provider.ts'
import type { Route } from './routes.ts'

type Handing = { route: Route; composed: ComposedMail; record: JudgeRecord }
/** Sends it, with the store's last look at the person just before the final dot. */
export async function handOver(
  parts: DeliverParts,
  work: DeliveryWork,
  { route, composed, record }: Handing,
): Promise<Delivered> {
  const { breaker, clock, store } = parts
  if (!breaker.admit(route.server)) {
    const until = Math.max(breaker.pausedUntil(route.server) ?? 0, clock.now() + 1_000)
    return putOff(parts, work, { reason: 'server_paused', dueAt: until, record })
  }
  let marked: Awaited<ReturnType<typeof store.markHanded>> | null = null
  const outcome = await route.provider?.send(composed, async () => {
    marked = await store.markHanded({ ...claimOf(parts, work), record: JSON.stringify(record) })
    return 'held' in marked && marked.held
  })
  if (!outcome) throw new Error('a route without a provider')
  tellBreaker(breaker, route.server, outcome)
  return conclude(parts, work, { outcome, marked, record })
}

/** What says something about the server, and not only about one mail. */
function tellBreaker(breaker: Breaker, server: string, outcome: Outcome): void {
  if (outcome.is === 'withheld') return breaker.abstain(server)
  const isPlea = outcome.is === 'refused' && (outcome.code === 421 || outcome.code === 454)
  if (isPlea) return breaker.fail(server, `smtp_${outcome.code}`, true)
  if (outcome.is === 'sent' || (outcome.is === 'refused' && outcome.about !== 'sender')) return breaker.succeed(server)
  breaker.fail(server, reasonOf(outcome), false)
}

/** Enhanced codes that say there is no such mailbox (RFC 3463). A bare 550 may mean us as well, so it proves nothing. */
const NO_MAILBOX = new Set(['5.1.1', '5.1.3', '5.1.6', '5.1.10', '5.2.1'])

type Concluding = { outcome: Outcome; marked: Marked | { refusal: string } | null; record: JudgeRecord }
async function conclude(parts: DeliverParts, work: DeliveryWork, { outcome, marked, record }: Concluding) {
  const { store } = parts
  const reason = reasonOf(outcome)
  switch (outcome.is) {
    case 'sent':
      return persist(parts, () => store.markSent(claimOf(parts, work)), done('sent'))
    case 'unknown':
      return persist(parts, () => store.markUnknown({ ...claimOf(parts, work), reason }), done('unknown', reason))
    case 'unreachable':
      return retry(parts, work, { reason, isServerFault: true, record })
    case 'withheld':
      // the store has said why, or could not save
      if (marked && 'held' in marked) return endOf(marked, 'handed')
      return retry(parts, work, { reason: 'not_saved', isServerFault: true, record })
    case 'refused':
      if (outcome.about === 'sender' || outcome.code < 500) {
        return retry(parts, work, { reason, isServerFault: outcome.about === 'sender', record })
      }
      return refuseForGood(parts, work, { refusal: outcome, record })
  }
}

/** A mailbox that is not there is never written to again. */
type ForGood = { refusal: Outcome & { is: 'refused' }; record: JudgeRecord }
async function refuseForGood(parts: DeliverParts, work: DeliveryWork, { refusal, record }: ForGood) {
  const { store, clock } = parts
  const reason = reasonOf(refusal)
  const failed = { ...claimOf(parts, work), reason, record: JSON.stringify(record) }
  const delivered = await persist(parts, () => store.markFailed(failed), done('failed', reason))
  if (refusal.enhanced !== null && NO_MAILBOX.has(refusal.enhanced)) {
    const { appId, email } = work.contact
    await store.suppress({ appId, email, reason: 'bounced', at: clock.now() })
  }
  return delivered
}
