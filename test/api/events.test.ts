import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { BATCH, CONTACTS, createTestServer, EVENTS, NOW, type TestServer } from '../helper.ts'
import { expectRefusal, no, PERSON_ID, wrongField } from './expected.ts'

let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
})
afterAll(() => server.close())

const event = (more: Record<string, unknown> = {}) => ({
  app: server.first.appId,
  email: 'ada@example.com',
  event: 'results_ready',
  properties: { url: 'https://first.example/results/1' },
  createContact: true,
  ...more,
})
const post = (more: Record<string, unknown> = {}) => server.call('POST', EVENTS, { body: event(more) })
const without = (name: string) => server.call('POST', EVENTS, { body: { ...event(), [name]: undefined } })

describe('202', () => {
  test('a new person, then a known one', async () => {
    const first = await post({ email: 'New@Example.com' })
    expect([first.status, first.body]).toEqual([202, { ok: true, contactId: PERSON_ID, created: true }])
    const again = await post({ email: ' new@example.COM ', createContact: false })
    expect([again.status, again.body]).toEqual([202, { ok: true, contactId: first.body.contactId, created: false }])
    expect(Object.fromEntries(again.headers)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'ratelimit-limit': '6000',
      'ratelimit-policy': '6000;w=3600',
      'ratelimit-remaining': '5998',
      'ratelimit-reset': '3600',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
      'x-request-id': expect.stringMatching(/^req_/),
    })
  })

  test.each([
    ['app', {}],
    ['newsletter', { app: undefined, newsletter: 'FIRST' }],
    ['both, when they agree', { newsletter: 'FIRST' }],
  ])('the app ID as %s', async (_name, more: Record<string, unknown>) => {
    const named = 'newsletter' in more ? { ...more, newsletter: server.first.appId } : more
    expect((await post(named)).status).toBe(202)
  })

  test.each<[string, Record<string, unknown>]>([
    ['one character', { event: 'a' }],
    ['64 of every kind', { event: 'Az09_.:-'.repeat(8) }],
    ['properties of 2,047 bytes', { event: 'e', properties: { a: 'x'.repeat(2_039) } }],
    ['2,047 bytes in characters of three', { event: 'e', properties: { a: `${'€'.repeat(679)}xx` } }],
    ['names', { firstName: 'Zoë', lastName: 'x'.repeat(200) }],
    ['names cleared', { firstName: null, lastName: '' }],
    ['an hour ago', { occurredAt: new Date(NOW - 3_600_000).toISOString() }],
    ['ten minutes ahead', { occurredAt: new Date(NOW + 600_000).toISOString() }],
    ['three days ago', { occurredAt: new Date(NOW - 3 * 86_400_000).toISOString() }],
    ['a URL that can be linked', { properties: { url: 'https://app.first.example/r/1', headline: 'Ready.' } }],
    ['any url with another event', { event: 'other', properties: { url: 7 } }],
  ])('%s', async (_name, more) => {
    const { status, body } = await post(more)
    expect([status, body]).toEqual([202, { ok: true, contactId: PERSON_ID, created: expect.any(Boolean) }])
  })

  test('properties are measured as compact JSON', async () => {
    const spaces = ' '.repeat(3_000)
    const body = JSON.stringify(event({ properties: { a: 1 } })).replace('{"a":1}', `{${spaces}"a":1}`)
    expect((await server.call('POST', EVENTS, { body })).status).toBe(202)
  })

  test('fields named like JavaScript internals are unknown fields, and data inside properties', async () => {
    const body = `{"app":"${server.first.appId}","email":"proto@example.com","event":"e","createContact":true,
      "__proto__":{"event":"x"},"constructor":1,"properties":{"__proto__":{"a":1},"toString":"b"}}`
    const saved = await server.call('POST', EVENTS, { body })
    expect(saved.status).toBe(202)
    expect(saved.body.warnings?.map(({ field, code }) => `${String(field)} ${String(code)}`)).toEqual([
      '__proto__ unknown_field',
      'constructor unknown_field',
    ])
    const listed = await server.call('GET', `${EVENTS}?app=${server.first.appId}&email=proto@example.com`)
    expect(listed.text).toContain('"properties":{"__proto__":{"a":1},"toString":"b"}')
  })
})

