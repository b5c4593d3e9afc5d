/**
 * A stand-in for Amazon SNS, which signs messages and serves its certificate, from its documentation:
 * https://docs.aws.amazon.com/sns/latest/dg/http-subscription-confirmation-json.html,
 * https://docs.aws.amazon.com/sns/latest/dg/http-notification-json.html and
 * https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message-verify-message-signature.html
 */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { Webhook } from './webhooks.ts'

const HOST = 'https://sns.us-east-1.amazonaws.com'
export const TOPIC = 'arn:aws:sns:us-east-1:123456789012:ses-reports'
/** Of somebody else. */
export const FOREIGN_TOPIC = 'arn:aws:sns:us-east-1:210987654321:ses-reports'

/** One element of DER (ITU-T X.690). */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const SEQUENCE = 0x30
const RSA_SHA256 = der(SEQUENCE, Buffer.from('06092a864886f70d01010b0500', 'hex'))
const timeOf = (at: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(at).toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`))

type Pair = { publicKey: KeyObject; privateKey: KeyObject }

/** Self-signed (RFC 5280). */
function certify({ publicKey, privateKey }: Pair, { from, until }: { from: number; until: number }): string {
  const commonName = der(0x0c, Buffer.from('sns.amazonaws.com'))
  const name = der(SEQUENCE, der(0x31, der(SEQUENCE, Buffer.from('0603550403', 'hex'), commonName)))
  const body = der(
    SEQUENCE,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    RSA_SHA256,
    name,
    der(SEQUENCE, timeOf(from), timeOf(until)),
    name,
    publicKey.export({ format: 'der', type: 'spki' }),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey))
  const text = der(SEQUENCE, body, RSA_SHA256, signature).toString('base64').replaceAll(/.{64}/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`
}

type Fields = Record<string, string>
type How = { at: number; version?: '1' | '2'; changes?: Fields; topic?: string }

