import { beforeEach, describe, expect, test } from 'bun:test'
import { listUnstarted } from '../../src/deliveries/message-explanations.ts'
import { tryContact, tryEvent } from '../../src/deliveries/dry-runs.ts'
import { listQueued, listQueuedByContact, type QueuedMessage } from '../../src/deliveries/queued-messages.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import type { ContactWrite } from '../../src/store/types.ts'
import { contactWrite, eventWrite } from '../store/samples.ts'
import { dayOf } from '../durations.ts'
import { HOUR, type TestServer, useSharedServer } from '../helper.ts'
import { ADA, createMessaging, messageOf, MINUTE, type Messaging } from '../messaging.ts'

const openServer = useSharedServer()
let server: TestServer
let now: number
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  now = server.clock.now()
  messaging = await createMessaging(server)
})

type Event = { event: string; properties: string | null; occurredAt: number | null }
const READY: Event = { event: 'results_ready', properties: '{"plan":"pro","id":1}', occurredAt: null }

/** `unstarted`: messages that start nothing, and why; compared with the real write. */
type Compared = { tried: QueuedMessage[]; sent: QueuedMessage[]; unstarted: string[] }

async function tryAndSend(changes: Partial<Event> = {}): Promise<Compared> {
  const { store, app } = messaging
  const { event: name, ...input } = { ...READY, ...changes }
  const { id: appId, accountId } = app
  const write = eventWrite({ ...input, name, accountId, appId, email: ADA, at: server.clock.now() })
  const tried = await tryEvent(store(), app, write)
  if ('refusal' in tried) throw new Error(tried.refusal)
  const recorded = await store().recordEvent(write)
  if ('refusal' in recorded) throw new Error(recorded.refusal)
  const { contactId, eventId } = recorded
  const [person, event] = [await store().byId(contactId), await store().findEvent(app.id, eventId)]
  if (!person || !event) throw new Error('nothing was recorded')
  expect(tried.unstarted).toEqual(await listUnstarted(store(), person, event))
  const unstarted = tried.unstarted.map(({ message, why }) => `${message.name}: ${why}`)
  return { tried: tried.queued, sent: await listQueued(store(), app, recorded), unstarted }
}

/** After comparing the dry run with the real write. */
const queued = async (changes: Partial<Event> = {}) => compare(await tryAndSend(changes))

function compare({ tried, sent }: Pick<Compared, 'tried' | 'sent'>): [string, number][] {
  const namesAndTimes = (found: QueuedMessage[]): [string, number][] =>
    found.map(({ message, dueAt }): [string, number] => [message.name, dueAt - now]).sort()
  expect(namesAndTimes(tried)).toEqual(namesAndTimes(sent))
  const stateOf = ({ message, state }: QueuedMessage): string => `${message.name} ${state}`
  expect(tried.map(stateOf)).toEqual(sent.map(stateOf))
  expect(tried.every(({ deliveryId }) => deliveryId === null)).toBe(true)
  expect(sent.every(({ deliveryId, message }) => (deliveryId === null) === (message.name === 'Scheduled'))).toBe(true)
  return namesAndTimes(tried)
}

/** Of a new or known person, after comparing the dry run with the real write. */
async function queuedByContact(changes: Partial<ContactWrite>): Promise<[string, number][]> {
  const { store, app } = messaging
  const [before, at] = [await store().findContact(app.id, ADA), server.clock.now()]
  const input = contactWrite({ ...changes, accountId: app.accountId, appId: app.id, email: ADA, at })
  const tried = await tryContact(store(), app, { write: before ? 'contactUpdates' : 'contactAdds', input })
  const saved = await store()[before ? 'updateContact' : 'addContact'](input)
  if ('refusal' in tried || 'refusal' in saved) throw new Error('refused')
  const sent = await listQueuedByContact(store(), app, { saved, tagsBefore: before?.tags ?? [], fields: input.fields })
  return compare({ tried: tried.queued, sent })
}

const put = (changes: Partial<MessageContent & { name: string; status: string }> = {}) =>
  messaging.put(messageOf(changes))

