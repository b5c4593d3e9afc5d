import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createApp } from '../../src/accounts/accounts.ts'
import { publicId } from '../../src/core/ids.ts'
import { isRefusal } from '../../src/core/refusals.ts'
import { listDeliveries } from '../../src/deliveries/delivery-lists.ts'
import { API, type Given } from '../helper.ts'
import { type Sending, useSending, useSharedSending } from '../mail/sending.ts'
import { recordOf } from '../messaging.ts'
import { codeOf, usedUp } from './expected.ts'

const SEND = `${API}/send`
const CONTACTS = `${API}/contacts`
const ADA = 'ada@example.com'
const RECEIPT = {
  trigger: { api: 'send' as const },
  mail: {
    subject: 'Receipt {{ event.number }}',
    body: 'Hello {{ contact.firstName | default: "there" }},\n\n{{ event.total }}. [Open it]({{ event.url }})',
    category: 'transactional' as const,
  },
}
const VALUES = { number: 'R-7', total: '29 *dollars*', url: 'https://first.example/receipts/7' }
const OWN = { subject: 'Reset {{ event.app }}', body: '[Choose a password]({{ event.url }})', properties: {} }
const RESET = { ...OWN, properties: { app: 'your password', url: 'https://first.example/reset?token=a' } }

const openSending = useSharedSending()
const startSending = useSending()
let sending: Sending
let receipt: { id: number }
beforeEach(async () => {
  sending = await openSending({ trigger: { event: 'other' } })
  receipt = await save('Receipt')
})

const by = () => ({ accountId: sending.app.accountId, appId: sending.app.id, actor: 'test', at: sending.clock.now() })

async function save(name: string, status: 'live' | 'draft' | 'paused' = 'live', changes: object = {}) {
  const draft = { id: null, name, status, content: { ...RECEIPT, ...changes } }
  const outcome = await sending.store().saveMessages({ ...by(), drafts: [draft] })
  if (isRefusal(outcome) || !outcome.saved[0]) throw new Error('not saved')
  return outcome.saved[0]
}

const send = (body: object = {}, given: Given = {}) =>
  sending.call('POST', SEND, {
    body: { app: sending.app.publicId, email: ADA, createContact: true, ...body },
    ...given,
  })
const sendReceipt = (body: object = {}, given: Given = {}) =>
  send({ message: 'Receipt', properties: VALUES, ...body }, given)
const find = async (id: unknown) =>
  (await sending.call('GET', `${API}/deliveries/${String(id)}?app=${sending.app.publicId}`)).body
const mails = () => sending.server.received.map(({ raw }) => raw.replaceAll('=\r\n', ''))
const addAda = (more: object = {}) =>
  sending.call('POST', CONTACTS, { body: { app: sending.app.publicId, email: ADA, ...more } })

