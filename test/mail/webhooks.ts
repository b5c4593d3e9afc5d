/** Webhooks as the documentation of email providers shows them. */
import { createHmac, type KeyObject, randomBytes, sign } from 'node:crypto'

export type Webhook = { body: string; headers: Record<string, string> }
/** `id`: of the delivery, or of a test email. */
type About = { id: string; to: string }

const json = (body: object): Webhook => ({
  body: JSON.stringify(body),
  headers: { 'Content-Type': 'application/json' },
})

const NO_ID = '00000000-0000-0000-0000-000000000000'

/** https://postmarkapp.com/developer/webhooks/bounce-webhook; the types are those of its Bounce API. */
export function postmarkBounce({ id, to }: About, type = 'HardBounce'): Webhook {
  const { body, headers } = json({
    RecordType: 'Bounce',
    MessageStream: 'outbound',
    ID: 0,
    Type: type,
    TypeCode: 1,
    Name: 'Hard bounce',
    Tag: '',
    MessageID: NO_ID,
    Metadata: { delivery: id },
    ServerID: 23,
    Description: 'The server was unable to deliver your message (ex: unknown user, mailbox not found).',
    Details: 'smtp;550 5.1.1 unknown user',
    Email: to,
    From: 'hello@first.example',
    BouncedAt: '2026-05-15T12:00:30.0000000Z',
    DumpAvailable: true,
    Inactive: type === 'HardBounce',
    CanActivate: true,
    Subject: 'Your results are ready.',
  })
  // larger than numbers of JavaScript
  return { body: body.replace('"ID":0', '"ID":4323372036854775807'), headers }
}

/** https://postmarkapp.com/developer/webhooks/spam-complaint-webhook */
export const postmarkComplaint = ({ id, to }: About): Webhook =>
  json({
    RecordType: 'SpamComplaint',
    MessageStream: 'outbound',
    ID: 42,
    Type: 'SpamComplaint',
    TypeCode: 512,
    Name: 'Spam complaint',
    MessageID: NO_ID,
    Metadata: { delivery: id },
    ServerID: 1234,
    Description: '',
    Details: 'Test spam complaint details',
    Email: to,
    From: 'hello@first.example',
    BouncedAt: '2026-05-15T12:00:30.0000000Z',
    Inactive: true,
  })

/** https://postmarkapp.com/developer/webhooks/delivery-webhook */
export const postmarkDelivery = ({ id, to }: About): Webhook =>
  json({
    RecordType: 'Delivery',
    ServerID: 23,
    MessageStream: 'outbound',
    MessageID: NO_ID,
    Recipient: to,
    Tag: '',
    DeliveredAt: '2026-05-15T12:00:10Z',
    Details: 'Test delivery webhook details',
    Metadata: { delivery: id },
  })

type ResendData = { bounce?: { message: string; subType: string; type: string } }

/** https://resend.com/docs/webhooks/emails/bounced and its neighbours */
export const resendEvent = (type: string, { id, to }: About, more: ResendData = {}): string =>
  JSON.stringify({
    type,
    created_at: '2026-05-15T12:00:30.000Z',
    data: {
      broadcast_id: null,
      created_at: '2026-05-15T12:00:00.000Z',
      email_id: '56761188-7520-42d8-8898-ff6fc54ce618',
      from: 'Demo <hello@first.example>',
      to: [to],
      subject: 'Your results are ready.',
      tags: { delivery: id },
      ...more,
    },
  })

export const HARD = { message: 'The recipient has no mailbox.', subType: 'General', type: 'Permanent' }
export const SOFT = { message: 'The mailbox is full.', subType: 'MailboxFull', type: 'Transient' }

export const makeSigningSecret = (): string => `whsec_${randomBytes(24).toString('base64')}`

/** https://docs.svix.com/receiving/verifying-payloads/how-manual */
export function signBySvix(
  body: string,
  { secret, at, id = 'msg_1' }: { secret: string; at: number; id?: string },
): Webhook {
  const seconds = String(Math.floor(at / 1000))
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const proof = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')
  const headers = { 'svix-id': id, 'svix-timestamp': seconds, 'svix-signature': `v1,${proof}` }
  return { body, headers: { 'Content-Type': 'application/json', ...headers } }
}

type MailgunEvent = { event: string; severity?: 'permanent' | 'temporary'; reason?: string }

/** https://documentation.mailgun.com/docs/mailgun/user-manual/events/webhooks */
export function mailgunEvent(
  { id, to }: About,
  event: MailgunEvent,
  { key, at, token = randomBytes(25).toString('hex') }: { key: string; at: number; token?: string },
): Webhook {
  const timestamp = String(Math.floor(at / 1000))
  return json({
    signature: {
      token,
      timestamp,
      signature: createHmac('sha256', key).update(`${timestamp}${token}`).digest('hex'),
    },
    'event-data': {
      id: 'G9Bn5sl1TC6nu79C8C0bwg',
      timestamp: 1521233195.375624,
      'log-level': 'error',
      ...event,
      'delivery-status': {
        'attempt-no': 1,
        message: '',
        code: 605,
        description: 'Not delivering to previously bounced address',
        'session-seconds': 0,
      },
      flags: { 'is-routed': false, 'is-authenticated': true, 'is-system-test': false, 'is-test-mode': false },
      envelope: { sender: 'hello@first.example', transport: 'smtp', targets: to },
      message: {
        headers: { to, 'message-id': `${id}@first.example`, from: 'hello@first.example', subject: 'Test' },
        attachments: [],
        size: 111,
      },
      recipient: to,
      'recipient-domain': 'example.com',
      tags: [],
      campaigns: [],
      'user-variables': {},
    },
  })
}

type SendgridEvent = { event: string; type?: string; reason?: string; status?: string }

/** https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event */
export const sendgridEvents = (events: (SendgridEvent & { about: About })[]): string =>
  JSON.stringify(
    events.map(({ about: { id, to }, ...event }) => ({
      email: to,
      timestamp: 1513299569,
      'smtp-id': `<${id}@first.example>`,
      sg_event_id: 'bounce-0-MTA3MDU1LXVSY0',
      sg_message_id: '14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0',
      ...event,
    })),
  )

/** ECDSA over the time and the body, with the key pair of the test. */
export function signBySendgrid(body: string, { privateKey, at }: { privateKey: KeyObject; at: number }): Webhook {
  const seconds = String(Math.floor(at / 1000))
  const signature = sign('sha256', Buffer.from(seconds + body), privateKey).toString('base64')
  return {
    body,
    headers: {
      'X-Twilio-Email-Event-Webhook-Signature': signature,
      'X-Twilio-Email-Event-Webhook-Timestamp': seconds,
    },
  }
}

/** https://developers.brevo.com/docs/transactional-webhooks */
export const brevoEvent = ({ id, to }: About, event: string, more: { reason?: string } = {}): Webhook =>
  json({
    event,
    email: to,
    id: 26224,
    date: '2026-05-15 14:00:30',
    ts: 1604933619,
    'message-id': `<${id}@first.example>`,
    ts_event: 1604933654,
    subject: 'My first Transactional',
    sending_ip: '185.41.28.109',
    template_id: 0,
    tags: [],
    ...more,
  })
