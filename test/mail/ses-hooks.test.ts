import { beforeEach, describe, expect, test } from 'bun:test'
import { hookPath, readHookSecrets, topicTokenOf, writeHookSecret } from '../../src/accounts/hook-secrets.ts'
import { publicId } from '../../src/core/ids.ts'
import { SES_EVENTS } from '../../src/mail/ses-hooks.ts'
import { createSns, fetchText, findConfirmation, readSnsMessage, type SnsMessage } from '../../src/mail/sns.ts'
import type { ReportKind } from '../../src/store/delivery-reports.ts'
import { useClosing } from '../closing.ts'
import { DAY, HOUR, MINUTE, NOW } from '../durations.ts'
import { type Sending, startSending } from './sending.ts'
import {
  createSnsStandIn,
  FOREIGN_TOPIC,
  sesBounce,
  sesComplaint,
  sesDelay,
  sesDelivery,
  sesEvent,
  sesFeedback,
  TOPIC,
} from './sns.ts'
import type { Webhook } from './webhooks.ts'

const ABOUT = { id: 'dlv_00000000001', to: 'ada@example.com' }
type About = typeof ABOUT

const bounced = (about: About) => sesEvent(about, 'Bounce', sesBounce(about, 'Permanent', 'General'))

describe('an event of Amazon SES', () => {
  const WORDS = 'smtp; 550 5.1.1 user unknown'
  test.each<[string, object, ReportKind | null, string]>([
    ['a bounce', bounced(ABOUT), 'bounced', WORDS],
    [
      'a suppressed address',
      sesEvent(ABOUT, 'Bounce', sesBounce(ABOUT, 'Permanent', 'OnAccountSuppressionList')),
      'bounced',
      WORDS,
    ],
    ['a full mailbox', sesEvent(ABOUT, 'Bounce', sesBounce(ABOUT, 'Transient', 'MailboxFull')), 'softBounced', WORDS],
    ['refused content', sesEvent(ABOUT, 'Bounce', sesBounce(ABOUT, 'Transient', 'ContentRejected')), 'blocked', WORDS],
    ['a complaint', sesEvent(ABOUT, 'Complaint', sesComplaint(ABOUT, 'abuse')), 'complained', 'complained'],
    ['no complaint', sesEvent(ABOUT, 'Complaint', sesComplaint(ABOUT, 'not-spam')), null, ''],
    ['a delivery', sesEvent(ABOUT, 'Delivery', sesDelivery(ABOUT)), 'delivered', 'delivered'],
    ['a delay', sesEvent(ABOUT, 'DeliveryDelay', sesDelay(ABOUT)), 'delayed', 'smtp; 421 4.4.1 Unable to connect'],
    ['a virus', sesEvent(ABOUT, 'Reject', { reject: { reason: 'Bad content' } }), 'blocked', 'Bad content'],
    ['an opened email', sesEvent(ABOUT, 'Open', { open: { userAgent: 'x' } }), null, ''],
    ['a bounce, as feedback', sesFeedback(ABOUT, 'Bounce', sesBounce(ABOUT, 'Permanent', 'General')), 'bounced', WORDS],
    ['a delivery, as feedback', sesFeedback(ABOUT, 'Delivery', sesDelivery(ABOUT)), 'delivered', 'delivered'],
    ['an email without a delivery', { eventType: 'Delivery', mail: { tags: {} } }, null, ''],
    ['nothing', [], null, ''],
  ])('%s', (_, event, kind, reason) => {
    const reports = SES_EVENTS.read(event)
    expect(reports.map((report) => report.kind)).toEqual(kind === null ? [] : [kind])
    for (const report of reports) {
      expect(report.delivery).toStartWith(ABOUT.id)
      expect(report.reason).toBe(reason)
    }
  })
})

const readMessage = ({ body }: Webhook): SnsMessage => {
  const message = readSnsMessage(Buffer.from(body))
  if (message === null) throw new Error('no message')
  return message
}