describe('a message', () => {
  test('is sent at once, with the values of the call, and the email can be read', async () => {
    const { status, body } = await sendReceipt({ firstName: 'Ada' })
    expect([status, body]).toEqual([
      202,
      {
        ok: true,
        deliveryId: expect.stringMatching(/^dlv_[0-9a-z]{11}$/),
        contactId: expect.stringMatching(/^con_[0-9a-z]{11}$/),
        created: true,
      },
    ])
    expect(await find(body.deliveryId)).toMatchObject({
      delivery: { state: 'waiting', message: 'Receipt', messageId: publicId('msg', receipt.id), subject: null },
    })
    await sending.sendDue()
    const [raw = ''] = mails()
    expect(sending.server.received).toHaveLength(1)
    expect(raw).toContain('Subject: Receipt R-7')
    expect(raw).toContain('Hello Ada,')
    // values are text, never formatting
    expect(raw).toContain('29 *dollars*')
    expect(raw).toContain('https://first.example/receipts/7')
    expect(raw).not.toContain('List-Unsubscribe')
    const found = await find(body.deliveryId)
    expect(found).toMatchObject({
      delivery: { state: 'sent', keyId: sending.first.keyId, version: 1 },
      rules: [
        { rule: 'suppression', verdict: 'pass' },
        { rule: 'message', verdict: 'pass' },
      ],
    })
    expect(found.why).toStartWith('It was sent on ')
  })

  test('is found by its ID or its name', async () => {
    expect((await sendReceipt({ message: publicId('msg', receipt.id) })).status).toBe(202)
    for (const message of ['receipt', 'Another', publicId('msg', receipt.id + 1)]) {
      const answer = await sendReceipt({ message })
      expect([codeOf(answer), answer.body.message]).toEqual([
        '404 message_not_found',
        'This app has no message with this ID or name. Copy its name from Messages.',
      ])
    }
  })

  test('must be live and have the trigger for it', async () => {
    await save('Unready', 'draft')
    await save('Stopped', 'paused')
    expect((await sendReceipt({ message: 'Unready' })).body).toMatchObject({
      error: 'message_not_live',
      message: 'This message is a draft. Make it live, then send this again.',
    })
    expect((await sendReceipt({ message: 'Stopped' })).body).toMatchObject({
      error: 'message_not_live',
      message: 'This message is paused. Make it live, then send this again.',
    })
    const triggered = await sendReceipt({ message: 'Results ready' })
    expect([codeOf(triggered), triggered.body.field]).toEqual(['400 invalid_field', 'message'])
    expect(await sending.deliveries()).toEqual([])
  })

  test('is not sent once it was paused', async () => {
    const { body } = await sendReceipt()
    await sending.store().setMessageStatus({ ...by(), id: receipt.id, status: 'paused' })
    await sending.sendDue()
    expect(sending.server.received).toEqual([])
    expect(await find(body.deliveryId)).toMatchObject({ delivery: { state: 'skipped', reason: 'message_paused' } })
  })

  test('is sent by each call, whatever was sent before', async () => {
    for (const number of ['R-1', 'R-2', 'R-3']) await sendReceipt({ properties: { ...VALUES, number } })
    await sending.setSettings({ perPersonDay: 1, sendWindow: { days: [], from: '09:00', until: '10:00' } })
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 3 })
  })

  test('is explained for people whom it was not sent to', async () => {
    await addAda({ firstName: 'Ada' })
    const { explainPerson } = await import('../../src/deliveries/delivery-lists.ts')
    const person = await sending.store().findContact(sending.app.id, ADA)
    const explained = person ? await explainPerson({ store: sending.store(), clock: sending.clock }, person) : []
    expect(explained.map(({ message, why }) => [message.name, why])).toContainEqual([
      'Receipt',
      'Your server has not sent this message to Ada.',
    ])
  })
})

