/** Events are read by the writing thread alone, each once; the thread that answers counts them and says what was found. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { MOST_UNREAD } from '../../src/events/events.ts'
import type { NoteKind } from '../../src/store/types.ts'
import type { Store } from '../../src/store/store.ts'
import {
  type Answer,
  API,
  BATCH,
  CONTACTS,
  createTestServer,
  EVENTS,
  type Given,
  HOUR,
  inTurns,
  NOW,
  type TestServer,
} from '../helper.ts'
import { isLong } from '../long-form.ts'
import { callTool } from '../mcp/client.ts'
import { isOnPostgres, RETURNED_LATE_MS } from '../postgres/test-databases.ts'
import { eventRequests } from './event-requests.ts'

const MAX_BODY = 65_536
/** What was asked of the store, and for texts whether something was written. */
let steps: string[] = []
const listen = (store: Store): Store => ({
  ...store,
  async recordEventText(event) {
    const outcome = await store.recordEventText(event)
    steps.push('contactId' in outcome ? 'kept' : 'refused')
    return outcome
  },
  recordEvent: (write) => (steps.push('fields'), store.recordEvent(write)),
  listOutcomes: (asked) => (steps.push('looked up'), store.listOutcomes(asked)),
})

/** Holds texts back until they are let go. */
function createHold() {
  const released = Promise.withResolvers<void>()
  let next = Promise.withResolvers<void>()
  let held = 0
  const wrapStore = (store: Store): Store => ({
    ...store,
    async recordEventText(event) {
      held += 1
      next.resolve()
      next = Promise.withResolvers()
      await released.promise
      return store.recordEventText(event)
    },
  })
  /** Waits until so many events have come as far as the store. */
  const reach = async (count: number): Promise<void> => {
    while (held < count) await next.promise
  }
  return { wrapStore, reach, letGo: released.resolve }
}

let server: TestServer
beforeAll(async () => {
  server = await createTestServer({ wrapStore: listen })
})
afterAll(() => server.close())
beforeEach(() => {
  steps = []
})

const event = (more: Record<string, unknown> = {}) => ({
  app: 'FIRST',
  email: 'ada@example.com',
  event: 'results_ready',
  createContact: true,
  ...more,
})

/** Another app of the first account. */
async function addApp(one: TestServer, count: number, hosts: string[] = []): Promise<void> {
  const app = { publicId: `app_${count}`, siteId: `site_${count}`, name: 'Another', homeUrl: null, hosts }
  const { store, access } = one.parts()
  expect(await store.createApp({ accountId: one.first.accountId, actor: 'test', at: NOW, app })).toEqual({ done: true })
  access.forget()
}

/** The ID of the first app of each server is `FIRST` here. */
async function sendTo(one: TestServer, given: Given): Promise<Answer> {
  const text = typeof given.body === 'string' ? given.body : JSON.stringify(given.body)
  return one.call('POST', EVENTS, { ...given, body: text.replaceAll('FIRST', one.first.appId) })
}

const WRONG: Record<string, unknown>[] = [{ email: 'x' }, { app: 'app_none' }, { event: '' }, { occurredAt: 'then' }]

