import { withSql } from '../data-folder.ts'
import { countsTableOf } from '../postgres/test-databases.ts'
import { beforeEach, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { REPORT_AGE_MS } from '../../src/people/bounces.ts'
import { publicId } from '../../src/core/ids.ts'
import { DAY, MINUTE } from '../durations.ts'
import { type Sending, useSharedSending } from '../mail/sending.ts'

const SECRET = 'a-secret-for-reports'

const openSending = useSharedSending()
let sending: Sending
beforeEach(async () => {
  sending = await openSending()
  await sending.setSettings({ bounceSecret: SECRET })
})

const NO_EMAIL_SENT = {
  field: 'email',
  code: 'no_email_sent',
  message: expect.stringMatching(
    /^This app has no record of an email to this address, for example because the person was erased\./,
  ),
}

type How = { secret?: string; at?: number; app?: string; signature?: string; sent?: string }

function report(body: object | string, { secret = SECRET, at = sending.clock.now(), ...how }: How = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const seconds = Math.floor(at / 1000)
  const proof = createHmac('sha256', secret).update(`${seconds}.${text}`).digest('hex')
  const headers = { 'Eventpost-Signature': how.signature ?? `t=${seconds},v1=${proof}` }
  const path = `/hooks/bounces/${how.app ?? sending.app.publicId}`
  return sending.call('POST', path, { body: how.sent ?? text, key: null, headers })
}

async function sendOne(email = 'ada@example.com') {
  await sending.sendEvent(email)
  await sending.sendDue()
  const [delivery] = await sending.deliveries()
  return publicId('dlv', delivery?.id ?? 0)
}

const suppressionOf = (email: string) => sending.store().findSuppression(sending.app.id, email)

describe('202', () => {
  test.each(['bounced', 'complained'])('an email that %s ends email to the person', async (kind) => {
    const delivery = await sendOne()
    for (let time = 0; time < 2; time++) {
      const { status, body } = await report({ kind, delivery, reason: 'mailbox full for weeks' })
      expect([status, body]).toEqual([202, { ok: true }])
    }
    expect(await sending.states()).toEqual({ [`${kind}: mailbox full for weeks`]: 1 })
    expect(await suppressionOf('ada@example.com')).toBe(kind as 'bounced')
  })

  test('by the Message-ID of the email', async () => {
    await sendOne()
    const id = /^Message-ID: (.*)\r$/m.exec(sending.server.received[0]?.raw ?? '')?.[1]
    expect(id).toMatch(/^<dlv_.{11}@first\.example>$/)
    expect((await report({ kind: 'bounced', delivery: id })).status).toBe(202)
    expect(await sending.states()).toEqual({ 'bounced: bounced': 1 })
  })

  test('by the address only', async () => {
    expect((await report({ kind: 'complained', email: ' Ada@Example.com ' })).status).toBe(202)
    expect(await suppressionOf('ada@example.com')).toBe('complained')
    await sendOne()
    expect(sending.server.received).toEqual([])
    expect(await sending.states()).toEqual({ 'skipped: complained': 1 })
  })
})

describe('a report by the address', () => {
  const days = () => sending.store().listMailDays(sending.app.id, 0)

  test('is about the newest email to it, once', async () => {
    sending = await openSending({ again: { everyHours: 24 } })
    await sending.setSettings({ bounceSecret: SECRET })
    await sendOne()
    sending.clock.tick(2 * DAY)
    await sendOne()
    sending.clock.tick(DAY)
    for (let time = 0; time < 2; time++) await report({ kind: 'bounced', email: 'ada@example.com' })
    expect(await sending.states()).toEqual({ sent: 1, 'bounced: bounced': 1 })
    expect((await days()).map(({ sent, bounced }) => [sent, bounced])).toEqual([
      [1, 0],
      [1, 1],
    ])
    await report({ kind: 'complained', email: 'ada@example.com' })
    expect((await days()).at(-1)).toMatchObject({ sent: 1, bounced: 0, complained: 1 })
  })

  test.each([
    ['bounced', 'complained'],
    ['complained', 'bounced'],
  ] as const)('that %s, then %s, is a complaint, each once', async (first, second) => {
    for (const email of ['ada@example.com', 'stranger@example.com']) {
      if (email === 'ada@example.com') await sendOne(email)
      sending.clock.tick(MINUTE)
      await report({ kind: first, email, reason: 'first reply' })
      sending.clock.tick(MINUTE)
      await report({ kind: second, email, reason: 'second reply' })
      const suppressed = () => sending.store().findSuppressed(sending.app.id, email)
      const before = await suppressed()
      expect(before).toMatchObject({ reason: 'complained', cause: { by: 'report', kind: 'complained' } })
      sending.clock.tick(MINUTE)
      for (let time = 0; time < 10; time++) for (const kind of [first, second]) await report({ kind, email })
      expect(await suppressed()).toEqual(before)
    }
    const contact = await sending.store().findContact(sending.app.id, 'ada@example.com')
    expect(contact?.status).toBe('complained')
    const changes = await sending.store().listContactChanges(contact?.id ?? 0, null, 20)
    const reported = changes.map(({ change: { status, cause } }) => [
      status?.[1],
      cause && 'kind' in cause && cause.kind,
    ])
    expect(reported.toReversed()).toEqual(
      first === 'bounced'
        ? [
            ['bounced', 'bounced'],
            ['complained', 'complained'],
          ]
        : [['complained', 'complained']],
    )
    expect(
      await sending.store().countSuppressions({ appId: sending.app.id, reason: 'complained', start: null }, 9),
    ).toBe(2)
  })

  const change = (text: string, ...values: (number | string)[]) =>
    withSql(sending.folder, async (sql) => await sql.prepare(text).run(...values))
  const setState = (state: 'kept' | 'handed') => change('UPDATE deliveries SET state = ?', state)
  const haveSent = (sent: number) => {
    const day = Math.floor(sending.clock.now() / DAY)
    const insert = `INSERT INTO ${countsTableOf('mail_days')} (app_id, day, sent, bounced, complained) VALUES (?, ?, ?, 0, 0)`
    return change(insert, sending.app.id, day, sent)
  }
  const people = Array.from({ length: 10 }, (_, index) => `person${index}@example.com`)

  test.each(['bounced', 'complained'] as const)(
    'that %s without an email suppresses, and counts nowhere',
    async (kind) => {
      await haveSent(100)
      await sendOne('captured@example.com')
      await setState('kept')
      for (const email of [...people, ...people, 'captured@example.com']) {
        const { status, body } = await report({ kind, email })
        expect([status, body]).toEqual([202, { ok: true, warnings: [NO_EMAIL_SENT] }])
        expect(await suppressionOf(email)).toBe(kind)
      }
      expect(await days()).toMatchObject([{ sent: 101, bounced: 0, complained: 0 }])
      expect(await sending.store().findBrake(sending.app.id)).toBeNull()
    },
  )

  test.each(['bounced', 'complained'] as const)(
    'that %s after its person was erased suppresses, and counts nowhere',
    async (kind) => {
      await haveSent(100)
      const email = 'ada@example.com'
      await sendOne(email)
      const body = { app: sending.app.publicId, email }
      expect((await sending.call('DELETE', '/api/v1/contacts', { body })).status).toBe(200)
      const { status, body: answer } = await report({ kind, email })
      expect([status, answer]).toEqual([202, { ok: true, warnings: [NO_EMAIL_SENT] }])
      expect(await suppressionOf(email)).toBe(kind)
      expect(await days()).toMatchObject([{ sent: 101, bounced: 0, complained: 0 }])
    },
  )

  test('counts on its day if the outcome of the email is not known yet, and triggers the brake', async () => {
    await haveSent(100)
    for (const email of people) await sending.sendEvent(email)
    await sending.sendDue()
    await setState('handed')
    for (const email of [...people, ...people]) {
      expect((await report({ kind: 'bounced', email })).body).toEqual({ ok: true })
    }
    expect(await days()).toMatchObject([{ sent: 110, bounced: 10 }])
    expect(await sending.store().findBrake(sending.app.id)).toMatchObject({ kind: 'bounces' })
  })
})

describe('400', () => {
  test.each<[object | string, string | undefined]>([
    ['{', undefined],
    ['[]', undefined],
    [{ email: 'ada@example.com' }, 'kind'],
    [{ kind: 'opened', email: 'ada@example.com' }, 'kind'],
    [{ kind: 'bounced' }, 'email'],
    [{ kind: 'bounced', email: 'a@example.com, b@example.com' }, 'email'],
    [{ kind: 'bounced', delivery: 'dlv_1' }, 'delivery'],
    [{ kind: 'bounced', delivery: 7 }, 'delivery'],
    [{ kind: 'bounced', email: 'ada@example.com', reason: 'x'.repeat(201) }, 'reason'],
    [{ kind: 'bounced', email: 'ada@example.com', reason: 'a\u0000b' }, 'reason'],
  ])('%p', async (body, field) => {
    const answer = await report(body)
    expect([answer.status, answer.body.field]).toEqual([400, field])
    expect(await suppressionOf('ada@example.com')).toBeNull()
  })
})

describe('401', () => {
  const BODY = { kind: 'bounced', email: 'ada@example.com' }
  const WRONG = '`v1` in the header `Eventpost-Signature` is wrong for this body, app ID and time.'
  const MISSING = 'Send the header `Eventpost-Signature: t=SECONDS,v1=HEX`.'
  const HOWS: [string, () => How, string][] = [
    ['another secret', () => ({ secret: 'x' }), WRONG],
    ['another body', () => ({ sent: JSON.stringify({ ...BODY, email: 'eve@example.com' }) }), WRONG],
    [
      'an old report by another secret',
      () => ({ at: sending.clock.now() - REPORT_AGE_MS - 1_000, secret: 'x' }),
      WRONG,
    ],
    ['no signature', () => ({ signature: '' }), MISSING],
    ['no signature for an unknown app', () => ({ signature: '', app: 'app_unknown' }), MISSING],
    [
      'half a signature',
      () => ({ signature: `t=${Math.floor(sending.clock.now() / 1000)},v1=` }),
      'The header `Eventpost-Signature` is not `t=SECONDS,v1=HEX`.',
    ],
    ['an unknown app', () => ({ app: 'app_unknown' }), WRONG],
    ["another account's app", () => ({ app: sending.second.appId }), WRONG],
  ]
  const SIGNED =
    "HEX is the HMAC-SHA256 of `SECONDS.BODY`, with the body as it is sent, in 64 characters of lowercase hexadecimal. The key is the app's report secret, which an owner creates under Sender, Mail server."
  test.each(HOWS)('%s', async (_, how, fault) => {
    const { status, body } = await report(BODY, how())
    expect([status, body]).toMatchObject([
      401,
      { error: 'invalid_signature', message: 'Invalid signature', hint: `${fault} ${SIGNED}` },
    ])
    expect([await suppressionOf('ada@example.com'), await suppressionOf('eve@example.com')]).toEqual([null, null])
  })

  test.each([
    ['signed more than 5 minutes ago', -1],
    ['more than 5 minutes in the future', 1],
  ])('a report that was %s gets that reason', async (sentence, sign) => {
    const edge = sending.clock.now() + sign * REPORT_AGE_MS
    const { status, body } = await report(BODY, { at: edge + sign * 1_000 })
    expect([status, body]).toMatchObject([
      401,
      { error: 'signature_expired', message: expect.stringContaining(sentence) },
    ])
    expect(await suppressionOf('ada@example.com')).toBeNull()
    expect((await report(BODY, { at: edge })).status).toBe(202)
  })

  test('an app without a secret accepts no report', async () => {
    await sending.setSettings({ bounceSecret: null })
    expect((await report(BODY, { secret: '' })).status).toBe(401)
    await sending.setSettings({ bounceSecret: '' })
    const answer = await report(BODY, { secret: '' })
    expect([answer.status, answer.body.hint]).toEqual([401, `${WRONG} ${SIGNED}`])
  })
})

test('a report that contradicts itself or what was sent is refused, and says why', async () => {
  const delivery = await sendOne()
  const messageOf = async (body: object) => {
    const answer = await report({ kind: 'bounced', ...body })
    return [answer.status, answer.body.field, answer.body.message]
  }
  expect(await messageOf({})).toEqual([400, 'email', expect.stringContaining('Send `delivery` (the ID')])
  expect(await messageOf({ delivery, email: 'eve@example.com' })).toEqual([
    400,
    'email',
    expect.stringContaining('not the recipient of `delivery`'),
  ])
  expect(await messageOf({ delivery, email: 'nobody' })).toEqual([
    400,
    'email',
    expect.stringContaining('one complete email address'),
  ])
  await sending.store().suppress({ appId: sending.app.id, email: 'bob@example.com', reason: 'unsubscribed', at: 1 })
  const skipped = await sendOne('bob@example.com')
  expect(await sending.states()).toEqual({ sent: 1, 'skipped: unsubscribed': 1 })
  expect(await messageOf({ delivery: skipped })).toEqual([400, 'delivery', expect.stringContaining('was not sent')])
  expect(await sending.states()).toEqual({ sent: 1, 'skipped: unsubscribed': 1 })
  expect([await suppressionOf('ada@example.com'), await suppressionOf('bob@example.com')]).toEqual([
    null,
    'unsubscribed',
  ])
  const taken = await report({ kind: 'bounced', delivery, email: 'Ada@example.com', type: 'hard' })
  expect([taken.status, taken.body.warnings]).toMatchObject([202, [{ field: 'type', code: 'unknown_field' }]])
})

test("404 for a delivery that is unknown or another app's", async () => {
  const delivery = await sendOne()
  expect((await report({ kind: 'bounced', delivery: 'dlv_00000000001' })).status).toBe(404)
  const [other] = await sending.store().listApps(sending.second.accountId)
  const by = { accountId: sending.second.accountId, appId: other?.id ?? 0, actor: 'test', at: 0 }
  await sending.store().setMailSettings({ ...by, settings: { bounceSecret: 'theirs' } })
  const theirs = await report({ kind: 'bounced', delivery }, { secret: 'theirs', app: sending.second.appId })
  expect([theirs.status, theirs.body.error]).toEqual([404, 'delivery_not_found'])
  expect(await sending.states()).toEqual({ sent: 1 })
})

test('413 for a large body', async () => {
  const { status, body } = await report({ kind: 'bounced', email: 'x'.repeat(20_000) })
  expect([status, body.message]).toEqual([413, 'The report is too large. Send at most 16 KB.'])
})
