/** Idempotency-Key. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { findAppSettings, saveAppSettings } from '../../src/accounts/app-settings.ts'
import { expiryNow } from '../../src/core/clock.ts'
import type { Store } from '../../src/store/store.ts'
import { type Answer, BATCH, CONTACTS, createTestServer, DAY, EVENTS, type TestServer } from '../helper.ts'
import { expectRefusal, no, wrongField } from '../api/expected.ts'

/** Holds writes back until it is released, but none that is only read. */
let hold: { reached: () => void; released: Promise<void> } | null = null
const slow = (store: Store): Store => ({
  ...store,
  recordEventText: async (event) => {
    if (event.refusal === undefined) hold?.reached()
    if (event.refusal === undefined) await hold?.released
    return store.recordEventText(event)
  },
})
let server: TestServer
beforeAll(async () => {
  server = await createTestServer({ wrapStore: slow })
})
afterAll(() => server.close())

let keys = 0
const newKey = (): string => `key ${(keys += 1)}`
type Sent = { idempotencyKey: string; more?: object; key?: string }

const post = ({ idempotencyKey, more, key }: Sent): Promise<Answer> =>
  server.call('POST', EVENTS, {
    body: {
      app: server.first.appId,
      email: `${idempotencyKey.replace(' ', '')}@example.com`,
      event: 'e',
      createContact: true,
      ...more,
    },
    headers: { 'Idempotency-Key': idempotencyKey },
    key,
  })
const contact = (method: string, { idempotencyKey, more, key }: Sent): Promise<Answer> =>
  server.call(method, CONTACTS, {
    body: { newsletter: server.first.appId, email: 'ada@example.com', ...more },
    headers: { 'Idempotency-Key': idempotencyKey },
    key,
  })
const event = (name: string) => ({
  app: server.first.appId,
  email: 'ada@example.com',
  event: name,
  createContact: true,
})
const batch = (idempotencyKey: string, events: object[]) =>
  server.call('POST', BATCH, { body: { events }, headers: { 'Idempotency-Key': idempotencyKey } })
const replayed = ({ headers }: Answer) => headers.get('idempotency-replayed')
const remaining = ({ headers }: Answer) => Number(headers.get('ratelimit-remaining'))
const eventNames = async (email: string) => {
  const { body } = await server.call('GET', `${EVENTS}?app=${server.first.appId}&email=${email}`)
  return body.data?.map((item) => item.event)
}

