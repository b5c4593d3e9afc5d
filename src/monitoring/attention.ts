/** What an app's owners should look at. */
import type { AppRow } from '../accounts/access.ts'
import { listShownAccounts } from '../accounts/accounts.ts'
import { findLastCheck, readReceived } from '../accounts/dns-checks.ts'
import { UNREADABLE_SERVER } from '../accounts/mail-server.ts'
import {
  type CheckedSender,
  checkOneClick,
  isMissing,
  isUnknown,
  type LastCheck,
  listCheckedSenders,
  nameChecks,
  type SenderCheck,
} from '../accounts/sender-checks.ts'
import type { MailSettings } from '../accounts/sender-settings.ts'
import { listSenderEmails } from '../accounts/senders.ts'
import { DAY_MS } from '../core/clock.ts'
import { formatCount, formatCounted, MOST_COUNTED } from '../core/count.ts'
import { formatTimeInZone } from '../core/format-time.ts'
import { fromLocalTime, localTime } from '../core/local-time.ts'
import { upperFirst } from '../core/text.ts'
import {
  BRAKE_DAYS,
  describeBrakeCause,
  formatPercent,
  type Rates,
  rateState,
  readRates,
  TARGETS,
} from '../deliveries/brake.ts'
import { lastDays } from '../deliveries/results.ts'
import type { MessageRow } from '../messages/messages.ts'
import { describeLostUrl } from '../people/unsubscribe.ts'
import type { ProblemCounts } from '../store/message-results.ts'
import type { RefusalGroup, RevokedUse } from '../store/requests.ts'
import type { OpenAlert } from '../store/alerts.ts'
import { areManyRefused, REFUSED_MS } from './alerts.ts'
import { findCurrentAlert } from './current-alert.ts'
import {
  describeStuck,
  describeWait,
  formatMost,
  IS_PROBLEM,
  type MailState,
  type MailStateDependencies,
  readMailState,
} from './mail-state.ts'

/** `refused`: since yesterday. `days`: those in which emails failed. */
export type AttentionFacts = {
  mail: MailState
  messages: Pick<MessageRow, 'id' | 'name' | 'status' | 'content'>[]
  problems: ProblemCounts
  /** the DNS records of the sender's domain; null without a sender or a mail server. `checks`: null if never looked up */
  records: { domain: string; checks: SenderCheck[] | null } | null
  refused: { groups: Pick<RefusalGroup, 'code' | 'count'>[]; isCut: boolean }
  /** since yesterday */
  revoked: RevokedUse[]
  /** many requests of the account are refused now */
  refusedAlert: OpenAlert | null
  /** of the days that the brake looks at */
  rates: Rates
  days: number
}

export type About =
  | 'sender'
  | 'rates'
  | 'unreadable'
  | 'server'
  | 'outage'
  | 'pause'
  | 'stuck'
  | 'captured'
  | 'domains'
  | 'unchecked'
  | 'records'
  | 'failed'
  | 'unfit'
  | 'unknown'
  | 'restored'
  | 'refused'
  | 'refusedNow'
  | 'revoked'
  | 'links'

/**
 * `isBad`: to be solved. `since`, and `until`, the end of a pause, follow the text (ms UTC); `more` follows these. `unfit`:
 * of a message.
 */
export type AttentionItem = {
  about: About
  isBad: boolean
  text: string
  since?: number
  until?: number
  more?: string
  cause?: string
  unfit?: { messageId: number; reason: string }
  keyId?: string
}

/** Empty when all is well. What loses emails comes first. */
export const findAttention = (facts: AttentionFacts): AttentionItem[] =>
  [
    aboutOutage(facts),
    aboutSender(facts),
    ...aboutServer(facts),
    aboutRates(facts),
    aboutDomains(facts),
    aboutRecords(facts),
    aboutFailed(facts),
    ...aboutUnfit(facts),
    aboutUnknown(facts),
    aboutRestored(facts),
    aboutRefusedNow(facts),
    aboutRefused(facts),
    ...aboutRevoked(facts),
    aboutLinks(facts),
  ]
    .filter((item) => item !== null)
    .toSorted((a, b) => Number(b.isBad) - Number(a.isBad))