describe('a message of Amazon SNS', () => {
  const sns = createSnsStandIn(NOW)
  const verify = async (webhook: Webhook) =>
    (await createSns(sns.fetch).verify(readMessage(webhook), NOW))?.refusal ?? null
  const notify = (changes: Record<string, string> = {}) => sns.notify(bounced(ABOUT), { at: NOW, changes })

  test.each(['1', '2'] as const)('is genuine by its signature, version %s', async (version) => {
    expect(await verify(sns.notify(bounced(ABOUT), { at: NOW, version }))).toBe(null)
    expect(await verify(sns.subscribe({ at: NOW, version }))).toBe(null)
    expect(await verify(sns.notify(bounced(ABOUT), { at: NOW - HOUR, version }))).toBe(null)
  })

  test.each<[string, Record<string, string>]>([
    ['message', { Message: JSON.stringify(bounced({ ...ABOUT, id: 'dlv_00000000002' })) }],
    ['kind', { Type: 'UnsubscribeConfirmation' }],
    ['ID', { MessageId: 'another' }],
    ['subject', { Subject: 'another' }],
    ['time', { Timestamp: new Date(NOW + 1_000).toISOString() }],
    ['topic', { TopicArn: FOREIGN_TOPIC }],
    ['signature', { Signature: '' }],
    ['version of its signature', { SignatureVersion: '2' }],
    ['version that does not exist', { SignatureVersion: '3' }],
  ])('is refused with another %s', async (_, changes) =>
    expect(await verify(notify(changes))).toBe('invalid_signature'),
  )

  test.each([-HOUR - 1_000, 6 * MINUTE])('is refused if it is old, or from the future: %d ms', async (ms) =>
    expect(await verify(sns.notify(bounced(ABOUT), { at: NOW + ms }))).toBe('signature_expired'),
  )

  test.each([
    'https://evil.example/SimpleNotificationService-1.pem',
    'http://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem',
    'https://sns.us-east-1.amazonaws.com.evil.example/SimpleNotificationService-1.pem',
    'https://sns.us-east-1.amazonaws.com@evil.example/SimpleNotificationService-1.pem',
    'https://sns.us-east-1.amazonaws.com:444/SimpleNotificationService-1.pem',
    'https://s3.us-east-1.amazonaws.com/SimpleNotificationService-1.pem',
    'https://sns.us-east-1.amazonaws.com/?Action=GetTopicAttributes',
    'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem?Action=a',
    'nowhere',
  ])('is refused with a certificate at %s, which is not fetched', async (url) => {
    const visited: string[] = []
    const { verify: check } = createSns(async (place) => (visited.push(place), sns.fetch(sns.certificate)))
    const refused = await check(readMessage(notify({ SigningCertURL: url })), NOW)
    expect([refused?.refusal, visited]).toEqual(['invalid_signature', []])
  })

  test('may have a certificate of Amazon in China', async () => {
    const url = 'https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-1.pem'
    const { verify: check } = createSns(async () => sns.fetch(sns.certificate))
    expect(await check(readMessage(notify({ SigningCertURL: url })), NOW)).toBe(null)
  })

  test('needs a certificate that is in force', async () => {
    const other = createSnsStandIn(NOW)
    const check = async () => (await createSns(other.fetch).verify(readMessage(notify()), NOW))?.refusal
    other.certify(NOW - 2 * DAY, NOW - DAY)
    expect(await check()).toBe('invalid_signature')
    other.pages.clear()
    expect(await check()).toBe('unavailable')
  })

  test('has a certificate that is fetched once, and again after a failure', async () => {
    const other = createSnsStandIn(NOW)
    const { verify: check } = createSns(other.fetch)
    const [page = ''] = other.pages.values()
    other.pages.clear()
    expect((await check(readMessage(notify()), NOW))?.refusal).toBe('unavailable')
    other.pages.set(other.certificate, '<html>Sign in to the network</html>')
    expect((await check(readMessage(notify()), NOW))?.refusal).toBe('unavailable')
    other.pages.set(other.certificate, page)
    for (let time = 0; time < 3; time += 1) expect(await check(readMessage(notify()), NOW)).toBe(null)
    expect(other.visited).toEqual(Array(3).fill(other.certificate))
  })

  test.each([
    'https://evil.example/?Action=ConfirmSubscription&TopicArn=TOPIC',
    'http://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=TOPIC',
    'https://sns.us-east-1.amazonaws.com.evil.example/?Action=ConfirmSubscription&TopicArn=TOPIC',
    'https://sns.us-east-1.amazonaws.com:8443/?Action=ConfirmSubscription&TopicArn=TOPIC',
    'https://sns.us-east-1.amazonaws.com@evil.example/?Action=ConfirmSubscription&TopicArn=TOPIC',
    'https://sns.us-east-1.amazonaws.com/?Action=Unsubscribe&TopicArn=TOPIC',
    'https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=another',
    'nowhere',
  ])('confirms nothing at %s', (place) => {
    const message = readMessage(sns.subscribe({ at: NOW, place: place.replace('TOPIC', TOPIC) }))
    expect(findConfirmation(message)).toBe(null)
  })

  test.each(['[]', '{}', '{"Type":"Notification"}', '['])('is more than %s', (body) =>
    expect(readSnsMessage(Buffer.from(body))).toBe(null),
  )
})