describe('202 with warnings', () => {
  test('an unknown field and a URL that will not be linked', async () => {
    const { status, body } = await post({ evnt: 'typo', properties: { url: 'http://elsewhere.example/x' } })
    expect([status, body]).toEqual([
      202,
      {
        ok: true,
        contactId: PERSON_ID,
        created: false,
        warnings: [
          {
            field: 'evnt',
            code: 'unknown_field',
            message: expect.stringMatching(/^Unknown field, ignored. Known fields: `/),
          },
          {
            field: 'properties',
            code: 'url_not_linkable',
            message:
              "Emails don't link to `url`: it isn't on one of this app's domains. Emails link only to first.example, including subdomains. Add the domain in Settings, or set all domains with `eventpost app set --domain`.",
          },
        ],
      },
    ])
  })
})

/** Over HTTP alone, in a batch, and over MCP as a dry run and for real: the same warnings. */
describe('every interface gives the same warnings', () => {
  type Warned = [field: string, code: string][]
  const codesOf = (warnings: unknown): Warned =>
    ((warnings ?? []) as Record<string, string>[]).map(({ field = '', code = '' }) => [field, code])
  const old = new Date(NOW - 72 * 3_600_000 - 1).toISOString()
  const edge = new Date(NOW - 72 * 3_600_000).toISOString()

  test.each<[string, string, Warned]>([
    ['nothing', '', []],
    ['72 hours ago', `,"occurredAt":"${edge}"`, []],
    ['no URL', ',"properties":{}', [['properties', 'url_missing']]],
    ['longer ago', `,"occurredAt":"${old}"`, [['occurredAt', 'too_old']]],
    ['a key twice', ',"event":"other"', [['event', 'duplicate_key']]],
    ['an unknown key twice', ',"x":1,"x":2', [['x', 'unknown_field']]],
    [
      'a key of properties twice',
      ',"properties":{"url":"https://first.example/1","a":[{"b":1,"b":1}]}',
      [['properties', 'duplicate_key']],
    ],
    ['a URL elsewhere', ',"properties":{"url":"https://else.example/"}', [['properties', 'url_not_linkable']]],
    ['whitespace around a URL', ',"properties":{"url":" https://first.example/1\\n"}', [['properties', 'url_trimmed']]],
    ['names as they are', ',"firstName":"Grace","lastName":"Hopper"', []],
    ['names with other whitespace', ',"firstName":" Grace ","lastName":"Hopper"', []],
    ['another first name', ',"firstName":"G.","lastName":"Hopper"', [['firstName', 'name_not_taken']]],
    [
      'all at once',
      `,"x":1,"firstName":"","firstName":"G.","lastName":"H.","occurredAt":"${old}","properties":{"url":""}`,
      [
        ['firstName', 'duplicate_key'],
        ['x', 'unknown_field'],
        ['occurredAt', 'too_old'],
        ['properties', 'url_not_linkable'],
        ['firstName', 'name_not_taken'],
        ['lastName', 'name_not_taken'],
      ],
    ],
  ])('%s', async (_name, more, warned) => {
    const grace = { newsletter: server.first.appId, email: 'grace@example.com', firstName: 'Grace', lastName: 'Hopper' }
    await server.call('POST', CONTACTS, { body: grace })
    const results = more.includes('"properties"') ? '' : ',"properties":{"url":"https://first.example/1"}'
    const text = `{"app":"${server.first.appId}","email":"grace@example.com","event":"results_ready"${results}${more}}`
    const headers = { 'Content-Type': 'application/json' }
    const once = { ...headers, 'Idempotency-Key': crypto.randomUUID() }
    const single = await server.call('POST', EVENTS, { body: text, headers })
    const kept = [0, 1].map(() => server.call('POST', EVENTS, { body: text, headers: once }))
    const batch = await server.call('POST', BATCH, { body: `{"events":[{},${text}]}`, headers })
    const overMcp = async (dryRun: boolean) => {
      const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_event","arguments":${text.slice(0, -1)},"dryRun":${dryRun}}}}`
      const { body } = await server.call('POST', '/mcp', { body: call, headers })
      return (body.result as { structuredContent: Record<string, unknown> }).structuredContent
    }
    const warnings = [
      single.body.warnings,
      batch.body.results?.[1]?.warnings,
      (await overMcp(true)).warnings,
      (await overMcp(false)).warnings,
    ]
    expect(warnings.map(codesOf)).toEqual(Array(4).fill(warned))
    expect(batch.body.warnings).toBeUndefined()
    const replays = (await Promise.all(kept)).filter(({ status }) => status === 202)
    for (const { body } of replays) expect(codesOf(body.warnings)).toEqual(warned)
    // what a warning says is the same everywhere, too, except for the fields that there are
    const [said, ...others] = warnings.map((all) => JSON.stringify(all ?? []).replaceAll(/ Known fields: [^.]*\./g, ''))
    for (const one of others) expect(one).toBe(said ?? '')
  })

  test('a replay repeats the warnings about names, also after they changed', async () => {
    const email = 'replayed@example.com'
    const send = () =>
      server.call('POST', EVENTS, {
        body: event({ email, firstName: 'Two' }),
        headers: { 'Idempotency-Key': 'names' },
      })
    await post({ email, firstName: 'One' })
    expect(codesOf((await send()).body.warnings)).toEqual([['firstName', 'name_not_taken']])
    await server.call('PATCH', CONTACTS, { body: { newsletter: server.first.appId, email, firstName: 'Two' } })
    const again = await send()
    expect([again.headers.get('idempotency-replayed'), codesOf(again.body.warnings)]).toEqual([
      'true',
      [['firstName', 'name_not_taken']],
    ])
  })

  test('an empty name is filled without a warning', async () => {
    const email = 'half@example.com'
    await post({ email, firstName: 'One' })
    const { body } = await post({ email, firstName: 'Two', lastName: 'Three' })
    expect(codesOf(body.warnings)).toEqual([['firstName', 'name_not_taken']])
    expect((await post({ email, firstName: 'One', lastName: 'Three' })).body.warnings).toBeUndefined()
  })

  test('a key that may not read learns nothing about names', async () => {
    const { apiKey: key } = await server.makeKey('ingest')
    await post({ email: 'quiet@example.com', firstName: 'One' })
    const body = event({ email: 'quiet@example.com', firstName: 'Two' })
    expect((await server.call('POST', EVENTS, { body, key })).body.warnings).toBeUndefined()
    const { body: batch } = await server.call('POST', BATCH, { body: { events: [body] }, key })
    expect(batch.results?.[0]?.warnings).toBeUndefined()
  })

  test('a duplicate key outside the events is a warning of the batch', async () => {
    const headers = { 'Content-Type': 'application/json' }
    const one = JSON.stringify(event())
    const { body } = await server.call('POST', BATCH, {
      body: `{"x":1,"x":2,"events":[{"a":1,"a":2}],"events":[${one}]}`,
      headers,
    })
    expect(codesOf(body.warnings)).toEqual([
      ['events', 'duplicate_key'],
      ['x', 'unknown_field'],
    ])
    expect(body.results).toMatchObject([{ ok: true }])
    expect(body.results?.[0]?.warnings).toBeUndefined()
  })
})

describe('names', () => {
  const names = async (email: string) => {
    const { body } = await server.call('GET', `/api/v1/contacts?app=${server.first.appId}&email=${email}`)
    const { firstName, lastName } = body.contact as Record<string, unknown>
    return [firstName, lastName]
  }
  test('set those of a new person, fill empty ones of a known one, never overwrite', async () => {
    const email = 'names@example.com'
    await post({ email, firstName: 'Ada' })
    expect(await names(email)).toEqual(['Ada', null])
    await post({ email, firstName: 'Other', lastName: 'Lovelace' })
    expect(await names(email)).toEqual(['Ada', 'Lovelace'])
    await post({ email, firstName: null, lastName: 'Byron' })
    expect(await names(email)).toEqual(['Ada', 'Lovelace'])
  })
})

describe('400', () => {
  test.each([
    ['app', 'Send the app ID from the Activation page as `app`.'],
    ['email', "Send the person's email address."],
    ['event', 'Send the name of the event, such as `results_ready`.'],
  ])('%s is missing', async (name, message) => {
    expectRefusal(await without(name), [400, wrongField(name, message)])
  })

  const NAME = 'Send 1 to 64 characters: letters A to Z and a to z, digits, `_`, `.`, `:` and `-`.'
  const OBJECT = 'Send a JSON object.'
  const TIME = 'Send an ISO 8601 time with a timezone, such as 2026-03-01T12:00:00Z.'
  const LARGE = 'Send less than 2 KB (2,048 bytes of compact JSON).'
  const TEXTS = 'With results_ready, send `url` and `headline` as strings, or leave them out.'
  const EMAIL = 'Send one complete email address, such as ada@example.com, without a name, brackets or quotes.'
  const PERSON = 'Send a name of up to 200 characters, without control characters.'
  test.each<[string, unknown, string]>([
    ['app', 7, 'Send the app ID as shown on the Activation page.'],
    ['app', '', 'Send the app ID as shown on the Activation page.'],
    ['email', 'Ada <ada@example.com>', EMAIL],
    ['email', 'a@example.com,b@example.com', EMAIL],
    ['email', 'ada@localhost', EMAIL],
    ['email', null, EMAIL],
    ['event', '', NAME],
    ['event', '$page', NAME],
    ['event', 'two words', NAME],
    ['event', 'x'.repeat(65), 'Send a name of 1 to 64 characters.'],
    ['properties', [], OBJECT],
    ['properties', null, OBJECT],
    ['properties', 'text', OBJECT],
    ['properties', { a: 'x'.repeat(2_040) }, LARGE],
    ['properties', { a: '€'.repeat(680) }, LARGE],
    ['properties', { url: 1 }, TEXTS],
    ['properties', { headline: null }, TEXTS],
    ['createContact', 'true', 'Send true or false.'],
    ['createContact', 1, 'Send true or false.'],
    ['firstName', 'x'.repeat(201), PERSON],
    ['lastName', 'a\nb', PERSON],
    ['occurredAt', 'yesterday', TIME],
    ['occurredAt', NOW, TIME],
    [
      'occurredAt',
      new Date(NOW + 600_001).toISOString(),
      'This is more than 10 minutes in the future. Check the clock and the timezone.',
    ],
  ])('%s %#', async (name, value, message) => {
    expectRefusal(await post({ [name]: value }), [400, wrongField(name, message)])
  })

  test('a conflict of app and newsletter names app', async () => {
    const message = '`app` and `newsletter` are two names for one field. Send one of them, or the same value in both.'
    expectRefusal(await post({ newsletter: server.second.appId }), [400, wrongField('app', message)])
  })

  test('reports several fields at once, the first on top', async () => {
    const { status, body } = await server.call('POST', EVENTS, { body: { email: 'ada', createContact: 1 } })
    const errors = [
      { field: 'app', code: 'missing', message: 'Send the app ID from the Activation page as `app`.' },
      { field: 'email', code: 'invalid', message: EMAIL },
      { field: 'event', code: 'missing', message: 'Send the name of the event, such as `results_ready`.' },
      { field: 'createContact', code: 'invalid', message: 'Send true or false.' },
    ]
    expect([status, body]).toEqual([400, no('invalid_field', { field: 'app', message: errors[0]?.message, errors })])
  })

  const RAW: [string, string, string][] = [
    [
      'a number beyond 2^53',
      '{"a":9007199254740993}',
      'A number in this field is too large to store exactly. Send it as a string.',
    ],
    [
      'a number beyond all',
      '{"a":1e999}',
      'A number in this field is too large to store exactly. Send it as a string.',
    ],
    [
      'half of a pair',
      '{"a":"\\ud83d"}',
      'Text in this field contains half of a surrogate pair. Send complete Unicode characters.',
    ],
    [
      '33 levels',
      `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`,
      'Objects and arrays in this field are nested too deeply. Use fewer levels.',
    ],
  ]
  test.each(RAW)('%s is 400 naming the field it is in', async (_name, properties, message) => {
    const body = `{"app":"${server.first.appId}","email":"ada@example.com","event":"e","properties":${properties}}`
    expectRefusal(await server.call('POST', EVENTS, { body }), [400, wrongField('properties', message)])
  })

  test('input is not echoed', async () => {
    const canary = 'canary-7f3a'
    const bodies = ['app', 'email', 'event', 'firstName', 'occurredAt', 'createContact', 'properties'].map((name) => ({
      ...event(),
      [name]: name === 'properties' ? [canary] : `${canary}\u0007`,
    }))
    for (const body of bodies) {
      const { status, text } = await server.call('POST', EVENTS, { body })
      expect([status < 500, status >= 400, text.includes(canary)]).toEqual([true, true, false])
    }
  })
})

describe('404', () => {
  test('an unknown person without createContact', async () => {
    const message =
      'This app has no person with this email. Send `createContact: true` with the event to add the person.'
    const expected = no('contact_not_found', { message })
    expectRefusal(await post({ email: 'nobody@example.com', createContact: false }), [404, expected])
    expectRefusal(await post({ email: 'nobody@example.com', createContact: undefined }), [404, expected])
  })

  test('a site ID as app is recognized', async () => {
    const message = 'This is a site ID. Send the app ID, which starts with `app_`. The Activation page shows both.'
    expectRefusal(await post({ app: 'site_none' }), [404, no('app_not_found', { message })])
  })

  test('an app of another account and an unknown one get the same answer', async () => {
    const [others, nobodys] = [await post({ app: server.second.appId }), await post({ app: 'app_none' })]
    expectRefusal(others, [404, no('app_not_found')])
    const plain = ({ text, body }: typeof others) => text.replace(String(body.requestId), '')
    expect(plain(others)).toBe(plain(nobodys))
    expect([...others.headers.keys()]).toEqual([...nobodys.headers.keys()])
  })
})
