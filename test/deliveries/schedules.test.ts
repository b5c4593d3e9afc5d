import { beforeEach, describe, expect, test } from 'bun:test'
import { explainMessageFor } from '../../src/deliveries/message-explanations.ts'
import { checkDate, dueByDate } from '../../src/deliveries/schedules.ts'
import { isRefusal } from '../../src/core/refusals.ts'
import type { DateTrigger } from '../../src/store/message-types.ts'
import { useClosing } from '../closing.ts'
import { dayOf } from '../durations.ts'
import { CONTACTS, createTestServer, DAY, HOUR, NOW, type TestServer, useSharedServer } from '../helper.ts'
import { isOnPostgres } from '../postgres/test-databases.ts'
import { ADA, createMessaging, messageOf, MINUTE, type Messaging, page } from '../messaging.ts'

const openServer = useSharedServer()
const keep = useClosing()

const BEFORE: DateTrigger = { date: 'trialEndsAt', days: 3, when: 'before' }
const iso = (at: number): string => new Date(at).toISOString()

describe('a date', () => {
  const zone = 'America/New_York'
  test.each<[string, Record<string, string | number>, string | null]>([
    ['with a time', { trialEndsAt: '2026-12-31T15:00:00Z' }, '2026-12-28T15:00Z'],
    ['in the zone of the app', { trialEndsAt: '2026-12-31' }, '2026-12-28T05:00Z'],
    ['in the zone of the person', { trialEndsAt: '2026-12-31', timezone: 'Asia/Tokyo' }, '2026-12-27T15:00Z'],
    ['as a Unix time', { trialEndsAt: 1_798_729_200 }, '2026-12-28T15:00Z'],
    ['that is none', { trialEndsAt: 'soon' }, null],
    ['that is missing', {}, null],
  ])('%s', (_, fields, due) => expect(dueByDate(BEFORE, fields, zone)).toBe(due === null ? null : Date.parse(due)))

  test('after it, in days of 24 hours', () => {
    const trigger: DateTrigger = { date: 'renewedAt', days: 1, when: 'after' }
    expect(dueByDate(trigger, { renewedAt: iso(NOW) }, 'UTC')).toBe(NOW + DAY)
  })

  test.each<[string, number | null, 'pass' | 'fail']>([
    ['is the same', 0, 'pass'],
    ['is earlier by less than a day', -DAY + 1, 'pass'],
    ['is earlier by a day', -DAY, 'fail'],
    ['is later, but due', HOUR, 'pass'],
    ['is later', HOUR + 1, 'fail'],
    ['was removed', null, 'fail'],
  ])('still triggers an email if it %s', (_, movedMs, verdict) => {
    const fields: Record<string, string> = movedMs === null ? {} : { trialEndsAt: iso(NOW + 3 * DAY + movedMs) }
    const facts = { fields, timezone: 'UTC', triggeredAt: NOW, at: NOW + HOUR }
    expect(checkDate(BEFORE, facts).verdict).toBe(verdict)
  })
})

