/** Which problems owners are told about, when they are over, and who is told. Times are ms UTC. */
import { formatCount } from '../core/count.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock.ts'
import { describeDifference, isClockNoticed } from '../core/clock-difference.ts'
import { makeTextId } from '../core/ids.ts'
import { formatBytes } from '../core/bytes.ts'
import type { NoticeResult } from '../accounts/notices.ts'
import { GIVE_UP_HOURS } from '../deliveries/decide.ts'
import { describeReason } from '../deliveries/describe-reason.ts'
import { describeBrakeCause } from '../deliveries/brake.ts'
import type { MailOutage } from '../messages/mailer.ts'
import type { Alert, AlertNotice } from '../store/alerts.ts'
import type { Backup } from '../store/backups.ts'
import type { BrakeCause } from '../store/brake-rules.ts'

export type { Alert, AlertNotice }

export type AlertKind = 'sending' | 'rates' | 'disk' | 'backup' | 'refused' | 'clock'

export type Condition = Pick<Alert, 'subject' | 'accountId' | 'title' | 'detail' | 'fix' | 'path'> & { kind: AlertKind }

type App = { publicId: string; name: string; accountId: string }

/**
 * A mail server in use. `accountId` null: the installation's. `failing`: it can't be reached. `outage`: it can, but no
 * email gets through; `reason` null: as before a restart. `refused`: it refuses all emails of an app, or its login.
 * `waiting`: emails that wait for it.
 */
export type ServerFacts = {
  name: string
  accountId: string | null
  apps: App[]
  failing: { reason: string } | null
  outage: { how: MailOutage['how']; reason: string | null } | null
  refused: { reason: string | null; apps: App[] } | null
  waiting: number
}

/** `everyMs` null: no scheduled backups. `since`: when the first one could have begun. */
export type BackupFacts = { everyMs: number | null; since: number; lastGood: Backup | null; lastFailed: Backup | null }

export type DiskFacts = { freeBytes: number; dataBytes: number }

export type AlertFacts = {
  at: number
  servers: ServerFacts[]
  brakes: { app: App; cause: BrakeCause }[]
  disk: DiskFacts | null
  /** why nothing can be saved */
  writeFault: string | null
  /** the data is in the data folder, not in PostgreSQL */
  isLocal: boolean
  backup: BackupFacts
  /** in the last minutes (REFUSED_MS), with a valid key or for a known app */
  refused: { accountId: string; appId: string | null; codes: { code: string; count: number }[] }[]
  /** of each instance, how far it is ahead of the database server's (ms) */
  clocks: number[]
}

/** Two accounts may use the same server, each with a login of its own. */
export const subjectOf = ({ name, accountId }: Pick<ServerFacts, 'name' | 'accountId'>): string =>
  accountId === null ? name : `${accountId} ${name}`

const SYSTEM = '/system'

export const findConditions = (facts: AlertFacts): Condition[] => [
  ...facts.servers.flatMap(aboutServer),
  ...facts.brakes.map(aboutRates),
  ...aboutDisk(facts),
  ...aboutBackup(facts.backup, facts.at),
  ...facts.refused.flatMap(aboutRefused),
  ...aboutClocks(facts),
]

const countOf = (count: number, one: string, many: string): string =>
  count === 1 ? one : `${formatCount(count)} ${many}`

const describeWaiting = (count: number): string =>
  count === 0 ? '' : ` ${countOf(count, 'One email is waiting.', 'emails are waiting.')}`

const nameApps = (apps: readonly App[]): string => new Intl.ListFormat('en').format(apps.map(({ name }) => name))

/** Then Eventpost gives up on them. */
const WAITING = `wait for up to ${GIVE_UP_HOURS} hours by default`
const EMAILS_WAIT = `Emails ${WAITING}.`

const REFUSES = 'refuses emails'
const UNREACHED = "can't be reached"

const SAYS_WAIT = new RegExp(`Emails (from .* )?${WAITING}\\.`)
const SAYS_WAITING = /(One email is|[\d,]+ emails are) waiting\.$/

/**
 * From an alert about a mail server. `isOfAll`: all apps that use it are affected. `isOfLogin`: other logins there may
 * work. `isWaiting`: emails wait for it.
 */
export function readServerAlert({ title, detail }: Pick<Alert, 'title' | 'detail'>): {
  cause: string
  isOfAll: boolean
  isOfLogin: boolean
  isWaiting: boolean
} {
  const cause = detail.replace(SAYS_WAIT, '').replace(SAYS_WAITING, '')
  return {
    cause: cause.replaceAll(/\s+/g, ' ').trim(),
    isOfAll: !title.endsWith(REFUSES),
    isOfLogin: !title.endsWith(UNREACHED),
    isWaiting: detail.includes(WAITING),
  }
}

