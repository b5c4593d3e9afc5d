import { beforeEach, describe, expect, test } from 'bun:test'
import { hookPath, makeHookToken, writeHookSecret } from '../../src/accounts/hook-secrets.ts'
import { publicId } from '../../src/core/ids.ts'
import { DAY, HOUR, MINUTE } from '../durations.ts'
import { recordOf } from '../messaging.ts'
import { live, type Sending, useSharedSending } from './sending.ts'
import {
  HARD,
  makeSigningSecret,
  postmarkBounce,
  postmarkComplaint,
  postmarkDelivery,
  resendEvent,
  signBySvix,
  SOFT,
  type Webhook,
} from './webhooks.ts'

const start = useSharedSending()
const ADA = 'ada@example.com'
const TOKEN = makeHookToken()
const SECRET = makeSigningSecret()

let sending: Sending
const again = { once: 'property', property: 'url' } as const
beforeEach(async () => {
  sending = await start({ again })
  const one = writeHookSecret({ hookSecrets: null }, 'postmark', TOKEN)
  await sending.setSettings({ hookSecrets: writeHookSecret({ hookSecrets: one }, 'resend', SECRET) })
})

const post = (path: string, { body, headers }: Webhook) => sending.call('POST', path, { body, headers, key: null })
const toPostmark = (webhook: Webhook, token: string | undefined = TOKEN, app = sending.app.publicId) =>
  post(hookPath('postmark', app, token), webhook)
const signed = (body: string, how: Partial<Parameters<typeof signBySvix>[1]> = {}) =>
  signBySvix(body, { secret: SECRET, at: sending.clock.now(), ...how })
const toResend = (webhook: Webhook, app = sending.app.publicId) => post(hookPath('resend', app), webhook)

async function sendOne(to = ADA) {
  await sending.sendEvent(to)
  await sending.sendDue()
  const [delivery] = await sending.deliveries()
  return { id: publicId('dlv', delivery?.id ?? 0), to }
}

const suppressionOf = (email: string) => sending.store().findSuppression(sending.app.id, email)
const newest = async () => (await sending.deliveries())[0]
async function changesOf(email: string) {
  const contact = await sending.store().findContact(sending.app.id, email)
  return sending.store().listContactChanges(contact?.id ?? 0, null, 10)
}

