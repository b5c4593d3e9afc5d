/** The loop that claims and sends due deliveries. */
import { MINUTE_MS } from '../core/clock.ts'
import { createDnsChecks, type DnsChecks, readReceived } from '../accounts/dns-checks.ts'
import { type CheckedSender, type Dns, listCheckedSenders } from '../accounts/sender-checks.ts'
import type { Decided, DeliveryWork } from '../deliveries/deliveries.ts'
import { describeReason } from '../deliveries/describe-reason.ts'
import { publicId } from '../core/ids.ts'
import { readSmtpUrl } from '../core/mail-addresses.ts'
import { describeService, isApi, readMailUrl } from '../core/mail-apis.ts'
import type { Mailer } from '../messages/mailer.ts'
import { isRefusedHost, listPrivateHosts, type PrivateHosts } from '../core/public-addresses.ts'
import { createSenders } from '../accounts/senders.ts'
import { checkApi } from './api-provider.ts'
import { deliver, type DeliverDependencies, type Prepared, prepareMail } from './deliver.ts'
import { createGuardedDial, type Dial, dialAny } from './dial.ts'
import { createHanded } from './hand-over.ts'
import { createLanes, type Lanes, type Turn } from './lanes.ts'
import { type Delivered, retry } from './marks.ts'
import { noteAnswer, type Outcome, type Provider } from './provider.ts'
import { findNoticeSender, listNoticeSenders } from './notice.ts'
import { createRoutes, type MailDefaults, type StandIns } from './routes.ts'
import { renderSample, testLinks } from './samples.ts'
import { API_CHECK_LIMITS, checkServer, probeServer } from './server-check.ts'
import { SMTP_LIMITS } from './smtp.ts'
import { isLostConnection } from '../store/postgres/faults.ts'
import { findSuppressionList } from './suppression-lists.ts'
import { sendTest } from './test-mail.ts'

export type SenderDependencies = Dns & {
  defaults: MailDefaults
  /** allowed for mail servers of apps, besides public addresses */
  privateHosts: PrivateHosts
  /** how long answers such as to a pause wait for open replies */
  settleMs?: number
  /** replaces SMTP and APIs */
  createProvider?: (url: string, dial: Dial) => Provider | null
  standIns?: StandIns
  /** logs the end of a delivery */
  note: (line: { deliveryId: string; ms: number } & Delivered) => void
  onFault: (error: unknown) => void
} & Pick<
    DeliverDependencies,
    'store' | 'clock' | 'baseUrl' | 'unsubscribeKey' | 'templates' | 'claimedBy' | 'noteServer'
  >

/** Below the 10 seconds that clients wait. */
const SETTLE_MS = 5_000

export type Sender = Mailer & {
  /** Why the second server for alerts can't be used; null: it can, or there is none. */
  checkAlertServer(): Promise<string | null>
  /** Emails handed over without a reply. */
  countHanded(): number
  /** Sends until nothing is due, or everything due waits for a pause or a rate. */
  sendDue(): Promise<void>
  /** Takes over claims of the previous process and starts the loop. */
  start(): Promise<void>
  /** Drops emails that weren't handed over and waits for the replies to those that were. */
  stop(): Promise<void>
}

/** The store's own fault is logged once, and each email is tried again. */
const unlessOutage =
  (note: SenderDependencies['onFault']): SenderDependencies['onFault'] =>
  (error) => {
    if (!isLostConnection(error)) note(error)
  }

