/** The loop that takes due deliveries out (messages.md, Sending): claims a few, delivers them side by side, sleeps. */
import type { DeliveryWork } from '../core/deliveries.ts'
import type { Mailer } from '../core/mailer.ts'
import type { Parts } from '../core/parts.ts'
import { publicId } from '../core/public-ids.ts'
import { createBreaker } from './breaker.ts'
import { deliver } from './deliver.ts'
import { createFlights } from './flights.ts'
import { type Delivered, type DeliverParts, retry } from './marks.ts'
import { createPace } from './pace.ts'
import type { Provider } from './provider.ts'
import { createRoutes, type MailDefaults } from './routes.ts'
import { renderSample } from './samples.ts'
import { sendTest } from './test-mail.ts'

/** How many deliveries are in the air at a time, and so how many a crash may leave unknown. */
export const IN_THE_AIR = 10
/** Longer than one mail may take, so that nobody takes up what is still on its way. */
const LEASE_MS = 5 * 60_000
/** How often it looks when nothing is known to be due. */
const LOOK_MS = 1_000

export type SenderParts = Pick<Parts, 'store' | 'clock' | 'baseUrl' | 'unsubscribeKey'> & {
  /** names this process among all that ever sent from this data */
  claimedBy: string
  defaults: MailDefaults
  /** a delivery has ended: for the log */
  note: (line: { deliveryId: string; ms: number } & Delivered) => void
  onFault: (error: unknown) => void
  /** another way out than SMTP */
  createProvider?: (url: string) => Provider | null
}

export type Sender = Mailer & {
  /** Claims and delivers until nothing more is due, or what is due waits for a pause or its pace. */
  sendDue(): Promise<void>
  /** Takes up what the process before had claimed, and goes on by itself from now on. */
  start(): Promise<void>
  /** Claims nothing more, and resolves when what is in the air has landed. */
  stop(): Promise<void>
}

export function createSender(sending: SenderParts): Sender {
  const { store, clock, claimedBy, baseUrl, note, onFault } = sending
  const stopping = new AbortController()
  const routes = createRoutes(sending.defaults, sending.createProvider)
  const parts: DeliverParts = { ...sending, routes, breaker: createBreaker(clock), stopping: stopping.signal }
  const [pace, flights] = [createPace(clock), createFlights()]
  const heldApps = createHeldApps(parts, pace)

  const fly = async (work: DeliveryWork): Promise<void> => {
    const startedAt = clock.monotonicMs()
    const delivered = await deliver(parts, work).catch((error: unknown) => {
      onFault(error)
      return retry(parts, work, { reason: 'error', isServerFault: false, record: null })
    })
    note({ deliveryId: publicId('dlv', work.delivery.id), ms: clock.monotonicMs() - startedAt, ...delivered })
  }

  const claim = async (): Promise<DeliveryWork[]> => {
    if (stopping.signal.aborted) return []
    const [now, skipApps] = [clock.now(), heldApps.list()]
    const dueAt = await store.nextDueAt({ skipApps })
    if (dueAt === null || dueAt > now) return []
    const claimed = await store.claimDeliveries({ claimedBy, now, leaseMs: LEASE_MS, most: IN_THE_AIR, skipApps })
    const works = 'refusal' in claimed ? [] : claimed.works
    works.forEach(heldApps.note)
    return works
  }

  /** The next ones are claimed while these fly: a claim is a commit, and would else be waited for. */
  const sendDue = async (): Promise<void> => {
    let ahead = claim()
    for (;;) {
      const works = await ahead
      if (works.length === 0 && flights.count() === 0) return
      if (works.length === 0) await flights.next()
      ahead = claim()
      for (const work of works) {
        while (flights.count() >= IN_THE_AIR) await flights.next()
        // what is claimed and not begun is taken up by the next process
        if (!stopping.signal.aborted) flights.add(work.contact.id, fly(work).catch(onFault))
      }
    }
  }

  const loop = createLoop(sendDue, {
    waitMs: () => pace.listWaiting().waitMs || LOOK_MS,
    onFault,
    stopping: stopping.signal,
  })
  return {
    sendDue,
    async start() {
      await store.releaseClaims({ notOf: claimedBy, at: clock.now() })
      loop.start()
    },
    async stop() {
      stopping.abort()
      await loop.ended()
      await flights.landed()
      routes.close()
    },
    preview: (sample) => renderSample(sample, `${baseUrl}/u/preview`),
    sendTest: (sample, to) => sendTest({ routes, clock, baseUrl }, sample, to),
    landed: flights.landed,
    listPauses: parts.breaker.listPauses,
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

type LoopOptions = { waitMs: () => number; onFault: (error: unknown) => void; stopping: AbortSignal }

/** Does the work, waits, and does it again, until it is to stop. */
function createLoop(work: () => Promise<void>, { waitMs, onFault, stopping }: LoopOptions) {
  let running = Promise.resolve()
  let wake = (): void => {}
  stopping.addEventListener('abort', () => wake())
  const wait = async (ms: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = resolve
    const timer = setTimeout(resolve, ms)
    await promise
    clearTimeout(timer)
  }
  const run = async (): Promise<void> => {
    while (!stopping.aborted) {
      await work().catch(onFault)
      if (!stopping.aborted) await wait(waitMs())
    }
  }
  return {
    start: (): void => void (running = run()),
    ended: (): Promise<void> => running,
  }
}
