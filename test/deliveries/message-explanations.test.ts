import { beforeEach, describe, expect, test } from 'bun:test'
import { sendTestEvent } from '../../src/events/activation.ts'
import { explainEvents, explainMessageFor } from '../../src/deliveries/message-explanations.ts'
import type { MessageContent, MessageStatus } from '../../src/store/message-types.ts'
import { dayOf } from '../durations.ts'
import { DAY, HOUR, type TestServer, useSharedServer } from '../helper.ts'
import { ADA, createMessaging, messageOf, MINUTE, type Messaging, page } from '../messaging.ts'

const openServer = useSharedServer()
let server: TestServer
let now: number
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  now = server.clock.now()
  await server.setPlan({ snippetLimits: false })
  messaging = await createMessaging(server)
})

const when = (): string => `${dayOf(now)}, 12:00 UTC`
const iso = (at: number): string => new Date(at).toISOString()

/** Live first, so that later events could start it. */
async function putMessage(changes: Partial<MessageContent & { name: string; status: string }> = {}) {
  const { id } = await messaging.put(messageOf(changes))
  server.clock.wallMs += MINUTE
  return id
}

async function explain(id: number) {
  const person = await messaging.store().findContact(messaging.app.id, ADA)
  const message = await messaging.store().findMessage(messaging.app.id, id)
  if (!person || !message) throw new Error('no person or message')
  return explainMessageFor({ store: messaging.store(), clock: server.clock }, person, message)
}
/** Why the newest `results_ready` started no email, as the person's page says it. */
async function explainLast(): Promise<string[]> {
  const person = await messaging.store().findContact(messaging.app.id, ADA)
  if (!person) throw new Error('no person')
  const query = { appId: messaging.app.id, contactId: person.id, name: 'results_ready', before: null, limit: 1 }
  const { rows } = await messaging.store().listEvents(query)
  const outcomes = [...(await explainEvents(messaging.store(), person, rows)).values()].flat()
  return outcomes.flatMap((one) => (one.delivery === null ? one.why : []))
}

async function setStatus(id: number, status: MessageStatus): Promise<void> {
  server.clock.wallMs += MINUTE
  await messaging.store().setMessageStatus({ ...messaging.by, at: server.clock.now(), id, status })
  server.clock.wallMs += MINUTE
}

const say = async (id: number): Promise<string> => (await explain(id)).why
const addAda = () => messaging.event({ event: 'other' })

