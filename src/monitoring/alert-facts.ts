/** What the alerts are about, as it is now. Times are ms UTC. */
import type { DataLocation } from '../core/data-location.ts'
import { statfs } from 'node:fs/promises'
import type { Clock } from '../core/clock.ts'
import type { NoticeSender } from '../accounts/notices.ts'
import { NO_ACCESS, NOT_NOW } from '../deliveries/describe-reason.ts'
import type { Mailer } from '../messages/mailer.ts'
import { NO_SETTINGS } from '../store/mail-settings.ts'
import type { MailSettings } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { Owner } from '../store/weekly-summaries.ts'
import {
  type AlertFacts,
  type BackupFacts,
  type DiskFacts,
  readOutage,
  REFUSED_MS,
  type ServerFacts,
  subjectOf,
} from './alerts.ts'

type Dependencies = {
  store: Store
  clock: Clock
  mailer: Pick<Mailer, 'probe' | 'findPause' | 'findOutage' | 'findMailRoute' | 'noteReached' | 'senders'>
  location: DataLocation
  /** of scheduled backups; null without them */
  backupEveryMs: number | null
}

type App = ServerFacts['apps'][number]
type Used = { name: string; accountId: string | null; settings: MailSettings; apps: App[] }

/** Servers of apps that are probed; emails show whether further ones work. */
const MOST_PROBED = 50
/** While a server answers. */
const PROBE_EVERY_MS = 20_000
/** In a row. */
const FAILED_PROBES = 2
/** Once it can be reached again, emails that waited leave within this time. */
const LEAVING_MS = 20_000
/** A pause shorter than that is usual where a server limits emails. */
const LONG_PAUSE_MS = 120_000
/** A pause ends for a moment with each try. */
const SAME_PAUSE_MS = 60_000
/** Shorter pauses need no action. */
const LONG_FAULT_MS = 10_000
/** Apps read before requests are answered again. */
const APPS_A_TURN = 20

/** Null: it can't be read, or the data is not on this machine. */
export async function readDisk(store: Pick<Store, 'stats'>, location: DataLocation): Promise<DiskFacts | null> {
  if (!('folder' in location)) return null
  try {
    const { bavail, bsize } = await statfs(location.folder)
    const { databaseBytes, logBytes } = store.stats()
    return { freeBytes: bavail * bsize, dataBytes: databaseBytes + logBytes }
  } catch {
    return null
  }
}

/** `since`: when the server started, because no backup is made before. */
export async function readBackups(
  store: Store,
  { everyMs, since }: Pick<BackupFacts, 'everyMs' | 'since'>,
): Promise<BackupFacts> {
  const isScheduled = everyMs !== null
  const [lastGood, lastFailed] = await Promise.all([
    store.findLastGoodBackup(isScheduled),
    store.findLastFailedBackup(),
  ])
  return { everyMs, since, lastGood, lastFailed }
}

/**
 * Of the installation: the owners of the first account, which operates it. Those invited count while nobody has joined:
 * the first owner may not have a password yet.
 */
export async function listTold(store: Store, accountId: string | null): Promise<AlertOwner[]> {
  const { joined, invited } = await readOwners(store, accountId)
  return joined.length > 0 ? joined : invited
}

/** Invited ones too: who heard of a problem hears of its end, although somebody joined meanwhile. */
export async function listOwnersOf(store: Store, accountId: string | null): Promise<AlertOwner[]> {
  const { joined, invited } = await readOwners(store, accountId)
  return [...joined, ...invited]
}

type AlertOwner = Pick<Owner, 'memberId' | 'email'>

async function readOwners(store: Store, accountId: string | null): Promise<Record<'joined' | 'invited', AlertOwner[]>> {
  const id = accountId ?? (await store.findAccount(null))?.id
  if (id === undefined) return { joined: [], invited: [] }
  const [joined, invited] = await Promise.all([store.listOwners(id), store.listInvitedOwners(id)])
  return { joined, invited }
}

/** Mail servers by which an account's owners are told, the first choice first. Each once, however many apps use it. */
export async function listAlertSenders(
  { store, mailer }: { store: Store; mailer: Pick<Mailer, 'listNoticeSenders'> },
  accountId: string,
): Promise<NoticeSender[]> {
  const [apps, all] = await Promise.all([store.listApps(accountId), store.listMailSettings()])
  const settings = apps.map(({ id }) => all.get(id) ?? NO_SETTINGS)
  const own = new Map(settings.toReversed().map((one) => [one.smtpUrl, one]))
  return mailer.listNoticeSenders(settings.filter((one) => one.smtpUrl === null || own.get(one.smtpUrl) === one))
}

