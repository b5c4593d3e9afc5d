/**
 * A local stand-in for Amazon SES, from its documentation:
 * https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html,
 * https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_GetAccount.html,
 * https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_ListSuppressedDestinations.html,
 * https://docs.aws.amazon.com/ses/latest/dg/manage-sending-quotas-errors.html and, for signatures,
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { createHash, createHmac } from 'node:crypto'
import PostalMime, { type Email } from 'postal-mime'
import { type ApiBehaviour, type ApiCall, type ApiReply, startApiServer } from './api-server.ts'

export type SesEmail = {
  FromEmailAddress: string
  Destination: { ToAddresses: string[] }
  Content: { Raw: { Data: string } }
  EmailTags: { Name: string; Value: string }[]
  ConfigurationSetName?: string
}

export type SesSuppression = { EmailAddress: string; Reason: 'BOUNCE' | 'COMPLAINT' }

const KEY_ID = 'AKIAIOSFODNN7EXAMPLE'
/** With the characters that URLs have to encode. */
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const SETS = ['reports']

type Behaviour = ApiBehaviour<SesEmail> & {
  region?: string
  unverified?: string[]
  /** what GetAccount says besides the quota */
  account?: { SendingEnabled?: boolean; ProductionAccessEnabled?: boolean }
  /** its policy allows only sending */
  isSendingOnly?: boolean
  suppressions?: SesSuppression[]
}

export const sesFault = (type: string, message: string, status = 400) => ({
  status,
  body: { message },
  headers: { 'x-amzn-ErrorType': `${type}:http://internal.amazon.com/coral/com.amazonaws.ses/` },
})

export const SES_THROTTLED = sesFault('TooManyRequestsException', 'Maximum sending rate exceeded.', 429)
export const SES_QUOTA = sesFault('ThrottlingException', 'Daily message quota exceeded.')

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const CLOCK_MS = 15 * 60_000

/** Step by step as the documentation says, without the library that signs. */
function findFault({ method, path, headers, text }: ApiCall, region: string): ApiReply | null {
  const named =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/ses\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
  const [, keyId, day = '', place = '', signed = '', signature] = named.exec(headers.authorization ?? '') ?? []
  if (keyId === undefined) return sesFault('MissingAuthenticationTokenException', 'Missing Authentication Token', 403)
  if (keyId !== KEY_ID)
    return sesFault('UnrecognizedClientException', 'The security token included in the request is invalid.', 403)
  const date = String(headers['x-amz-date'])
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  const isRecent = Math.abs(Date.now() - at) < CLOCK_MS && date.startsWith(day)
  const names = signed.split(';')
  const { pathname, searchParams } = new URL(path, 'http://localhost')
  const query = Array.from(searchParams, (pair) => pair.map(encodeURIComponent).join('='))
  const canonical = [
    method,
    pathname,
    query.toSorted().join('&'),
    ...names.map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    signed,
    sha256(text),
  ].join('\n')
  const scope = `${day}/${place}/ses/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')
  const key = ['ses', 'aws4_request'].reduce(hmac, hmac(hmac(`AWS4${SECRET}`, day), place))
  const isSigned = hmac(key, toSign).toString('hex') === signature && names.includes('host') && place === region
  if (isSigned && isRecent && names.includes('x-amz-date')) return null
  const why = 'The request signature we calculated does not match the signature you provided.'
  return sesFault('InvalidSignatureException', why, 403)
}

export async function startSes(behaviour: Behaviour = {}) {
  const { region = 'us-east-1' } = behaviour
  const received: SesEmail[] = []
  const counts = new Map<string, number>()

  const send = (body: unknown): ApiReply | 'cut' | 'hang' => {
    const email = body as SesEmail
    const [to = ''] = email.Destination.ToAddresses
    const count = (counts.get(to) ?? 0) + 1
    counts.set(to, count)
    if (behaviour.unverified?.includes(email.FromEmailAddress)) {
      const why = `Email address is not verified. The following identities failed the check in region ${region.toUpperCase()}: ${email.FromEmailAddress}`
      return sesFault('MessageRejected', why)
    }
    const set = email.ConfigurationSetName
    if (set !== undefined && !SETS.includes(set))
      return sesFault('NotFoundException', `Configuration set <${set}> does not exist.`, 404)
    const doing = behaviour.email?.(email, count) ?? 'accept'
    if (doing === 'accept' || (behaviour.keepsCut && typeof doing === 'string')) received.push(email)
    if (typeof doing === 'object') return { body: {}, ...doing }
    const MessageId = `${crypto.randomUUID().replaceAll('-', '')}-000000`
    return doing === 'accept' ? { status: 200, body: { MessageId } } : doing
  }

  const listSuppressions = (query: URLSearchParams): ApiReply => {
    const { suppressions: all = [] } = behaviour
    const most = Number(query.get('PageSize') ?? 100)
    if (most > 1_000) return sesFault('BadRequestException', 'PageSize must be at most 1000.')
    const [, from = '0'] = /^from=(\d+)\/\+$/.exec(query.get('NextToken') ?? 'from=0/+') ?? []
    const end = Number(from) + most
    const page = all.slice(Number(from), end).map((one) => ({ ...one, LastUpdateTime: 1_777_000_000.5 }))
    const more = end < all.length ? { NextToken: `from=${end}/+` } : {}
    return { status: 200, body: { SuppressedDestinationSummaries: page, ...more } }
  }

  const server = await startApiServer((call) => {
    const { method, path, body } = call
    const refused = findFault(call, region)
    if (refused) return refused
    if (method === 'POST' && path === '/v2/email/outbound-emails') return send(body)
    if (behaviour.isSendingOnly) {
      const why = 'User: arn:aws:iam::123456789012:user/eventpost is not authorized to perform: ses:GetAccount'
      return sesFault('AccessDeniedException', why, 403)
    }
    const { pathname, searchParams } = new URL(path, 'http://localhost')
    if (pathname === '/v2/email/suppression/addresses') return listSuppressions(searchParams)
    const SendQuota = { Max24HourSend: 50_000, MaxSendRate: 14, SentLast24Hours: 0 }
    const account = { SendingEnabled: true, ProductionAccessEnabled: true, EnforcementStatus: 'HEALTHY', SendQuota }
    return path === '/v2/email/account'
      ? { status: 200, body: { ...account, ...behaviour.account } }
      : sesFault('NotFoundException', 'Not found.', 404)
  })
  const urlOf = (secret: string, set = ''): string =>
    `ses://${KEY_ID}:${encodeURIComponent(secret)}@127.0.0.1:${server.port}${set === '' ? '' : `/${set}`}`
  return {
    ...server,
    received,
    counts: () => Map.groupBy(received, ({ Destination }) => Destination.ToAddresses[0] ?? ''),
    /** The emails as SES got them. */
    mimes: (): Promise<Email[]> =>
      Promise.all(received.map(({ Content }) => PostalMime.parse(Buffer.from(Content.Raw.Data, 'base64')))),
    keyId: KEY_ID,
    secret: SECRET,
    urlOf,
    url: urlOf(SECRET),
  }
}