describe('no delivery was queued', () => {
  test('because the event did not arrive', async () => {
    const id = await putMessage()
    await addAda()
    expect(await explain(id)).toMatchObject({
      why: `results_ready has not arrived for ${ADA} yet.`,
      delivery: null,
      decidedAt: null,
      rules: [],
    })
  })

  test('because the event is a different one', async () => {
    const where = [{ property: 'plan', is: 'equal' as const, to: 'pro' }]
    const id = await putMessage({ trigger: { event: 'results_ready', where } })
    await messaging.event({ properties: { plan: 'free' } })
    const at = `${dayOf(now)}, 12:01 UTC`
    expect(await say(id)).toBe(
      `results_ready arrived for ${ADA} on ${at}, but its plan was free. This message requires pro.`,
    )
    await messaging.event({ properties: {} })
    expect(await say(id)).toContain('its plan was missing')
    await messaging.event({ properties: { plan: ['pro'] } })
    expect(await say(id)).toContain('its plan was "["pro"]"')
  })

  test('because the message had another trigger then', async () => {
    const id = await putMessage({ trigger: { event: 'other' } })
    await messaging.event()
    server.clock.wallMs += MINUTE
    await messaging.put(messageOf(), id)
    expect(await say(id)).toBe(
      `results_ready arrived for ${ADA} on ${dayOf(now)}, 12:01 UTC. The message had a different trigger at the time. It was changed on ${dayOf(now)}, 12:02 UTC.`,
    )
  })

  test('because the message is a draft, paused, or was not live then', async () => {
    await messaging.event()
    const id = await putMessage({ status: 'draft' })
    expect(await say(id)).toBe('The message is a draft, so nobody gets it.')
    await messaging.put({ ...messageOf(), status: 'live' }, id)
    const came = `results_ready arrived for ${ADA} on ${when()}.`
    expect(await say(id)).toBe(`${came} The message went live later, on ${dayOf(now)}, 12:01 UTC.`)
    await messaging.set({ timezone: 'Asia/Tokyo' })
    expect(await say(id)).toBe(
      `results_ready arrived for ${ADA} on ${dayOf(now)}, 21:00 Asia/Tokyo. The message went live later, on ${dayOf(now)}, 21:01 Asia/Tokyo.`,
    )
    await messaging.set({ timezone: null })
    await messaging.put({ ...messageOf(), status: 'paused' }, id)
    expect(await say(id)).toBe(
      `${came} The message went live later, on ${dayOf(now)}, 12:01 UTC. The message is paused now.`,
    )
  })

  test('because the event arrived too late', async () => {
    const id = await putMessage()
    await messaging.event({ occurredAt: iso(now - 73 * HOUR) })
    expect(await say(id)).toBe(
      `results_ready happened for ${ADA} on ${dayOf(now - 3 * DAY)}, 11:00 UTC, but was received on ${dayOf(now)}, 12:01 UTC. Events more than 72 hours old trigger no email.`,
    )
  })

  test('because the page was not opened', async () => {
    const id = await putMessage({ trigger: { page: '/pricing' } })
    await addAda()
    await messaging.browse('a', page('/home'))
    expect(await say(id)).toBe(`${ADA} has not opened /pricing.`)
  })

  test('because the tag is absent or was there before', async () => {
    const body = { app: server.first.appId, email: ADA, tags: ['old'] }
    expect((await server.call('POST', '/api/v1/contacts', { body })).status).toBe(201)
    const old = await putMessage({ name: 'Old', trigger: { tag: 'old' } })
    const id = await putMessage({ name: 'New', trigger: { tag: 'new' } })
    expect(await say(old)).toBe(`${ADA} has the tag old, but did not get it while this message was live.`)
    expect(await say(id)).toBe(`${ADA} does not have the tag new.`)
  })

  test('because the person existed before', async () => {
    await addAda()
    server.clock.wallMs += DAY
    const id = await putMessage({ trigger: { contact: 'created' } })
    expect(await say(id)).toBe(
      `${ADA} was added on ${when()}. The message went live later, on ${dayOf(now + DAY)}, 12:00 UTC.`,
    )
  })

  test('because Activation added the member with a test event, which starts nothing', async () => {
    const id = await putMessage({ trigger: { contact: 'created' } })
    const { store, clock } = server.parts()
    const test = () => sendTestEvent({ store, clock }, messaging.app, { email: ADA })
    expect([await test(), await test()]).toMatchObject([{ created: true }, { created: false }])
    expect(await messaging.deliveries()).toEqual([])
    expect(await say(id)).toBe(`${ADA} was added on ${dayOf(now)}, 12:01 UTC by a test event, which triggers no email.`)
    await messaging.event({ email: 'bob@example.com', event: 'other' })
    expect(await messaging.deliveries()).toHaveLength(1)
  })
})

describe('a delivery was queued', () => {
  test('and explains itself by its record', async () => {
    const id = await putMessage({ onlyIf: [{ rule: 'tag', has: 'beta' }] })
    await messaging.event()
    await messaging.decide()
    const { why, rules, delivery } = await explain(id)
    expect(why).toBe(`${ADA} did not have the tag beta, but this message goes only to people with it.`)
    expect(rules.map(({ rule, verdict }) => `${rule} ${verdict}`)).toEqual([
      'suppression pass',
      'message pass',
      'tag fail',
    ])
    expect(delivery?.state).toBe('skipped')
  })

  test.each<[MessageContent['again'], string]>([
    [undefined, 'once per person'],
    [{ once: 'property', property: 'url' }, 'once per url'],
    [{ everyHours: 24 }, 'at most once every 24 hours'],
  ])('and a repeated event was blocked by "once" (%j)', async (again, how) => {
    const id = await putMessage({ again })
    await messaging.event()
    expect((await messaging.decide()).map(({ verdict }) => verdict)).toEqual(['send'])
    expect(await say(id)).toBe(`It was sent on ${dayOf(now)}, 12:01 UTC.`)
    server.clock.wallMs += HOUR
    await messaging.event()
    expect(await say(id)).toBe(
      `It was sent on ${dayOf(now)}, 12:01 UTC. Another results_ready, received on ${dayOf(now)}, 13:01 UTC, did not trigger a second email: this message is sent ${how}.`,
    )
  })

  test('and an event during its wait is explained, also after sending', async () => {
    const id = await putMessage({ again: { everyHours: 1 }, wait: { minutes: 300 } })
    await messaging.event()
    server.clock.wallMs += HOUR
    await messaging.event()
    server.clock.wallMs += 4 * HOUR
    await messaging.decide()
    expect(await say(id)).toEndWith('did not trigger a second email: this message is sent at most once every hour.')
  })
})