type OutageText = { title: (name: string) => string; what: string; fix: string }

const OUTAGES: Record<MailOutage['how'], OutageText> = {
  silent: {
    title: (name) => `The mail server ${name} accepts no emails`,
    what: `It accepts connections, but stops responding while an email is being sent. ${EMAILS_WAIT}`,
    fix: "Check the mail server's log, or restart it. Sending then resumes automatically.",
  },
  unconfirmed: {
    title: (name) => `The mail server ${name} doesn't confirm emails`,
    what: "Emails are sent to it, but it doesn't respond. They may have arrived, so they become Unknown and aren't sent again, unless their message resends unconfirmed emails.",
    fix: "Check the mail server's log, or restart it. Then check the emails under Deliveries, Unknown.",
  },
  refused: {
    title: (name) => `The mail server ${name} refuses all emails for now`,
    what: `It asks Eventpost to send every email again later. ${EMAILS_WAIT}`,
    fix: "Check the mail server's log: it may be overloaded, out of disk space, or waiting for another service. Sending then resumes automatically.",
  },
}

/** After a restart, an outage lasts until an email shows otherwise. `title`: of the open alert. */
export function readOutage(
  title: string,
  { name, waiting }: Pick<ServerFacts, 'name' | 'waiting'>,
): ServerFacts['outage'] {
  const how = (['silent', 'unconfirmed', 'refused'] as const).find((one) => OUTAGES[one].title(name) === title)
  return how && (waiting > 0 || how === 'unconfirmed') ? { how, reason: null } : null
}

function describeOutage({ name, outage, waiting }: ServerFacts & { outage: NonNullable<ServerFacts['outage']> }) {
  const { title, what, fix } = OUTAGES[outage.how]
  const why =
    outage.how === 'refused' && outage.reason !== null ? ` ${describeReason(outage.reason, '', 'deferred')}` : ''
  return { title: title(name), detail: `${what}${why}${describeWaiting(waiting)}`, fix }
}

function aboutServer(server: ServerFacts): Condition[] {
  const { name, accountId, apps, failing, outage, refused, waiting } = server
  const [app] = refused?.apps ?? apps
  const path = app === undefined ? SYSTEM : `/apps/${app.publicId}/sender/server`
  const subject = subjectOf({ name, accountId })
  const base = { kind: 'sending', subject, accountId, path } as const
  if (failing) {
    const reason = describeReason(failing.reason, '', 'deferred')
    return [
      {
        ...base,
        title: `The mail server ${name} ${UNREACHED}`,
        detail: `${reason} ${EMAILS_WAIT}${describeWaiting(waiting)}`,
        fix: 'Start the mail server, or check its address and the network. Sending then resumes automatically.',
      },
    ]
  }
  if (outage) return [{ ...base, ...describeOutage({ ...server, outage }) }]
  if (refused === null) return []
  const why = refused.reason === null ? '' : ` ${describeReason(refused.reason, '', 'deferred')}`
  return [
    {
      ...base,
      title: `The mail server ${name} ${REFUSES}`,
      detail: `Emails from ${nameApps(refused.apps)} ${WAITING}.${why}${describeWaiting(waiting)}`,
      fix:
        describeRefusalFix(refused.reason, accountId === null) ??
        `Check the username and the password ${placeOfServer(accountId === null)}, and the sender address under Sender.`,
    },
  ]
}

/** Where the settings of a mail server are. `isShared`: it is the installation's. */
const placeOfServer = (isShared: boolean): string => (isShared ? 'in EVENTPOST_SMTP_URL' : 'under Sender, Mail server')

/** By what the server refuses, such as `smtp_451`. Null: it may be anything. */
export function describeRefusalFix(reason: string | null, isShared: boolean): string | null {
  if (reason === null) return null
  if (reason === 'eprivate')
    return 'Check its address under Sender, Mail server. To use a private one, the operator must restart Eventpost with EVENTPOST_MAIL_PRIVATE_HOSTS.'
  const place = placeOfServer(isShared)
  if (/^(eauth|enoauth|smtp_53[0458])$/.test(reason)) return `Check the username and the password ${place}.`
  if (/^api_40[13]$/.test(reason)) return `Check the API key ${place}.`
  if (reason.startsWith('from_5'))
    return 'Check the sender address under Sender, and that the mail server is allowed to send from its domain.'
  if (/^((smtp|from)_4|api_(429|5))/.test(reason))
    return "Check the mail server's log, or ask its provider: the server may be busy or may limit this sender. Sending resumes automatically once it accepts emails."
  if (/^(etls|euntrusted|eexpired|ename|eplain|erequiretls)$/.test(reason))
    return `Check the mail server's certificate, and its security settings ${place}.`
  return null
}

