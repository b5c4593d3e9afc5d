import { beforeEach, describe, expect, test } from 'bun:test'
import {
  type Answer,
  BATCH,
  CONTACTS,
  DAY,
  EVENTS,
  HOUR,
  inTurns,
  type TestServer,
  useSharedServer,
} from '../helper.ts'
import { LIFTED_RATE } from '../../src/accounts/plans.ts'
import type { LimitName } from '../../src/core/refusals.ts'
import { message } from '../mcp/client.ts'
import { RETURNED_LATE_MS } from '../postgres/test-databases.ts'
import { codeOf, expectRefusal, no, usedUp } from '../api/expected.ts'

const openServer = useSharedServer()
let server: TestServer
beforeEach(async () => {
  server = await openServer()
})

const MINUTE = 60_000
const post = (more: object = {}, key?: string) =>
  server.call('POST', EVENTS, {
    body: { app: server.first.appId, email: 'ada@example.com', event: 'e', createContact: true, ...more },
    key,
  })
const contact = (method: string, more: object = {}, key?: string) =>
  server.call(method, CONTACTS, { body: { newsletter: server.first.appId, email: 'ada@example.com', ...more }, key })
const statuses = (answers: Answer[]) =>
  Object.fromEntries(
    Map.groupBy(answers, (one) => one.status)
      .entries()
      .map(([status, all]) => [status, all.length]),
  )
const limitHeaders = ({ headers }: Answer) =>
  ['limit', 'remaining', 'reset', 'policy'].map((name) => headers.get(`ratelimit-${name}`))
const ofKey = (limitName: LimitName, limit: number, retryAfter: number, keyId = server.first.keyId) =>
  usedUp(server, { limitName, limit, retryAfter, keyId })
const ofAddress = (limitName: LimitName, limit: number, retryAfter: number) =>
  usedUp(server, { limitName, limit, retryAfter })

/** Each limited kind, its limit's name and its hourly count. */
const KINDS = [
  ['POST /events', 'events_per_hour', 6_000, (more?: object) => post(more)],
  ['POST /contacts', 'contact_adds_per_hour', 600, (more?: object) => contact('POST', more)],
  ['PATCH /contacts', 'contact_updates_per_hour', 6_000, (more?: object) => contact('PATCH', more)],
] as const

describe.each(KINDS)('%s', (_name, limitName, limit, call) => {
  test(`the call after ${limit} is 429, until exactly an hour after the first`, async () => {
    await post()
    server.clock.tick(HOUR + RETURNED_LATE_MS)
    const before = Object.keys(statuses(await inTurns(limit, () => call())))
    expect(before.filter((status) => !/^20[012]$/.test(status))).toEqual([])
    const refused = await call()
    expectRefusal(refused, [429, ofKey(limitName, limit, 3_600)])
    expect(refused.headers.get('retry-after')).toBe('3600')
    expect(limitHeaders(refused)).toEqual([String(limit), '0', '3600', `${limit};w=3600`])
    server.clock.tick(HOUR - 1)
    const early = await call()
    expect([early.status, early.headers.get('retry-after')]).toEqual([429, '1'])
    server.clock.tick(1 + RETURNED_LATE_MS)
    expect((await call()).status).toBeLessThan(300)
  })

  test('clock steps change nothing', async () => {
    await post()
    await server.setPlan({ eventsPerHour: 2, addsPerHour: 2, updatesPerHour: 2 })
    server.clock.tick(HOUR + RETURNED_LATE_MS)
    expect(statuses(await inTurns(3, () => call()))).toHaveProperty('429', 1)
    for (const step of [DAY, -2 * DAY, 400 * DAY]) {
      server.clock.wallMs += step
      expect(codeOf(await call())).toBe('429 rate_limited')
    }
    server.clock.elapsedMs += HOUR + RETURNED_LATE_MS
    expect((await call()).status).toBeLessThan(300)
  })

  test('earlier refusals use no limit, and report what is left', async () => {
    await post()
    server.clock.tick(HOUR + RETURNED_LATE_MS)
    const given = [{ email: 'nobody' }, { app: 'app_none', newsletter: undefined }]
    for (const more of given) {
      const answer = await call(more)
      expect(answer.status).toBeOneOf([400, 404])
      expect(limitHeaders(answer)).toEqual([String(limit), String(limit), '0', `${limit};w=3600`])
    }
    expect((await call()).headers.get('ratelimit-remaining')).toBe(String(limit - 1))
  })
})