export function createSender(given: SenderDependencies): Sender {
  const sending = { ...given, onFault: unlessOutage(given.onFault) }
  const { store, clock, claimedBy, baseUrl, templates, onFault } = sending
  const stop = new AbortController()
  const routes = createRoutes(sending.defaults, {
    clock,
    dialOwn: createGuardedDial({ allowed: sending.privateHosts, findShared: () => findShared(sending) }),
    createProvider: sending.createProvider,
    standIns: sending.standIns,
  })
  const senders = createSenders({ ...sending, installation: routes.installation })
  const [lanes, handed] = [createLanes({ store, clock, routes }), createHanded()]
  const stopping = stop.signal
  const dnsChecks = createDnsChecks(sending)
  const deps = { ...sending, routes, senders, handed, stopping, dnsChecks, lostClaims: createLostClaims(sending) }
  const sendDue = () => claimAndSend(deps, lanes)
  const loop = createLoop(sendDue, { waitMs: () => waitMs(lanes), onFault, stopping })
  return {
    sendDue,
    async start() {
      await store.releaseClaims({ notOf: claimedBy, at: clock.now() })
      loop.start()
    },
    async stop() {
      stop.abort()
      await loop.ended()
      await lanes.ended()
      routes.close()
    },
    senders,
    dnsChecks,
    preview: (sample) => renderSample(templates, sample, testLinks(baseUrl)),
    sendTest: (sample, to) => sendTest({ ...sending, routes, senders }, sample, to),
    findNoticeSender: (apps) => findNoticeSender({ ...sending, routes }, apps),
    listNoticeSenders: (apps) => listNoticeSenders({ ...sending, routes }, apps),
    async probe(settings) {
      const found = routes.findServer(settings)
      if (found === null) return null
      if (routes.findLogin(settings).breaker.successMsAgo() < SEEN_MS) return null
      return probeServer(found.server, found.dial)
    },
    noteReached(settings, { failedSince }) {
      const { breaker, outage } = routes.findLogin(settings)
      breaker.endPause()
      if (failedSince !== null) outage.forgetSince(failedSince)
    },
    async checkServer({ publicId: appId }, settings) {
      const found = routes.findServer(settings)
      if (found === null) return null
      const { server, dial } = found
      const asked = { about: 'server check', appId, server: describeService(server) } as const
      const onFailure = (outcome: Outcome) => noteAnswer(sending, { ...asked, outcome })
      const check = isApi(server)
        ? await checkApi(server, { limits: API_CHECK_LIMITS, dial, onFailure })
        : await checkServer(server, { dial, onFailure })
      return settings.smtpUrl === null && check?.is === 'failed' ? { ...check, answer: undefined } : check
    },
    async checkAlertServer() {
      const server = readMailUrl(sending.defaults.alertSmtpUrl ?? '')
      if (server === null) return null
      const check = isApi(server)
        ? await checkApi(server, { limits: API_CHECK_LIMITS, dial: dialAny, onFailure: () => {} })
        : await checkServer(server)
      return check?.is === 'failed' ? describeReason(check.reason, '', 'deferred') : null
    },
    allowsPrivateServers: listPrivateHosts(sending.privateHosts).length > 0,
    refusesServer: (url) => isRefusedHost(readMailUrl(url)?.host ?? '', sending.privateHosts),
    waitForReplies: (about) => handed.settle(about, sending.settleMs ?? SETTLE_MS),
    countHanded: handed.count,
    findPause: ({ id }, settings) => lanes.findPause(id, settings),
    findOutage(settings) {
      const { outage, window } = routes.findLogin(settings)
      return { isSeen: outage.isSeen(), outage: window.isUsedUp() ? null : outage.find() }
    },
    findAccepted(settings) {
      const ago = routes.findLogin(settings).outage.acceptedMsAgo()
      return ago === null ? null : clock.now() - ago
    },
    findLimits: lanes.findLimits,
    findSuppressionList(settings) {
      const found = routes.findServer(settings)
      return found && findSuppressionList(found.server, sending.standIns)
    },
    findMailRoute: routes.describeRoute,
  }
}

/** A server that took an email so recently need not be asked. */
const SEEN_MS = 15_000

/** The installation's server, if several accounts share it. */
async function findShared({ store, defaults: { smtpUrl } }: SenderDependencies) {
  if (smtpUrl === null || (await store.listAccounts()).length < 2) return null
  return readSmtpUrl(smtpUrl)
}

/** Longer than one email may take, so that no other process takes it over. */
const LEASE_MS = 5 * MINUTE_MS
/** How often to look for due deliveries. */
const POLL_MS = 1_000
/** Deliveries that waited longer for their turn are read again. */
const STALE_MS = 1_000

const waitMs = (lanes: Lanes): number => Math.min(lanes.rateMs() || POLL_MS, POLL_MS)

type Sending = DeliverDependencies &
  Pick<SenderDependencies, 'note' | 'onFault'> & { dnsChecks: DnsChecks; lostClaims: LostClaims }
type LostClaims = ReturnType<typeof createLostClaims>

/** A commit may still be on its way to the disk. */
const LATE_COMMIT_MS = 10_000

/** Claims that may have taken emails, which nobody would send before the lease ends. */
function createLostClaims({ store, clock, claimedBy }: Pick<SenderDependencies, 'store' | 'clock' | 'claimedBy'>) {
  let lost: { until: number; sinceMs: number }[] = []
  const drop = async ({ until, sinceMs }: (typeof lost)[number]): Promise<boolean> => {
    const dropped = await store.dropClaim({ claimedBy, until, at: clock.now() })
    return !('refusal' in dropped) && clock.monotonicMs() - sinceMs > LATE_COMMIT_MS
  }
  return {
    note: (until: number): void => void lost.push({ until, sinceMs: clock.monotonicMs() }),
    async giveBack(): Promise<void> {
      const over = new Set<unknown>()
      for (const one of lost) if (await drop(one)) over.add(one)
      lost = lost.filter((one) => !over.has(one))
    },
  }
}

