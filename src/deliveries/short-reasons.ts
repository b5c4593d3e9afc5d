import { type Countdown, formatCountdown, formatShortDuration } from '../core/format-time.ts'
import { upperFirst } from '../core/text.ts'
import { triggerNoun } from '../messages/describe-message.ts'
import type { DeliveryRow, MessageContent, UnwantedReason } from '../store/message-types.ts'
import { readRecord } from './deliveries.ts'
import { codeOf, type DecisionReason, enhancedOf, lacksMailbox, type MailReason } from './describe-reason.ts'
import { describeMessageStatus } from './describe-verdict.ts'
import { reasonOfRule } from './rules.ts'

/** Sending itself takes this long. */
const AT_ONCE_MS = 10_000

/** The reason in a few words, for one line of a list. */
const BY_REASON = {
  not_away: 'Still on your site',
  came_back: 'Came back on their own',
  left_too_recently: 'Left too recently',
  not_seen: "Hadn't opened it",
  seen: 'Opened it',
  never_reported: 'No page views',
  no_page: 'No URL on your domains',
  not_done: 'Required event missing',
  done: 'Excluded event arrived',
  tag: "Tags don't match",
  field: "Field doesn't match",
  status: "Status doesn't match",
  date_changed: 'Date changed',
  active_again: 'Active again',
  unsubscribed: 'Unsubscribed',
  pending: 'Address not confirmed',
  topic: 'Unsubscribed from topic',
  not_pending: 'No confirmation needed',
  bounced: 'Address bounced',
  complained: 'Reported spam',
  message_paused: 'Message not live',
  again: 'Got it already',
  gave_up: 'Too late to send',
  window: 'Outside sending hours',
  unsure: 'Page was open',
  perDay: 'Daily limit reached',
  perWeek: 'Weekly limit reached',
  brake: 'Bounces or complaints',
  holdback: 'Held back',
  cancelled: 'Cancelled',
  gone: 'Event or person gone',
  missing_value: 'Missing value',
  broken_template: 'Template error',
  empty_mail: 'Empty email',
  template_slow: 'Slow to render',
  template_too_slow: 'Too slow to render',
  no_sender: 'No sender address',
  sender_not_listed: 'Sender not listed',
  sender_unverified: 'Sender not verified',
  smtp_url: 'Invalid mail server',
  dkim_key: 'Invalid DKIM key',
  server_paused: 'Sending paused',
  server_limited: 'Mail server at its limit',
  sender_paused: 'Sender paused',
  not_saved: 'Could not be saved',
  error: 'Internal error',
  stopped: 'Stopped while sending',
  restored: 'Restored from a backup',
  no_mailbox: "Mailbox doesn't exist",
  provider_suppressed: 'Suppressed by provider',
  econnection: 'Server unreachable',
  etimedout: 'Server timed out',
  erefused: 'Connection refused',
  esocket: 'Connection lost',
  edns: 'Server name not found',
  etls: 'No STARTTLS',
  eprivate: 'Private mail server',
  eshared: 'Shared mail server',
  enologin: 'No login offered',
  euntrusted: 'Untrusted certificate',
  eexpired: 'Expired certificate',
  ename: 'Wrong certificate name',
  eplain: 'No TLS on this port',
  erequiretls: 'Required TLS missing',
  eauth: 'Wrong login',
  enoauth: 'Login required',
  eprotocol: 'Malformed reply',
  eenvelope: 'Invalid address',
  emessage: 'Email rejected',
  estream: 'Connection lost',
  eabort: 'Server too slow',
  unknown: 'Unknown reason',
} satisfies Record<DecisionReason | MailReason, string>

const SHORT_REASONS: ReadonlyMap<string, string> = new Map(Object.entries(BY_REASON))

/** By SMTP code, or the status of a provider's API. */
const BY_CODE = new Map([
  ['smtp_421', 'Asked to try later'],
  ['smtp_450', 'Mailbox busy'],
  ['smtp_452', 'Mailbox or server full'],
  ['smtp_454', 'Asked to try later'],
  ['smtp_530', 'Login required'],
  ['smtp_535', 'Wrong login'],
  ['smtp_552', 'Full, or email too large'],
  ['smtp_553', 'Address not accepted'],
  ['api_401', 'API key rejected'],
  ['api_403', 'API key not allowed'],
  ['api_429', 'Provider at its limit'],
])

/** By enhanced code, as in describe-reason.ts. */
const BY_ENHANCED = new Map([
  ['1.1', "Mailbox doesn't exist"],
  ['1.2', 'Domain accepts no email'],
  ['1.3', 'Invalid address'],
  ['1.6', 'Mailbox has moved'],
  ['1.8', "Sender's domain unknown"],
  ['1.10', 'Domain accepts no email'],
  ['2.1', 'Mailbox disabled'],
  ['2.2', 'Mailbox full'],
  ['2.3', 'Email too large'],
  ['3.1', 'Mail server full'],
  ['3.2', 'Server accepts no email'],
  ['3.4', 'Email too large'],
  ['4.5', 'Mail server busy'],
  ['4.7', 'Delivery took too long'],
  ['7.0', 'Refused by policy'],
  ['7.1', 'Refused by policy'],
  ['7.3', 'Refused by policy'],
  ['7.8', 'Wrong login'],
  ['7.9', 'Stronger login required'],
  ['7.20', 'No DKIM signature passed'],
  ['7.21', 'DKIM not accepted'],
  ['7.22', 'DKIM does not match'],
  ['7.23', 'SPF check failed'],
  ['7.24', 'SPF check error'],
  ['7.25', 'No reverse DNS name'],
  ['7.26', 'SPF, DKIM or DMARC failed'],
  ['7.27', 'Sender accepts no email'],
  ['7.28', 'Too many emails at once'],
])