const aboutRates = ({ app, cause }: AlertFacts['brakes'][number]): Condition => ({
  kind: 'rates',
  subject: app.publicId,
  accountId: app.accountId,
  title: `Too many emails from ${app.name} ${cause.kind === 'bounces' ? 'bounce' : 'are reported as spam'}`,
  detail: `${describeBrakeCause(cause)}. Lifecycle emails wait, so that mailbox providers don't block your domain.`,
  fix: 'Find the cause under Sender, Bounces and complaints, then release the brake.',
  path: `/apps/${app.publicId}/sender/rates`,
})

const LEAST_FREE_BYTES = 512 * 1024 * 1024
/** The write-ahead log, copies before an upgrade and sorting need room in proportion to the data. */
const FREE_SHARE = 0.2

export const neededBytes = ({ dataBytes }: Pick<DiskFacts, 'dataBytes'>): number =>
  Math.max(LEAST_FREE_BYTES, Math.ceil(dataBytes * FREE_SHARE))

export const isDiskLow = (disk: DiskFacts): boolean => disk.freeBytes < neededBytes(disk)

const FIX_FOLDER = 'Free up disk space, or check the disk and the permissions of the data folder.'
const FIX_POSTGRES = 'Check that the PostgreSQL server is running, can be reached and has free disk space.'

function aboutDisk({ disk, writeFault, isLocal }: AlertFacts): Condition[] {
  const base = { kind: 'disk', accountId: null, path: SYSTEM } as const
  const found: Condition[] = []
  if (writeFault !== null) {
    found.push({
      ...base,
      subject: 'writes',
      title: 'Nothing can be saved',
      detail: `Requests that save data are refused with 503: ${writeFault.replace(/\.$/, '')}.${disk ? ` ${formatBytes(disk.freeBytes)} is free.` : ''}`,
      fix: `${isLocal ? FIX_FOLDER : FIX_POSTGRES} Saving then resumes automatically.`,
    })
  }
  if (disk !== null && isDiskLow(disk)) {
    found.push({
      ...base,
      subject: 'space',
      title: 'The disk is nearly full',
      detail: `${formatBytes(disk.freeBytes)} is free, and ${formatBytes(neededBytes(disk))} is needed. Without free space, nothing can be saved.`,
      fix: 'Delete files, such as old backups, or use a larger disk.',
    })
  }
  return found
}

/** A backup may take as long as this, and start a little later each time. */
const BACKUP_GRACE_MS = HOUR_MS

/** After a start, when the one that was missed is made first. */
const FIRST_BACKUP_MS = 5 * MINUTE_MS

/** A backup of a time to come was made while the clock was ahead. */
export const isBackupLate = ({ everyMs, since, lastGood }: BackupFacts, at: number): boolean =>
  everyMs !== null &&
  Math.abs(at - (lastGood?.startedAt ?? since)) > everyMs + BACKUP_GRACE_MS &&
  Math.abs(at - since) > FIRST_BACKUP_MS

function aboutBackup(backup: BackupFacts, at: number): Condition[] {
  if (!isBackupLate(backup, at)) return []
  const { lastGood, lastFailed } = backup
  const error = lastFailed !== null && lastFailed.finishedAt > (lastGood?.finishedAt ?? 0) ? lastFailed.error : null
  const last = describeLastBackup(lastGood, at)
  return [
    {
      kind: 'backup',
      subject: 'scheduled',
      accountId: null,
      title: 'The backup is late',
      detail: `${last}.${error === null ? '' : ` The last attempt failed: ${error}`}`,
      fix: describeBackupFix(error),
      path: SYSTEM,
    },
  ]
}

/** `error`: why the last one failed; it may be unknown. */
export function describeBackupFix(error: string | null): string {
  if (/\b(free|enough) space\b/.test(error ?? ''))
    return 'Free up space on the backup disk, or set EVENTPOST_BACKUP_TO to a folder on another disk.'
  return 'Check that the backup folder or bucket exists, has enough space and can be written to.'
}

function describeLastBackup(lastGood: Backup | null, at: number): string {
  if (lastGood === null) return 'There is no backup yet'
  if (lastGood.startedAt > at) return 'The last backup was made while the clock was ahead'
  const hours = Math.floor((at - lastGood.startedAt) / HOUR_MS)
  return `The last backup was made ${countOf(hours, 'an hour', 'hours')} ago`
}

