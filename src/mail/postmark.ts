/** Postmark (https://postmarkapp.com/developer/api/email-api). It has no idempotency keys. */
import type { ApiAccount } from '../core/mail-apis.ts'
import type { SuppressionReason } from '../store/message-types.ts'
import {
  deliveryOf,
  type MailApi,
  OF_ACCOUNT,
  OF_MAIL,
  OF_SENDER,
  OF_SUPPRESSED,
  type SuppressionList,
  writeMailbox,
} from './api.ts'
import { listHeaders } from './compose.ts'
import { fieldsOf, reasonText } from './hook.ts'

/** Sends nothing and accepts everything, but only where emails are sent. */
const TEST_TOKEN = 'POSTMARK_API_TEST'

const headersOf = ({ key }: Pick<ApiAccount, 'key'>) => ({ 'X-Postmark-Server-Token': key })

/** https://postmarkapp.com/developer/api/overview#error-codes */
const SENDER_ERRORS: readonly unknown[] = [400, 401]
/** The account may not send, or has no such message stream. */
const ACCOUNT_ERRORS: readonly unknown[] = [10, 405, 412, 413, 1226, 1235]
const INACTIVE_RECIPIENT = 406

export const POSTMARK: MailApi = {
  repeatsForMs: null,

  writeEmail: ({ mail, from, to, replyTo, messageId, unsubscribeUrl }, { stream }) => ({
    From: writeMailbox(from),
    To: writeMailbox(to),
    ...(replyTo === null ? {} : { ReplyTo: writeMailbox(replyTo) }),
    Subject: mail.subject,
    HtmlBody: mail.html,
    TextBody: mail.text,
    Headers: [
      ...listHeaders(unsubscribeUrl),
      ['Message-ID', `<${messageId}>`] as const,
      // else Postmark writes a Message-ID of its own
      ['X-PM-KeepID', 'true'] as const,
    ].map(([Name, Value]) => ({ Name, Value })),
    Metadata: { delivery: deliveryOf({ messageId }) },
    MessageStream: stream,
    TrackOpens: false,
    TrackLinks: 'None',
  }),

  writeSending: ({ raw }, account) => ({
    path: '/email',
    headers: { ...headersOf(account), 'Content-Type': 'application/json' },
    body: raw,
  }),

  listChecks(account) {
    if (account.key === TEST_TOKEN) return []
    const headers = headersOf(account)
    return [
      { path: '/server', headers },
      { path: `/message-streams/${account.stream}`, headers },
    ]
  },

  isForSendingOnly: () => false,

  isAccepted: () => false,

  readRefusal({ body: { ErrorCode, Message } }) {
    if (ErrorCode === INACTIVE_RECIPIENT) return OF_SUPPRESSED
    if (SENDER_ERRORS.includes(ErrorCode) || String(Message).startsWith("Invalid 'From'")) return OF_SENDER
    return ACCOUNT_ERRORS.includes(ErrorCode) ? OF_ACCOUNT : OF_MAIL
  },

  readError: ({ body: { ErrorCode, Message } }) => ({ error: ErrorCode, message: Message }),
}

const LISTED_AS: ReadonlyMap<unknown, SuppressionReason> = new Map([
  ['HardBounce', 'bounced'],
  ['SpamComplaint', 'complained'],
  ['ManualSuppression', 'unsubscribed'],
])

/** Of the message stream, all at once: https://postmarkapp.com/developer/api/suppressions-api */
export const POSTMARK_LIST: SuppressionList = {
  writeRequest: (account) => ({
    path: `/message-streams/${account.stream}/suppressions/dump`,
    headers: headersOf(account),
  }),
  readPage(body) {
    const { Suppressions: all } = fieldsOf(body)
    if (!Array.isArray(all)) return null
    const rows = all.map(fieldsOf).flatMap(({ EmailAddress: email, SuppressionReason: why, Origin }) => {
      const reason = LISTED_AS.get(why)
      return typeof email === 'string' && reason ? [{ email, reason, text: reasonText([why, Origin]) }] : []
    })
    return { rows, next: null }
  },
}
