import { readStored } from '../data-folder.ts'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Answer, CONTACTS, createTestServer, EVENTS, HOUR, NOW, type TestServer } from '../helper.ts'
import { expectRefusal, no, PERSON_ID, wrongField } from './expected.ts'

let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
})
afterAll(() => server.close())

const AT = new Date(NOW).toISOString()
const UNKNOWN = 'This app has no person with this email. Check the email, or add the person first.'
let people = 0
const newEmail = (): string => `p${(people += 1)}@example.com`

const send = (method: string, email: string, more: object = {}): Promise<Answer> =>
  server.call(method, CONTACTS, { body: { newsletter: server.first.appId, email, ...more } })
const add = (email: string, more: object = {}) => send('POST', email, more)
const patch = (email: string, more: object = {}) => send('PATCH', email, more)
const find = (email: string) =>
  server.call('GET', `${CONTACTS}?app=${server.first.appId}&email=${encodeURIComponent(email)}`)

const contact = (email: string, more: object = {}) => ({
  id: PERSON_ID,
  app: server.first.appId,
  email,
  firstName: null,
  lastName: null,
  tags: [],
  fields: {},
  source: null,
  status: 'subscribed',
  createdAt: AT,
  updatedAt: AT,
  firstSeenAt: null,
  lastSeenAt: null,
  lastEventAt: null,
  ...more,
})
const saved = (created: boolean, record: object, more: object = {}) => ({
  ok: true,
  contactId: PERSON_ID,
  created,
  contact: record,
  ...more,
})
/** What is stored of a person, as GET shows it. */
const stored = async (email: string) => (await find(email)).body.contact as Record<string, unknown>

describe('201', () => {
  test('a new person with all fields', async () => {
    const email = newEmail()
    const all = { firstName: 'Ada', lastName: 'Lovelace', tags: ['a', 'b', 'a'], fields: { n: 1, t: 'x', b: true } }
    const { status, body, headers } = await add(` ${email.toUpperCase()} `, { ...all, source: 'page', ip: '::1' })
    const expected = contact(email, { ...all, tags: ['a', 'b'], source: 'page' })
    expect([status, body]).toEqual([201, saved(true, expected)])
    expect(body.contactId).toBe((body.contact as Record<string, unknown>).id)
    expect(headers.get('ratelimit-policy')).toBe('600;w=3600')
    expect(await stored(email)).toEqual(expected)
  })

  test('app and newsletter are one field', async () => {
    const body = { app: server.first.appId, email: newEmail() }
    expect((await server.call('POST', CONTACTS, { body })).status).toBe(201)
  })

  test('fields named like parts of JavaScript are plain data, also after a merge', async () => {
    const email = newEmail()
    const body = (fields: string) => `{"app":"${server.first.appId}","email":"${email}","fields":${fields}}`
    await server.call('POST', CONTACTS, { body: body('{"__proto__":"x","constructor":1}') })
    const { text } = await server.call('POST', CONTACTS, { body: body('{"toString":"y","constructor":null}') })
    expect(text).toContain('"fields":{"__proto__":"x","toString":"y"}')
  })
})

describe('200 of POST', () => {
  test('merges: absent fields stay, null clears, tags are added, source and status stay', async () => {
    const email = newEmail()
    const before = { firstName: 'Ada', lastName: 'L', tags: ['a'], fields: { x: 1, y: 2 }, source: 'first' }
    await add(email, before)
    expect((await add(email)).body).toEqual(saved(false, contact(email, before)))
    server.clock.tick(HOUR)
    const changes = { lastName: null, tags: ['b'], fields: { x: null, z: 'new' }, source: 'second' }
    const { status, body } = await add(email, changes)
    const after = { firstName: 'Ada', tags: ['a', 'b'], fields: { y: 2, z: 'new' }, source: 'first' }
    const record = { ...contact(email, after), updatedAt: new Date(NOW + HOUR).toISOString() }
    expect([status, body]).toEqual([200, saved(false, record)])
    server.clock.tick(-HOUR)
  })

  test('removeTags is ignored with a warning', async () => {
    const email = newEmail()
    await add(email, { tags: ['a'] })
    const { status, body } = await add(email, { removeTags: ['a'] })
    const message = 'This was ignored. Only PATCH removes tags.'
    const warnings = [{ field: 'removeTags', code: 'ignored_field', message }]
    expect([status, body]).toEqual([200, saved(false, contact(email, { tags: ['a'] }), { warnings })])
  })
})