describe('calls to the store', () => {
  const large = (bytes: number) => JSON.stringify(event({ app: server.first.appId })).padEnd(bytes)
  test.each<[string, () => Given, string[]]>([
    ['the usual one', () => ({ body: event() }), ['kept']],
    ['of somebody unknown', () => ({ body: event({ email: 'no@example.com', createContact: false }) }), ['refused']],
    ['with a warning', () => ({ body: event({ extra: 1 }) }), ['kept']],
    ['with a wrong field', () => ({ body: event({ email: 'x' }) }), ['refused']],
    ['of no app', () => ({ body: event({ app: 'app_none' }) }), ['refused']],
    ['no JSON', () => ({ body: '{' }), ['refused']],
    ['with an Idempotency-Key', () => ({ body: event(), headers: { 'Idempotency-Key': 'a' } }), ['kept']],
    ['the same again', () => ({ body: event(), headers: { 'Idempotency-Key': 'a' } }), ['kept']],
    ['another with the key', () => ({ body: event({ x: 1 }), headers: { 'Idempotency-Key': 'a' } }), ['refused']],
    ['with a wrong Idempotency-Key', () => ({ body: event(), headers: { 'Idempotency-Key': 'ü' } }), ['refused']],
    ['the largest', () => ({ body: large(MAX_BODY) }), ['kept']],
    ['one that is too large', () => ({ body: large(MAX_BODY + 1) }), []],
    ['in another type', () => ({ body: event(), headers: { 'Content-Type': 'text/plain' } }), []],
    ['without a key', () => ({ body: event(), key: null }), []],
  ])('%s', async (_name, given, asked) => {
    await sendTo(server, given())
    expect(steps).toEqual(asked)
  })

  test('near the end of the limit and beyond it', async () => {
    await server.setPlan({ eventsPerHour: 1 })
    const { apiKey: key } = await server.makeKey()
    for (const more of [{}, {}, ...WRONG]) await sendTo(server, { body: event(more), key })
    await server.setPlan({ eventsPerHour: null })
    expect(steps).toEqual(['kept', ...Array<string>(5).fill('refused')])
  })

  test('one for each event of a batch', async () => {
    const events = [event(), event({ email: 'x' }), event({ email: 'no@example.com', createContact: false }), 'text']
    const body = JSON.stringify({ events }).replaceAll('FIRST', server.first.appId)
    expect((await server.call('POST', BATCH, { body })).status).toBe(207)
    expect(steps.sort()).toEqual(['kept', 'refused', 'refused', 'refused'])
  })

  test('one for an event over MCP', async () => {
    for (const more of [{}, { email: 'x' }])
      await callTool(server, 'send_event', { ...event(), app: server.first.appId, ...more })
    expect(steps).toEqual(['kept', 'refused'])
  })

  test('for an account with many apps', async () => {
    const one = await createTestServer({ wrapStore: listen })
    for (let count = 2; count <= 30; count++) await addApp(one, count)
    await sendTo(one, { body: event({ app: 'app_30' }) })
    expect(steps).toEqual(['kept'])
    await one.close()
  })
})

describe('the same event alone and in a batch', () => {
  const isObject = (text: string): boolean => {
    try {
      const value: unknown = JSON.parse(text)
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    } catch {
      return false
    }
  }
  test('gets the same answer, whatever is wrong', async () => {
    const one = await createTestServer()
    await addApp(one, 2)
    const requests = eventRequests({ app: one.first.appId, other: 'app_2', now: NOW })
    let compared = 0
    for (const { name, body, headers } of requests) {
      if (typeof body !== 'string' || headers || !isObject(body) || Buffer.byteLength(body) > MAX_BODY) continue
      one.clock.tick(1_000)
      const alone = await one.call('POST', EVENTS, { body })
      const [item = {}] = (await one.call('POST', BATCH, { body: `{"events":[${body}]}` })).body.results ?? []
      const { requestId, ...said } = alone.body
      const { index, ...steps } = item
      // far too many levels refuse the whole batch, and who was made by the first is known to the second
      if (!/^\d{3,} (levels|lists)$/.test(name)) {
        expect([name, steps]).toEqual([name, 'created' in said ? { ...said, created: false } : said])
        compared += 1
      }
    }
    expect(compared).toBeGreaterThan(200)
    await one.close()
  })
})