describe('a webhook', () => {
  type About = Awaited<ReturnType<typeof sendOne>>
  const KINDS: [string, (about: About) => Promise<{ status: number }>, string, string | null][] = [
    [
      'Postmark: bounced',
      (about) => toPostmark(postmarkBounce(about)),
      'bounced: smtp;550 5.1.1 unknown user',
      'bounced',
    ],
    ['Postmark: complained', (about) => toPostmark(postmarkComplaint(about)), 'complained: complained', 'complained'],
    ['Postmark: delivered', (about) => toPostmark(postmarkDelivery(about)), 'sent', null],
    [
      'Postmark: soft',
      (about) => toPostmark(postmarkBounce(about, 'SoftBounce')),
      'bounced: smtp;550 5.1.1 unknown user',
      null,
    ],
    ['Postmark: delayed', (about) => toPostmark(postmarkBounce(about, 'Transient')), 'sent', null],
    ['Postmark: an automatic reply', (about) => toPostmark(postmarkBounce(about, 'AutoResponder')), 'sent', null],
    [
      'Resend: bounced',
      (about) => toResend(signed(resendEvent('email.bounced', about, { bounce: HARD }))),
      'bounced: The recipient has no mailbox.',
      'bounced',
    ],
    [
      'Resend: soft',
      (about) => toResend(signed(resendEvent('email.bounced', about, { bounce: SOFT }))),
      'bounced: The mailbox is full.',
      null,
    ],
    [
      'Resend: complained',
      (about) => toResend(signed(resendEvent('email.complained', about))),
      'complained: complained',
      'complained',
    ],
    ['Resend: delivered', (about) => toResend(signed(resendEvent('email.delivered', about))), 'sent', null],
    ['Resend: opened', (about) => toResend(signed(resendEvent('email.opened', about))), 'sent', null],
  ]
  test.each(KINDS)('%s, ten times, is one change', async (_, send, state, suppression) => {
    const about = await sendOne()
    // what is saved with a new person is no change
    sending.clock.tick(1)
    expect((await send(about)).status).toBe(200)
    const after = await newest()
    expect([await sending.states(), await suppressionOf(ADA)]).toEqual([{ [state]: 1 }, suppression as 'bounced'])
    const changes = await changesOf(ADA)
    sending.clock.tick(MINUTE)
    for (let time = 0; time < 10; time += 1) expect((await send(about)).status).toBe(200)
    expect([await newest(), await changesOf(ADA)]).toEqual([after, changes])
    if (suppression)
      expect(changes.map(({ change }) => change.cause)).toMatchObject([{ by: 'report', delivery: about.id }])
  })

  test('of a bounce stops what waits for the person at once', async () => {
    const about = await sendOne()
    await sending.sendEvent(ADA, { url: 'https://first.example/results/2', headline: 'More' })
    await toPostmark(postmarkBounce(about))
    await sending.sendDue()
    expect(sending.server.received).toHaveLength(1)
    expect((await sending.store().findContact(sending.app.id, ADA))?.status).toBe('bounced')
  })

  test('takes back nothing that a member decided since', async () => {
    const about = await sendOne()
    await toPostmark(postmarkBounce(about))
    await sending.store().unsuppress({ appId: sending.app.id, email: ADA, at: sending.clock.now() })
    await toPostmark(postmarkBounce(about))
    expect(await suppressionOf(ADA)).toBeNull()
  })

  test('says when the email was delivered, which counts in the results', async () => {
    const about = await sendOne()
    sending.clock.tick(MINUTE)
    await toPostmark(postmarkDelivery(about))
    expect((await newest())?.deliveredAt).toBe(sending.clock.now())
  })

  test.each([
    ['delivered', 'bounced'],
    ['bounced', 'delivered'],
  ])('that comes late changes no final state: %s, then %s', async (...order) => {
    const about = await sendOne()
    for (const kind of order) await toPostmark(kind === 'delivered' ? postmarkDelivery(about) : postmarkBounce(about))
    expect((await newest())?.state).toBe('bounced')
    expect(await suppressionOf(ADA)).toBe('bounced')
  })

  test.each([
    ['bounced', 'complained'],
    ['complained', 'bounced'],
  ])('of a complaint counts more than a bounce: %s, then %s, each ten times', async (...order) => {
    const about = await sendOne()
    sending.clock.tick(MINUTE)
    for (const kind of order.flatMap((one) => Array.from({ length: 10 }, () => one))) {
      sending.clock.tick(1)
      await toPostmark(kind === 'bounced' ? postmarkBounce(about) : postmarkComplaint(about))
    }
    expect([await sending.states(), await suppressionOf(ADA)]).toEqual([{ 'complained: complained': 1 }, 'complained'])
    expect((await changesOf(ADA)).map(({ change: { status } }) => status)).toEqual(
      order[0] === 'bounced'
        ? [
            ['bounced', 'complained'],
            ['subscribed', 'bounced'],
          ]
        : [['subscribed', 'complained']],
    )
  })

  test('about an email whose outcome is unknown settles it, and it is not sent again', async () => {
    const unsure = await start({}, { dot: () => 'drop', keepsDropped: true })
    sending = unsure
    await unsure.setSettings({ hookSecrets: writeHookSecret({ hookSecrets: null }, 'postmark', TOKEN) })
    await unsure.sendEvent(ADA)
    const before = unsure.server.received.length
    const sent = unsure.sendDue()
    await sent
    const delivery = await newest()
    const about = { id: publicId('dlv', delivery?.id ?? 0), to: ADA }
    await toPostmark(postmarkDelivery(about))
    const settled = await newest()
    expect(settled?.state).toBe('sent')
    const count = unsure.server.received.length
    await live(unsure, HOUR)
    expect(unsure.server.received.length).toBe(count)
    expect(count).toBeGreaterThan(before)
    expect(settled && recordOf(settled).verdicts).toBeDefined()
  })
})

