import { beforeEach, describe, expect, test } from 'bun:test'
import { findSample, listSamples } from '../../src/deliveries/person-samples.ts'
import type { Again, MessageContent, Trigger } from '../../src/store/message-types.ts'
import { report, send as sendReport } from '../api/reports.ts'
import { CONTACTS, HOUR, type TestServer, useSharedServer } from '../helper.ts'
import { ADA, createMessaging, messageOf, MINUTE, type Messaging, page, RESULT } from '../messaging.ts'

const openServer = useSharedServer()
let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  messaging = await createMessaging(server)
})

const MAIL = { subject: '{{ event.headline }}', body: 'Hello {{ event.plan }}' }

async function put(changes: Partial<MessageContent & { name: string }> = {}) {
  const { id } = await messaging.put({ ...messageOf({ mail: MAIL, ...changes }), status: 'draft' })
  const message = await messaging.store().findMessage(messaging.app.id, id)
  if (!message) throw new Error('no message')
  return message
}

async function preview(changes: Partial<MessageContent & { name: string }> = {}, email: string | null = null) {
  const message = await put(changes)
  const found = await findSample(server.parts(), { app: messaging.app, message, email })
  if ('refusal' in found) return { refusal: found.refusal }
  const { sample, isMadeUp, unsent } = found
  const mail = await server.parts().mailer.preview(sample)
  const shown = { isMadeUp, to: sample.contact.email, mail: 'html' in mail ? mail.subject : mail }
  return { ...shown, ...(unsent === null ? {} : { unsent }) }
}

test('a made-up person has a value for everything in the email', async () => {
  expect(await preview()).toEqual({ isMadeUp: true, to: ADA, mail: 'Your 12 pictures are ready' })
})
test('uses the last event that would trigger it, and no other', async () => {
  await messaging.event({ email: 'pro@example.com', properties: { ...RESULT, plan: 'pro', headline: 'Pro' } })
  await messaging.event({ email: 'free@example.com', properties: { ...RESULT, plan: 'free', headline: 'Free' } })
  const where = [{ property: 'plan', is: 'equal' as const, to: 'pro' }]
  expect(await preview({ trigger: { event: 'results_ready', where } })).toMatchObject({
    to: 'pro@example.com',
    mail: 'Pro',
  })
})
test('one person: their last email or none', async () => {
  const again = { once: 'property' as const, property: 'headline' }
  await messaging.event({ properties: { ...RESULT, plan: 'pro', headline: 'First' } })
  await messaging.event({ properties: { ...RESULT, plan: 'pro', headline: 'Second' } })
  await messaging.event({ email: 'bob@example.com', event: 'other' })
  expect(await preview({ again }, ADA)).toEqual({ isMadeUp: false, to: ADA, mail: 'Second' })
  expect(await preview({ name: 'Another' }, 'bob@example.com')).toEqual({
    isMadeUp: false,
    to: 'bob@example.com',
    mail: { missing: 'event.headline' },
    unsent: 'No results_ready event from bob@example.com triggers this message.',
  })
})

describe('only emails that somebody gets', () => {
  const mail = { subject: '{{ event.headline }}', body: 'Hello' }
  const shown = async (again: Again | undefined, email: string | null = ADA) =>
    preview({ name: crypto.randomUUID(), mail, again, wait: { minutes: 10 } }, email)
  const send = (headline: string, changes: Record<string, unknown> = {}) =>
    messaging.event({ properties: { headline }, ...changes })

  test.each<[Again | undefined, string]>([
    [undefined, 'First'],
    [{ once: 'person' }, 'First'],
    [{ once: 'property', property: 'resultId' }, 'First'],
    [{ once: 'property', property: 'headline' }, 'Third'],
    [{ everyHours: 1 }, 'First'],
    [{ everyHours: 48 }, 'First'],
  ])('as live sending does: %j', async (again, headline) => {
    await messaging.put(messageOf({ name: 'Live', again, wait: { minutes: 10 } }))
    for (const one of ['First', 'Second', 'Third']) {
      await send(one)
      server.clock.tick(MINUTE)
    }
    expect(await shown(again)).toMatchObject({ mail: headline })
    const last = (await messaging.deliveries()).at(-1)
    const event = await messaging.store().findEvent(messaging.app.id, last?.eventId ?? 0)
    expect(JSON.parse(event?.properties ?? '{}').headline).toBe(headline)
  })

  test('the next one, after so many hours', async () => {
    await send('First')
    server.clock.tick(HOUR)
    await send('Second')
    server.clock.tick(23 * HOUR + 11 * MINUTE)
    await send('Third')
    expect(await shown({ everyHours: 24 })).toMatchObject({ mail: 'Third' })
    expect(await shown({ everyHours: 48 })).toMatchObject({ mail: 'First' })
  })

  test('none for an event that came too late', async () => {
    await send('New')
    const occurredAt = new Date(server.clock.now() - 80 * HOUR).toISOString()
    await send('Too old', { email: 'bob@example.com', occurredAt })
    expect(await shown(undefined, null)).toMatchObject({ to: ADA, mail: 'New' })
    const unsent = 'No results_ready event from bob@example.com triggers this message.'
    expect(await shown(undefined, 'bob@example.com')).toMatchObject({ unsent })
  })

  test('says why a person gets none', async () => {
    await send('New')
    const { store, app } = messaging
    await store().suppress({ appId: app.id, email: ADA, reason: 'bounced', at: server.clock.now() })
    const unsent = 'An earlier email to ada@example.com bounced.'
    expect(await shown(undefined)).toMatchObject({ mail: 'New', unsent })
    expect(await shown(undefined, null)).toMatchObject({ mail: 'New', unsent })
  })
})
test('an unknown person gives no sample', async () => {
  expect(await preview({}, 'nobody@example.com')).toEqual({ refusal: 'contact_not_found' })
})

