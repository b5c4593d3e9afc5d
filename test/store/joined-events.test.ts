/** Events that share one email: which ones do, what each of them uses up, and what becomes of them. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Again, DeliveryRow, MessageContent } from '../../src/store/message-types.ts'
import { lastDays, readResults } from '../../src/deliveries/results.ts'
import { dedupeKeyOf } from '../../src/messages/again.ts'
import { useClosing } from '../closing.ts'
import { createTestServer, DAY, HOUR, type TestServer, useSharedServer } from '../helper.ts'
import { ADA, createMessaging, messageOf, MINUTE, type Messaging, page, recordOf, verdictsOf } from '../messaging.ts'

const openServer = useSharedServer()
const keep = useClosing()
let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  await server.setPlan({ snippetLimits: false })
  messaging = await createMessaging(server)
})

const AGAIN: Again = { once: 'property', property: ['resultId', 'url'], collect: { minutes: 30 } }
const url = (name: string | number): string => `https://first.example/results/${name}`

const put = (changes: Partial<MessageContent> = {}, id: number | null = null) =>
  messaging.put(messageOf({ again: AGAIN, wait: { minutes: 60 }, ...changes }), id)
const result = (name: string | number, changes: object = {}) =>
  messaging.event({ properties: { url: url(name), headline: `Result ${name}` }, ...changes })

/** Each delivery as its state, and the number of the one that it joined: oldest first. */
async function states(): Promise<string[]> {
  const all = await messaging.deliveries()
  return all.map(({ state, reason, joinedTo }) => {
    const lead = joinedTo === null ? '' : ` to ${all.findIndex(({ id }) => id === joinedTo)}`
    return `${state === 'joined' ? state : (reason ?? state)}${lead}`
  })
}

describe('events with the same key', () => {
  const keyOf = (again: Again, properties: Record<string, unknown>): string => dedupeKeyOf(again, () => properties)

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['the first present property counts', { resultId: 7, url: url(1) }, { resultId: 7, url: url(2) }],
    ['a blank or null property counts as absent', { resultId: '', url: url(1) }, { resultId: null, url: url(1) }],
    ['a URL counts without its query', { url: `${url(1)}?token=a` }, { url: `${url(1)}?token=b&utm=c` }],
    ['and without its fragment', { url: `${url(1)}#top` }, { url: url(1) }],
    ['also if the fragment contains a query', { url: `${url(1)}#top?a=b` }, { url: `${url(1)}?b#c` }],
    ['but a route in the fragment counts, without its query', { url: `${url('')}#/1?a` }, { url: `${url('')}#/1?b` }],
    ['ignoring surrounding spaces', { url: ` ${url(1)}` }, { url: url(1) }],
    ['without either property, once per person', {}, { other: 1 }],
    ['inherited properties do not count', {}, Object.create({ resultId: 1 })],
  ])('%s', (_, one, other) => expect(keyOf(AGAIN, one)).toBe(keyOf(AGAIN, other)))

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['another value', { url: url(1) }, { url: url(2) }],
    ['a number and its text', { resultId: 1 }, { resultId: '1' }],
    ['a route', { url: `${url('')}#/1` }, { url: `${url('')}#/2` }],
    ['a value and none', { url: url(1) }, {}],
    ['a query in a text that is not a URL', { resultId: 'a?b' }, { resultId: 'a?c' }],
  ])('not %s', (_, one, other) => expect(keyOf(AGAIN, one)).not.toBe(keyOf(AGAIN, other)))

  test('one property equals a list of one, and no property means once per person', () => {
    const single: Again = { once: 'property', property: 'url' }
    expect(keyOf(single, { url: `${url(1)}?a` })).toBe(keyOf({ once: 'property', property: ['url'] }, { url: url(1) }))
    expect(keyOf(single, { resultId: 1 })).toBe('')
    expect(keyOf({ once: 'person' }, { url: url(1) })).toBe('')
  })
})

