/** The usual mistakes of an installation, each with its fix. Times are ms UTC. */
import { nameChecks, type SenderCheck, isMissing, isUnknown } from '../accounts/sender-checks.ts'
import { formatBytes } from '../core/bytes.ts'
import { formatCount } from '../core/count.ts'
import { DAY_MS, MINUTE_MS } from '../core/clock.ts'
import { describeDifference, isClockNoticed } from '../core/clock-difference.ts'
import { formatDuration, formatTimeInZone } from '../core/format-time.ts'
import { upperFirst } from '../core/text.ts'
import { describeReason } from '../deliveries/describe-reason.ts'
import type { ServerCheck } from '../messages/mailer.ts'
import type { Backup } from '../store/backups.ts'
import type { FolderFault } from '../store/engine/folder.ts'
import type { ServerRisk } from '../store/postgres/server-facts.ts'
import {
  type BackupFacts,
  CLOCKS_FIX,
  describeBackupFix,
  describeRefusalFix,
  type DiskFacts,
  isBackupLate,
  isDiskLow,
  neededBytes,
} from './alerts.ts'

export type CheckName =
  | 'Data folder'
  | 'Database'
  | 'Permissions'
  | 'Disk'
  | 'Clock'
  | 'Public address'
  | 'Proxy'
  | 'Sender'
  | 'DNS records'
  | 'Backup'
  | 'Mail server'
  | 'Alerts'

/** Of the dashboard. `path`: without a leading slash, of any app. `saysFix`: the text of the fix isn't needed then. */
export type FindingPage = { path: string; label: string; saysFix?: true }

/**
 * `caution`: works, but not as well as it could. `unknown`: not checked. `fix` null: nothing to do; one line for each part.
 */
export type Finding = {
  check: CheckName
  state: 'good' | 'caution' | 'bad' | 'unknown'
  text: string
  fix: string | null
  page?: FindingPage
}

/** An endpoint that was tried. `problem` null: it answered. */
export type Tried = { name: string; problem: string | null }

export type DoctorFacts = {
  at: number
  /** `isLocal`: in the data folder, not in PostgreSQL */
  data: { location: string; isLocal: boolean; bytes: number; schemaVersion: number; risks: ServerRisk[] }
  /** copies of upgrades that were old and have just been removed */
  removedCopies: string[]
  /** files and folders that other users of the machine can open */
  exposed: { file: string; mode: string }[]
  disk: DiskFacts | null
  clock: {
    newestAt: number | null
    /** by the system; null: unknown */
    isSynchronized: boolean | null
    /** of the database server's, in ms */
    aheadMs: number
  }
  /** `isServed` null: unknown. `tried` null: it was not asked for */
  address: { baseUrl: string; isLocal: boolean; isServed: boolean; tried: Tried | null }
  proxy: { trusted: readonly string[]; untrusted: string | null }
  sender: {
    /** of the installation or an app */
    hasServer: boolean
    hasSender: boolean
    /** live messages without a sender address, by app */
    without: { appId: string; appName: string; messages: number }[]
  }
  /** `checks` null: never looked up */
  records: { appId: string; domain: string; checks: SenderCheck[] | null }[]
  backup: BackupFacts
  /** of scheduled backups, with the server's user; null: there are none, or they go to a bucket */
  backupFolder: { path: string; fault: FolderFault | null; owner: string } | null
  /** `appId`: of an app with it; null: the installation's. `check` null: it was not asked for, or its password is unknown */
  mailServers: { name: string; appId: string | null; check: ServerCheck | null }[]
  alerts: {
    /** the webhook and the second mail server; null: only the server has their settings */
    routes: Tried[] | null
    hasSecondRoute: boolean
    /** why nobody gets alert emails; null: somebody does, or there is no mail server at all */
    unsent: 'no_owner' | 'no_sender' | null
    open: { kind: string; title: string; fix: string; path: string; since: number }[]
  }
}