export const CLOCKS_FIX =
  'Turn on time synchronization on every machine that runs Eventpost and on the database server, for example with timedatectl set-ntp true.'

function aboutClocks({ clocks }: AlertFacts): Condition[] {
  const wrong = clocks.filter(isClockNoticed).toSorted((a, b) => Math.abs(b) - Math.abs(a))
  const [most] = wrong
  if (most === undefined) return []
  const which =
    wrong.length === 1 ? 'The clock of an instance differs' : `The clocks of ${wrong.length} instances differ`
  return [
    {
      kind: 'clock',
      subject: 'instances',
      accountId: null,
      title: `${which} from the database server's`,
      detail: `${wrong.length === 1 ? 'It is' : 'One is'} ${describeDifference(most)}. An instance sends no emails, runs no background tasks, and responds to /readyz with 503 while its clock differs by more than 5 seconds from the database server's and another instance's.`,
      fix: CLOCKS_FIX,
      path: SYSTEM,
    },
  ]
}

export const REFUSED_MS = 10 * MINUTE_MS
/** In that time. */
export const MANY_REFUSED = 100

/** Part of normal use: an event about someone who is not a contact, and a limit that the caller waits for. */
const EXPECTED_CODES: readonly string[] = ['contact_not_found', 'rate_limited', 'unavailable']

type RefusedCodes = AlertFacts['refused'][number]['codes']

function sumUnexpected(codes: RefusedCodes): { count: number; most: RefusedCodes[number] | undefined } {
  const unexpected = codes.filter(({ code }) => !EXPECTED_CODES.includes(code)).toSorted((a, b) => b.count - a.count)
  return { count: unexpected.reduce((sum, one) => sum + one.count, 0), most: unexpected[0] }
}

/** `codes`: of one account, in REFUSED_MS. */
export const areManyRefused = (codes: RefusedCodes): boolean => sumUnexpected(codes).count >= MANY_REFUSED

function aboutRefused({ accountId, appId, codes }: AlertFacts['refused'][number]): Condition[] {
  const { count, most } = sumUnexpected(codes)
  if (most === undefined || !areManyRefused(codes)) return []
  const rest = most.count === count ? '' : `, ${formatCount(most.count)} of them`
  return [
    {
      kind: 'refused',
      subject: accountId,
      accountId,
      title: 'Many requests are refused',
      detail: `${formatCount(count)} requests in the last 10 minutes were refused${rest} with ${most.code}. Their data was not recorded.`,
      fix: 'Open Requests to see which calls are refused and why.',
      path: appId === null ? SYSTEM : `/apps/${appId}/requests`,
    },
  ]
}

export const WEBHOOK = 'webhook'

/** An email that arrived is proof enough, so that it needs no further look. */
export const isOverSince = (at: number): number => at - OVER_MS

/** Over for so long before anybody is told. */
const OVER_MS = 20 * 1_000
/** From this opening within a day on, it must be over for longer, and twice as long each time. */
const FLAPPING = { times: 3, withinMs: DAY_MS, overMs: HOUR_MS, mostOverMs: 8 * HOUR_MS } as const

export type AlertPlan = { alerts: Alert[]; changed: Alert[] }

type Planning = {
  alerts: readonly Alert[]
  conditions: readonly Condition[]
  /** since when the condition of an open alert is no longer met, by alert */
  absentSince: Map<string, number>
  /** open alerts whose condition was met again after that */
  cameBack: Set<string>
  /** who is to be told, now */
  recipientsOf: (accountId: string | null) => string[]
  at: number
}

const keyOf = ({ kind, subject }: Pick<Alert, 'kind' | 'subject'>): string => `${kind} ${subject}`

/** `alerts`: newest first. Notes in `absentSince` and `cameBack` what it saw. */
export function planAlerts({ alerts, conditions, absentSince, cameBack, recipientsOf, at }: Planning): AlertPlan {
  const met = new Map(conditions.map((one) => [keyOf(one), one]))
  const planned = alerts.map((alert): Alert => {
    if (alert.resolvedAt !== null) return alert
    const condition = met.get(keyOf(alert))
    if (condition) {
      if (absentSince.delete(alert.id)) cameBack.add(alert.id)
      // who opens the page sees how it is now; who was told isn't told again
      const { title, detail, fix, path } = condition
      const noticed = noteJoined(alert, recipientsOf(alert.accountId), at)
      return isSame(alert, condition) ? noticed : { ...noticed, title, detail, fix, path }
    }
    // a clock that was set back must not delay it
    const since = Math.min(absentSince.get(alert.id) ?? at, at)
    absentSince.set(alert.id, since)
    if (at - since < waitOf(alert, alerts).overMs) return alert
    absentSince.delete(alert.id)
    cameBack.delete(alert.id)
    return resolve(alert, Math.max(since, alert.openedAt), at)
  })
  const open = new Set(planned.filter(({ resolvedAt }) => resolvedAt === null).map(keyOf))
  const opened = [...met.values()]
    .filter((one) => !open.has(keyOf(one)))
    .map((one) => openAlert(one, recipientsOf(one.accountId), at))
  const changed = [...opened, ...planned.filter((one, index) => one !== alerts[index])]
  return { alerts: [...opened, ...planned], changed }
}

