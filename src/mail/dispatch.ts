/** Claims what is due and has it delivered, a few side by side. */
import type { DeliveryWork } from '../core/deliveries.ts'
import { publicId } from '../core/public-ids.ts'
import { deliver } from './deliver.ts'
import { createFlights } from './flights.ts'
import { type Delivered, type DeliverParts, retry } from './marks.ts'
import { createPace } from './pace.ts'

/** How many deliveries are in the air at a time, and so how many a crash may leave unknown. */
export const IN_THE_AIR = 10
/** Longer than one mail may take, so that nobody takes up what is still on its way. */
const LEASE_MS = 5 * 60_000

export type DispatchParts = DeliverParts & {
  /** a delivery has ended: for the log */
  note: (line: { deliveryId: string; ms: number } & Delivered) => void
  onFault: (error: unknown) => void
}

export function createDispatch(parts: DispatchParts) {
  const { store, clock, claimedBy, note, onFault, stopping } = parts
  const [pace, flights] = [createPace(clock), createFlights()]
  const heldApps = createHeldApps(parts, pace)

  const claim = async (): Promise<DeliveryWork[]> => {
    if (stopping.aborted) return []
    const [now, skipApps] = [clock.now(), heldApps.list()]
    const dueAt = await store.nextDueAt({ skipApps })
    if (dueAt === null || dueAt > now) return []
    const claimed = await store.claimDeliveries({ claimedBy, now, leaseMs: LEASE_MS, most: IN_THE_AIR, skipApps })
    const works = 'refusal' in claimed ? [] : claimed.works
    works.forEach(heldApps.note)
    return works
  }

  const fly = async (work: DeliveryWork): Promise<void> => {
    const startedAt = clock.monotonicMs()
    const delivered = await deliver(parts, work).catch((error: unknown) => {
      onFault(error)
      return retry(parts, work, { reason: 'error', isServerFault: false, record: null })
    })
    note({ deliveryId: publicId('dlv', work.delivery.id), ms: clock.monotonicMs() - startedAt, ...delivered })
  }

  return {
    /** How long until an app that waits for its pace may go on; 0 when none does (ms). */
    waitMs: (): number => pace.listWaiting().waitMs,
    landed: flights.landed,
    /** The next ones are claimed while these fly: a claim is a commit, and would else be waited for. */
    async sendDue(): Promise<void> {
      let ahead = claim()
      for (;;) {
        const works = await ahead
        if (works.length === 0 && flights.count() === 0) return
        if (works.length === 0) await flights.next()
        ahead = claim()
        for (const work of works) {
          while (flights.count() >= IN_THE_AIR) await flights.next()
          // what is claimed and not begun is taken up by the next process
          if (!stopping.aborted) flights.add(work.contact.id, fly(work).catch(onFault))
        }
      }
    },
  }
}

/** Apps that must wait: for their pace, or because the server they were last seen to use is left alone. */
function createHeldApps({ routes, breaker }: DeliverParts, pace: ReturnType<typeof createPace>) {
  const servers = new Map<number, string>()
  return {
    note(work: DeliveryWork): void {
      pace.spend(work.app.id, work.settings.perSecond)
      const route = routes.find(work)
      if ('server' in route) servers.set(work.app.id, route.server)
    },
    list: (): number[] => [
      ...pace.listWaiting().appIds,
      ...Array.from(servers)
        .filter(([, server]) => breaker.isHeld(server))
        .map(([appId]) => appId),
    ],
  }
}
