import { expect, test } from 'bun:test'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { AT, BY, DAY, type Fresh, HOUR } from '../samples.ts'
import { CAPTURED, createQueue, RECORD } from './delivery-queue.ts'

/** What becomes of a delivery, and where it is found. */
export function testDeliveries(store: Fresh): void {
  const { createApp, queue, list, claimOne, stateOf } = createQueue(store)

  test('captures an email instead of sending it', async () => {
    const app = await createApp()
    await queue(app, 1)
    const claim = await claimOne(app)
    expect(await store().markCaptured({ ...claim, record: RECORD, ...CAPTURED })).toEqual({ isMarked: true })
    expect(await list(app)).toMatchObject([{ state: 'kept', handedAt: claim.at, sentAt: null }])
    expect(await store().findCaptured(app.appId, claim.id)).toEqual({ ...CAPTURED, createdAt: claim.at })
    expect(await store().findCaptured(app.appId - 1, claim.id)).toBeNull()
    expect(await store().listCaptured(app.appId, null, 9)).toEqual([
      { deliveryId: claim.id, createdAt: claim.at, to: 'ada@example.com', subject: 'ü' },
    ])
  })

  test('a captured email can be sent, and leaves the outbox when it is handed over', async () => {
    const app = await createApp()
    await queue(app, 1)
    const kept = await claimOne(app)
    await store().markCaptured({ ...kept, record: RECORD, ...CAPTURED })
    const again = { appId: app.appId, id: kept.id, at: AT + HOUR }
    expect(await store().resendDelivery(again)).toEqual({ done: true })
    expect(await list(app)).toMatchObject([{ state: 'waiting', byHand: true, handedAt: null }])
    const claim = await claimOne(app)
    expect(await store().listCaptured(app.appId, null, 9)).toHaveLength(1)
    expect(await store().markHanded({ ...claim, record: RECORD })).toEqual({ isMarked: true })
    expect(await store().listCaptured(app.appId, null, 9)).toEqual([])
    await store().markSent(claim)
    expect(await stateOf(app)).toEqual(['sent'])
    expect(await store().resendDelivery(again)).toEqual({ refusal: 'delivery_in_use' })
  })

  test('a captured email that may not be sent any more leaves the outbox', async () => {
    const app = await createApp()
    await queue(app, 1)
    const kept = await claimOne(app)
    await store().markCaptured({ ...kept, record: RECORD, ...CAPTURED })
    await store().resendDelivery({ appId: app.appId, id: kept.id, at: AT + HOUR })
    await store().markSkipped({ ...(await claimOne(app)), reason: 'unsubscribed', record: RECORD })
    expect([await stateOf(app), await store().listCaptured(app.appId, null, 9)]).toEqual([['skipped unsubscribed'], []])
  })

  test.each<[string, Partial<MessageContent>, string]>([
    ['results_ready is sent again', {}, 'deferred gone'],
    ['unless the message says otherwise', { ifUnconfirmed: 'leave' }, 'unknown gone'],
  ])('an unknown outcome: %s', async (_, changes, state) => {
    const app = await createApp(changes)
    await queue(app, 1)
    const claim = await claimOne(app)
    await store().markHanded({ ...claim, record: RECORD })
    expect(await store().markUnknown({ ...claim, reason: 'gone' })).toEqual({ isMarked: true })
    expect(await stateOf(app)).toEqual([state])
  })

  test('a bounce ends the delivery and all email to the person', async () => {
    const app = await createApp()
    await queue(app, 2)
    const claim = await claimOne(app)
    await store().markHanded({ ...claim, record: RECORD })
    await store().markSent(claim)
    const bounce = { deliveryId: claim.id, kind: 'bounced', reason: '550' } as const
    const report = (deliveryId = claim.id) =>
      store().reportDeliveries({
        appId: app.appId,
        provider: null,
        at: AT + DAY,
        reports: [{ ...bounce, deliveryId }],
      })
    expect(await report()).toEqual({ known: 1 })
    expect(await stateOf(app)).toEqual(['bounced 550', 'skipped bounced'])
    expect((await store().findContact(app.appId, 'ada@example.com'))?.status).toBe('bounced')
    expect(await store().findSuppression(app.appId, 'ada@example.com')).toBe('bounced')
    expect(await store().findSuppression(app.appId - 1, 'ada@example.com')).toBeNull()
    expect(await report(1)).toEqual({ known: 0 })
    await store().suppress({ appId: app.appId, email: 'ada@example.com', reason: 'unsubscribed', at: AT + DAY })
    // what ended all mail is not softened
    expect(await store().findSuppression(app.appId, 'ada@example.com')).toBe('bounced')
    // nor is that they unsubscribed
    for (const [suppression, status] of [
      ['unsubscribed', 'unsubscribed'],
      [null, 'subscribed'],
    ] as const) {
      await store().unsuppress({ appId: app.appId, email: 'ada@example.com', at: AT + DAY })
      expect(await store().findSuppression(app.appId, 'ada@example.com')).toBe(suppression)
      expect((await store().findContact(app.appId, 'ada@example.com'))?.status).toBe(status)
    }
  })

  type Claimed = Awaited<ReturnType<typeof claimOne>>
  test.each<[string, ((claim: Claimed) => Promise<unknown>) | null]>([
    ['waiting', null],
    ['deferred', (claim) => store().markDeferred({ ...claim, reason: 'r', dueAt: AT + 9 * DAY, record: RECORD })],
    ['skipped', (claim) => store().markSkipped({ ...claim, reason: 'quiet', record: RECORD })],
    ['captured', (claim) => store().markCaptured({ ...claim, record: RECORD, ...CAPTURED })],
  ])('reports about an email that is %s are noted once, and take back nothing', async (_, settle) => {
    const app = await createApp()
    await queue(app, 1)
    if (settle) await settle(await claimOne(app))
    const { appId } = app
    const [deliveryId, contact] = [(await list(app))[0]?.id ?? 0, await store().findContact(appId, 'ada@example.com')]
    const report = async (kind: 'bounced' | 'complained', day: number) => {
      const reports = [{ deliveryId, kind, reason: kind }]
      expect(await store().reportDeliveries({ appId, provider: null, at: AT + day * DAY, reports })).toEqual({
        known: 1,
      })
      const changes = await store().listContactChanges(contact?.id ?? 0, null, 20)
      return { kinds: changes.map(({ change }) => change.cause).map((cause) => cause?.by === 'report' && cause.kind) }
    }
    expect((await report('complained', 1)).kinds).toEqual(['complained'])
    const before = await list(app)
    for (let day = 2; day < 5; day++) expect((await report('complained', day)).kinds).toEqual(['complained'])
    expect(await list(app)).toEqual(before)
    for (let day = 5; day < 8; day++) expect((await report('bounced', day)).kinds).toEqual(['bounced', 'complained'])
    await store().unsuppress({ appId, email: 'ada@example.com', at: AT + 8 * DAY })
    await report('complained', 9)
    expect(await store().findSuppression(appId, 'ada@example.com')).toBeNull()
  })

  test('erasure deletes the deliveries and captured emails of the person', async () => {
    const app = await createApp()
    await queue(app, 2)
    const claim = await claimOne(app)
    await store().markCaptured({ ...claim, record: RECORD, ...CAPTURED })
    await store().eraseContact({ ...BY, appId: app.appId, email: 'ada@example.com' })
    expect(await list(app)).toEqual([])
    expect(await store().findCaptured(app.appId, claim.id)).toBeNull()
  })

  test('pages deliveries newest first, by state, person and message', async () => {
    const app = await createApp()
    await queue(app, 4)
    await queue(app, 1, 'eve@example.com')
    const claim = await claimOne(app)
    await store().markSkipped({ ...claim, reason: 'seen', record: RECORD })
    const query = { appId: app.appId, messageId: null, contactId: null, states: null, before: null, limit: 3 }
    const all = await list(app)
    const ids = async (changes: object) => (await store().listDeliveries({ ...query, ...changes })).map(({ id }) => id)
    const newest = all.map(({ id }) => id).toReversed()
    expect(await ids({})).toEqual(newest.slice(0, 3))
    expect(await ids({ before: newest[2] })).toEqual(newest.slice(3))
    expect(await ids({ states: ['skipped'] })).toEqual([claim.id])
    expect(await ids({ contactId: all[4]?.contactId })).toEqual([all[4]?.id ?? 0])
    expect(await ids({ messageId: app.messageId, states: ['waiting'], limit: 9 })).toEqual(
      newest.filter((id) => id !== claim.id),
    )
    expect(await ids({ messageId: app.messageId, appId: app.appId - 1 })).toEqual([])
    const counts = await store().countDeliveries(app.messageId)
    expect(counts).toMatchObject({ waiting: 4, skipped: 1, sent: 0, cameBack: 0 })
    expect(await store().countEmailsOf([app.messageId, app.messageId + 1])).toEqual([
      { messageId: app.messageId, counts },
    ])
    expect(await store().countEmailsOf([])).toEqual([])
  })
}