describe('joining', () => {
  test('twelve results make one email, each with its own row', async () => {
    await put()
    for (let index = 0; index < 12; index += 1) await result(index)
    expect(await states()).toEqual(['waiting', ...Array.from({ length: 11 }, () => 'joined to 0')])
    server.clock.tick(HOUR)
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
  })

  test.each([
    [30 * MINUTE, 'joined to 0'],
    [30 * MINUTE + 1, 'waiting'],
  ])('%d ms later: %s', async (later, state) => {
    await put()
    await result(1)
    server.clock.tick(later)
    await result(2)
    expect(await states()).toEqual(['waiting', state])
  })

  test('the time of the events counts, not their arrival or order', async () => {
    await put({ wait: { minutes: 600 } })
    const happened = (minutes: number) => ({
      occurredAt: new Date(server.clock.now() - minutes * MINUTE).toISOString(),
    })
    await result(1, happened(60))
    await result(2, happened(89))
    await result(3, happened(31))
    await result(4, happened(29))
    server.clock.tick(2 * HOUR)
    await result(5, happened(160))
    expect(await states()).toEqual(['waiting', 'joined to 0', 'joined to 0', 'waiting', 'joined to 0'])
  })

  test('after the window, a new email starts and takes the next events', async () => {
    await put({ wait: { minutes: 600 } })
    for (const [name, minutes] of [
      [1, 31],
      [2, 10],
      [3, 30],
      [4, 0],
    ] as const) {
      await result(name)
      server.clock.tick(minutes * MINUTE)
    }
    expect(await states()).toEqual(['waiting', 'waiting', 'joined to 1', 'waiting'])
  })

  test('the same result joins once and starts nothing while or after its email', async () => {
    await put()
    for (const name of [1, 2, 2, 1]) await result(name)
    const two = ['waiting', 'joined to 0']
    expect(await states()).toEqual(two)
    server.clock.tick(HOUR)
    await messaging.decide()
    server.clock.tick(DAY)
    for (const name of [1, 2]) await result(name)
    expect(await states()).toEqual(['sent', 'joined to 0'])
    await result(3)
    expect(await states()).toEqual(['sent', 'joined to 0', 'waiting'])
  })

  test('an event without the property joins once per person', async () => {
    await put()
    await result(1)
    for (const properties of [{}, { headline: 'Other' }]) await messaging.event({ properties })
    expect(await states()).toEqual(['waiting', 'joined to 0'])
  })

  test('once per person: all events join while it waits, and nothing starts after', async () => {
    await put({ again: { once: 'person', collect: { minutes: 30 } } })
    for (const name of [1, 2, 2]) await result(name)
    expect(await states()).toEqual(['waiting', 'joined to 0', 'joined to 0'])
    server.clock.tick(HOUR)
    await messaging.decide()
    await result(3)
    expect(await states()).toEqual(['sent', 'joined to 0', 'joined to 0'])
  })

  test('events join only emails of the same person and message', async () => {
    await put()
    await messaging.put(messageOf({ name: 'Other', again: AGAIN, wait: { minutes: 60 } }))
    await result(1)
    await result(2, { email: 'eve@example.com' })
    await result(3)
    expect(await states()).toEqual(['waiting', 'waiting', 'waiting', 'waiting', 'joined to 0', 'joined to 1'])
  })

  test('events do not join another version, nor a message that stopped collecting', async () => {
    const { id } = await put()
    await result(1)
    await put({ mail: { subject: 'New words', body: 'Hello' } }, id)
    for (const name of [2, 3]) await result(name)
    expect(await states()).toEqual(['waiting', 'waiting', 'joined to 1'])
    await put({ again: { once: 'property', property: ['resultId', 'url'] } }, id)
    for (const name of [3, 4]) await result(name)
    expect(await states()).toEqual(['waiting', 'waiting', 'joined to 1', 'waiting'])
  })

  test('events do not join a claimed email or one that a member resends', async () => {
    await put()
    await result(1)
    server.clock.tick(HOUR)
    const [first] = await messaging.deliveries()
    await messaging.claimOne()
    await result(2, { occurredAt: new Date(first?.triggeredAt ?? 0).toISOString() })
    expect(await states()).toEqual(['claimed', 'waiting'])
    const claim = { id: first?.id ?? 0, claimedBy: 'test', attempt: 1, at: server.clock.now() }
    await messaging.store().markSkipped({ ...claim, reason: 'tag', record: null })
    await messaging.store().resendDelivery({ appId: messaging.app.id, id: claim.id, at: claim.at })
    await result(3, { occurredAt: new Date(first?.triggeredAt ?? 0).toISOString() })
    expect(await states()).toEqual(['waiting', 'waiting', 'joined to 1'])
  })

  test('events join a deferred email, also after a restart', async () => {
    server = keep(await createTestServer())
    messaging = await createMessaging(server)
    await messaging.set({ perPersonDay: 1 })
    await put({ wait: { minutes: 0 } })
    await result(0)
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    await result(1)
    expect(verdictsOf(await messaging.decide())).toEqual(['perDay'])
    await server.restart()
    await result(2)
    expect(await states()).toEqual(['sent', 'perDay', 'joined to 1'])
    server.clock.tick(DAY)
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    expect(await states()).toEqual(['sent', 'sent', 'joined to 1'])
  })

  test('a repeated request joins once', async () => {
    await put()
    await result(1)
    const body = { app: server.first.appId, email: ADA, event: 'results_ready', properties: { n: 1 } }
    const again = () => server.call('POST', '/api/v1/events', { body, headers: { 'Idempotency-Key': 'once' } })
    expect([(await again()).status, (await again()).status]).toEqual([202, 202])
    expect(await states()).toEqual(['waiting', 'joined to 0'])
  })

  test('an event and its delivery are written together or not at all', async () => {
    await put()
    await result(1)
    const { Database } = await import('bun:sqlite')
    const { databasePath } = await import('../../src/store/engine/database.ts')
    const other = new Database(databasePath(server.folder))
    other.run(`CREATE TRIGGER refuse BEFORE INSERT ON deliveries WHEN NEW.state = 'joined'
      BEGIN SELECT RAISE(ABORT, 'no'); END`)
    const count = () => other.query('SELECT count(*) AS n FROM events').get()
    const before = count()
    const log = console.error
    console.error = () => {}
    expect((await result(2)).status).toBe(500)
    console.error = log
    expect(count()).toEqual(before)
    other.run('DROP TRIGGER refuse')
    other.close()
    expect((await result(2)).status).toBe(202)
    expect(await states()).toEqual(['waiting', 'joined to 0'])
  })
})

