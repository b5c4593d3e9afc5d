import type { Database } from 'bun:sqlite'
import { createAudit } from './audit.ts'
import type { Comparisons } from './compared-people.ts'
import type { DeliveryEnds } from './delivery-ends.ts'
import type { FollowUps } from './follow-ups.ts'
import { createDeliveryQueue, type ClaimedRow, prepareDeliveryStatements } from './delivery-queue.ts'
import { UNSURE } from './delivery-states.ts'
import type { Finish } from './delivery-rules.ts'
import { createDeliveryReads } from './deliveries.ts'
import { publicId } from '../core/ids.ts'
import { createOnce } from './idempotency.ts'
import { type Basis, createDeciding, type Decided } from './final-check.ts'
import { parseRecord } from './decision-records.ts'
import type { LiveMessages } from './live-messages.ts'
import type { Brakes } from './brakes.ts'
import type {
  CapturedMail,
  Claim,
  DeliveryRow,
  DeliveryWork,
  Installation,
  MailSource,
  Marked,
  MessageRow,
  UnfitEvent,
} from './message-types.ts'
import type { Rules } from './plan-types.ts'
import type { TopicChange, TopicWrites } from './topics.ts'
import type { Idempotency, Refused } from './types.ts'

type Claiming = {
  claimedBy: string
  now: number
  leaseMs: number
  most: number
  skipApps: number[]
  /** without it, emails are taken as sent */
  installation?: Installation
}

type Parts = {
  db: Database
  live: LiveMessages
  ends: DeliveryEnds
  comparisons: Comparisons
  follow: FollowUps
  brakes: Brakes
  topics: Pick<TopicWrites, 'ensureTopic'>
  rules: Rules
}

/** `actor`: the id of a member or an API key. */
type ByActor = { accountId: string; actor: string }
type ChangingOne = { appId: number; id: number; at: number; by?: ByActor }
/** `inBulk`: with others. */
type Resending = ChangingOne & { inBulk?: boolean }
type Changing = ChangingOne & { by: ByActor; idempotency: Idempotency | null }

/** `delivery`: after the change. */
export type ChangedDelivery = { done: true; contactId: number; delivery: DeliveryRow; replayed?: true }

type Moving = { messageId: number; version: number; after: number; most: number }

const WAITING_STATES = ['waiting', 'deferred'] as const

type HandingOver = Claim & { record: string; basis?: Basis; isCapturing?: boolean }

type Skipping = Claim & Pick<Finish, 'isOfEvent' | 'isCapturing'> & { reason: string; record: string | null }

const LOST: Marked = { isMarked: false, because: 'lost' }
const MARKED: Marked = { isMarked: true }

/**
 * The sender's side of the queue. Claims have a lease, and only the holder of the claim can finish a delivery; every
 * step reports whether the claim was still valid.
 */
