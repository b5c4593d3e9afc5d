/**
 * Messages of Amazon SNS: https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html and
 * https://docs.aws.amazon.com/sns/latest/dg/http-subscription-confirmation-json.html
 */
import { verify as verifySignature, X509Certificate } from 'node:crypto'
import { HOUR_MS } from '../core/clock.ts'
import { type Refusal, refuse } from '../core/refusals.ts'
import { fieldsOf, readJson, verifyAge } from './hook.ts'
import { readLimited } from './limited-body.ts'

const NAMES = ['Type', 'MessageId', 'TopicArn', 'Message', 'Timestamp', 'Signature', 'SigningCertURL'] as const
const MORE_NAMES = ['SignatureVersion', 'Subject', 'Token', 'SubscribeURL'] as const

export type SnsMessage = Record<(typeof NAMES)[number], string> &
  Partial<Record<(typeof MORE_NAMES)[number], string | undefined>>

export function readSnsMessage(bytes: Uint8Array): SnsMessage | null {
  const fields = fieldsOf(readJson(bytes))
  const isText = (name: string): boolean => typeof fields[name] === 'string'
  // SNS may leave the others out, or send null
  return NAMES.every(isText) && MORE_NAMES.every((name) => fields[name] == null || isText(name))
    ? (fields as SnsMessage)
    : null
}

export const isConfirmation = ({ Type }: SnsMessage): boolean => Type === 'SubscriptionConfirmation'

/** The text at a URL; null if it can't be read. */
export type FetchText = (url: string) => Promise<string | null>

const FETCH_MS = 5_000
const MOST_BYTES = 64 * 1024

export const fetchText: FetchText = async (url) => {
  try {
    const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(FETCH_MS) })
    return answer.ok ? await readLimited(answer.body, MOST_BYTES) : null
  } catch {
    return null
  }
}

const HOST = /^sns\.[a-z0-9-]{1,30}\.amazonaws\.com(?:\.cn)?$/
/** Other paths of these hosts answer with what a caller sent. */
const CERTIFICATE = /^\/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem$/

/** null for places that aren't Amazon's: they are never visited. */
function readUrl(text: string): URL | null {
  const url = URL.parse(text)
  const isOwn = url?.protocol === 'https:' && HOST.test(url.hostname) && url.port === ''
  return isOwn && url.username === '' && url.password === '' ? url : null
}

/** More than are in use at a time. */
const MOST_CERTIFICATES = 20

/** It can't be known now whether the message is genuine, so SNS sends it again. */
const UNKNOWN = refuse('unavailable', { message: "Amazon SNS can't be reached right now. Send this again later." })

export function createSns(fetchFrom: FetchText) {
  const certificates = new Map<string, Promise<X509Certificate | null>>()

  /** What isn't a certificate, such as the error page of a proxy, is fetched again with the next message. */
  const load = async (url: string) => {
    const text = await fetchFrom(url)
    const certificate = text === null ? null : readCertificate(text)
    if (certificate === null) certificates.delete(url)
    return certificate
  }
  const findCertificate = (url: string) => {
    const found = certificates.get(url) ?? load(url)
    certificates.set(url, found)
    const [oldest] = certificates.keys()
    if (certificates.size > MOST_CERTIFICATES && oldest !== undefined) certificates.delete(oldest)
    return found
  }

  return {
    /** Refusals: invalid_signature, signature_expired, unavailable. */
    async verify(message: SnsMessage, at: number): Promise<Refusal | null> {
      const url = readUrl(message.SigningCertURL)
      const digest = DIGESTS.get(message.SignatureVersion)
      const isPlaceFit = url !== null && CERTIFICATE.test(url.pathname) && url.search === '' && url.hash === ''
      if (!isPlaceFit || digest === undefined) return refuse('invalid_signature')
      const certificate = await findCertificate(url.href)
      if (certificate === null) return UNKNOWN
      const signature = Buffer.from(message.Signature, 'base64')
      const isSigned =
        isInForce(certificate, at) &&
        verifySignature(digest, Buffer.from(textToSign(message)), certificate.publicKey, signature)
      // the time is signed, too
      return isSigned ? verifyAge(Date.parse(message.Timestamp), at, HOUR_MS) : refuse('invalid_signature')
    },

    /** At the URL of a verified message. SNS sends nothing else before. Refusals: unavailable. */
    confirm: async (url: string): Promise<Refusal | null> => ((await fetchFrom(url)) === null ? UNKNOWN : null),
  }
}

/** Where a subscription is confirmed; null if that is not at Amazon. */
export function findConfirmation({ SubscribeURL, TopicArn }: SnsMessage): string | null {
  const url = readUrl(SubscribeURL ?? '')
  const asked = url?.searchParams
  const isFit = asked?.get('Action') === 'ConfirmSubscription' && asked.get('TopicArn') === TopicArn
  return url !== null && isFit ? url.href : null
}

const DIGESTS = new Map<unknown, string>([
  ['1', 'sha1'],
  ['2', 'sha256'],
])

function readCertificate(text: string): X509Certificate | null {
  try {
    return new X509Certificate(text)
  } catch {
    return null
  }
}

const isInForce = ({ validFrom, validTo }: X509Certificate, at: number): boolean =>
  Date.parse(validFrom) <= at && at <= Date.parse(validTo)

const SIGNED = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'] as const
const SIGNED_OF_CONFIRMATION = [
  'Message',
  'MessageId',
  'SubscribeURL',
  'Timestamp',
  'Token',
  'TopicArn',
  'Type',
] as const

/** Confirmations of both kinds have a token. */
const textToSign = (message: SnsMessage): string =>
  (message.Type === 'Notification' ? SIGNED : SIGNED_OF_CONFIRMATION)
    .flatMap((name) => (message[name] == null ? [] : `${name}\n${message[name]}\n`))
    .join('')
