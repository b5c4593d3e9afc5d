/** Resend (https://resend.com/docs/api-reference/emails/send-email). */
import type { ApiAccount } from '../core/mail-apis.ts'
import { DAY_MS } from '../core/clock.ts'
import type { SuppressionReason } from '../store/message-types.ts'
import {
  deliveryOf,
  type MailApi,
  OF_ACCOUNT,
  OF_MAIL,
  OF_MOMENT,
  OF_SENDER,
  type SuppressionList,
  writeMailbox,
} from './api.ts'
import { listHeaders } from './compose.ts'
import { fieldsOf, reasonText } from './hook.ts'

const headersOf = ({ key }: Pick<ApiAccount, 'key'>) => ({ Authorization: `Bearer ${key}` })

/** https://resend.com/docs/api-reference/errors */
const SENDER_ERRORS: readonly unknown[] = ['invalid_from_address', 'invalid_access']
const ACCOUNT_ERRORS: readonly unknown[] = [
  'invalid_api_key',
  'missing_api_key',
  'restricted_api_key',
  'invalid_region',
]
/** Another request with the same key is still running. */
const RUNNING = 'concurrent_idempotent_requests'
/** An email with the same key, but another content, was accepted before. */
const ACCEPTED_BEFORE = 'invalid_idempotent_request'
const FORBIDDEN = 403

export const RESEND: MailApi = {
  // https://resend.com/docs/dashboard/emails/idempotency-keys
  repeatsForMs: DAY_MS,

  writeEmail: ({ mail, from, to, replyTo, messageId, unsubscribeUrl }) => ({
    from: writeMailbox(from),
    to: [writeMailbox(to)],
    ...(replyTo === null ? {} : { reply_to: writeMailbox(replyTo) }),
    subject: mail.subject,
    html: mail.html,
    text: mail.text,
    headers: Object.fromEntries([...listHeaders(unsubscribeUrl), ['Message-ID', `<${messageId}>`]]),
    tags: [{ name: 'delivery', value: deliveryOf({ messageId }) }],
  }),

  writeSending: ({ raw, repeatKey }, account) => ({
    path: '/emails',
    headers: {
      ...headersOf(account),
      'Content-Type': 'application/json',
      ...(repeatKey === undefined ? {} : { 'Idempotency-Key': repeatKey }),
    },
    body: raw,
  }),

  listChecks: (account) => [{ path: '/domains', headers: headersOf(account) }],

  isForSendingOnly: ({ body: { name } }) => name === 'restricted_api_key',

  isAccepted: ({ body: { name } }) => name === ACCEPTED_BEFORE,

  readRefusal({ status, body: { name } }) {
    if (name === RUNNING) return OF_MOMENT
    if (ACCOUNT_ERRORS.includes(name)) return OF_ACCOUNT
    // such as a domain that isn't verified
    return status === FORBIDDEN || SENDER_ERRORS.includes(name) ? OF_SENDER : OF_MAIL
  },

  readError: ({ body: { name, message } }) => ({ error: name, message }),
}

const LISTED_AS: ReadonlyMap<unknown, SuppressionReason> = new Map([
  ['bounce', 'bounced'],
  ['complaint', 'complained'],
  ['manual', 'unsubscribed'],
])

const LISTED_ROWS = 100

/** https://resend.com/docs/api-reference/suppressions/list-suppressions */
export const RESEND_LIST: SuppressionList = {
  writeRequest: (account, after) => ({
    path: `/suppressions?limit=${LISTED_ROWS}${after === null ? '' : `&after=${encodeURIComponent(after)}`}`,
    headers: headersOf(account),
  }),
  readPage(body) {
    const { data, has_more: isMore } = fieldsOf(body)
    if (!Array.isArray(data)) return null
    const rows = data.map(fieldsOf).flatMap(({ email, origin }) => {
      const reason = LISTED_AS.get(origin)
      return typeof email === 'string' && reason ? [{ email, reason, text: reasonText([origin]) }] : []
    })
    const { id } = fieldsOf(data.at(-1))
    return { rows, next: isMore === true && typeof id === 'string' ? id : null }
  },
}
