/** Claims what is due and has it delivered, a few side by side. */
import type { DeliveryWork } from '../deliveries/deliveries.ts'
import { publicId } from '../core/ids.ts'
import { deliver } from './deliver.ts'
import { createHeldApps } from './held-apps.ts'
import { type Delivered, type DeliverParts, retry } from './marks.ts'
import { createShares } from './shares.ts'
import { SMTP_LIMITS } from './smtp.ts'

/** Longer than one mail may take, so that nobody takes up what is still on its way. */
const LEASE_MS = 5 * 60_000
/** How often it looks for what is due when it knows of nothing. */
const LOOK_MS = 1_000

export type DispatchParts = DeliverParts & {
  /** a delivery has ended: for the log */
  note: (line: { deliveryId: string; ms: number } & Delivered) => void
  onFault: (error: unknown) => void
}

export function createDispatch(parts: DispatchParts) {
  const { store, clock, claimedBy, note, onFault, stopping } = parts
  const [pace, shares] = [createPace(clock), createShares()]
  const heldApps = createHeldApps({ ...parts, isCrowded: shares.isCrowded, isBusy: shares.isBusy })

  const claim = async (): Promise<DeliveryWork[]> => {
    const [now, most] = [clock.now(), shares.room()]
    if (stopping.aborted || most < 1) return []
    const due = await store.listDueApps({ now })
    const skipped = new Set([...shares.listFull(), ...pace.listWaiting().appIds, ...(await heldApps.list(due))])
    if (due.every((appId) => skipped.has(appId))) return []
    const skipApps = [...skipped]
    const claimed = await store.claimDeliveries({ claimedBy, now, leaseMs: LEASE_MS, most, skipApps })
    return 'refusal' in claimed ? [] : claimed.works
  }

  /** As it is now: it may have waited for its place, and been stopped, paused, erased or set up anew meanwhile. */
  const readAgain = async ({ delivery: { id, attempt } }: DeliveryWork): Promise<DeliveryWork | null> => {
    const work = await store.findWork(id)
    const isHeld = work?.delivery.claimedBy === claimedBy && work.delivery.attempt === attempt
    return isHeld && work.delivery.state === 'claimed' ? work : null
  }

  const fly = async (claimed: DeliveryWork, onSlow: () => void): Promise<void> => {
    const work = await readAgain(claimed)
    // what is not begun is taken up by the next process, or here when its lease, too short by now, has run out
    const leftMs = (work?.delivery.claimedUntil ?? 0) - clock.now()
    if (work === null || stopping.aborted || leftMs < SMTP_LIMITS.mailMs) return
    const startedAt = clock.monotonicMs()
    const delivered = await deliver(parts, work, onSlow).catch((error: unknown) => {
      onFault(error)
      return retry(parts, work, { reason: 'error', isServerFault: false, record: null })
    })
    note({ deliveryId: publicId('dlv', work.delivery.id), ms: clock.monotonicMs() - startedAt, ...delivered })
  }

  const take = (work: DeliveryWork): void => {
    const { app, settings } = work
    pace.spend(app.id, settings.perSecond)
    const { login: place } = heldApps.note(app.id, settings)
    shares.add({ appId: app.id, place, fly: (leave) => fly(work, leave).catch(onFault) })
  }

  /** How long until it is worth a look, for new mail or an app that waits for its pace (ms). */
  const waitMs = (): number => Math.min(pace.listWaiting().waitMs || LOOK_MS, LOOK_MS)

  return {
    waitMs,
    landed: shares.landed,
    /** The next ones are claimed while these fly: a claim is a commit, and would else be waited for. */
    async sendDue(): Promise<void> {
      for (;;) {
        // asked for before the claim, so that what lands meanwhile is not missed
        const [isEmpty, freed] = [shares.count() === 0, shares.freed()]
        const works = await claim()
        works.forEach(take)
        if (works.length > 0) continue
        if (isEmpty) return
        await waitFor(freed, waitMs())
      }
    },
  }
}

/** Resolves with it, and after so long at the latest. */
async function waitFor(freed: Promise<void>, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([freed, promise])
  clearTimeout(timer)
}

export const PER_SECOND = 100

type Bucket = { tokens: number; at: number; perSecond: number }

/**
 * A bucket for each app that fills by itself. What was claimed is sent, so a bucket may be overdrawn by what is in the
 * air; then its app waits that much longer.
 */
export function createPace({ monotonicMs }: { monotonicMs: () => number }) {
  const buckets = new Map<number, Bucket>()

  const refill = (bucket: Bucket): Bucket => {
    const at = monotonicMs()
    const gained = ((at - bucket.at) / 1000) * bucket.perSecond
    return Object.assign(bucket, { tokens: Math.min(bucket.perSecond, bucket.tokens + gained), at })
  }

  return {
    spend(appId: number, perSecond: number | null): void {
      const rate = perSecond ?? PER_SECOND
      const bucket = buckets.get(appId) ?? { tokens: rate, at: monotonicMs(), perSecond: rate }
      buckets.set(appId, bucket)
      refill(bucket).perSecond = rate
      bucket.tokens -= 1
    },
    /** Apps that must wait, and how long it takes until the first of them may send again (ms). */
    listWaiting(): { appIds: number[]; waitMs: number } {
      const waiting = Array.from(buckets).filter(([, bucket]) => refill(bucket).tokens < 1)
      const waits = waiting.map(([, { tokens, perSecond }]) => ((1 - tokens) / perSecond) * 1000)
      return { appIds: waiting.map(([appId]) => appId), waitMs: waits.length === 0 ? 0 : Math.min(...waits) }
    },
  }
}
