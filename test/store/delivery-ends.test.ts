/** What becomes of "at most every N hours" and of the outbox when a delivery ends, or goes on. */
import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { databasePath } from '../../src/store/engine/database.ts'
import type { Again, MailSettings, MessageContent } from '../../src/store/message-types.ts'
import { DAY, HOUR } from '../helper.ts'
import type { Doing } from '../mail/mail-server.ts'
import { CONTENT, live, MINUTE, type Sending, useSending, useSharedSending } from '../mail/sending.ts'

const start = useSharedSending()
const startAlone = useSending()
const ADA = 'ada@example.com'
/** It is Friday noon: what is not sent by now waits until Monday. */
const MORNINGS = { days: [1, 2, 3, 4, 5], from: '09:00', until: '12:01' }
const DAILY: Partial<MessageContent> = { again: { everyHours: 24 } }

/** The first mail meets this at its final dot, and two minutes go by; all others are taken. */
async function startWith(
  content: Partial<MessageContent>,
  first: Doing,
  settings: Partial<MailSettings> = {},
): Promise<Sending> {
  let isFirst = true
  const sending: Sending = await start(content, {
    dot: (): Doing => {
      if (!isFirst) return 'accept'
      isFirst = false
      sending.clock.tick(2 * MINUTE)
      return first
    },
  })
  await sending.setSettings(settings)
  await sending.sendEvent(ADA)
  await sending.sendDue()
  return sending
}

const resend = async (sending: Sending, index = 0) => {
  const id = (await sending.deliveries()).toReversed()[index]?.id ?? 0
  return sending.store().resendDelivery({ appId: sending.app.id, id, at: sending.clock.now() })
}

describe('at most every N hours: nothing is queued beside an email', () => {
  test.each<[string, Doing]>([
    ['with an unknown outcome that is sent again', 'drop'],
    ['that the server deferred at the final dot', 451],
  ])('%s', async (_, first) => {
    const sending = await startWith(DAILY, first, { sendWindow: MORNINGS })
    await live(sending, 10 * MINUTE)
    sending.clock.tick(2 * DAY)
    await sending.sendEvent(ADA)
    expect(await sending.states()).toEqual({ 'deferred: window': 1 })
    sending.clock.tick(21 * HOUR)
    await sending.sendDue()
    expect([sending.server.received.length, await sending.states()]).toEqual([1, { sent: 1 }])
  })

  test.each<[string, Doing, string]>([
    ['that may have arrived', 'drop', 'unknown'],
    ['that was refused at the final dot', 554, 'failed'],
  ])('%s and that a member resends', async (_, first, state) => {
    const sending = await startWith({ ...DAILY, ifUnconfirmed: 'leave' }, first)
    expect((await sending.deliveries()).map((delivery) => delivery.state)).toEqual([state] as never)
    sending.clock.tick(3 * DAY)
    expect(await resend(sending)).toEqual({ done: true })
    await sending.sendEvent(ADA)
    await sending.sendDue()
    expect([sending.server.received.length, await sending.states()]).toEqual([1, { sent: 1 }])
  })

  test('when the process is killed between the hand-over and the reply', async () => {
    const sending = await start(DAILY)
    await sending.sendEvent(ADA)
    const [at, store] = [sending.clock.now(), sending.store()]
    const claiming = { claimedBy: 'killed', now: at, leaseMs: MINUTE, most: 1, skipApps: [] }
    const claimed = await store.claimDeliveries(claiming)
    const [work] = 'works' in claimed ? claimed.works : []
    const { id = 0, attempt = 0 } = work?.delivery ?? {}
    await store.markHanded({ id, attempt, claimedBy: 'killed', at, record: '{"at":0,"verdicts":[]}' })
    sending.clock.tick(2 * DAY)
    await store.releaseClaims({ notOf: 'next', at: sending.clock.now() })
    await sending.sendEvent(ADA)
    await sending.sendDue()
    expect([sending.server.received.length, await sending.states()]).toEqual([1, { sent: 1 }])
  })
})

test('at most every N hours: resending is refused while another email is on its way', async () => {
  const sending = await startWith({ ...DAILY, ifUnconfirmed: 'leave' }, 'drop')
  sending.clock.tick(3 * DAY)
  await sending.sendEvent(ADA)
  expect(await resend(sending)).toEqual({ refusal: 'message_on_its_way' })
  await sending.sendDue()
  expect(await sending.states()).toEqual({ sent: 1, 'unknown: econnection': 1 })
  // it is over, so the other may be sent on as well
  expect(await resend(sending)).toEqual({ done: true })
})

