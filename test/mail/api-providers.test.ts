import { describe, expect, test } from 'bun:test'
import { publicId } from '../../src/core/ids.ts'
import { API_LIMITS, createApiProvider } from '../../src/mail/api-provider.ts'
import { isApi, readMailUrl } from '../../src/core/mail-apis.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import type { Dial } from '../../src/mail/dial.ts'
import { SIDE_BY_SIDE } from '../../src/mail/lanes.ts'
import type { Provider } from '../../src/mail/provider.ts'
import type { SenderDependencies } from '../../src/mail/sender.ts'
import type { ServerCheck } from '../../src/messages/mailer.ts'
import { useClosing } from '../closing.ts'
import { HOUR, MINUTE } from '../durations.ts'
import { recordOf } from '../messaging.ts'
import type { ApiDoing } from './api-server.ts'
import { createQuota, findLimits, liveInSteps } from './limited-servers.ts'
import { startPostmark } from './postmark-server.ts'
import { startResend } from './resend-server.ts'
import { SES_QUOTA, SES_THROTTLED, sesFault, startSes } from './ses-server.ts'
import { live, LONG_STEP, startSending, type Sending, useSharedSending } from './sending.ts'

const FROM = 'Demo <hello@first.example>'
const start = useSharedSending()
const keep = useClosing()

/** Gives up after a second. */
const impatient = (url: string, dial: Dial): Provider | null => {
  const account = readMailUrl(url)
  return account && isApi(account) ? createApiProvider(account, { ...API_LIMITS, answerMs: 1_000 }, dial) : null
}
/** Where an answer comes, a busy machine may take long to read it. */
const waitFor = (doing: ApiDoing): Partial<SenderDependencies> =>
  doing === 'hang' ? { createProvider: impatient } : {}

type Api = { url: string; calls: { path: string }[]; counts(): Map<string, unknown[]>; stop(): Promise<void> }

async function startVia<A extends Api>(
  api: A,
  content: Partial<MessageContent> = {},
  mail: Partial<SenderDependencies> = {},
) {
  const defaults = { smtpUrl: api.url, from: FROM }
  keep({ close: api.stop })
  return { ...(await start(content, {}, { defaults, ...mail })), api }
}

const viaPostmark = async (
  behaviour: Parameters<typeof startPostmark>[0] = {},
  content: Partial<MessageContent> = {},
  mail: Partial<SenderDependencies> = {},
) => startVia(await startPostmark(behaviour), content, mail)
const viaSes = async (
  behaviour: Parameters<typeof startSes>[0] = {},
  content: Partial<MessageContent> = {},
  mail: Partial<SenderDependencies> = {},
) => startVia(await startSes(behaviour), content, mail)
const viaResend = async (
  behaviour: Parameters<typeof startResend>[0] = {},
  content: Partial<MessageContent> = {},
  mail: Partial<SenderDependencies> = {},
) => startVia(await startResend(behaviour), content, mail)

const countEach = ({ api }: { api: Api }): number[] => Array.from(api.counts().values(), (all) => all.length)