describe('200 of PATCH', () => {
  test('changes what is sent and nothing else', async () => {
    const email = newEmail()
    await add(email, { firstName: 'Ada', tags: ['a', 'b'], fields: { x: 1 }, source: 'first' })
    const { status, body } = await patch(email, { tags: ['c'], removeTags: ['a', 'z'], source: 'second' })
    const record = contact(email, { firstName: 'Ada', tags: ['b', 'c'], fields: { x: 1 }, source: 'second' })
    expect([status, body]).toEqual([200, saved(false, record)])
    expect((await patch(email, { source: null })).body.contact).toMatchObject({ firstName: 'Ada', source: null })
  })

  test('an unknown field gets a warning', async () => {
    const email = newEmail()
    await add(email)
    expect((await patch(email, { removetags: ['a'] })).body.warnings).toEqual([
      {
        field: 'removetags',
        code: 'unknown_field',
        message: expect.stringMatching(/^Unknown field, ignored. Known fields: `app`, `email`, .*, `source`, `ip`\.$/),
      },
    ])
  })
})

describe('DELETE', () => {
  test('erases the person and their events; a second call finds no one', async () => {
    const email = newEmail()
    await add(email, { tags: ['gone'] })
    await server.call('POST', EVENTS, { body: { app: server.first.appId, email, event: 'e' } })
    const { status, body, headers } = await send('DELETE', email.toUpperCase(), { reason: 1 })
    expect([status, body]).toEqual([
      200,
      {
        ok: true,
        warnings: [
          {
            field: 'reason',
            code: 'unknown_field',
            message: expect.stringMatching(/^Unknown field, ignored. Known fields: `/),
          },
        ],
      },
    ])
    expect(headers.has('ratelimit-limit')).toBe(false)
    for (const path of [CONTACTS, EVENTS]) {
      const gone = await server.call('GET', `${path}?app=${server.first.appId}&email=${email}`)
      expectRefusal(gone, [404, no('contact_not_found', { message: UNKNOWN })])
    }
    const tagged = await server.call('GET', `${CONTACTS}?app=${server.first.appId}&tag=gone`)
    expect(tagged.body).toEqual({ ok: true, data: [], nextCursor: null })
    expectRefusal(await send('DELETE', email), [404, no('contact_not_found', { message: UNKNOWN })])
  })

  test('an erased person who returns is a new person', async () => {
    const email = newEmail()
    const before = await add(email, { firstName: 'Ada' })
    expect((await send('DELETE', email)).body).toEqual({ ok: true })
    const after = await add(email)
    expect([after.status, after.body]).toEqual([201, saved(true, contact(email))])
    expect(after.body.contactId).not.toBe(before.body.contactId)
  })

  test('without a body, the answer says where fields go', async () => {
    const message =
      'The Content-Type is not JSON. Send one JSON object, with the header Content-Type: application/json.'
    const answer = await server.call('DELETE', `${CONTACTS}?app=${server.first.appId}&email=ada@example.com`)
    expectRefusal(answer, [415, no('unsupported_media_type', { message })])
  })

  test('has no use for an Idempotency-Key', async () => {
    const body = { newsletter: server.first.appId, email: newEmail() }
    const answer = await server.call('DELETE', CONTACTS, { body, headers: { 'Idempotency-Key': 'é' } })
    expect(answer.status).toBe(404)
  })
})

describe('404', () => {
  test('PATCH never creates anyone', async () => {
    const email = newEmail()
    expectRefusal(await patch(email, { firstName: 'A' }), [404, no('contact_not_found', { message: UNKNOWN })])
    expect((await find(email)).status).toBe(404)
  })

  test.each(['POST', 'PATCH', 'DELETE'])('%s: an app of another account looks unknown', async (method) => {
    const [others, nobodys] = await Promise.all(
      [server.second.appId, 'app_none'].map((newsletter) => send(method, 'ada@example.com', { newsletter })),
    )
    expectRefusal(others as Answer, [404, no('app_not_found')])
    expectRefusal(nobodys as Answer, [404, no('app_not_found')])
  })

  test('a person of another account is unknown', async () => {
    const email = newEmail()
    const body = { newsletter: server.second.appId, email }
    expect((await server.call('POST', CONTACTS, { body, key: server.second.apiKey })).status).toBe(201)
    expect((await find(email)).status).toBe(404)
    const listed = await server.call('GET', `${CONTACTS}?app=${server.second.appId}`)
    expectRefusal(listed, [404, no('app_not_found')])
  })
})

describe('400', () => {
  const TEXT = 'Send each tag as a string of 1 to 64 characters, without control characters.'
  test.each<[string, unknown, string]>([
    ['email', 'ada', 'Send one complete email address, such as ada@example.com, without a name, brackets or quotes.'],
    ['newsletter', 7, 'Send the app ID as shown on the Activation page.'],
    ['firstName', 1, 'Send a name of up to 200 characters, without control characters.'],
    ['tags', 'a', 'Send an array of strings.'],
    ['tags', [''], TEXT],
    ['tags', ['x'.repeat(65)], TEXT],
    ['tags', Array.from({ length: 51 }, (_, i) => `t${i}`), 'Send at most 50 tags at a time.'],
    ['fields', [], 'Send a JSON object.'],
    ['fields', { a: {} }, 'Send strings, numbers, true, false or null as values.'],
    [
      'fields',
      { 'a b': 1 },
      'Use 1 to 64 characters for each name: letters A to Z and a to z, digits, underscores, periods and hyphens.',
    ],
    ['fields', { a: 'x'.repeat(1001) }, 'Send values of up to 1,000 characters.'],
    ['fields', Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`k${i}`, 1])), 'Send at most 100 keys.'],
    ['source', '', 'Send a string of 1 to 64 characters, without control characters.'],
    ['ip', '203.0.113.7:80', "Send the visitor's IPv4 or IPv6 address, without port or zone."],
  ])('%s %#', async (name, value, message) => {
    for (const method of ['POST', 'PATCH']) {
      expectRefusal(await send(method, 'ada@example.com', { [name]: value }), [400, wrongField(name, message)])
    }
  })

  test('the same tag to add and to remove, on PATCH', async () => {
    const message = 'A tag is in both `tags` and `removeTags`. Send it in one of them.'
    const answer = await patch('ada@example.com', { tags: ['a', 'b'], removeTags: ['b'] })
    expectRefusal(answer, [400, wrongField('removeTags', message)])
  })

  test.each(['POST', 'PATCH', 'DELETE'])('%s names newsletter when the app ID is missing', async (method) => {
    const message = 'Send the app ID from the Activation page as `newsletter`.'
    const answer = await send(method, 'ada@example.com', { newsletter: undefined })
    expectRefusal(answer, [400, wrongField('newsletter', message)])
  })
})

describe('400 if the merged person would exceed a limit', () => {
  test.each([
    ['tags_full', 'tags', 'This person would have more than 200 tags. Remove some first, with PATCH and `removeTags`.'],
    [
      'fields_full',
      'fields',
      'This person would have more than 100 keys or 16 KB in `fields`. To remove keys, send them as null.',
    ],
  ])('%s', async (refusal, field, message) => {
    const refuse = async () => ({ refusal: refusal as 'internal_error' })
    const full = await createTestServer({
      wrapStore: (store) => ({ ...store, addContact: refuse, updateContact: refuse }),
    })
    for (const method of ['POST', 'PATCH']) {
      const body = { newsletter: full.first.appId, email: 'ada@example.com' }
      expectRefusal(await full.call(method, CONTACTS, { body }), [400, wrongField(field, message)])
    }
    await full.close()
  })
})

test('the visitor IP is not stored', async () => {
  const email = newEmail()
  await add(email, { ip: '203.0.113.99' })
  expect((await find(email)).text).not.toContain('203.0.113.99')
  const stored = await readStored(server.folder)
  expect([stored.includes(email), stored.includes('203.0.113.99')]).toEqual([true, false])
  expect(server.logged()).not.toContain('203.0.113.99')
})