describe('a replay', () => {
  test('repeats the first answer, writes nothing and uses no limit', async () => {
    const idempotencyKey = newKey()
    const first = await post({ idempotencyKey, more: { extra: 1 } })
    const again = await post({ idempotencyKey, more: { extra: 1 } })
    expect([again.status, again.body]).toEqual([first.status, first.body])
    expect(first.body).toMatchObject({ created: true, warnings: [{ field: 'extra' }] })
    expect([replayed(first), replayed(again)]).toEqual([null, 'true'])
    expect(remaining(again)).toBe(remaining(first))
    expect(await eventNames(`${idempotencyKey.replace(' ', '')}@example.com`)).toEqual(['e'])
  })

  test.each(['POST', 'PATCH'])('of %s /contacts shows the person as they were', async (method) => {
    await contact('POST', { idempotencyKey: newKey() })
    const idempotencyKey = newKey()
    const first = await contact(method, { idempotencyKey, more: { firstName: 'Ada' } })
    await contact('PATCH', { idempotencyKey: newKey(), more: { firstName: 'Other' } })
    const again = await contact(method, { idempotencyKey, more: { firstName: 'Ada' } })
    expect([again.status, again.text, replayed(again)]).toEqual([first.status, first.text, 'true'])
  })

  const raw = (idempotencyKey: string, body: string, path = EVENTS) =>
    server.call('POST', path, {
      body,
      headers: { 'Idempotency-Key': idempotencyKey, 'Content-Type': 'application/json' },
    })
  const spell = (email: string, properties: string) =>
    `{"app":"${server.first.appId}","email":"${email}","event":"e","createContact":true,"properties":${properties}}`

  test.each([
    ['another order of keys', '{"a":1,"b":{"c":[1,2],"d":null}}', '{"b":{"d":null,"c":[1,2]},"a":1}'],
    ['whitespace', '{"a":1}', '\n{ "a" :\t1 }\r\n'],
    ['another spelling of a number', '{"a":[10,0.5,100]}', '{"a":[1e1,5.0E-1,100.0]}'],
    ['escapes', '{"a":"é/"}', '{"\\u0061":"\\u00e9\\/"}'],
    ['a key like __proto__', '{"__proto__":{"x":1},"a":1}', '{"a":1,"__proto__":{"x":1}}'],
  ])('compares the meaning of the body: %s', async (_, one, other) => {
    const idempotencyKey = newKey()
    const email = `${idempotencyKey.replace(' ', '')}@spelling.example`
    const first = await raw(idempotencyKey, spell(email, one))
    const again = await raw(idempotencyKey, spell(email, other))
    expect([first.status, again.status, again.text, replayed(again)]).toEqual([202, 202, first.text, 'true'])
    const batched = newKey()
    await raw(batched, `{"events":[${spell(email, one)}]}`, BATCH)
    expect(replayed(await raw(batched, `{"events":[${spell(email, other)}]}`, BATCH))).toBe('true')
  })

  test.each([
    ['order in an array', '{"a":[1,2]}', '{"a":[2,1]}'],
    ['a number and its text', '{"a":1}', '{"a":"1"}'],
    ['null and nothing', '{"a":null}', '{}'],
    ['a key more', '{"a":1}', '{"a":1,"__proto__":{}}'],
  ])('ignores: %s', async (_, one, other) => {
    const idempotencyKey = newKey()
    const email = `${idempotencyKey.replace(' ', '')}@spelling.example`
    expect((await raw(idempotencyKey, spell(email, one))).status).toBe(202)
    expect((await raw(idempotencyKey, spell(email, other))).status).toBe(422)
  })

  test('a 201 stays a 201', async () => {
    const idempotencyKey = newKey()
    const more = { email: 'created@example.com' }
    expect([
      (await contact('POST', { idempotencyKey, more })).status,
      (await contact('POST', { idempotencyKey, more })).status,
    ]).toEqual([201, 201])
  })

  test('uses no limit of the visitor either', async () => {
    const idempotencyKey = newKey()
    for (let i = 0; i < 7; i++)
      expect((await contact('POST', { idempotencyKey, more: { ip: '203.0.113.7' } })).status).toBe(200)
  })

  test('is answered when the limit is used up', async () => {
    const keys = [newKey(), newKey(), newKey(), newKey()] as const
    const calls = [
      () => post({ idempotencyKey: keys[0] }),
      () => contact('POST', { idempotencyKey: keys[1], more: { ip: '203.0.113.9' } }),
      () => contact('PATCH', { idempotencyKey: keys[2] }),
      () => batch(keys[3], [event('one'), event('two')]),
    ]
    const first = await Promise.all(calls.map((call) => call()))
    await server.setPlan({ eventsPerHour: 0, addsPerHour: 0, updatesPerHour: 0 })
    const again = await Promise.all(calls.map((call) => call()))
    const fresh = [await post({ idempotencyKey: newKey() }), await batch(newKey(), [event('e')])]
    await server.setPlan({ eventsPerHour: null, addsPerHour: null, updatesPerHour: null })
    expect(again.map(({ status, body }) => [status, body])).toEqual(first.map(({ status, body }) => [status, body]))
    expect(again.map(replayed)).toEqual(Array(4).fill('true'))
    expect(again.map(({ headers }) => headers.get('ratelimit-remaining'))).toEqual(Array(4).fill('0'))
    expect(fresh.map(({ status }) => status)).toEqual([429, 429])
    const after: Answer[] = []
    for (const call of calls) after.push(await call())
    const unused = [await post({ idempotencyKey: newKey() }), await contact('POST', { idempotencyKey: newKey() })].map(
      remaining,
    )
    expect(after.map(remaining).slice(0, 2)).toEqual(unused.map((count) => count + 1))
    expect(remaining(after[3] as Answer)).toBe(remaining(after[0] as Answer))
  })

  test('is not affected by clock steps of a day', async () => {
    const idempotencyKey = newKey()
    for (const step of [DAY, -2 * DAY, DAY]) {
      await post({ idempotencyKey })
      server.clock.wallMs += step
      await server.parts().store.cleanUp({ at: expiryNow(server.clock) })
      expect(replayed(await post({ idempotencyKey }))).toBe('true')
    }
    server.clock.tick(DAY)
    expect(replayed(await post({ idempotencyKey }))).toBeNull()
  })

  test('lasts 24 hours', async () => {
    const idempotencyKey = newKey()
    await post({ idempotencyKey })
    server.clock.tick(DAY - 1)
    expect(replayed(await post({ idempotencyKey }))).toBe('true')
    server.clock.tick(1)
    const later = await post({ idempotencyKey })
    expect([later.body.created, replayed(later)]).toEqual([false, null])
  })

  test('lasts for the days that the app sets, with every kind of request', async () => {
    const { store, access } = server.parts()
    const app = await store.findAppByPublicId(server.first.appId)
    if (app === null) throw new Error('there is no app')
    const setDays = async (responseDays: number | null) => {
      const basedOn = await findAppSettings(store, app)
      const settings = { ...basedOn, retention: { ...basedOn.retention, responseDays } }
      await saveAppSettings({ store, access, clock: server.clock }, app, { settings, basedOn, actor: 'test' })
    }
    await setDays(3)
    const [single, person, several] = [newKey(), newKey(), newKey()]
    const send = async () => [
      await post({ idempotencyKey: single }),
      await contact('POST', { idempotencyKey: person }),
      await batch(several, [event('one'), event('two')]),
    ]
    await send()
    server.clock.tick(3 * DAY - 1)
    await store.cleanUp({ at: expiryNow(server.clock) })
    expect((await send()).map(replayed)).toEqual(['true', 'true', 'true'])
    server.clock.tick(1)
    expect((await send()).map(replayed)).toEqual([null, null, null])
    await setDays(null)
  })

  test('survives a restart', async () => {
    const idempotencyKey = newKey()
    const first = await post({ idempotencyKey })
    await server.restart()
    const again = await post({ idempotencyKey })
    expect([again.body, replayed(again)]).toEqual([first.body, 'true'])
  })

  test('belongs to its API key', async () => {
    const idempotencyKey = newKey()
    const { apiKey } = await server.makeKey()
    await post({ idempotencyKey })
    const other = await post({ idempotencyKey, key: apiKey })
    expect([other.body.created, replayed(other)]).toEqual([false, null])
  })
})