describe('a text of its own', () => {
  test('is sent like a message, and is no message of the app', async () => {
    const { status, body } = await send(RESET)
    expect(status).toBe(202)
    await sending.sendDue()
    const [raw = ''] = mails()
    expect(raw).toContain('Subject: Reset your password')
    expect(raw).toContain('https://first.example/reset?token=a')
    const found = await find(body.deliveryId)
    expect(found).toMatchObject({
      delivery: { state: 'sent', messageId: null, message: null, version: null, subject: OWN.subject },
      rules: [
        { rule: 'suppression' },
        { rule: 'message', verdict: 'pass', sentence: 'Its text came with the API call.' },
      ],
    })
    const names = (await sending.store().listMessages(sending.app.id)).map(({ name }) => name)
    expect(names).not.toContain('')
    expect(names).toContain('Receipt')
    const any = { messageId: null, contactId: null, states: null, before: null, limit: 1 }
    const { deliveries } = await listDeliveries(sending.store(), sending.app, any)
    expect(deliveries.map(({ work }) => work.message.name)).toEqual(['Reset your password'])
  })

  test('can name the sender and where replies go', async () => {
    await sending.setSettings({ fromEmail: 'hello@first.example', otherFromEmails: ['billing@first.example'] })
    const from = { fromName: 'Billing', fromEmail: 'billing@first.example', replyTo: 'ask@first.example' }
    await send({ ...RESET, ...from, preheader: 'It is easy' })
    await sending.sendDue()
    const [raw = ''] = mails()
    expect(raw).toContain('From: Billing <billing@first.example>')
    expect(raw).toContain('Reply-To: ask@first.example')
    const other = await send({ ...RESET, fromEmail: 'billing@second.example' })
    expect([codeOf(other), other.body.field]).toEqual(['400 invalid_field', 'fromEmail'])
  })

  test('keeps its own text beside others of the same batch, of several apps', async () => {
    const app = await createApp({ store: sending.store(), now: sending.clock.now(), actor: 'test' }, by().accountId, {
      name: 'Another',
      domains: ['first.example'],
      home: null,
    })
    if (isRefusal(app)) throw new Error(app.refusal)
    const key = (await sending.makeKey()).apiKey
    const texts = Array.from({ length: 12 }, (_, index) => ({
      app: index % 2 === 0 ? sending.app.publicId : app.appId,
      email: `p${index}@example.com`,
      subject: `Mail ${index}`,
      body: `Text ${index}`,
    }))
    const answers = await Promise.all(texts.map((text) => send(text, { key })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    await sending.sendDue()
    for (const { email, subject, body } of texts) {
      const [mail] = sending.server.received.filter(({ to }) => to[0] === email)
      expect(mail?.raw).toContain(`Subject: ${subject}\r\n`)
      expect(mail?.raw).toContain(body)
    }
    // each app lists its own
    expect(await sending.states()).toEqual({ sent: 6 })
  })
})

describe('is refused, and sends nothing,', () => {
  const expectField = async (body: object, field: string, message: string | RegExp) => {
    const answer = await send(body)
    expect([codeOf(answer), answer.body.field]).toEqual(['400 invalid_field', field])
    expect(answer.body.message).toMatch(message)
  }

  test('if a value is missing without a fallback', async () => {
    const { total: _, ...values } = VALUES
    await expectField(
      { message: 'Receipt', properties: values },
      'properties.total',
      '`event.total` has neither a value nor a fallback. Send it in `properties`, or write `{{ event.total | default: "..." }}` in the text.',
    )
    const body = '{{ contact.lastName }} {{ contact.fields.plan }}'
    await expectField({ ...OWN, subject: 'S', body }, 'lastName', /^`contact\.lastName` .* Send it, or write/)
    const named = { ...OWN, subject: 'S', body, lastName: 'Lovelace' }
    await expectField(named, 'email', /^`contact\.fields\.plan` .* Add it to the person, or write/)
    await addAda({ fields: { plan: 'pro' } })
    expect((await send(named)).status).toBe(202)
  })

  test('if the text is broken or empty', async () => {
    await expectField({ subject: 'S', body: 'Hello {{ event.name' }, 'body', /does not end with \}\}/)
    await expectField({ subject: '{% if %}', body: 'Hello' }, 'subject', /needs a condition/)
    await expectField({ subject: '{% if event.a %}A{% endif %}', body: 'Hello' }, 'subject', 'The subject is empty.')
    await expectField({ subject: 'S', body: '{% if event.a %}A{% endif %}' }, 'body', 'The email has no text.')
  })

  test('if it says neither or both of what to send', async () => {
    const either = 'Send either `message`, or `subject` and `body`.'
    await expectField({}, 'message', either)
    await expectField({ message: 'Receipt', body: 'B' }, 'body', either)
    await expectField({ message: 'Receipt', replyTo: 'a@b.example' }, 'replyTo', either)
    await expectField({ body: 'B' }, 'subject', 'Send a `subject` together with `body` or `html`, or name a `message`.')
    await expectField({ subject: 'S' }, 'body', 'Send a `body` or `html` together with `subject`, or name a `message`.')
    await expectField({ subject: 'S\nBcc: x@example.com', body: 'B' }, 'subject', /one line/)
    await expectField({ ...RESET, replyTo: 'x' }, 'replyTo', 'Enter one email address.')
    await expectField(
      { ...RESET, replyTo: 'zoë@example.com' },
      'replyTo',
      'Use only ASCII characters before the @, such as letters without accents.',
    )
    await expectField({ ...RESET, properties: { a: 'x'.repeat(2_100) } }, 'properties', /less than 2 KB/)
    await expectField({ ...RESET, email: 'x' }, 'email', /complete email address/)
  })

  test('if the person is unknown and may not be added', async () => {
    const answer = await sendReceipt({ createContact: false })
    expect([codeOf(answer), answer.body.message]).toEqual([
      '404 contact_not_found',
      'This app has no person with this email. Send `createContact: true` to add the person.',
    ])
    expect(await sending.store().findContact(sending.app.id, ADA)).toBeNull()
  })

  test('if the app has no sender address', async () => {
    sending = await startSending({}, {}, { defaults: { smtpUrl: null, from: '' } })
    await expectField(RESET, 'fromEmail', 'This app has no sender address. Add one on its Sender page.')
  })

  test('if the body is too large or the key only adds people and events', async () => {
    expect(codeOf(await send({ ...RESET, body: 'x'.repeat(70_000) }))).toBe('413 too_large')
    const { apiKey } = await sending.makeKey('ingest')
    expect(codeOf(await send(RESET, { key: apiKey }))).toBe('403 insufficient_scope')
    expect((await send(RESET, { key: (await sending.makeKey('manage')).apiKey })).status).toBe(202)
  })

  afterEach(async () => {
    const rows = await sending.deliveries()
    await sending.sendDue()
    expect(sending.server.received).toHaveLength(rows.length)
  })
})