/** SMTP codes from 400 to 499, and HTTP statuses from 500, are temporary. */
const describeCode = (reason: string, code: string): string =>
  /^smtp_4|^api_5/.test(reason) ? `Not accepted (${code})` : `Refused by server (${code})`

/** The words for a code, such as in filters. `reply`: the mail server's codes, which are more specific. */
export function shortenReason(reason: string, reply = ''): string {
  const known = SHORT_REASONS.get(reason) ?? BY_CODE.get(reason)
  const code = codeOf(reason)
  if (code !== undefined) return BY_ENHANCED.get(enhancedOf(reply).slice(2)) ?? known ?? describeCode(reason, code)
  if (known !== undefined) return known
  const [, refused] = /^from_(\d{3})$/.exec(reason) ?? []
  return refused === undefined ? reason : `Sender refused (${refused})`
}

type Shortened = Pick<
  DeliveryRow,
  | 'state'
  | 'reason'
  | 'record'
  | 'triggeredAt'
  | 'dueAt'
  | 'handedAt'
  | 'sentAt'
  | 'bouncedAt'
  | 'cameBackAt'
  | 'openedAt'
  | 'byHand'
>

/** `countdown` follows the words. */
export type ShortReason = { words: string; countdown?: Countdown }

/** `refusal`: why nothing may be sent to the person now. */
export function shortenDelivery(
  delivery: Shortened,
  content: MessageContent,
  refusal: UnwantedReason | null = null,
): ShortReason {
  const { state, reason, dueAt: at, byHand } = delivery
  if (state === 'deferred')
    return { words: `${describeCause(delivery, reason ?? 'error')}, due`, countdown: { at, over: 'now' } }
  if (state !== 'waiting') return { words: describeOverridden(delivery) ?? describeEnd(delivery, content, state) }
  if (byHand) return { words: 'Will be sent next' }
  if (refusal === null) return { words: 'Due', countdown: { at, over: 'now' } }
  return { words: `${shortenReason(refusal)}, skipped`, countdown: { at, over: 'next' } }
}

/** The row of an email that a member sent although it was stopped. */
function describeOverridden(delivery: Shortened): string | null {
  const { stopped } = readRecord(delivery)?.sentOn ?? {}
  if (stopped === undefined || delivery.state !== 'sent') return null
  const after = describeAfter(delivery)
  return after === null ? `Sent anyway (${shortenReason(stopped.reason)})` : `${after}, sent anyway`
}

export const describeShortReason = ({ words, countdown }: ShortReason, now: number): string =>
  countdown ? `${words} ${formatCountdown(countdown, now)}` : words

function describeEnd(
  delivery: Shortened,
  content: MessageContent,
  state: Exclude<Shortened['state'], 'waiting' | 'deferred'>,
): string {
  const { reason, triggeredAt, dueAt, handedAt, bouncedAt } = delivery
  switch (state) {
    case 'claimed':
      return 'Being sent'
    case 'handed':
      return 'Waiting for the server'
    case 'sent':
      return describeAfter(delivery) ?? describeDelay((handedAt ?? dueAt) - triggeredAt, content)
    case 'kept':
      return 'No mail server'
    case 'joined':
      return 'In another email'
    case 'unknown':
      return describeAfter(delivery) ?? 'May have arrived'
    case 'complained':
      return 'Reported spam'
    case 'bounced':
      return bouncedAt === null || handedAt === null ? 'Reported as bounced' : describeReturn(bouncedAt - handedAt)
    case 'skipped':
    case 'failed':
      return describeCause(delivery, reason ?? 'error')
  }
}

const describeReturn = (ms: number): string =>
  ms < AT_ONCE_MS ? 'Right after it was sent' : `${formatShortDuration(ms)} after it was sent`

const describeDelay = (ms: number, content: MessageContent): string =>
  ms < AT_ONCE_MS ? 'Right away' : `${formatShortDuration(ms)} after ${triggerNoun(content)}`

/** What the person did after the email: "Came back 47 s later". */
export function describeAfter({
  handedAt,
  sentAt,
  openedAt,
  cameBackAt,
}: Pick<Shortened, 'handedAt' | 'sentAt' | 'openedAt' | 'cameBackAt'>): string | null {
  const from = handedAt ?? sentAt
  if (from === null) return null
  if (openedAt !== null) return `Opened it ${formatShortDuration(openedAt - from)} later`
  return cameBackAt === null ? null : `Came back ${formatShortDuration(cameBackAt - from)} later`
}

function describeCause(delivery: Shortened, reason: string): string {
  const record = readRecord(delivery)
  if (record?.reply !== undefined && lacksMailbox(enhancedOf(record.reply))) return BY_REASON.no_mailbox
  const found = record?.verdicts.find((verdict) => verdict.verdict === 'fail' && reasonOfRule(verdict) === reason)
  const stopped = reason === 'message_paused' && record?.verdicts.find(({ rule }) => rule === 'message')
  if (stopped) return upperFirst(describeMessageStatus(stopped.value))
  if (reason === 'seen' && typeof found?.value === 'number') return describeOpening(found.value - delivery.triggeredAt)
  if (typeof found?.cameBackAt === 'number')
    return `Came back after ${formatShortDuration(found.cameBackAt - delivery.triggeredAt)}`
  return shortenReason(reason, record?.reply)
}

const describeOpening = (ms: number): string =>
  ms <= 0 ? 'Already had it open' : `Opened it after ${formatShortDuration(ms)}`