const good = (check: CheckName, text: string): Finding => ({ check, state: 'good', text, fix: null })
const bad = (check: CheckName, text: string, fix: string, page?: FindingPage): Finding => ({
  check,
  state: 'bad',
  text,
  fix,
  ...(page && { page }),
})
const caution = (check: CheckName, text: string, fix: string | null, page?: FindingPage): Finding => ({
  check,
  state: 'caution',
  text,
  fix,
  ...(page && { page }),
})

const DATABASE_SETTINGS = { path: '/docs/postgresql#settings', label: 'Settings for PostgreSQL' }
const PUBLIC_ADDRESS = { path: '/docs/hosting#public-address', label: 'How to set it' }
const PROXIES = { path: '/docs/hosting#behind-a-reverse-proxy', label: 'How to set up a reverse proxy' }
const BACKUPS = { path: '/docs/backups', label: 'How to make backups' }
const ALERTS = { path: '/docs/alerts', label: 'How alerts work' }
const OWN_SETTINGS = { path: '/docs/hosting#settings-to-set-first', label: 'Settings to set first' }
const unknown = (check: CheckName, text: string, fix: string | null): Finding => ({
  check,
  state: 'unknown',
  text,
  fix,
})

/** In the order in which problems are best solved. */
export function diagnose(facts: DoctorFacts): Finding[] {
  const found = [
    aboutData(facts),
    ...facts.data.risks.map(aboutRisk),
    ...(facts.data.isLocal ? [aboutPermissions(facts), aboutDisk(facts)] : []),
    ...aboutCopies(facts),
    aboutClock(facts),
    aboutAddress(facts),
    aboutProxy(facts),
    ...aboutSender(facts),
    ...aboutRecords(facts),
    facts.data.isLocal ? aboutBackup(facts) : POSTGRES_BACKUP,
    ...aboutMailServers(facts),
  ]
  const isFound = (kind: string): boolean =>
    found.some((one) => one.state === 'bad' && one.check === CHECK_OF.get(kind))
  return [...found, ...aboutAlerts(facts, isFound)]
}

const aboutCopies = ({ removedCopies }: DoctorFacts): Finding[] =>
  removedCopies.map((file) => ({
    check: 'Disk',
    state: 'good',
    text: `Removed ${file}, a copy made before an upgrade more than a week ago.`,
    fix: null,
  }))

/** What says the same as an alert of a kind. */
const CHECK_OF: ReadonlyMap<string, CheckName> = new Map([
  ['sending', 'Mail server'],
  ['disk', 'Disk'],
  ['backup', 'Backup'],
  ['clock', 'Clock'],
])

export const isProblem = ({ state }: Finding): boolean => state === 'bad'

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** "2 problems, 1 recommendation.", "No problems found." */
export function summarize(findings: readonly Finding[]): string {
  const problems = findings.filter(isProblem).length
  const cautions = findings.filter(({ state }) => state === 'caution').length
  const about = problems === 0 ? 'No problems' : counted(problems, 'problem')
  return cautions === 0 ? `${about} found.` : `${about}, ${counted(cautions, 'recommendation')}.`
}

function aboutData({ data: { location, isLocal, bytes, schemaVersion } }: DoctorFacts): Finding {
  // each engine counts its own versions
  return isLocal
    ? good('Data folder', `${location} contains a database of ${formatBytes(bytes)}, schema version ${schemaVersion}.`)
    : good('Database', `${location} contains ${formatBytes(bytes)}, PostgreSQL schema ${schemaVersion}.`)
}

const OF_STORAGE = 'unless your provider says that its storage needs no such setting, as with Amazon Aurora and Neon'

