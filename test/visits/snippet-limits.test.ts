import { beforeEach, describe, expect, test } from 'bun:test'
import { SNIPPET_LIMITS } from '../../src/visits/snippet-limits.ts'
import { readActivation } from '../../src/events/activation.ts'
import { codeOf, no } from '../api/expected.ts'
import { RETURNED_LATE_MS } from '../postgres/test-databases.ts'
import { addPerson, appOf, leave, listEvents, page, report, saveSnippet, send } from '../api/reports.ts'
import { type Answer, createTestServer, DAY, HOUR, inTurns, type TestServer, useSharedServer } from '../helper.ts'

const openServer = useSharedServer()
let server: TestServer
beforeEach(async () => {
  server = await openServer()
  await addPerson(server)
})

const MINUTE = 60_000
const items = (count: number) => ({
  events: Array.from({ length: count }, (_, index) => (index % 2 ? leave() : page())),
})
const post = (more: Record<string, unknown> = {}, address = '203.0.113.1') =>
  send(server, report(server.first, more), { address })
const codes = (answers: Answer[]): Record<string, number> =>
  Object.fromEntries(Array.from(Map.groupBy(answers, codeOf), ([code, all]) => [code, all.length]))

const LIMIT_NAMES: Record<string, string> = {
  person: 'person_items_per_hour',
  site: 'site_items_per_hour',
  ip: 'reports_per_minute',
}

function expectLimited({ status, body, headers }: Answer, scope: string, limit: number, retryAfter: number): void {
  expect([status, body]).toEqual([
    429,
    no('rate_limited', {
      scope,
      limitName: limit === SNIPPET_LIMITS.badSignatures.max ? 'wrong_signatures_per_minute' : LIMIT_NAMES[scope],
      limit,
      retryAfter,
      retryAt: new Date((Math.ceil(server.clock.now() / 1_000) + retryAfter) * 1_000).toISOString(),
      message: expect.stringContaining('More than'),
    }),
  ])
  expect(headers.get('retry-after')).toBe(String(retryAfter))
  expect(headers.get('access-control-allow-origin')).toBe('*')
}

test('the limits match the documentation', () => {
  expect(SNIPPET_LIMITS).toEqual({
    person: { max: 600, windowMs: HOUR },
    site: { max: 60_000, windowMs: HOUR },
    address: { max: 1_200, windowMs: MINUTE },
    badSignatures: { max: 30, windowMs: MINUTE },
  })
})

describe('600 items per person and hour', () => {
  const fill = () => inTurns(30, () => post(items(20)))

  test('the next item is refused until exactly an hour after the first', async () => {
    expect(codes(await fill())).toEqual({ '202 true': 30 })
    const before = await listEvents(server)
    expectLimited(await post(items(1)), 'person', 600, 3_600)
    server.clock.tick(HOUR - 1)
    expectLimited(await post(items(1)), 'person', 600, 1)
    expect(await listEvents(server)).toEqual(before)
    server.clock.tick(1 + RETURNED_LATE_MS)
    expect(codeOf(await post(items(1)))).toBe('202 true')
  })

  test('a request is accepted as a whole or not at all', async () => {
    await inTurns(59, () => post(items(10)))
    await post(items(5))
    expectLimited(await post(items(6)), 'person', 600, 3_600)
    expect(codeOf(await post(items(5)))).toBe('202 true')
    expectLimited(await post(items(1)), 'person', 600, 3_600)
  })

  test('apply to one person, not to others, known or unknown', async () => {
    await fill()
    expect(codeOf(await post({ email: 'bob@example.com' }))).toBe('202 true')
    await inTurns(30, () => post({ email: 'nobody@example.com', ...items(20) }))
    expectLimited(await post({ email: 'nobody@example.com' }), 'person', 600, 3_600)
    expect(codeOf(await send(server, report(server.second), { address: '203.0.113.1' }))).toBe('202 true')
  })

  test('a repeated report uses none', async () => {
    const body = report(server.first, items(20))
    for (let i = 0; i < 40; i++) expect(codeOf(await send(server, body))).toBe('202 true')
    expect(codes(await inTurns(29, () => post(items(20))))).toEqual({ '202 true': 29 })
    expect(codeOf(await post())).toBe('429 rate_limited')
  })

  test('survive a restart and a change of the clock', async () => {
    await inTurns(15, () => post(items(20)))
    server.clock.tick(HOUR / 2)
    await inTurns(15, () => post(items(20)))
    await server.restart()
    expectLimited(await post(), 'person', 600, 1_800)
    server.clock.wallMs += DAY
    expect(codeOf(await post())).toBe('429 rate_limited')
    server.clock.elapsedMs += HOUR / 2 - 1
    expect(codeOf(await post())).toBe('429 rate_limited')
    server.clock.elapsedMs += 1 + RETURNED_LATE_MS
    expect(codeOf(await post(items(20)))).toBe('202 true')
    await server.restart()
    expect(codeOf(await post())).toBe('202 true')
  })
})

test('a report that could not be stored uses none', async () => {
  let isFull = true
  const full = await createTestServer({
    wrapStore: (store) => ({
      ...store,
      recordVisitReport: async (write) => (isFull ? { refusal: 'unavailable' } : store.recordVisitReport(write)),
    }),
  })
  await addPerson(full)
  const post = () => send(full, report(full.first, items(20)))
  for (let i = 0; i < 40; i++) expect(codeOf(await post())).toBe('503 unavailable')
  isFull = false
  expect(codes(await inTurns(31, post))).toEqual({ '202 true': 30, '429 rate_limited': 1 })
  await full.close()
})

