import { type Clock, DAY_MS, HOUR_MS } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { SeenMail } from './received-mail.ts'
import {
  checkSender,
  type CheckedSender,
  type Dns,
  keepChecks,
  type LastCheck,
  type SenderCheck,
} from './sender-checks.ts'

type CheckStore = Pick<Store, 'findDomainCheck' | 'saveDomainCheck'>

/** Records are looked up again after this time. */
const OUTDATED_MS = DAY_MS
/** At most this often per app and domain, also if DNS gives no answer. */
const TRY_AGAIN_MS = HOUR_MS
const MOST_AT_ONCE = 4
const MOST_TRIED = 10_000

type Given = Dns & {
  store: CheckStore
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

/** The first check of a sender is on request. */
export function createDnsChecks({ store, clock, onFault, ...dns }: Given) {
  /** When, by app and domain; the oldest first. */
  const tried = new Map<string, number>()
  const underWay = new Set<string>()

  const mayTry = (key: string): boolean => {
    const [now, last] = [clock.monotonicMs(), tried.get(key)]
    if (underWay.size >= MOST_AT_ONCE || (last !== undefined && now - last < TRY_AGAIN_MS)) return false
    tried.delete(key)
    tried.set(key, now)
    const [oldest] = tried.keys()
    if (tried.size > MOST_TRIED && oldest !== undefined) tried.delete(oldest)
    return true
  }

  const isOutdated = ({ checkedAt }: LastCheck): boolean => clock.now() - checkedAt >= OUTDATED_MS

  const save = async (appId: number, sender: CheckedSender, isAsked: boolean): Promise<void> => {
    const checks = await checkSender(dns, sender)
    // an earlier answer says more than none
    if (isAsked || checks.every(({ state }) => state !== 'unasked'))
      await saveLastCheck(store, { appId, sender, checks, checkedAt: clock.now() })
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
    async check(appId: number, senders: readonly CheckedSender[]): Promise<void> {
      await Promise.all(senders.map((sender) => save(appId, sender, true)))
    },
    /** Without waiting. Whether the records are being looked up. */
    refreshSeen(appId: number, sender: CheckedSender, last: LastCheck): boolean {
      if (!isOutdated(last)) return false
      const key = `${appId} ${sender.domain}`
      if (mayTry(key)) void refresh(key, () => save(appId, sender, false))
      return underWay.has(key)
    },
    /** When an email was sent. */
    refreshUsed(appId: number, findSender: () => Promise<CheckedSender | null>): void {
      const key = String(appId)
      if (!mayTry(key)) return
      void refresh(key, async () => {
        const sender = await findSender()
        const last = sender && (await findLastCheck(store, appId, sender))
        if (last && isOutdated(last)) await save(appId, sender, false)
      })
    },
  }
}
