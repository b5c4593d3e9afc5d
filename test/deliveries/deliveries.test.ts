import { withSql } from '../data-folder.ts'
import { beforeEach, describe, expect, test } from 'bun:test'
import type { DeliveryRow, MailSettings, MessageContent } from '../../src/store/message-types.ts'
import { useClosing } from '../closing.ts'
import { createTestServer, DAY, HOUR, type TestServer, useSharedServer } from '../helper.ts'
import { ADA, createMessaging, messageOf, type Messaging, MINUTE, recordOf, verdictsOf } from '../messaging.ts'

const keep = useClosing()
const openServer = useSharedServer()
let server: TestServer
let now: number
let messaging: Messaging
const begin = async (opened: TestServer): Promise<void> => {
  server = opened
  now = server.clock.now()
  messaging = await createMessaging(server)
}
beforeEach(async () => begin(await openServer()))

/** A test begins on a Friday at noon. */
const monday = (time: string, weeks = 0): number => {
  const midnight = now + 2.5 * DAY + weeks * 7 * DAY
  return midnight + Date.parse(`1970-01-01T${time}Z`)
}

describe('settings of the app', () => {
  const two = async (content: Partial<MessageContent> = {}): Promise<void> => {
    await messaging.put(messageOf({ ...content, name: 'One' }))
    await messaging.put(messageOf({ ...content, name: 'Two' }))
    await messaging.event()
  }

  test('at most one a day: the second follows a day later, also if both are decided together', async () => {
    await messaging.set({ perPersonDay: 1 })
    await two()
    expect(verdictsOf(await messaging.decide())).toEqual(['send', 'perDay'])
    server.clock.tick(DAY - 1)
    expect(await messaging.decide()).toEqual([])
    server.clock.tick(1)
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
  })

  test.each<[string, Partial<MailSettings>, Partial<MailSettings>]>([
    ['a higher limit', { perPersonDay: 1 }, { perPersonDay: 2 }],
    ['no limit', { perPersonDay: 1 }, { perPersonDay: null }],
    ['other hours', { sendWindow: { days: [1], from: '09:00', until: '17:00' } }, { sendWindow: null }],
  ])('%s frees at once what waited only for the old one', async (_, before, after) => {
    await messaging.set(before)
    await two()
    const sent = verdictsOf(await messaging.decide()).filter((verdict) => verdict === 'send').length
    server.clock.tick(1)
    await messaging.set(after)
    expect(verdictsOf(await messaging.decide())).toEqual(Array(2 - sent).fill('send'))
  })

  test('also more emails than one write makes due, after a restart too, and for one cause per write', async () => {
    await begin(keep(await createTestServer()))
    await messaging.set({ perPersonDay: 1 })
    await two()
    await messaging.decide()
    server.clock.tick(1)
    const at = server.clock.now()
    const copy = (reason: string) =>
      withSql(server.folder, async (sql) => {
        const last = await sql.prepare<{ id: number }>('SELECT max(id) AS id FROM deliveries').get()
        const text = `WITH RECURSIVE numbers(n) AS
            (SELECT CAST(?1 AS bigint) UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
          INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, triggered_at, planned_at,
            due_at, attempt, resent, by_hand, reason, updated_at)
          SELECT CAST(?3 AS bigint) + n, app_id, contact_id, message_id, version, CAST(?4 AS text) || n, state,
            triggered_at, planned_at, due_at, attempt, resent, by_hand, ?4, updated_at
          FROM deliveries, numbers WHERE reason = 'perDay' AND length(once_key) < 6`
        const add = sql.prepare(text)
        // each row of a transaction makes PostgreSQL slower at counting the next one
        for (let from = 1; from <= 10_001; from += 1_000)
          await add.run(from, Math.min(10_001, from + 999), last?.id ?? 0, reason)
      })
    const countLate = () =>
      withSql(server.folder, async (sql) => {
        const text = 'SELECT reason, count(*) AS late FROM deliveries WHERE due_at > ? GROUP BY reason ORDER BY reason'
        return await sql.prepare(text).all(at)
      })
    const check = () => messaging.store().checkBrakes({ at })
    await copy('sender_refused')
    await copy('perWeek')
    const change = { ...messaging.by, at }
    await messaging.store().setMailSettings({ ...change, settings: { perPersonDay: null } })
    await messaging.store().bindSenderDomain({ ...change, domain: 'first.example', proof: 'operator' })
    expect(await countLate()).toEqual([
      { reason: 'perWeek', late: 2 },
      { reason: 'sender_refused', late: 1 },
    ])
    await server.restart()
    expect(await check()).toEqual({ isMore: true })
    expect(await countLate()).toEqual([{ reason: 'sender_refused', late: 1 }])
    expect(await check()).toEqual({ isMore: false })
    expect(await countLate()).toEqual([])
    expect(await check()).toEqual({ isMore: false })
  })

  test('a limit that is still reached, or one of another app, frees nothing', async () => {
    await messaging.set({ perPersonDay: 1, perPersonWeek: 1, giveUpHours: 300 })
    await two()
    expect(verdictsOf(await messaging.decide())).toEqual(['send', 'perDay'])
    const [, waiting] = await messaging.deliveries()
    await messaging.set({ perPersonDay: 2 })
    expect(verdictsOf(await messaging.decide())).toEqual(['perWeek'])
    await messaging
      .store()
      .setMailSettings({ ...messaging.by, appId: messaging.app.id + 1, settings: { perPersonWeek: 2 } })
    expect(await messaging.decide()).toEqual([])
    expect((await messaging.deliveries())[1]).toMatchObject({ state: 'deferred', dueAt: waiting?.dueAt })
  })

  test('at most one a week, given up after 72 hours', async () => {
    await messaging.set({ perPersonWeek: 1 })
    await two()
    expect(verdictsOf(await messaging.decide())).toEqual(['send', 'gave_up'])
  })

  test('limits apply per person, not to transactional email', async () => {
    await messaging.set({ perPersonDay: 1 })
    await two({ mail: { subject: 'Receipt', body: 'Paid', category: 'transactional' } })
    expect(verdictsOf(await messaging.decide())).toEqual(['send', 'send'])
    await messaging.event({ email: 'eve@example.com' })
    expect(verdictsOf(await messaging.decide())).toEqual(['send', 'send'])
  })

  test.each(['perPersonDay', 'perPersonWeek'] as const)('transactional mail uses up no %s', async (limit) => {
    await messaging.set({ [limit]: 1 })
    const transactional = { subject: 'Receipt', body: 'Paid', category: 'transactional' as const }
    await messaging.put(messageOf({ name: 'Receipt', trigger: { event: 'paid' }, mail: transactional }))
    await messaging.put(messageOf({ name: 'Lifecycle' }))
    await messaging.event({ event: 'paid' })
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    await messaging.event()
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    const { verdicts } = recordOf((await messaging.deliveries())[1] as DeliveryRow)
    const rule = limit === 'perPersonDay' ? 'perDay' : 'perWeek'
    expect(verdicts.find((one) => one.rule === rule)).toMatchObject({ value: 0, about: '1', verdict: 'pass' })
  })

  test('the category of the sent version counts', async () => {
    await messaging.set({ perPersonDay: 1 })
    const mail = { subject: 'Receipt', body: 'Paid', category: 'transactional' as const }
    const receipt = messageOf({ name: 'Receipt', trigger: { event: 'paid' }, mail })
    const { id } = await messaging.put(receipt)
    await messaging.event({ event: 'paid' })
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    await messaging.put({ ...receipt, mail: { ...mail, category: 'lifecycle' } }, id)
    await messaging.put(messageOf({ name: 'Lifecycle' }))
    await messaging.event()
    await messaging.event({ email: 'eve@example.com', event: 'paid' })
    await messaging.event({ email: 'eve@example.com' })
    const decided = (await messaging.decide()).map(({ email, name, reason }) => [email, name, reason])
    expect(decided.sort()).toEqual([
      [ADA, 'Lifecycle', null],
      ['eve@example.com', 'Lifecycle', 'perDay'],
      ['eve@example.com', 'Receipt', null],
    ])
  })

  test('email waits for the send window in the timezone of the app', async () => {
    await messaging.set({
      sendWindow: { days: [1, 2, 3, 4, 5], from: '09:00', until: '17:00' },
      timezone: 'Asia/Tokyo',
    })
    await messaging.put(messageOf())
    // Friday noon UTC is Friday 21:00 in Tokyo
    await messaging.event()
    expect(verdictsOf(await messaging.decide())).toEqual(['window'])
    const [delivery] = await messaging.deliveries()
    expect(delivery).toMatchObject({ state: 'deferred', dueAt: monday('00:00') })
    server.clock.wallMs = monday('00:00')
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
  })

  test('an email due after the give-up time is given up', async () => {
    await messaging.set({ giveUpHours: 1 })
    await messaging.put(messageOf())
    await messaging.event()
    server.clock.tick(HOUR + 1)
    expect(verdictsOf(await messaging.decide())).toEqual(['gave_up'])
  })

  test('an email that waits for its window is sent at the opening, however short the time to give up', async () => {
    await messaging.set({ sendWindow: { days: [1], from: '09:00', until: '17:00' }, giveUpHours: 1 })
    await messaging.put(messageOf())
    server.clock.wallMs = monday('10:00') + DAY
    await messaging.event()
    expect(verdictsOf(await messaging.decide())).toEqual(['window'])
    server.clock.wallMs = monday('09:00', 1)
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
  })

  describe('a narrow window once a week loses no email', () => {
    test('that the limit per day keeps through an opening', async () => {
      await messaging.set({ sendWindow: { days: [1], from: '09:00', until: '09:30' }, perPersonDay: 1 })
      await messaging.put(messageOf({ name: 'A' }))
      await messaging.put(messageOf({ name: 'B', trigger: { event: 'b' } }))
      await messaging.event()
      await messaging.event({ event: 'b' })
      expect(verdictsOf(await messaging.decide())).toEqual(['window', 'window'])
      server.clock.wallMs = monday('09:00:01')
      expect(verdictsOf(await messaging.decide())).toEqual(['send', 'perDay'])
      const [, limited] = await messaging.deliveries()
      expect(limited).toMatchObject({ state: 'deferred', dueAt: monday('09:00', 1) })
      server.clock.wallMs = monday('09:00:01', 1)
      expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    })

    test('that is refused for now a moment before the window closes', async () => {
      await messaging.set({ sendWindow: { days: [1], from: '09:00', until: '09:05' } })
      await messaging.put(messageOf())
      await messaging.event()
      await messaging.decide()
      server.clock.wallMs = monday('09:04:30')
      const now = server.clock.now()
      const { delivery } = await messaging.claimOne()
      const claim = { id: delivery.id, claimedBy: 'test', attempt: delivery.attempt, at: now }
      await messaging.store().markDeferred({ ...claim, reason: 'smtp_451', dueAt: now + MINUTE, record: '{}' })
      server.clock.wallMs = monday('09:06:30')
      expect(verdictsOf(await messaging.decide())).toEqual(['window'])
      server.clock.wallMs = monday('09:00', 1)
      expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    })
  })

  test('an email due while the message is paused is skipped, and sent if a member resends it', async () => {
    const { id } = await messaging.put(messageOf())
    await messaging.event()
    await messaging.store().setMessageStatus({ ...messaging.by, id, status: 'paused' })
    expect(verdictsOf(await messaging.decide())).toEqual(['message_paused'])
    const [delivery] = await messaging.deliveries()
    const again = { appId: messaging.app.id, id: delivery?.id ?? 0, at: server.clock.now() }
    expect(await messaging.store().resendDelivery({ ...again, appId: 2 })).toEqual({ refusal: 'delivery_not_found' })
    expect(await messaging.store().resendDelivery(again)).toEqual({ done: true })
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    expect(await messaging.store().resendDelivery(again)).toEqual({ refusal: 'delivery_in_use' })
  })
})
