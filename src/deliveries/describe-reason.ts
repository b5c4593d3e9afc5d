import { REPORT_KINDS } from '../store/delivery-reports.ts'
import type { DeliveryRow, UnwantedReason } from '../store/message-types.ts'
import type { SenderProblem } from '../accounts/senders.ts'
import type { TemplateReason } from '../messages/template-faults.ts'
import type { Check } from './decide.ts'
import type { RuleReason } from './rules.ts'
import { upperFirst } from '../core/text.ts'

type Describe = (name: string) => string

/** From rules, suppression or app settings. The decision record may say more. */
export type DecisionReason =
  | RuleReason
  | UnwantedReason
  | Exclude<Check, 'suppression' | 'consent' | 'message' | 'date' | 'inactive' | 'giveUp'>
  | 'not_pending'
  | 'message_paused'
  | 'date_changed'
  | 'active_again'
  | 'gave_up'
  | 'unsure'
  | 'gone'
  | 'cancelled'

const BY_DECISION = {
  not_away: (name) => `${name} was not away, so this email was not needed.`,
  came_back: (name) => `${name} came back on their own, so this email was not needed.`,
  left_too_recently: (name) => `${name} left too recently for this message, so it was not sent.`,
  not_seen: (name) => `${name} did not open the page, but this message requires it.`,
  seen: (name) => `${name} was on the page, so this email was not needed.`,
  never_reported: (name) =>
    `When the email was due, Eventpost had received no page views by ${name}. This message is not sent in that case.`,
  no_page: (name) =>
    `The event has no URL on your domains, so it's unknown whether ${name} opened the page. This message is not sent in that case.`,
  not_done: () => 'The event that this message requires did not arrive.',
  done: () => 'The event that this message excludes had already arrived.',
  tag: () => "Their tags didn't match this message.",
  field: () => "Their fields didn't match this message.",
  status: () => "Their status didn't match this message.",
  date_changed: (name) => `The date that triggered this email for ${name} was changed or removed.`,
  active_again: (name) => `${name} was active again, so this email was not needed.`,
  unsubscribed: (name) => `${name} unsubscribed.`,
  pending: (name) => `${name} had not confirmed their email address yet.`,
  topic: (name) => `${name} unsubscribed from the topic of this message.`,
  not_pending: (name) => `${name} no longer had to confirm their email address.`,
  bounced: (name) => `An earlier email to ${name} bounced.`,
  complained: (name) => `${name} reported an email as spam.`,
  message_paused: () => 'The message was not live when this email was due.',
  again: (name) => `${name} had already received this message, or it was waiting.`,
  gave_up: () => 'It could not be sent in time.',
  window: () => "It was outside the app's sending hours.",
  unsure: (name) => `A page was open at that time, and it isn't known yet whether ${name} was viewing it.`,
  perDay: (name) => `${name} reached the app's daily limit for lifecycle emails.`,
  perWeek: (name) => `${name} reached the app's weekly limit for lifecycle emails.`,
  brake: () =>
    "Too many of the app's emails bounced or were reported as spam, so its lifecycle emails wait. None are lost.",
  holdback: (name) => `${name} is in this message's holdback group, so this email was not sent.`,
  cancelled: () => 'A member or an API key cancelled this email.',
  gone: () => 'The event, the person or the app no longer exists.',
} satisfies Record<DecisionReason, Describe>

const UNFIT = {
  missing_value: () => 'A value was missing and has no fallback.',
  broken_template: () => 'The email could not be rendered: its template has an error.',
  empty_mail: () => 'The email had no text, so it was not sent.',
  template_slow: () => 'The email took too long to render.',
  template_too_slow: () => 'The email took too long to render, even when it was rendered alone.',
  no_sender: () => 'The app has no sender address. An owner can set one under Sender.',
  sender_not_listed: () =>
    "The message uses an address that isn't one of the app's sender addresses. Choose another in the message, or ask an owner to add it under Sender.",
  sender_unverified: () =>
    "The sender's domain is not verified for this account. Add the DNS record shown under Sender, Domain.",
  smtp_url: () => "The mail server's address is invalid. An owner can set it again under Sender, Mail server.",
  dkim_key: () => "The app's DKIM key is invalid. An owner can create a new one under Sender, Domain.",
} satisfies Record<TemplateReason | SenderProblem['code'] | 'template_slow' | 'smtp_url' | 'dkim_key', Describe>