export function createAlertFacts({ store, clock, mailer, location, backupEveryMs }: Dependencies) {
  const startedAt = clock.now()
  const servers = createServerWatch({ store, clock, mailer })
  let fault: { reason: string; since: number } | null = null
  store.onFault((reason) => (fault = reason === null ? null : { reason, since: clock.monotonicMs() }))

  const readBrakes = async (): Promise<AlertFacts['brakes']> => {
    const brakes = await store.listBrakes()
    const apps = await Promise.all(brakes.map(({ appId }) => store.findApp(appId)))
    return brakes.flatMap((cause, index) => {
      const app = apps[index]
      return app ? [{ app: shorten(app), cause }] : []
    })
  }

  const readRefused = async (at: number): Promise<AlertFacts['refused']> => {
    const byAccount = Map.groupBy(await store.countRefusals(at - REFUSED_MS), ({ accountId }) => accountId)
    const read = async ([accountId, codes]: [string, { code: string; count: number }[]]) => {
      const [app] = await store.listApps(accountId)
      return { accountId, appId: app?.publicId ?? null, codes }
    }
    return Promise.all([...byAccount].map(read))
  }

  return {
    /** A server of this name took an email just now. */
    noteSent: servers.noteSent,

    /** `known`: titles of open alerts, by subject. */
    async read(known: ReadonlyMap<string, string>): Promise<AlertFacts> {
      const at = clock.now()
      const isLong = fault !== null && clock.monotonicMs() - fault.since >= LONG_FAULT_MS
      return {
        at,
        servers: await servers.read(known),
        brakes: await readBrakes(),
        disk: await readDisk(store, location),
        writeFault: isLong && fault ? fault.reason : null,
        isLocal: 'folder' in location,
        backup: await readBackups(store, { everyMs: backupEveryMs, since: startedAt }),
        refused: await readRefused(at),
        clocks: (await store.listRunning()).map(({ clockAheadMs }) => clockAheadMs),
      }
    },
  }
}

const shorten = ({ publicId, name, accountId }: App): App => ({ publicId, name, accountId })

/** `goodAt`: the last that was answered. `backAt`: the last after failed ones. Times are of the monotonic clock. */
type Probe = { name: string; failures: number; reason: string | null; at: number; goodAt: number; backAt: number }
const NO_PROBE = { failures: 0, reason: null, goodAt: Number.NEGATIVE_INFINITY, backAt: Number.NEGATIVE_INFINITY }

/** `since`: the last good probe before. */
type Return = { isLong: boolean; since: number }
type Paused = { since: number; lastAt: number }