export function createDeliveryWrites({ db, live, ends, comparisons, follow, brakes, topics, rules }: Parts) {
  const reads = createDeliveryReads(db, live.findSource)
  const queue = createDeliveryQueue(db)
  const { decideAll, checkFinally } = createDeciding(db, reads, rules)
  const { end } = ends
  const statements = prepareDeliveryStatements(db)
  const audit = createAudit(db)
  const once = createOnce(db, rules)

  const readChanged = (id: number): ChangedDelivery | Refused => {
    const [delivery] = reads.listDeliveriesById([id])
    return delivery ? { done: true, contactId: delivery.contactId, delivery } : { refusal: 'delivery_not_found' }
  }

  /** It may have been deleted since the email ended. */
  const ensureTopicOf = (id: number, by: TopicChange): void => {
    const [email] = reads.listDeliveriesById([id])
    const topic = email && live.contentOf(email.messageId, email.version).topic
    if (topic !== undefined) topics.ensureTopic(by, topic)
  }

  const mark = ({ id, claimedBy, attempt, at }: Claim, how: Finish): Marked => {
    const row = statements.claimed.get(id, claimedBy, attempt)
    if (!row) return LOST
    end(id, at, how)
    if (how.state === 'sent') follow(id, row, at)
    return MARKED
  }

  const endUnknown = ({ id, appId, messageId, version, ...row }: ClaimedRow, at: number, reason: string): void => {
    const { record, resent } = row
    const content = live.contentOf(messageId, version)
    const dueAt = rules.planUnconfirmed({ content, resent: resent === 1, record }, at)
    if (dueAt !== null) {
      statements.resend.run(reason, dueAt, at, id)
      statements.resendJoined.run(id, id)
    } else leaveUnknown({ id, appId, messageId }, at, reason)
  }

  const leaveUnknown = (row: Pick<ClaimedRow, 'id' | 'appId' | 'messageId'>, at: number, reason: string): void => {
    end(row.id, at, { state: 'unknown', reason })
    follow(row.id, row, at)
  }

  const take = (id: number, { claimedBy, now, leaseMs }: Claiming): DeliveryWork | null => {
    statements.claim.run(claimedBy, now + leaseMs, now, id)
    const work = reads.findWork(id)
    if (work === null) end(id, now, { state: 'skipped', reason: 'gone' })
    return work
  }

  const endUnfit = (unfit: UnfitEvent[], at: number): void => {
    for (const { id, reason, record } of unfit) end(id, at, { state: 'skipped', reason, record })
  }

  /** From the decision on, so that emails that fail or are skipped later count like those that are held back. */
  const compareDecided = (
    work: DeliveryWork,
    decided: Decided | null | undefined,
    { now, installation }: Claiming,
  ): void => {
    if (!decided?.isCompared) return
    const isCapturing = installation !== undefined && rules.isCapturing(work, installation)
    comparisons.compare(work.delivery.id, { at: now, isHeldBack: decided.outcome === 'skip', isCapturing })
  }

  const handOver = ({ id, claimedBy, attempt, at, record, basis, isCapturing }: HandingOver): Marked => {
    const work = reads.findWork(id)
    const isOwnClaim = work?.delivery.claimedBy === claimedBy && work.delivery.attempt === attempt
    if (!work || !isOwnClaim || work.delivery.state !== 'claimed') return LOST
    const decided = checkFinally(work, { at, record: parseRecord(record) ?? { at, verdicts: [] }, basis })
    if (decided !== 'outdated') endUnfit(decided.unfit, at)
    // the rendered email still contains the removed events
    if (decided === 'outdated' || (decided.outcome === 'send' && decided.unfit.length > 0)) {
      end(id, at, { state: 'waiting', dueAt: at })
      return { isMarked: false, because: 'outdated' }
    }
    const json = JSON.stringify(decided.record)
    if (decided.outcome === 'send') {
      statements.hand.run(at, json, at, id)
      if (decided.isCompared) comparisons.compare(id, { at, isHeldBack: false, isCapturing })
      // only deliveries that a member resends can have been captured before
      if (work.delivery.byHand) ends.dropCaptured(id)
      return MARKED
    }
    const { reason } = decided
    if (decided.outcome === 'skip') {
      end(id, at, { state: 'skipped', reason, record: json, isOfEvent: decided.isOfEvent, isCapturing })
    } else end(id, at, { state: 'deferred', reason, record: json, dueAt: decided.dueAt })
    return { isMarked: false, because: reason }
  }

  return {
    /** Decides here, while the pages are cached; `decisions` has the order of `works`. */
    claimDeliveries(claiming: Claiming): PackedClaim {
      const ids = queue.listDue(claiming)
      const works = ids.map((id) => take(id, claiming)).filter((work) => work !== null)
      const decisions = decideAll(works, claiming.now)
      for (const [index, work] of works.entries()) {
        const decided = decisions[index]
        compareDecided(work, decided, claiming)
        if (decided?.outcome === 'wait' && decided.reason === UNSURE)
          live.noteUnsure(work.delivery.contactId, decided.dueAt)
      }
      return packClaim({ works, decisions })
    },

    extendClaim: ({ id, claimedBy, attempt, at, leaseMs }: Claim & { leaseMs: number }): Marked =>
      statements.extend.run(at + leaseMs, id, claimedBy, attempt).changes > 0 ? MARKED : LOST,

    /** Removes events from an email before it is rendered, such as results opened meanwhile. */
    dropJoined({ unfit, ...claim }: Claim & { unfit: UnfitEvent[] }): Marked {
      if (!statements.claimed.get(claim.id, claim.claimedBy, claim.attempt)) return LOST
      endUnfit(unfit, claim.at)
      return MARKED
    },

    markHanded: handOver,

    markCaptured({ raw, content, ...claim }: HandingOver & { raw: string; content: CapturedMail }): Marked {
      const row = statements.claimed.get(claim.id, claim.claimedBy, claim.attempt)
      const marked = handOver({ ...claim, isCapturing: true })
      if (!marked.isMarked || !row) return marked
      const { from, to, subject, html, text } = content
      statements.capture.run(raw, claim.at, from, to, subject, html, text, claim.id)
      end(claim.id, claim.at, { state: 'kept' })
      follow(claim.id, row, claim.at)
      return MARKED
    },

    markSent: (claim: Claim): Marked => mark(claim, { state: 'sent', sentAt: claim.at }),
    markSkipped: ({ reason, record, isOfEvent, isCapturing, ...claim }: Skipping): Marked =>
      mark(claim, { state: 'skipped', reason, record, isOfEvent, isCapturing }),
    /** Retried at `dueAt`. No server has accepted the email, so further events may join it. */
    markDeferred: ({ reason, dueAt, record, ...claim }: Claim & { reason: string; dueAt: number; record: string }) =>
      mark(claim, { state: 'deferred', reason, dueAt, record, isRefused: true }),
    markFailed({ reason, record, ...claim }: Claim & { reason: string; record: string }): Marked {
      const marked = mark(claim, { state: 'failed', reason, record, isRefused: true })
      const [failed] = marked.isMarked && rules.isBounce(reason) ? reads.listDeliveriesById([claim.id]) : []
      if (failed) brakes.check(failed.appId, claim.at)
      return marked
    },
    /** `isFinal`: it can't be sent again safely. */
    markUnknown({ reason, isFinal = false, ...claim }: Claim & { reason: string; isFinal?: boolean }): Marked {
      const row = statements.claimed.get(claim.id, claim.claimedBy, claim.attempt)
      if (!row) return LOST
      if (isFinal) leaveUnknown(row, claim.at, reason)
      else endUnknown(row, claim.at, reason)
      return MARKED
    },

    /** At start: claims of the previous process become due, and emails it was handing over become unknown. */
    releaseClaims({ notOf, at }: { notOf: string; at: number }): { released: number; unconfirmed: number } {
      const rows = statements.claimsOfOthers.all(notOf)
      const handed = rows.filter(({ state }) => state === 'handed')
      for (const row of rows) {
        if (row.state === 'handed') endUnknown(row, at, 'stopped')
        else end(row.id, at, { state: 'waiting' })
      }
      return { released: rows.length - handed.length, unconfirmed: handed.length }
    },

    /**
     * Resends a delivery by hand, bypassing the rules, but not unsubscribes and suppressions, nor the brake in bulk.
     * Refusals: delivery_not_found; delivery_in_use if it is in progress or done; message_on_its_way if another delivery
     * uses its deduplication key.
     */
    resendDelivery({ appId, id, at, by, inBulk = false }: Resending): { done: true } | Refused {
      const ended = statements.stored.get(id, appId)
      if (!ended) return { refusal: 'delivery_not_found' }
      const planned = rules.planResend(
        { ...ended, isEventDeleted: ended.isEventDeleted === 1 },
        { at, actor: by?.actor, inBulk },
      )
      if ('refusal' in planned) return planned
      const { handedAt, dedupeKey, record, isUnconfirmed, takesNewest } = planned
      const columns = [at, at, handedAt, JSON.stringify(record), at, dedupeKey, Number(takesNewest)]
      const { changes } = statements.resendByHand.run(...columns, id)
      if (changes === 0) return { refusal: 'message_on_its_way' }
      statements.rejoin.run(at, id, ended.state, ended.reason)
      if (isUnconfirmed) statements.resendJoined.run(id, id)
      if (by) {
        audit({ ...by, at }, 'delivery.resend', publicId('dlv', id))
        ensureTopicOf(id, { ...by, appId, at })
      }
      return { done: true }
    },

    /**
     * Emails that wait in an earlier version use this one from now on, in parts: `next` is where to go on, null at the
     * end. Those that a mail server may have had keep theirs: it recognizes a repeated email by its text.
     */
    moveWaiting({ messageId, version, after, most }: Moving): { next: number | null } {
      const content = live.contentOf(messageId, version)
      const rows = WAITING_STATES.flatMap((state) => statements.waiting.all(messageId, state, after, most))
        .sort((a, b) => a.id - b.id)
        .slice(0, most)
      for (const { id, version: from, handedAt } of rows) {
        const isMoved = from < version && handedAt === null && rules.mayMove(live.contentOf(messageId, from), content)
        if (!isMoved) continue
        statements.move.run(version, id)
        statements.moveJoined.run(version, id)
      }
      return { next: rows.length < most ? null : (rows.at(-1)?.id ?? null) }
    },

    /** With all its events. A sender that has claimed it loses its claim. */
    cancelDelivery: ({ appId, id, at, by, idempotency }: Changing): ChangedDelivery | Refused =>
      once({ idempotency, appId }, () => {
        const waiting = statements.stored.get(id, appId)
        if (!waiting) return { refusal: 'delivery_not_found' }
        const planned = rules.planCancel(waiting, { at, actor: by.actor })
        if ('refusal' in planned) return planned
        end(id, at, planned)
        audit({ ...by, at }, 'delivery.cancel', publicId('dlv', id))
        return readChanged(id)
      }),

    /** It is decided now instead of when it is due. */
    sendDeliveryEarly: ({ appId, id, at, by, idempotency }: Changing): ChangedDelivery | Refused =>
      once({ idempotency, appId }, () => {
        const waiting = statements.stored.get(id, appId)
        if (!waiting) return { refusal: 'delivery_not_found' }
        if (!rules.isSendableEarly(waiting, at)) return { refusal: 'delivery_in_use' }
        statements.sendEarly.run(at, at, id)
        audit({ ...by, at }, 'delivery.send_early', publicId('dlv', id))
        return readChanged(id)
      }),
  }
}

export type ClaimedDeliveries = { works: DeliveryWork[]; decisions: (Decided | null)[] }
/** For crossing threads: deliveries of a claim mostly share a message, which is sent once. `source` is an index. */
export type PackedClaim = {
  sources: MailSource[]
  works: (Omit<DeliveryWork, keyof MailSource> & { source: number })[]
  decisions: ClaimedDeliveries['decisions']
}

function packClaim({ works, decisions }: ClaimedDeliveries): PackedClaim {
  const sources: MailSource[] = []
  const indexes = new Map<MessageRow, number>()
  const packed = works.map(({ message, app, settings, sourceHash, ...work }) => {
    const source = indexes.get(message) ?? sources.push({ message, app, settings, sourceHash }) - 1
    indexes.set(message, source)
    return { ...work, source }
  })
  return { sources, works: packed, decisions }
}

export function unpackClaim({ sources, works, decisions }: PackedClaim): ClaimedDeliveries {
  const unpacked = works.flatMap(({ source, ...work }) => {
    const found = sources[source]
    return found ? [{ ...found, ...work }] : []
  })
  return { works: unpacked, decisions }
}
