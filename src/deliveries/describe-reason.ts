/** One sentence per reason code of a delivery. */
import type { DeliveryRow, SuppressionReason } from '../store/message-types.ts'
import type { SenderProblem } from '../accounts/senders.ts'
import type { TemplateReason } from '../messages/template-faults.ts'
import type { Check } from './decide.ts'
import type { RuleReason } from './rules.ts'

/** `name` is the person's and starts the sentence. */
type Describe = (name: string) => string

/** From rules, suppression or app settings. The decision record may say more. */
type DecisionReason =
  | RuleReason
  | SuppressionReason
  | Exclude<Check, 'wish' | 'message' | 'giveUp'>
  | 'message_paused'
  | 'gave_up'
  | 'unsure'
  | 'gone'

const BY_DECISION = {
  not_away: (name) => `${name} was not away, so this mail was not needed.`,
  not_seen: (name) => `${name} had not opened the page, and this message asks for that.`,
  seen: (name) => `${name} was on the page, so this mail was not needed.`,
  never_reported: (name) => `Your pages had not reported ${name} yet, and this message is not sent to such people.`,
  no_page: (name) =>
    `What started it named no page of yours, so nobody knows whether ${name} opened it. This message is not sent then.`,
  not_done: () => 'What this message asks for had not happened.',
  done: () => 'What this mail was to bring about had happened already.',
  tag: () => 'Their tags were not those that this message asks for.',
  field: () => 'Their fields were not what this message asks for.',
  status: () => 'Their status was not what this message asks for.',
  unsubscribed: (name) => `${name} had unsubscribed.`,
  bounced: (name) => `A mail to ${name} bounced, so nothing more is sent to this address.`,
  complained: (name) => `${name} had complained about a mail, so nothing more is sent to this address.`,
  message_paused: () => 'The message was not live when this was due.',
  again: (name) => `${name} had a mail of this message waiting, or had got it already.`,
  gave_up: () => 'It could not be sent in time, and was given up.',
  window: () => 'It was outside the hours in which this app sends.',
  unsure: (name) => `A page was open when it was triggered, and nobody knows yet whether ${name} was in front of it.`,
  perDay: (name) => `${name} had received as many lifecycle emails within a day as this app allows.`,
  perWeek: (name) => `${name} had received as many lifecycle emails within a week as this app allows.`,
  gone: () => 'What it was about is not there any more: the event, the person or the app.',
} satisfies Record<DecisionReason, Describe>

/** Problems of the email or its sender. */
const UNFIT = {
  missing_value: () => 'A value of the mail was missing and has no fallback.',
  broken_template: () => 'The mail could not be written: its text has a mistake.',
  empty_mail: () => 'The email had no text, so it was not sent.',
  template_slow: () => 'The email took too long to render.',
  template_too_slow: () => 'The email took too long to render, also by itself.',
  no_sender: () => 'The app has no sender. Set an address to send from on the page Sender.',
  sender_not_listed: () =>
    'The message is sent from an address that is not a sender address of the app. Choose another in the message, or add it on the page Sender.',
  sender_unverified: () =>
    'The domain of the sender address is not verified for this account. The page Sender has the record to add to its DNS.',
  smtp_url: () => 'The address of the mail server cannot be read. Set it again.',
  dkim_key: () => 'The DKIM key of the app does not sign. Make a new one.',
} satisfies Record<TemplateReason | SenderProblem['code'] | 'template_slow' | 'smtp_url' | 'dkim_key', Describe>

/** During sending. Lowercase codes are network errors. */
const ON_THE_WAY: Record<string, Describe> = {
  server_paused: () => 'The mail server fails, and is left alone for a while.',
  sender_paused: () => 'The mail server takes no mails of this app for now, and is asked again later.',
  not_saved: () => 'The service could not save that it was sent, and so did not send it.',
  error: () => 'Something broke on our side. The log has more.',
  stopped: () => 'The service stopped while the mail server took the mail.',
  econnection: () => 'The mail server could not be reached, or closed the connection.',
  etimedout: () => 'The mail server did not answer in time.',
  erefused: () =>
    'Nothing answered at the address and port of the mail server. See that it runs, and that both are right.',
  esocket: () => 'The connection to the mail server broke.',
  edns: () => 'The name of the mail server could not be found.',
  etls: () =>
    'The mail server does not offer STARTTLS, so nothing was sent. Only without a password, ?tls=optional at the end of its address allows that.',
  eprivate: () =>
    'The mail server has no public address: its name does not exist, or leads to a private network. The operator of this installation can allow it with EVENTPOST_MAIL_PRIVATE_HOSTS.',
  eshared: () =>
    'This is the mail server of the installation. Remove its address here, or add a user name and password of your own.',
  enologin: () =>
    'A user name and a password are set, but the mail server offers no login, so nothing was sent. Remove them, or use a port of the server that asks for them.',
  euntrusted: () =>
    'The certificate of the mail server is not trusted: it is out of date, signed by nobody known, or of another name.',
  eplain: () => 'This port of the mail server did not speak TLS. Where its address begins with smtps://, try smtp://.',
  erequiretls: () => 'The mail server does not keep connections secure as was asked.',
  eauth: () => 'The mail server did not take the user name and password.',
  enoauth: () => 'The mail server asks for a user name and a password.',
  eprotocol: () => 'The replies of the mail server were malformed or out of step, so the connection was closed.',
  eenvelope: () => 'The mail server took neither the sender nor the person.',
  emessage: () => 'The mail server did not take the mail.',
  estream: () => 'The mail broke off on its way to the mail server.',
  eabort: () => 'The mail server took longer than one mail may take.',
  unknown: () => 'The way to the mail server failed, and it did not say how.',
}