describe('a result that is opened before the email is sent', () => {
  const NOT_SEEN: Partial<MessageContent> = { onlyIf: [{ rule: 'notSeen', ifUnknown: 'send' }] }
  const see = async (name: string | number): Promise<void> => {
    server.clock.tick(1)
    await messaging.browse('tab', page(`/results/${name}`))
  }

  test('is removed from the email and may start another', async () => {
    await put(NOT_SEEN)
    for (const name of [1, 2, 3]) await result(name)
    await see(2)
    expect(await states()).toEqual(['waiting', 'seen to 0', 'joined to 0'])
    await result(2)
    expect(await states()).toEqual(['waiting', 'seen to 0', 'joined to 0', 'joined to 0'])
  })

  test('passes the email on if it was the first, and ends it if it was the last', async () => {
    await put(NOT_SEEN)
    for (const name of [1, 2, 3]) await result(name)
    const [first] = await messaging.deliveries()
    await see(1)
    expect(await states()).toEqual(['seen to 1', 'waiting', 'joined to 1'])
    const heir = (await messaging.deliveries())[1]
    expect(heir).toMatchObject({ dueAt: first?.dueAt, plannedAt: first?.plannedAt, reason: null, record: null })
    await see(3)
    await see(2)
    expect(await states()).toEqual(['seen to 1', 'seen', 'seen to 1'])
    server.clock.tick(HOUR)
    expect(await messaging.decide()).toEqual([])
  })

  test('opens all results on the same page', async () => {
    await put(NOT_SEEN)
    for (const resultId of [1, 2, 3])
      await messaging.event({ properties: { resultId, url: resultId === 3 ? url(3) : url(1) } })
    await see(1)
    expect(await states()).toEqual(['seen to 2', 'seen to 0', 'waiting'])
  })

  test('does not count before the event or for a message without the rule', async () => {
    await put(NOT_SEEN)
    await result(1)
    server.clock.tick(10 * MINUTE)
    await result(2)
    await messaging.browse('tab', page('/results/2', 5 * MINUTE))
    expect(await states()).toEqual(['waiting', 'joined to 0'])
    await messaging.put(messageOf({ name: 'Other', again: AGAIN, wait: { minutes: 60 } }))
    for (const name of [3, 4]) await result(name)
    await see(4)
    expect((await states()).filter((state) => state.startsWith('seen'))).toEqual(['seen to 0'])
  })

  test('is found when the email is due, if the page was open already', async () => {
    await put(NOT_SEEN)
    await messaging.event({ event: 'known' })
    await messaging.browse('tab', page('/results/1'))
    server.clock.tick(1)
    for (const name of [1, 2, 3]) await result(name)
    server.clock.tick(MINUTE)
    // proof that they were there when result 1 came
    await messaging.browse('tab', page('/elsewhere'))
    server.clock.tick(HOUR)
    expect(verdictsOf(await messaging.decide())).toEqual(['seen'])
    expect(await states()).toEqual(['seen to 1', 'waiting', 'joined to 1'])
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
  })

  test.each([
    [2, 'outdated', ['waiting', 'seen to 0', 'joined to 0']],
    [1, 'lost', ['seen to 1', 'waiting', 'joined to 1']],
  ])(
    'while the email is rendered (result %d): it is not handed over, but decided again',
    async (opened, because, after) => {
      await put(NOT_SEEN)
      for (const name of [1, 2, 3]) await result(name)
      server.clock.tick(HOUR)
      const [store, now] = [messaging.store(), server.clock.now()]
      const work = await messaging.claimOne()
      const decided = await store.decideDelivery(work, now)
      await see(opened)
      const claim = { id: work.delivery.id, claimedBy: 'test', attempt: 1, at: server.clock.now() }
      const handing = { ...claim, record: JSON.stringify(decided.record), basis: decided.basis }
      expect(await store.markHanded(handing)).toMatchObject({ isMarked: false, because })
      expect(await states()).toEqual(after)
      expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    },
  )

  test('counts in the comparison after the first event left the email', async () => {
    const { id } = await put({ holdback: 1 })
    const opened = async () => {
      const { compared } = await readResults(messaging.store(), id, lastDays(1, server.clock.now()))
      return compared.opened.emailed
    }
    for (const name of [1, 2, 3]) await result(name)
    server.clock.tick(HOUR)
    const [store, now] = [messaging.store(), server.clock.now()]
    const { delivery } = await messaging.claimOne()
    const claim = { id: delivery.id, claimedBy: 'test', attempt: 1, at: now }
    await store.markSkipped({ ...claim, reason: 'missing_value', record: null, isOfEvent: true })
    expect(await states()).toEqual(['missing_value to 1', 'waiting', 'joined to 1'])
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    expect(await opened()).toEqual({ people: 1, reached: 0 })
    await see(3)
    expect(await opened()).toEqual({ people: 1, reached: 1 })
  })

  test('is checked for each event, and recorded', async () => {
    await put({
      onlyIf: [
        { rule: 'notSeen', ifUnknown: 'skip' },
        { rule: 'tag', lacks: 'beta' },
      ],
    })
    await messaging.event({ event: 'known' })
    await messaging.browse('tab', page('/home'))
    for (const name of [1, 2]) await result(name)
    await messaging.event({ properties: { resultId: 3 } })
    server.clock.tick(HOUR)
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    const [lead, , without] = await messaging.deliveries()
    const asked = recordOf(lead as DeliveryRow).verdicts.filter(({ rule }) => rule === 'notSeen' || rule === 'tag')
    expect(asked.map(({ rule, about }) => `${rule} ${about}`)).toEqual([
      'notSeen /results/1',
      'tag beta',
      'notSeen /results/2',
    ])
    expect(await states()).toEqual(['sent', 'joined to 0', 'no_page to 0'])
    expect(recordOf(without as DeliveryRow).verdicts).toMatchObject([{ rule: 'notSeen', about: null, verdict: 'fail' }])
  })

  test('counts as opened when the person returns to any of the results', async () => {
    await put()
    for (const name of [1, 2]) await result(name)
    server.clock.tick(HOUR)
    await messaging.decide()
    server.clock.tick(MINUTE)
    await messaging.browse('tab', page('/results/2'))
    const [lead, joined] = await messaging.deliveries()
    expect([lead?.openedAt, lead?.cameBackAt, joined?.openedAt]).toEqual([server.clock.now(), server.clock.now(), null])
  })
})

