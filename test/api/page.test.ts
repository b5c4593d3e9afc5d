/** Lists and their cursors. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Answer, BATCH, CONTACTS, createTestServer, EVENTS, HOUR, NOW, type TestServer } from '../helper.ts'
import { EVENT_ID, expectRefusal, no, PERSON_ID, wrongField } from './expected.ts'

let server: TestServer
const PEOPLE = Array.from({ length: 7 }, (_, i) => `p${i}@example.com`)

/** Seven people, made an hour apart; the even ones tagged, the second one changed last. Eight events. */
beforeAll(async () => {
  server = await createTestServer()
  const newsletter = server.first.appId
  for (const [index, email] of PEOPLE.entries()) {
    const tags = index % 2 === 0 ? ['even'] : []
    await server.call('POST', CONTACTS, { body: { newsletter, email, tags } })
    await server.call('POST', EVENTS, { body: { app: newsletter, email, event: index < 3 ? 'a' : 'b' } })
    server.clock.tick(HOUR)
  }
  await server.call('PATCH', CONTACTS, { body: { newsletter, email: PEOPLE[1], firstName: 'Ada' } })
  const properties = { n: 1 }
  const occurredAt = '2026-05-15T11:00:00+02:00'
  await server.call('POST', EVENTS, { body: { app: newsletter, email: PEOPLE[0], event: 'a', properties, occurredAt } })
})
afterAll(() => server.close())

const get = (path: string, query: Record<string, string> = {}): Promise<Answer> =>
  server.call('GET', `${path}?${new URLSearchParams({ app: server.first.appId, ...query })}`)
const emails = ({ body }: Answer) => body.data?.map((item) => String(item.email))
/** All pages of a list, each one's emails. */
async function walk(path: string, query: Record<string, string>): Promise<string[][]> {
  const pages: string[][] = []
  let cursor: string | null = null
  do {
    const page: Answer = await get(path, cursor === null ? query : { ...query, cursor })
    expect(page.status).toBe(200)
    pages.push(emails(page) ?? [])
    cursor = page.body.nextCursor as string | null
  } while (cursor !== null && pages.length < 20)
  return pages
}
const newestFirst = PEOPLE.toReversed()