export const REASON_TEXTS: ReadonlyMap<string, Describe> = new Map(
  Object.entries({ ...BY_DECISION, ...UNFIT, ...ON_THE_WAY }),
)

/** By SMTP code (RFC 5321, RFC 4954). */
const SMTP_TEXTS = new Map([
  ['421', 'The mail server asked to be left alone for a while'],
  ['450', 'The mailbox was busy'],
  ['452', 'The mailbox or the mail server was full'],
  ['454', 'The mail server asked to be left alone for a while'],
  ['530', 'The mail server asks for a user name and a password'],
  ['535', 'The mail server did not take the user name and password'],
  ['550', 'The mail server refused the mail, or does not know the mailbox'],
  ['552', 'The mailbox was full, or the mail too large for it'],
  ['553', 'The mail server does not take this address'],
])

/** Codes that come before any email is offered. */
const BEFORE_EMAIL = ['421', '454', '530', '535']

const codeOf = (reason: string): string | undefined => /^smtp_(\d{3})$/.exec(reason)?.[1]

function describeSmtp(code: string): string {
  const known = SMTP_TEXTS.get(code) ?? (code.startsWith('4') ? 'The mail server could not take it then' : undefined)
  return `${known ?? 'The mail server refused the mail'} (it answered ${code}).`
}

/** Enhanced codes without their first digit (RFC 3463, RFC 7372). */
const ENHANCED_TEXTS = new Map([
  ['1.1', 'there is no such mailbox'],
  ['1.2', 'the domain of the address takes no email'],
  ['1.3', 'the address is not valid'],
  ['1.6', 'the mailbox has moved'],
  ['1.8', 'the domain of the sender does not exist'],
  ['1.10', 'the domain of the address takes no email'],
  ['2.1', 'the mailbox is disabled'],
  ['2.2', 'the mailbox is full'],
  ['2.3', 'the email is too large'],
  ['3.1', 'the mail server is full'],
  ['3.2', 'the mail server accepts no email at the moment'],
  ['3.4', 'the email is too large'],
  ['4.5', 'the mail server is busy'],
  ['4.7', 'the mail server tried for too long'],
  ['7.0', 'its policy does not allow the email'],
  ['7.1', 'its policy does not allow the email'],
  ['7.3', 'its policy does not allow the email'],
  ['7.8', 'the user name or the password is wrong'],
  ['7.9', 'it needs a stronger way to sign in, such as an app password'],
  ['7.20', 'no DKIM signature passed'],
  ['7.21', 'no DKIM signature is of the sender'],
  ['7.22', 'no DKIM signature is of the sender'],
  ['7.23', 'the SPF check failed'],
  ['7.24', 'the SPF record cannot be read'],
  ['7.25', 'the address of the sending server has no matching name in DNS'],
  ['7.26', 'the checks of SPF, DKIM and DMARC failed'],
  ['7.27', 'the domain of the sender takes no email'],
  ['7.28', 'too many emails came at once'],
])

/** By the codes alone (`550 5.7.26`): the server's text may be anything. */
export function describeReply(reply: string): string {
  const [, enhanced = ''] = / \d\.(.*)$/.exec(reply) ?? []
  const meaning = ENHANCED_TEXTS.get(enhanced)
  return `The mail server answered ${reply}${meaning === undefined ? '' : `: ${meaning}`}.`
}

/** Later reports of a provider are quoted as text. */
export function describeReason(reason: string, name: string, state: DeliveryRow['state']): string {
  const describe = REASON_TEXTS.get(reason)
  if (describe) return describe(name)
  const code = codeOf(reason)
  if (code !== undefined) return describeSmtp(code)
  const [, refused] = /^from_(\d{3})$/.exec(reason) ?? []
  if (refused !== undefined) return `The mail server refused the address that this comes from (it answered ${refused}).`
  if (state === 'bounced' || state === 'complained') return `The mail provider said: "${reason}".`
  return `The mail server could not be used (${reason}).`
}

/** A server check sends no email, so the wording differs. */
export function describeServerFault(reason: string): string {
  const code = codeOf(reason)
  if (code === undefined || BEFORE_EMAIL.includes(code)) return describeReason(reason, '', 'failed')
  return `The mail server turned us away before any mail was offered (it answered ${code}).`
}