describe('people', () => {
  test('get their empty names filled in, and keep the others', async () => {
    await addAda({ firstName: 'Ada' })
    const { body } = await sendReceipt({ firstName: 'Augusta', lastName: 'King' })
    expect([body.created, body.warnings?.map(({ field, code }) => [field, code])]).toEqual([
      false,
      [['firstName', 'name_not_taken']],
    ])
    const person = await sending.store().findContact(sending.app.id, ADA)
    expect([person?.firstName, person?.lastName]).toEqual(['Ada', 'King'])
  })

  test('who are added start no message', async () => {
    await save('Welcome', 'live', { trigger: { contact: 'created' }, mail: { subject: 'Welcome', body: 'Hello' } })
    await sendReceipt()
    expect((await sending.deliveries()).map(({ messageId }) => messageId)).toEqual([receipt.id])
    await addAda()
    expect(await sending.deliveries()).toHaveLength(1)
  })

  test('who unsubscribed get it; addresses that bounced or complained do not', async () => {
    for (const reason of ['unsubscribed', 'bounced', 'complained'] as const) {
      const email = `${reason}@example.com`
      await sending.store().suppress({ appId: sending.app.id, email, reason, at: sending.clock.now() })
      await sendReceipt({ email })
    }
    await sending.sendDue()
    expect(sending.server.received.map(({ to }) => to)).toEqual([['unsubscribed@example.com']])
    expect(await sending.states()).toEqual({ sent: 1, 'skipped: bounced': 1, 'skipped: complained': 1 })
  })

  test('who complain while the email waits get it no more', async () => {
    const { body } = await sendReceipt()
    await sending.store().suppress({ appId: sending.app.id, email: ADA, reason: 'unsubscribed', at: 1 })
    expect(await find(body.deliveryId)).toMatchObject({ delivery: { state: 'waiting' } })
    await sending.store().suppress({ appId: sending.app.id, email: ADA, reason: 'complained', at: 1 })
    expect(await find(body.deliveryId)).toMatchObject({ delivery: { state: 'skipped', reason: 'complained' } })
  })

  test('who are erased leave nothing of what was sent to them', async () => {
    const headers = { 'Idempotency-Key': 'a' }
    const { body } = await send(RESET, { headers })
    await sending.sendDue()
    const erased = { app: sending.app.publicId, email: ADA }
    expect((await sending.call('DELETE', CONTACTS, { body: erased })).status).toBe(200)
    expect(
      codeOf(await sending.call('GET', `${API}/deliveries/${String(body.deliveryId)}?app=${sending.app.publicId}`)),
    ).toBe('404 delivery_not_found')
    expect(await sending.store().listSends([1, ...(await sending.deliveries()).map(({ id }) => id)])).toEqual(new Map())
    // the key is free again, because its answer named the person
    const again = await send(RESET, { headers })
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([202, null])
  })
})