function createServerWatch({ store, clock, mailer }: Pick<Dependencies, 'store' | 'clock' | 'mailer'>) {
  const probes = new Map<string, Probe>()
  const pauses = new Map<string, Paused>()

  const nameOf = (settings: MailSettings): string => mailer.findMailRoute({ settings, app: { name: '' } }).server ?? ''

  const listUsed = async (): Promise<Map<string, Used>> => {
    const used = new Map<string, Used>()
    if (mailer.senders.installation.hasServer)
      used.set('', { name: nameOf(NO_SETTINGS), accountId: null, settings: NO_SETTINGS, apps: [] })
    for (const app of await store.listOwnServers()) {
      const settings = { ...NO_SETTINGS, smtpUrl: app.smtpUrl }
      const key = keyOf(app.accountId, app.smtpUrl)
      const one = used.get(key) ?? { name: nameOf(settings), accountId: app.accountId, settings, apps: [] }
      one.apps.push(shorten(app))
      used.set(key, one)
    }
    return used
  }

  /** @returns null unless it can be reached again */
  const probe = async (key: string, { name, settings }: Used): Promise<Return | null> => {
    const [last, now] = [probes.get(key), clock.monotonicMs()]
    if (last && last.failures === 0 && now - last.at < PROBE_EVERY_MS) return null
    const reason = await mailer.probe(settings)
    const { failures, goodAt: since, backAt } = last ?? NO_PROBE
    const isGood = reason === null
    const isLong = isGood && failures >= FAILED_PROBES
    probes.set(key, {
      name,
      failures: isGood ? 0 : failures + 1,
      reason,
      at: now,
      goodAt: isGood ? now : since,
      backAt: isLong ? now : backAt,
    })
    return isGood && failures > 0 ? { isLong, since } : null
  }

  /** Emails that waited for it leave now, the first one as a try. What failed while it was gone no longer counts. */
  const resume = async ({ settings }: Used, { isLong, since }: Return, waiting: readonly Trouble[]): Promise<void> => {
    mailer.noteReached(settings, { failedSince: isLong ? since : null })
    for (const { app } of isLong ? waiting : []) {
      const known = pauses.get(app.publicId)
      if (known && known.since >= since) pauses.delete(app.publicId)
    }
    const appIds = waiting.map(({ id }) => id)
    if (appIds.length > 0) await store.retryUnreached({ appIds, at: clock.now() })
  }

  /** Whether it is paused for so long that somebody should look. */
  const isLongPaused = (key: string, isPaused: boolean): boolean => {
    const [known, now] = [pauses.get(key), clock.monotonicMs()]
    if (isPaused) {
      const since = known && now - known.lastAt <= SAME_PAUSE_MS ? known.since : now
      pauses.set(key, { since, lastAt: now })
      return now - since >= LONG_PAUSE_MS
    }
    if (known && now - known.lastAt > SAME_PAUSE_MS) pauses.delete(key)
    return known !== undefined && pauses.has(key) && known.lastAt - known.since >= LONG_PAUSE_MS
  }

  type Trouble = { id: number; app: App; waiting: number; isRefused: boolean; reason: string | null }

  /** By the key of its server: apps whose emails wait for it. */
  const readTroubles = async (): Promise<Map<string, Trouble[]>> => {
    const found = new Map<string, Trouble[]>()
    for (const [index, appId] of (await store.listWaitingApps()).entries()) {
      if (index % APPS_A_TURN === APPS_A_TURN - 1) await Bun.sleep(0)
      const [app, settings] = await Promise.all([store.findApp(appId), store.mailSettings(appId)])
      if (app === null) continue
      const pause = mailer.findPause(app, settings)
      const refused = await store.countDeferred(appId, NO_ACCESS)
      const others = await store.countDeferred(appId, NOT_NOW)
      const isPausedLong = isLongPaused(app.publicId, pause !== null)
      const key = keyOf(app.accountId, settings.smtpUrl)
      const trouble = {
        id: app.id,
        app: shorten(app),
        waiting: refused + others,
        isRefused: refused > 0 || isPausedLong,
        reason: pause?.reason ?? null,
      }
      found.set(key, [...(found.get(key) ?? []), trouble])
    }
    return found
  }

  const read = async (known: ReadonlyMap<string, string>): Promise<ServerFacts[]> => {
    const used = await listUsed()
    for (const key of probes.keys()) if (!used.has(key)) probes.delete(key)
    const probed = [...used].slice(0, MOST_PROBED)
    const reached = await Promise.all(probed.map(([key, one]) => probe(key, one)))
    const troubles = await readTroubles()
    await Promise.all(
      probed.map(([key, one], index) => {
        const back = reached[index]
        return back && resume(one, back, troubles.get(key) ?? [])
      }),
    )
    return [...used].map(([key, { name, accountId, settings, apps }]): ServerFacts => {
      const { failures, reason, backAt } = probes.get(key) ?? NO_PROBE
      const title = known.get(subjectOf({ name, accountId }))
      const isFailing = reason !== null && failures >= (title === undefined ? FAILED_PROBES : 1)
      const waiting = troubles.get(key) ?? []
      const count = waiting.reduce((sum, one) => sum + one.waiting, 0)
      const { isSeen, outage } = mailer.findOutage(settings)
      const isBack = clock.monotonicMs() - backAt < LEAVING_MS
      const refused = isBack ? [] : waiting.filter(({ isRefused }) => isRefused)
      return {
        name,
        accountId,
        apps,
        failing: isFailing ? { reason } : null,
        outage: outage ?? (isSeen || title === undefined ? null : readOutage(title, { name, waiting: count })),
        refused:
          refused.length === 0
            ? null
            : {
                apps: refused.map(({ app }) => app),
                reason: refused.find((one) => one.reason !== null)?.reason ?? null,
              },
        waiting: count,
      }
    })
  }

  return {
    read,
    noteSent(name: string): void {
      for (const [key, one] of probes)
        if (one.name === name) {
          const now = clock.monotonicMs()
          probes.set(key, { ...one, failures: 0, reason: null, at: now, goodAt: now })
        }
    },
  }
}

/** The same URL of two accounts is two servers: each is told about its own. */
const keyOf = (accountId: string, smtpUrl: string | null): string => (smtpUrl === null ? '' : `${accountId} ${smtpUrl}`)