describe('a lifted limit', () => {
  test('refuses nothing and adds no headers', async () => {
    await server.setPlan({ eventsPerHour: LIFTED_RATE, addsPerHour: LIFTED_RATE, updatesPerHour: LIFTED_RATE })
    for (const [, , limit, call] of KINDS) {
      const answers = await inTurns(limit + 1, () => call())
      expect(Object.keys(statuses(answers)).filter((status) => !/^20[012]$/.test(status))).toEqual([])
      for (const one of [answers[0], answers.at(-1), await call({ email: 'nobody' })])
        expect(one && limitHeaders(one)).toEqual([null, null, null, null])
    }
    const events = [{ app: server.first.appId, email: 'ada@example.com', event: 'e' }]
    expect(limitHeaders(await server.call('POST', BATCH, { body: { events } }))).toEqual([null, null, null, null])
  })

  test('is still counted, and counts once there is a limit again', async () => {
    await server.setPlan({ eventsPerHour: LIFTED_RATE })
    await inTurns(5, () => post())
    await server.setPlan({ eventsPerHour: 6 })
    expect([codeOf(await post()), codeOf(await post())]).toEqual(['202 true', '429 rate_limited'])
  })
})

describe('the owner of a limit', () => {
  test('each key and each kind of call has its own', async () => {
    await server.setPlan({ eventsPerHour: 1, addsPerHour: 1, updatesPerHour: 1 })
    const { apiKey } = await server.makeKey()
    expect(codeOf(await post())).toBe('202 true')
    expect(codeOf(await post())).toBe('429 rate_limited')
    expect(codeOf(await post({}, apiKey))).toBe('202 true')
    expect(codeOf(await contact('POST'))).toBe('200 true')
    expect(codeOf(await contact('PATCH'))).toBe('200 true')
    expect(codeOf(await contact('PATCH'))).toBe('429 rate_limited')
  })

  test('reading and erasing are not limited', async () => {
    await server.setPlan({ eventsPerHour: 0, addsPerHour: 0, updatesPerHour: 0 })
    const read = await server.call('GET', `${EVENTS}?app=${server.first.appId}`)
    expect([read.status, limitHeaders(read)]).toEqual([200, [null, null, null, null]])
    expect((await contact('DELETE')).status).toBe(404)
  })

  test('a raised plan applies from the next call', async () => {
    await server.setPlan({ eventsPerHour: 1 })
    await post()
    expect((await post()).status).toBe(429)
    await server.setPlan({ eventsPerHour: 3 })
    expect(limitHeaders(await post())).toEqual(['3', '1', '3600', '3;w=3600'])
  })
})

describe('5 adds of a visitor in 10 minutes', () => {
  const add = (ip?: string, more: object = {}, key?: string) => contact('POST', { ip, ...more }, key)

  test('the sixth is 429 with scope ip, and uses none of the key', async () => {
    for (let i = 0; i < 5; i++) expect((await add('203.0.113.7')).status).toBeLessThan(300)
    const sixth = await add('::ffff:203.0.113.7')
    expectRefusal(sixth, [429, ofAddress('contact_adds_per_ip', 5, 600)])
    expect(sixth.headers.get('retry-after')).toBe('600')
    expect(limitHeaders(sixth)).toEqual(['5', '0', '600', '5;w=600'])
    expect((await add('203.0.113.8')).headers.get('ratelimit-remaining')).toBe('594')
    expect((await add()).status).toBe(200)
    server.clock.tick(10 * MINUTE - 1)
    expect((await add('203.0.113.7')).status).toBe(429)
    server.clock.tick(1 + RETURNED_LATE_MS)
    expect((await add('203.0.113.7')).status).toBe(200)
  })

  test('is counted per app, whatever the key, and not for PATCH', async () => {
    const { apiKey } = await server.makeKey()
    for (let i = 0; i < 5; i++) await add('2001:db8::1')
    expect((await add('2001:DB8:0::1', {}, apiKey)).status).toBe(429)
    expect((await add('2001:db8:0:1::1')).status).toBe(200)
    const others = { newsletter: server.second.appId }
    expect((await add('2001:db8::1', others, server.second.apiKey)).status).toBe(201)
    expect((await contact('PATCH', { ip: '2001:db8::1' })).status).toBe(200)
  })

  test('the addresses of an IPv6 /64 are one visitor', async () => {
    for (let i = 1; i <= 5; i++) expect((await add(`2001:db8:1:2:${i}::${i}`)).status).toBeLessThan(300)
    expect((await add('2001:db8:1:2:ffff:ffff:ffff:ffff')).status).toBe(429)
    expect((await add('2001:db8:1:3::1')).status).toBe(200)
  })

  test('a used-up key uses none of the visitor', async () => {
    await server.setPlan({ addsPerHour: 0 })
    for (let i = 0; i < 6; i++) expect((await add('203.0.113.7')).body.scope).toBe('key')
    await server.setPlan({ addsPerHour: 600 })
    expect((await add('203.0.113.7')).status).toBe(201)
  })
})

