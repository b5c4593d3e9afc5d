import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { AppRow } from '../store/types.ts'
import { isOnlyKey, publishedOf, readDkimKeys, startWaitingKey, writeDkimKeys } from './dkim.ts'
import type { SeenMail } from './received-mail.ts'
import {
  checkSender,
  type CheckedSender,
  type Dns,
  findPublished,
  keepChecks,
  type LastCheck,
  type SenderCheck,
} from './sender-checks.ts'

type CheckStore = Pick<Store, 'findDomainCheck' | 'saveDomainCheck'>

type KeyStore = Pick<Store, 'mailSettings' | 'setMailSettings'>
type Owner = Pick<AppRow, 'id' | 'accountId'>

/** Records are looked up again after this time. */
const OUTDATED_MS = DAY_MS
/** At most this often per app and domain, also if DNS gives no answer. */
const TRY_AGAIN_MS = HOUR_MS
/** A new DKIM key is looked for again after this time: hourly, although a look-up and the next email take a while. */
const LOOK_AGAIN_MS = HOUR_MS - 5 * MINUTE_MS
const MOST_AT_ONCE = 4
const MOST_TRIED = 10_000

type Given = Dns & {
  store: CheckStore & KeyStore
  clock: Pick<Clock, 'now' | 'monotonicMs'>
  onFault: (error: unknown) => void
}

export type DnsChecks = ReturnType<typeof createDnsChecks>

/** null if the records were never looked up. Checks of what changed since are unknown. */
export async function findLastCheck(
  store: Pick<CheckStore, 'findDomainCheck'>,
  appId: number,
  sender: CheckedSender,
): Promise<LastCheck | null> {
  const found = await store.findDomainCheck(appId, sender.domain)
  if (found === null) return null
  const [before, stored] = [JSON.parse(found.sender) as CheckedSender, JSON.parse(found.checks) as SenderCheck[]]
  return { checks: keepChecks(stored, before, sender), checkedAt: found.checkedAt }
}

export const saveLastCheck = (
  store: Pick<CheckStore, 'saveDomainCheck'>,
  { appId, sender, checks, checkedAt }: LastCheck & { appId: number; sender: CheckedSender },
) =>
  store.saveDomainCheck({
    appId,
    domain: sender.domain,
    sender: JSON.stringify(sender),
    checks: JSON.stringify(checks),
    checkedAt,
  })

/** What received emails of the app showed, by the domain of their sender. */
export async function readReceived(
  store: Pick<Store, 'listReceivedMails'>,
  appId: number,
): Promise<ReadonlyMap<string, SeenMail>> {
  const stored = await store.listReceivedMails(appId)
  return new Map(stored.map(({ domain, seen }) => [domain, JSON.parse(seen) as SeenMail]))
}

/** The first check of a sender is on request, or when a new DKIM key is looked for. */
export function createDnsChecks({ store, clock, onFault, ...dns }: Given) {
  /** Not before, by app and domain. */
  const nextTries = new Map<string, number>()
  const underWay = new Set<string>()

  const mayTry = (key: string): boolean => {
    if (underWay.size >= MOST_AT_ONCE || clock.monotonicMs() < (nextTries.get(key) ?? 0)) return false
    postpone(key, TRY_AGAIN_MS)
    return true
  }

  const postpone = (key: string, ms: number): void => {
    nextTries.delete(key)
    nextTries.set(key, clock.monotonicMs() + ms)
    const [oldest] = nextTries.keys()
    if (nextTries.size > MOST_TRIED && oldest !== undefined) nextTries.delete(oldest)
  }

  /** 0 or less: the records are outdated. */
  const remainingMs = ({ nextDkim }: CheckedSender, last: LastCheck | null): number => {
    if (last === null) return nextDkim === null ? Number.POSITIVE_INFINITY : 0
    return last.checkedAt + (nextDkim === null ? OUTDATED_MS : LOOK_AGAIN_MS) - clock.now()
  }

  /** The sender whose new DKIM key signs, if its record is found. */
  const startSigning = async (app: Owner, sender: CheckedSender): Promise<CheckedSender> => {
    const { nextDkim } = sender
    if (nextDkim === null || !isOnlyKey(await findPublished(dns.resolveTxt, nextDkim), nextDkim)) return sender
    const { dkimDomain, dkimSelector, dkimKey } = await store.mailSettings(app.id)
    const basedOn = { dkimDomain, dkimSelector, dkimKey }
    const keys = readDkimKeys(basedOn)
    if (publishedOf(keys.waiting)?.publicKey === nextDkim.publicKey) {
      const settings = writeDkimKeys(startWaitingKey(keys))
      const by = { accountId: app.accountId, appId: app.id, actor: 'eventpost', at: clock.now() }
      await store.setMailSettings({ ...by, settings, basedOn })
    }
    const { signing, waiting } = readDkimKeys(await store.mailSettings(app.id))
    return { ...sender, dkim: publishedOf(signing), nextDkim: publishedOf(waiting) }
  }

  const save = async (app: Owner, given: CheckedSender, isAsked: boolean): Promise<void> => {
    const sender = await startSigning(app, given)
    const checks = await checkSender(dns, sender)
    // an earlier answer says more than none
    if (isAsked || checks.every(({ state }) => state !== 'unasked'))
      await saveLastCheck(store, { appId: app.id, sender, checks, checkedAt: clock.now() })
  }

  const refresh = async (key: string, work: () => Promise<void>): Promise<void> => {
    underWay.add(key)
    try {
      await work()
    } catch (error) {
      onFault(error)
    } finally {
      underWay.delete(key)
    }
  }

  return {
    /** On request. */
    async check(app: Owner, senders: readonly CheckedSender[]): Promise<void> {
      await Promise.all(senders.map((sender) => save(app, sender, true)))
    },
    /** Without waiting. Whether the records are being looked up. */
    refreshSeen(app: Owner, sender: CheckedSender, last: LastCheck | null): boolean {
      if (remainingMs(sender, last) > 0) return false
      const key = `${app.id} ${sender.domain}`
      if (mayTry(key)) void refresh(key, () => save(app, sender, false))
      return underWay.has(key)
    },
    /** When an email was sent. */
    refreshUsed(app: Owner, findSender: () => Promise<CheckedSender | null>): void {
      const key = String(app.id)
      if (!mayTry(key)) return
      void refresh(key, async () => {
        const sender = await findSender()
        if (sender === null) return
        const ms = remainingMs(sender, await findLastCheck(store, app.id, sender))
        if (ms <= 0) await save(app, sender, false)
        else if (ms < TRY_AGAIN_MS) postpone(key, ms)
      })
    },
  }
}
