import { expect, test } from 'bun:test'
import type { Claim, DeliveryRow, MailSettings, MessageContent } from '../../../src/store/message-types.ts'
import { AT, DAY, done, type Fresh, HOUR } from '../samples.ts'
import { createQueue, MINUTE, RECORD } from './delivery-queue.ts'

const claimOf = ({ id, attempt }: DeliveryRow): Claim => ({ id, claimedBy: 'a', attempt, at: AT + HOUR })

/** What the sender asks of the store: who sends what, when, and when again. */
export function testClaims(store: Fresh): void {
  const { createApp, queue, list, claim, claimOne, stateOf } = createQueue(store)

  test('claims the longest-due deliveries first, once each, with everything that sending needs', async () => {
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
      settings: { fromEmail: null, perPersonDay: 1 },
    })
  })

  test('claims the longest-due deliveries first across many apps', async () => {
    const apps = [await createApp(), await createApp(), await createApp()]
    const [first, second, third] = apps.map(({ appId }) => appId)
    for (const [index, app] of apps.entries()) await queue(app, 3 - index)
    const others = Array.from({ length: 1_000 }, (_, id) => id).filter((id) => !apps.some(({ appId }) => appId === id))
    const claiming = { claimedBy: 'a', now: AT + HOUR, leaseMs: MINUTE, most: 4, skipApps: others }
    const { works } = done(await store().claimDeliveries(claiming))
    const dues = works.map(({ delivery }) => [delivery.appId, delivery.dueAt - AT])
    expect(
      dues
        .slice(0, 3)
        .map(([appId]) => appId)
        .toSorted(),
    ).toEqual([first, second, third])
    expect(dues.map(([, at]) => at)).toEqual([0, 0, 0, 1_000])
  })

  test('claims those that are named first, if they are due', async () => {
    const app = await createApp()
    await queue(app, 6)
    const [, , third, fourth, fifth, sixth] = await list(app)
    const first = [third, fourth, fifth, sixth].map((one) => one?.id ?? 0)
    await claim(app, 1, { first: [first[1] ?? 0], now: AT + 3_000 })
    const claimed = await claim(app, 3, { first, now: AT + 4_000 })
    expect(claimed.map(({ delivery }) => delivery.dueAt)).toEqual([AT + 2_000, AT + 4_000, AT])
    const left = await claim(app, 9, { now: AT + 5_000 })
    expect(left.map(({ delivery }) => delivery.dueAt)).toEqual([AT + 1_000, AT + 5_000])
  })

  test('does not claim a delivery before it is due', async () => {
    const app = await createApp({ wait: { minutes: 10 } })
    await queue(app, 2)
    const isDue = async (now: number) => (await store().listDueApps({ now })).includes(app.appId)
    expect([await isDue(AT + 10 * MINUTE - 1), await isDue(AT + 10 * MINUTE)]).toEqual([false, true])
    expect(await claim(app, 9, { now: AT + 10 * MINUTE - 1 })).toEqual([])
    expect(await claim(app, 9, { now: AT + 10 * MINUTE })).toHaveLength(1)
    expect([await isDue(AT + 10 * MINUTE), await isDue(AT + 10 * MINUTE + 1_000)]).toEqual([false, true])
  })

  test('a delivery says how long it waited for limits since it was planned', async () => {
    const app = await createApp()
    await queue(app, 2)
    const { appId } = app
    const save = async (from: number, until: number) =>
      done(await store().saveLimitWaits({ waits: [{ appId, from, until }] }))
    await save(AT - 10 * MINUTE, AT - 5 * MINUTE)
    await save(AT - MINUTE, AT + 4 * MINUTE)
    await save(AT + 30 * MINUTE, AT + 31 * MINUTE)
    // the same wait goes on
    await save(AT + 30 * MINUTE, AT + 40 * MINUTE)
    done(await store().saveLimitWaits({ waits: [{ appId: appId + 1, from: AT, until: AT + HOUR }] }))
    const [first, second] = await claim(app, 2)
    expect([first?.limitedMs, second?.limitedMs]).toEqual([14 * MINUTE, 14 * MINUTE - 1_000])
    await save(AT + 200 * DAY, AT + 200 * DAY + MINUTE)
    expect((await store().findWork(first?.delivery.id ?? 0))?.limitedMs).toBe(MINUTE)
  })

  test('an expired lease is claimed again, and the earlier claim can no longer finish', async () => {
    const app = await createApp()
    await queue(app, 1)
    const late = await claimOne(app)
    expect(await claim(app, 1, { now: AT + HOUR + MINUTE - 1 })).toEqual([])
    expect(await store().listDueApps({ now: AT + HOUR + MINUTE - 1 })).not.toContain(app.appId)
    expect(await store().listDueApps({ now: AT + HOUR + MINUTE })).toContain(app.appId)
    expect(await store().extendClaim({ ...late, at: AT + HOUR + MINUTE - 1, leaseMs: MINUTE })).toEqual({
      isMarked: true,
    })
    expect(await claim(app, 1, { now: AT + HOUR + MINUTE })).toEqual([])
    const [work] = await claim(app, 1, { now: AT + HOUR + 2 * MINUTE })
    expect(work?.delivery.attempt).toBe(2)
    const lost = { isMarked: false, because: 'lost' } as const
    expect(await store().markHanded({ ...late, record: RECORD })).toEqual(lost)
    expect(await store().markSent(late)).toEqual(lost)
    expect(await store().markSkipped({ ...late, reason: 'seen', record: null })).toEqual(lost)
    expect(await store().markFailed({ ...late, reason: 'x', record: RECORD })).toEqual(lost)
    expect(await store().markUnknown({ ...late, reason: 'x' })).toEqual(lost)
    expect(await store().extendClaim({ ...late, leaseMs: DAY })).toEqual(lost)
    expect(await stateOf(app)).toEqual(['claimed'])
  })

  test('a delivery is handed over once, then marked sent', async () => {
    const app = await createApp()
    await queue(app, 1)
    const claim = await claimOne(app)
    expect(await store().markHanded({ ...claim, record: RECORD })).toEqual({ isMarked: true })
    expect(await store().markHanded({ ...claim, record: RECORD })).toEqual({ isMarked: false, because: 'lost' })
    expect(await store().markSent({ ...claim, at: claim.at + 5 })).toEqual({ isMarked: true })
    expect(await list(app)).toMatchObject([
      { state: 'sent', handedAt: claim.at, sentAt: claim.at + 5, record: RECORD, claimedBy: null },
    ])
    const contactId = (await list(app))[0]?.contactId ?? 0
    const asked = { appId: app.appId, contactId }
    expect(await store().listHanded({ ...asked, id: 0 }, claim.at - 1)).toEqual([{ at: claim.at, mail: {} }])
    expect(await store().listHanded({ ...asked, id: claim.id }, claim.at - 1)).toEqual([])
  })

  test('a deferred delivery is due again at its time, with the server reply', async () => {
    const app = await createApp()
    await queue(app, 1)
    const claimed = await claimOne(app)
    await store().markDeferred({ ...claimed, reason: '451', dueAt: AT + 2 * HOUR, record: RECORD })
    expect(await stateOf(app)).toEqual(['deferred 451'])
    expect(await claim(app, 1, { now: AT + 2 * HOUR - 1 })).toEqual([])
    expect(await claim(app, 1, { now: AT + 2 * HOUR })).toMatchObject([{ delivery: { attempt: 2 } }])
  })

  test('a new mail server makes deliveries due that waited for the old one, and no others', async () => {
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

  test('a new sender address makes refused deliveries due and restarts their tries', async () => {
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

  test('verifying a domain makes the deliveries that wait for it due', async () => {
    const app = await createApp()
    await queue(app, 3)
    const [dueAt, at] = [AT + 5 * HOUR, AT + HOUR]
    for (const reason of ['sender_unverified', 'sender_not_listed', 'window']) {
      await store().markDeferred({ ...(await claimOne(app)), reason, dueAt, record: RECORD })
    }
    await store().bindSenderDomain({ ...app, at, domain: 'mine.example', proof: 'txt' })
    expect((await list(app)).map((delivery) => delivery.dueAt)).toEqual([at, at, dueAt])
  })

  test('after a restart, claims are due and interrupted hand-overs are resent if the message allows it', async () => {
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

  test('of two emails to one person decided together, the second waits for the limit', async () => {
    const app = await createApp()
    await store().setMailSettings({ ...app, settings: { perPersonDay: 1 } })
    await queue(app, 2)
    const [first, second] = [await claimOne(app), await claimOne(app)]
    expect(await store().markHanded({ ...first, record: RECORD })).toEqual({ isMarked: true })
    expect(await store().markHanded({ ...second, record: RECORD })).toEqual({ isMarked: false, because: 'perDay' })
    expect((await list(app))[1]).toMatchObject({ state: 'deferred', reason: 'perDay', dueAt: first.at + DAY })
  })
  test('emails of one message that are handed over in one millisecond count for the limit, each', async () => {
    const app = await createApp()
    await store().setMailSettings({ ...app, settings: { perPersonDay: 2 } })
    await queue(app, 3)
    const marked: boolean[] = []
    for (const { delivery } of await claim(app, 9))
      marked.push(done(await store().markHanded({ ...claimOf(delivery), record: RECORD })).isMarked)
    expect(marked).toEqual([true, true, false])
  })

  test('of two emails to one person handed over at once with those to others, the second waits for the limit', async () => {
    const app = await createApp()
    await store().setMailSettings({ ...app, settings: { perPersonDay: 1 } })
    await queue(app, 2)
    const others = ['bob@example.com', 'cy@example.com', 'dora@example.com']
    for (const email of others) await queue(app, 1, email)
    const claims = (await claim(app, 9)).map(({ delivery }) => claimOf(delivery))
    const marked = await Promise.all(
      claims.map(async (one) => done(await store().markHanded({ ...one, record: RECORD }))),
    )
    expect(marked.filter(({ isMarked }) => isMarked)).toHaveLength(4)
    expect(marked).toContainEqual({ isMarked: false, because: 'perDay' })
  })

  test('emails that are sent at once each start the messages that follow them', async () => {
    const app = await createApp()
    const content: MessageContent = { trigger: { message: 'M' }, mail: { subject: 'S', body: 'B' } }
    const drafts = [{ id: null, name: 'After', status: 'live', content }] as const
    done(await store().saveMessages({ ...app, drafts: [...drafts] }))
    const people = ['ada', 'bob', 'cy', 'dora'].map((name) => `${name}@example.com`)
    for (const email of people) await queue(app, 1, email)
    const claims = (await claim(app, 9)).map(({ delivery }) => claimOf(delivery))
    await Promise.all(claims.map((one) => store().markHanded({ ...one, record: RECORD })))
    await Promise.all(claims.map((one) => store().markSent(one)))
    expect((await stateOf(app)).toSorted()).toEqual([...people.map(() => 'sent'), ...people.map(() => 'waiting')])
  })
}
