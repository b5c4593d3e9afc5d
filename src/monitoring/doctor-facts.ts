/** The facts of the doctor: from the data folder, and from outside only where they were asked for. */
import { resolve } from 'node:path'
import { findLastCheck, readReceived } from '../accounts/dns-checks.ts'
import { type CheckedSender, listCheckedSenders, type SenderCheck } from '../accounts/sender-checks.ts'
import { domainOf, findFrom } from '../accounts/senders.ts'
import type { BackupPlace } from '../core/backup-places.ts'
import type { Clock } from '../core/clock.ts'
import { type DataLocation, describeLocation } from '../core/data-location.ts'
import { isLinkUnreachable } from '../people/unsubscribe.ts'
import type { Mailer, MailRoute, ServerCheck } from '../messages/mailer.ts'
import { findFolderFault, ownerOf } from '../store/engine/folder.ts'
import { findExposed } from '../store/engine/database.ts'
import { NO_SETTINGS } from '../store/mail-settings.ts'
import type { MailSettings } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { AppRow } from '../store/types.ts'
import { listAlertSenders, listTold, readBackups, readDisk } from './alert-facts.ts'
import type { DoctorFacts, Tried } from './doctor.ts'
import { readUntrustedProxy, type ServerFacts } from './installation.ts'

/** What is asked outside of this machine. Null: it isn't. */
export type Lookups = {
  /** the public address */
  tryAddress: (baseUrl: string) => Promise<Tried | null>
  /** DNS records of a sender; null: as they were last time */
  checkSender: ((sender: CheckedSender) => Promise<SenderCheck[]>) | null
  checkServer: (app: Pick<AppRow, 'publicId'>, settings: MailSettings, name: string) => Promise<ServerCheck | null>
  /** the webhook and the second mail server; null: only the server has their settings */
  tryRoutes: () => Promise<Tried[] | null>
  /** asks the system */
  isClockSynchronized: () => Promise<boolean | null>
}

type Given = {
  store: Store
  clock: Pick<Clock, 'now'>
  location: DataLocation
  mailer: Pick<Mailer, 'senders' | 'findMailRoute' | 'listNoticeSenders'>
  server: ServerFacts
  isServed: boolean
  hasSecondRoute: boolean
  /** modes before they were changed */
  exposed?: DoctorFacts['exposed']
  removedCopies?: string[]
}

/** Domains whose records are looked up. */
const MOST_DOMAINS = 20

export async function readDoctorFacts(given: Given, lookups: Lookups): Promise<DoctorFacts> {
  const { store, clock, location, server, isServed, hasSecondRoute, exposed, removedCopies = [] } = given
  const { databaseBytes, logBytes } = store.stats()
  const { all, senders, hasServer, hasSender } = await readSendingApps(given)
  const [tried, records, mailServers, routes, isSynchronized] = await Promise.all([
    isServed && !isLinkUnreachable(server.baseUrl) ? lookups.tryAddress(server.baseUrl) : null,
    readRecords(given, senders, lookups),
    checkServers(given, lookups),
    lookups.tryRoutes(),
    lookups.isClockSynchronized(),
  ])
  const alerts = await store.listAlerts()
  return {
    at: clock.now(),
    data: {
      location: describeLocation(location),
      isLocal: 'folder' in location,
      bytes: databaseBytes + logBytes,
      schemaVersion: store.schemaVersion,
      risks: await store.listRisks(),
    },
    removedCopies,
    exposed: exposed ?? ('folder' in location ? findExposed(location.folder) : []),
    disk: await readDisk(store, location),
    clock: { newestAt: await store.findNewestTime(), isSynchronized, aheadMs: store.clockAheadMs() },
    address: { baseUrl: server.baseUrl, isLocal: isLinkUnreachable(server.baseUrl), isServed, tried },
    proxy: { trusted: server.trustedProxies, untrusted: await readUntrustedProxy(store) },
    sender: {
      hasServer,
      hasSender,
      without: await listWithout(given, all),
    },
    records,
    backup: await readBackups(store, { everyMs: server.backupEveryMs, since: server.startedAt }),
    backupFolder: 'folder' in location ? readBackupFolder(server.backupFolder, location.folder) : null,
    mailServers,
    alerts: {
      routes,
      hasSecondRoute,
      unsent: await findUnsent(given, hasServer),
      open: alerts.flatMap(({ resolvedAt, kind, title, fix, path, openedAt }) =>
        resolvedAt === null ? [{ kind, title, fix, path, since: openedAt }] : [],
      ),
    },
  }
}

/** As a full path: a command may run in another folder. Null: no scheduled backups, or in a bucket. */
export const backupFolderOf = ({ backups }: { backups: { place: BackupPlace } | null }): string | null =>
  backups && 'folder' in backups.place ? resolve(backups.place.folder) : null