/** As a text, with times in this timezone. */
export function writeItem({ text, since, until, more }: AttentionItem, timeZone: string): string {
  const when = (at: number): string => formatTimeInZone(at, timeZone)
  const first = since !== undefined ? `${text} (since ${when(since)}).` : text
  return [until !== undefined ? `${first} until ${when(until)}.` : first, more].filter(Boolean).join(' ')
}

type Item = AttentionItem | null

const countOf = (count: number, one: string, many: string): string =>
  count === 1 ? `1 ${one}` : `${formatMost(count)} ${many}`

function aboutSender({ mail, messages }: AttentionFacts): Item {
  const live = messages.filter(({ status, content }) => status === 'live' && content.mail.fromEmail === undefined)
  if (mail.hasSender || live.length === 0) return null
  return {
    about: 'sender',
    isBad: true,
    text: `${countOf(live.length, 'live message has', 'live messages have')} no sender address, so ${live.length === 1 ? 'its' : 'their'} emails aren't sent.`,
  }
}

/** The brake, or complaints that come close to it. */
function aboutRates({ mail: { brake }, rates }: AttentionFacts): Item {
  if (brake) {
    return { about: 'rates', isBad: IS_PROBLEM.brake, text: `${describeBrakeCause(brake)}, so lifecycle emails wait.` }
  }
  const { complaints: failures, emails } = rates
  const state = rateState('complaints', rates)
  if (state === 'good' || state === 'few') return null
  const cause = describeBrakeCause({ kind: 'complaints', failures, emails })
  return {
    about: 'rates',
    isBad: false,
    text: `${cause}. Gmail and Amazon SES expect less than ${formatPercent(TARGETS.complaints)}.`,
  }
}

function aboutOutage({ mail }: AttentionFacts): Item {
  const { problem } = mail
  if (problem === null) return null
  const { what, since, cause } = problem
  return {
    about: 'outage',
    isBad: IS_PROBLEM.server,
    ...(since === null ? { text: `${what}.` } : { text: what, since }),
    more: describeWait(mail),
    ...(cause !== null && { cause }),
  }
}

/** Captured emails wait for a server, or for somebody to send them. */
function aboutServer({ mail, messages, problems: { captured } }: AttentionFacts): Item[] {
  if (mail.isUnreadable) {
    return [{ about: 'unreadable', isBad: IS_PROBLEM.unreadable, text: UNREADABLE_SERVER }]
  }
  const waiting = countOf(captured, 'email is captured', 'emails are captured')
  if (mail.isCapturing) {
    if (captured === 0 && messages.every(({ status }) => status !== 'live')) return []
    const text = `No mail server yet. ${captured === 0 ? 'Emails are captured' : waiting}, not sent.`
    return [{ about: 'server', isBad: IS_PROBLEM.capturing, text }]
  }
  const items: AttentionItem[] = []
  if (mail.problem === null && mail.pause) {
    const text = 'The mail server asked Eventpost to pause. Emails wait'
    items.push({ about: 'pause', isBad: IS_PROBLEM.pause, text, until: mail.pause.until })
  } else if (mail.problem === null && mail.stuck)
    items.push({ about: 'stuck', isBad: IS_PROBLEM.stuck, text: describeStuck(mail.stuck) })
  if (captured > 0) items.push({ about: 'captured', isBad: false, text: `${waiting} and not sent.` })
  return items
}

const aboutDomains = ({ mail: { unverified } }: AttentionFacts): Item =>
  unverified.length === 0
    ? null
    : {
        about: 'domains',
        isBad: IS_PROBLEM.unverified,
        text: `Emails from ${unverified.join(', ')} wait for a DNS record.`,
      }

