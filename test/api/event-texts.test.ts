/** Events that the writing thread reads: nobody outside can tell by which way theirs went, but for the time it takes. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { MOST_TEXTS, SPARE_EVENTS } from '../../src/api/event-texts.ts'
import { MAX_SENDER_APPS } from '../../src/accounts/access.ts'
import { MAX_TEXT_BYTES } from '../../src/events/event-texts.ts'
import type { Store } from '../../src/store/store.ts'
import {
  type Answer,
  API,
  CONTACTS,
  createTestServer,
  EVENTS,
  type Given,
  HOUR,
  NOW,
  type TestServer,
} from '../helper.ts'

/** What reached the store, and whether it was written there. */
let told: string[] = []
const listen = (store: Store): Store => ({
  ...store,
  async recordEventText(event) {
    const outcome = await store.recordEventText(event)
    told.push('isUnread' in outcome ? 'unread' : 'text')
    return outcome
  },
  recordEvent: (write) => (told.push('fields'), store.recordEvent(write)),
})

/** Everything is read where it comes in. */
const readHere = (store: Store): Store => ({ ...store, recordEventText: async () => ({ isUnread: true }) })

let server: TestServer
beforeAll(async () => {
  server = await createTestServer({ wrapStore: listen })
})
afterAll(() => server.close())
beforeEach(() => {
  told = []
})

const event = (more: Record<string, unknown> = {}) => ({
  app: 'FIRST',
  email: 'ada@example.com',
  event: 'results_ready',
  createContact: true,
  ...more,
})

/** Another app of the first account. */
async function addApp(one: TestServer, count: number, hosts: string[] = []): Promise<void> {
  const app = { publicId: `app_${count}`, siteId: `site_${count}`, name: 'Another', homeUrl: null, hosts }
  const { store, access } = one.parts()
  expect(await store.createApp({ accountId: one.first.accountId, actor: 'test', at: NOW, app })).toEqual({ done: true })
  access.forget()
}

/** The ID of the first app of each server is `FIRST` here, and an ID of its own is what differs. */
async function sendTo(one: TestServer, given: Given): Promise<Answer> {
  const text = typeof given.body === 'string' ? given.body : JSON.stringify(given.body)
  return one.call('POST', EVENTS, { ...given, body: text.replaceAll('FIRST', one.first.appId) })
}

const ids = /"(?:con|evt|req)_[^"]+"/g
const outside = ({ status, text, headers }: Answer) => {
  const said = Object.fromEntries(headers)
  return { status, text: text.replaceAll(ids, '"id"'), headers: { ...said, 'x-request-id': 'id' } }
}

async function storedIn(one: TestServer): Promise<string> {
  const events = await one.call('GET', `${EVENTS}?app=${one.first.appId}&limit=100`)
  const people = await one.call('GET', `${API}/contacts?app=${one.first.appId}&limit=100`)
  return `${events.text}${people.text}`.replaceAll(ids, '"id"').replaceAll(one.first.appId, 'FIRST')
}

describe('the way of an event', () => {
  test.each<[string, Given, string[]]>([
    ['the usual one', { body: event() }, ['text']],
    ['with everything', { body: event({ occurredAt: new Date(NOW).toISOString(), properties: { a: [1] } }) }, ['text']],
    ['of somebody unknown', { body: event({ email: 'no@example.com', createContact: false }) }, ['text']],
    ['with a warning', { body: event({ extra: 1 }) }, ['text']],
    ['with a wrong field', { body: event({ email: 'x' }) }, ['unread']],
    ['of no app', { body: event({ app: 'app_none' }) }, ['unread']],
    ['no JSON', { body: '{' }, ['unread']],
    ['that is to be written once', { body: event(), headers: { 'Idempotency-Key': 'a' } }, ['fields']],
    ['with a wrong Idempotency-Key', { body: event(), headers: { 'Idempotency-Key': 'ü' } }, []],
    ['in another type', { body: event(), headers: { 'Content-Type': 'text/plain' } }, []],
    ['without a key', { body: event(), key: null }, []],
  ])('%s', async (_name, given, way) => {
    await sendTo(server, given)
    expect(told).toEqual(way)
  })

  test('the largest text, and a larger one', async () => {
    const text = JSON.stringify(event({ app: server.first.appId }))
    for (const bytes of [MAX_TEXT_BYTES, MAX_TEXT_BYTES + 1]) await sendTo(server, { body: text.padEnd(bytes) })
    expect(told).toEqual(['text', 'fields'])
  })

  test('of an account with many apps', async () => {
    const one = await createTestServer({ wrapStore: listen })
    for (let count = 2; count <= MAX_SENDER_APPS + 1; count++) {
      if (count > MAX_SENDER_APPS) await sendTo(one, { body: event() })
      await addApp(one, count)
    }
    await sendTo(one, { body: event() })
    expect(told).toEqual(['text', 'fields'])
    await one.close()
  })
})