describe('at most every N hours: the next email may start', () => {
  const whileItWaits = async (stop: (sending: Sending) => Promise<unknown>, state: string): Promise<void> => {
    const content = { ...DAILY, onlyIf: [{ rule: 'tag', lacks: 'done' } as const] }
    const sending = await startWith(content, 'drop', { sendWindow: MORNINGS })
    expect(await sending.states()).toEqual({ 'deferred: window': 1 })
    await stop(sending)
    expect(await sending.states()).toEqual({ [state]: 1 })
    sending.clock.tick(DAY)
    await sending.sendEvent(ADA)
    expect((await sending.deliveries()).map((delivery) => delivery.state)).toContain('waiting')
  }

  test('after a sent email', async () => {
    const sending = await startWith(DAILY, 'accept')
    sending.clock.tick(DAY - 2 * MINUTE)
    await sending.sendEvent(ADA)
    expect(await sending.states()).toEqual({ sent: 1, waiting: 1 })
  })

  test('after an arrival cancelled an email that waited to be resent', () =>
    whileItWaits(async ({ call, app }) => {
      await call('PATCH', '/api/v1/contacts', { body: { newsletter: app.publicId, email: ADA, tags: ['done'] } })
    }, 'skipped: tag'))

  test('after unsubscribing cancelled an email', () =>
    whileItWaits(async ({ store, app, clock }) => {
      await store().suppress({ appId: app.id, email: ADA, reason: 'unsubscribed', at: clock.now() })
    }, 'skipped: unsubscribed'))
})

test('a delivery whose message is missing ends and blocks no other', async () => {
  const sending = await startAlone({})
  const db = new Database(databasePath(sending.folder))
  db.run(
    `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, triggered_at, planned_at, due_at,
       attempt, resent, by_hand, updated_at) VALUES (5, ?, 1, 1, 1, '', 'waiting', 0, 0, 0, 0, 0, 0, 0)`,
    [sending.app.id],
  )
  await sending.sendEvent(ADA)
  await sending.sendDue()
  expect(db.query('SELECT state, reason FROM deliveries ORDER BY id').values()).toEqual([
    ['skipped', 'gone'],
    ['sent', null],
  ])
  db.close()
})

test('an email that the server refused does not start an interval', async () => {
  const sending = await startWith({ again: { everyHours: 168 } }, 554)
  expect(await sending.states()).toEqual({ 'failed: smtp_554': 1 })
  sending.clock.tick(DAY)
  await sending.sendEvent(ADA)
  await sending.sendDue()
  expect(sending.server.received.length).toBe(1)
})

describe('a bounce report', () => {
  const bounce = async (sending: Sending, deliveryId: number) => {
    const reports = [{ deliveryId, kind: 'complained' as const, reason: 'r' }]
    return sending.store().reportDeliveries({ appId: sending.app.id, provider: null, at: sending.clock.now(), reports })
  }

  test('about a refused email counts, even if another email was sent since', async () => {
    let isRefusing = true
    const sending = await start({}, { recipient: () => (isRefusing ? 554 : 'accept') })
    await sending.sendEvent(ADA)
    await sending.sendDue()
    isRefusing = false
    await sending.sendEvent(ADA)
    await sending.sendDue()
    const [, first] = await sending.deliveries()
    expect([await sending.states(), first?.state]).toEqual([{ 'failed: smtp_554': 1, sent: 1 }, 'failed'])
    sending.clock.tick(1)
    for (let time = 0; time < 3; time++) expect(await bounce(sending, first?.id ?? 0)).toEqual({ known: 1 })
    const person = await sending.store().findContact(sending.app.id, ADA)
    expect(person?.status).toBe('complained')
    expect(await sending.store().listContactChanges(person?.id ?? 0, null, 10)).toHaveLength(1)
  })

  test('before the reply of the server lets the next interval begin', async () => {
    let reported: Promise<unknown> = Promise.resolve()
    const sending: Sending = await start(DAILY, {
      dot: () => {
        reported = sending.deliveries().then(([one]) => bounce(sending, one?.id ?? 0))
        return 'accept'
      },
    })
    await sending.sendEvent(ADA)
    await sending.sendDue()
    await reported
    await sending.store().unsuppress({ appId: sending.app.id, email: ADA, at: sending.clock.now() })
    sending.clock.tick(2 * DAY)
    await sending.sendEvent(ADA)
    await sending.sendDue()
    expect(sending.server.received.length).toBe(2)
  })
})

async function changeTo(sending: Sending, again: Again): Promise<void> {
  const message = await sending.store().findMessageByName(sending.app.id, 'Results ready')
  const { id: appId, accountId } = sending.app
  const draft = { id: message?.id ?? 0, name: 'Results ready', status: 'live' as const, content: { ...CONTENT, again } }
  await sending.store().saveMessages({ appId, accountId, actor: 'test', at: sending.clock.now(), drafts: [draft] })
}

test.each<[string, Again]>([
  ['every 24 hours', { everyHours: 24 }],
  ['once for each result', { once: 'property', property: 'url' }],
])('someone who got it %s does not get it again after a change to once per person', async (_, again) => {
  const sending = await start({ again })
  await sending.sendEvent(ADA)
  await sending.sendDue()
  await changeTo(sending, { once: 'person' })
  sending.clock.tick(2 * DAY)
  await sending.sendEvent(ADA)
  await sending.sendDue()
  expect(sending.server.received.length).toBe(1)
})

test('someone who got it once gets it every N hours after the message changes to that', async () => {
  const sending = await start({})
  await sending.sendEvent(ADA)
  await sending.sendDue()
  await changeTo(sending, { everyHours: 24 })
  for (let day = 0; day < 3; day += 1) {
    sending.clock.tick(25 * HOUR)
    await sending.sendEvent(ADA)
    await sending.sendEvent(ADA)
    await sending.sendDue()
  }
  expect(sending.server.received.length).toBe(4)
})