describe('a refused request is not stored', () => {
  test('runs with the same key after a fix', async () => {
    const idempotencyKey = newKey()
    expect((await post({ idempotencyKey, more: { event: '' } })).status).toBe(400)
    expect((await post({ idempotencyKey, more: { createContact: false } })).status).toBe(404)
    const done = await post({ idempotencyKey })
    expect([done.status, replayed(done)]).toEqual([202, null])
  })
})

describe('422', () => {
  test('another body or call: nothing is written and no limit is used', async () => {
    const idempotencyKey = newKey()
    const first = await post({ idempotencyKey })
    const other = await post({ idempotencyKey, more: { event: 'other' } })
    expectRefusal(other, [422, no('idempotency_mismatch')])
    expect(remaining(other)).toBe(remaining(first))
    expectRefusal(await contact('POST', { idempotencyKey }), [422, no('idempotency_mismatch')])
    expect(replayed(await post({ idempotencyKey }))).toBe('true')
  })
})

describe('one key for a single event and a batch', () => {
  const mismatch = [422, no('idempotency_mismatch')] as [number, Record<string, unknown>]

  test('is 422 in either order', async () => {
    const [idempotencyKey, other] = [newKey(), newKey()]
    await post({ idempotencyKey })
    expectRefusal(await batch(idempotencyKey, [event('e')]), mismatch)
    await batch(
      other,
      [event('only in the batch')].map((one) => ({ ...one, event: 'only' })),
    )
    expectRefusal(await post({ idempotencyKey: other }), mismatch)
    expectRefusal(await contact('PATCH', { idempotencyKey: other }), mismatch)
    expect(await eventNames(`${other.replace(' ', '')}@example.com`)).toBeUndefined()
  })

  test('another body for a batch is refused as a whole', async () => {
    const idempotencyKey = newKey()
    const email = `${idempotencyKey.replace(' ', '')}-batch@example.com`
    const of = (name: string) => ({ ...event(name), email })
    await batch(idempotencyKey, [of('a')])
    const [before] = [await post({ idempotencyKey: newKey() })]
    const longer = await batch(idempotencyKey, [of('b'), of('c'), of('d')])
    expectRefusal(longer, mismatch)
    expect(remaining(longer)).toBe(remaining(before))
    expect(await eventNames(email)).toEqual(['a'])
  })

  test('also if only a later part of the batch is still stored', async () => {
    const idempotencyKey = newKey()
    const email = `${idempotencyKey.replace(' ', '')}-part@example.com`
    const events = [event('a'), { ...event('b'), email, createContact: false }]
    expect((await batch(idempotencyKey, events)).body.accepted).toBe(1)
    server.clock.tick(DAY - 1_000)
    await contact('POST', { idempotencyKey: newKey(), more: { email } })
    expect((await batch(idempotencyKey, events)).body.accepted).toBe(2)
    server.clock.tick(2_000)
    expectRefusal(await post({ idempotencyKey }), mismatch)
    server.clock.tick(DAY)
    expect((await post({ idempotencyKey })).status).toBe(202)
  })

  test('comes before a used-up limit', async () => {
    const idempotencyKey = newKey()
    await post({ idempotencyKey })
    await server.setPlan({ eventsPerHour: 0 })
    const answers = [await post({ idempotencyKey, more: { event: 'f' } }), await batch(idempotencyKey, [event('e')])]
    await server.setPlan({ eventsPerHour: null })
    for (const answer of answers) expectRefusal(answer, mismatch)
  })
})