describe('after a restart', () => {
  test('no token returns early or late', async () => {
    await server.setPlan({ eventsPerHour: 3, addsPerHour: 600, updatesPerHour: 1 })
    await post()
    server.clock.tick(30 * MINUTE)
    await post()
    await post()
    await contact('PATCH')
    for (let i = 0; i < 5; i++) await contact('POST', { ip: '203.0.113.7' })
    await server.restart()
    const all = [await post(), await contact('PATCH'), await contact('POST', { ip: '203.0.113.7' })]
    expect(all.map(codeOf)).toEqual(Array(3).fill('429 rate_limited'))
    expect((await contact('POST')).headers.get('ratelimit-remaining')).toBe('594')
    server.clock.tick(30 * MINUTE + 1_000)
    expect([codeOf(await post()), codeOf(await post())]).toEqual(['202 true', '429 rate_limited'])
    expect(codeOf(await contact('POST', { ip: '203.0.113.7' }))).toBe('200 true')
    server.clock.tick(30 * MINUTE)
    expect([codeOf(await post()), codeOf(await contact('PATCH'))]).toEqual(['202 true', '200 true'])
  })

  test('a clock set back meanwhile returns nothing', async () => {
    await server.setPlan({ eventsPerHour: 1 })
    await post()
    server.clock.wallMs -= DAY
    await server.restart()
    expect(codeOf(await post())).toBe('429 rate_limited')
  })
})

