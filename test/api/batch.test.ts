import { beforeEach, describe, expect, test } from 'bun:test'
import { BATCH, EVENTS, type TestServer, useSharedServer } from '../helper.ts'
import { RETURNED_LATE_MS } from '../postgres/test-databases.ts'
import { expectRefusal, no, PERSON_ID, usedUp, wrongField } from './expected.ts'

const openServer = useSharedServer()
let server: TestServer
beforeEach(async () => {
  server = await openServer()
})

const event = (more: object = {}) => ({
  app: server.first.appId,
  email: 'ada@example.com',
  event: 'e',
  createContact: true,
  ...more,
})
const post = (events: unknown, more: object = {}) => server.call('POST', BATCH, { body: { events, ...more } })
const many = (count: number) => Array.from({ length: count }, (_, i) => event({ email: `p${i}@example.com` }))
/** The result of an item that was refused. */
const bad = (index: number, ...given: Parameters<typeof no>) => {
  const { requestId: _, ...body } = no(...given)
  return { index, ...body }
}

describe('207', () => {
  test('each event gets its own result, in order', async () => {
    const { status, body } = await post([
      event(),
      event({ email: 'nobody@example.com', createContact: false }),
      event({ app: server.second.appId }),
      event({ event: '$page', email: 'ada' }),
      event({ event: '' }),
      'text',
      null,
      [event()],
      event({ newsletter: server.first.appId, typo: 1, email: 'ADA@example.com', event: 'f' }),
    ])
    const name = 'Send 1 to 64 characters: letters A to Z and a to z, digits, `_`, `.`, `:` and `-`.'
    const email = 'Send one complete email address, such as ada@example.com, without a name, brackets or quotes.'
    const errors = [
      { field: 'email', code: 'invalid', message: email },
      { field: 'event', code: 'invalid', message: name },
    ]
    const unknown = expect.stringMatching(/^Unknown field, ignored. Known fields: `/)
    const notOne = { message: 'Each event must be a JSON object.' }
    expect([status, body]).toEqual([
      207,
      {
        ok: false,
        accepted: 2,
        results: [
          { index: 0, ok: true, contactId: PERSON_ID, created: true },
          bad(1, 'contact_not_found'),
          bad(2, 'app_not_found'),
          bad(3, 'invalid_field', { field: 'email', message: email, errors }),
          bad(4, 'invalid_field', { field: 'event', message: name }),
          bad(5, 'invalid_json', notOne),
          bad(6, 'invalid_json', notOne),
          bad(7, 'invalid_json', notOne),
          {
            index: 8,
            ok: true,
            contactId: body.results?.[0]?.contactId,
            created: false,
            warnings: [{ field: 'typo', code: 'unknown_field', message: unknown }],
          },
        ],
      },
    ])
  })

  test('100 events, all accepted', async () => {
    const { status, body, headers } = await post(many(100))
    expect([status, body.ok, body.accepted, body.results?.length]).toEqual([207, true, 100, 100])
    expect(headers.get('ratelimit-remaining')).toBe('5900')
    const listed = await server.call('GET', `${EVENTS}?app=${server.first.appId}&limit=100`)
    expect(listed.body.data?.length).toBe(100)
  })

  test('each item counts; uncounted ones use no limit', async () => {
    await server.setPlan({ eventsPerHour: 3 })
    const { status, body, headers } = await post([event({ event: '' }), ...many(4)])
    const { requestId: _, ...refused } = usedUp(server, {
      limitName: 'events_per_hour',
      limit: 3,
      retryAfter: 3_600,
      keyId: server.first.keyId,
    })
    expect([status, body.ok, body.accepted]).toEqual([207, false, 3])
    expect(body.results?.[0]?.error).toBe('invalid_field')
    expect(body.results?.[4]).toEqual({ index: 4, ...refused })
    expect([headers.get('ratelimit-remaining'), headers.get('retry-after')]).toEqual(['0', '3600'])
    expectRefusal(await post([event()]), [429, { requestId: _, ...refused }])
    expect((await post([event({ event: '' })])).status).toBe(207)
    server.clock.tick(3_600_000 + RETURNED_LATE_MS)
    expect((await post(many(3))).body.accepted).toBe(3)
  })

  test('properties of 32 levels are allowed as in a single event', async () => {
    const nested = (levels: number): object => JSON.parse(`${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`)
    const single = (levels: number) => server.call('POST', EVENTS, { body: event({ properties: nested(levels) }) })
    expect([(await single(32)).status, (await single(33)).status]).toEqual([202, 400])
    const { body } = await post([event({ properties: nested(32) }), event({ properties: nested(33) })])
    expect(body.results).toMatchObject([{ ok: true }, { ok: false, error: 'invalid_field', field: 'properties' }])
  })

  test('an event that cannot be stored does not affect its neighbours', async () => {
    const text = (properties: string) =>
      JSON.stringify(event({ properties: 'HERE' })).replace('"HERE"', `{"a":${properties}}`)
    const items = [text('1'), text('"\\ud800"'), text('9007199254740993'), text('1e999'), text('2')]
    const { status, body } = await server.call('POST', BATCH, { body: `{"events":[${items.join()}]}` })
    const surrogate = 'Text in this field contains half of a surrogate pair. Send complete Unicode characters.'
    const number = 'A number in this field is too large to store exactly. Send it as a string.'
    expect([status, body.accepted, body.results?.[4]?.ok]).toEqual([207, 2, true])
    expect(body.results?.slice(1, 4)).toEqual([
      bad(1, 'invalid_field', { field: 'properties', message: surrogate }),
      bad(2, 'invalid_field', { field: 'properties', message: number }),
      bad(3, 'invalid_field', { field: 'properties', message: number }),
    ])
  })

  test('a field beside `events` is ignored with a warning', async () => {
    const { status, body } = await post([event()], { event: 'e', app: server.first.appId })
    const message = expect.stringMatching(/^Unknown field, ignored. Known fields: `/)
    expect([status, body.accepted, body.warnings]).toEqual([
      207,
      1,
      ['event', 'app'].map((field) => ({ field, code: 'unknown_field', message })),
    ])
    expect((await post([event()])).body).not.toHaveProperty('warnings')
  })

  test('the same new person twice is added once', async () => {
    const { body } = await post([event({ event: 'a' }), event({ event: 'b' })])
    expect(body.results?.map(({ created }) => created)).toEqual([true, false])
  })
})

describe('400', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['none', []],
    ['101', Array.from({ length: 101 }, () => ({}))],
    ['an object', { 0: {} }],
    ['null', null],
  ])('%s', async (_name, events) => {
    expectRefusal(await post(events), [400, wrongField('events', 'Send `events` as an array of 1 to 100 events.')])
  })
  test('an event alone, not in a list', async () => {
    const answer = await server.call('POST', BATCH, { body: event() })
    expectRefusal(answer, [400, wrongField('events', 'Send `events` as an array of 1 to 100 events.')])
  })
})