export function aboutRisk({ setting, value }: ServerRisk): Finding {
  if (setting === 'synchronous_commit')
    return caution(
      'Database',
      `synchronous_commit is ${value} by default. Eventpost turns it on whenever it saves what it has accepted.`,
      'Set synchronous_commit to on for the server, the database and the user.',
      DATABASE_SETTINGS,
    )
  const what = setting === 'fsync' ? 'crashes' : 'crashes in the middle of a write'
  return caution(
    'Database',
    `${setting} is off: if the database's machine ${what}, data can be lost or damaged.`,
    `Turn ${setting} on in postgresql.conf, ${OF_STORAGE}.`,
    DATABASE_SETTINGS,
  )
}

export function aboutPermissions({ exposed }: Pick<DoctorFacts, 'exposed'>): Finding {
  if (exposed.length === 0) return good('Permissions', "Only the server's user can open the data.")
  const [first] = exposed
  const others = exposed.length === 1 ? '' : ` and ${exposed.length - 1} more`
  return bad(
    'Permissions',
    `Other users of this machine can open ${first?.file} (mode ${first?.mode})${others}.`,
    `Run chmod go-rwx ${exposed.map(({ file }) => file).join(' ')}`,
  )
}

function aboutDisk({ disk }: DoctorFacts): Finding {
  if (disk === null) return unknown('Disk', "The free disk space can't be read on this system.", null)
  const free = `${formatBytes(disk.freeBytes)} is free`
  if (!isDiskLow(disk)) return good('Disk', `${free}.`)
  return bad('Disk', `${free}, and ${formatBytes(neededBytes(disk))} is needed.`, 'Delete files, or use a larger disk.')
}

/** Rows are stored a little ahead while many come at once. */
const CLOCK_MS = 2 * MINUTE_MS

function aboutClock({ at, clock: { newestAt, isSynchronized, aheadMs } }: DoctorFacts): Finding {
  const now = formatTimeInZone(at, 'UTC')
  if (isClockNoticed(aheadMs))
    return bad('Clock', `The clock says ${now}, which is ${describeDifference(aheadMs)}.`, CLOCKS_FIX)
  if (newestAt !== null && newestAt - at > CLOCK_MS) {
    return bad(
      'Clock',
      `The clock says ${now}, but the newest data is from ${formatDuration(newestAt - at)} later.`,
      'Set the clock, and turn on time synchronization, for example with timedatectl set-ntp true.',
    )
  }
  if (isSynchronized === false) {
    return caution('Clock', `The clock (${now}) is not synchronized.`, 'Run timedatectl set-ntp true.')
  }
  return good('Clock', `The clock says ${now}${isSynchronized ? ' and is synchronized' : ''}.`)
}

function aboutAddress({ address: { baseUrl, isLocal, isServed, tried }, sender }: DoctorFacts): Finding {
  if (isLocal) {
    const text = `Links in emails and to the dashboard lead to ${baseUrl}, which only this machine can open.`
    const fix = 'Set EVENTPOST_BASE_URL to the public address, such as https://post.example.com.'
    return (sender.hasServer ? bad : caution)('Public address', text, fix, PUBLIC_ADDRESS)
  }
  if (!isServed)
    return unknown(
      'Public address',
      `No server is running on this data folder, so ${baseUrl} was not checked.`,
      'Start the server with eventpost serve.',
    )
  if (tried?.problem) {
    return bad(
      'Public address',
      `${baseUrl} can't be reached: ${tried.problem}`,
      'Check that the server is running and that the reverse proxy passes requests to it. Then check the DNS record and the firewall.',
    )
  }
  if (baseUrl.startsWith('http:')) {
    return caution(
      'Public address',
      `${baseUrl} is not encrypted: passwords and keys cross the network in plain text.`,
      'Put a reverse proxy with TLS in front, and set EVENTPOST_BASE_URL to the https address.',
      PROXIES,
    )
  }
  return good('Public address', tried === null ? `${baseUrl}.` : `${baseUrl} responds.`)
}