type Claimed = { work: DeliveryWork; decision: Decided | null }

/** @returns how many emails were claimed */
async function claim(deps: Sending, lanes: Lanes): Promise<number> {
  const { store, clock, claimedBy, stopping, routes, lostClaims } = deps
  const { installation } = routes
  if (store.isClockOff()) return 0
  await lostClaims.giveBack()
  const due = await store.listDueApps({ now: clock.now() })
  let count = 0
  const plans = await lanes.planClaims(due)
  const waits = lanes.takeWaits()
  if (waits.length > 0) await store.saveLimitWaits({ waits })
  for (const plan of plans) {
    const { apps, most: planned, first } = plan
    const most = Math.min(planned, lanes.room())
    if (stopping.aborted || most < 1) return count
    const skipApps = apps.length === due.length ? [] : due.filter((appId) => !apps.includes(appId))
    const claiming = { claimedBy, now: clock.now(), leaseMs: LEASE_MS, most, skipApps, first, installation }
    const claimed = await store.claimDeliveries(claiming)
    if ('refusal' in claimed) {
      if (claimed.refusal === 'commit_unconfirmed') lostClaims.note(claiming.now + LEASE_MS)
      return count
    }
    const { works, decisions } = claimed
    for (const [index, work] of works.entries())
      lanes.add(work, createSending(deps, { work, decision: decisions[index] ?? null }))
    lanes.noteClaimed(plan, new Set(works.map(({ app }) => app.id)))
    count += works.length
  }
  return count
}

/** It may have been cancelled, paused, erased or changed while it waited. */
async function readAgain({ store, claimedBy }: Sending, { delivery: { id, attempt } }: DeliveryWork) {
  const work = await store.findWork(id)
  const isOurs = work?.delivery.claimedBy === claimedBy && work.delivery.attempt === attempt
  return isOurs && work.delivery.state === 'claimed' ? work : null
}

function createSending(deps: Sending, claimed: Claimed): Parameters<Lanes['add']>[1] {
  const { clock, note, onFault, stopping, dnsChecks } = deps
  let prepared: Promise<Prepared> | null = null
  const prepare = (): Promise<Prepared> => (prepared ??= prepareMail(deps, claimed.work, claimed.decision))

  const send = async (turn: Turn): Promise<void> => {
    const isStale = turn.waitedMs > STALE_MS && !(await hasEnded(prepared))
    const work = isStale ? await readAgain(deps, claimed.work) : claimed.work
    // another process, or this one, claims it again after the lease
    const leftMs = (work?.delivery.claimedUntil ?? 0) - clock.now()
    if (work === null || stopping.aborted || leftMs < SMTP_LIMITS.mailMs) return
    const startedAt = clock.monotonicMs()
    const ready = isStale ? prepareMail(deps, work, null) : prepare()
    const delivered = await ready
      .then((mail) => deliver(deps, mail, turn))
      .catch((error: unknown) => {
        onFault(error)
        return retry(deps, work, { reason: 'error', isServerFault: false, record: null })
      })
    note({ deliveryId: publicId('dlv', work.delivery.id), ms: clock.monotonicMs() - startedAt, ...delivered })
    if (delivered.state === 'sent') dnsChecks.refreshUsed(work.app, () => findChecked(deps, work))
  }
  return {
    // `send` reports the error
    prepare: () => prepare().then(nothing, nothing),
    send: (turn) => send(turn).catch(onFault),
  }
}

async function findChecked(
  { routes, store, baseUrl }: Sending,
  { app, settings }: DeliveryWork,
): Promise<CheckedSender | null> {
  const received = await readReceived(store, app.id)
  return (
    listCheckedSenders(routes.describeRoute({ app, settings }), settings, { emails: [], received, baseUrl })[0] ?? null
  )
}

const nothing = (): void => {}

/** Whether preparing ended the delivery. */
const hasEnded = async (prepared: Promise<Prepared> | null): Promise<boolean> => {
  const found = await prepared?.catch(nothing)
  return found !== undefined && !('composed' in found)
}

/** Claims while emails are being sent, because a claim waits for a commit. */
async function claimAndSend(deps: Sending, lanes: Lanes): Promise<void> {
  for (;;) {
    // before the claim, so that no end is missed
    const [isEmpty, freed] = [lanes.count() === 0, lanes.freed()]
    if ((await claim(deps, lanes)) > 0) continue
    if (isEmpty) return
    await waitFor(freed, waitMs(lanes))
  }
}

async function waitFor(freed: Promise<void>, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([freed, promise])
  clearTimeout(timer)
}

type LoopOptions = { waitMs: () => number; onFault: (error: unknown) => void; stopping: AbortSignal }

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
