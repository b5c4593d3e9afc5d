import type { Sql } from './engine/sql.ts'
import { mapInOrder, mapTogether } from '../core/in-order.ts'
import { createAudit, type Done, DONE } from './audit.ts'
import type { Comparisons } from './compared-people.ts'
import type { DeliveryEnds } from './delivery-ends.ts'
import type { FollowUps } from './follow-ups.ts'
import { createDeliveryQueue, type ClaimedRow, prepareDeliveryStatements } from './delivery-queue.ts'
import { type DueQuery, UNSURE } from './delivery-states.ts'
import type { Finish } from './delivery-rules.ts'
import { createDeliveryReads } from './deliveries.ts'
import { publicId } from '../core/ids.ts'
import { type AddOutcomes, createOnce } from './idempotency.ts'
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

type Claiming = DueQuery & {
  claimedBy: string
  leaseMs: number
  /** without it, emails are taken as sent */
  installation?: Installation
}

type Parts = {
  db: Sql
  live: LiveMessages
  ends: DeliveryEnds
  comparisons: Comparisons
  follow: FollowUps
  brakes: Brakes
  topics: Pick<TopicWrites, 'ensureTopic'>
  addOutcomes: AddOutcomes
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
export function createDeliveryWrites({
  db,
  live,
  ends,
  comparisons,
  follow,
  brakes,
  topics,
  addOutcomes,
  rules,
}: Parts) {
  const reads = createDeliveryReads(db, live.findSource, { locks: true })
  const queue = createDeliveryQueue(db, rules)
  const { decideAll, checkFinally } = createDeciding(db, reads, rules)
  const { end } = ends
  const statements = prepareDeliveryStatements(db)
  const audit = createAudit(db)
  const once = createOnce({ db, addOutcomes, rules })

  const readChanged = async (id: number): Promise<ChangedDelivery | Refused> => {
    const [delivery] = await reads.listDeliveriesById([id])
    return delivery ? { done: true, contactId: delivery.contactId, delivery } : { refusal: 'delivery_not_found' }
  }

  /** It may have been deleted since the email ended. */
  const ensureTopicOf = async (id: number, by: TopicChange): Promise<void> => {
    const [email] = await reads.listDeliveriesById([id])
    const topic = email && (await live.contentOf(email.messageId, email.version)).topic
    if (topic !== undefined) await topics.ensureTopic(by, topic)
  }

  const mark = async ({ id, claimedBy, attempt, at }: Claim, how: Finish): Promise<Marked> => {
    const row = await statements.claimed.get(id, claimedBy, attempt)
    if (!row) return LOST
    await end(id, at, how)
    if (how.state === 'sent') await follow(id, row, at)
    return MARKED
  }

  const endUnknown = async (
    { id, appId, messageId, version, ...row }: ClaimedRow,
    at: number,
    reason: string,
  ): Promise<void> => {
    const { record, resent } = row
    const content = await live.contentOf(messageId, version)
    const dueAt = rules.planUnconfirmed({ content, resent: resent === 1, record }, at)
    if (dueAt !== null) {
      await statements.resend.run(reason, dueAt, at, id)
      await statements.resendJoined.run(id, id)
    } else await leaveUnknown({ id, appId, messageId }, at, reason)
  }

  const leaveUnknown = async (
    row: Pick<ClaimedRow, 'id' | 'appId' | 'messageId'>,
    at: number,
    reason: string,
  ): Promise<void> => {
    await end(row.id, at, { state: 'unknown', reason })
    await follow(row.id, row, at)
  }

  const take = async (ids: number[], { claimedBy, now, leaseMs }: Claiming): Promise<DeliveryWork[]> => {
    if (ids.length === 0) return []
    await statements.claim.run(claimedBy, now + leaseMs, now, JSON.stringify(ids))
    const works = await mapTogether(ids, reads.findWork)
    for (const [index, id] of ids.entries())
      if (works[index] === null) await end(id, now, { state: 'skipped', reason: 'gone' })
    return works.filter((work) => work !== null)
  }

  const endUnfit = async (unfit: UnfitEvent[], at: number): Promise<void> => {
    for (const { id, reason, record } of unfit) await end(id, at, { state: 'skipped', reason, record })
  }

  /** From the decision on, so that emails that fail or are skipped later count like those that are held back. */
  const compareDecided = async (
    work: DeliveryWork,
    decided: Decided | null | undefined,
    { now, installation }: Claiming,
  ): Promise<void> => {
    if (!decided?.isCompared) return
    const isCapturing = installation !== undefined && rules.isCapturing(work, installation)
    await comparisons.compare(work.delivery.id, { at: now, isHeldBack: decided.outcome === 'skip', isCapturing })
  }

  const handOver = async ({ id, claimedBy, attempt, at, record, basis, isCapturing }: HandingOver): Promise<Marked> => {
    const work = await reads.findWork(id)
    const isOwnClaim = work?.delivery.claimedBy === claimedBy && work.delivery.attempt === attempt
    if (!work || !isOwnClaim || work.delivery.state !== 'claimed') return LOST
    const decided = await checkFinally(work, { at, record: parseRecord(record) ?? { at, verdicts: [] }, basis })
    if (decided !== 'outdated') await endUnfit(decided.unfit, at)
    // the rendered email still contains the removed events
    if (decided === 'outdated' || (decided.outcome === 'send' && decided.unfit.length > 0)) {
      await end(id, at, { state: 'waiting', dueAt: at })
      return { isMarked: false, because: 'outdated' }
    }
    const json = JSON.stringify(decided.record)
    if (decided.outcome === 'send') {
      await statements.hand.run(at, json, at, id)
      if (decided.isCompared) await comparisons.compare(id, { at, isHeldBack: false, isCapturing })
      // only deliveries that a member resends can have been captured before
      if (work.delivery.byHand) await ends.dropCaptured(id)
      return MARKED
    }
    const { reason } = decided
    if (decided.outcome === 'skip') {
      await end(id, at, { state: 'skipped', reason, record: json, isOfEvent: decided.isOfEvent, isCapturing })
    } else await end(id, at, { state: 'deferred', reason, record: json, dueAt: decided.dueAt })
    return { isMarked: false, because: reason }
  }

  return {
    /** Decides here, while the pages are cached; `decisions` has the order of `works`. */
    async claimDeliveries(claiming: Claiming): Promise<PackedClaim> {
      const works = await take(await queue.listDue(claiming), claiming)
      const decisions = await decideAll(works, claiming.now)
      for (const [index, work] of works.entries()) {
        const decided = decisions[index]
        await compareDecided(work, decided, claiming)
        if (decided?.outcome === 'wait' && decided.reason === UNSURE)
          live.noteUnsure(work.delivery.contactId, decided.dueAt)
      }
      return packClaim({ works, decisions })
    },

    /** Of a claim whose commit was not confirmed, so that nobody knows what it took. */
    async dropClaim({ claimedBy, until, at }: { claimedBy: string; until: number; at: number }): Promise<Done> {
      for (const { id } of await statements.claimedUntil.all(until, claimedBy)) await end(id, at, { state: 'waiting' })
      return DONE
    },

    extendClaim: async ({ id, claimedBy, attempt, at, leaseMs }: Claim & { leaseMs: number }): Promise<Marked> =>
      (await statements.extend.run(at + leaseMs, id, claimedBy, attempt)).changes > 0 ? MARKED : LOST,

    /** Removes events from an email before it is rendered, such as results opened meanwhile. */
    async dropJoined({ unfit, ...claim }: Claim & { unfit: UnfitEvent[] }): Promise<Marked> {
      if (!(await statements.claimed.get(claim.id, claim.claimedBy, claim.attempt))) return LOST
      await endUnfit(unfit, claim.at)
      return MARKED
    },

    markHanded: handOver,

    async markCaptured({
      raw,
      content,
      ...claim
    }: HandingOver & { raw: string; content: CapturedMail }): Promise<Marked> {
      const row = await statements.claimed.get(claim.id, claim.claimedBy, claim.attempt)
      const marked = await handOver({ ...claim, isCapturing: true })
      if (!marked.isMarked || !row) return marked
      const { from, to, subject, html, text } = content
      await statements.capture.run(raw, claim.at, from, to, subject, html, text, claim.id)
      await end(claim.id, claim.at, { state: 'kept' })
      await follow(claim.id, row, claim.at)
      return MARKED
    },

    markSent: (claim: Claim): Promise<Marked> => mark(claim, { state: 'sent', sentAt: claim.at }),
    markSkipped: ({ reason, record, isOfEvent, isCapturing, ...claim }: Skipping): Promise<Marked> =>
      mark(claim, { state: 'skipped', reason, record, isOfEvent, isCapturing }),
    /** Retried at `dueAt`. No server has accepted the email, so further events may join it. */
    markDeferred: ({ reason, dueAt, record, ...claim }: Claim & { reason: string; dueAt: number; record: string }) =>
      mark(claim, { state: 'deferred', reason, dueAt, record, isRefused: true }),
    async markFailed({ reason, record, ...claim }: Claim & { reason: string; record: string }): Promise<Marked> {
      const marked = await mark(claim, { state: 'failed', reason, record, isRefused: true })
      const [failed] = marked.isMarked && rules.isBounce(reason) ? await reads.listDeliveriesById([claim.id]) : []
      if (failed) await brakes.check(failed.appId, claim.at)
      return marked
    },
    /** `isFinal`: it can't be sent again safely. */
    async markUnknown({
      reason,
      isFinal = false,
      ...claim
    }: Claim & { reason: string; isFinal?: boolean }): Promise<Marked> {
      const row = await statements.claimed.get(claim.id, claim.claimedBy, claim.attempt)
      if (!row) return LOST
      if (isFinal) await leaveUnknown(row, claim.at, reason)
      else await endUnknown(row, claim.at, reason)
      return MARKED
    },

    /**
     * Claims of the previous process, and of instances that don't run any more, become due. Emails that they were handing
     * over become unknown.
     */
    async releaseClaims({
      notOf,
      at,
    }: {
      notOf: string
      at: number
    }): Promise<{ released: number; unconfirmed: number }> {
      const rows = await statements.claimsOfOthers.all(notOf)
      const handed = rows.filter(({ state }) => state === 'handed')
      for (const row of rows) {
        if (row.state === 'handed') await endUnknown(row, at, 'stopped')
        else await end(row.id, at, { state: 'waiting' })
      }
      return { released: rows.length - handed.length, unconfirmed: handed.length }
    },

    /**
     * Resends a delivery by hand, bypassing the rules, but not unsubscribes and suppressions, nor the brake in bulk.
     * Refusals: delivery_not_found; delivery_in_use if it is in progress or done; message_on_its_way if another delivery
     * uses its deduplication key.
     */
    async resendDelivery({ appId, id, at, by, inBulk = false }: Resending): Promise<{ done: true } | Refused> {
      const ended = await statements.stored.get(id, appId)
      if (!ended) return { refusal: 'delivery_not_found' }
      const planned = rules.planResend(
        { ...ended, isEventDeleted: ended.isEventDeleted === 1 },
        { at, actor: by?.actor, inBulk },
      )
      if ('refusal' in planned) return planned
      const { handedAt, dedupeKey, record, isUnconfirmed, takesNewest } = planned
      const columns = [at, handedAt, JSON.stringify(record), dedupeKey, Number(takesNewest)]
      const { changes } = await statements.resendByHand.run(...columns, id)
      if (changes === 0) return { refusal: 'message_on_its_way' }
      await statements.rejoin.run(at, id, ended.state, ended.reason)
      if (isUnconfirmed) await statements.resendJoined.run(id, id)
      if (by) {
        await audit({ ...by, at }, 'delivery.resend', publicId('dlv', id))
        await ensureTopicOf(id, { ...by, appId, at })
      }
      return { done: true }
    },

    /**
     * Emails that wait in an earlier version use this one from now on, in parts: `next` is where to go on, null at the
     * end. Those that a mail server may have had keep theirs: it recognizes a repeated email by its text.
     */
    async moveWaiting({ messageId, version, after, most }: Moving): Promise<{ next: number | null }> {
      const content = await live.contentOf(messageId, version)
      const found = await mapInOrder(WAITING_STATES, (state) => statements.waiting.all(messageId, state, after, most))
      const rows = found
        .flat()
        .sort((a, b) => a.id - b.id)
        .slice(0, most)
      for (const { id, version: from, handedAt } of rows) {
        const isMoved =
          from < version && handedAt === null && rules.mayMove(await live.contentOf(messageId, from), content)
        if (!isMoved) continue
        await statements.move.run(version, id)
        await statements.moveJoined.run(version, id)
      }
      return { next: rows.length < most ? null : (rows.at(-1)?.id ?? null) }
    },

    /** With all its events. A sender that has claimed it loses its claim. */
    cancelDelivery: ({ appId, id, at, by, idempotency }: Changing): Promise<ChangedDelivery | Refused> =>
      once({ idempotency, appId, accountId: by.accountId }, async () => {
        const waiting = await statements.stored.get(id, appId)
        if (!waiting) return { refusal: 'delivery_not_found' }
        const planned = rules.planCancel(waiting, { at, actor: by.actor })
        if ('refusal' in planned) return planned
        await end(id, at, planned)
        await audit({ ...by, at }, 'delivery.cancel', publicId('dlv', id))
        return await readChanged(id)
      }),

    /** It is decided now instead of when it is due. */
    sendDeliveryEarly: ({ appId, id, at, by, idempotency }: Changing): Promise<ChangedDelivery | Refused> =>
      once({ idempotency, appId, accountId: by.accountId }, async () => {
        const waiting = await statements.stored.get(id, appId)
        if (!waiting) return { refusal: 'delivery_not_found' }
        if (!rules.isSendableEarly(waiting, at)) return { refusal: 'delivery_in_use' }
        await statements.sendEarly.run(at, at, id)
        await audit({ ...by, at }, 'delivery.send_early', publicId('dlv', id))
        return await readChanged(id)
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
