/** The loop that takes due deliveries out: claims a few, delivers them side by side, sleeps. */
import type { Clock } from '../core/clock.ts'
import type { ResolveTxt } from '../accounts/sender-checks.ts'
import type { Store } from '../store/store.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import { readSmtpUrl } from '../core/mail-addresses.ts'
import type { Mailer } from '../messages/mailer.ts'
import { isRefusedHost, type PrivateHosts } from '../core/public-addresses.ts'
import { createSenders } from '../accounts/senders.ts'
import { createBreaker } from './breaker.ts'
import { createGuardedDial, type Dial } from './dial.ts'
import { createDispatch, type DispatchParts } from './dispatch.ts'
import { createHanded } from './handed.ts'
import { noteAnswer, type Provider } from './provider.ts'
import { findNoticeSender } from './notice.ts'
import { createRoutes, type MailDefaults } from './routes.ts'
import { renderSample } from './samples.ts'
import { checkServer } from './server-check.ts'
import { sendTest } from './test-mail.ts'

export type SenderParts = {
  store: Store
  clock: Clock
  baseUrl: string
  unsubscribeKey: string
  templates: TemplateWorker
  resolveTxt: ResolveTxt
} & Pick<DispatchParts, 'claimedBy' | 'note' | 'noteServer' | 'onFault'> & {
    defaults: MailDefaults
    /** what servers of apps may be reached at beside public addresses */
    privateHosts: PrivateHosts
    /** how long an answer that ends emails waits for those that were handed over before */
    settleMs?: number
    /** another way out than SMTP */
    createProvider?: (url: string, dial: Dial) => Provider | null
  }

/** Clients wait for an answer for 10 seconds. */
const SETTLE_MS = 5_000

export type Sender = Mailer & {
  /** Emails that were handed over and have no answer yet. */
  countHanded(): number
  /** Claims and delivers until nothing more is due, or what is due waits for a pause or its pace. */
  sendDue(): Promise<void>
  /** Takes up what the process before had claimed, and goes on by itself from now on. */
  start(): Promise<void>
  /**
   * Claims nothing more, gives up what was not handed over yet, and resolves when the mail servers have answered the
   * final dots of all that was.
   */
  stop(): Promise<void>
}

export function createSender(sending: SenderParts): Sender {
  const { store, clock, claimedBy, baseUrl, templates, onFault } = sending
  const stop = new AbortController()
  const routes = createRoutes(sending.defaults, {
    monotonicMs: clock.monotonicMs,
    dialOwn: createGuardedDial({ allowed: sending.privateHosts, findShared: () => findShared(sending) }),
    createProvider: sending.createProvider,
  })
  const senders = createSenders({ ...sending, installation: routes.installation })
  const [breaker, handed] = [createBreaker(clock), createHanded()]
  const { sendDue, landed, waitMs } = createDispatch({
    ...sending,
    routes,
    senders,
    breaker,
    handed,
    stopping: stop.signal,
  })
  const loop = createLoop(sendDue, { waitMs, onFault, stopping: stop.signal })
  return {
    sendDue,
    async start() {
      await store.releaseClaims({ notOf: claimedBy, at: clock.now() })
      loop.start()
    },
    async stop() {
      stop.abort()
      await loop.ended()
      await landed()
      routes.close()
    },
    senders,
    preview: (sample) => renderSample(templates, sample, `${baseUrl}/u/preview`),
    sendTest: (sample, to) => sendTest({ ...sending, routes, senders }, sample, to),
    findNoticeSender: (apps) => findNoticeSender({ ...sending, routes }, apps),
    async checkServer({ publicId: appId }, settings) {
      const found = routes.findServer(settings)
      if (found === null) return null
      const { server, dial } = found
      const asked = { about: 'server check', appId, server: `${server.host}:${server.port}` } as const
      return checkServer(server, { dial, onFailure: (outcome) => noteAnswer(sending, { ...asked, outcome }) })
    },
    refusesServer: (url) => isRefusedHost(readSmtpUrl(url)?.host ?? '', sending.privateHosts),
    settleHanded: (about) => handed.settle(about, sending.settleMs ?? SETTLE_MS),
    countHanded: handed.count,
    listPauses: breaker.listPauses,
    findWay: routes.findWay,
  }
}

/** The installation's server, where several accounts send through it. */
async function findShared({ store, defaults: { smtpUrl } }: SenderParts) {
  if (smtpUrl === null || (await store.listAccounts()).length < 2) return null
  return readSmtpUrl(smtpUrl)
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
