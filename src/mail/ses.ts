/** Amazon SES (https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html). It has no idempotency keys. */
import { AwsV4Signer } from 'aws4fetch'
import { originOf } from '../core/mail-apis.ts'
import type { SuppressionReason } from '../store/message-types.ts'
import {
  type ApiAnswer,
  type ApiRequest,
  deliveryOf,
  type ListAccount,
  type MailApi,
  OF_ACCOUNT,
  OF_MAIL,
  OF_MOMENT,
  OF_SENDER,
  type SuppressionList,
} from './api.ts'
import { composeMail } from './compose.ts'
import { fieldsOf, reasonText } from './hook.ts'

/** Keys of a day, region and account: deriving one takes four hashes. */
const MOST_KEYS = 100
const signingKeys = new Map<string, ArrayBuffer>()

async function sign(account: ListAccount, { path, headers, body }: ApiRequest): Promise<ApiRequest> {
  const { keyId = '', region = '' } = account.aws ?? {}
  if (signingKeys.size > MOST_KEYS) signingKeys.clear()
  const signer = new AwsV4Signer({
    method: body === undefined ? 'GET' : 'POST',
    url: `${originOf(account)}${path}`,
    headers,
    body,
    accessKeyId: keyId,
    secretAccessKey: account.key,
    service: 'ses',
    region,
    cache: signingKeys,
  })
  const signed = await signer.sign()
  return { path, headers: Object.fromEntries(signed.headers), body }
}

/** `MessageRejected:http://...` in the header, or `com.amazonaws#MessageRejected` in the body. */
const typeOf = ({ header, body }: ApiAnswer): string =>
  (header('x-amzn-errortype') ?? String(body.__type ?? '')).replace(/:.*$/, '').replace(/^.*#/, '')

const messageOf = ({ body }: ApiAnswer): unknown => body.message ?? body.Message

/** https://docs.aws.amazon.com/ses/latest/dg/manage-sending-quotas-errors.html */
const LIMITS = ['ThrottlingException', 'Throttling', 'TooManyRequestsException', 'LimitExceededException']
const ACCOUNT_ERRORS = ['AccountSuspendedException', 'SendingPausedException', 'NotFoundException']
const FORBIDDEN = 403

export const SES: MailApi = {
  repeatsForMs: null,

  /** As MIME, because SES signs that with DKIM, too. It replaces the Message-ID. */
  async writeEmail(fields, { stream }) {
    const { raw } = await composeMail({ ...fields, dkim: null, feedbackId: null })
    return {
      FromEmailAddress: fields.from.address,
      Destination: { ToAddresses: [fields.to.address] },
      Content: { Raw: { Data: raw.toString('base64') } },
      EmailTags: [{ Name: 'delivery', Value: deliveryOf(fields) }],
      ...(stream === null ? {} : { ConfigurationSetName: stream }),
    }
  },

  writeSending: ({ raw }, account) =>
    sign(account, { path: '/v2/email/outbound-emails', headers: { 'Content-Type': 'application/json' }, body: raw }),

  listChecks: async (account) => [await sign(account, { path: '/v2/email/account', headers: {} })],

  isForSendingOnly: (answer) => typeOf(answer) === 'AccessDeniedException',

  readNote({ body: { SendingEnabled, ProductionAccessEnabled } }) {
    if (SendingEnabled === false) return 'paused'
    return ProductionAccessEnabled === false ? 'sandbox' : null
  },

  isAccepted: () => false,

  isLimit: (answer) => LIMITS.includes(typeOf(answer)),

  readRefusal(answer) {
    const [type, message] = [typeOf(answer), String(messageOf(answer))]
    if (LIMITS.includes(type)) return OF_MOMENT
    if (answer.status === FORBIDDEN || ACCOUNT_ERRORS.includes(type) || /configuration set/i.test(message))
      return OF_ACCOUNT
    // in the sandbox, of the recipient, too
    const isUnverified = type === 'MailFromDomainNotVerifiedException' || /not verified/i.test(message)
    return isUnverified ? OF_SENDER : OF_MAIL
  },

  readError: (answer) => ({ error: typeOf(answer) || null, message: messageOf(answer) }),
}

const LISTED_AS: ReadonlyMap<unknown, SuppressionReason> = new Map([
  ['BOUNCE', 'bounced'],
  ['COMPLAINT', 'complained'],
])

const LISTED_ROWS = 1_000

/** Of the account: https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_ListSuppressedDestinations.html */
export const SES_LIST: SuppressionList = {
  writeRequest(account, token) {
    const after = token === null ? '' : `NextToken=${encodeURIComponent(token)}&`
    return sign(account, { path: `/v2/email/suppression/addresses?${after}PageSize=${LISTED_ROWS}`, headers: {} })
  },
  readPage(body) {
    const { SuppressedDestinationSummaries: all, NextToken: token } = fieldsOf(body)
    if (!Array.isArray(all)) return null
    const rows = all.map(fieldsOf).flatMap(({ EmailAddress: email, Reason: why }) => {
      const reason = LISTED_AS.get(why)
      return typeof email === 'string' && reason ? [{ email, reason, text: reasonText([why]) }] : []
    })
    return { rows, next: typeof token === 'string' && token !== '' ? token : null }
  },
}