describe('what happened is explained by the status and content of that time', () => {
  const PAUSED = 'The message is paused, so events trigger no email. Once it is live, send the event again.'

  test('an event during a pause, after the message is live again', async () => {
    const id = await putMessage()
    await setStatus(id, 'paused')
    await messaging.event()
    expect(await explainLast()).toEqual([PAUSED])
    await setStatus(id, 'live')
    const why = `The message was paused at the time. It went live again on ${dayOf(now)}, 12:04 UTC.`
    expect(await explainLast()).toEqual([why])
    expect(await say(id)).toBe(`results_ready arrived for ${ADA} on ${dayOf(now)}, 12:03 UTC. ${why}`)
    await setStatus(id, 'paused')
    expect(await explainLast()).toEqual([why])
  })

  test('an event during a pause, after an email', async () => {
    const id = await putMessage()
    await messaging.event()
    await messaging.decide()
    await setStatus(id, 'paused')
    await messaging.event()
    await setStatus(id, 'live')
    expect(await say(id)).toBe(
      `It was sent on ${dayOf(now)}, 12:01 UTC. Another results_ready, received on ${dayOf(now)}, 12:03 UTC, did not trigger a second email: the message was paused.`,
    )
  })

  test('an event while the message was a draft for a while', async () => {
    const id = await putMessage()
    await setStatus(id, 'draft')
    await messaging.event()
    expect(await explainLast()).toEqual([])
    await setStatus(id, 'live')
    expect(await explainLast()).toEqual([`The message went live later, on ${dayOf(now)}, 12:04 UTC.`])
  })

  test('an event that "once" refused, after the message got another frequency', async () => {
    const id = await putMessage()
    await messaging.event()
    await messaging.decide()
    server.clock.wallMs += MINUTE
    await messaging.event()
    const why = `This message is sent once per person. An email was sent on ${dayOf(now)}, 12:01 UTC.`
    expect(await explainLast()).toEqual([why])
    server.clock.wallMs += MINUTE
    await messaging.put(messageOf({ again: { everyHours: 2 } }), id)
    expect(await explainLast()).toEqual([why])
    expect(await say(id)).toEndWith('did not trigger a second email: this message is sent once per person.')
    await setStatus(id, 'draft')
    expect(await explainLast()).toEqual([why])
  })

  test('an event that the trigger of that time took or did not take', async () => {
    const other = { event: 'results_ready', where: [{ property: 'plan', is: 'present' as const }] }
    const id = await putMessage({ trigger: other })
    await messaging.event()
    expect(await explainLast()).toEqual([])
    server.clock.wallMs += MINUTE
    await messaging.put(messageOf(), id)
    server.clock.wallMs += MINUTE
    await messaging.put(messageOf({ wait: { minutes: 5 } }), id)
    expect(await explainLast()).toEqual([
      `The message had a different trigger at the time. It was changed on ${dayOf(now)}, 12:02 UTC.`,
    ])
    server.clock.wallMs += MINUTE
    await messaging.event()
    await messaging.event()
    server.clock.wallMs += MINUTE
    await messaging.put(messageOf({ trigger: other }), id)
    expect(await explainLast()).toEqual(['This message is sent once per person. An email was already waiting.'])
  })

  test('an email that waited then, and one that may have arrived', async () => {
    await putMessage({ wait: { minutes: 10 } })
    await messaging.event()
    await messaging.event()
    const start = 'This message is sent once per person. An email was already waiting.'
    expect(await explainLast()).toEqual([start])
    server.clock.wallMs += 10 * MINUTE
    const work = await messaging.claimOne()
    const decided = await messaging.store().decideDelivery(work, server.clock.now())
    if (decided.outcome !== 'send') throw new Error('not sent')
    const claim = { id: work.delivery.id, claimedBy: 'test', attempt: work.delivery.attempt, at: server.clock.now() }
    await messaging.store().markHanded({ ...claim, record: JSON.stringify(decided.record), basis: decided.basis })
    await messaging.store().markUnknown({ ...claim, reason: 'etimedout' })
    const doubt = `It was handed to the mail server on ${dayOf(now)}, 12:11 UTC, but the server did not confirm it.`
    expect(await explainLast()).toEqual([`${start} ${doubt}`])
    server.clock.wallMs += MINUTE
    await messaging.event()
    expect(await explainLast()).toEqual([
      `This message is sent once per person. An email may have arrived: it was handed to the mail server on ${dayOf(now)}, 12:11 UTC, but the server did not confirm it.`,
    ])
    server.clock.wallMs += MINUTE
    await messaging.store().resendDelivery({ ...messaging.by, id: work.delivery.id, at: server.clock.now() })
    await messaging.decide()
    expect(await explainLast()).toEqual([
      `This message is sent once per person. An email may have arrived: it was handed to the mail server on ${dayOf(now)}, 12:11 UTC, but the server did not confirm it. It was sent on ${dayOf(now)}, 12:13 UTC.`,
    ])
  })
})
