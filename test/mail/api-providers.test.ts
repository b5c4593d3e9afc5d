import { describe, expect, test } from 'bun:test'
import { publicId } from '../../src/core/ids.ts'
import { API_LIMITS, createApiProvider } from '../../src/mail/api-provider.ts'
import { isApi, readMailUrl } from '../../src/core/mail-apis.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import type { Dial } from '../../src/mail/dial.ts'
import type { Provider } from '../../src/mail/provider.ts'
import type { SenderDependencies } from '../../src/mail/sender.ts'
import type { ServerCheck } from '../../src/messages/mailer.ts'
import { useClosing } from '../closing.ts'
import { HOUR, MINUTE } from '../durations.ts'
import { recordOf } from '../messaging.ts'
import type { ApiDoing } from './api-server.ts'
import { startPostmark } from './postmark-server.ts'
import { startResend } from './resend-server.ts'
import { live, startSending, type Sending } from './sending.ts'

const FROM = 'Demo <hello@first.example>'
const keep = useClosing()

/** Gives up after a moment. */
const impatient = (url: string, dial: Dial): Provider | null => {
  const account = readMailUrl(url)
  return account && isApi(account) ? createApiProvider(account, { ...API_LIMITS, answerMs: 300 }, dial) : null
}

type Api = { url: string; calls: { path: string }[]; counts(): Map<string, unknown[]>; stop(): Promise<void> }

async function startVia<A extends Api>(
  api: A,
  content: Partial<MessageContent> = {},
  mail: Partial<SenderDependencies> = {},
) {
  const defaults = { smtpUrl: api.url, from: FROM }
  const sending = await startSending(content, {}, { defaults, createProvider: impatient, ...mail })
  return keep({ ...sending, api, close: () => sending.close().finally(api.stop) })
}

const viaPostmark = async (
  behaviour: Parameters<typeof startPostmark>[0] = {},
  content: Partial<MessageContent> = {},
) => startVia(await startPostmark(behaviour), content)
const viaResend = async (behaviour: Parameters<typeof startResend>[0] = {}, content: Partial<MessageContent> = {}) =>
  startVia(await startResend(behaviour), content)

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
})

describe('an answer of the provider', () => {
  const body = { ErrorCode: 999, Message: 'something of Postmark' }
  test.each<[ApiDoing, string]>([
    [{ status: 422, body: { ErrorCode: 300, Message: "Invalid 'To' address." } }, 'failed: api_422'],
    [{ status: 422, body: { ErrorCode: 406, Message: 'Inactive' } }, 'failed: provider_suppressed'],
    [{ status: 422, body: { ErrorCode: 400, Message: 'No signature' } }, 'deferred: from_422'],
    [{ status: 422, body: { ErrorCode: 412, Message: 'Pending' } }, 'deferred: api_422'],
    [{ status: 401, body: { ErrorCode: 10, Message: 'Token' } }, 'deferred: api_401'],
    [{ status: 429, body }, 'deferred: api_429'],
    [{ status: 500, body }, 'deferred: api_500'],
    [{ status: 503, body, headers: { 'Retry-After': '120' } }, 'deferred: api_503'],
    [{ status: 504, body }, 'unknown: etimedout'],
    [{ status: 302, headers: { Location: 'https://evil.example/' } }, 'deferred: eprotocol'],
    ['cut', 'unknown: econnection'],
    ['hang', 'unknown: etimedout'],
  ])('%j ends as %s at Postmark', async (doing, state) => {
    const sending = await viaPostmark({ email: () => doing }, { ifUnconfirmed: 'leave' })
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
    [named(429, 'rate_limit_exceeded'), 'deferred: api_429'],
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
    expect(await sending.findPause()).toMatchObject({ reason: 'api_429', until: start + 10 * MINUTE, isOwn: false })
    await live(sending, 15 * MINUTE)
    expect(at.map((one) => Math.round((one - start) / MINUTE))).toEqual([0, 10])
    expect(await sending.states()).toEqual({ sent: 1 })
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

  test('with 500 for a while loses no email and gets none twice', async () => {
    const sending = await viaPostmark({ email: (_, count) => (count < 3 ? { status: 500 } : 'accept') })
    await sending.sendEvents(20)
    await sending.sendDue()
    await live(sending, 4 * HOUR)
    expect(await sending.states()).toEqual({ sent: 20 })
    expect(countEach(sending)).toEqual(Array(20).fill(1))
  }, 30_000)
})

describe.each(['cut', 'hang'] as const)('an answer that is lost (%s)', (doing) => {
  test('at Postmark leaves the outcome unknown', async () => {
    const sending = await viaPostmark({ email: () => doing, keepsCut: true }, { ifUnconfirmed: 'leave' })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    await live(sending, HOUR)
    expect(await sending.states()).toEqual({ [`unknown: ${doing === 'cut' ? 'econnection' : 'etimedout'}`]: 1 })
    expect(countEach(sending)).toEqual([1])
  })

  test.each([true, false])(
    'at Resend is asked for again, and one email arrives (accepted before: %p)',
    async (keepsCut) => {
      const sending = await viaResend({ email: (_, count) => (count < 4 ? doing : 'accept'), keepsCut })
      await sending.sendEvents(3)
      await sending.sendDue()
      await live(sending, HOUR)
      expect(await sending.states()).toEqual({ sent: 3 })
      expect(countEach(sending)).toEqual([1, 1, 1])
      expect(sending.api.calls.length).toBe(12)
    },
    30_000,
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
    await live(sending, 25 * HOUR)
    doing = 'accept'
    await live(sending, 25 * HOUR)
    expect(await sending.states()).toEqual({ 'unknown: econnection': 1 })
    expect(countEach(sending)).toEqual([1])
  }, 60_000)

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
