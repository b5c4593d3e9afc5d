import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { explainMessageFor } from '../../src/deliveries/message-explanations.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import { createTestServer, DAY, HOUR, NOW, type TestServer } from '../helper.ts'
import { ADA, createMessaging, messageOf, MINUTE, type Messaging, page } from '../messaging.ts'

let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await createTestServer()
  await server.setPlan({ snippetLimits: false })
  messaging = await createMessaging(server)
})
afterEach(() => server.close())

const WHEN = '15 May 2026, 12:00 UTC'
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
  return explainMessageFor(messaging.store(), person, message)
}
const say = async (id: number): Promise<string> => (await explain(id)).why
const addAda = () => messaging.event({ event: 'other' })

describe('no delivery was queued', () => {
  test('because the event did not arrive', async () => {
    const id = await putMessage()
    await addAda()
    expect(await explain(id)).toMatchObject({
      why: `results_ready has not come for ${ADA}.`,
      delivery: null,
      decidedAt: null,
      rules: [],
    })
  })

  test('because the event is a different one', async () => {
    const where = [{ property: 'plan', is: 'equal' as const, to: 'pro' }]
    const id = await putMessage({ trigger: { event: 'results_ready', where } })
    await messaging.event({ properties: { plan: 'free' } })
    const at = '15 May 2026, 12:01 UTC'
    expect(await say(id)).toBe(
      `results_ready came for ${ADA} on ${at}, but its plan was free, and this message asks for pro.`,
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
      `results_ready came for ${ADA} on 15 May 2026, 12:01 UTC. The message was not live or was different then: it was last changed on 15 May 2026, 12:02 UTC.`,
    )
  })

  test('because the message is a draft, paused, or was not live then', async () => {
    await messaging.event()
    const id = await putMessage({ status: 'draft' })
    expect(await say(id)).toBe('The message is a draft, so nobody gets it.')
    await messaging.put({ ...messageOf(), status: 'live' }, id)
    const came = `results_ready came for ${ADA} on ${WHEN}.`
    expect(await say(id)).toBe(`${came} The message went live later, on 15 May 2026, 12:01 UTC.`)
    await messaging.set({ timezone: 'Asia/Tokyo' })
    expect(await say(id)).toBe(
      `results_ready came for ${ADA} on 15 May 2026, 21:00 Asia/Tokyo. The message went live later, on 15 May 2026, 21:01 Asia/Tokyo.`,
    )
    await messaging.set({ timezone: null })
    await messaging.put({ ...messageOf(), status: 'paused' }, id)
    expect(await say(id)).toBe(`${came} The message is paused.`)
  })

  test('because the event arrived too late', async () => {
    const id = await putMessage()
    await messaging.event({ occurredAt: iso(NOW - 73 * HOUR) })
    expect(await say(id)).toBe(
      `results_ready came for ${ADA} on 12 May 2026, 11:00 UTC, but arrived only on 15 May 2026, 12:01 UTC. Events more than 72 hours old send no email.`,
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
    expect(await say(id)).toBe(`${ADA} was added on ${WHEN}. The message went live later, on 16 May 2026, 12:00 UTC.`)
  })
})

describe('a delivery was queued', () => {
  test('and explains itself by its record', async () => {
    const id = await putMessage({ onlyIf: [{ rule: 'tag', has: 'beta' }] })
    await messaging.event()
    await messaging.decide()
    const { why, rules, delivery } = await explain(id)
    expect(why).toBe(`${ADA} did not have the tag beta, and this message goes only to people with it.`)
    expect(rules.map(({ rule, verdict }) => `${rule} ${verdict}`)).toEqual(['wish pass', 'message pass', 'tag fail'])
    expect(delivery?.state).toBe('skipped')
  })

  test.each<[MessageContent['again'], string]>([
    [undefined, 'once to a person'],
    [{ once: 'property', property: 'url' }, 'once for each url'],
    [{ everyHours: 24 }, 'at most every 24 hours'],
  ])('and a repeated event was blocked by "once" (%j)', async (again, how) => {
    const id = await putMessage({ again })
    await messaging.event()
    expect((await messaging.decide()).map(({ verdict }) => verdict)).toEqual(['send'])
    expect(await say(id)).toBe('It was sent on 15 May 2026, 12:01 UTC.')
    server.clock.wallMs += HOUR
    await messaging.event()
    expect(await say(id)).toBe(
      `It was sent on 15 May 2026, 12:01 UTC. Since then results_ready came for ${ADA} on 15 May 2026, 13:01 UTC, but this message is sent ${how}.`,
    )
  })

  test('and an event during its wait is explained, also after sending', async () => {
    const id = await putMessage({ again: { everyHours: 1 }, wait: { minutes: 300 } })
    await messaging.event()
    server.clock.wallMs += HOUR
    await messaging.event()
    server.clock.wallMs += 4 * HOUR
    await messaging.decide()
    expect(await say(id)).toEndWith('but this message is sent at most every 1 hours.')
  })
})