/** During sending. Lowercase codes are network errors. */
const ON_THE_WAY = {
  server_paused: () => 'The mail server keeps failing, so sending is paused for a while.',
  server_limited: () => 'The mail server limits how many emails it accepts, so this one waits for its turn.',
  sender_paused: () => "The mail server refuses this app's emails, so sending is paused for a while.",
  not_saved: () => 'The email was not sent, because Eventpost could not record it first.',
  error: () => 'An internal error occurred. See the log.',
  stopped: () => 'Eventpost stopped while it was sending the email.',
  restored: () =>
    "This email was waiting in the backup that was restored, so it wasn't sent from here. The old server may have sent it after the backup was made.",
  no_mailbox: () => "The mailbox doesn't exist.",
  provider_suppressed: (name) => `The email provider has ${name} on its suppression list, so it refused the email.`,
  econnection: () => 'The mail server could not be reached, or closed the connection.',
  etimedout: () => 'The mail server did not respond in time.',
  erefused: () =>
    "Nothing responds at the mail server's address and port. Check that it is running and that both are correct.",
  esocket: () => 'The connection to the mail server broke.',
  edns: () => "The mail server's name was not found in DNS. Check the spelling.",
  etls: () =>
    'The mail server does not offer STARTTLS, so nothing was sent. Without a password, you can set its security to “Not required”, which is ?tls=optional in a URL.',
  eprivate: () =>
    'No public mail server has this name or address. Check the spelling. To use a private one, the operator must restart Eventpost with --mail-private-hosts or EVENTPOST_MAIL_PRIVATE_HOSTS.',
  eshared: () =>
    "This is the installation's mail server. To use it, remove the app's mail server. Otherwise, add your own username and password.",
  enologin: () =>
    "A username and password are set, but the mail server doesn't offer login on this port, so nothing was sent. Remove them, or use another port.",
  euntrusted: () =>
    "The mail server's certificate comes from an unknown issuer. If the server is on your own network, add its certificate or CA under Sender, Mail server.",
  eexpired: () => "The mail server's certificate has expired, or is not valid yet.",
  ename: () => "The mail server's certificate is for another name. Use the name in the certificate as the host.",
  eplain: () => 'This port of the mail server does not use TLS. Choose STARTTLS instead, which is smtp:// in a URL.',
  erequiretls: () => 'The mail server does not support the required TLS.',
  eauth: () => 'The mail server rejected the username and password.',
  enoauth: () => 'The mail server requires a username and password.',
  eprotocol: () => 'The mail server sent malformed or unexpected replies, so the connection was closed.',
  eenvelope: () => 'The address of the sender or the recipient is invalid, so the email was not sent.',
  emessage: () => 'The mail server rejected the email.',
  estream: () => 'The connection broke while the email was being sent.',
  eabort: () => 'The mail server took too long to accept this email.',
  unknown: () => 'Sending failed for an unknown reason.',
} satisfies Record<string, Describe>

/** The mail server could not be reached. Emails are retried. */
export const NO_ANSWER = [
  'econnection',
  'etimedout',
  'erefused',
  'esocket',
  'edns',
] as const satisfies (keyof typeof ON_THE_WAY)[]

/** The mail server takes no email from this sender, whoever it is for. Emails are retried. */
export const NO_ACCESS = [
  'server_paused',
  'etls',
  'eprivate',
  'eshared',
  'enologin',
  'euntrusted',
  'eexpired',
  'ename',
  'eplain',
  'erequiretls',
  'eauth',
  'enoauth',
  'eprotocol',
  'smtp_421',
  'smtp_454',
  'smtp_530',
  'smtp_535',
  'api_401',
  'api_403',
] as const satisfies (keyof typeof ON_THE_WAY | `smtp_${number}` | `api_${number}`)[]

/** The mail server took no email for the time being. Emails are retried. */
export const NOT_NOW = [
  ...NO_ANSWER,
  'eabort',
  'estream',
  'server_limited',
  'smtp_450',
  'smtp_451',
  'smtp_452',
] as const

/** Given by the email or its sending, not by a rule. */
export type MailReason = keyof typeof UNFIT | keyof typeof ON_THE_WAY