describe('an email', () => {
  test('goes to Postmark with its IDs and headers', async () => {
    const sending = await viaPostmark()
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 1 })
    const [delivery] = await sending.deliveries()
    const id = publicId('dlv', delivery?.id ?? 0)
    const [email] = sending.api.received
    expect(email).toMatchObject({
      From: '"Demo" <hello@first.example>',
      To: 'ada@example.com',
      Subject: 'Your results are ready.',
      MessageStream: 'outbound',
      Metadata: { delivery: id },
      TrackOpens: false,
      TrackLinks: 'None',
    })
    expect(email?.HtmlBody).toContain('See your results')
    expect(email?.TextBody).toContain('Hello there,')
    const headers = Object.fromEntries(email?.Headers.map(({ Name, Value }) => [Name, Value]) ?? [])
    expect(headers).toMatchObject({
      'Message-ID': `<${id}@first.example>`,
      'X-PM-KeepID': 'true',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Auto-Submitted': 'auto-generated',
    })
    expect(headers['List-Unsubscribe']).toMatch(/^<http:\/\/localhost.*\/u\/.+>$/)
  })

  test('goes to Resend with its IDs and headers', async () => {
    const sending = await viaResend()
    await sending.setSettings({ replyTo: 'help@first.example', fromName: 'The "Demo" \\ Team' })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    const [delivery] = await sending.deliveries()
    const id = publicId('dlv', delivery?.id ?? 0)
    const [email] = sending.api.received
    expect(email).toMatchObject({
      from: '"The \\"Demo\\" \\\\ Team" <hello@first.example>',
      to: ['ada@example.com'],
      reply_to: 'help@first.example',
      tags: [{ name: 'delivery', value: id }],
    })
    expect(email?.headers).toMatchObject({
      'Message-ID': `<${id}@first.example>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    })
    expect(sending.api.calls[0]?.headers['idempotency-key']).toMatch(/^[\w-]{43}$/)
  })

  test('goes to Amazon SES as signed MIME, with its ID as a tag', async () => {
    const sending = await viaSes()
    await sending.setSettings({
      smtpUrl: sending.api.urlOf(sending.api.secret, 'reports'),
      replyTo: 'help@first.example',
      fromEmail: 'hello@first.example',
      fromName: 'Grüße',
    })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 1 })
    const [delivery] = await sending.deliveries()
    const id = publicId('dlv', delivery?.id ?? 0)
    expect(sending.api.received).toMatchObject([
      {
        FromEmailAddress: 'hello@first.example',
        Destination: { ToAddresses: ['ada@example.com'] },
        EmailTags: [{ Name: 'delivery', Value: id }],
        ConfigurationSetName: 'reports',
      },
    ])
    const [mime] = await sending.api.mimes()
    expect(mime).toMatchObject({
      subject: 'Your results are ready.',
      from: { name: 'Grüße', address: 'hello@first.example' },
      to: [{ address: 'ada@example.com' }],
      replyTo: [{ address: 'help@first.example' }],
      messageId: `<${id}@first.example>`,
      html: expect.stringContaining('See your results'),
      text: expect.stringContaining('Hello there,'),
    })
    expect(mime?.headers.map(({ key }) => key)).toContain('list-unsubscribe-post')
    expect(mime?.headers.map(({ key }) => key)).not.toContain('dkim-signature')
  })
})

describe('an answer of the provider', () => {
  const body = { ErrorCode: 999, Message: 'something of Postmark' }
  test.each<[ApiDoing, string]>([
    [{ status: 422, body: { ErrorCode: 300, Message: "Invalid 'To' address." } }, 'failed: api_422'],
    [{ status: 422, body: { ErrorCode: 406, Message: 'Inactive' } }, 'failed: provider_suppressed'],
    [{ status: 422, body: { ErrorCode: 400, Message: 'No signature' } }, 'deferred: from_422'],
    [{ status: 422, body: { ErrorCode: 412, Message: 'Pending' } }, 'deferred: api_422'],
    [{ status: 401, body: { ErrorCode: 10, Message: 'Token' } }, 'deferred: api_401'],
    [{ status: 429, body }, 'deferred: server_limited'],
    [{ status: 500, body }, 'deferred: api_500'],
    [{ status: 503, body, headers: { 'Retry-After': '120' } }, 'deferred: api_503'],
    [{ status: 502, body }, 'unknown: etimedout'],
    [{ status: 504, body }, 'unknown: etimedout'],
    [{ status: 524, body }, 'unknown: etimedout'],
    [{ status: 302, headers: { Location: 'https://evil.example/' } }, 'deferred: eprotocol'],
    ['cut', 'unknown: econnection'],
    ['hang', 'unknown: etimedout'],
  ])('%j ends as %s at Postmark', async (doing, state) => {
    const sending = await viaPostmark({ email: () => doing }, { ifUnconfirmed: 'leave' }, waitFor(doing))
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(await sending.states()).toEqual({ [state]: 1 })
  })

  const named = (status: number, name: string): ApiDoing => ({
    status,
    body: { statusCode: status, name, message: 'x' },
  })
  test.each<[ApiDoing, string]>([
    [named(422, 'validation_error'), 'failed: api_422'],
    [named(403, 'validation_error'), 'deferred: from_403'],
    [named(403, 'invalid_api_key'), 'deferred: api_403'],
    [named(401, 'validation_error'), 'deferred: api_401'],
    [named(409, 'concurrent_idempotent_requests'), 'deferred: api_409'],
    [named(409, 'invalid_idempotent_request'), 'sent'],
    [named(429, 'rate_limit_exceeded'), 'deferred: server_limited'],
    [named(500, 'application_error'), 'deferred: api_500'],
    ['cut', 'deferred: econnection'],
  ])('%j ends as %s at Resend', async (doing, state) => {
    const sending = await viaResend({ email: () => doing }, { ifUnconfirmed: 'leave' })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(await sending.states()).toEqual({ [state]: 1 })
  })

  test('is kept as its codes only', async () => {
    const sending = await viaPostmark({
      email: () => ({ status: 422, body: { ErrorCode: 300, Message: 'Secret text' } }),
    })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    const [delivery] = await sending.deliveries()
    expect(delivery && recordOf(delivery).reply).toBe('422 300')
    expect(JSON.stringify(delivery)).not.toContain('Secret text')
  })

  test('may be longer than what is read of it', async () => {
    const sending = await viaPostmark({ email: () => ({ status: 200, body: { Message: 'x'.repeat(1_000_000) } }) })
    await sending.sendEvents(3)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 3 })
  })

  test('that says when to come back is obeyed', async () => {
    const at: number[] = []
    let now = (): number => 0
    const sending = await viaPostmark({
      email: (_, count) => {
        at.push(now())
        return count === 1 ? { status: 429, body: {}, headers: { 'Retry-After': '600' } } : 'accept'
      },
    })
    now = sending.clock.now
    const start = now()
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(await findLimits(sending)).toMatchObject({ closed: { at: start, tryAt: start + 10 * MINUTE }, reply: '429' })
    expect(await sending.findPause()).toBe(null)
    await live(sending, 15 * MINUTE)
    expect(at.map((one) => Math.round((one - start) / MINUTE))).toEqual([0, 10])
    expect(await sending.states()).toEqual({ sent: 1 })
  })

  test.each<[ApiDoing, string]>([
    [SES_THROTTLED, 'deferred: server_limited'],
    [SES_QUOTA, 'deferred: server_limited'],
    [sesFault('LimitExceededException', 'Daily message quota exceeded.'), 'deferred: server_limited'],
    [sesFault('MessageRejected', 'Transaction failed: malformed'), 'failed: api_400'],
    [sesFault('BadRequestException', 'Illegal address'), 'failed: api_400'],
    [sesFault('MailFromDomainNotVerifiedException', 'The MAIL FROM domain'), 'deferred: from_400'],
    [sesFault('AccountSuspendedException', 'The account'), 'deferred: api_400'],
    [sesFault('SendingPausedException', 'Sending is paused'), 'deferred: api_400'],
    [sesFault('NotFoundException', 'Configuration set <x> does not exist.', 404), 'deferred: api_404'],
    [sesFault('InvalidSignatureException', 'Signature expired', 403), 'deferred: api_403'],
    [sesFault('InternalFailure', 'x', 500), 'deferred: api_500'],
    [{ status: 400, body: { __type: 'com.amazonaws#TooManyRequestsException' } }, 'deferred: server_limited'],
    ['cut', 'unknown: econnection'],
    ['hang', 'unknown: etimedout'],
  ])('%j ends as %s at Amazon SES', async (doing, state) => {
    const sending = await viaSes({ email: () => doing }, { ifUnconfirmed: 'leave' }, waitFor(doing))
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(await sending.states()).toEqual({ [state]: 1 })
  })
})

describe('limits of a provider', () => {
  test('of 14 emails a second at Amazon SES are kept to, and nine of ten are sent', async () => {
    const quota = createQuota({ count: 14, periodMs: 1_000 })
    let now = (): number => 0
    let refused = 0
    const email = (): ApiDoing => {
      if (quota.take(now())) return 'accept'
      refused += 1
      return SES_THROTTLED
    }
    const sending = await viaSes({ email })
    now = sending.clock.now
    await sending.sendEvents(14 * 6)
    await liveInSteps(sending, 5_000, 20)
    expect(sending.api.received.length).toBeGreaterThanOrEqual(0.9 * 14 * 5)
    expect(refused).toBeLessThan(0.2 * sending.api.received.length)
    expect(await findLimits(sending)).toMatchObject({ rate: { count: expect.any(Number), periodMs: 1_020 } })
    await liveInSteps(sending, 3_000, 20)
    expect([await sending.states(), await sending.findPause()]).toEqual([{ sent: 14 * 6 }, null])
    expect(countEach(sending)).toEqual(Array(14 * 6).fill(1))
  })

  test('with Retry-After are waited for, use up nothing, and lose no email', async () => {
    const quota = createQuota({ count: 10, periodMs: HOUR })
    let now = (): number => 0
    const asked: number[] = []
    const email = (): ApiDoing => {
      asked.push(now())
      const left = Math.ceil((HOUR - (now() % HOUR)) / 1_000)
      return quota.take(now()) ? 'accept' : { status: 429, body: {}, headers: { 'Retry-After': String(left) } }
    }
    const sending = await viaResend({ email })
    now = sending.clock.now
    await sending.setSettings({ giveUpHours: 2 })
    await sending.sendEvents(40)
    await live(sending, 6 * HOUR)
    expect(await sending.states()).toEqual({ sent: 40 })
    expect(countEach(sending)).toEqual(Array(40).fill(1))
    // those under way when the first is refused, and no other
    expect(asked.length).toBeLessThan(40 + 4 * SIDE_BY_SIDE)
  })
})

test('an address that Postmark suppresses is suppressed', async () => {
  const sending = await viaPostmark({ inactive: ['ada@example.com'] })
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'failed: provider_suppressed': 1 })
  expect(await sending.store().findSuppression(sending.app.id, 'ada@example.com')).toBe('bounced')
})

describe('a provider that is down', () => {
  test('has not received what could not be connected', async () => {
    const sending = await viaPostmark()
    await sending.api.stop()
    await sending.sendEvents(3)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ 'deferred: erefused': 3 })
  })

  const failing = { email: (_: unknown, count: number): ApiDoing => (count < 3 ? { status: 500 } : 'accept') }
  test.each([
    ['Postmark', () => viaPostmark(failing)],
    ['Resend', () => viaResend(failing)],
    ['Amazon SES', () => viaSes(failing)],
  ])('with 500 for a while loses no email and gets none twice: %s', async (_, start) => {
    const sending = await start()
    await sending.sendEvents(20)
    await sending.sendDue()
    await live(sending, 4 * HOUR)
    expect(await sending.states()).toEqual({ sent: 20 })
    expect(countEach(sending)).toEqual(Array(20).fill(1))
  })
})

describe.each(['cut', 'hang'] as const)('an answer that is lost (%s)', (doing) => {
  const losing = { email: () => doing, keepsCut: true }
  test.each([
    ['Postmark', () => viaPostmark(losing, { ifUnconfirmed: 'leave' }, waitFor(doing))],
    ['Amazon SES', () => viaSes(losing, { ifUnconfirmed: 'leave' }, waitFor(doing))],
  ])('at %s leaves the outcome unknown', async (_, start) => {
    const sending = await start()
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    await live(sending, HOUR)
    expect(await sending.states()).toEqual({ [`unknown: ${doing === 'cut' ? 'econnection' : 'etimedout'}`]: 1 })
    expect(countEach(sending)).toEqual([1])
  })

  test.each([true, false])(
    'at Resend is asked for again, and one email arrives (accepted before: %p)',
    async (keepsCut) => {
      const email = (_: unknown, count: number): ApiDoing => (count < 4 ? doing : 'accept')
      const sending = await viaResend({ email, keepsCut }, {}, waitFor(doing))
      await sending.sendEvents(3)
      await sending.sendDue()
      await live(sending, HOUR)
      expect(await sending.states()).toEqual({ sent: 3 })
      expect(countEach(sending)).toEqual([1, 1, 1])
      expect(sending.api.calls.length).toBe(12)
    },
  )
})

describe('an email whose outcome at Resend is unknown', () => {
  const startUnknown = async (doing: () => ApiDoing) => {
    let now = (): number => Date.now()
    const sending = await viaResend(
      { email: () => doing(), keepsCut: true, now: () => now() },
      { ifUnconfirmed: 'leave' },
    )
    now = sending.clock.now
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    return sending
  }

  test('is not sent again once Resend has forgotten it', async () => {
    let doing: ApiDoing = 'cut'
    const sending = await startUnknown(() => doing)
    await live(sending, 25 * HOUR, LONG_STEP)
    doing = 'accept'
    await live(sending, 25 * HOUR, LONG_STEP)
    expect(await sending.states()).toEqual({ 'unknown: econnection': 1 })
    expect(countEach(sending)).toEqual([1])
  })

  test('is not sent again through another account', async () => {
    const other = await startPostmark()
    const sending = await startUnknown(() => 'cut')
    await sending.setSettings({ smtpUrl: other.url, fromEmail: 'hello@first.example' })
    await live(sending, HOUR)
    await other.stop()
    expect(await sending.states()).toEqual({ 'unknown: econnection': 1 })
    expect(other.received).toEqual([])
  })

  test('is recognized although it has another text now', async () => {
    let doing: ApiDoing = 'cut'
    const sending = await startUnknown(() => doing)
    doing = 'accept'
    await sending.setSettings({ postalAddress: 'Another street' })
    await live(sending, 10 * MINUTE)
    expect(await sending.states()).toEqual({ sent: 1 })
    expect(countEach(sending)).toEqual([1])
  })
})

test('the keys of two installations differ', async () => {
  const keys: unknown[] = []
  for (const unsubscribeKey of ['one', 'other']) {
    const sending = await startVia(await startResend(), {}, { unsubscribeKey })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    keys.push(sending.api.calls[0]?.headers['idempotency-key'])
  }
  expect(new Set(keys).size).toBe(2)
})

describe('a check', () => {
  const check = async (sending: Sending, smtpUrl: string) =>
    sending.sender().checkServer(sending.app, { ...(await sending.store().mailSettings(sending.app.id)), smtpUrl })
  const FINE: ServerCheck = { is: 'fine', isSecure: false, login: 'key' }

  test('asks Postmark for the server and the stream', async () => {
    const sending = await viaPostmark()
    const { urlOf, url, calls } = sending.api
    expect(await check(sending, url)).toEqual(FINE)
    expect(calls.map(({ path }) => path)).toEqual(['/server', '/message-streams/outbound'])
    expect(await check(sending, urlOf('wrong', 'outbound'))).toMatchObject({
      is: 'failed',
      reason: 'api_401',
      reply: '401 10',
    })
    expect(await check(sending, url.replace('outbound', 'missing'))).toMatchObject({
      is: 'failed',
      reason: 'api_422',
      reply: '422 1226',
    })
    expect(await check(sending, urlOf('POSTMARK_API_TEST', 'outbound'))).toEqual(FINE)
  })

  test('accepts a key of Resend that may only send', async () => {
    const sending = await viaResend()
    const { urlOf, url, sendingUrl } = sending.api
    expect(await check(sending, url)).toEqual(FINE)
    expect(await check(sending, sendingUrl)).toEqual(FINE)
    expect(await check(sending, urlOf('re_wrong'))).toMatchObject({
      is: 'failed',
      reason: 'api_400',
      answer: 'API key is invalid',
    })
  })

  test('asks Amazon SES for the account, and says what it may do', async () => {
    const sending = await viaSes({ account: { ProductionAccessEnabled: false } })
    const { urlOf, url, secret } = sending.api
    expect(await check(sending, url)).toEqual({ ...FINE, note: 'sandbox' })
    expect(await check(sending, urlOf(`${secret}x`))).toMatchObject({
      is: 'failed',
      reason: 'api_403',
      reply: '403 InvalidSignatureException',
    })
    expect(await check(sending, url.replace('AKIA', 'BKIA'))).toMatchObject({
      reply: '403 UnrecognizedClientException',
    })
    const limited = await viaSes({ isSendingOnly: true })
    expect(await check(limited, limited.api.url)).toEqual(FINE)
    const paused = await viaSes({ account: { SendingEnabled: false } })
    expect(await check(paused, paused.api.url)).toEqual({ ...FINE, note: 'paused' })
  })

  test('says when nothing answers', async () => {
    const sending = await viaResend()
    await sending.api.stop()
    expect(await check(sending, sending.api.url)).toMatchObject({ is: 'failed', reason: 'erefused' })
  })
})

test('an app may not name an API on this machine unless the operator allows it', async () => {
  const api = await startPostmark()
  const sending = await startVia(api)
  expect(sending.sender().refusesServer('postmark://a@127.0.0.1:1/outbound')).toBe(false)
  const strict = await startSending({}, {}, { privateHosts: { names: new Set(), ranges: [] } })
  keep(strict)
  expect(strict.sender().refusesServer('postmark://a@127.0.0.1:1/outbound')).toBe(true)
  expect(strict.sender().refusesServer('postmark://a@api.postmarkapp.com/outbound')).toBe(false)
})