describe('an event queues', () => {
  test('live messages for this event, with their due times', async () => {
    await put({ name: 'At once' })
    await put({ name: 'Later', wait: { minutes: 10 } })
    await put({ name: 'Other', trigger: { event: 'other' } })
    await put({ name: 'Paused', status: 'paused' })
    expect(await queued()).toEqual([
      ['At once', 0],
      ['Later', 10 * MINUTE],
    ])
  })
  test('at a time of day, in the timezone of the app', async () => {
    await put({ name: 'Morning', wait: { until: '09:00' } })
    await messaging.set({ timezone: 'Asia/Tokyo' })
    expect(await queued()).toEqual([['Morning', 12 * HOUR]])
  })
  test('at a time of day, in the timezone of the person', async () => {
    await messaging.set({ timezone: 'Asia/Tokyo' })
    await put({ name: 'Welcome', trigger: { contact: 'created' }, wait: { until: '09:00' } })
    expect(await queuedByContact({ fields: { timezone: 'America/New_York' } })).toEqual([['Welcome', HOUR]])
    await put({ name: 'Morning', wait: { until: '09:00' } })
    expect(await queued()).toEqual([['Morning', HOUR]])
    await queuedByContact({ fields: { timezone: 'Nowhere/None' } })
    await put({ name: 'Next', wait: { until: '09:00' } })
    expect(await queued()).toEqual([['Next', 12 * HOUR]])
  })
  test('messages whose property conditions match', async () => {
    const where = (to: string) => [{ property: 'plan', is: 'equal' as const, to }]
    await put({ name: 'Pro', trigger: { event: 'results_ready', where: where('pro') } })
    await put({ name: 'Free', trigger: { event: 'results_ready', where: where('free') } })
    expect(await queued()).toEqual([['Pro', 0]])
    expect(await queued({ properties: null })).toEqual([])
  })
  test('for a new person, also messages for new people', async () => {
    await put({ name: 'Welcome', trigger: { contact: 'created' } })
    expect(await queued({ event: 'other', occurredAt: now - HOUR })).toEqual([['Welcome', 0]])
    expect(await queued({ event: 'other' })).toEqual([])
  })
  test('once, also while it waits, and again after a skip', async () => {
    const { id } = await put({ name: 'Once', onlyIf: [{ rule: 'tag', has: 'beta' }] })
    expect(await queued()).toEqual([['Once', 0]])
    expect(await queued()).toEqual([])
    await messaging.decide()
    expect(await queued()).toEqual([['Once', 0]])
    await messaging.put(messageOf({ name: 'Once' }), id)
    await messaging.decide()
    expect(await queued()).toEqual([['Once', 0]])
    await messaging.decide()
    expect(await queued()).toEqual([])
  })
  test('once for each value of a property', async () => {
    await put({ name: 'Each', again: { once: 'property', property: 'id' } })
    expect(await queued()).toEqual([['Each', 0]])
    expect(await queued()).toEqual([])
    expect(await queued({ properties: '{"id":2}' })).toEqual([['Each', 0]])
  })
  test('at most every N hours', async () => {
    await put({ name: 'Daily', again: { everyHours: 24 } })
    expect(await queued()).toEqual([['Daily', 0]])
    await messaging.decide()
    server.clock.tick(23 * HOUR)
    expect(await queued()).toEqual([])
    server.clock.tick(HOUR)
    expect(await queued()).toEqual([['Daily', 24 * HOUR]])
  })
  test('nothing after 72 hours, and earlier events at once', async () => {
    await put({ name: 'Late', wait: { minutes: 10 } })
    expect(await queued({ occurredAt: now - 72 * HOUR - 1 })).toEqual([])
    expect(await queued({ occurredAt: now - 72 * HOUR })).toEqual([['Late', 0]])
  })
})

describe('events that share an email', () => {
  const again = { once: 'property' as const, property: ['id', 'url'], collect: { minutes: 30 } }
  const result = (id: number) => tryAndSend({ properties: JSON.stringify({ id }) })

  test('join while it waits, within the minutes, for the same version', async () => {
    const { id } = await put({ name: 'Results', again, wait: { minutes: 60 } })
    expect(compare(await result(1))).toEqual([['Results', HOUR]])
    server.clock.tick(30 * MINUTE)
    const second = await result(2)
    expect(second.tried.map(({ state, dueAt }) => [state, dueAt])).toEqual([['joined', now + HOUR]])
    expect(compare(second)).toEqual([['Results', HOUR]])
    server.clock.tick(1)
    expect(compare(await result(3))).toEqual([['Results', 90 * MINUTE + 1]])
    await messaging.put(messageOf({ name: 'Results', again, wait: { minutes: 1 } }), id)
    expect(compare(await result(4))).toEqual([['Results', 31 * MINUTE + 1]])
    const same = await result(2)
    expect([compare(same), same.unstarted]).toEqual([
      [],
      ['Results: This message is sent once per id or url. An email was already waiting.'],
    ])
  })
  test('once per person: all join, also a repeated one', async () => {
    await put({ name: 'Results', again: { once: 'person', collect: { minutes: 30 } }, wait: { minutes: 60 } })
    for (const state of ['waiting', 'joined', 'joined']) {
      const found = await result(1)
      expect(compare(found)).toEqual([['Results', HOUR]])
      expect(found.tried.map((one) => one.state)).toEqual([state as 'waiting'])
    }
  })
})