describe('abuse limits', () => {
  const refuseMany = (count: number, key: string | null, address: string) =>
    inTurns(count, () => server.call('POST', EVENTS, { body: '{', key, address }))
  const good = (address: string, key?: string | null) =>
    server.call('GET', `${EVENTS}?app=${server.first.appId}`, { address, key })

  test('600 refusals of a key in a minute; then even a good request waits, wherever it comes from', async () => {
    const { apiKey, keyId } = await server.makeKey()
    expect(statuses(await refuseMany(600, apiKey, '203.0.113.1'))).toEqual({ 400: 600 })
    const answer = await good('203.0.113.2', apiKey)
    expectRefusal(answer, [429, ofKey('refused_requests_per_minute', 600, 60, keyId)])
    expect(answer.body.message).toStartWith('The key "Another key" (')
    expect(answer.text).not.toContain(apiKey)
    expect([answer.headers.get('retry-after'), limitHeaders(answer)]).toEqual(['60', [null, null, null, null]])
    expect(limitHeaders(await post({}, apiKey))).toEqual([null, null, null, null])
    expect((await good('203.0.113.1')).status).toBe(200)
    await inTurns(700, () => good('203.0.113.2', apiKey))
    server.clock.tick(MINUTE - 1)
    expect((await good('203.0.113.2', apiKey)).status).toBe(429)
    server.clock.tick(1)
    expect((await good('203.0.113.2', apiKey)).status).toBe(200)
  })

  test('refusals of valid keys count against no address', async () => {
    const keys = await Promise.all(Array.from({ length: 4 }, () => server.makeKey()))
    for (const { apiKey } of keys) expect(statuses(await refuseMany(599, apiKey, '203.0.113.1'))).toEqual({ 400: 599 })
    expect(statuses(await inTurns(700, () => good('203.0.113.1')))).toEqual({ 200: 700 })
    expect((await good('203.0.113.1', keys[0]?.apiKey)).status).toBe(200)
    expect((await good('203.0.113.1', null)).status).toBe(401)
  })

  test.each(['203.0.113.1', '2001:db8::1'])(
    '1,200 requests from %s without a valid key in a minute; then only those wait',
    async (address) => {
      const { apiKey, keyId } = await server.makeKey()
      await server.revokeKey(keyId)
      const invalid = [null, 'mc_nonsense', `mc_${'0'.repeat(36)}`, apiKey]
      const many = await inTurns(1_200, (i) => good(address, invalid[i % 4]))
      expect(statuses(many)).toEqual({ 401: 1_200 })
      for (const key of invalid) {
        const answer = await good(address, key)
        expectRefusal(answer, [429, ofAddress('requests_without_key_per_minute', 1_200, 60)])
        expect(answer.headers.get('retry-after')).toBe('60')
      }
      const mcp = await server.call('POST', '/mcp', { body: message('ping'), key: null, address })
      expect([mcp.status, (await good(address)).status]).toEqual([429, 200])
      expect((await server.call('POST', '/mcp', { body: message('ping'), address })).status).toBe(200)
      expect((await good('203.0.113.9', null)).status).toBe(401)
      server.clock.tick(MINUTE)
      expect((await good(address, null)).status).toBe(401)
    },
  )

  test('calls of MCP without a key count with those of the API, and a /64 as one address', async () => {
    const ping = (address: string) => server.call('POST', '/mcp', { body: message('ping'), key: null, address })
    const many = await inTurns(1_200, (i) => ping(`2001:db8:1:2::${i.toString(16)}`))
    expect(statuses(many)).toEqual({ 401: 1_200 })
    expect((await good('2001:db8:1:2:ffff::', null)).status).toBe(429)
    expect((await good('2001:db8:1:3::', null)).status).toBe(401)
  })

  test('calls that used the hourly limit or found no one do not count', async () => {
    const fill = (tags: string[]) => contact('PATCH', { tags })
    await server.setPlan({ newPeoplePerMonth: 1 })
    await contact('POST', { tags: ['x'] })
    const some = (of: string) => Array.from({ length: 50 }, (_, n) => `${of}-${n}`)
    for (const of of ['a', 'b', 'c']) await fill(some(of))
    const late: [() => Promise<Answer>, string][] = [
      [() => post({ email: 'nobody@example.com', createContact: false }), '404 contact_not_found'],
      [() => post({ email: 'nobody@example.com' }), '403 plan_limit_reached'],
      [() => contact('PATCH', { email: 'nobody@example.com' }), '404 contact_not_found'],
      [() => contact('DELETE', { email: 'nobody@example.com' }), '404 contact_not_found'],
      [() => fill(some('d')), '400 invalid_field'],
      [
        () => server.call('GET', `${CONTACTS}?app=${server.first.appId}&email=nobody@example.com`),
        '404 contact_not_found',
      ],
    ]
    for (const [call, expected] of late) {
      const answers = await inTurns(601, call)
      expect(new Set(answers.map(codeOf))).toEqual(new Set([expected]))
    }
    expect((await post()).status).toBe(202)
  })

  test('batches without a countable item are refusals too', async () => {
    const many = await inTurns(600, () => server.call('POST', BATCH, { body: { events: [{}] } }))
    expect(statuses(many)).toEqual({ 207: 600 })
    expect((await good('203.0.113.2')).status).toBe(429)
  })

  test('good requests and 429s do not count', async () => {
    await server.setPlan({ eventsPerHour: 1 })
    expect(statuses(await inTurns(700, () => post()))).toEqual({ 202: 1, 429: 699 })
    expect((await good('127.0.0.1')).status).toBe(200)
  })
})

describe('403 plan_limit_reached', () => {
  test('new people per calendar month (UTC), on every interface', async () => {
    await server.setPlan({ newPeoplePerMonth: 2 })
    expect((await post({ email: 'one@example.com' })).status).toBe(202)
    expect((await contact('POST', { email: 'two@example.com' })).status).toBe(201)
    expectRefusal(await post({ email: 'three@example.com' }), [403, no('plan_limit_reached')])
    expectRefusal(await contact('POST', { email: 'three@example.com' }), [403, no('plan_limit_reached')])
    expect((await post({ email: 'one@example.com' })).status).toBe(202)
    expect((await contact('POST', { email: 'one@example.com' })).status).toBe(200)
    const today = new Date(server.clock.now())
    server.clock.wallMs = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1) - 1
    expect((await post({ email: 'three@example.com' })).status).toBe(403)
    server.clock.wallMs += 1
    expect((await post({ email: 'three@example.com' })).status).toBe(202)
  })

  test('a batch uses exactly what is left', async () => {
    await server.setPlan({ newPeoplePerMonth: 3 })
    const events = Array.from({ length: 5 }, (_, i) => ({
      app: server.first.appId,
      email: `p${i}@example.com`,
      event: 'e',
      createContact: true,
    }))
    const { status, body } = await server.call('POST', BATCH, { body: { events } })
    expect([status, body.accepted]).toEqual([207, 3])
    expect(body.results?.filter((result) => result.error === 'plan_limit_reached').length).toBe(2)
  })
})