function aboutRecords({ records }: AttentionFacts): Item {
  if (records === null) return null
  const { domain, checks } = records
  const missing = checks?.filter(isMissing) ?? []
  const unknown = checks?.filter(isUnknown) ?? []
  if (missing.length === 0 && (checks === null || unknown.length > 0)) {
    const isAll = checks === null || unknown.length === checks.length
    const what = isAll ? 'The DNS records' : upperFirst(nameChecks(unknown))
    const [verb, them] = unknown.length === 1 && !isAll ? ["hasn't", 'it'] : ["haven't", 'them']
    const text = `${what} for ${domain} ${verb} been checked yet. Without ${them}, emails may go to spam.`
    return { about: 'unchecked', isBad: false, text }
  }
  if (missing.length === 0) return null
  const names = upperFirst(nameChecks(missing))
  const text = `${names} for ${domain} ${missing.length === 1 ? 'is' : 'are'} missing or wrong, so emails may go to spam.`
  return { about: 'records', isBad: missing.some(({ state }) => state === 'bad'), text }
}

function aboutFailed({ problems: { failed }, days }: AttentionFacts): Item {
  if (failed === 0) return null
  return {
    about: 'failed',
    isBad: true,
    text: `${countOf(failed, 'email', 'emails')} failed in the last ${days} days.`,
  }
}

const UNFIT: ReadonlyMap<string, string> = new Map([
  ['missing_value', 'a value was missing'],
  ['broken_template', 'the template has an error'],
  ['empty_mail', 'the email had no text'],
  ['template_too_slow', 'the email took too long to render'],
  ['sender_not_listed', 'the sender address is not an address of the app'],
])

/** Reasons that lie in a message, not in its people. */
const UNFIT_REASONS = [...UNFIT.keys()]

const aboutUnfit = ({ messages, problems: { unfit }, days }: AttentionFacts): Item[] =>
  unfit.flatMap(({ messageId, reason, emails }) => {
    const message = messages.find(({ id }) => id === messageId)
    if (!message) return []
    const sent = `${countOf(emails, 'email', 'emails')} from “${message.name}” ${emails === 1 ? "wasn't" : "weren't"} sent`
    return {
      about: 'unfit' as const,
      isBad: true,
      text: `${sent} in the last ${days} days: ${UNFIT.get(reason) ?? reason}.`,
      unfit: { messageId, reason },
    }
  })

const aboutUnknown = ({ problems: { unknown } }: AttentionFacts): Item =>
  unknown === 0
    ? null
    : {
        about: 'unknown',
        isBad: false,
        text: `${countOf(unknown, 'email', 'emails')} may or may not have been sent: the mail server sent no confirmation.`,
      }

const aboutRestored = ({ problems: { restored } }: AttentionFacts): Item =>
  restored === 0
    ? null
    : {
        about: 'restored',
        isBad: false,
        text: `${countOf(restored, 'email was', 'emails were')} waiting in the backup that was restored, and ${restored === 1 ? "wasn't" : "weren't"} sent from here. The old server may have sent ${restored === 1 ? 'it' : 'them'}.`,
      }

const aboutRefusedNow = ({ refusedAlert }: AttentionFacts): Item =>
  refusedAlert && {
    about: 'refusedNow',
    isBad: true,
    text: refusedAlert.title,
    since: refusedAlert.openedAt,
    more: refusedAlert.detail,
  }

function aboutRefused({ refused, refusedAlert }: AttentionFacts): Item {
  if (refusedAlert !== null) return null
  const byCode = new Map<string, number>()
  for (const { code, count } of refused.groups) byCode.set(code, (byCode.get(code) ?? 0) + count)
  const [most, ...others] = [...byCode].toSorted(([, a], [, b]) => b - a)
  if (most === undefined) return null
  const [code, times] = most
  const count = others.reduce((sum, [, n]) => sum + n, times)
  const text = refused.isCut
    ? `${formatCounted(MOST_COUNTED + 1)} requests have been refused since yesterday, many of them with ${code}.`
    : `${count === 1 ? '1 request has' : `${formatCount(count)} requests have`} been refused since yesterday, ${describeCodes(most, others)}.`
  return { about: 'refused', isBad: false, text }
}

type CodeCount = [code: string, count: number]

/** Of more than two codes, only the most frequent one. */
function describeCodes([code, count]: CodeCount, others: CodeCount[]): string {
  const [second] = others
  if (second === undefined) return `with ${code}`
  if (others.length > 1) return `${formatCount(count)} of them with ${code}`
  return `${formatCount(count)} with ${code} and ${formatCount(second[1])} with ${second[0]}`
}