describe('a live message', () => {
  let server: TestServer
  let messaging: Messaging
  let now: number
  const begin = async (opened: TestServer): Promise<void> => {
    server = opened
    now = server.clock.now()
    await server.setPlan({ snippetLimits: false })
    messaging = await createMessaging(server)
  }
  beforeEach(async () => begin(await openServer()))

  const setDate = (at: number | string | null, email = ADA) =>
    server.call('POST', CONTACTS, {
      body: { newsletter: server.first.appId, email, fields: { trialEndsAt: typeof at === 'number' ? iso(at) : at } },
    })
  async function run(): Promise<void> {
    for (;;) {
      const outcome = await messaging.store().runSchedules({ at: server.clock.now() })
      if (isRefusal(outcome)) throw new Error(outcome.refusal)
      if (!outcome.hasMore) return
    }
  }
  const runAfter = async (ms: number): Promise<void> => {
    server.clock.tick(ms)
    await run()
  }
  const listed = async () =>
    (await messaging.deliveries()).map(({ state, reason, triggeredAt }) => [
      reason ?? state,
      (triggeredAt - now) / HOUR,
    ])
  const put = (changes: object = {}, id: number | null = null) =>
    messaging.put(messageOf({ name: 'Trial', trigger: BEFORE, ...changes }), id)

  describe('with a date', () => {
    test('is triggered once, also of those who were there before, after a restart and a clock step', async () => {
      await setDate(now + 4 * DAY)
      await setDate(now + 2 * DAY, 'late@example.com')
      await setDate('soon', 'odd@example.com')
      await put()
      await run()
      await setDate(now + 4 * DAY, 'new@example.com')
      await setDate(now + 4 * DAY + 1, 'next@example.com')
      expect(await listed()).toEqual([])
      await runAfter(DAY - 1)
      expect(await listed()).toEqual([])
      await runAfter(1)
      expect(await listed()).toEqual([
        ['waiting', 24],
        ['waiting', 24],
      ])
      await server.restart()
      await run()
      server.clock.tick(-DAY)
      await run()
      await runAfter(DAY)
      expect(await listed()).toHaveLength(2)
      await runAfter(1)
      expect(await listed()).toHaveLength(3)
    })

    test('moves with it, and a time that is over triggers nothing', async () => {
      await put()
      await run()
      await setDate(now + 4 * DAY)
      await setDate(now + 6 * DAY)
      await runAfter(DAY)
      expect(await listed()).toEqual([])
      await setDate(now + 4 * DAY)
      await runAfter(9 * DAY)
      expect(await listed()).toEqual([])
      await setDate(now + 14 * DAY)
      await runAfter(DAY)
      expect(await listed()).toEqual([['waiting', 264]])
    })

    test('skips an email that waits when it is moved or removed, and triggers another one', async () => {
      await put({ again: { once: 'trigger' }, wait: { minutes: 60 } })
      await setDate(now + 4 * DAY)
      await runAfter(DAY)
      await setDate(now + 5 * DAY)
      expect(await listed()).toEqual([['waiting', 24]])
      server.clock.tick(HOUR)
      expect((await messaging.decide()).map(({ reason }) => reason)).toEqual(['date_changed'])
      await runAfter(DAY - HOUR)
      expect(await listed()).toEqual([
        ['date_changed', 24],
        ['waiting', 48],
      ])
      // an hour earlier is the same date
      await setDate(now + 5 * DAY - HOUR)
      server.clock.tick(HOUR)
      expect((await messaging.decide()).map(({ verdict }) => verdict)).toEqual(['send'])
      await setDate(now + 8 * DAY)
      await runAfter(3 * DAY)
      await setDate(null)
      server.clock.tick(HOUR)
      await messaging.decide()
      expect((await listed()).map(([state]) => state)).toEqual(['date_changed', 'sent', 'date_changed'])
    })

    test('is triggered once by a date that moves by less than a day after the email', async () => {
      await put({ again: { once: 'trigger' } })
      await setDate(now + 4 * DAY)
      await runAfter(DAY)
      await messaging.decide()
      await setDate(now + 4 * DAY + MINUTE)
      await runAfter(HOUR)
      await setDate(now + 5 * DAY - 1)
      await runAfter(DAY)
      expect(await listed()).toEqual([['sent', 24]])
      await setDate(now + 6 * DAY)
      await runAfter(DAY)
      expect(await listed()).toEqual([
        ['sent', 24],
        ['waiting', 72],
      ])
    })

    test.each<[string, number, string]>([
      ['sends it late after a shorter outage', 72 * HOUR, 'sent'],
      ['gives it up after a longer one', 72 * HOUR + 1, 'gave_up'],
    ])('%s', async (_, outageMs, state) => {
      await put()
      await setDate(now + 4 * DAY)
      await runAfter(DAY + outageMs)
      await messaging.decide()
      expect(await listed()).toEqual([[state, 24]])
    })

    test('sends an email that waits if it is moved and moved back', async () => {
      await put({ wait: { minutes: 60 } })
      await setDate(now + 4 * DAY)
      await runAfter(DAY)
      for (const date of [now + 9 * DAY, null, now + 4 * DAY]) await setDate(date)
      await runAfter(HOUR)
      expect((await messaging.decide()).map(({ verdict }) => verdict)).toEqual(['send'])
      await runAfter(9 * DAY)
      expect(await listed()).toEqual([['sent', 24]])
    })

    test('ends an email that still waits when it is due at another time', async () => {
      await put({ wait: { minutes: 3 * 24 * 60 } })
      await setDate(now + 4 * DAY)
      await runAfter(DAY)
      await setDate(now + 5 * DAY)
      await runAfter(DAY)
      expect(await listed()).toEqual([
        ['date_changed', 24],
        ['waiting', 48],
      ])
    })

    test('is triggered only while it is live, and not by what was due before', async () => {
      await setDate(now + 4 * DAY)
      await setDate(now + 6 * DAY, 'next@example.com')
      const { id } = await put()
      await run()
      await put({ status: 'paused' }, id)
      await runAfter(2 * DAY)
      await put({}, id)
      await run()
      expect(await listed()).toEqual([])
      await runAfter(DAY)
      expect(await listed()).toEqual([['waiting', 72]])
    })

    test('follows the timezone of the app', async () => {
      await put()
      await setDate(iso(now + 5 * DAY).slice(0, 10))
      await messaging.set({ timezone: 'Asia/Tokyo' })
      await run()
      // 00:00 in Tokyo
      await runAfter(27 * HOUR - 1)
      expect(await listed()).toEqual([])
      await runAfter(1)
      expect(await listed()).toEqual([['waiting', 27]])
    })

    test('explains when it is due', async () => {
      const { id } = await put()
      await setDate(now + 4 * DAY)
      const explain = async (): Promise<string> => {
        const person = await messaging.store().findContact(messaging.app.id, ADA)
        const message = await messaging.store().findMessage(messaging.app.id, id)
        if (!person || !message) throw new Error('nothing to explain')
        return (await explainMessageFor({ store: messaging.store(), clock: server.clock }, person, message)).why
      }
      expect(await explain()).toBe(
        `This message is triggered 3 days before ada@example.com's trialEndsAt, on ${dayOf(now + DAY)}, 12:00 UTC. The email is due then.`,
      )
      await setDate('soon')
      expect(await explain()).toBe('ada@example.com has soon in the field trialEndsAt, which is not a date.')
      await setDate(now + 2 * DAY)
      expect(await explain()).toBe(
        `The trigger time was 3 days before ada@example.com's trialEndsAt, on ${dayOf(now - DAY)}, 12:00 UTC. The message went live later, on ${dayOf(now)}, 12:00 UTC.`,
      )
    })
  })

  describe('with inactivity', () => {
    const inactive = (changes: object = {}) => put({ trigger: { inactiveDays: 14 }, ...changes })

    test('is triggered once after the last event or page view, not by those who were inactive before', async () => {
      await messaging.event({ email: 'old@example.com' })
      server.clock.tick(15 * DAY)
      await messaging.event()
      await inactive()
      await run()
      await runAfter(10 * DAY)
      await messaging.browse('a', page('/start'))
      await runAfter(14 * DAY - 1)
      expect(await listed()).toEqual([])
      await runAfter(1)
      expect(await listed()).toEqual([['waiting', 39 * 24]])
      await messaging.decide()
      await runAfter(30 * DAY)
      expect(await listed()).toHaveLength(1)
      await messaging.event({ email: 'old@example.com' })
      await runAfter(14 * DAY)
      expect(await listed()).toHaveLength(2)
    })

    test('is triggered by each inactivity if it says so, and not by people who come back before', async () => {
      await inactive({ again: { once: 'trigger' }, wait: { minutes: 60 } })
      await messaging.event()
      await run()
      await runAfter(14 * DAY)
      await messaging.event()
      server.clock.tick(HOUR)
      expect((await messaging.decide()).map(({ reason }) => reason)).toEqual(['active_again'])
      await runAfter(14 * DAY)
      server.clock.tick(HOUR)
      expect((await messaging.decide()).map(({ verdict }) => verdict)).toEqual(['send'])
      await messaging.event()
      await runAfter(13 * DAY)
      await runAfter(DAY + MINUTE)
      expect((await listed()).map(([state]) => state)).toEqual(['active_again', 'sent', 'waiting'])
    })

    test('looks again after the clock was set back', async () => {
      await begin(keep(await createTestServer()))
      await inactive()
      await messaging.event()
      await run()
      server.clock.tick(400 * DAY)
      await run()
      await messaging.decide()
      expect(await listed()).toEqual([['gave_up', 14 * 24]])
      server.clock.tick(-400 * DAY)
      await messaging.event({ email: 'new@example.com' })
      await run()
      await messaging.event()
      await runAfter(14 * DAY + MINUTE)
      // on PostgreSQL, a person whose id is from a later time may be of an instance that still writes
      const added = isOnPostgres ? [] : ['waiting']
      expect((await listed()).map(([state]) => state).toSorted()).toEqual(['gave_up', 'waiting', ...added])
    })
  })
})

test('an erased person is not scheduled any more', async () => {
  const server = await openServer()
  const messaging = await createMessaging(server)
  await messaging.put(messageOf({ trigger: BEFORE }))
  const body = { newsletter: server.first.appId, email: ADA }
  await server.call('POST', CONTACTS, { body: { ...body, fields: { trialEndsAt: iso(server.clock.now() + 4 * DAY) } } })
  await server.call('DELETE', CONTACTS, { body })
  server.clock.tick(DAY)
  await messaging.store().runSchedules({ at: server.clock.now() })
  expect(await messaging.deliveries()).toEqual([])
})