describe('what came as a text and what was read where it came in', () => {
  const properties = (value: unknown) => event({ properties: value })
  const bodies: (object | string)[] = [
    event(),
    event({ createContact: false }),
    event({ email: 'New@Example.com', firstName: 'Zoë', lastName: '' }),
    event({ email: 'new@example.com', firstName: 'Not', lastName: 'Lovelace' }),
    event({ email: 'nobody@example.com', createContact: false }),
    event({ app: undefined, newsletter: 'FIRST' }),
    event({ newsletter: 'another' }),
    event({ app: undefined }),
    event({ app: 'app_of_nobody' }),
    event({ event: 'other', properties: { url: 7 } }),
    event({ event: '' }),
    event({ email: 'ada@exämple.com' }),
    event({ email: 'ada' }),
    event({ createContact: 'yes' }),
    event({ occurredAt: new Date(NOW - HOUR).toISOString() }),
    event({ occurredAt: new Date(NOW + HOUR).toISOString() }),
    event({ occurredAt: 'yesterday' }),
    event({ firstName: 7, lastName: 'x'.repeat(201) }),
    event({ unknown: 1, other: 2 }),
    properties({ url: 'https://app.first.example/r/1', headline: 'Ready' }),
    properties({ url: 'https://elsewhere.example/' }),
    properties({ url: ' https://app.first.example/r/1\n' }),
    properties({ url: 7 }),
    event({ occurredAt: new Date(NOW - 73 * HOUR).toISOString(), x: 1, firstName: 'Not', properties: { url: '' } }),
    '{"app":"FIRST","email":"new@example.com","event":"e","properties":{"a":1,"a":2},"properties":{},"firstName":"No"}',
    properties({ a: { b: [null, true, 1.5, 'é€😀', '\u2028"\\\n'] } }),
    properties([]),
    properties({ a: 'x'.repeat(2_039) }),
    properties({ a: 'x'.repeat(2_040) }),
    '{"app":"FIRST","email":"dup@example.com","email":"last@example.com","event":"e","createContact":true}',
    '{"app":"FIRST","email":"proto@example.com","event":"e","createContact":true,"properties":{"__proto__":{"a":1}}}',
    '{"app":"FIRST","email":"n@example.com","event":"e","createContact":true,"properties":{"n":9007199254740993}}',
    '{"app":"FIRST","email":"s@example.com","event":"e","createContact":true,"properties":{"s":"\\ud83d\\ude00"}}',
    '{"app":"FIRST","email":"s@example.com","event":"e","createContact":true,"properties":{"s":"\\ud83d"}}',
    '[]',
    'null',
    '{"app":',
    ' \n{"app":"FIRST","email":"space@example.com","event":"e","createContact":true}\t',
    JSON.stringify(event()).padEnd(MAX_TEXT_BYTES + 1),
  ]
  test('are answered, counted and kept alike', async () => {
    const [one, two] = await Promise.all([
      createTestServer({ wrapStore: listen }),
      createTestServer({ wrapStore: readHere }),
    ])
    for (const body of bodies) {
      const answers = [outside(await sendTo(one, { body })), outside(await sendTo(two, { body }))]
      expect(answers[0]).toEqual(answers[1] as ReturnType<typeof outside>)
    }
    expect(await storedIn(one)).toBe(await storedIn(two))
    expect((await storedIn(one)).split('"type":"event"').length).toBeGreaterThan(15)
    expect(told.filter((way) => way === 'text').length).toBeGreaterThan(10)
    expect(told.filter((way) => way === 'unread').length).toBeGreaterThan(10)
    await Promise.all([one.close(), two.close()])
  })
})

describe('limits', () => {
  test('texts go ahead while there is room, and what is refused uses up nothing', async () => {
    const one = await createTestServer({ wrapStore: listen })
    await one.setPlan({ eventsPerHour: SPARE_EVENTS + 2 })
    const send = async (more: Record<string, unknown>) => {
      const answer = await sendTo(one, { body: event(more) })
      return [answer.status, Number(answer.headers.get('ratelimit-remaining')) - SPARE_EVENTS]
    }
    expect(await send({ email: 'x' })).toEqual([400, 2])
    expect(await send({ extra: 1 })).toEqual([202, 1])
    expect(await send({ app: 'app_none' })).toEqual([404, 1])
    expect(await send({})).toEqual([202, 0])
    expect(await send({ email: 'x' })).toEqual([400, 0])
    expect(await send({})).toEqual([202, -1])
    expect(told).toEqual(['unread', 'text', 'unread', 'text', 'fields'])
    await one.close()
  })

  test('the last ones are for those that are right, also among many at once that are wrong', async () => {
    const one = await createTestServer({ wrapStore: listen })
    await one.setPlan({ eventsPerHour: 2 })
    const wrong = Array.from({ length: 20 }, (_, index) => event(index % 2 ? { email: 'x' } : { app: 'app_none' }))
    const answers = await Promise.all([...wrong, event(), event(), event()].map((body) => sendTo(one, { body })))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.slice(-3)).toEqual([202, 202, 429])
    expect(new Set(statuses.slice(0, 20))).toEqual(new Set([400, 404]))
    await one.close()
  })
})