test('the answer to every kind of request', async () => {
  const one = await createTestServer()
  await addApp(one, 2, ['other.example'])
  const shown = ['retry-after', 'idempotency-replayed', 'ratelimit-remaining', 'ratelimit-reset', 'www-authenticate']
  const answers: Record<string, string> = {}
  for (const { name, ...given } of eventRequests({ app: one.first.appId, other: 'app_2', now: NOW })) {
    const { status, text, headers } = await one.call('POST', EVENTS, given)
    const said = shown.flatMap((header) => (headers.has(header) ? [`${header}: ${headers.get(header)}`] : []))
    answers[name] = [status, text.replaceAll(/"(?:con|req)_[^"]+"/g, '"ID"'), ...said].join('\n')
  }
  expect(answers).toMatchSnapshot()
  await one.close()
})

const REFUSED_FREE = { wrong: 400, 'no app': 404 }

describe('limits', () => {
  test('refused events use no limit', async () => {
    const one = await createTestServer()
    await one.setPlan({ eventsPerHour: 2 })
    const send = async (more: Record<string, unknown>) => {
      const answer = await sendTo(one, { body: event(more) })
      return [answer.status, answer.headers.get('ratelimit-remaining')]
    }
    expect(await send({ email: 'x' })).toEqual([400, '2'])
    expect(await send({ extra: 1 })).toEqual([202, '1'])
    expect(await send({ app: 'app_none' })).toEqual([404, '1'])
    expect(await send({})).toEqual([202, '0'])
    expect(await send({ email: 'x' })).toEqual([400, '0'])
    expect(await send({ app: 'app_none' })).toEqual([404, '0'])
    expect(await send({})).toEqual([429, '0'])
    await one.close()
  })

  test('exactly as many an hour are accepted as the plan says, in bursts and among invalid ones', async () => {
    const one = await createTestServer()
    const most = isLong ? 10_000 : 1_000
    await one.setPlan({ eventsPerHour: most })
    const isWrong = (index: number) => index % 25 === 24
    const answers = await inTurns(most * 1.06, (index) => {
      // so that the guard against refused requests says nothing
      if (index % 500 === 0) one.clock.tick(60_000)
      return sendTo(one, { body: event(isWrong(index) ? (WRONG[((index / 25) % 4) | 0] ?? {}) : {}) })
    })
    const wrong = answers.filter((_, index) => isWrong(index)).map(({ status }) => status)
    const right = answers.filter((_, index) => !isWrong(index)).map(({ status }) => status)
    expect(new Set(wrong)).toEqual(new Set([400, 404]))
    expect(right.filter((status) => status === 202)).toHaveLength(most)
    expect(right.slice(most)).toEqual(Array<number>(right.length - most).fill(429))
    await one.close()
  })

  test('of any burst, as many are accepted as fit, and each invalid one gets its errors', async () => {
    const one = await createTestServer()
    const kinds = fc.constantFrom('right', 'unknown', 'wrong', 'no app', 'batch', 'key') as fc.Arbitrary<Kind>
    type Kind = 'right' | 'unknown' | 'wrong' | 'no app' | 'batch' | 'key'
    const bodies = {
      right: {},
      key: {},
      // a person who is not known costs one
      unknown: { email: 'no@example.com', createContact: false },
      wrong: { email: 'x' },
      'no app': { app: 'app_none' },
    }
    let keys = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(kinds, { maxLength: 12 }), { maxLength: 4 }),
        fc.nat(12),
        async (bursts, max) => {
          one.clock.tick(HOUR + RETURNED_LATE_MS)
          await one.setPlan({ eventsPerHour: max })
          let left = max
          const send = async (kind: Kind): Promise<[Kind, Answer]> => {
            const headers: Record<string, string> = kind === 'key' ? { 'Idempotency-Key': `key ${(keys += 1)}` } : {}
            if (kind !== 'batch') return [kind, await sendTo(one, { body: event(bodies[kind]), headers })]
            const events = [event({ app: one.first.appId }), event({ app: one.first.appId, email: 'x' })]
            return [kind, await one.call('POST', BATCH, { body: { events } })]
          }
          for (const burst of bursts) {
            const answers = await Promise.all(burst.map(send))
            const counted = answers.filter(([kind]) => !(kind in REFUSED_FREE))
            for (const [kind, { status }] of answers)
              if (kind in REFUSED_FREE) expect([kind, status]).toEqual([kind, REFUSED_FREE[kind as 'wrong']])
            const taken = counted.filter(([, { status }]) => status !== 429)
            for (const [kind, { status }] of taken)
              expect([kind, status]).toEqual([kind, kind === 'unknown' ? 404 : kind === 'batch' ? 207 : 202])
            expect(taken).toHaveLength(Math.min(left, counted.length))
            left -= taken.length
          }
          const { headers } = await sendTo(one, { body: '{' })
          expect(headers.get('ratelimit-remaining')).toBe(String(left))
        },
      ),
      { numRuns: isLong ? 60 : 30 },
    )
    await one.close()
  })

  test('valid events wait for earlier ones, and are refused if those are valid', async () => {
    for (const [first, statuses] of [
      [{ email: 'x' }, [400, 202, 429]],
      [{}, [202, 429, 429]],
    ] as const) {
      const { wrapStore, reach, letGo } = createHold()
      const one = await createTestServer({ wrapStore })
      await one.setPlan({ eventsPerHour: 1 })
      const earlier = sendTo(one, { body: event(first) })
      await reach(1)
      const answers = [1, 2].map(() => sendTo(one, { body: event() }))
      const early = await Promise.race([...answers, Bun.sleep(20)])
      expect(early).toBeUndefined()
      letGo()
      // the two that wait may be taken in any order
      const later = (await Promise.all(answers)).map(({ status }) => status).toSorted()
      expect([(await earlier).status, ...later]).toEqual([...statuses])
      await one.close()
    }
  })

  test('a batch waits for them too', async () => {
    const { wrapStore, reach, letGo } = createHold()
    const one = await createTestServer({ wrapStore })
    await one.setPlan({ eventsPerHour: 2 })
    const first = sendTo(one, { body: event({ email: 'x' }) })
    await reach(1)
    const events = [1, 2].map(() => event({ app: one.first.appId }))
    const batch = one.call('POST', BATCH, { body: { events } })
    await Bun.sleep(1)
    letGo()
    expect([(await first).status, (await batch).body.accepted]).toEqual([400, 2])
    await one.close()
  })
})