/** The data folder belongs to the server's user. */
export const readBackupFolder = (path: string | null, dataFolder: string): DoctorFacts['backupFolder'] =>
  path ? { path, fault: findFolderFault(path), owner: ownerOf(dataFolder) } : null

/** A command doesn't have the settings of the server, but knows whether it has a mail server and a sender address. */
async function findUnsent(given: Given, hasServer: boolean): Promise<DoctorFacts['alerts']['unsent']> {
  const { store, mailer, server, hasSecondRoute } = given
  if ((await listTold(store, null)).length === 0) return 'no_owner'
  if (!hasServer || hasSecondRoute) return null
  if (server.mailServer !== null && mailer.senders.installation.from !== null) return null
  const senders = await listAlertSenders(given, (await store.findAccount(null))?.id ?? '')
  return senders.length === 0 ? 'no_sender' : null
}

type SendingApp = { app: AppRow; settings: MailSettings; route: MailRoute }

/** By what they send as and through, so that apps that send alike are read once. */
function listDistinct(apps: readonly AppRow[], allSettings: ReadonlyMap<number, MailSettings>) {
  const found = new Map<string, { app: AppRow; settings: MailSettings }>()
  for (const app of apps) {
    const settings = allSettings.get(app.id) ?? NO_SETTINGS
    const { smtpUrl, fromEmail, dkimSelector } = settings
    const key = JSON.stringify([smtpUrl, fromEmail === null ? null : domainOf(fromEmail), dkimSelector])
    if (!found.has(key)) found.set(key, { app, settings })
  }
  return found.values()
}

/** `all`: for names. `senders`: each domain once for each server that sends for it. */
type SendingApps = { all: AppRow[]; senders: SendingApp[]; hasServer: boolean; hasSender: boolean }

async function readSendingApps({ store, mailer, server: { mailServer } }: Given): Promise<SendingApps> {
  const [all, allSettings] = await Promise.all([store.listAllApps(), store.listMailSettings()])
  const found = new Map<string, SendingApp>()
  let [hasServer, hasSender] = [mailServer !== null, false]
  for (const { app, settings } of listDistinct(all, allSettings)) {
    if (found.size === MOST_DOMAINS) break
    const own = mailer.findMailRoute({ settings, app })
    // a command doesn't have the settings of the server
    const route = own.server === null && !own.isOwn && mailServer ? { ...own, ...mailServer } : own
    const from = route.from ?? findFrom({ settings, fallback: mailer.senders.installation.from, app })
    hasServer ||= route.host !== null
    hasSender ||= from !== null
    if (from === null || route.host === null) continue
    const key = `${domainOf(from.address)} ${route.host} ${route.isApi ? null : settings.dkimSelector}`
    if (!found.has(key)) found.set(key, { app, settings, route: { ...route, from } })
  }
  return { all, senders: [...found.values()], hasServer, hasSender }
}

async function listWithout({ mailer }: Given, apps: readonly AppRow[]): Promise<DoctorFacts['sender']['without']> {
  const names = new Map(apps.map(({ publicId, name }) => [publicId, name]))
  const found = await mailer.senders.listWithoutSender()
  return found.map(({ appId, messages }) => ({ appId, appName: names.get(appId) ?? appId, messages }))
}

async function readRecords({ store, server }: Given, senders: readonly SendingApp[], { checkSender }: Lookups) {
  const read = async ({ app, settings, route }: SendingApp) => {
    const received = await readReceived(store, app.id)
    const [sender] = listCheckedSenders(route, settings, { emails: [], received, baseUrl: server.baseUrl })
    if (sender === undefined) return []
    const last = await findLastCheck(store, app.id, sender)
    const checks = checkSender === null ? (last?.checks ?? null) : await checkSender(sender)
    return [{ appId: app.publicId, domain: sender.domain, checks }]
  }
  return (await Promise.all(senders.map(read))).flat()
}

async function checkServers(
  { store, mailer, server }: Given,
  { checkServer }: Lookups,
): Promise<DoctorFacts['mailServers']> {
  const own = new Map<string, { publicId: string | null; settings: MailSettings }>()
  for (const { publicId, name, smtpUrl } of await store.listOwnServers()) {
    if (own.size >= MOST_DOMAINS) break
    const settings = { ...NO_SETTINGS, smtpUrl }
    const shown = mailer.findMailRoute({ settings, app: { name } }).server ?? 'The mail server of an app'
    own.set(shown, { publicId, settings })
  }
  const shared = server.mailServer ? [[server.mailServer.name, { publicId: null, settings: NO_SETTINGS }] as const] : []
  return Promise.all(
    [...shared, ...own].map(async ([name, { publicId, settings }]) => ({
      name,
      appId: publicId,
      check: await checkServer({ publicId: publicId ?? '' }, settings, name),
    })),
  )
}