describe('an Idempotency-Key', () => {
  const headers = { 'Idempotency-Key': 'receipt 7' }

  test('gives the same answer and one email', async () => {
    const first = await sendReceipt({ properties: { ...VALUES, url: 'https://else.example/7' } }, { headers })
    const again = await sendReceipt({ properties: { ...VALUES, url: 'https://else.example/7' } }, { headers })
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([202, null])
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([202, 'true'])
    expect(again.body).toEqual(first.body)
    expect(first.body.warnings).toEqual([
      {
        field: 'properties',
        code: 'url_not_linkable',
        message:
          "The email doesn't link to a URL in `properties`, because it isn't an https address on a domain of this app.",
      },
    ])
    expect(codeOf(await sendReceipt({ email: 'bob@example.com' }, { headers }))).toBe('422 idempotency_mismatch')
    await sending.sendDue()
    expect(sending.server.received).toHaveLength(1)
    expect(first.headers.get('ratelimit-remaining')).toBe(again.headers.get('ratelimit-remaining'))
  })

  test('sends one email, however many calls come at once', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => sendReceipt({}, { headers })))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 202)).toHaveLength(1)
    expect(new Set(statuses)).toEqual(new Set([202, 409]))
    expect((await sendReceipt({}, { headers })).status).toBe(202)
    await sending.sendDue()
    expect(sending.server.received).toHaveLength(1)
  })

  test('survives a restart', async () => {
    const first = await sendReceipt({}, { headers })
    await sending.restart()
    expect((await sendReceipt({}, { headers })).body).toEqual(first.body)
    await sending.sendDue()
    expect(sending.server.received).toHaveLength(1)
  })

  test('is free after a refusal', async () => {
    expect((await sendReceipt({ properties: {} }, { headers })).status).toBe(400)
    expect((await sendReceipt({}, { headers })).status).toBe(202)
  })
})

test('counts as an event', async () => {
  await sending.setPlan({ eventsPerHour: 2 })
  const first = await sendReceipt()
  expect([first.headers.get('ratelimit-limit'), first.headers.get('ratelimit-remaining')]).toEqual(['2', '1'])
  // invalid ones don't
  await sendReceipt({ properties: {} })
  await sendReceipt()
  const refused = await sendReceipt()
  expect(refused.body).toEqual(
    usedUp(sending, { limitName: 'events_per_hour', limit: 2, retryAfter: 3_600, keyId: sending.first.keyId }),
  )
})

test('another account finds neither the app nor the message', async () => {
  const { second } = sending
  expect(codeOf(await sendReceipt({}, { key: second.apiKey }))).toBe('404 app_not_found')
  expect(codeOf(await sendReceipt({ app: second.appId }, { key: second.apiKey }))).toBe('404 message_not_found')
})

test('captured without a mail server, and can be read and sent later', async () => {
  sending = await startSending({}, {}, { defaults: { smtpUrl: null, from: 'Demo <hello@first.example>' } })
  const { body } = await send(RESET)
  await sending.sendDue()
  expect(await find(body.deliveryId)).toMatchObject({ delivery: { state: 'kept' } })
  const [row] = await sending.deliveries()
  const captured = await sending.store().findCaptured(sending.app.id, row?.id ?? 0)
  expect(captured?.content).toMatchObject({ to: ADA, subject: 'Reset your password' })
})

test('a resend by a member keeps the text', async () => {
  let isFailing = true
  sending = await startSending({}, { recipient: () => (isFailing ? 554 : 'accept') })
  await send(RESET)
  await sending.sendDue()
  const [failed] = await sending.deliveries()
  expect(failed?.state).toBe('failed')
  isFailing = false
  const by = { accountId: sending.app.accountId, actor: 'mem_1' }
  await sending.store().resendDelivery({ appId: sending.app.id, id: failed?.id ?? 0, at: sending.clock.now(), by })
  await sending.sendDue()
  expect(mails()[0]).toContain('Subject: Reset your password')
  expect(recordOf((await sending.deliveries())[0] ?? (failed as never)).verdicts.map(({ rule }) => rule)).toContain(
    'suppression',
  )
})