describe('memory', () => {
  test('limits the pending text; more is refused, and accepted later', async () => {
    const { wrapStore, reach, letGo } = createHold()
    const one = await createTestServer({ wrapStore })
    const { apiKey: other } = await one.makeKey()
    const text = JSON.stringify(event()).replace('FIRST', one.first.appId)
    const body = text.padEnd(MAX_BODY)
    const answers = Array.from({ length: MOST_UNREAD / MAX_BODY }, () => one.call('POST', EVENTS, { body }))
    await reach(answers.length)
    for (const [sent, key] of [
      [body, undefined],
      [text, other],
      ['{', other],
    ] as const) {
      const { status, body: said, headers } = await one.call('POST', EVENTS, { body: sent, key })
      expect([status, said.error, headers.get('retry-after')]).toEqual([503, 'unavailable', '2'])
    }
    letGo()
    expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([202]))
    const { status, headers } = await one.call('POST', EVENTS, { body })
    expect([status, headers.get('ratelimit-remaining')]).toEqual([202, String(6_000 - answers.length - 1)])
    await one.close()
  })

  test('no room is lost if the store throws', async () => {
    const fail = (): never => {
      throw new Error('broken')
    }
    const one = await createTestServer({ wrapStore: (store) => ({ ...store, recordEventText: fail }) })
    const body = JSON.stringify(event()).padEnd(MAX_BODY)
    const answers = await inTurns(MOST_UNREAD / MAX_BODY + 2, () =>
      one.call('POST', EVENTS, { body, headers: { 'Idempotency-Key': 'the same' } }),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([500]))
    await one.close()
  })
})

test('usage is still counted after a restart', async () => {
  const one = await createTestServer({ wrapStore: listen })
  for (let count = 0; count < 5; count += 1) await sendTo(one, { body: event() })
  await one.restart()
  const answer = await sendTo(one, { body: event() })
  expect(answer.headers.get('ratelimit-remaining')).toBe('5994')
  await one.close()
})

test('each event goes to the app it names', async () => {
  const one = await createTestServer({ wrapStore: listen })
  await addApp(one, 2)
  await sendTo(one, { body: event() })
  await sendTo(one, { body: event({ app: 'app_2', email: 'two@example.com' }) })
  const people = await one.call('GET', `${API}/contacts?app=app_2`)
  expect(people.body.data?.map(({ email }) => email)).toEqual(['two@example.com'])
  await one.close()
})

