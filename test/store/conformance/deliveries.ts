import { expect, test } from 'bun:test'
import type {
  Claim,
  DeliveryRow,
  DeliveryState,
  MailSettings,
  MessageContent,
} from '../../../src/store/message-types.ts'
import type { Fresh } from '../conformance.ts'
import { AT, BY, DAY, done, eventWrite, HOUR, newAccount } from '../samples.ts'

const MINUTE = 60_000
const RECORD = '{"at":0,"verdicts":[]}'

/** What the sender asks of the store: claims, hand-over and what follows. Each test has an app of its own. */
export function testDeliveries(store: Fresh): void {
  let apps = 0
  /** An app with a live message on results_ready. */
  const createApp = async (changes: Partial<MessageContent> = {}) => {
    apps += 1
    const [number, accountId] = [1_000 + apps, `acc_${1_000 + apps}`]
    done(await store().createAccount(newAccount(number)))
    const [app] = await store().listApps(accountId)
    const by = { accountId, appId: app?.id ?? 0, actor: 'test', at: AT }
    const content: MessageContent = {
      trigger: { event: 'results_ready' },
      again: { once: 'property', property: 'n' },
      mail: { subject: 'S', body: 'B' },
      ...changes,
    }
    const { saved } = done(
      await store().saveMessages({ ...by, drafts: [{ id: null, name: 'M', status: 'live', content }] }),
    )
    return { ...by, messageId: saved[0]?.id ?? 0 }
  }
  type App = Awaited<ReturnType<typeof createApp>>
  /** Queues deliveries, one a second. */
  const queue = async ({ accountId, appId }: App, count: number, email = 'ada@example.com'): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      const properties = JSON.stringify({ n })
      done(await store().recordEvent(eventWrite({ accountId, appId, email, properties, at: AT + n * 1_000 })))
    }
  }
  const list = async ({ appId }: App, states: DeliveryState[] | null = null): Promise<DeliveryRow[]> => {
    const query = { appId, messageId: null, contactId: null, states, before: null, limit: 100 }
    return (await store().listDeliveries(query)).reverse()
  }
  /** Other tests' deliveries wait too: theirs are skipped over. */
  const claim = async (app: App, most: number, changes: { claimedBy?: string; now?: number } = {}) => {
    const skipApps = Array.from({ length: app.appId + 50 }, (_, id) => id).filter((id) => id !== app.appId)
    const claiming = { claimedBy: 'a', now: AT + HOUR, leaseMs: MINUTE, most, skipApps, ...changes }
    return done(await store().claimDeliveries(claiming)).works
  }
  const claimOne = async (app: App, claimedBy = 'a'): Promise<Claim> => {
    const [work] = await claim(app, 1, { claimedBy })
    if (!work) throw new Error('nothing is due')
    return { id: work.delivery.id, claimedBy, attempt: work.delivery.attempt, at: AT + HOUR }
  }
  const stateOf = async (app: App) =>
    (await list(app)).map(({ state, reason }) => (reason ? `${state} ${reason}` : state))

  test('those due longest are claimed first, each once, with all that sending takes', async () => {
    const app = await createApp()
    await queue(app, 5)
    const first = await claim(app, 2)
    const second = await claim(app, 9, { claimedBy: 'b' })
    expect(first.map(({ delivery }) => delivery.dueAt)).toEqual([AT, AT + 1_000])
    expect(second.map(({ delivery }) => delivery.dueAt)).toEqual([AT + 2_000, AT + 3_000, AT + 4_000])
    expect(first[0]).toMatchObject({
      delivery: { state: 'claimed', claimedBy: 'a', attempt: 1, claimedUntil: AT + HOUR + MINUTE },
      message: { name: 'M', version: 1, content: { mail: { subject: 'S', body: 'B' } } },
      contact: { email: 'ada@example.com', status: 'subscribed' },
      event: { name: 'results_ready', properties: '{"n":0}' },
      app: { id: app.appId, hosts: [expect.stringContaining('example.com'), expect.any(String)] },
      settings: { fromEmail: null, perPersonDay: null },
    })
  })

  test('what is not due yet is not claimed', async () => {
    const app = await createApp({ wait: { minutes: 10 } })
    await queue(app, 2)
    const isDue = async (now: number) => (await store().listDueApps({ now })).includes(app.appId)
    expect([await isDue(AT + 10 * MINUTE - 1), await isDue(AT + 10 * MINUTE)]).toEqual([false, true])
    expect(await claim(app, 9, { now: AT + 10 * MINUTE - 1 })).toEqual([])
    expect(await claim(app, 9, { now: AT + 10 * MINUTE })).toHaveLength(1)
    expect([await isDue(AT + 10 * MINUTE), await isDue(AT + 10 * MINUTE + 1_000)]).toEqual([false, true])
  })

  test('a lease that ran out is claimed again, and the one before cannot finish any more', async () => {
    const app = await createApp()
    await queue(app, 1)
    const late = await claimOne(app)
    expect(await claim(app, 1, { now: AT + HOUR + MINUTE - 1 })).toEqual([])
    expect(await store().listDueApps({ now: AT + HOUR + MINUTE - 1 })).not.toContain(app.appId)
    expect(await store().listDueApps({ now: AT + HOUR + MINUTE })).toContain(app.appId)
    expect(await store().extendClaim({ ...late, at: AT + HOUR + MINUTE - 1, leaseMs: MINUTE })).toEqual({ held: true })
    expect(await claim(app, 1, { now: AT + HOUR + MINUTE })).toEqual([])
    const [work] = await claim(app, 1, { now: AT + HOUR + 2 * MINUTE })
    expect(work?.delivery.attempt).toBe(2)
    const lost = { held: false, because: 'lost' } as const
    expect(await store().markHanded({ ...late, record: RECORD })).toEqual(lost)
    expect(await store().markSent(late)).toEqual(lost)
    expect(await store().markSkipped({ ...late, reason: 'seen', record: null })).toEqual(lost)
    expect(await store().markFailed({ ...late, reason: 'x', record: RECORD })).toEqual(lost)
    expect(await store().markUnknown({ ...late, reason: 'x' })).toEqual(lost)
    expect(await store().extendClaim({ ...late, leaseMs: DAY })).toEqual(lost)
    expect(await stateOf(app)).toEqual(['claimed'])
  })

  test('handed, then sent; nothing is handed twice', async () => {
    const app = await createApp()
    await queue(app, 1)
    const held = await claimOne(app)
    expect(await store().markHanded({ ...held, record: RECORD })).toEqual({ held: true })
    expect(await store().markHanded({ ...held, record: RECORD })).toEqual({ held: false, because: 'lost' })
    expect(await store().markSent({ ...held, at: held.at + 5 })).toEqual({ held: true })
    expect(await list(app)).toMatchObject([
      { state: 'sent', handedAt: held.at, sentAt: held.at + 5, record: RECORD, claimedBy: null },
    ])
    expect(await store().listHanded(app.appId, (await list(app))[0]?.contactId ?? 0, held.at - 1)).toEqual([held.at])
  })

  test('deferred is due again at its time, with what was said', async () => {
    const app = await createApp()
    await queue(app, 1)
    const held = await claimOne(app)
    await store().markDeferred({ ...held, reason: '451', dueAt: AT + 2 * HOUR, record: RECORD })
    expect(await stateOf(app)).toEqual(['deferred 451'])
    expect(await claim(app, 1, { now: AT + 2 * HOUR - 1 })).toEqual([])
    expect(await claim(app, 1, { now: AT + 2 * HOUR })).toMatchObject([{ delivery: { attempt: 2 } }])
  })

  test('what a mail server did not take is due at once at another; what waits for anything else stays', async () => {
    const app = await createApp()
    const reasons = ['smtp_451', 'etimedout', 'server_paused', 'unknown', 'window', 'perDay']
    await queue(app, reasons.length)
    const dueAt = AT + 5 * HOUR
    for (const reason of reasons) {
      await store().markDeferred({ ...(await claimOne(app)), reason, dueAt, record: RECORD })
    }
    const at = AT + 2 * HOUR
    const listDue = async () => (await list(app)).map((delivery) => delivery.dueAt)
    const set = (settings: Partial<MailSettings>) => store().setMailSettings({ ...app, at, settings })
    await set({ fromEmail: 'a@example.com' })
    expect(await listDue()).toEqual(Array(6).fill(dueAt))
    await set({ smtpUrl: 'smtp://a.example' })
    expect(await listDue()).toEqual([at, at, at, at, dueAt, dueAt])
    const works = await claim(app, 9, { now: at })
    for (const { delivery } of works) {
      await store().markDeferred({ ...delivery, claimedBy: 'a', at, reason: 'smtp_421', dueAt, record: RECORD })
    }
    // the same once more is no other server
    await set({ smtpUrl: 'smtp://a.example' })
    expect([works.length, await listDue()]).toEqual([4, Array(6).fill(dueAt)])
  })

  test('what was not taken from one address is due at once from another, and is tried as often as what is new', async () => {
    const app = await createApp()
    const reasons = ['from_553', 'sender_paused', 'smtp_451']
    await queue(app, reasons.length)
    const [dueAt, at, record] = [AT + 5 * HOUR, AT + HOUR, JSON.stringify({ ...JSON.parse(RECORD), tries: 4 })]
    for (const reason of reasons) await store().markDeferred({ ...(await claimOne(app)), reason, dueAt, record })
    await store().setMailSettings({ ...app, at, settings: { fromEmail: 'b@example.com' } })
    const moved = (await list(app)).map((delivery) => [delivery.dueAt, JSON.parse(delivery.record ?? '').tries])
    expect(moved).toEqual([
      [at, undefined],
      [at, undefined],
      [dueAt, 4],
    ])
  })

  test('captured: kept, and never sent', async () => {
    const app = await createApp()
    await queue(app, 1)
    const held = await claimOne(app)
    expect(await store().markCaptured({ ...held, record: RECORD, raw: 'Subject: ü\r\n\r\n' })).toEqual({ held: true })
    expect(await list(app)).toMatchObject([{ state: 'kept', handedAt: held.at, sentAt: null }])
    expect(await store().findCaptured(app.appId, held.id)).toEqual({ raw: 'Subject: ü\r\n\r\n', createdAt: held.at })
    expect(await store().findCaptured(app.appId - 1, held.id)).toBeNull()
    expect(await store().listCaptured(app.appId, null, 9)).toEqual([{ deliveryId: held.id, createdAt: held.at }])
  })

  test('what was kept can be sent on, and leaves the outbox when it is handed over, not before', async () => {
    const app = await createApp()
    await queue(app, 1)
    const kept = await claimOne(app)
    await store().markCaptured({ ...kept, record: RECORD, raw: 'x' })
    const again = { appId: app.appId, id: kept.id, at: AT + HOUR }
    expect(await store().resendDelivery(again)).toEqual({ done: true })
    expect(await list(app)).toMatchObject([{ state: 'waiting', byHand: true, handedAt: null }])
    const held = await claimOne(app)
    expect(await store().listCaptured(app.appId, null, 9)).toHaveLength(1)
    expect(await store().markHanded({ ...held, record: RECORD })).toEqual({ held: true })
    expect(await store().listCaptured(app.appId, null, 9)).toEqual([])
    await store().markSent(held)
    expect(await stateOf(app)).toEqual(['sent'])
    expect(await store().resendDelivery(again)).toEqual({ refusal: 'delivery_in_use' })
  })

  test('what was kept and must not be sent any more leaves the outbox', async () => {
    const app = await createApp()
    await queue(app, 1)
    const kept = await claimOne(app)
    await store().markCaptured({ ...kept, record: RECORD, raw: 'x' })
    await store().resendDelivery({ appId: app.appId, id: kept.id, at: AT + HOUR })
    await store().markSkipped({ ...(await claimOne(app)), reason: 'unsubscribed', record: RECORD })
    expect([await stateOf(app), await store().listCaptured(app.appId, null, 9)]).toEqual([['skipped unsubscribed'], []])
  })

  test('after a stop, claims are due at once; what was being handed over is sent once more where the message says so', async () => {
    const app = await createApp()
    await queue(app, 2)
    const [handed] = [await claimOne(app, 'old'), await claimOne(app, 'old')]
    await store().markHanded({ ...handed, record: RECORD })
    await store().releaseClaims({ notOf: 'new', at: AT + HOUR })
    expect(await stateOf(app)).toEqual(['deferred stopped', 'waiting'])
    const again = await claimOne(app, 'new')
    expect(again.id).not.toBe(handed.id)
    const second = await claimOne(app, 'new')
    await store().markHanded({ ...second, record: RECORD })
    await store().releaseClaims({ notOf: 'newer', at: AT + HOUR })
    // a second unknown outcome is left to a person
    expect((await stateOf(app)).toSorted()).toEqual(['unknown stopped', 'waiting'])
  })

  test.each<[string, Partial<MessageContent>, string]>([
    ['results_ready is sent again', {}, 'deferred gone'],
    ['unless the message says otherwise', { ifUnconfirmed: 'leave' }, 'unknown gone'],
  ])('an unknown outcome: %s', async (_, changes, state) => {
    const app = await createApp(changes)
    await queue(app, 1)
    const held = await claimOne(app)
    await store().markHanded({ ...held, record: RECORD })
    expect(await store().markUnknown({ ...held, reason: 'gone' })).toEqual({ held: true })
    expect(await stateOf(app)).toEqual([state])
  })

  test('a bounce ends the delivery and all mail to the person', async () => {
    const app = await createApp()
    await queue(app, 2)
    const held = await claimOne(app)
    await store().markHanded({ ...held, record: RECORD })
    await store().markSent(held)
    const bounce = { deliveryId: held.id, kind: 'bounced', reason: '550', at: AT + DAY } as const
    expect(await store().markBounced(bounce)).toEqual({ done: true })
    expect(await stateOf(app)).toEqual(['bounced 550', 'skipped bounced'])
    expect((await store().findContact(app.appId, 'ada@example.com'))?.status).toBe('bounced')
    expect(await store().findSuppression(app.appId, 'ada@example.com')).toBe('bounced')
    expect(await store().findSuppression(app.appId - 1, 'ada@example.com')).toBeNull()
    expect(await store().markBounced({ ...bounce, deliveryId: 1 })).toEqual({ refusal: 'delivery_not_found' })
    await store().suppress({ appId: app.appId, email: 'ada@example.com', reason: 'unsubscribed', at: AT + DAY })
    // what ended all mail is not softened
    expect(await store().findSuppression(app.appId, 'ada@example.com')).toBe('bounced')
    await store().unsuppress({ appId: app.appId, email: 'ada@example.com', at: AT + DAY })
    expect(await store().findSuppression(app.appId, 'ada@example.com')).toBeNull()
    expect((await store().findContact(app.appId, 'ada@example.com'))?.status).toBe('subscribed')
  })

  test('two mails to one person that were judged at once: the second waits for the limit', async () => {
    const app = await createApp()
    await store().setMailSettings({ ...app, settings: { perPersonDay: 1 } })
    await queue(app, 2)
    const [first, second] = [await claimOne(app), await claimOne(app)]
    expect(await store().markHanded({ ...first, record: RECORD })).toEqual({ held: true })
    expect(await store().markHanded({ ...second, record: RECORD })).toEqual({ held: false, because: 'perDay' })
    expect((await list(app))[1]).toMatchObject({ state: 'deferred', reason: 'perDay', dueAt: first.at + DAY })
  })

  test('an erased person has no deliveries and no kept mails any more', async () => {
    const app = await createApp()
    await queue(app, 2)
    const held = await claimOne(app)
    await store().markCaptured({ ...held, record: RECORD, raw: 'x' })
    await store().eraseContact({ ...BY, appId: app.appId, email: 'ada@example.com' })
    expect(await list(app)).toEqual([])
    expect(await store().findCaptured(app.appId, held.id)).toBeNull()
  })

  test('pages of deliveries: newest first, by state, by person, by message', async () => {
    const app = await createApp()
    await queue(app, 4)
    await queue(app, 1, 'eve@example.com')
    const held = await claimOne(app)
    await store().markSkipped({ ...held, reason: 'seen', record: RECORD })
    const query = { appId: app.appId, messageId: null, contactId: null, states: null, before: null, limit: 3 }
    const all = await list(app)
    const ids = async (changes: object) => (await store().listDeliveries({ ...query, ...changes })).map(({ id }) => id)
    const newest = all.map(({ id }) => id).toReversed()
    expect(await ids({})).toEqual(newest.slice(0, 3))
    expect(await ids({ before: newest[2] })).toEqual(newest.slice(3))
    expect(await ids({ states: ['skipped'] })).toEqual([held.id])
    expect(await ids({ contactId: all[4]?.contactId })).toEqual([all[4]?.id ?? 0])
    expect(await ids({ messageId: app.messageId, states: ['waiting'], limit: 9 })).toEqual(
      newest.filter((id) => id !== held.id),
    )
    expect(await ids({ messageId: app.messageId, appId: app.appId - 1 })).toEqual([])
    const counts = await store().countDeliveries(app.messageId)
    expect(counts).toMatchObject({ waiting: 4, skipped: 1, sent: 0, cameBack: 0 })
    expect(await store().countAllDeliveries(app.appId)).toEqual([{ messageId: app.messageId, counts }])
    expect(await store().countAllDeliveries(app.appId - 1)).toEqual([])
  })
}