export const REASON_TEXTS: ReadonlyMap<string, Describe> = new Map(
  Object.entries<Describe>({ ...BY_DECISION, ...UNFIT, ...ON_THE_WAY }),
)

/** By SMTP code (RFC 5321, RFC 4954). */
const SMTP_TEXTS: Record<string, string> = {
  421: 'The mail server asked Eventpost to try again later',
  450: 'The mailbox was busy',
  452: 'The mailbox or the mail server was full',
  454: 'The mail server asked Eventpost to try again later',
  530: 'The mail server requires a username and password',
  535: 'The mail server rejected the username and password',
  550: 'The mail server refused the email or does not know the mailbox',
  552: 'The mailbox was full or the email too large',
  553: 'The mail server does not accept this address',
}

/** Codes that come before any email is offered. */
const BEFORE_EMAIL = ['421', '454', '530', '535']

/** By the status of a provider's API. */
const API_TEXTS: Record<string, string> = {
  401: 'The email provider rejected the API key',
  403: 'The email provider refused access with this API key',
  429: 'The email provider asked Eventpost to send more slowly',
}

function describeApi(status: string, reply: string): string {
  const known =
    (Object.hasOwn(API_TEXTS, status) && API_TEXTS[status]) ||
    (status.startsWith('5') ? 'The email provider could not accept the email at the time' : undefined)
  return `${known ?? 'The email provider refused the email'} (it replied ${reply}).`
}

export const codeOf = (reason: string): string | undefined => /^(?:smtp|api)_(\d{3})$/.exec(reason)?.[1]

const isOfApi = (reason: string): boolean => reason.startsWith('api_')

function describeSmtp(code: string, reply: string): string {
  const enhanced = enhancedOf(reply)
  const meaning = ENHANCED_TEXTS.get(enhanced.slice(2))
  if (meaning !== undefined) {
    const refusal = code.startsWith('4')
      ? 'The mail server could not accept the email at the time'
      : 'The mail server refused the email'
    const isOfRecipient = /^\d\.[12]\./.test(enhanced) && !enhanced.endsWith('.1.8')
    const what = isOfRecipient ? upperFirst(meaning) : `${refusal}: ${meaning}`
    return `${what} (${reply}).`
  }
  const known =
    (Object.hasOwn(SMTP_TEXTS, code) && SMTP_TEXTS[code]) ||
    (code.startsWith('4') ? 'The mail server could not accept the email at the time' : undefined)
  return `${known ?? 'The mail server refused the email'} (it replied ${reply}).`
}

/** Enhanced codes for missing mailboxes (RFC 3463). A bare 550 may also be about the sender. */
const LACKING = new Set(['5.1.1', '5.1.3', '5.1.6', '5.1.10', '5.2.1'])

/** The reason of an email to a missing mailbox. */
export const NO_MAILBOX = 'no_mailbox' satisfies MailReason

/** Whether a failed email counts as bounced. */
export const isBounce = (reason: string): boolean => reason === NO_MAILBOX

/** The reason of an email to an address that the provider sends nothing to. */
export const SUPPRESSED_THERE = 'provider_suppressed' satisfies MailReason

/** The address is suppressed then. */
export const lacksMailbox = (enhanced: string): boolean => LACKING.has(enhanced)

export const enhancedOf = (reply: string): string => / (\d\..*)$/.exec(reply)?.[1] ?? ''

/** Final refusals that a missing mailbox can have (RFC 5321, 4.2.3). */
const MAY_LACK: ReadonlySet<string> = new Set(['smtp_550', 'smtp_551', 'smtp_553'])

/** Without an enhanced code, such a refusal doesn't say whether the mailbox is missing. */
export const mayLackMailbox = (reason: string, reply: string): boolean =>
  MAY_LACK.has(reason) && enhancedOf(reply) === ''