/** Eventpost speaks no TLS, so behind an https address there is a proxy. */
function aboutProxy({ address: { baseUrl }, proxy: { trusted, untrusted } }: DoctorFacts): Finding {
  const consequence = 'All visitors count as one, and rate limits apply to all of them together.'
  if (untrusted !== null) {
    return bad(
      'Proxy',
      `${untrusted} sends X-Forwarded-For but is not a trusted proxy. ${consequence}`,
      `If it is your reverse proxy, set EVENTPOST_TRUSTED_PROXIES=${[...trusted, untrusted].join(',')} and restart the server.`,
      PROXIES,
    )
  }
  if (baseUrl.startsWith('https:') && trusted.length === 0) {
    return bad(
      'Proxy',
      `${baseUrl} is behind a reverse proxy, but no proxy is trusted. ${consequence}`,
      "Set EVENTPOST_TRUSTED_PROXIES to the proxy's address, such as 127.0.0.1, and restart the server.",
      PROXIES,
    )
  }
  return good('Proxy', trusted.length === 0 ? 'No reverse proxy is in use.' : `Trusted: ${trusted.join(', ')}.`)
}

function aboutSender({ sender: { hasServer, hasSender, without } }: DoctorFacts): Finding[] {
  if (without.length > 0) {
    return without.map(({ appId, appName, messages }) =>
      bad(
        'Sender',
        `${messages === 1 ? '1 live message' : `${formatCount(messages)} live messages`} in ${appName} can't be sent: no sender address is set.`,
        "Add one on the app's Sender page, or set EVENTPOST_MAIL_FROM.",
        { path: `/apps/${appId}/sender`, label: 'Set a sender address', saysFix: true },
      ),
    )
  }
  if (!hasSender)
    return [
      caution(
        'Sender',
        'No sender address is set.',
        'Add one on the Sender page of an app, or set EVENTPOST_MAIL_FROM.',
        { path: 'sender', label: 'Set a sender address' },
      ),
    ]
  return [
    hasServer ? good('Sender', 'Every live message has a sender address.') : good('Sender', 'A sender address is set.'),
  ]
}

function aboutRecords({ records, address: { baseUrl } }: DoctorFacts): Finding[] {
  if (records.length === 0) return [good('DNS records', 'No domain sends emails yet.')]
  return records.map(({ appId, domain, checks }) => {
    const path = `/apps/${appId}/sender/domain`
    const url = `${baseUrl}${path}`
    if (checks === null)
      return unknown('DNS records', `The records for ${domain} have not been looked up.`, `Open ${url} to check them.`)
    const missing = checks.filter(isMissing)
    if (missing.length > 0) {
      const text = `${upperFirst(nameChecks(missing))} for ${domain} ${missing.length === 1 ? 'is' : 'are'} missing or wrong, so emails may go to spam.`
      const fix = [`Add the records shown on ${url}:`, ...missing.map(describeCheck)].join('\n')
      const isBad = missing.some(({ state }) => state === 'bad')
      const link = { path: `${path}#checks`, label: 'Show the records to add', saysFix: true } as const
      return (isBad ? bad : caution)('DNS records', text, fix, link)
    }
    const unread = checks.filter(isUnknown)
    if (unread.length > 0)
      return unknown(
        'DNS records',
        `${upperFirst(nameChecks(unread))} for ${domain} could not be looked up.`,
        "Check this machine's network and DNS.",
      )
    return good('DNS records', `The records for ${domain} are in place.`)
  })
}

const describeCheck = ({ sentence, record }: SenderCheck): string =>
  record === null ? sentence : `${sentence} ${record.type} record for ${record.name}: ${record.value}`

/** Without scheduled backups. */
const OLD_BACKUP_MS = 7 * DAY_MS

type BackupFolder = NonNullable<DoctorFacts['backupFolder']>

export function describeBackupFolder(
  { path, owner }: BackupFolder,
  fault: NonNullable<BackupFolder['fault']>,
): { text: string; fix: string } {
  const text = `Scheduled backups can't be made: ${FOLDER_FAULTS[fault](path)}`
  if (fault === 'not_folder') return { text, fix: 'Set EVENTPOST_BACKUP_TO to a folder.' }
  if (fault === 'read_only')
    return {
      text,
      fix: `Mount it read-write, or add ReadWritePaths=${path} to the systemd unit, and restart the server.`,
    }
  return { text, fix: giveFolder(path, owner) }
}