describe('three soft bounces within 14 days', () => {
  const softly = async (days: number[]) => {
    let last = 0
    for (const day of days) {
      sending.clock.tick((day - last) * DAY)
      last = day
      const number = String(day)
      await sending.sendEvent(ADA, { url: `https://first.example/results/${number}`, headline: 'Ready' })
      await sending.sendDue()
      const delivery = await newest()
      await toPostmark(postmarkBounce({ id: publicId('dlv', delivery?.id ?? 0), to: ADA }, 'SoftBounce'))
    }
    return suppressionOf(ADA)
  }

  test('suppress the address', async () => expect(await softly([0, 6, 13])).toBe('bounced'))

  test('are changes of the person, and the rule is the cause of the last one', async () => {
    await softly([0, 6, 13])
    const changes = await changesOf(ADA)
    const soft = { by: 'report', kind: 'softBounced', provider: 'postmark', text: 'smtp;550 5.1.1 unknown user' }
    const rule = { by: 'softBounces', count: 3, days: 14 } as const
    expect(changes.map(({ change }) => [change.status, change.cause])).toEqual([
      [['subscribed', 'bounced'], rule],
      ...[1, 2, 3].map(() => [null, expect.objectContaining(soft)]),
    ] as unknown as [null, null][])
    expect((await sending.store().findSuppressed(sending.app.id, ADA))?.cause).toEqual(rule)
  })

  test('are needed', async () => expect(await softly([0, 6])).toBeNull())
  test('must be that close', async () => expect(await softly([0, 8, 15])).toBeNull())
})

describe('401', () => {
  const body = () => resendEvent('email.bounced', { id: 'dlv_00000000001', to: ADA }, { bounce: HARD })
  const [WRONG_URL, WRONG_SVIX] = ['The secret at the end of the URL is wrong.', '`svix-signature` does not match.']
  const HOWS: [string, () => Promise<{ status: number; body: Record<string, unknown> }>, string][] = [
    ['another token', () => toPostmark(postmarkBounce({ id: 'x', to: ADA }), makeHookToken()), WRONG_URL],
    ['a shorter token', () => toPostmark(postmarkBounce({ id: 'x', to: ADA }), TOKEN.slice(0, -1)), WRONG_URL],
    [
      'no token',
      () => post(hookPath('postmark', sending.app.publicId), postmarkBounce({ id: 'x', to: ADA })),
      'Missing: the secret at the end of the URL.',
    ],
    [
      "another account's app",
      () => toPostmark(postmarkBounce({ id: 'x', to: ADA }), TOKEN, sending.second.appId),
      WRONG_URL,
    ],
    ['an unknown app', () => toPostmark(postmarkBounce({ id: 'x', to: ADA }), TOKEN, 'app_unknown'), WRONG_URL],
    ['another signing secret', () => toResend(signed(body(), { secret: makeSigningSecret() })), WRONG_SVIX],
    ['another body', () => toResend({ ...signed(body()), body: `${body()} ` }), WRONG_SVIX],
    [
      'another ID',
      () => toResend({ ...signed(body()), headers: { ...signed(body()).headers, 'svix-id': 'msg_2' } }),
      WRONG_SVIX,
    ],
    [
      'no signature',
      () => toResend({ body: body(), headers: {} }),
      'Missing: the header `svix-id`, the header `svix-timestamp`, and the header `svix-signature`.',
    ],
    ['an app without a secret', () => toResend(signed(body()), sending.second.appId), WRONG_SVIX],
  ]
  test.each(HOWS)('%s', async (_, send, fault) => {
    const { status, body: answer } = await send()
    expect([status, answer.error, answer.message]).toEqual([401, 'invalid_signature', 'Invalid signature'])
    const signed = fault.includes('svix')
      ? '`svix-signature` is `v1,` and the HMAC-SHA256 of'
      : "This provider doesn't sign webhooks, so the URL ends with a secret."
    expect(answer.hint).toStartWith(`${fault} ${signed}`)
    expect(await suppressionOf(ADA)).toBeNull()
  })

  test.each([-1, 1])('a webhook that was signed too long ago, or in the future (%p)', async (sign) => {
    const about = await sendOne()
    const text = resendEvent('email.bounced', about, { bounce: HARD })
    const at = sending.clock.now() + sign * (5 * MINUTE + 1_000)
    const old = await toResend(signed(text, { at }))
    expect([old.status, old.body.error]).toEqual([401, 'signature_expired'])
    expect(await suppressionOf(ADA)).toBeNull()
    expect((await toResend(signed(text, { at: sending.clock.now() + sign * 5 * MINUTE }))).status).toBe(200)
  })

  test('reveals the age to those who know the secret only', async () => {
    const at = sending.clock.now() - DAY
    const { body: answer } = await toResend(signed(body(), { at, secret: makeSigningSecret() }))
    expect(answer.error).toBe('invalid_signature')
  })

  test('one of several signatures is enough', async () => {
    const about = await sendOne()
    const webhook = signed(resendEvent('email.complained', about))
    const both = `v1,bm90aGluZw== ${webhook.headers['svix-signature']}`
    expect((await toResend({ ...webhook, headers: { ...webhook.headers, 'svix-signature': both } })).status).toBe(200)
    expect(await suppressionOf(ADA)).toBe('complained')
  })
})

