import { UNREADABLE_SERVER } from '../../accounts/mail-server.ts'
import { upperFirst } from '../../core/text.ts'
import { formatCount, formatCounted, MOST_COUNTED } from '../../core/count.ts'
import { isMissing, isUnknown, nameChecks, type SenderCheck } from '../../accounts/sender-checks.ts'
import { describeBrakeCause, formatPercent, type Rates, rateState, TARGETS } from '../../deliveries/brake.ts'
import { describeLostUrl } from '../../people/unsubscribe.ts'
import type { ProblemCounts } from '../../store/message-results.ts'
import type { RefusalGroup } from '../../store/requests.ts'
import type { MessageRow } from '../../messages/messages.ts'
import { describeStuck, formatMost, IS_PROBLEM, type MailState, PUBLIC_ADDRESS } from '../layout/mail-notices.tsx'
import { type DeliveriesView, deliveriesPath } from '../deliveries/deliveries-view.ts'
import { pathOf } from '../layout/frame.tsx'
import { OWN_OR_NO_APP, requestsPath } from '../requests/requests-view.ts'

/** `refused`: since `refusedSince`, a day such as 2026-05-03. `days`: since `failedSince`. */
export type AttentionFacts = {
  appId: string
  mail: MailState
  messages: Pick<MessageRow, 'id' | 'name' | 'status' | 'content'>[]
  problems: ProblemCounts
  /** the DNS records of the sender's domain; null without a sender or a mail server. `checks`: null if never looked up */
  records: { domain: string; checks: SenderCheck[] | null } | null
  refused: { groups: Pick<RefusalGroup, 'code' | 'count'>[]; isCut: boolean }
  refusedSince: string
  /** of the days that the brake looks at */
  rates: Rates
  failedSince: Pick<DeliveriesView, 'from' | 'isUtc'>
  days: number
}

/** `isBad`: to be solved. `until`: end of a pause (ms UTC). `link` leads to what solves it. */
export type AttentionItem = {
  isBad: boolean
  text: string
  until?: number
  link: { label: string; href: string }
}

/** Empty when all is well. What loses emails comes first. */
export const listAttention = (facts: AttentionFacts): AttentionItem[] =>
  [
    aboutSender(facts),
    ...aboutServer(facts),
    aboutRates(facts),
    aboutDomains(facts),
    aboutRecords(facts),
    aboutFailed(facts),
    ...aboutUnfit(facts),
    aboutUnknown(facts),
    aboutRefused(facts),
    aboutLinks(facts),
  ]
    .filter((item) => item !== null)
    .toSorted((a, b) => Number(b.isBad) - Number(a.isBad))

type Item = AttentionItem | null

const countOf = (count: number, one: string, many: string): string =>
  count === 1 ? `1 ${one}` : `${formatMost(count)} ${many}`

function aboutSender({ appId, mail, messages }: AttentionFacts): Item {
  const live = messages.filter(({ status, content }) => status === 'live' && content.mail.fromEmail === undefined)
  if (mail.hasSender || live.length === 0) return null
  return {
    isBad: true,
    text: `${countOf(live.length, 'live message has', 'live messages have')} no sender address, so nothing is sent.`,
    link: { label: 'Set a sender address', href: pathOf(appId, 'sender') },
  }
}

/** The brake, or complaints that come close to it. */
function aboutRates({ appId, mail: { brake }, rates }: AttentionFacts): Item {
  const href = pathOf(appId, 'sender/rates')
  const link = { label: 'Show the rates', href }
  if (brake) {
    return { isBad: IS_PROBLEM.brake, text: `${describeBrakeCause(brake)}, so lifecycle emails wait.`, link }
  }
  const { complaints: failures, emails } = rates
  const state = rateState('complaints', rates)
  if (state === 'good' || state === 'few') return null
  const cause = describeBrakeCause({ kind: 'complaints', failures, emails })
  return {
    isBad: false,
    text: `${cause}. Gmail and Amazon SES expect less than ${formatPercent(TARGETS.complaints)}.`,
    link,
  }
}

/** Captured emails wait for a server, or for somebody to send them. */
function aboutServer({ appId, mail, messages, problems: { captured } }: AttentionFacts): Item[] {
  const server = pathOf(appId, 'sender/server')
  if (mail.isUnreadable) {
    return [{ isBad: IS_PROBLEM.unreadable, text: UNREADABLE_SERVER, link: { label: 'Set it up again', href: server } }]
  }
  const waiting = countOf(captured, 'email is captured', 'emails are captured')
  if (mail.isCapturing) {
    if (captured === 0 && messages.every(({ status }) => status !== 'live')) return []
    const text = `No mail server yet. ${captured === 0 ? 'Emails are captured' : waiting}, not sent.`
    return [{ isBad: IS_PROBLEM.capturing, text, link: { label: 'Set up a mail server', href: server } }]
  }
  const items: AttentionItem[] = []
  if (mail.pause) {
    const text = mail.pause.isOwn
      ? 'The mail server refuses this app. Emails wait'
      : 'The mail server is paused. Emails wait'
    items.push({
      isBad: IS_PROBLEM.pause,
      text,
      until: mail.pause.until,
      link: { label: 'Check the mail server', href: server },
    })
  }
  if (mail.stuck)
    items.push({
      isBad: IS_PROBLEM.stuck,
      text: describeStuck(mail.stuck),
      link: { label: 'Check the connection', href: server },
    })
  if (captured > 0) {
    const link = { label: 'Open the outbox', href: pathOf(appId, 'outbox') }
    items.push({ isBad: false, text: `${waiting} and not sent.`, link })
  }
  return items
}

