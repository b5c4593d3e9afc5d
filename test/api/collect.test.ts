/** POST /c: what is taken, what is refused, and that a refusal leaves nothing behind (spec 2.6, 4.5, 5.4; snippet.md). */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { rotateIdentitySecret } from '../../src/core/accounts.ts'
import { signEmail } from '../../src/core/identity.ts'
import { readSnippetSettings, saveSnippetSettings } from '../../src/core/snippet-settings.ts'
import { type Answer, createTestServer, DAY, NOW, type Options, type TestServer } from '../helper.ts'
import { codeOf, EVENT_ID, no, PERSON_ID, wrongField } from './expected.ts'
import { addPerson, appOf, leave, listEvents, newBatchId, ORIGIN, page, report, send, track } from './reports.ts'

let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
  await addPerson(server)
  await server.setPlan({ snippetLimits: false })
})
afterAll(() => server.close())

const opened: TestServer[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})
async function open(options: Options = {}): Promise<TestServer> {
  const one = await createTestServer(options)
  opened.push(one)
  await addPerson(one)
  return one
}

const post = (more: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  send(server, report(server.first, more), { headers })

/** Headers that every status has, and none of those that would let a page act for someone. */
function expectOpen({ status, headers }: Answer): void {
  const shown = (name: string) => headers.get(name)
  expect([status, shown('access-control-allow-origin'), shown('access-control-expose-headers')]).toEqual([
    status,
    '*',
    'Retry-After',
  ])
  expect([...headers.keys()].filter((name) => /cookie|credentials/.test(name))).toEqual([])
  expect(shown('x-content-type-options')).toBe('nosniff')
}

async function expectNothingSaved(run: () => Promise<void>, one = server): Promise<void> {
  const before = await listEvents(one)
  await run()
  expect(await listEvents(one)).toEqual(before)
}

function expectNo(answer: Answer, status: number, body: Record<string, unknown>): void {
  expect([answer.status, answer.body]).toEqual([status, body])
  expect(answer.headers.get('x-request-id')).toBe(String(answer.body.requestId))
  expectOpen(answer)
}

describe('202', () => {
  test('a page view, an action and a leave of one request; only the first two are events', async () => {
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

  test('what follows the path is cut, and no trace of it is kept', async () => {
    const one = await open()
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

  test('an IDN domain is signed as it is written and known as it is folded', async () => {
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

  test('a stranger with a valid signature: nothing is stored, and nothing tells', async () => {
    await expectNothingSaved(async () => {
      const answer = await post({ email: 'nobody@example.com' })
      expect([answer.status, answer.text]).toEqual([202, '{"ok":true}'])
    })
    const found = await server.call('GET', `/api/v1/contacts?app=${server.first.appId}&email=nobody@example.com`)
    expect(found.status).toBe(404)
  })
})

describe('the same batch id', () => {
  test('is stored once for a person within 48 hours, also over a restart', async () => {
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
    const one = await open()
    const body = report(one.first, { id: 'twice' })
    const answers = await Promise.all([send(one, body), send(one, body), send(one, body)])
    expect(answers.map(codeOf)).toEqual(['202 true', '202 true', '202 true'])
    expect(await listEvents(one)).toHaveLength(1)
  })
})

const SENTENCES = {
  v: 'Send 1. This is a version of the script that the service does not know.',
  site: 'Send the site ID from the Activation screen, as `data-site` of the script tag.',
  email: 'Call identify with one plain email address, without name, brackets or quotes.',
  signature: "Call identify with the signature that your server computed over the user's email.",
  id: 'Send 1 to 64 printable ASCII characters, the same when a batch is sent again.',
  events: 'Send 1 to 20 items.',
  type: 'Each item is of type `page`, `leave` or `track`.',
  path: 'A path begins with `/` and has up to 1024 characters, without control characters.',
  age: 'An age is a number of milliseconds from 0 to 24 hours.',
  name: 'The name of an action has 1 to 64 letters, digits, `_`, `.`, `:` or `-`.',
} as const

describe('400', () => {
  const items = (item: unknown) => ({ events: [page(), item] })
  const bad: [field: string, sentence: keyof typeof SENTENCES, values: unknown[]][] = [
    ['v', 'v', [undefined, 0, 2, '1', null]],
    ['site', 'site', [undefined, '', 7, null]],
    ['email', 'email', [undefined, '', 7, null, 'ada', 'Ada <ada@example.com>', 'a@b.example,c@d.example']],
    ['signature', 'signature', [undefined, '', 7, null, []]],
    ['id', 'id', [undefined, '', 7, 'x'.repeat(65), 'é', 'a\n']],
    ['events', 'events', [undefined, [], {}, 'x', Array.from({ length: 21 }, () => page())]],
  ]
  test.each(bad.flatMap(([field, sentence, values]) => values.map((value) => [field, value, sentence] as const)))(
    '%s as %j',
    async (field, value, sentence) => {
      await expectNothingSaved(async () => {
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
    await expectNothingSaved(async () => {
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

  test.each(['', '{', '[]', '"x"', 'null', '\uFEFF{}'])('no JSON object: %j', async (body) => {
    expectNo(await send(server, body), 400, no('invalid_json'))
  })

  test('half a pair is named; nothing that was sent is echoed', async () => {
    const body = JSON.stringify(report(server.first, { events: [page('/canary')] })).replace('canary', '\\ud83dcanary')
    const answer = await send(server, body)
    expect([answer.status, answer.body.field]).toEqual([400, 'events'])
    expect(answer.text).not.toContain('canary')
  })
})

describe('401 Invalid signature', () => {
  const right = () => signEmail('ada@example.com', server.first.identitySecret)
  const uppercase = 'Invalid signature: it must be in lowercase hexadecimal.'
  test.each<[string, () => string, string | undefined]>([
    ['of another person', () => signEmail('eve@example.com', server.first.identitySecret), undefined],
    ["of another account's secret", () => signEmail('ada@example.com', server.second.identitySecret), undefined],
    ['the API key', () => server.first.apiKey, undefined],
    ['cut', () => right().slice(1), undefined],
    ['in uppercase', () => right().toUpperCase(), uppercase],
  ])('%s', async (_name, signature, message) => {
    await expectNothingSaved(async () => {
      const answer = await post({ signature: signature() })
      expectNo(answer, 401, no('invalid_signature', message === undefined ? {} : { message }))
      expect(answer.headers.get('www-authenticate')).toBeNull()
    })
  })

  test('is the same for somebody known and for nobody', async () => {
    const signature = '0'.repeat(64)
    const [known, nobody] = [await post({ signature }), await post({ signature, email: 'nobody@example.com' })]
    const plain = ({ text, body }: Answer) => text.replace(String(body.requestId), '')
    expect(plain(known)).toBe(plain(nobody))
    expect([...known.headers.keys()]).toEqual([...nobody.headers.keys()])
  })

  test('a secret that was rotated out is good for 24 hours, to the millisecond', async () => {
    const one = await open()
    const maker = { store: one.parts().store, now: one.clock.now(), actor: 'test' }
    const rotated = await rotateIdentitySecret(maker, one.first.accountId)
    one.parts().access.forget()
    const fresh = 'identitySecret' in rotated ? rotated.identitySecret : ''
    const old = () => send(one, report(one.first))
    const current = () => send(one, report(one.first, { signature: signEmail('ada@example.com', fresh) }))
    expect([codeOf(await old()), codeOf(await current())]).toEqual(['202 true', '202 true'])
    one.clock.tick(DAY - 1)
    expect([codeOf(await old()), codeOf(await current())]).toEqual(['202 true', '202 true'])
    one.clock.tick(1)
    expect([codeOf(await old()), codeOf(await current())]).toEqual(['401 invalid_signature', '202 true'])
    await one.restart()
    expect([codeOf(await old()), codeOf(await current())]).toEqual(['401 invalid_signature', '202 true'])
    expect(await listEvents(one)).toHaveLength(6)
  })

  test('a wall clock that is set forward ends none of these 24 hours', async () => {
    const one = await open()
    const maker = { store: one.parts().store, now: one.clock.now(), actor: 'test' }
    await rotateIdentitySecret(maker, one.first.accountId)
    one.clock.wallMs += DAY
    one.parts().access.forget()
    expect(codeOf(await send(one, report(one.first)))).toBe('202 true')
  })
})

describe('404', () => {
  test.each(['site_', 'site_0mp6v7uo0zzzzzzzzzzzz', 'x', 'APP'])('the site %s', async (site) => {
    const named = site === 'APP' ? server.first.appId : site
    await expectNothingSaved(async () => expectNo(await post({ site: named }), 404, no('site_not_found')))
  })

  test('what does not exist is looked for once, until something changes, and drives out nothing that does', async () => {
    const asked: string[] = []
    const one = await open({
      wrapStore: (store) => ({
        ...store,
        findSite: (siteId, retiredAfter) => (asked.push(siteId), store.findSite(siteId, retiredAfter)),
      }),
    })
    await one.setPlan({ snippetLimits: false })
    const post = (site: string) => send(one, report(one.first, { site }), { address: `10.0.0.${asked.length % 250}` })
    const { siteId } = one.first
    for (const site of [siteId, 'site_none', 'site_none', siteId, 'site_none']) await post(site)
    expect(asked).toEqual([siteId, 'site_none'])
    for (let i = 0; i < 1_000; i += 1) expect((await post(`site_${i}`)).status).toBe(404)
    await post(siteId)
    expect(asked).toHaveLength(1_002)
    await post('site_none')
    expect(asked).toHaveLength(1_003)
    one.parts().access.forget()
    await post('site_999')
    expect(asked).toHaveLength(1_004)
    expect((await post(`site_${'x'.repeat(60)}`)).status).toBe(404)
    expect(asked).toHaveLength(1_004)
  })

  test("another account's site knows neither this one's people nor its secret", async () => {
    const asSecond = report(server.second)
    expectNo(
      await send(server, { ...asSecond, signature: report(server.first).signature }),
      401,
      no('invalid_signature'),
    )
    expect(codeOf(await send(server, asSecond))).toBe('202 true')
    expect(await listEvents(server, server.second)).toEqual([])
  })
})

describe('the hosts of a site', () => {
  test.each<[string | null, string]>([
    ['https://app.first.example', '202 true'],
    ['http://app.first.example:3000', '202 true'],
    ['https://deep.app.first.example', '202 true'],
    [null, '202 true'],
    ['https://first.example', '403 origin_not_allowed'],
    ['https://evilapp.first.example', '403 origin_not_allowed'],
    ['https://app.first.example.evil.example', '403 origin_not_allowed'],
    ['null', '403 origin_not_allowed'],
    ['nonsense', '403 origin_not_allowed'],
  ])('Origin %s: %s', async (origin, expected) => {
    const one = await open()
    const settings = { hosts: ['App.first.example'], addsPeople: false, actor: 'test' }
    expect(await saveSnippetSettings(one.parts(), await appOf(one), settings)).toEqual({ done: true })
    const answer = await one.call('POST', '/c', {
      body: report(one.first),
      key: null,
      headers: origin === null ? {} : { Origin: origin },
    })
    expect(codeOf(answer)).toBe(expected)
    expectOpen(answer)
    expect(await listEvents(one)).toHaveLength(expected.startsWith('202') ? 1 : 0)
    expect(codeOf(await send(one, report(one.second)))).toBe('202 true')
  })
})

test.each(['', 'https://app.first.example', '203.0.113.1', 'co.uk', 'first.example:443'])(
  'hosts like %j are refused and change nothing',
  async (host) => {
    const app = await appOf(server)
    const message = 'Give hosts of your own, such as app.example.com, without https:// and port.'
    const outcome = await saveSnippetSettings(server.parts(), app, { hosts: [host], addsPeople: true, actor: 'test' })
    expect(outcome).toEqual({ refusal: 'invalid_field', field: 'hosts', message })
    expect(await readSnippetSettings(server.parts(), app)).toEqual({ hosts: [], addsPeople: false })
  },
)

describe('adding people', () => {
  test('is off until the owner says so, and then the plan counts them', async () => {
    const one = await open()
    const app = await appOf(one)
    const post = (email: string) => send(one, report(one.first, { email }))
    await post('new@example.com')
    expect(await listEvents(one)).toEqual([])
    await saveSnippetSettings(one.parts(), app, { hosts: [], addsPeople: true, actor: 'test' })
    expect(await readSnippetSettings(one.parts(), app)).toEqual({ hosts: [], addsPeople: true })
    await one.setPlan({ newPeoplePerMonth: 2 })
    expect(codeOf(await post('new@example.com'))).toBe('202 true')
    expectNo(await post('third@example.com'), 403, no('plan_limit_reached'))
    expect(codeOf(await post('new@example.com'))).toBe('202 true')
    expect((await listEvents(one)).map(({ email }) => email)).toEqual(['new@example.com', 'new@example.com'])
    await saveSnippetSettings(one.parts(), app, { hosts: [], addsPeople: false, actor: 'test' })
    expect(codeOf(await post('fourth@example.com'))).toBe('202 true')
    expect(await listEvents(one)).toHaveLength(2)
  })
})

describe('other answers', () => {
  test('413 over 32 KB, said or found out', async () => {
    const message = 'The body is too large. Send at most 32 KB.'
    const body = JSON.stringify(report(server.first))
    expect(codeOf(await send(server, body.padEnd(32 * 1024)))).toBe('202 true')
    await expectNothingSaved(async () => {
      expectNo(await send(server, body.padEnd(32 * 1024 + 1)), 413, no('too_large', { message }))
      const stream = new Blob([body.padEnd(40_000)]).stream()
      expectNo(await send(server, stream), 413, no('too_large', { message }))
    })
  })

  test('OPTIONS is 204 and may be kept for a day', async () => {
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
    const one = await open({ wrapStore: (store) => ({ ...store, recordBatch: async () => ({ refusal }) }) })
    const answer = await send(one, report(one.first))
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, retryAfter])
    expectOpen(answer)
  })

  test('500 of a bug: with its id, without its source', async () => {
    const fail = (): never => {
      throw new Error('a bug in /srv/secret.ts')
    }
    const one = await open({ wrapStore: (store) => ({ ...store, recordBatch: fail }) })
    expectNo(await send(one, report(one.first)), 500, no('internal_error'))
  })

  test('the log has neither email nor signature nor path', async () => {
    const one = await open()
    const body = report(one.first, { events: [page('/canary')] })
    await send(one, body)
    await send(one, { ...body, signature: 'f'.repeat(64) })
    expect(one.logged()).toContain('"route":"/c","status":401')
    for (const secret of ['ada@', body.signature, 'canary', 'f'.repeat(64)]) expect(one.logged()).not.toContain(secret)
  })
})