describe('the webhook of Amazon SES', () => {
  const keep = useClosing()
  let sending: Sending
  let sns: ReturnType<typeof createSnsStandIn>
  beforeEach(async () => {
    sns = createSnsStandIn(NOW)
    sending = keep(await startSending({}, {}, {}, { fetchSns: sns.fetch }))
  })

  const tokenOf = (app: string): string => topicTokenOf(sending.parts().previewKey, app)
  const post = ({ body, headers }: Webhook, app = sending.app.publicId, token = tokenOf(app)) =>
    sending.call('POST', hookPath('ses', app, token || undefined), { body, headers, key: null })
  const at = () => ({ at: sending.clock.now() })
  const topic = async () => readHookSecrets(await sending.store().mailSettings(sending.app.id)).ses
  const pin = (arn = TOPIC) => sending.setSettings({ hookSecrets: writeHookSecret({ hookSecrets: null }, 'ses', arn) })
  const suppression = () => sending.store().findSuppression(sending.app.id, ABOUT.to)

  async function sendOne(): Promise<About> {
    await sending.sendEvent(ABOUT.to)
    await sending.sendDue()
    const [delivery] = await sending.deliveries()
    return { ...ABOUT, id: publicId('dlv', delivery?.id ?? 0) }
  }

  test('says what is wrong with one that it refuses', async () => {
    const hintOf = async (answer: ReturnType<typeof post>) => (await answer).body.hint
    const genuine = sns.notify(bounced(ABOUT), at())
    const url = expect.stringContaining('The secret at the end of the URL is missing or wrong.')
    expect(await hintOf(post(genuine, sending.app.publicId, 'x'))).toEqual(url)
    expect(await hintOf(post(genuine, sending.app.publicId, ''))).toEqual(url)
    expect(await hintOf(post(genuine, 'app_unknown'))).toEqual(url)
    expect(await hintOf(post({ ...genuine, body: '{}' }))).toContain('Turn off raw message delivery')
    expect(await hintOf(post(genuine))).toContain('`TopicArn` is not the topic')
    await pin()
    const changed = JSON.stringify({ ...readMessage(genuine), Message: '{}' })
    expect(await hintOf(post({ ...genuine, body: changed }))).toStartWith('`Signature` does not match the fields')
    const elsewhere = sns.subscribe({ ...at(), place: 'https://evil.example/' })
    expect(await hintOf(post(elsewhere))).toStartWith('`SubscribeURL` does not point to Amazon SNS')
  })

  test('confirms the first subscription and keeps its topic; ten equal messages are one change', async () => {
    expect((await post(sns.subscribe(at()))).status).toBe(200)
    expect(sns.visited).toEqual([sns.certificate, expect.stringContaining('?Action=ConfirmSubscription&TopicArn=arn')])
    expect(await topic()).toBe(TOPIC)
    expect((await post(sns.subscribe({ ...at(), topic: FOREIGN_TOPIC }))).status).toBe(401)
    const about = await sendOne()
    const webhook = sns.notify(bounced(about), at())
    expect((await post(webhook)).status).toBe(200)
    const [after] = await sending.deliveries()
    expect([after?.state, after?.bounce, await suppression()]).toEqual(['bounced', 'hard', 'bounced'])
    sending.clock.tick(MINUTE)
    for (let time = 0; time < 10; time += 1) expect((await post(webhook)).status).toBe(200)
    expect((await sending.deliveries())[0]).toEqual(after)
    expect([await topic(), sns.visited.length]).toEqual([TOPIC, 2])
    sending.clock.tick(HOUR)
    expect((await post(webhook)).status).toBe(401)
    // as when a topic is chosen in SES
    const text = 'Successfully validated SNS topic for Amazon SES event publishing.'
    expect((await post(sns.notify(text, at()))).status).toBe(200)
  })

  test('confirms a subscription to the topic that was typed in, and to no other', async () => {
    await pin(FOREIGN_TOPIC)
    expect((await post(sns.subscribe(at()))).status).toBe(401)
    expect((await post(sns.subscribe({ ...at(), topic: FOREIGN_TOPIC }))).status).toBe(200)
    expect(await topic()).toBe(FOREIGN_TOPIC)
  })

  test('confirms later if Amazon cannot be reached', async () => {
    const webhook = sns.subscribe(at())
    const [page = ''] = sns.pages.values()
    sns.pages.clear()
    expect([(await post(webhook)).status, await topic()]).toEqual([503, undefined])
    sns.pages.set(sns.certificate, page)
    expect([(await post(webhook)).status, await topic()]).toEqual([200, TOPIC])
  })

  test('keeps no topic of a subscription that is confirmed elsewhere', async () => {
    const webhook = sns.subscribe({ ...at(), place: 'https://evil.example/' })
    expect([(await post(webhook)).status, await topic()]).toEqual([401, undefined])
    expect(sns.visited).toEqual([sns.certificate])
  })

  test('refuses what is forged, of another account, or for another app, and changes nothing', async () => {
    const about = await sendOne()
    const genuine = sns.notify(bounced(about), at())
    const { publicId: app } = sending.app
    // before a topic is known
    expect((await post(genuine)).status).toBe(401)
    await pin()
    const visited = sns.visited.length
    const refused = [
      await post(sns.notify(bounced(about), { ...at(), topic: FOREIGN_TOPIC })),
      await post(genuine, app, 'f'.repeat(32)),
      await post(genuine, app, ''),
      await post(genuine, app, tokenOf('app_1')),
      await post(genuine, sending.second.appId),
      await post({ body: JSON.stringify(bounced(about)), headers: {} }),
    ]
    // without asking anyone
    expect(sns.visited.length).toBe(visited)
    refused.push(await post(sns.notify(bounced(about), { ...at(), changes: { Subject: 'another' } })))
    expect(refused.map(({ status }) => status)).toEqual(Array(7).fill(401))
    expect((await post({ body: '[', headers: {} })).status).toBe(400)
    expect([await sending.states(), await suppression()]).toEqual([{ sent: 1 }, null])
  })

  test('of another app that has the same topic does not change the emails of this one', async () => {
    const about = await sendOne()
    const [other] = await sending.store().listApps(sending.second.accountId)
    if (!other) throw new Error('the other account has no app')
    const by = { accountId: other.accountId, appId: other.id, actor: 'test', ...at() }
    const settings = { hookSecrets: writeHookSecret({ hookSecrets: null }, 'ses', TOPIC) }
    await sending.store().setMailSettings({ ...by, settings })
    expect((await post(sns.notify(bounced(about), at()), other.publicId)).status).toBe(200)
    expect([await sending.states(), await suppression()]).toEqual([{ sent: 1 }, null])
  })

  test('fetches what is short, and neither redirected nor missing', async () => {
    const answers: Record<string, () => Response> = {
      '/fine': () => new Response('text'),
      '/long': () => new Response('x'.repeat(100_000)),
      '/away': () => Response.redirect('/fine'),
      '/missing': () => new Response('text', { status: 404 }),
    }
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: ({ url }) => answers[new URL(url).pathname]?.() ?? new Response('', { status: 404 }),
    })
    keep({ close: () => server.stop(true) })
    const found = await Promise.all(Object.keys(answers).map((path) => fetchText(`${server.url.origin}${path}`)))
    expect(found).toEqual(['text', null, null, null])
    expect(await fetchText('http://127.0.0.1:1/')).toBe(null)
  })
})