const aboutDomains = ({ appId, mail: { unverified } }: AttentionFacts): Item =>
  unverified.length === 0
    ? null
    : {
        isBad: IS_PROBLEM.unverified,
        text: `Emails from ${unverified.join(', ')} wait for a DNS record.`,
        link: { label: 'Show the record to add', href: `${pathOf(appId, 'sender/domain')}#domains` },
      }

function aboutRecords({ appId, records }: AttentionFacts): Item {
  if (records === null) return null
  const { domain, checks } = records
  const href = `${pathOf(appId, 'sender/domain')}#checks`
  const missing = checks?.filter(isMissing) ?? []
  const unknown = checks?.filter(isUnknown) ?? []
  if (missing.length === 0 && (checks === null || unknown.length > 0)) {
    const isAll = checks === null || unknown.length === checks.length
    const what = isAll ? 'The DNS records' : upperFirst(nameChecks(unknown))
    const [verb, them] = unknown.length === 1 && !isAll ? ["hasn't", 'it'] : ["haven't", 'them']
    const text = `${what} of ${domain} ${verb} been checked yet. Without ${them}, emails may go to spam.`
    return { isBad: false, text, link: { label: 'Check the records', href } }
  }
  if (missing.length === 0) return null
  const names = upperFirst(nameChecks(missing))
  const text = `${names} of ${domain} ${missing.length === 1 ? 'is' : 'are'} missing or wrong, so emails may go to spam.`
  return { isBad: missing.some(({ state }) => state === 'bad'), text, link: { label: 'Show the records to add', href } }
}

function aboutFailed({ appId, problems: { failed }, failedSince, days }: AttentionFacts): Item {
  if (failed === 0) return null
  return {
    isBad: true,
    text: `${countOf(failed, 'email', 'emails')} failed in the last ${days} days.`,
    link: { label: 'See why', href: deliveriesPath(appId, { state: 'failed', ...failedSince, isLead: true }) },
  }
}

const UNFIT: Readonly<Record<string, string>> = {
  missing_value: 'a value was missing',
  broken_template: 'the template has an error',
  empty_mail: 'the email had no text',
  template_too_slow: 'the email took too long to render',
  sender_not_listed: 'its sender address is not an address of the app',
}

/** Reasons that lie in a message, not in its people. */
export const UNFIT_REASONS = Object.keys(UNFIT)

const aboutUnfit = ({ appId, messages, problems: { unfit }, failedSince, days }: AttentionFacts): Item[] =>
  unfit.flatMap(({ messageId, reason, emails }) => {
    const message = messages.find(({ id }) => id === messageId)
    if (!message) return []
    const sent = `${countOf(emails, 'email', 'emails')} from “${message.name}” ${emails === 1 ? "wasn't" : "weren't"} sent`
    const filter = { messageId, state: 'skipped', reason, ...failedSince, isLead: true } as const
    return {
      isBad: true,
      text: `${sent} in the last ${days} days: ${UNFIT[reason] ?? reason}.`,
      link: { label: 'See who', href: deliveriesPath(appId, filter) },
    }
  })

const aboutUnknown = ({ appId, problems: { unknown } }: AttentionFacts): Item =>
  unknown === 0
    ? null
    : {
        isBad: false,
        text: `${countOf(unknown, 'email', 'emails')} may or may not have been sent: the mail server sent no confirmation.`,
        link: { label: 'Review', href: `${pathOf(appId, 'deliveries')}?state=unknown` },
      }

function aboutRefused({ appId, refused, refusedSince }: AttentionFacts): Item {
  const byCode = new Map<string, number>()
  for (const { code, count } of refused.groups) byCode.set(code, (byCode.get(code) ?? 0) + count)
  const [most, ...others] = [...byCode].toSorted(([, a], [, b]) => b - a)
  if (most === undefined) return null
  const [code, times] = most
  const count = others.reduce((sum, [, n]) => sum + n, times)
  const which = others.length === 0 ? `with ${code}` : `${formatCount(times)} of them with ${code}`
  const text = refused.isCut
    ? `${formatCounted(MOST_COUNTED + 1)} requests have been refused since yesterday, many of them with ${code}.`
    : `${count === 1 ? '1 request has' : `${formatCount(count)} requests have`} been refused since yesterday, ${which}.`
  return {
    isBad: false,
    text,
    link: { label: 'Show requests', href: requestsPath(appId, { app: OWN_OR_NO_APP, from: refusedSince }) },
  }
}

/** While nothing is live, nobody gets the links. */
const aboutLinks = ({ mail: { lostUrl }, messages }: AttentionFacts): Item =>
  lostUrl === null
    ? null
    : {
        isBad: IS_PROBLEM.lostUrl && messages.some(({ status }) => status === 'live'),
        text: describeLostUrl(lostUrl),
        link: { label: 'How to set the public address', href: PUBLIC_ADDRESS },
      }