describe('an event that triggers nothing', () => {
  const unstarted = async (changes: Partial<Event> = {}) => (await tryAndSend(changes)).unstarted

  test('lists the messages it matches, and why', async () => {
    await put({ name: 'Once' })
    await put({ name: 'Each', again: { once: 'property', property: 'id' } })
    await put({ name: 'Daily', again: { everyHours: 24 } })
    await put({ name: 'Other', trigger: { event: 'other' } })
    await put({ name: 'Paused', status: 'paused' })
    const paused = 'Paused: The message is paused, so events trigger no email. Once it is live, send the event again.'
    expect(await unstarted()).toEqual([paused])
    expect(await unstarted()).toEqual([
      'Once: This message is sent once per person. An email was already waiting.',
      'Each: This message is sent once per id. An email was already waiting.',
      'Daily: This message is sent at most once every 24 hours. An email was already waiting.',
      paused,
    ])
    await messaging.decide()
    expect(await unstarted({ properties: '{"id":2}' })).toEqual([
      `Once: This message is sent once per person. An email was sent on ${dayOf(now)}, 12:00 UTC.`,
      `Daily: This message is sent at most once every 24 hours. An email was sent on ${dayOf(now)}, 12:00 UTC.`,
      paused,
    ])
    expect(await unstarted({ occurredAt: now - 72 * HOUR - 1 })).toEqual(
      ['Once', 'Each', 'Daily', 'Paused'].map(
        (name) => `${name}: It was received more than 72 hours after it happened.`,
      ),
    )
    expect(await unstarted({ event: 'nothing' })).toEqual([])
  })
})

describe('a change of a person queues', () => {
  const tagged = (tags: string[], removeTags: string[] = []) => queuedByContact({ tags, removeTags })

  beforeEach(async () => {
    await put({ name: 'Welcome', trigger: { contact: 'created' } })
    await put({ name: 'Beta', trigger: { tag: 'beta' }, wait: { minutes: 10 } })
    await put({ name: 'Pro', trigger: { tag: 'pro' }, again: { everyHours: 24 } })
    await put({ name: 'Paused', trigger: { tag: 'beta' }, status: 'paused' })
    await put({ name: 'Event' })
  })

  test('for a new person, messages for new people and for their tags', async () => {
    expect(await tagged(['beta', 'other'])).toEqual([
      ['Beta', 10 * MINUTE],
      ['Welcome', 0],
    ])
  })
  test('for a known person, messages for new tags', async () => {
    expect(await tagged([])).toEqual([['Welcome', 0]])
    server.clock.tick(MINUTE)
    expect(await tagged(['beta'])).toEqual([['Beta', 11 * MINUTE]])
    expect(await tagged(['beta', 'pro'])).toEqual([['Pro', MINUTE]])
    expect(await tagged(['beta', 'pro'])).toEqual([])
    expect(await tagged([], ['beta'])).toEqual([])
  })
  test('later, for a date that is ahead', async () => {
    await put({ name: 'Scheduled', trigger: { date: 'trialEndsAt', days: 1, when: 'before' } })
    const setDate = (at: number) => queuedByContact({ fields: { trialEndsAt: new Date(at).toISOString() } })
    expect(await setDate(now + 3 * 24 * HOUR)).toEqual([
      ['Scheduled', 48 * HOUR],
      ['Welcome', 0],
    ])
    expect(await setDate(now + HOUR)).toEqual([])
    expect(await tagged(['other'])).toEqual([])
  })
  test('once, and again as often as the message says', async () => {
    await tagged(['beta', 'pro'])
    await messaging.decide()
    for (const hours of [1, 24]) {
      await tagged([], ['beta', 'pro'])
      server.clock.tick(hours * HOUR)
      expect((await tagged(['beta', 'pro'])).map(([name]) => name)).toEqual(hours === 24 ? ['Pro'] : [])
    }
  })
})
