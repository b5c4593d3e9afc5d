import { codeOf, type DecisionReason, type MailReason } from './describe-reason.ts'

/** The reason in a few words, for one line of a list. */
const BY_REASON = {
  not_away: "Hadn't left",
  not_seen: "Hadn't opened it",
  seen: 'Opened it',
  never_reported: 'No page views',
  no_page: 'No URL in the event',
  not_done: 'Required event missing',
  done: 'Did it already',
  tag: "Tags don't match",
  field: "Field doesn't match",
  status: "Status doesn't match",
  unsubscribed: 'Unsubscribed',
  bounced: 'Address bounced',
  complained: 'Reported spam',
  message_paused: 'Message not live',
  again: 'Got it already',
  gave_up: 'Too late to send',
  window: 'Outside send window',
  unsure: 'Page still open',
  perDay: 'Daily limit reached',
  perWeek: 'Weekly limit reached',
  holdback: 'Held back',
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
  server_paused: 'Mail server paused',
  sender_paused: 'Sender paused',
  not_saved: 'Could not be saved',
  error: 'Internal error',
  stopped: 'Stopped while sending',
  econnection: 'Server unreachable',
  etimedout: 'Server timed out',
  erefused: 'Connection refused',
  esocket: 'Connection broke',
  edns: 'Server name not found',
  etls: 'No STARTTLS',
  eprivate: 'Private mail server',
  eshared: 'Shared mail server',
  enologin: 'No login offered',
  euntrusted: 'Untrusted certificate',
  eplain: 'No TLS on this port',
  erequiretls: 'Required TLS missing',
  eauth: 'Wrong login',
  enoauth: 'Login required',
  eprotocol: 'Malformed reply',
  eenvelope: 'Addresses rejected',
  emessage: 'Email rejected',
  estream: 'Connection broke',
  eabort: 'Server too slow',
  unknown: 'Unknown reason',
} satisfies Record<DecisionReason | MailReason, string>

const SHORT_REASONS: Record<string, string> = { ...BY_REASON }

/** Of a code alone, such as in filters. */
export function shortenReason(reason: string): string {
  const known = Object.hasOwn(SHORT_REASONS, reason) ? SHORT_REASONS[reason] : undefined
  if (known !== undefined) return known
  const code = codeOf(reason)
  if (code !== undefined) return `Server answered ${code}`
  const [, refused] = /^from_(\d{3})$/.exec(reason) ?? []
  return refused === undefined ? reason : `Sender refused (${refused})`
}