describe('409', () => {
  test('while the first still runs', async () => {
    const idempotencyKey = newKey()
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    hold = { reached: reached.resolve, released: released.promise }
    const first = post({ idempotencyKey })
    await reached.promise
    const early = await post({ idempotencyKey })
    expectRefusal(early, [409, no('idempotency_in_progress')])
    expect(early.headers.get('retry-after')).toBe('1')
    const { apiKey: key } = await server.makeKey()
    expect((await contact('POST', { idempotencyKey, key })).status).toBeLessThan(300)
    expect((await contact('POST', { idempotencyKey: newKey() })).status).toBeLessThan(300)
    released.resolve()
    hold = null
    expect((await first).status).toBe(202)
    expect(replayed(await post({ idempotencyKey }))).toBe('true')
  })
})

describe('400', () => {
  test.each([
    ['', 'empty'],
    ['x'.repeat(256), '256'],
    ['clé', 'not ASCII'],
    ['a\tb', 'a tab'],
  ])('%#', async (idempotencyKey) => {
    const message = 'Send 1 to 255 printable ASCII characters, a new random value for each write.'
    for (const answer of [
      await post({ idempotencyKey }),
      await contact('PATCH', { idempotencyKey }),
      await batch(idempotencyKey, [event('e')]),
    ]) {
      expectRefusal(answer, [400, wrongField('Idempotency-Key', message)])
    }
  })
  test('255 printable characters are fine', async () => {
    expect((await contact('POST', { idempotencyKey: '~'.repeat(255) })).status).toBeLessThan(300)
  })
})

describe('a batch', () => {
  test('is replayed as a whole', async () => {
    const idempotencyKey = newKey()
    const events = [event('one'), { ...event('two'), email: 'late@example.com', createContact: false }]
    const first = await batch(idempotencyKey, events)
    const again = await batch(idempotencyKey, events)
    expect([again.status, again.body]).toEqual([207, first.body])
    expect([replayed(first), replayed(again)]).toEqual([null, 'true'])
    expect(remaining(again)).toBe(remaining(first) - 1)
  })

  test('runs only the parts that failed before', async () => {
    const idempotencyKey = newKey()
    const email = 'partly@example.com'
    const events = [event('first'), { ...event('second'), email, createContact: false }]
    expect((await batch(idempotencyKey, events)).body.accepted).toBe(1)
    await contact('POST', { idempotencyKey: newKey(), more: { email } })
    const again = await batch(idempotencyKey, events)
    expect([again.body.accepted, replayed(again)]).toEqual([2, null])
    expect(await eventNames(email)).toEqual(['second'])
    expect((await eventNames('ada@example.com'))?.filter((name) => name === 'first')).toHaveLength(1)
  })

  test('another body is 422', async () => {
    const idempotencyKey = newKey()
    await batch(idempotencyKey, [event('a')])
    expectRefusal(await batch(idempotencyKey, [event('b')]), [422, no('idempotency_mismatch')])
  })
})