describe('GET /contacts', () => {
  test('one person by email, in any spelling', async () => {
    const { status, body, headers } = await get(CONTACTS, { email: ' P0@Example.com' })
    const at = new Date(NOW).toISOString()
    const contact = {
      id: PERSON_ID,
      app: server.first.appId,
      email: PEOPLE[0],
      firstName: null,
      lastName: null,
      tags: ['even'],
      fields: {},
      source: null,
      status: 'subscribed',
      createdAt: at,
      updatedAt: at,
      firstSeenAt: null,
      lastSeenAt: null,
      lastEventAt: at,
    }
    expect([status, body]).toEqual([200, { ok: true, contact }])
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test('all people, newest first, page by page', async () => {
    expect(await walk(CONTACTS, {})).toEqual([newestFirst])
    expect(await walk(CONTACTS, { limit: '3' })).toEqual([
      newestFirst.slice(0, 3),
      newestFirst.slice(3, 6),
      newestFirst.slice(6),
    ])
    expect(await walk(CONTACTS, { limit: '7' })).toEqual([newestFirst])
  })

  test('people with a tag', async () => {
    const even = newestFirst.filter((_, index) => index % 2 === 0)
    expect((await walk(CONTACTS, { tag: 'even', limit: '2' })).flat()).toEqual(even)
    expect((await get(CONTACTS, { tag: 'none' })).body).toEqual({ ok: true, data: [], nextCursor: null })
  })

  test('people changed after a time, last changed first', async () => {
    const updatedAfter = new Date(NOW + 4 * HOUR).toISOString()
    const changed = [PEOPLE[1], PEOPLE[6], PEOPLE[5]] as string[]
    expect(await walk(CONTACTS, { updatedAfter, limit: '1' })).toEqual(changed.map((email) => [email]))
    expect((await walk(CONTACTS, { updatedAfter, tag: 'even', limit: '1' })).flat()).toEqual([PEOPLE[6] as string])
  })

  test('people added during paging do not shift pages', async () => {
    const first = await get(CONTACTS, { limit: '4' })
    const body = { newsletter: server.first.appId, email: 'late@example.com' }
    await server.call('POST', CONTACTS, { body })
    const second = await get(CONTACTS, { limit: '4', cursor: String(first.body.nextCursor) })
    expect([...(emails(first) ?? []), ...(emails(second) ?? [])]).toEqual(newestFirst)
    await server.call('DELETE', CONTACTS, { body })
  })
})

describe('GET /events', () => {
  test('whole items, newest first', async () => {
    const { status, body } = await get(EVENTS, { limit: '1' })
    const item = {
      id: EVENT_ID,
      type: 'event',
      event: 'a',
      path: null,
      email: PEOPLE[0],
      contactId: PERSON_ID,
      properties: { n: 1 },
      occurredAt: '2026-05-15T09:00:00.000Z',
      receivedAt: new Date(NOW + 7 * HOUR).toISOString(),
      via: 'api',
    }
    expect([status, body]).toEqual([
      200,
      { ok: true, data: [item], nextCursor: expect.stringMatching(/^[0-9a-z]{11}$/) },
    ])
  })

  const all = [PEOPLE[0] as string, ...newestFirst]
  test.each<[string, Record<string, string>, string[]]>([
    ['all', {}, all],
    ['one person', { email: PEOPLE[0] as string }, [all[0] as string, all[0] as string]],
    ['one name', { event: 'a' }, [0, 2, 1, 0].map((index) => PEOPLE[index] as string)],
    ['both', { event: 'b', email: PEOPLE[4] as string }, [PEOPLE[4] as string]],
    ['a name that nobody sent', { event: 'none' }, []],
  ])('%s', async (_name, query, expected) => {
    for (const limit of ['1', '3', '100']) {
      expect((await walk(EVENTS, { ...query, limit })).flat()).toEqual(expected)
    }
  })

  test('a page of a rare name may be short but not last, and no page reads for long', async () => {
    const { apiKey: key, appId } = server.second
    await server.setPlan({ eventsPerHour: 100_000 }, server.second)
    const body = (event: string) => ({ app: appId, email: 'rare@example.com', event, createContact: true })
    const common = { body: { events: Array.from({ length: 100 }, () => body('common')) }, key }
    await server.call('POST', EVENTS, { body: body('rare'), key })
    for (let i = 0; i < 80; i++) expect((await server.call('POST', BATCH, common)).body.accepted).toBe(100)
    await server.call('POST', EVENTS, { body: body('rare'), key })
    const pages: number[] = []
    for (let cursor = ''; pages.length < 20;) {
      const page = await server.call('GET', `${EVENTS}?app=${appId}&event=rare&limit=50${cursor}`, { key })
      pages.push(page.body.data?.length ?? -1)
      if (page.body.nextCursor === null) break
      cursor = `&cursor=${String(page.body.nextCursor)}`
    }
    expect([pages[0], pages.at(-1), pages.reduce((sum, count) => sum + count)]).toEqual([1, 1, 2])
    expect(pages.length).toBeGreaterThan(1)
  })

  test('50 without a limit, at most 100', async () => {
    const events = Array.from({ length: 60 }, () => ({
      app: server.second.appId,
      email: 'ada@example.com',
      event: 'e',
      createContact: true,
    }))
    const key = server.second.apiKey
    for (let i = 0; i < 2; i++) await server.call('POST', BATCH, { body: { events }, key })
    const list = (more = '') => server.call('GET', `${EVENTS}?app=${server.second.appId}${more}`, { key })
    expect([(await list()).body.data?.length, (await list('&limit=100')).body.data?.length]).toEqual([50, 100])
  })

  test('nothing of another account', async () => {
    const texts = [await get(EVENTS, { limit: '100' }), await get(CONTACTS, { limit: '100' })].map(({ text }) => text)
    for (const text of texts) expect(text).not.toContain(server.second.appId)
  })
})

describe('400', () => {
  const CURSOR = 'Send `nextCursor` from the previous page, with the same filters.'
  const LIMIT = 'Send a whole number from 1 to 100.'
  const EMAIL = 'Send one complete email address, such as ada@example.com, without a name, brackets or quotes.'
  const cases: [string, string, string][] = [
    ...['', '!', 'zzz', 'ABC', 'Z'.repeat(11), 'z'.repeat(11), 'z'.repeat(12), '-1', '1.', '.1', '1.1.1'].map(
      (text): [string, string, string] => ['cursor', text, CURSOR],
    ),
    ...['', '0', '101', '-1', '1.5', '1e1', ' 5', 'ten', '1000'].map((text): [string, string, string] => [
      'limit',
      text,
      LIMIT,
    ]),
    ['email', 'ada', EMAIL],
    ['email', '', EMAIL],
    ['email', 'zoë@example.com', 'Use only ASCII characters before the @, such as letters without accents.'],
    ['email', 'ada x@example.com', 'Send one email address. Encode each `+` as `%2B`.'],
  ]
  test.each(cases)('%s=%j', async (field, text, message) => {
    for (const path of [EVENTS, CONTACTS]) {
      expectRefusal(await get(path, { [field]: text }), [400, wrongField(field, message)])
    }
  })
  test('the cursor of a list in another order', async () => {
    const updatedAfter = new Date(NOW).toISOString()
    const { body } = await get(CONTACTS, { updatedAfter, limit: '1' })
    expectRefusal(await get(CONTACTS, { cursor: String(body.nextCursor) }), [400, wrongField('cursor', CURSOR)])
    expectRefusal(await get(EVENTS, { cursor: String(body.nextCursor) }), [400, wrongField('cursor', CURSOR)])
    const plain = String((await get(CONTACTS, { limit: '1' })).body.nextCursor)
    expectRefusal(await get(CONTACTS, { cursor: plain, updatedAfter }), [400, wrongField('cursor', CURSOR)])
  })
  test.each([
    ['updatedAfter', 'yesterday', 'Send an ISO 8601 time with a timezone, such as 2026-03-01T12:00:00Z.'],
    ['tag', '', 'Send a tag of 1 to 64 characters.'],
    ['tag', 'x'.repeat(65), 'Send a tag of 1 to 64 characters.'],
  ])('%s of people %#', async (field, text, message) => {
    expectRefusal(await get(CONTACTS, { [field]: text }), [400, wrongField(field, message)])
  })
  test('a space in `updatedAfter`, where a plus was meant', async () => {
    const answer = await get(CONTACTS, { updatedAfter: '2026-03-01T12:00:00 01:00' })
    const message = 'Send an ISO 8601 time with a timezone. Encode `+` as `%2B`.'
    expectRefusal(answer, [400, wrongField('updatedAfter', message)])
    expect((await get(CONTACTS, { updatedAfter: '2026-03-01T12:00:00+01:00' })).status).toBe(200)
  })
  test('an unknown parameter, so that a mistyped filter does not list everyone', async () => {
    const ofEvents = 'Unknown parameter. Known parameters: `app`, `email`, `event`, `cursor`, `limit`.'
    const ofPeople = 'Unknown parameter. Known parameters: `app`, `email`, `tag`, `updatedAfter`, `cursor`, `limit`.'
    expectRefusal(await get(EVENTS, { tag: 'x' }), [400, wrongField('tag', ofEvents)])
    expectRefusal(await get(CONTACTS, { tags: 'x' }), [400, wrongField('tags', ofPeople)])
    expectRefusal(await get(CONTACTS, { Email: 'p0@example.com' }), [400, wrongField('Email', ofPeople)])
    const long = await get(EVENTS, Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`x${i}`.repeat(99), ''])))
    expect([long.status, (long.body.errors as { field: string }[]).map(({ field }) => field.length)]).toEqual([
      400,
      Array(20).fill(64),
    ])
  })
  test('a repeated parameter, known or not, even with the same value', async () => {
    const once = 'Send this parameter once.'
    for (const path of [EVENTS, CONTACTS]) {
      const own = `${path}?app=${server.first.appId}`
      for (const query of ['limit=1&limit=2', 'limit=1&limit=1', 'limit=1&limi%74=500'])
        expectRefusal(await server.call('GET', `${own}&${query}`), [400, wrongField('limit', once)])
      expectRefusal(await server.call('GET', `${own}&app=${server.first.appId}`), [400, wrongField('app', once)])
      const { status, body } = await server.call('GET', `${own}&x=1&limit=1&x=2&limit=2&x=3`)
      expect([status, (body.errors as { field: string }[]).map(({ field }) => field)]).toEqual([400, ['x', 'limit']])
    }
  })
  test.each([
    ['tag', 'even'],
    ['updatedAfter', '2026-03-01T12:00:00Z'],
    ['cursor', '0029bh3swvls'.slice(1)],
  ])('%s beside the email of one person', async (field, value) => {
    const message = 'This has no effect together with `email`, which finds one person. Remove one of them.'
    const answer = await get(CONTACTS, { email: 'p0@example.com', [field]: value })
    expect([answer.status, answer.body.field, answer.body.message]).toEqual([400, field, message])
    expect((await get(CONTACTS, { email: 'p0@example.com', limit: '50' })).status).toBe(200)
  })
  test('a name of ours, and a missing app', async () => {
    const name = 'Send 1 to 64 characters: letters A to Z and a to z, digits, `_`, `.`, `:` and `-`.'
    expectRefusal(await get(EVENTS, { event: '$page' }), [400, wrongField('event', name)])
    const missing = wrongField('app', 'Send the app ID from the Activation page as `app`.')
    for (const path of [EVENTS, CONTACTS]) expectRefusal(await server.call('GET', path), [400, missing])
  })
})

describe('404', () => {
  const UNKNOWN = 'This app has no person with this email. Check the email, or add the person first.'
  test.each([EVENTS, CONTACTS])('%s of an unknown person and of a foreign app', async (path) => {
    const nobody = await get(path, { email: 'nobody@example.com' })
    expectRefusal(nobody, [404, no('contact_not_found', { message: UNKNOWN })])
    expectRefusal(await get(path, { app: server.second.appId }), [404, no('app_not_found')])
  })
})
