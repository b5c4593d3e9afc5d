/** POST /c: what is taken, what is refused, and that a refusal leaves nothing behind. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { useClosing } from '../closing.ts'
import { DAY, NOW, type Options, type TestServer } from '../helper.ts'
import { callTool } from '../mcp/client.ts'
import { codeOf, EVENT_ID, no, PERSON_ID, wrongField } from './expected.ts'
import {
  addPerson,
  expectNo,
  expectNothingSaved,
  expectOpen,
  here,
  leave,
  listEvents,
  newBatchId,
  openWithAda,
  ORIGIN,
  page,
  report,
  send,
  track,
  useSharedWithAda,
} from './reports.ts'

let server: TestServer
beforeAll(async () => {
  server = await openWithAda()
  await server.setPlan({ snippetLimits: false })
})
afterAll(() => server.close())

const keep = useClosing()
const openShared = useSharedWithAda()
const open = async (options?: Options): Promise<TestServer> => keep(await openWithAda(options))

const post = (more: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  send(server, report(server.first, more), { headers })

describe('202', () => {
  test('stores a page view and an action of a request as events, not a leave', async () => {
    const one = await open()
    const events = [page('/results/1', 3_000), track('signed.up', '/results/1', 2_000), leave('/results/1', 0)]
    const answer = await send(one, report(one.first, { events }))
    expect([answer.status, answer.text]).toEqual([202, '{"ok":true}'])
    expect(Object.fromEntries(answer.headers)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Retry-After',
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
      'x-request-id': expect.stringMatching(/^req_/),
    })
    const common = { id: EVENT_ID, email: 'ada@example.com', contactId: PERSON_ID, properties: null, via: 'browser' }
    const at = (ms: number) => ({
      occurredAt: new Date(NOW - ms).toISOString(),
      receivedAt: new Date(NOW).toISOString(),
    })
    expect(await listEvents(one)).toEqual([
      { ...common, type: 'action', event: 'signed.up', path: '/results/1', ...at(2_000) },
      { ...common, type: 'page', event: null, path: '/results/1', ...at(3_000) },
    ])
    await one.restart()
    expect(await listEvents(one)).toHaveLength(2)
  })

  test('a return to an open page is not a page view', async () => {
    const one = await openShared()
    const app = one.first.appId
    expect(codeOf(await send(one, report(one.first, { events: [page('/a', 5_000), leave('/a', 4_000)] })))).toBe(
      '202 true',
    )
    const counted = async () => {
      const [events, contact, stats] = await Promise.all([
        listEvents(one),
        one.call('GET', `/api/v1/contacts?app=${app}&email=ada@example.com`),
        callTool(one, 'get_stats', { app }).then(({ data }) => data),
      ])
      return { events, contact: contact.body.contact, stats }
    }
    const before = await counted()
    expect(before.events).toHaveLength(1)
    expect(JSON.stringify(before.stats)).toContain('"pageViews":1')
    for (let i = 0; i < 5; i += 1) {
      one.clock.tick(1_000)
      expect(codeOf(await send(one, report(one.first, { events: [here('/a'), leave('/a')] })))).toBe('202 true')
    }
    expect(codeOf(await send(one, report(one.first, { events: [here('/a')] })))).toBe('202 true')
    expect(await counted()).toEqual(before)
  })

  test('stores the items of a request in the order they happened', async () => {
    const one = await openShared()
    const events = [track('saved', '/b', 70), page('/b', 100), track('opened', '/b', 70), page('/c', 10)]
    expect(codeOf(await send(one, report(one.first, { events })))).toBe('202 true')
    const stored = (await listEvents(one)).map(({ event, path }) => event ?? path)
    expect(stored).toEqual(['/c', 'opened', 'saved', '/b'])
  })

  test('drops query and fragment without a trace', async () => {
    const one = await openShared()
    await one.setPlan({ snippetLimits: false })
    const events = ['/a?token=canary', '/b#canary', '/c?#canary', '/?canary'].map((path) => page(path))
    expect(codeOf(await send(one, report(one.first, { events })))).toBe('202 true')
    const stored = await listEvents(one)
    expect(stored.map(({ path }) => path)).toEqual(['/', '/c', '/b', '/a'])
    expect(JSON.stringify(stored) + one.logged()).not.toContain('canary')
  })

  test.each<[string, Record<string, unknown>]>([
    ['a path of 1,024 characters', { events: [page(`/${'x'.repeat(1_023)}`)] }],
    ['a longer one whose rest is a query', { events: [page(`/?${'x'.repeat(2_000)}`)] }],
    ['20 items', { events: Array.from({ length: 20 }, () => page()) }],
    ['24 hours old', { events: [page('/', DAY)] }],
    ['fractions of a millisecond', { events: [page('/', 0.25)] }],
    ['an id of 64 printable characters', { id: `${newBatchId()} ~`.padEnd(64, '!') }],
    ['an unknown field', { title: 'x', events: [{ ...page(), title: 'x' }] }],
    ['spaces and capitals around the email', { email: ' ADA@Example.com ' }],
  ])('%s', async (_name, more) => {
    const before = (await listEvents(server)).length
    expect(codeOf(await post(more))).toBe('202 true')
    const stored = await listEvents(server)
    const items = (more.events as unknown[] | undefined)?.length ?? 1
    expect(stored.length).toBe(Math.min(100, before + items))
    expect(stored[0]?.email).toBe('ada@example.com')
  })

  test('an IDN domain is signed as written and stored as punycode', async () => {
    await addPerson(server, 'ada@xn--bcher-kva.example')
    expect(codeOf(await post({ email: 'ada@bücher.example' }))).toBe('202 true')
    expect((await listEvents(server))[0]?.email).toBe('ada@xn--bcher-kva.example')
  })

  test.each([
    ['no type', ''],
    ['JSON', 'application/json'],
    ['a form', 'application/x-www-form-urlencoded'],
  ])('a body with %s', async (_name, type) => {
    expect(codeOf(await post({}, { 'Content-Type': type }))).toBe('202 true')
  })

  test('an unknown person with a valid signature: nothing is stored, and the answer is the same', async () => {
    await expectNothingSaved(server, async () => {
      const answer = await post({ email: 'nobody@example.com' })
      expect([answer.status, answer.text]).toEqual([202, '{"ok":true}'])
    })
    const found = await server.call('GET', `/api/v1/contacts?app=${server.first.appId}&email=nobody@example.com`)
    expect(found.status).toBe(404)
  })
})

describe('the same batch id', () => {
  test('is stored once for a person in 48 hours, also across a restart', async () => {
    const one = await open()
    await addPerson(one, 'bob@example.com')
    const body = report(one.first, { id: 'once', events: [page('/a'), track('x', '/a')] })
    const again = () => send(one, body)
    expect(codeOf(await again())).toBe('202 true')
    expect((await again()).text).toBe('{"ok":true}')
    const other = report(one.first, { email: 'bob@example.com', id: 'once', events: [page('/b')] })
    expect(codeOf(await send(one, other))).toBe('202 true')
    expect(await listEvents(one)).toHaveLength(3)
    await one.restart()
    one.clock.tick(2 * DAY - 1)
    await again()
    expect(await listEvents(one)).toHaveLength(3)
    one.clock.tick(1)
    await again()
    expect(await listEvents(one)).toHaveLength(5)
  })

  test('sent twice at once is stored once', async () => {
    const one = await openShared()
    const body = report(one.first, { id: 'twice' })
    const answers = await Promise.all([send(one, body), send(one, body), send(one, body)])
    expect(answers.map(codeOf)).toEqual(['202 true', '202 true', '202 true'])
    expect(await listEvents(one)).toHaveLength(1)
  })
})

const SENTENCES = {
  v: 'Eventpost does not support this version of the script. Copy the script tag again, or send 1.',
  site: 'Send the site ID from the Activation page, as `data-site` in the script tag.',
  email: 'Call identify with one complete email address, without a name, brackets or quotes.',
  ascii: 'Use only ASCII characters before the @, such as letters without accents.',
  signature: "Call identify with the signature that your server computes from the user's email.",
  id: 'Send 1 to 64 printable ASCII characters. A retry has the same ID.',
  events: 'Send 1 to 20 items.',
  type: 'Send each item with the type `page`, `leave`, `here` or `track`.',
  path: 'Send a path that starts with `/`, of up to 1,024 characters, without control characters.',
  age: 'Send the age in milliseconds, from 0 to 24 hours.',
  name: 'Send an action name of 1 to 64 letters, digits, `_`, `.`, `:` or `-`.',
} as const

describe('400', () => {
  const items = (item: unknown) => ({ events: [page(), item] })
  const bad: [field: string, sentence: keyof typeof SENTENCES, values: unknown[]][] = [
    ['v', 'v', [undefined, 0, 2, '1', null]],
    ['site', 'site', [undefined, '', 7, null]],
    ['email', 'email', [undefined, '', 7, null, 'ada', 'Ada <ada@example.com>', 'a@b.example,c@d.example']],
    ['email', 'ascii', ['zoë@example.com']],
    ['signature', 'signature', [undefined, '', 7, null, []]],
    ['id', 'id', [undefined, '', 7, 'x'.repeat(65), 'é', 'a\n']],
    ['events', 'events', [undefined, [], {}, 'x', Array.from({ length: 21 }, () => page())]],
  ]
  test.each(bad.flatMap(([field, sentence, values]) => values.map((value) => [field, value, sentence] as const)))(
    '%s as %j',
    async (field, value, sentence) => {
      await expectNothingSaved(server, async () => {
        const body = { ...report(server.first), [field]: value }
        expectNo(await send(server, body), 400, wrongField(field, SENTENCES[sentence]))
      })
    },
  )

  test.each<[keyof typeof SENTENCES, unknown]>([
    ['type', 'x'],
    ['type', null],
    ['type', {}],
    ['type', { ...page(), type: 'event' }],
    ['type', { ...page(), type: 'toString' }],
    ['type', { ...page(), type: ['page'] }],
    ['path', page('')],
    ['path', page('results')],
    ['path', page('?/a')],
    ['path', page('https://app.first.example/a')],
    ['path', page('/a\u0000')],
    ['path', page('/a\u0085')],
    ['path', page(`/${'x'.repeat(1_024)}`)],
    ['path', { type: 'page', age: 0 }],
    ['age', page('/', -1)],
    ['age', page('/', DAY + 1)],
    ['age', { ...page(), age: '0' }],
    ['age', { type: 'page', path: '/' }],
    ['name', track('')],
    ['name', track('$page')],
    ['name', track('a b')],
    ['name', track('x'.repeat(65))],
    ['name', { type: 'track', path: '/', age: 0 }],
  ])('an item with a bad %s: %j; its neighbours are not stored', async (sentence, item) => {
    await expectNothingSaved(server, async () => {
      expectNo(await post(items(item)), 400, wrongField('events', SENTENCES[sentence]))
    })
  })

  test('several fields at once, in their order', async () => {
    const answer = await send(server, { v: 1, site: server.first.siteId, id: 'x' })
    const errors = (['email', 'signature', 'events'] as const).map((field) => ({
      field,
      code: 'missing',
      message: SENTENCES[field],
    }))
    expectNo(answer, 400, no('invalid_field', { field: 'email', message: SENTENCES.email, errors }))
  })

  test.each(['', '{', '[]', '"x"', 'null', '\uFEFF{}'])('not a JSON object: %j', async (body) => {
    const message = expect.stringMatching(/^The body (is not one JSON object|must be encoded|is not valid JSON)/)
    expectNo(await send(server, body), 400, no('invalid_json', { message }))
  })

  test('a lone surrogate is reported without echoing input', async () => {
    const body = JSON.stringify(report(server.first, { events: [page('/canary')] })).replace('canary', '\\ud83dcanary')
    const answer = await send(server, body)
    expect([answer.status, answer.body.field]).toEqual([400, 'events'])
    expect(answer.text).not.toContain('canary')
  })
})

describe('other answers', () => {
  test('413 over 32 KB, announced or not', async () => {
    const message = 'The body is too large. Send at most 32 KB.'
    const body = JSON.stringify(report(server.first))
    expect(codeOf(await send(server, body.padEnd(32 * 1024)))).toBe('202 true')
    await expectNothingSaved(server, async () => {
      expectNo(await send(server, body.padEnd(32 * 1024 + 1)), 413, no('too_large', { message }))
      const stream = new Blob([body.padEnd(40_000)]).stream()
      expectNo(await send(server, stream), 413, no('too_large', { message }))
    })
  })

  test('OPTIONS is 204 and cacheable for a day', async () => {
    const headers = { Origin: ORIGIN, 'Access-Control-Request-Method': 'POST' }
    const answer = await server.call('OPTIONS', '/c', { key: null, headers })
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'Content-Type',
      'access-control-max-age': '86400',
    })
    expectOpen(answer)
  })

  test.each(['GET', 'PUT', 'DELETE', 'PATCH'])('%s is 405', async (method) => {
    const answer = await server.call(method, '/c', { key: null })
    expectNo(answer, 405, no('method_not_allowed'))
    expect(answer.headers.get('allow')).toBe('POST, OPTIONS')
  })

  test.each([
    ['unavailable', 503, '2'],
    ['commit_unconfirmed', 503, '2'],
    ['internal_error', 500, null],
  ] as const)('%s of the store', async (refusal, status, retryAfter) => {
    const one = await open({ wrapStore: (store) => ({ ...store, recordVisitReport: async () => ({ refusal }) }) })
    const answer = await send(one, report(one.first))
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, retryAfter])
    expectOpen(answer)
  })

  test('500 for a bug: with its ID, without its source', async () => {
    const fail = (): never => {
      throw new Error('a bug in /srv/secret.ts')
    }
    const one = await open({ wrapStore: (store) => ({ ...store, recordVisitReport: fail }) })
    expectNo(await send(one, report(one.first)), 500, no('internal_error'))
  })

  test('the log contains no email, signature or path', async () => {
    const one = await openShared()
    const body = report(one.first, { events: [page('/canary')] })
    await send(one, body)
    await send(one, { ...body, signature: 'f'.repeat(64) })
    expect(one.logged()).toContain('"route":"/c","status":401')
    for (const secret of ['ada@', body.signature, 'canary', 'f'.repeat(64)]) expect(one.logged()).not.toContain(secret)
  })
})
