/** Webhooks of providers that get the emails over SMTP. */
import { beforeEach, describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import {
  HOOK_SECRETS,
  type HookProvider,
  hookPath,
  makeHookToken,
  readSigningSecret,
  writeHookSecret,
} from '../../src/accounts/hook-secrets.ts'
import { MAIL_PROVIDERS } from '../../src/accounts/mail-providers.ts'
import { publicId } from '../../src/core/ids.ts'
import { composeMail } from '../../src/mail/compose.ts'
import { dialAny } from '../../src/mail/dial.ts'
import { createRoutes } from '../../src/mail/routes.ts'
import { SENDGRID_HOOKS } from '../../src/mail/sendgrid-hooks.ts'
import { NO_SETTINGS } from '../../src/store/mail-settings.ts'
import { DAY, HOUR, MINUTE } from '../durations.ts'
import { type Sending, useSharedSending } from './sending.ts'
import { brevoEvent, mailgunEvent, sendgridEvents, signBySendgrid, type Webhook } from './webhooks.ts'

const start = useSharedSending()
const ADA = 'ada@example.com'
const TOKEN = makeHookToken()
const KEY = 'key-3ax6xnjp29jd6fds4gc373sgvjxteol0'
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const PUBLIC = publicKey.export({ format: 'der', type: 'spki' }).toString('base64')
const SECRETS: [HookProvider, string][] = [
  ['brevo', TOKEN],
  ['mailgun', KEY],
  ['sendgrid', PUBLIC],
]

let sending: Sending
beforeEach(async () => {
  sending = await start()
  let hookSecrets: string | null = null
  for (const [provider, secret] of SECRETS) hookSecrets = writeHookSecret({ hookSecrets }, provider, secret)
  await sending.setSettings({ hookSecrets })
})

const post = (provider: HookProvider, { body, headers }: Webhook, token?: string) =>
  sending.call('POST', hookPath(provider, sending.app.publicId, token), { body, headers, key: null })
const now = () => sending.clock.now()

async function sendOne(to = ADA) {
  await sending.sendEvent(to)
  await sending.sendDue()
  const [delivery] = await sending.deliveries()
  return { id: publicId('dlv', delivery?.id ?? 0), to }
}
type About = Awaited<ReturnType<typeof sendOne>>

const suppressionOf = (email: string) => sending.store().findSuppression(sending.app.id, email)
const newest = async () => (await sending.deliveries())[0]

const toMailgun = (about: About, event: Parameters<typeof mailgunEvent>[1]) =>
  post('mailgun', mailgunEvent(about, event, { key: KEY, at: now() }))
const toSendgrid = (about: About, event: { event: string; type?: string; reason?: string }) =>
  post('sendgrid', signBySendgrid(sendgridEvents([{ about, ...event }]), { privateKey, at: now() }))
const toBrevo = (about: About, event: string) => post('brevo', brevoEvent(about, event, { reason: 'why' }), TOKEN)

describe('an event', () => {
  type Effect = ['sent' | 'bounced' | 'complained', 'bounced' | 'complained' | null, 'hard' | 'soft' | 'blocked' | null]
  const HARD: Effect = ['bounced', 'bounced', 'hard']
  const BLOCKED: Effect = ['bounced', null, 'blocked']
  const COMPLAINED: Effect = ['complained', 'complained', null]
  const NONE: Effect = ['sent', null, null]
  const EVENTS: [string, (about: About) => Promise<{ status: number }>, Effect][] = [
    ['Mailgun: delivered', (about) => toMailgun(about, { event: 'delivered' }), NONE],
    [
      'Mailgun: permanent',
      (about) => toMailgun(about, { event: 'failed', severity: 'permanent', reason: 'bounce' }),
      HARD,
    ],
    [
      'Mailgun: blocked',
      (about) => toMailgun(about, { event: 'failed', severity: 'permanent', reason: 'espblock' }),
      BLOCKED,
    ],
    ['Mailgun: temporary', (about) => toMailgun(about, { event: 'failed', severity: 'temporary' }), NONE],
    ['Mailgun: complained', (about) => toMailgun(about, { event: 'complained' }), COMPLAINED],
    ['Mailgun: opened', (about) => toMailgun(about, { event: 'opened' }), NONE],
    ['SendGrid: delivered', (about) => toSendgrid(about, { event: 'delivered' }), NONE],
    ['SendGrid: bounce', (about) => toSendgrid(about, { event: 'bounce', type: 'bounce', reason: '550 5.1.1' }), HARD],
    ['SendGrid: blocked', (about) => toSendgrid(about, { event: 'bounce', type: 'blocked' }), BLOCKED],
    ['SendGrid: dropped', (about) => toSendgrid(about, { event: 'dropped', reason: 'Bounced Address' }), HARD],
    ['SendGrid: spamreport', (about) => toSendgrid(about, { event: 'spamreport' }), COMPLAINED],
    ['SendGrid: processed', (about) => toSendgrid(about, { event: 'processed' }), NONE],
    ['Brevo: delivered', (about) => toBrevo(about, 'delivered'), NONE],
    ['Brevo: hard_bounce', (about) => toBrevo(about, 'hard_bounce'), HARD],
    ['Brevo: soft_bounce', (about) => toBrevo(about, 'soft_bounce'), ['bounced', null, 'soft']],
    ['Brevo: spam', (about) => toBrevo(about, 'spam'), COMPLAINED],
    ['Brevo: opened', (about) => toBrevo(about, 'opened'), NONE],
  ]
  test.each(EVENTS)('%s, ten times, is one change', async (name, send, [state, suppression, bounce]) => {
    const about = await sendOne()
    expect((await send(about)).status).toBe(200)
    const after = await newest()
    expect([after?.state, after?.bounce, await suppressionOf(ADA)]).toEqual([state, bounce, suppression])
    expect(after?.deliveredAt !== null).toBe(name.endsWith('delivered') || state === 'complained')
    sending.clock.tick(MINUTE)
    for (let time = 0; time < 10; time += 1) expect((await send(about)).status).toBe(200)
    expect(await newest()).toEqual(after)
  })

  test('comes in a list with others at SendGrid, each about its own email', async () => {
    const [ada, bob] = [await sendOne(), await sendOne('bob@example.com')]
    const events = [
      { about: ada, event: 'delivered' },
      { about: bob, event: 'bounce', type: 'bounce', reason: 'gone' },
      { about: { id: 'dlv_00000000001', to: ADA }, event: 'bounce', type: 'bounce' },
    ]
    await post('sendgrid', signBySendgrid(sendgridEvents(events), { privateKey, at: now() }))
    expect(await sending.states()).toEqual({ sent: 1, 'bounced: gone': 1 })
    expect([await suppressionOf(ADA), await suppressionOf('bob@example.com')]).toEqual([null, 'bounced'])
  })
})

test('a refused webhook says what is missing or wrong, and what is signed', async () => {
  const about = await sendOne()
  const hintOf = async (answer: ReturnType<typeof post>) =>
    String((await answer).body.hint)
      .split('. ')
      .slice(0, 2)
  const mailgun = '`signature.timestamp` followed by `signature.token`'
  const failed = mailgunEvent(about, { event: 'failed', severity: 'permanent' }, { key: KEY, at: now() })
  const other = mailgunEvent(about, { event: 'failed', severity: 'permanent' }, { key: 'another-key-1234', at: now() })
  expect(await hintOf(post('mailgun', { body: '{}', headers: {} }))).toEqual([
    'Missing: `signature.timestamp`, `signature.token`, and `signature.signature`',
    expect.stringContaining(mailgun),
  ])
  expect(await hintOf(post('mailgun', other))).toEqual([
    '`signature.signature` does not match',
    expect.stringContaining(mailgun),
  ])
  await post('mailgun', failed)
  const again = JSON.stringify({ ...(JSON.parse(failed.body) as object), more: 1 })
  expect((await hintOf(post('mailgun', { ...failed, body: again })))[0]).toEndWith('was already used with another body')
  const events = sendgridEvents([{ about, event: 'delivered' }])
  const signed = signBySendgrid(events, { privateKey, at: now() })
  const [time, signature] = ['x-twilio-email-event-webhook-timestamp', 'x-twilio-email-event-webhook-signature']
  expect((await hintOf(post('sendgrid', { body: events, headers: {} })))[0]).toBe(
    `Missing: the header \`${time}\` and the header \`${signature}\``,
  )
  expect(await hintOf(post('sendgrid', { ...signed, body: `${events} ` }))).toEqual([
    `\`${signature}\` does not match`,
    expect.stringContaining('over the timestamp followed by the body'),
  ])
})

describe('401', () => {
  const FAILED = { event: 'failed', severity: 'permanent' } as const
  const events = (about: About) => sendgridEvents([{ about, event: 'bounce', type: 'bounce' }])
  const HOWS: [string, (about: About) => Promise<{ status: number }>][] = [
    [
      'Mailgun: another key',
      (about) => post('mailgun', mailgunEvent(about, FAILED, { key: 'another-key-1234', at: now() })),
    ],
    ['Mailgun: no signature', () => post('mailgun', { body: '{}', headers: {} })],
    ['Mailgun: old', (about) => post('mailgun', mailgunEvent(about, FAILED, { key: KEY, at: now() - DAY - HOUR }))],
    ['Mailgun: in the future', (about) => post('mailgun', mailgunEvent(about, FAILED, { key: KEY, at: now() + HOUR }))],
    [
      'SendGrid: another key',
      (about) => post('sendgrid', signBySendgrid(events(about), { privateKey: OTHER, at: now() })),
    ],
    [
      'SendGrid: another body',
      (about) => post('sendgrid', { ...signBySendgrid('[]', { privateKey, at: now() }), body: events(about) }),
    ],
    ['SendGrid: no signature', (about) => post('sendgrid', { body: events(about), headers: {} })],
    [
      'SendGrid: old',
      (about) => post('sendgrid', signBySendgrid(events(about), { privateKey, at: now() - DAY - HOUR })),
    ],
    ['Brevo: another token', (about) => post('brevo', brevoEvent(about, 'hard_bounce'), makeHookToken())],
    ['Brevo: no token', (about) => post('brevo', brevoEvent(about, 'hard_bounce'))],
  ]
  const OTHER = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey
  test.each(HOWS)('%s', async (_, send) => {
    const about = await sendOne()
    expect((await send(about)).status).toBe(401)
    expect([await sending.states(), await suppressionOf(ADA)]).toEqual([{ sent: 1 }, null])
  })

  test("a signature of Mailgun with another body, as it isn't about the body", async () => {
    const [ada, bob] = [await sendOne(), await sendOne('bob@example.com')]
    const token = 'one-token'
    const [first, other] = [ada, bob].map((about) => mailgunEvent(about, FAILED, { key: KEY, at: now(), token }))
    expect((await post('mailgun', first as Webhook)).status).toBe(200)
    expect((await post('mailgun', other as Webhook)).status).toBe(401)
    expect((await post('mailgun', first as Webhook)).status).toBe(200)
    expect([await suppressionOf(ADA), await suppressionOf('bob@example.com')]).toEqual(['bounced', null])
  })
})

test('a signature that the tests of @sendgrid/eventwebhook contain is right', () => {
  const secret =
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWjcMMsTbhdbcwHBcepxo7yAQGhHPTnlvFYPAZFceEu/1FwCM/QmGUhA=='
  const signature = 'MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRamr2nlxFDWYNH2j/0='
  const bytes = Buffer.from('{"category":"example_payload","event":"test_event","message_id":"message_id"}')
  expect(readSigningSecret('sendgrid', ` ${secret}\n`)).toEqual({ secret })
  const header = (name: string) => (name.endsWith('timestamp') ? '1588788367' : signature)
  const request = { bytes, header, token: '', secret, at: 1_588_788_367_000 }
  expect(SENDGRID_HOOKS.verify(request)).toBeNull()
  expect(SENDGRID_HOOKS.verify({ ...request, bytes: Buffer.from('{}') })).toMatchObject({
    refusal: 'invalid_signature',
  })
})

test.each<[HookProvider, string]>([
  ['resend', 'whsec_'],
  ['mailgun', 'short'],
  ['mailgun', 'with a space in between'],
  ['sendgrid', 'AAAA'],
  ['sendgrid', ''],
  ['postmark', 'anything'],
])('%s does not sign with %p', (provider, text) => {
  expect(readSigningSecret(provider, text)).toHaveProperty('errors')
})

test('an email over SMTP names its delivery as the provider wants it', async () => {
  const clock = { now: Date.now, monotonicMs: Date.now, steadyNow: Date.now }
  const rawOf = async (smtpUrl: string): Promise<string> => {
    const routes = createRoutes({ smtpUrl, from: 'hello@first.example' }, { clock, dialOwn: dialAny })
    const { provider } = routes.findLogin(NO_SETTINGS)
    const box = { name: '', address: ADA }
    const fields = { mail: { subject: 'S', html: 'H', text: 'T' }, from: box, replyTo: null, to: box, at: 0 }
    const composed = await (provider?.compose ?? composeMail)({
      ...fields,
      messageId: 'dlv_00000000001@first.example',
      unsubscribeUrl: null,
      feedbackId: 'msg_1:app_1:lifecycle:eventpost',
      dkim: null,
    })
    return composed.raw.toString()
  }
  const named = MAIL_PROVIDERS.filter(({ smtpHeaders }) => smtpHeaders)
  expect(named.map(({ id }) => id)).toEqual(['ses', 'postmark', 'mailgun', 'sendgrid', 'brevo'])
  const raws = await Promise.all(named.map(({ host }) => rawOf(`smtp://u:p@${host}`)))
  const lines = raws.map((raw) => raw.split('\r\n').filter((line) => line.startsWith('X-')))
  expect(lines).toEqual([
    ['X-Ses-Message-Tags: delivery=dlv_00000000001'],
    ['X-Pm-Metadata-Delivery: dlv_00000000001', 'X-Pm-Keepid: true'],
    ['X-Mailgun-Variables: {"delivery":"dlv_00000000001"}'],
    ['X-SMTPAPI: {"unique_args":{"delivery":"dlv_00000000001"}}'],
    ['X-Mailin-Custom: delivery:dlv_00000000001'],
  ])
  const own = await rawOf('smtp://mail.example.com')
  expect(own).not.toContain('X-')
  // Gmail counts no complaints of an email with two
  const counted = [...raws, own].map((raw) => raw.includes('Feedback-ID: msg_1:app_1:lifecycle:eventpost'))
  expect(counted).toEqual([false, false, false, false, false, true])
})

test('each provider whose webhooks are read says where to add them', () => {
  const hooked = MAIL_PROVIDERS.flatMap(({ hooks }) => hooks ?? [])
  expect(hooked.map(({ name }) => name).toSorted()).toEqual(Object.keys(HOOK_SECRETS).toSorted() as HookProvider[])
})