const isSame = (alert: Alert, condition: Condition): boolean =>
  (['title', 'detail', 'fix', 'path'] as const).every((name) => alert[name] === condition[name])

type FlapWait = { times: number; overMs: number; isLong: boolean }

/** `times`: openings with less than a day between an end and this one. `overMs`: until it counts as resolved. */
export function waitOf(alert: Alert, alerts: readonly Alert[]): FlapWait {
  const isRecent = ({ openedAt, resolvedAt }: Alert): boolean =>
    openedAt <= alert.openedAt && resolvedAt !== null && alert.openedAt - resolvedAt < FLAPPING.withinMs
  const earlier = alerts.filter((one) => one.id !== alert.id && keyOf(one) === keyOf(alert) && isRecent(one))
  const times = earlier.length + 1
  const doublings = times - FLAPPING.times
  if (doublings < 0) return { times, overMs: OVER_MS, isLong: false }
  return { times, overMs: Math.min(FLAPPING.overMs * 2 ** doublings, FLAPPING.mostOverMs), isLong: true }
}

const due = (route: string, isOver: boolean, at: number): AlertNotice => ({
  route,
  isOver,
  state: 'due',
  tries: 0,
  nextAt: at,
})

const openAlert = (condition: Condition, recipients: readonly string[], at: number): Alert => ({
  id: makeTextId('alt', at),
  ...condition,
  openedAt: at,
  resolvedAt: null,
  notices: recipients.map((route) => due(route, false, at)),
})

/** Owners who joined while it is open, and a webhook that was set up since. */
function noteJoined(alert: Alert, recipients: readonly string[], at: number): Alert {
  const joined = recipients.filter((route) => alert.notices.every((notice) => notice.route !== route))
  if (joined.length === 0) return alert
  return { ...alert, notices: [...alert.notices, ...joined.map((route) => due(route, false, at))] }
}

/** Whoever didn't get the first notice gets one that says when the problem began and ended. */
const resolve = (alert: Alert, resolvedAt: number, at: number): Alert => ({
  ...alert,
  resolvedAt,
  notices: alert.notices.flatMap((notice) => [
    notice.state === 'due' ? { ...notice, state: 'left_out' as const } : notice,
    due(notice.route, true, at),
  ]),
})

const FIRST_TRY_AGAIN_MS = 5_000
const LAST_TRY_AGAIN_MS = 30 * MINUTE_MS
/** About two days. */
const MOST_TRIES = 100

/**
 * What may have arrived isn't sent again, nor what was left out while it was on its way. `gone`: nobody is left to be
 * told.
 */
export function noteTry(notice: AlertNotice, result: NoticeResult['is'] | 'gone', at: number): AlertNotice {
  const tries = notice.tries + 1
  if (result === 'sent' || result === 'unknown') return { ...notice, state: result, tries }
  if (notice.state !== 'due') return notice
  if (result === 'gone' || tries >= MOST_TRIES) return { ...notice, state: 'given_up', tries }
  return {
    ...notice,
    tries,
    nextAt: at + Math.min(FIRST_TRY_AGAIN_MS * 2 ** Math.min(tries - 1, 20), LAST_TRY_AGAIN_MS),
  }
}

/** `alerts`: all. A problem that seems to be over is told when it is, unless it keeps coming back. */
export function listDue(
  alert: Alert,
  { alerts, absentSince, cameBack, at }: Pick<Planning, 'alerts' | 'absentSince' | 'cameBack' | 'at'>,
): AlertNotice[] {
  const seemsOver = absentSince.has(alert.id) && !cameBack.has(alert.id) && !waitOf(alert, alerts).isLong
  return alert.notices.filter(
    ({ state, isOver, nextAt }) =>
      state === 'due' &&
      (isOver || !seemsOver) &&
      // a clock that was set back must not delay it
      (nextAt <= at || nextAt > at + LAST_TRY_AGAIN_MS),
  )
}