describe('the end of the email', () => {
  const two = async (changes: Partial<MessageContent> = {}) => {
    const { id } = await put(changes)
    for (const name of [1, 2]) await result(name)
    return id
  }
  const resend = async (index: number) => {
    const id = (await messaging.deliveries())[index]?.id ?? 0
    return messaging.store().resendDelivery({ appId: messaging.app.id, id, at: server.clock.now() })
  }

  test('ends all its events and frees their keys', async () => {
    await two({ onlyIf: [{ rule: 'tag', has: 'beta' }] })
    server.clock.tick(HOUR)
    expect(verdictsOf(await messaging.decide())).toEqual(['tag'])
    expect(await states()).toEqual(['tag', 'tag to 0'])
    await result(2)
    expect(await states()).toEqual(['tag', 'tag to 0', 'waiting'])
  })

  test('comes by unsubscribing or pausing the message', async () => {
    const id = await two()
    await messaging.store().suppress({ appId: messaging.app.id, email: ADA, reason: 'unsubscribed', at: 1 })
    expect(await states()).toEqual(['unsubscribed', 'unsubscribed to 0'])
    for (const name of [1, 2]) await result(name, { email: 'eve@example.com' })
    await messaging.store().setMessageStatus({ ...messaging.by, id, status: 'paused' })
    server.clock.tick(HOUR)
    await messaging.decide()
    expect((await states()).slice(2)).toEqual(['message_paused', 'message_paused to 2'])
  })

  test('a member resends all events that no other email has taken', async () => {
    await two({ onlyIf: [{ rule: 'tag', has: 'beta' }] })
    await result(3)
    server.clock.tick(HOUR)
    await messaging.decide()
    await result(2)
    expect(await resend(0)).toEqual({ done: true })
    expect(await states()).toEqual(['waiting', 'tag to 0', 'joined to 0', 'waiting'])
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
  })

  test('a member resends one event alone', async () => {
    await two({ onlyIf: [{ rule: 'tag', has: 'beta' }] })
    server.clock.tick(HOUR)
    await messaging.decide()
    expect(await resend(1)).toEqual({ done: true })
    expect(await states()).toEqual(['tag', 'waiting'])
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    expect(await resend(0)).toEqual({ done: true })
    expect(verdictsOf(await messaging.decide())).toEqual(['send'])
    expect(await states()).toEqual(['sent', 'sent'])
  })

  test('once per person: resending one event uses up the message', async () => {
    await two({ again: { once: 'person', collect: { minutes: 30 } }, onlyIf: [{ rule: 'tag', has: 'beta' }] })
    server.clock.tick(HOUR)
    await messaging.decide()
    expect(await resend(1)).toEqual({ done: true })
    await messaging.decide()
    await result(3)
    expect(await resend(0)).toEqual({ refusal: 'message_on_its_way' })
    expect(await states()).toEqual(['tag', 'sent'])
  })

  test('an event in an email cannot be resent separately', async () => {
    await two()
    expect(await resend(1)).toEqual({ refusal: 'delivery_in_use' })
  })

  test('erasing the person leaves nothing of it', async () => {
    await two()
    await messaging.store().eraseContact({ ...messaging.by, email: ADA })
    expect(await messaging.deliveries()).toEqual([])
  })
})