/** Enhanced codes without their first digit (RFC 3463, RFC 7372). */
const ENHANCED_TEXTS = new Map([
  ['1.1', "the mailbox doesn't exist"],
  ['1.2', "the recipient's domain accepts no email"],
  ['1.3', 'the address is not valid'],
  ['1.6', 'the mailbox has moved'],
  ['1.8', "the sender's domain doesn't exist"],
  ['1.10', "the recipient's domain accepts no email"],
  ['2.1', 'the mailbox is disabled'],
  ['2.2', 'the mailbox is full'],
  ['2.3', 'the email is too large'],
  ['3.1', 'the mail server is full'],
  ['3.2', 'the mail server accepts no email right now'],
  ['3.4', 'the email is too large'],
  ['4.5', 'the mail server is busy'],
  ['4.7', 'delivery took too long'],
  ['7.0', 'its policy does not allow the email'],
  ['7.1', 'its policy does not allow the email'],
  ['7.3', 'its policy does not allow the email'],
  ['7.8', 'the username or password is wrong'],
  ['7.9', 'it requires a stronger login, such as an app password'],
  ['7.20', 'no DKIM signature passed'],
  ['7.21', 'it accepts none of the DKIM signatures'],
  ['7.22', 'no DKIM signature matches the sender'],
  ['7.23', 'the SPF check failed'],
  ['7.24', 'the SPF check ended with an error'],
  ['7.25', "the sending server's address has no matching DNS name"],
  ['7.26', 'several SPF, DKIM and DMARC checks failed'],
  ['7.27', "the sender's domain accepts no email"],
  ['7.28', 'too many emails arrived at once'],
])

/** By the codes alone (`550 5.7.26`): the server's text may be anything. */
export function describeReply(reply: string): string {
  const meaning = ENHANCED_TEXTS.get(enhancedOf(reply).slice(2))
  return `The mail server replied ${reply}${meaning === undefined ? '' : `: ${meaning}`}.`
}

/** Whether the sentence about a reason has the mail server's reply. */
export const namesReply = (reason: string): boolean => reason === NO_MAILBOX || codeOf(reason) !== undefined

/** `reply`: the codes of the mail server, which say more than the reason. */
export function describeReason(reason: string, name: string, state: DeliveryRow['state'], reply?: string): string {
  const replied = reason === NO_MAILBOX && reply !== undefined ? describeSmtp(reply.slice(0, 3), reply) : undefined
  if (replied !== undefined) return replied
  const describe = REASON_TEXTS.get(reason)
  if (describe) return describe(name)
  const code = codeOf(reason)
  if (code !== undefined) return (isOfApi(reason) ? describeApi : describeSmtp)(code, reply ?? code)
  const [, refused] = /^from_(\d{3})$/.exec(reason) ?? []
  if (refused !== undefined) return `The mail server refused the sender address (it replied ${refused}).`
  if (REPORT_KINDS.some((kind) => kind === reason)) return 'The report gave no reason.'
  if (state === 'bounced' || state === 'complained') return `The report said: "${reason}".`
  return `The mail server could not be used (${reason}).`
}

/** Of a test email. */
export function describeFailure({ reason, reply }: { reason: string; reply?: string }, to: string): string {
  const why = describeReason(reason, to, 'failed', reply)
  return reply === undefined || codeOf(reason) !== undefined ? why : `${why} ${describeReply(reply)}`
}

/** A check only reads the account. `provider`: its name. */
export function describeApiFault(reason: string, provider: string): string {
  const code = codeOf(reason)
  if (code === '401' || code === '403') return `${provider} rejected the key (it replied ${code}).`
  if (code !== undefined) return `${provider} refused the check (it replied ${code}).`
  return reason === 'etimedout' ? `${provider} did not respond in time.` : describeReason(reason, '', 'failed')
}

/** A server check sends no email, so the wording differs. `server`: its host and port. */
export function describeServerFault(reason: string, server: string): string {
  const code = codeOf(reason)
  if (reason === 'eprivate') {
    const host = server.replace(/:\d+$/, '')
    return `No public mail server has the name or address ${host}. Check the spelling. To use a private one, the operator must restart Eventpost with \`--mail-private-hosts ${host}\`.`
  }
  if (reason === 'etimedout' || reason === 'eprotocol') {
    const what = reason === 'etimedout' ? 'did not respond in time' : "doesn't speak SMTP"
    return `${server} ${what}. Check that it is a mail server, and check the port: usually 587 with STARTTLS or 465 with TLS.`
  }
  if (code === undefined || BEFORE_EMAIL.includes(code)) return describeReason(reason, '', 'failed')
  return `The mail server refused the connection before any email was sent (it replied ${code}).`
}