describe('events that the store refuses', () => {
  test.each([
    ['unavailable', 5_999],
    // on PostgreSQL, what isn't in the database isn't counted either
    ['commit_unconfirmed', isOnPostgres ? 5_999 : 5_995],
  ] as const)('%s: is said of whatever was sent, right or wrong', async (refusal, left) => {
    const refuse = async () => ({ refusal })
    let isFaulty = true
    const one = await createTestServer({
      wrapStore: (store) => ({
        ...store,
        recordEventText: (text) => (isFaulty ? refuse() : store.recordEventText(text)),
      }),
    })
    const statuses: number[] = []
    for (const body of [event(), event({ email: 'x' }), event({ app: 'app_none' }), '{'])
      statuses.push((await sendTo(one, { body })).status)
    expect(statuses).toEqual([503, 503, 503, 503])
    isFaulty = false
    expect((await sendTo(one, { body: event() })).headers.get('ratelimit-remaining')).toBe(String(left))
    await one.close()
  })

  test.each<[string, Record<string, unknown>, NoteKind[]]>([
    ['somebody unknown', { email: 'unknown@example.com', createContact: false }, ['refused_call']],
    ['a wrong field', { email: 'x' }, ['refused_call']],
    ['no email', { email: '' }, ['without_email', 'refused_call']],
    [
      'no email, and the other name of the app',
      { app: undefined, newsletter: 'FIRST', email: null },
      ['without_email', 'refused_call'],
    ],
    ['beyond the limit', {}, ['refused_call']],
  ])('%s: is noted for the app that the event named, and for no other', async (name, more, kinds) => {
    const one = await createTestServer()
    await addApp(one, 2)
    if (name === 'beyond the limit') await one.setPlan({ eventsPerHour: 0 })
    await sendTo(one, { body: event(more) })
    const { notes } = one.parts()
    expect(notes.pending(1).map(({ kind, count }): [NoteKind, number] => [kind, count])).toEqual(
      kinds.map((kind): [NoteKind, number] => [kind, 1]),
    )
    expect(notes.pending(3)).toEqual([])
    await one.close()
  })

  test('a body that is not JSON is recorded for every app of the key', async () => {
    const one = await createTestServer()
    await addApp(one, 2)
    await sendTo(one, { body: '{' })
    for (const app of [1, 3]) expect(one.parts().notes.pending(app)).toMatchObject([{ kind: 'refused_call', count: 1 }])
    await one.close()
  })
})

test('writes about a person keep their order, whatever their kind', async () => {
  const email = (name: string) => ({ email: `${name}@example.com` })
  const known = (name: string) => sendTo(server, { body: event({ ...email(name), createContact: false }) })
  const send = [
    () => sendTo(server, { body: event({ ...email('warned'), extra: 1 }) }),
    () => known('warned'),
    () => server.call('POST', CONTACTS, { body: { app: server.first.appId, ...email('zoe') } }),
    () => known('zoe'),
    () => known('late'),
    () => sendTo(server, { body: event(email('late')) }),
  ]
  const answers: Promise<Answer>[] = []
  for (const one of send) {
    answers.push(one())
    // each is on its way to the store before the next comes, and none is committed yet
    // oxlint-disable-next-line no-unnecessary-await -- a turn of the microtask queue
    for (let turn = 0; turn < 50; turn += 1) await null
  }
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([202, 202, 201, 202, 404, 202])
})

test('a large event is not overtaken by others', async () => {
  const send = (body: string) => sendTo(server, { body, headers: { 'Content-Length': String(body.length) } })
  const person = { app: server.first.appId, email: 'large@example.com' }
  const large = JSON.stringify(event(person)).padEnd(MAX_BODY)
  const answers = [send(large), send(JSON.stringify(event({ ...person, createContact: false })))]
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([202, 202])
})

test('a host that became a public suffix later belongs to no one', async () => {
  const body = { ...event({ app: 'app_2' }), properties: { url: 'https://ada.github.io/x' } }
  const one = await createTestServer()
  await addApp(one, 2, ['github.io'])
  expect((await sendTo(one, { body })).body.warnings?.map(({ code }) => code)).toEqual(['url_not_linkable'])
  await one.close()
})