const FOLDER_FAULTS: Readonly<Record<NonNullable<BackupFolder['fault']>, (path: string) => string>> = {
  missing: (path) => `the folder ${path} does not exist.`,
  not_folder: (path) => `${path} is not a folder.`,
  read_only: (path) => `the folder ${path} is read-only.`,
  denied: (path) => `the folder ${path} can't be written to.`,
}

/** Creates it if it is missing. */
const giveFolder = (path: string, owner: string): string => `Run sudo install -d -m 700 -o ${owner} ${path}`

/** The doctor may run as another user than the server, so a folder may look fine to it. */
function fixFailed({ kind, place, error }: Backup, folder: DoctorFacts['backupFolder']): string {
  const fix = describeBackupFix(error)
  if (kind === 'manual') return 'Run eventpost backup FILE again.'
  if (fix !== describeBackupFix(null)) return fix
  if (place.startsWith('s3://')) return 'Check EVENTPOST_BACKUP_TO, the EVENTPOST_S3_ settings, and the bucket.'
  return folder === null ? fix : giveFolder(folder.path, folder.owner)
}

const POSTGRES_BACKUP = unknown(
  'Backup',
  "The data is in PostgreSQL, which Eventpost doesn't back up.",
  "Make backups with pg_dump or your provider's tools, and restore one now and then to test them.",
)

function aboutBackup({ backup, backupFolder, at }: DoctorFacts): Finding {
  const { everyMs, lastGood, lastFailed } = backup
  const failed = lastFailed !== null && lastFailed.finishedAt > (lastGood?.finishedAt ?? 0) ? lastFailed : null
  const age = lastGood === null ? null : formatDuration(at - lastGood.finishedAt)
  const last = age === null ? 'There is no backup.' : `The last backup is ${age} old.`
  if (backupFolder?.fault) {
    const { text, fix } = describeBackupFolder(backupFolder, backupFolder.fault)
    return bad('Backup', `${text} ${last}`, fix, BACKUPS)
  }
  const tried = failed === null ? last : `${last} The last attempt failed: ${failed.error}`
  if (failed !== null && failed.kind === 'scheduled' && everyMs !== null)
    return bad('Backup', tried, fixFailed(failed, backupFolder), BACKUPS)
  if (isBackupLate(backup, at)) return bad('Backup', tried, describeBackupFix(failed?.error ?? null), BACKUPS)
  if (everyMs === null && (lastGood === null || at - lastGood.finishedAt > OLD_BACKUP_MS))
    return caution(
      'Backup',
      tried,
      'Set EVENTPOST_BACKUP_TO for scheduled backups, or run eventpost backup FILE regularly.',
      BACKUPS,
    )
  return failed === null ? good('Backup', last) : caution('Backup', tried, fixFailed(failed, backupFolder), BACKUPS)
}

function aboutMailServers({ mailServers, sender, alerts }: DoctorFacts): Finding[] {
  if (mailServers.length === 0 || !sender.hasServer)
    return [
      caution(
        'Mail server',
        `No mail server is set up: emails are captured, not sent${alerts.hasSecondRoute ? '' : ', and nobody gets alert emails'}.`,
        'Set EVENTPOST_SMTP_URL, or set up a mail server on the Sender page of an app.',
        { path: 'sender/server', label: 'Set up a mail server' },
      ),
    ]
  return mailServers.map(({ name, appId, check }) => {
    if (check === null) return unknown('Mail server', `${name} was not checked.`, null)
    if (check.is === 'failed') {
      const reply = check.reply === undefined ? '' : ` It replied ${check.reply}.`
      // some reasons also say what to do
      const [cause, ownFix] = splitFix(describeReason(check.reason, '', 'deferred'))
      return bad(
        'Mail server',
        `${name} can't be used. ${cause}${reply}`,
        describeRefusalFix(check.reason, appId === null) ??
          ownFix ??
          'Check that it is running, and check its address and port.',
        appId === null ? OWN_SETTINGS : pageOfServer(appId),
      )
    }
    if (check.note === 'sandbox')
      return caution(
        'Mail server',
        `The account at ${name} is in the sandbox: it can send only to verified addresses.`,
        'Ask the provider for production access.',
      )
    if (check.note === 'paused')
      return bad('Mail server', `${name} has paused the account.`, 'Check your email for a notice from the provider.')
    return good('Mail server', `${name} responds.`)
  })
}