test('60,000 items per site and hour, across restarts; a refusal uses none of the person', async () => {
  const adding = { hosts: [], addsPeople: true }
  await saveSnippet(server.parts(), await appOf(server), adding)
  const people = Array.from({ length: 100 }, (_, index) => `p${index}@example.com`)
  const sendAll = (index: number) => post({ email: people[index % 100], ...items(20) }, `198.51.${index % 100}.1`)
  const fresh = () => post({ email: 'fresh@example.com', ...items(20) })
  expect(codes(await inTurns(3_000, sendAll))).toEqual({ '202 true': 3_000 })
  server.clock.tick(MINUTE)
  await server.restart()
  expectLimited(await fresh(), 'site', 60_000, 3_540)
  expect(codes(await inTurns(30, fresh))).toEqual({ '429 rate_limited': 30 })
  server.clock.tick(HOUR - MINUTE + RETURNED_LATE_MS)
  expect(codes(await inTurns(30, fresh))).toEqual({ '202 true': 30 })
})

describe('1,200 requests per address and minute', () => {
  test('count IPv6 by /64, and do not affect other addresses', async () => {
    await server.setPlan({ snippetLimits: true })
    const from = (address: string) => (index: number) => post({ email: `p${index % 50}@example.com` }, address)
    expect(codes(await inTurns(1_200, from('2001:db8::1')))).toEqual({ '202 true': 1_200 })
    expectLimited(await from('2001:db8::2')(0), 'ip', 1_200, 60)
    expect(codeOf(await from('2001:db8:0:1::1')(0))).toBe('202 true')
    server.clock.tick(MINUTE - 1)
    expectLimited(await from('2001:db8::1')(0), 'ip', 1_200, 1)
    server.clock.tick(1)
    expect(codeOf(await from('2001:db8::1')(0))).toBe('202 true')
  })

  test('count refused requests too, and beyond the limit the store is not asked', async () => {
    let reads = 0
    const one = await createTestServer({
      wrapStore: (store) => ({ ...store, findSite: (...asked) => ((reads += 1), store.findSite(...asked)) }),
    })
    const bodies = [
      (index: number) => report(one.first, { site: `site_${index}` }),
      () => report(one.first, { events: [] }),
      () => report(one.first, { signature: '0'.repeat(64) }),
      () => ({}),
    ]
    const post = (index: number) => send(one, bodies[index % 4]?.(index) ?? {}, { address: '203.0.113.1' })
    const refused = codes(await inTurns(1_200, post))
    expect(refused).toMatchObject({ '404 site_not_found': 300, '400 invalid_field': 600, '401 invalid_signature': 30 })
    server = one
    expectLimited(await send(one, report(one.first), { address: '203.0.113.1' }), 'ip', 1_200, 60)
    const before = reads
    expect(codes(await inTurns(40, (index) => post(index * 4 + 2_000)))).toEqual({ '429 rate_limited': 40 })
    expect(reads).toBe(before)
    expect((await readActivation(one.parts(), await appOf(one))).limited?.reason).toStartWith(
      'More than 1,200 reports per minute came from this address.',
    )
    await one.close()
  })
})

describe('30 bad signatures per address and minute', () => {
  const guess = (address?: string) => post({ signature: '0'.repeat(64) }, address)

  test('then a good signature waits too, and the answer does not reveal it', async () => {
    expect(codes(await inTurns(30, () => guess()))).toEqual({ '401 invalid_signature': 30 })
    expectLimited(await guess(), 'ip', 30, 60)
    expectLimited(await post(), 'ip', 30, 60)
    expect(codeOf(await post({}, '203.0.113.2'))).toBe('202 true')
    server.clock.tick(MINUTE - 1)
    expectLimited(await post(), 'ip', 30, 1)
    server.clock.tick(1)
    expect(codeOf(await post())).toBe('202 true')
  })

  test('good signatures and earlier refusals do not count', async () => {
    await inTurns(29, () => guess())
    await inTurns(40, () => post({ events: [] }))
    await inTurns(40, () => post({ site: 'site_none' }))
    await inTurns(40, () => post())
    expect(codeOf(await guess())).toBe('401 invalid_signature')
    expect(codeOf(await guess())).toBe('429 rate_limited')
  })

  test('apply to one app: a broken site does not affect others at the same address', async () => {
    await inTurns(31, () => guess())
    expect(codeOf(await post())).toBe('429 rate_limited')
    expect(codeOf(await send(server, report(server.second), { address: '203.0.113.1' }))).toBe('202 true')
  })
})

test('a plan without these limits has none until they are set', async () => {
  await server.setPlan({ snippetLimits: false })
  expect(codes(await inTurns(40, () => post({ signature: '0'.repeat(64) })))).toEqual({ '401 invalid_signature': 40 })
  expect(codes(await inTurns(1_300, () => post()))).toEqual({ '202 true': 1_300 })
  // even when the address has used up its other limits and the plan must be read again
  await inTurns(1_200, () => post({ site: 'site_none' }))
  expect(codeOf(await post({ site: 'site_none' }))).toBe('429 rate_limited')
  server.parts().access.forget()
  expect(codes(await inTurns(3, () => post()))).toEqual({ '202 true': 3 })
  server.clock.tick(MINUTE)
  await server.setPlan({ snippetLimits: true })
  expect(codes(await inTurns(601, () => post()))).toEqual({ '202 true': 600, '429 rate_limited': 1 })
})

test('accounts have separate limits', async () => {
  await server.setPlan({ snippetLimits: false })
  const asSecond = () => send(server, report(server.second), { address: '203.0.113.9' })
  expect(codes(await inTurns(601, asSecond))).toEqual({ '202 true': 600, '429 rate_limited': 1 })
})