const aboutRevoked = ({ revoked }: AttentionFacts): Item[] =>
  revoked.map(({ keyId, name, count }) => ({
    about: 'revoked' as const,
    isBad: true,
    text: `The revoked key “${name}” is still in use: ${countOf(count, 'request', 'requests')} with it ${count === 1 ? 'has' : 'have'} been refused since yesterday. Replace it on the server that uses it.`,
    keyId,
  }))

/** While nothing is live, nobody gets the links. */
const aboutLinks = ({ mail: { lostUrl }, messages }: AttentionFacts): Item =>
  lostUrl === null
    ? null
    : {
        about: 'links',
        isBad: IS_PROBLEM.lostUrl && messages.some(({ status }) => status === 'live'),
        text: describeLostUrl(lostUrl),
      }

const FAILED_DAYS = 7

/** The first day (since 1970 UTC) of those in which emails failed. */
export const firstFailedDay = (now: number): number => lastDays(FAILED_DAYS, now).from

/** `onRecords`: the sender with its DNS records of the last look-up. */
export async function readAttentionFacts(
  deps: MailStateDependencies,
  app: AppRow,
  onRecords: (sender: CheckedSender, last: LastCheck | null) => void = () => {},
): Promise<AttentionFacts> {
  const { store, clock } = deps
  const now = clock.now()
  const yesterday = Math.floor(localTime(now, app.timezone) / DAY_MS) - 1
  const accountIds = await listShownAccounts(store, app.accountId)
  const since = fromLocalTime(yesterday * DAY_MS, app.timezone)
  const [mail, messages, problems, records, refused, revoked, refusedAlert, rates] = await Promise.all([
    readMailState(deps, app),
    store.listMessages(app.id),
    store.countProblems(app.id, lastDays(FAILED_DAYS, now), UNFIT_REASONS),
    readRecords(deps, app, onRecords),
    store.summarizeRefusals({ accountIds, appId: app.id, since }),
    store.listRevokedUses(app.accountId, since),
    findRefusedAlert(deps, app, now),
    readRates(store, app.id, BRAKE_DAYS, now),
  ])
  return { mail, messages, problems, records, refused, revoked, refusedAlert, rates, days: FAILED_DAYS }
}

/** If another instance looks, only the requests themselves show whether it is over. */
async function findRefusedAlert(
  deps: MailStateDependencies,
  { accountId }: AppRow,
  now: number,
): Promise<OpenAlert | null> {
  const alert = await findCurrentAlert(deps, 'refused', accountId)
  if (alert === null || deps.monitor.seemsOver(alert.id) !== null) return alert
  const counts = await deps.store.countRefusals(now - REFUSED_MS)
  return areManyRefused(counts.filter((one) => one.accountId === accountId)) ? alert : null
}

async function readRecords(
  deps: MailStateDependencies,
  app: AppRow,
  onRecords: (sender: CheckedSender, last: LastCheck | null) => void,
): Promise<AttentionFacts['records']> {
  const { store, mailer } = deps
  const settings = await store.mailSettings(app.id)
  const route = mailer.findMailRoute({ settings, app })
  const [sender] = route.from === null || route.server === null ? [] : await readCheckedSenders(deps, app, settings)
  if (sender === undefined) return null
  const last = await findLastCheck(store, app.id, sender)
  onRecords(sender, last)
  return { domain: sender.domain, checks: last && [...last.checks, checkOneClick(sender)] }
}

/** The domains that an app sends from, the default one first. */
export async function readCheckedSenders(
  { store, mailer, baseUrl }: Omit<MailStateDependencies, 'clock' | 'monitor'>,
  app: AppRow,
  settings: MailSettings,
): Promise<CheckedSender[]> {
  const { installation } = mailer.senders
  return listCheckedSenders(mailer.findMailRoute({ settings, app }), settings, {
    // the operator's own, unless it is the default
    emails: listSenderEmails(settings, installation).filter((email) => email !== installation.from?.address),
    received: await readReceived(store, app.id),
    baseUrl,
  })
}