const pageOfServer = (appId: string): FindingPage => ({
  path: `/apps/${appId}/sender/server#server-check`,
  label: 'Check the connection',
})

function splitFix(reason: string): [cause: string, fix: string | null] {
  const at = reason.search(/ (Check|Remove|Choose) /)
  return at === -1 ? [reason, null] : [reason.slice(0, at), reason.slice(at + 1)]
}

const PAGES_OF_ALERTS: ReadonlyMap<string, Omit<FindingPage, 'path'>> = new Map([
  ['sending', { label: 'Check the connection' }],
  ['rates', { label: 'Show the rates', saysFix: true }],
  ['refused', { label: 'Show requests', saysFix: true }],
])

function pageOfAlert({ kind, path }: { kind: string; path: string }): FindingPage | undefined {
  const page = PAGES_OF_ALERTS.get(kind)
  return page && path.startsWith('/apps/') ? { path, ...page } : undefined
}

const UNSENT: Readonly<Record<'no_owner' | 'no_sender', [text: string, fix: string]>> = {
  no_owner: [
    'Nobody gets alert emails: the first account has no owner.',
    'Open the setup link that the server prints when it starts, or invite an owner with eventpost member invite --role owner.',
  ],
  no_sender: [
    'Nobody gets alert emails: there is no sender address for them.',
    'Set EVENTPOST_SMTP_URL and EVENTPOST_MAIL_FROM, or EVENTPOST_ALERT_WEBHOOK_URL, and restart the server.',
  ],
}

const UNKNOWN_ROUTES = unknown(
  'Alerts',
  'The server sends alerts to a webhook or through a second mail server, which was not checked.',
  "To check it, run this command with the server's EVENTPOST_ALERT_WEBHOOK_URL or EVENTPOST_ALERT_SMTP_URL.",
)

function aboutAlerts(
  { alerts: { routes, hasSecondRoute, unsent, open } }: DoctorFacts,
  isFound: (kind: string) => boolean,
): Finding[] {
  const found = [
    ...open
      .filter(({ kind }) => !isFound(kind))
      .map((alert) =>
        bad('Alerts', `${alert.title}, since ${formatTimeInZone(alert.since, 'UTC')}.`, alert.fix, pageOfAlert(alert)),
      ),
    ...(routes ?? []).map(({ name, problem }) =>
      problem === null
        ? good('Alerts', `${name} responds.`)
        : bad(
            'Alerts',
            `${name} can't be used. ${problem}`,
            'Check its address, and send a test alert from the System page.',
          ),
    ),
  ]
  if (routes === null) found.push(UNKNOWN_ROUTES)
  if (unsent !== null) found.push(bad('Alerts', ...UNSENT[unsent], ALERTS))
  if (!hasSecondRoute)
    found.push(
      caution(
        'Alerts',
        'Alerts are sent only through the same mail servers as your emails. If these fail, nobody gets an alert.',
        'Set EVENTPOST_ALERT_WEBHOOK_URL or EVENTPOST_ALERT_SMTP_URL.',
        ALERTS,
      ),
    )
  return found.length > 0 ? found : [good('Alerts', 'No alert is open.')]
}