describe('200 without a change', () => {
  test.each(['dlv_00000000001', 'dlv_1', 'something else', ''])('about %p', async (id) => {
    await sendOne()
    expect((await toPostmark(postmarkBounce({ id, to: ADA }))).status).toBe(200)
    expect([await sending.states(), await suppressionOf(ADA)]).toEqual([{ sent: 1 }, null])
  })

  test("about another account's email", async () => {
    const about = await sendOne()
    const { app, setSettings } = await start()
    await setSettings({ hookSecrets: writeHookSecret({ hookSecrets: null }, 'postmark', TOKEN) })
    expect((await toPostmark(postmarkBounce(about), TOKEN, app.publicId)).status).toBe(200)
    expect([await sending.states(), await suppressionOf(ADA)]).toEqual([{ sent: 1 }, null])
  })

  test('of other kinds and shapes', async () => {
    const about = await sendOne()
    const headers = { 'Content-Type': 'application/json' }
    for (const body of [
      {},
      { RecordType: 'Open', Metadata: { delivery: about.id } },
      { RecordType: 'Bounce', Metadata: [] },
    ])
      expect((await toPostmark({ body: JSON.stringify(body), headers })).status).toBe(200)
    expect(await sending.states()).toEqual({ sent: 1 })
  })
})

test('a body that is no object is refused, and one that is too large', async () => {
  expect((await toPostmark({ body: '[', headers: {} })).status).toBe(400)
  expect((await toPostmark({ body: JSON.stringify({ Content: 'x'.repeat(1_100_000) }), headers: {} })).status).toBe(413)
  expect((await post(`/hooks/nobody/${sending.app.publicId}`, { body: '{}', headers: {} })).status).toBe(404)
})

test('metadata of Postmark may be named in another case', async () => {
  const about = await sendOne()
  const { body, headers } = postmarkDelivery(about)
  expect((await toPostmark({ body: body.replace('"delivery"', '"Delivery"'), headers })).status).toBe(200)
  expect((await newest())?.deliveredAt).not.toBeNull()
})

test('tags of Resend may be a list', async () => {
  const about = await sendOne()
  const { data, ...event } = JSON.parse(resendEvent('email.delivered', about)) as { data: object }
  const body = JSON.stringify({ ...event, data: { ...data, tags: [{ name: 'delivery', value: about.id }] } })
  expect((await toResend(signed(body))).status).toBe(200)
  expect((await newest())?.deliveredAt).not.toBeNull()
})

test('the last webhooks are known, those about test emails too', async () => {
  const about = await sendOne()
  await toPostmark(postmarkDelivery(about))
  await toPostmark(postmarkBounce({ id: 'test-1', to: 'hardbounce@bounce-testing.postmarkapp.com' }))
  const found = await sending.store().listLastReports(sending.app.id)
  const at = sending.clock.now()
  expect(found.toSorted((a, b) => a.kind.localeCompare(b.kind))).toEqual([
    { provider: 'postmark', kind: 'delivered', reports: 1, lastAt: at },
    { provider: 'postmark', kind: 'testCame', reports: 1, lastAt: at },
  ])
})