describe('the last email of a person that lists several events', () => {
  const mail = { subject: '{{ event.n }}:{% for one in events %} {{ one.n }}{% endfor %}', body: 'Hello' }
  const shown = async (again: Again) => {
    const [name, wait] = [crypto.randomUUID(), { minutes: 60 }]
    const found = await preview({ name, mail, again, wait }, ADA)
    return 'mail' in found ? found.mail : found
  }
  const send = async (...numbers: number[]) => {
    for (const n of numbers) await messaging.event({ properties: { n } })
  }
  const collect = { minutes: 30 }
  const EACH = { once: 'property' as const, property: 'n', collect }
  const PERSON = { once: 'person' as const, collect }
  const numbers = (first: number, last: number): number[] =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index)

  test('lists what came within so many minutes of its first event', async () => {
    for (const n of [1, 2, 3]) {
      await send(n)
      server.clock.tick(20 * MINUTE)
    }
    expect(await shown(EACH)).toBe('3: 3')
    await send(4)
    expect(await shown(EACH)).toBe('3: 3 4')
  })
  test('lists 50 events at most; the others go into the next', async () => {
    await send(...numbers(1, 60))
    expect(await shown(EACH)).toBe(`51: ${numbers(51, 60).join(' ')}`)
    expect(await shown(PERSON)).toBe(`1: ${numbers(1, 50).join(' ')}`)
  })
  test('lists nothing that came after it had left, or that an email had', async () => {
    await send(1, 2)
    server.clock.tick(61 * MINUTE)
    await send(2, 3, 1)
    expect(await shown(PERSON)).toBe('1: 1 2')
    expect(await shown(EACH)).toBe('3: 3')
  })
  test('is cancelled by an event that a rule names', async () => {
    await send(1)
    server.clock.tick(MINUTE)
    await send(2)
    const onlyIf = [{ rule: 'notDone' as const, event: 'results_ready' }]
    expect(await preview({ mail, again: EACH, onlyIf, wait: { minutes: 60 } }, ADA)).toMatchObject({ mail: '2: 2' })
  })
  test('is what somebody gets', async () => {
    await messaging.put(messageOf({ name: 'Live', again: EACH, wait: { minutes: 60 } }))
    await send(...numbers(1, 60))
    server.clock.tick(20 * MINUTE)
    await send(61, 1)
    server.clock.tick(20 * MINUTE)
    await send(62, 61, 63)
    const deliveries = await messaging.deliveries()
    const last = deliveries.findLast(({ state }) => state === 'waiting')
    const own = deliveries.filter(({ id, joinedTo }) => id === last?.id || joinedTo === last?.id)
    const events = await Promise.all(
      own.map(({ eventId }) => messaging.store().findEvent(messaging.app.id, eventId ?? 0)),
    )
    const listed = events.map((event) => JSON.parse(event?.properties ?? '{}').n)
    expect(listed).toEqual([62, 63])
    expect(await shown(EACH)).toBe('62: 62 63')
  })
})

describe('the latest people', () => {
  const PLAIN = { subject: 'Ready', body: 'Hello' }
  const samples = async (trigger: Trigger, again?: Again) =>
    (await listSamples(messaging.store(), messaging.app, { trigger, again, mail: PLAIN })).map(({ contact, event }) => [
      contact.email,
      event?.properties ?? null,
    ])

  test('of an event: the last email of each person whose properties fit', async () => {
    await messaging.event({ email: 'ada@example.com', properties: { n: 1 } })
    await messaging.event({ email: 'bob@example.com', properties: { n: 1, plan: 'pro' } })
    await messaging.event({ email: 'ada@example.com', properties: { n: 2, plan: 'pro' } })
    await messaging.event({ email: 'eve@example.com', event: 'another', properties: {} })
    expect(await samples({ event: 'results_ready' }, { once: 'property', property: 'n' })).toEqual([
      ['ada@example.com', '{"n":2,"plan":"pro"}'],
      ['bob@example.com', '{"n":1,"plan":"pro"}'],
    ])
    const where = [{ property: 'n', is: 'equal' as const, to: 1 }]
    expect((await samples({ event: 'results_ready', where })).map(([email]) => email)).toEqual([
      'bob@example.com',
      'ada@example.com',
    ])
    expect(await samples({ event: 'nothing' })).toEqual([])
  })

  test('of a page, a new person and a tag: people', async () => {
    for (const [email, tags] of [
      ['ada@example.com', ['beta']],
      ['bob@example.com', []],
    ]) {
      await server.call('POST', CONTACTS, { body: { app: server.first.appId, email, tags } })
    }
    await sendReport(server, report(server.first, { email: 'ada@example.com', events: [page('/pricing')] }))
    expect(await samples({ page: '/pricing' })).toEqual([['ada@example.com', null]])
    expect(await samples({ page: '/price*' })).toEqual([])
    expect(await samples({ contact: 'created' })).toEqual([
      ['bob@example.com', null],
      ['ada@example.com', null],
    ])
    expect(await samples({ tag: 'beta' })).toEqual([['ada@example.com', null]])
  })

  test('nothing of another app', async () => {
    await messaging.event()
    const [other] = await messaging.store().listApps(server.second.accountId)
    if (!other) throw new Error('no other app')
    for (const trigger of [{ event: 'results_ready' }, { contact: 'created' as const }]) {
      expect(await listSamples(messaging.store(), other, { trigger, mail: PLAIN })).toEqual([])
    }
  })
})
