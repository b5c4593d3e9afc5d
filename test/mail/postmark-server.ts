/**
 * A local stand-in for Postmark, from its documentation: https://postmarkapp.com/developer/api/email-api,
 * https://postmarkapp.com/developer/api/overview#error-codes, https://postmarkapp.com/developer/api/server-api,
 * https://postmarkapp.com/developer/api/message-streams-api and https://postmarkapp.com/developer/api/suppressions-api
 */
import { type ApiBehaviour, type ApiCall, type ApiReply, startApiServer } from './api-server.ts'

export type PostmarkEmail = {
  From: string
  To: string
  ReplyTo?: string
  Subject: string
  HtmlBody: string
  TextBody: string
  Headers: { Name: string; Value: string }[]
  Metadata: Record<string, string>
  MessageStream: string
}

/** As the suppression dump shows it. */
export type PostmarkSuppression = {
  EmailAddress: string
  SuppressionReason: 'HardBounce' | 'SpamComplaint' | 'ManualSuppression'
  Origin: 'Recipient' | 'Customer' | 'Admin'
  CreatedAt: string
}

const TOKEN = '6f4a1d2c-0b7e-4c43-9a57-2f1f0a9d7c11'
const TEST_TOKEN = 'POSTMARK_API_TEST'
const STREAMS = ['outbound', 'broadcast']

type Behaviour = ApiBehaviour<PostmarkEmail> & {
  /** addresses on the stream's suppression list */
  inactive?: string[]
  unconfirmedSenders?: string[]
  suppressions?: PostmarkSuppression[]
}

const fault = (ErrorCode: number, Message: string, status = 422): ApiReply => ({ status, body: { ErrorCode, Message } })

const addressOf = (mailbox: string): string => /<([^>]*)>$/.exec(mailbox)?.[1] ?? mailbox

export async function startPostmark(behaviour: Behaviour = {}) {
  const received: PostmarkEmail[] = []
  const counts = new Map<string, number>()

  const findFault = (email: PostmarkEmail): ApiReply | null => {
    const to = addressOf(email.To)
    if (behaviour.unconfirmedSenders?.includes(addressOf(email.From)))
      return fault(400, `The 'From' address you supplied (${email.From}) is not a Sender Signature on your account.`)
    if (!STREAMS.includes(email.MessageStream))
      return fault(1235, "The message stream for the provided 'ID' was not found.")
    if (!/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(to)) return fault(300, `Invalid 'To' address: '${email.To}'.`)
    return behaviour.inactive?.includes(to)
      ? fault(
          406,
          `You tried to send to recipient(s) that have been marked as inactive. Found inactive addresses: ${to}.`,
        )
      : null
  }

  const send = ({ headers, body }: ApiCall): ApiReply | 'cut' | 'hang' => {
    const email = body as PostmarkEmail
    const to = addressOf(email.To)
    const count = (counts.get(to) ?? 0) + 1
    counts.set(to, count)
    const refused = findFault(email)
    if (refused) return refused
    const doing = behaviour.email?.(email, count) ?? 'accept'
    const isKept = doing === 'accept' || (behaviour.keepsCut && typeof doing === 'string')
    if (isKept && headers['x-postmark-server-token'] !== TEST_TOKEN) received.push(email)
    if (typeof doing === 'object') return { body: {}, ...doing }
    const SubmittedAt = new Date().toISOString()
    const accepted = { To: email.To, SubmittedAt, MessageID: crypto.randomUUID(), ErrorCode: 0, Message: 'OK' }
    return doing === 'accept' ? { status: 200, body: accepted } : doing
  }

  const server = await startApiServer((call) => {
    const { method, path, headers } = call
    const token = headers['x-postmark-server-token']
    const isSending = method === 'POST' && path === '/email'
    if (token !== TOKEN && !(token === TEST_TOKEN && isSending))
      return fault(10, 'The Server Token you provided in the X-Postmark-Server-Token request header was invalid.', 401)
    if (isSending) return send(call)
    if (path === '/server') return { status: 200, body: { ID: 1, Name: 'Staging', DeliveryType: 'Live' } }
    const dumped = /^\/message-streams\/([^/]+)\/suppressions\/dump$/.exec(path)?.[1]
    if (dumped !== undefined && STREAMS.includes(dumped))
      return { status: 200, body: { Suppressions: behaviour.suppressions ?? [] } }
    const stream = /^\/message-streams\/(.+)$/.exec(path)?.[1]
    if (stream !== undefined && STREAMS.includes(stream))
      return { status: 200, body: { ID: stream, ServerID: 1, MessageStreamType: 'Transactional' } }
    return fault(1226, "The message stream for the provided 'ID' was not found.")
  })
  const urlOf = (key: string, stream: string): string => `postmark://${key}@127.0.0.1:${server.port}/${stream}`
  return {
    ...server,
    received,
    counts: () => Map.groupBy(received, ({ To }) => addressOf(To)),
    urlOf,
    url: urlOf(TOKEN, 'outbound'),
  }
}