test('so many go ahead at once, and all beyond are read here', async () => {
  const one = await createTestServer({ wrapStore: listen })
  const wrong = Array.from({ length: 700 }, () => sendTo(one, { body: event({ email: 'x' }) }))
  expect(new Set((await Promise.all(wrong)).map(({ status }) => status))).toEqual(new Set([400]))
  expect(told.length).toBe(MOST_TEXTS)
  told = []
  await sendTo(one, { body: event() })
  expect(told).toEqual([])
  one.clock.tick(60_000)
  await sendTo(one, { body: event() })
  expect(told).toEqual(['text'])
  await one.close()
})

test('what was counted for texts is still counted after a restart', async () => {
  const one = await createTestServer({ wrapStore: listen })
  for (let count = 0; count < 5; count += 1) await sendTo(one, { body: event() })
  await one.restart()
  const answer = await sendTo(one, { body: event() })
  expect([told, answer.headers.get('ratelimit-remaining')]).toEqual([Array.from({ length: 6 }, () => 'text'), '5994'])
  await one.close()
})

test('each goes to the app that it names', async () => {
  const one = await createTestServer({ wrapStore: listen })
  await addApp(one, 2)
  await sendTo(one, { body: event() })
  await sendTo(one, { body: event({ app: 'app_2', email: 'two@example.com' }) })
  expect(told).toEqual(['text', 'text'])
  const people = await one.call('GET', `${API}/contacts?app=app_2`)
  expect(people.body.data?.map(({ email }) => email)).toEqual(['two@example.com'])
  await one.close()
})

describe('what the store refuses', () => {
  test.each([
    ['unavailable', 5_999],
    ['commit_unconfirmed', 5_998],
  ] as const)('%s: is said after what is wrong with the event, which uses up nothing', async (refusal, left) => {
    const refuse = async () => ({ refusal })
    let isFaulty = true
    const one = await createTestServer({
      wrapStore: (store) => ({
        ...store,
        recordEventText: (text) => (isFaulty ? refuse() : store.recordEventText(text)),
      }),
    })
    const statuses: number[] = []
    for (const body of [event(), event({ email: 'x' }), event({ app: 'app_none' }), '{'])
      statuses.push((await sendTo(one, { body })).status)
    expect(statuses).toEqual([503, 400, 404, 400])
    isFaulty = false
    expect((await sendTo(one, { body: event() })).headers.get('ratelimit-remaining')).toBe(String(left))
    await one.close()
  })

  test.each<[string, Record<string, unknown>, string[]]>([
    ['somebody unknown', { email: 'unknown@example.com', createContact: false }, ['text']],
    ['a wrong field', { email: 'x' }, ['unread']],
  ])('%s: is noted for the app that the event named, and for no other', async (_name, more, way) => {
    const one = await createTestServer({ wrapStore: listen })
    await addApp(one, 2)
    await sendTo(one, { body: event(more) })
    expect(told).toEqual(way)
    const { notes } = one.parts()
    expect(notes.pending(1)).toMatchObject([{ kind: 'refused_call', count: 1 }])
    expect(notes.pending(3)).toEqual([])
    await one.close()
  })
})

test('writes of one person are made in the order in which they came, by whatever way', async () => {
  const email = (name: string) => ({ email: `${name}@example.com` })
  const known = (name: string) => sendTo(server, { body: event({ ...email(name), createContact: false }) })
  const send = [
    () => sendTo(server, { body: event({ ...email('warned'), extra: 1 }) }),
    () => known('warned'),
    () => server.call('POST', CONTACTS, { body: { app: server.first.appId, ...email('zoe') } }),
    () => known('zoe'),
    () => known('late'),
    () => sendTo(server, { body: event(email('late')) }),
  ]
  const answers: Promise<Answer>[] = []
  for (const one of send) {
    answers.push(one())
    // each is on its way to the store before the next comes, and none is committed yet
    // oxlint-disable-next-line no-unnecessary-await -- a turn of the microtask queue
    for (let turn = 0; turn < 50; turn += 1) await null
  }
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([202, 202, 201, 202, 404, 202])
})

test('one that is too large for a text is not overtaken by what comes in the same turn', async () => {
  const person = { email: 'large@example.com' }
  const large = JSON.stringify(event(person)).padEnd(MAX_TEXT_BYTES + 1)
  const answers = [
    sendTo(server, { body: large }),
    sendTo(server, { body: event({ ...person, createContact: false }) }),
  ]
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([202, 202])
})

test("a host that became a public suffix after the app was given it is nobody's, whichever way an event goes", async () => {
  const body = { ...event({ app: 'app_2' }), properties: { url: 'https://ada.github.io/x' } }
  for (const wrapStore of [listen, readHere]) {
    const one = await createTestServer({ wrapStore })
    await addApp(one, 2, ['github.io'])
    expect((await sendTo(one, { body })).body.warnings?.map(({ code }) => code)).toEqual(['url_not_linkable'])
    await one.close()
  }
})