const SIGNED = ['Message', 'MessageId', 'Subject', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']

const DAY = 86_400_000

/** Made once: it takes as long as a server. */
const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** `now`: the certificate is in force for a month around it. */
export function createSnsStandIn(now: number) {
  const certificate = `${HOST}/SimpleNotificationService-9c6465fa7f48f5cacd23014631ec1136.pem`
  const pages = new Map<string, string>([[certificate, certify(pair, { from: now - 15 * DAY, until: now + 15 * DAY })]])
  const visited: string[] = []

  const signMessage = (fields: Fields, { version = '1', changes = {} }: How): Webhook => {
    const text = SIGNED.flatMap((name) => (fields[name] === undefined ? [] : `${name}\n${fields[name]}\n`)).join('')
    const Signature = sign(version === '1' ? 'sha1' : 'sha256', Buffer.from(text), pair.privateKey).toString('base64')
    const whole = { ...fields, SignatureVersion: version, Signature, SigningCertURL: certificate, ...changes }
    const headers = { 'Content-Type': 'text/plain; charset=UTF-8', 'x-amz-sns-message-type': fields.Type ?? '' }
    return { body: JSON.stringify(whole), headers }
  }
  const begin = ({ at, topic = TOPIC }: How) => ({
    MessageId: crypto.randomUUID(),
    TopicArn: topic,
    Timestamp: new Date(at).toISOString(),
  })

  return {
    visited,
    pages,
    certificate,
    certify: (from: number, until: number) => pages.set(certificate, certify(pair, { from, until })),
    /** What the server fetches. */
    async fetch(url: string): Promise<string | null> {
      visited.push(url)
      if (url.startsWith(`${HOST}/?Action=ConfirmSubscription`)) return '<ConfirmSubscriptionResponse/>'
      return pages.get(url) ?? null
    },
    notify: (event: object | string, how: How): Webhook =>
      signMessage(
        {
          ...begin(how),
          Type: 'Notification',
          Message: typeof event === 'string' ? event : JSON.stringify(event),
          Subject: 'Amazon SES Email Event Notification',
        },
        how,
      ),
    /** `place`: where the subscription is confirmed. */
    subscribe(how: How & { place?: string }): Webhook {
      const begun = begin(how)
      const Token = '2336412f37fb687f5d51e6e241d09c805a5a57b30d712f794cc5f6a988666d92768dd60a747ba6f3beb71854e285d6ad'
      const query = new URLSearchParams({ Action: 'ConfirmSubscription', TopicArn: begun.TopicArn, Token })
      return signMessage(
        {
          ...begun,
          Type: 'SubscriptionConfirmation',
          Token,
          Message: `You have chosen to subscribe to the topic ${begun.TopicArn}.`,
          SubscribeURL: how.place ?? `${HOST}/?${query}`,
        },
        how,
      )
    },
  }
}

type About = { id: string; to: string }

const mailOf = ({ to }: About) => ({
  timestamp: '2026-05-15T12:00:02.012Z',
  source: 'Demo <hello@first.example>',
  sourceArn: 'arn:aws:ses:us-east-1:123456789012:identity/first.example',
  sendingAccountId: '123456789012',
  messageId: '0100015bb2f2e9c1-9e1b7c62-3a5a-4b0e-9b3f-0d7f2b6a1c11-000000',
  destination: [to],
})

/** https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-examples.html */
export const sesEvent = (about: About, eventType: string, more: object = {}) => ({
  eventType,
  mail: {
    ...mailOf(about),
    headersTruncated: false,
    headers: [{ name: 'From', value: 'Demo <hello@first.example>' }],
    commonHeaders: { from: ['Demo <hello@first.example>'], to: [about.to], subject: 'Your results are ready.' },
    tags: { 'ses:configuration-set': ['reports'], 'ses:from-domain': ['first.example'], delivery: [about.id] },
  },
  ...more,
})

/** Of an identity, with the original headers: https://docs.aws.amazon.com/ses/latest/dg/notification-examples.html */
export const sesFeedback = (about: About, notificationType: string, more: object = {}) => ({
  notificationType,
  mail: {
    ...mailOf(about),
    headersTruncated: false,
    headers: [
      { name: 'From', value: 'Demo <hello@first.example>' },
      { name: 'Message-ID', value: `<${about.id}@first.example>` },
    ],
    commonHeaders: { from: ['Demo <hello@first.example>'], to: [about.to], messageId: 'of SES' },
  },
  ...more,
})

export const sesBounce = ({ to }: About, bounceType: string, bounceSubType: string) => ({
  bounce: {
    bounceType,
    bounceSubType,
    bouncedRecipients: [
      { emailAddress: to, action: 'failed', status: '5.1.1', diagnosticCode: 'smtp; 550 5.1.1 user unknown' },
    ],
    timestamp: '2026-05-15T12:00:30.669Z',
    feedbackId: '01000157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000',
    reportingMTA: 'dsn; mta.example.com',
  },
})

export const sesComplaint = ({ to }: About, complaintFeedbackType: string) => ({
  complaint: {
    complainedRecipients: [{ emailAddress: to }],
    timestamp: '2026-05-15T12:05:00.000Z',
    feedbackId: '01000157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000',
    userAgent: 'Amazon SES Mailbox Simulator',
    complaintFeedbackType,
  },
})

export const sesDelivery = ({ to }: About) => ({
  delivery: {
    timestamp: '2026-05-15T12:00:12.012Z',
    processingTimeMillis: 11_893,
    recipients: [to],
    smtpResponse: '250 2.6.0 Message received',
    reportingMTA: 'mta.example.com',
  },
})

export const sesDelay = ({ to }: About) => ({
  deliveryDelay: {
    timestamp: '2026-05-15T12:10:00.095Z',
    delayType: 'TransientCommunicationFailure',
    expirationTime: '2026-05-16T12:00:00.914Z',
    delayedRecipients: [{ emailAddress: to, status: '4.4.1', diagnosticCode: 'smtp; 421 4.4.1 Unable to connect' }],
  },
})
