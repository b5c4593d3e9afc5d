import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { makeApiKey } from '../../src/accounts/api-keys.ts'
import { WRONG_KEY } from '../../src/http/request-input.ts'
import {
  API,
  BATCH,
  CONTACTS,
  createTestServer,
  EVENTS,
  type Given,
  type TestServer,
  useSharedServer,
} from '../helper.ts'
import { codeOf, expectRefusal, no, PERSON_ID } from '../api/expected.ts'

const openServer = useSharedServer()
let server: TestServer
beforeAll(async () => {
  server = await openServer()
})
afterAll(() => server.close())

const DELIVERIES = `${API}/deliveries`

const WRITES = [
  ['POST', EVENTS],
  ['POST', BATCH],
  ['POST', CONTACTS],
  ['PATCH', CONTACTS],
  ['DELETE', CONTACTS],
  ['POST', `${DELIVERIES}/cancel`],
  ['POST', `${DELIVERIES}/send-now`],
] as const
const READS = [
  ['GET', EVENTS],
  ['GET', CONTACTS],
  ['GET', DELIVERIES],
] as const

describe('401', () => {
  const unlike = makeApiKey()
  const FORMS: [name: string, header: string | null][] = [
    ['no header', null],
    ['nothing', ''],
    ['no key', 'Bearer'],
    ['another scheme', 'Basic KEY'],
    ['the key alone', 'KEY'],
    ['something after the key', 'Bearer KEY x'],
    ['two keys', 'Bearer KEY, Bearer KEY'],
    ['a key that nobody has', `Bearer ${unlike}`],
    ['a slip of the hand', 'Bearer KEYx'],
    ['another case', 'Bearer UPPER'],
    ['the identity secret', 'Bearer is_abc'],
    ['the site ID', 'Bearer site_abc'],
    ['the app ID', 'Bearer app_abc'],
  ]
  const send = (method: string, path: string, header: string | null) => {
    const key = server.first.apiKey
    const sent = header?.replaceAll('KEY', key).replace('UPPER', key.toUpperCase())
    const headers: Record<string, string> = sent === undefined ? {} : { Authorization: sent }
    return server.call(method, path, { key: null, headers })
  }

  test.each(FORMS)('%s', async (_name, header) => {
    for (const [method, path] of [...WRITES, ...READS]) {
      const answer = await send(method, path, header)
      expectRefusal(answer, [401, no('invalid_api_key', { hint: WRONG_KEY.hint })])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test('in one body, whatever was sent', async () => {
    const answers = await Promise.all(
      [...WRITES, ...READS, ['POST', '/mcp'] as const].map(async ([method, path]) => {
        const bodies = await Promise.all(
          FORMS.map(async ([, header]) => {
            const { text, headers } = await send(method, path, header)
            return text.replace(headers.get('x-request-id') ?? '', '')
          }),
        )
        return new Set(bodies).size
      }),
    )
    expect(new Set(answers)).toEqual(new Set([1]))
  })

  test('the scheme in any case', async () => {
    const headers = { Authorization: `bEARER  ${server.first.apiKey}` }
    expect((await server.call('GET', EVENTS, { key: null, headers })).status).toBe(400)
  })

  test('a key that was revoked, on the very next request', async () => {
    const { keyId, apiKey } = await server.makeKey()
    const path = `${EVENTS}?app=${server.first.appId}`
    expect((await server.call('GET', path, { key: apiKey })).status).toBe(200)
    await server.revokeKey(keyId)
    const { hint } = WRONG_KEY
    expectRefusal(await server.call('GET', path, { key: apiKey }), [401, no('invalid_api_key', { hint })])
  })

  test('a revoked and a wrong key get the same answer except for the requestId', async () => {
    const { keyId, apiKey } = await server.makeKey()
    await server.revokeKey(keyId)
    const [revoked, wrong] = [
      await server.call('GET', EVENTS, { key: apiKey }),
      await server.call('GET', EVENTS, { key: makeApiKey() }),
    ]
    expect(revoked.text.replace(String(revoked.body.requestId), '')).toBe(
      wrong.text.replace(String(wrong.body.requestId), ''),
    )
    expect([...revoked.headers.keys()]).toEqual([...wrong.headers.keys()])
  })
})

describe('the order of checks', () => {
  const LARGE = JSON.stringify({ a: 'x'.repeat(300_000) })
  const TEXT = { 'Content-Type': 'text/plain' }
  const INVALID = { app: 'app_none', events: 'none', email: 'nobody' }

  test.each(WRITES)('401 before 415, 413 and 400 (%s %s)', async (method, path) => {
    for (const given of [{ body: '{', headers: TEXT }, { body: LARGE }, { body: '{' }, { body: INVALID }]) {
      expect(codeOf(await server.call(method, path, { ...given, key: null }))).toBe('401 invalid_api_key')
    }
  })
  test.each(WRITES)('415 before 413, 413 before 400 (%s %s)', async (method, path) => {
    const wrongType = await server.call(method, path, { body: LARGE, headers: TEXT })
    expect(codeOf(wrongType)).toBe('415 unsupported_media_type')
    expect(codeOf(await server.call(method, path, { body: `${LARGE}{` }))).toBe('413 too_large')
    expect(codeOf(await server.call(method, path, { body: '{' }))).toBe('400 invalid_json')
  })
  test('400 before 404 app', async () => {
    for (const [method, path] of WRITES.filter(([, one]) => one !== BATCH)) {
      const body = { app: 'app_none', email: 'nobody', event: 'e' }
      expect(codeOf(await server.call(method, path, { body }))).toBe('400 invalid_field')
    }
    for (const [, path] of READS) {
      expect(codeOf(await server.call('GET', `${path}?app=app_none&limit=0`))).toBe('400 invalid_field')
      expect(codeOf(await server.call('GET', `${path}?app=app_none`))).toBe('404 app_not_found')
    }
  })
  test('400 for an Idempotency-Key before 404 app', async () => {
    const body = { app: 'app_none', email: 'ada@example.com', event: 'e' }
    const headers = { 'Idempotency-Key': '' }
    expect(codeOf(await server.call('POST', EVENTS, { body, headers }))).toBe('400 invalid_field')
    expect(codeOf(await server.call('POST', BATCH, { body: { events: [body] }, headers }))).toBe('400 invalid_field')
  })

  test('404 app before 429, 429 before 404 contact, 404 contact before 403 plan', async () => {
    const full = await createTestServer()
    const post = (more: Given['body']) =>
      full.call('POST', EVENTS, {
        body: { app: full.first.appId, email: 'ada@example.com', event: 'e', ...Object(more) },
      })
    await full.setPlan({ newPeoplePerMonth: 0 })
    expect(codeOf(await post({}))).toBe('404 contact_not_found')
    expect(codeOf(await post({ createContact: true }))).toBe('403 plan_limit_reached')
    await full.setPlan({ eventsPerHour: 2 })
    expect(codeOf(await post({ app: 'app_none' }))).toBe('404 app_not_found')
    expect(codeOf(await post({}))).toBe('429 rate_limited')
    expect(codeOf(await post({ createContact: true }))).toBe('429 rate_limited')
    expect(codeOf(await post({ email: '' }))).toBe('400 invalid_field')
    await full.close()
  })
})

describe('403 insufficient_scope', () => {
  test('a write-only key cannot read, and is refused before its query is checked', async () => {
    const { apiKey: key } = await server.makeKey('ingest')
    for (const [method, path] of READS) {
      expectRefusal(await server.call(method, path, { key }), [403, no('insufficient_scope')])
    }
    const body = { app: server.first.appId, email: 'ingest@example.com', event: 'e', createContact: true }
    expect((await server.call('POST', EVENTS, { body, key })).status).toBe(202)
    const known = { email: 'known@example.com', app: server.first.appId }
    await server.call('POST', CONTACTS, { body: { ...known, firstName: 'Secret' } })
    for (const method of ['POST', 'PATCH']) {
      const { status, body: saved } = await server.call(method, CONTACTS, { body: { ...known, lastName: 'L' }, key })
      expect([status, saved]).toEqual([200, { ok: true, contactId: PERSON_ID, created: false }])
      expect(Object.keys((await server.call(method, CONTACTS, { body: known })).body)).toContain('contact')
    }
  })
  test('a write-only key cannot erase, and is refused before its body is checked', async () => {
    const { apiKey: key } = await server.makeKey('ingest')
    const body = { email: 'kept@example.com', app: server.first.appId }
    await server.call('POST', CONTACTS, { body })
    for (const sent of [body, '{'])
      expectRefusal(await server.call('DELETE', CONTACTS, { body: sent, key }), [403, no('insufficient_scope')])
    expect((await server.call('DELETE', CONTACTS, { body })).status).toBe(200)
  })
  test.each(['standard', 'manage'] as const)('a key with scope %s reads', async (scope) => {
    const { apiKey: key } = await server.makeKey(scope)
    expect((await server.call('GET', `${CONTACTS}?app=${server.first.appId}`, { key })).status).toBe(200)
  })
})

describe('browsers', () => {
  test('a key sent by a browser is flagged, and gets no CORS header', async () => {
    const { keyId, apiKey: key } = await server.makeKey()
    const headers = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
    const body = { app: server.first.appId, email: 'ada@example.com', event: 'e', createContact: true }
    const asked: [string, string, Given][] = [
      ['POST', EVENTS, { body }],
      ['GET', `${EVENTS}?app=${server.first.appId}`, {}],
      ['OPTIONS', EVENTS, { headers: { 'Access-Control-Request-Method': 'POST' } }],
      ['GET', `${API}/openapi.json`, {}],
      ['GET', `${API}/nothing`, {}],
      ['POST', EVENTS, { body: '{' }],
    ]
    for (const [method, path, given] of asked) {
      const answer = await server.call(method, path, { ...given, key, headers: { ...headers, ...given.headers } })
      const names = [...answer.headers.keys()]
      expect(names.filter((name) => name.startsWith('access-control') || name === 'set-cookie')).toEqual([])
    }
    const { access, store } = server.parts()
    await access.saveUses()
    const keys = await store.listKeys(server.first.accountId)
    const seen = keys.filter((one) => one.seenInBrowserAt !== null).map((one) => one.id)
    expect(seen).toEqual([keyId])
  })
})
