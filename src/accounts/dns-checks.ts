import { type Clock, DAY_MS, HOUR_MS } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import {
  checkSender,
  type CheckedSender,
  keepChecks,
  type LastCheck,
  type ResolveTxt,
  type SenderCheck,
} from './sender-checks.ts'

type CheckStore = Pick<Store, 'findDomainCheck' | 'saveDomainCheck'>

/** Records are looked up again after this time. */
const OUTDATED_MS = DAY_MS
/** At most this often per app, also if DNS gives no answer. */
const TRY_AGAIN_MS = HOUR_MS
const MOST_AT_ONCE = 4
const MOST_TRIED = 10_000

type Given = {
  store: CheckStore
  clock: Pick<Clock, 'now' | 'monotonicMs'>
  resolveTxt: ResolveTxt
  onFault: (error: unknown) => void
}

export type DnsChecks = ReturnType<typeof createDnsChecks>

/** null if the domain of the sender is another one since. */
export async function findLastCheck(
  store: Pick<CheckStore, 'findDomainCheck'>,
  appId: number,
  sender: CheckedSender,
): Promise<LastCheck | null> {
  const found = await store.findDomainCheck(appId)
  if (found === null) return null
  const [before, stored] = [JSON.parse(found.sender) as CheckedSender, JSON.parse(found.checks) as SenderCheck[]]
  const checks = keepChecks(stored, before, sender)
  return checks && { checks, checkedAt: found.checkedAt }
}

export const saveLastCheck = (
  store: Pick<CheckStore, 'saveDomainCheck'>,
  { appId, sender, checks, checkedAt }: LastCheck & { appId: number; sender: CheckedSender },
) => store.saveDomainCheck({ appId, sender: JSON.stringify(sender), checks: JSON.stringify(checks), checkedAt })

/** The first check of a sender is on request. */
export function createDnsChecks({ store, clock, resolveTxt, onFault }: Given) {
  /** When, by app; the oldest first. */
  const tried = new Map<number, number>()
  const underWay = new Set<number>()

  const mayTry = (appId: number): boolean => {
    const [now, last] = [clock.monotonicMs(), tried.get(appId)]
    if (underWay.size >= MOST_AT_ONCE || (last !== undefined && now - last < TRY_AGAIN_MS)) return false
    tried.delete(appId)
    tried.set(appId, now)
    const [oldest] = tried.keys()
    if (tried.size > MOST_TRIED && oldest !== undefined) tried.delete(oldest)
    return true
  }

  const isOutdated = ({ checkedAt }: LastCheck): boolean => clock.now() - checkedAt >= OUTDATED_MS

  const refresh = async (appId: number, findLast: () => Promise<LastCheck | null>, sender: CheckedSender) => {
    underWay.add(appId)
    try {
      const last = await findLast()
      if (last === null || !isOutdated(last)) return
      const checks = await checkSender(resolveTxt, sender)
      // an earlier answer says more than none
      if (checks.every(({ state }) => state !== 'unasked'))
        await saveLastCheck(store, { appId, sender, checks, checkedAt: clock.now() })
    } catch (error) {
      onFault(error)
    } finally {
      underWay.delete(appId)
    }
  }

  return {
    /** On request. */
    async check(appId: number, sender: CheckedSender): Promise<void> {
      const checks = await checkSender(resolveTxt, sender)
      await saveLastCheck(store, { appId, sender, checks, checkedAt: clock.now() })
    },
    /** Without waiting. Whether the records are being looked up. */
    refreshSeen(appId: number, sender: CheckedSender, last: LastCheck): boolean {
      if (!isOutdated(last)) return false
      if (mayTry(appId)) void refresh(appId, async () => last, sender)
      return underWay.has(appId)
    },
    /** When an email was sent. */
    refreshUsed(appId: number, findSender: () => CheckedSender | null): void {
      const sender = mayTry(appId) ? findSender() : null
      if (sender) void refresh(appId, () => findLastCheck(store, appId, sender), sender)
    },
  }
}
