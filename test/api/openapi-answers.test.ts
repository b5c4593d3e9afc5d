/** Every answer that openapi.json describes is provoked, and is what its schema says and nothing more. */
import { hookPath, makeHookToken, writeHookSecret } from '../../src/accounts/hook-secrets.ts'
import { makeSigningSecret, postmarkDelivery, resendEvent, signBySvix } from '../mail/webhooks.ts'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Store } from '../../src/store/store.ts'
import { type Answer, API, BATCH, CONTACTS, createTestServer, EVENTS, type Given, type TestServer } from '../helper.ts'
import { SNIPPET_LIMITS } from '../../src/visits/snippet-limits.ts'
import { publicId } from '../../src/core/ids.ts'
import { createMessaging, messageOf, type Messaging } from '../messaging.ts'
import { COSTLY_CALL_LIMIT } from '../../src/accounts/costly-calls.ts'
import { joinFirst } from '../mcp/client.ts'
import { createFindFaults, type Document, type FindFaults, readDocument } from './described-answers.ts'
import { appOf, page, report, saveSnippet, send, track } from './reports.ts'

/** What the store does with the next call of the API. */
let store: 'works' | 'refuses' | 'breaks' = 'works'
let paused: Promise<void> | null = null
const CALLS = new Set<keyof Store>([
  'recordEvent',
  'recordEventText',
  'addContact',
  'updateContact',
  'eraseContact',
  'listEvents',
  'listContacts',
  'findWork',
  'cancelDelivery',
  'sendDeliveryEarly',
  'recordVisitReport',
  'suppress',
  'reportDeliveries',
  'reportAddress',
  'sendMail',
  'saveMessages',
  'setMessageStatus',
  'resendDelivery',
  'noteExport',
])
/** They only break: their callers would take a refusal for what was found. */
const READ_CALLS = new Set<keyof Store>(['listDeliveries', 'listMessages', 'findMessage'])
/** Whether an event is refused in any case, and only its input is looked at. */
const isOnlyRead = (input: unknown): boolean =>
  typeof input === 'object' && input !== null && 'refusal' in input && input.refusal !== undefined
const wrapStore = (real: Store): Store =>
  Object.fromEntries(
    Object.entries(real).map(([name, method]) => {
      const isRead = READ_CALLS.has(name as keyof Store)
      if (!isRead && !CALLS.has(name as keyof Store)) return [name, method]
      const call = async (...given: unknown[]): Promise<unknown> => {
        if (!isRead && !isOnlyRead(given[0])) await paused
        if (store === 'breaks') throw new Error('broken')
        if (store === 'refuses' && !isRead) return { refusal: 'unavailable' }
        return (method as (...all: unknown[]) => unknown)(...given)
      }
      return [name, call]
    }),
  ) as unknown as Store

let server: TestServer
let messaging: Messaging
let document: Document
let findFaults: FindFaults
beforeAll(async () => {
  server = await createTestServer({ wrapStore })
  messaging = await createMessaging(server)
  await messaging.put(messageOf({ trigger: { event: 'waits' }, wait: { minutes: 10 } }))
  document = await readDocument(server)
  findFaults = createFindFaults(document)
})
afterAll(() => server.close())

const described = new Map<string, number>()

function check(method: string, path: string, { status, body }: Answer): void {
  const name = `${method} ${path} ${status}`
  expect([name, body, findFaults({ method, path, status, body })]).toEqual([name, body, null])
  described.set(name, (described.get(name) ?? 0) + 1)
}

async function ask(method: string, url: string, given: Given, status: number): Promise<Answer> {
  const answer = await server.call(method, url, given)
  expect([method, url, given, answer.status]).toEqual([method, url, given, status])
  const path = (url.split('?')[0] ?? '').replace(/\bdlv_\w+$/, '{delivery}').replace(/\bmsg_\w+/, '{message}')
  check(method, path, answer)
  return answer
}

const SEND = `${API}/send`
const WRITES = [
  ['POST', EVENTS, 202],
  ['POST', BATCH, 207],
  ['POST', CONTACTS, 200],
  ['PATCH', CONTACTS, 200],
  ['DELETE', CONTACTS, 200],
  ['POST', SEND, 202],
] as const
const DELIVERIES = `${API}/deliveries`
const READS = [
  ['GET', EVENTS],
  ['GET', CONTACTS],
  ['GET', DELIVERIES],
] as const
const EXPORT = `${CONTACTS}/export`

/** A body with which a write succeeds. */
function bodyFor(method: string, path: string, more: object = {}): object {
  const person = { newsletter: server.first.appId, email: 'ada@example.com' }
  if (method === 'DELETE') return { ...person, ...more }
  if (path === CONTACTS) return { ...person, tags: ['a'], fields: { a: 1, b: 'x', c: true, d: null }, ...more }
  const properties = { url: 'https://first.example/1', headline: 'Ready.' }
  if (path === SEND)
    return { ...person, createContact: true, subject: 'S', body: '[Open]({{ event.url }})', properties, ...more }
  const event = { ...person, event: 'results_ready', createContact: true, properties, ...more }
  return path === BATCH ? { events: [event] } : event
}

const addAda = (more: object = {}) =>
  server.call('POST', CONTACTS, { body: bodyFor('POST', CONTACTS, { firstName: 'Ada', source: 'ads', ...more }) })

/** They work once per email. */
const CHANGES = [`${DELIVERIES}/cancel`, `${DELIVERIES}/send-now`]

/** A body with which a change of an email succeeds. */
async function waiting(more: object = {}): Promise<object> {
  await messaging.event({ event: 'waits', email: `${crypto.randomUUID()}@example.com` })
  const id = (await messaging.deliveries()).at(-1)?.id ?? 0
  return { app: server.first.appId, deliveryId: publicId('dlv', id), ...more }
}

const MESSAGES = `${API}/messages`
const RESEND = `${DELIVERIES}/resend-failed`
const WRITTEN = { name: 'Written', trigger: { event: 'ready' }, mail: { subject: 'S', body: 'B' } }

/** Of a message: the reads, and the writes with a body that succeeds. */
const readsOf = (id: string): string[] => [
  `${MESSAGES}/${id}`,
  `${MESSAGES}/${id}/preview`,
  `${MESSAGES}/${id}/simulation`,
  `${MESSAGES}/${id}/explanation`,
]
const writesOf = (messageId: string): [path: string, body: object][] => [
  [MESSAGES, { message: { ...WRITTEN, name: crypto.randomUUID() } }],
  [`${MESSAGES}/status`, { messageId, status: 'paused' }],
  [`${MESSAGES}/test`, { messageId, to: 'first@owner.example' }],
  [RESEND, {}],
]

/** In every way that calls about messages can be answered, except by faults. */
async function askAboutMessages(key: string): Promise<string> {
  const app = server.first.appId
  const post = (path: string, body: object, status: number, given: Given = {}) =>
    ask('POST', path, { body: { app, ...body }, key, ...given }, status)
  const get = (path: string, query: string, status: number, given: Given = {}) =>
    ask('GET', `${path}?app=${app}${query}`, { key, ...given }, status)
  await joinFirst(server)
  await server.call('POST', EVENTS, { body: { ...bodyFor('POST', EVENTS), event: 'ready' } })
  const { body: created } = await post(MESSAGES, { message: WRITTEN, x: 1 }, 201)
  const messageId = String(created.messageId)
  const based = { messageId, basedOn: created.updatedAt }
  const message = { ...WRITTEN, goal: { event: 'paid', days: 3 }, holdback: 10 }
  const { body: saved } = await post(MESSAGES, { ...based, message, moveWaiting: true }, 200)
  await post(MESSAGES, { ...based, message: WRITTEN }, 409)
  await post(MESSAGES, { messageId: 'msg_00000000001', basedOn: created.updatedAt, message: WRITTEN }, 404)
  await get(`${MESSAGES}/${messageId}/preview`, '&several=true', 200)
  const { body: preview } = await get(`${MESSAGES}/${messageId}/preview`, '&email=ada@example.com', 200)
  await post(`${MESSAGES}/status`, { messageId, status: 'live', token: preview.token }, 200)
  await messaging.event({ event: 'ready' })
  await messaging.decide()
  for (const path of readsOf(messageId)) {
    const isAbout = path.endsWith('/explanation')
    const query = isAbout ? '&email=ada@example.com' : ''
    await get(path, query, 200)
    await get(path, '&sort=newest', 400)
    await get(path.replace(messageId, 'msg_00000000001'), query, 404)
    await get(path, query, 403, { key: server.first.apiKey })
    await get(path, query, 401, { key: null })
  }
  const { body: page } = await get(MESSAGES, '&limit=1', 200)
  await get(MESSAGES, `&cursor=${String(page.nextCursor)}`, 200)
  await get(MESSAGES, '&limit=0', 400)
  await ask('GET', `${MESSAGES}?app=none`, { key }, 404)
  await get(MESSAGES, '', 403, { key: server.first.apiKey })
  await get(MESSAGES, '', 401, { key: null })
  for (const [path, body] of writesOf(messageId)) {
    const headers = { 'Idempotency-Key': path }
    const status = path === MESSAGES ? 201 : 200
    if (path === MESSAGES || path.endsWith('/status')) {
      let release = (): void => {}
      paused = new Promise((resolve) => (release = resolve))
      const first = server.call('POST', path, { body: { app, ...body }, key, headers })
      await Bun.sleep(1)
      await post(path, body, 409, { headers })
      release()
      paused = null
      check('POST', path, await first)
      await post(path, body, status, { headers })
      await post(path, { ...body, x: 2 }, 422, { headers })
    } else await post(path, body, status)
    await post(path, { ...body, app: 'none' }, 404)
    await post(path, { ...body, messageId: 7 }, 400)
    await post(path, body, 403, { key: server.first.apiKey })
    await post(path, body, 401, { key: null })
    await post(path, {}, 415, { body: '{}', headers: { 'Content-Type': 'text/plain' } })
    await post(path, {}, 413, { body: { a: 'x'.repeat(300_000) } })
  }
  // simulations and tests are limited
  const { max } = COSTLY_CALL_LIMIT
  const simulate = `${MESSAGES}/${messageId}/simulation?app=${app}`
  for (let count = 0; count < max; count += 1) await server.call('GET', simulate, { key })
  await get(`${MESSAGES}/${messageId}/simulation`, '', 429)
  expect(saved).toMatchObject({ change: 'changed' })
  return messageId
}

/** An email that no mail server took. */
async function addFailed(): Promise<void> {
  await messaging.put(messageOf({ name: 'Fails', trigger: { event: 'fails' } }))
  await messaging.event({ event: 'fails' })
  const at = server.clock.now()
  const claimed = await messaging
    .store()
    .claimDeliveries({ claimedBy: 'test', now: at, leaseMs: 1, most: 10, skipApps: [] })
  const works = 'refusal' in claimed ? [] : claimed.works
  for (const { delivery } of works) {
    const claim = { id: delivery.id, claimedBy: 'test', attempt: delivery.attempt, at }
    await messaging.store().markFailed({ ...claim, reason: 'smtp_550', record: '{"at":0,"verdicts":[]}' })
  }
}

const BOUNCES = '/hooks/bounces/{app}'

/** What a page reports. */
async function reportVisit(more: object, status: number, how: Parameters<typeof send>[2] = {}): Promise<void> {
  const answer = await send(server, report(server.first, { ...more }), how)
  expect([more, answer.status]).toEqual([more, status])
  check('POST', '/c', answer)
}

/** What a mail provider reports. */
async function reportBounce(body: object, status: number, { secret = SECRET, ageS = 0 } = {}): Promise<void> {
  const text = JSON.stringify(body)
  const seconds = Math.floor(server.clock.now() / 1_000) - ageS
  const proof = new Bun.CryptoHasher('sha256', secret).update(`${seconds}.${text}`).digest('hex')
  const headers = { 'Eventpost-Signature': `t=${seconds},v1=${proof}` }
  const path = BOUNCES.replace('{app}', server.first.appId)
  const answer = await server.call('POST', path, { body: text, key: null, headers })
  expect([body, answer.status]).toEqual([body, status])
  check('POST', BOUNCES, answer)
}

/** What an email provider reports. */
async function takeWebhook(
  body: object | string,
  status: number,
  { token = '', provider = 'postmark' } = {},
): Promise<void> {
  const path = hookPath('postmark', server.first.appId, token || undefined).replace('postmark', provider)
  const answer = await server.call('POST', path, { body: JSON.stringify(body), key: null })
  expect([path, answer.status]).toEqual([path, status])
  check('POST', token === '' ? '/hooks/{provider}/{app}' : '/hooks/{provider}/{app}/{token}', answer)
}

async function takeSigned(body: string, status: number, secret = SIGNING): Promise<void> {
  const webhook = signBySvix(body, { secret, at: server.clock.now() })
  const path = hookPath('resend', server.first.appId)
  const answer = await server.call('POST', path, { ...webhook, key: null })
  expect([body, answer.status]).toEqual([body, status])
  check('POST', '/hooks/{provider}/{app}', answer)
}

/** In every way that both calls can be answered. */
async function takeWebhooks(): Promise<void> {
  const one = writeHookSecret({ hookSecrets: null }, 'postmark', TOKEN)
  const hookSecrets = writeHookSecret({ hookSecrets: one }, 'resend', SIGNING)
  const app = await appOf(server)
  const by = { appId: app.id, accountId: app.accountId, actor: 'test', at: server.clock.now() }
  await server.parts().store.setMailSettings({ ...by, settings: { hookSecrets } })
  const large = { Content: 'x'.repeat(1_100_000) }
  await takeWebhook({}, 200, { token: TOKEN })
  await takeWebhook('x', 400, { token: TOKEN })
  await takeWebhook({}, 401, { token: 'another' })
  await takeWebhook({}, 404, { token: TOKEN, provider: 'nobody' })
  await takeWebhook(large, 413, { token: TOKEN })
  await takeSigned('{}', 200)
  await takeSigned('[', 400)
  await takeSigned('{}', 401, makeSigningSecret())
  await takeWebhook({}, 404, { provider: 'nobody' })
  await takeWebhook(large, 413)
}

const SECRET = 'a-secret-for-reports'
const TOKEN = makeHookToken()
const SIGNING = makeSigningSecret()
/** About a test email, so that something is saved. */
const OF_TEST = { id: 'test-1', to: 'ada@example.com' }

test('every answer matches its schema', async () => {
  const query = `app=${server.first.appId}`
  const ingest = (await server.makeKey('ingest')).apiKey
  const old = new Date(server.clock.now() - 100 * 3_600_000).toISOString()
  const warned = { firstName: 'Eve', occurredAt: old, typo: 1, properties: { url: ' http://else.example' } }

  // successes: new and known people, warnings, and a key that may not read
  await ask('POST', CONTACTS, { body: bodyFor('POST', CONTACTS, { email: 'new@example.com', x: 1 }) }, 201)
  await ask('POST', CONTACTS, { body: bodyFor('POST', CONTACTS, { email: 'new2@example.com' }), key: ingest }, 201)
  for (const [method, path, status] of WRITES) {
    await addAda()
    await ask(method, path, { body: bodyFor(method, path) }, status)
    await addAda()
    await ask(method, path, { body: bodyFor(method, path, warned) }, status)
    await addAda()
    if (method !== 'DELETE' && path !== SEND)
      await ask(method, path, { body: bodyFor(method, path, warned), key: ingest }, status)
  }
  const wrong = { app: server.first.appId, email: 'x', event: '' }
  await ask('POST', BATCH, { body: { events: [wrong, 'no object'], x: 1 } }, 207)
  const receipt = messageOf({
    name: 'Receipt',
    trigger: { api: 'send' },
    mail: { ...messageOf().mail, category: 'transactional' },
  })
  await messaging.put({ ...receipt, status: 'draft' })
  const named = { app: server.first.appId, email: 'ada@example.com', message: 'Receipt' }
  await ask('POST', SEND, { body: named }, 409)
  await ask('POST', SEND, { body: { ...named, message: 'Another' } }, 404)

  for (const path of CHANGES) {
    const headers = { 'Idempotency-Key': path }
    const body = await waiting({ x: 1 })
    const ended = await waiting()
    await ask('POST', path, { body, headers }, 200)
    await ask('POST', path, { body, headers }, 200)
    await ask('POST', path, { body: { ...body, x: 2 }, headers }, 422)
    await server.call('POST', `${DELIVERIES}/cancel`, { body: ended })
    await ask('POST', path, { body: ended }, 409)
    await ask('POST', path, { body: { ...body, deliveryId: 'dlv_00000000001' } }, 404)
    await ask('POST', path, { body: {} }, 400)
    await ask('POST', path, { body, key: null }, 401)
    await ask('POST', path, { body, key: ingest }, 403)
    await ask('POST', path, { body: '{}', headers: { 'Content-Type': 'text/plain' } }, 415)
    await ask('POST', path, { body: { a: 'x'.repeat(300_000) } }, 413)
  }

  // what pages report, too
  await addAda()
  await ask('POST', EVENTS, { body: bodyFor('POST', EVENTS) }, 202)
  const reported = await send(server, report(server.first, { events: [page(), track('export')] }))
  expect(reported.status).toBe(202)
  const all = await ask('GET', `${EVENTS}?${query}`, {}, 200)
  expect(new Set(all.body.data?.map(({ type }) => type))).toEqual(new Set(['event', 'page', 'action']))
  for (const [method, path] of READS) {
    const { body } = await ask(method, `${path}?${query}&limit=1`, {}, 200)
    await ask(method, `${path}?${query}&limit=1&cursor=${String(body.nextCursor)}`, {}, 200)
    await ask(method, `${path}?${query}&email=ada@example.com`, {}, 200)
    await ask(method, `${path}?${query}&email=nobody@example.com`, {}, 404)
    await ask(method, `${path}?app=none`, {}, 404)
    await ask(method, `${path}?limit=0`, {}, 400)
    await ask(method, `${path}?${query}`, { key: null }, 401)
    await ask(method, `${path}?${query}`, { key: ingest }, 403)
  }
  const ofAda = `${EXPORT}?${query}&email=ada@example.com`
  await ask('GET', ofAda, {}, 200)
  await ask('GET', `${EXPORT}?${query}`, {}, 400)
  await ask('GET', ofAda, { key: null }, 401)
  await ask('GET', ofAda, { key: ingest }, 403)
  await ask('GET', `${EXPORT}?${query}&email=nobody@example.com`, {}, 404)
  await ask('DELETE', CONTACTS, { body: bodyFor('DELETE', CONTACTS), key: ingest }, 403)
  await ask('POST', SEND, { body: bodyFor('POST', SEND), key: ingest }, 403)
  for (const { id } of (await messaging.deliveries()).slice(0, 3)) {
    const one = `${DELIVERIES}/${publicId('dlv', id)}`
    await ask('GET', `${one}?${query}`, {}, 200)
    await ask('GET', `${one}?app=none`, {}, 404)
    await ask('GET', one, {}, 400)
    await ask('GET', `${one}?${query}`, { key: null }, 401)
    await ask('GET', `${one}?${query}`, { key: ingest }, 403)
  }
  await ask('GET', `${DELIVERIES}/dlv_00000000001?${query}`, {}, 404)

  const manage = (await server.makeKey('manage')).apiKey
  const messageId = await askAboutMessages(manage)

  // refusals
  for (const [method, path] of WRITES) {
    const body = bodyFor(method, path)
    await ask(method, path, { body, key: null }, 401)
    await ask(method, path, { body: '{', headers: { 'Content-Type': 'application/json' } }, 400)
    await ask(method, path, { body: {} }, 400)
    await ask(method, path, { body: '{}', headers: { 'Content-Type': 'text/plain' } }, 415)
    await ask(method, path, { body: { a: 'x'.repeat(300_000) } }, 413)
    if (path === BATCH) continue
    await ask(method, path, { body: bodyFor(method, path, { newsletter: 'none' }) }, 404)
    const nobody = { email: 'nobody@example.com', createContact: false }
    if (path === EVENTS || path === SEND || method !== 'POST')
      await ask(method, path, { body: bodyFor(method, path, nobody) }, 404)
  }
  await server.setPlan({ newPeoplePerMonth: 0 })
  for (const [method, path] of WRITES) {
    if (method !== 'POST') continue
    const body = bodyFor(method, path, { email: 'one-more@example.com' })
    if (path === BATCH) await ask(method, path, { body }, 207)
    else await ask(method, path, { body }, 403)
  }
  await server.setPlan({ newPeoplePerMonth: null })

  // Idempotency-Key
  for (const [method, path] of WRITES) {
    if (method === 'DELETE') continue
    const headers = { 'Idempotency-Key': `${method} ${path}` }
    await addAda()
    let release = (): void => {}
    paused = new Promise((resolve) => (release = resolve))
    const first = server.call(method, path, { body: bodyFor(method, path), headers })
    await Bun.sleep(1)
    await ask(method, path, { body: bodyFor(method, path), headers }, 409)
    release()
    paused = null
    check(method, path, await first)
    check(method, path, await server.call(method, path, { body: bodyFor(method, path), headers }))
    await ask(method, path, { body: bodyFor(method, path, { x: 2 }), headers }, 422)
  }

  // reports of pages and of mail providers
  await addAda()
  await reportVisit({}, 202)
  await reportVisit({ v: 2 }, 400)
  await reportVisit({ signature: 'x' }, 401)
  await reportVisit({ site: 'none' }, 404)
  const guesser = { address: '203.0.113.9' }
  for (let count = 0; count < SNIPPET_LIMITS.badSignatures.max; count++)
    await reportVisit({ signature: 'x' }, 401, guesser)
  await reportVisit({}, 429, guesser)
  await reportVisit({ id: 'x'.repeat(40_000) }, 413)
  const app = await appOf(server)
  const hosts = { hosts: ['app.first.example'], addsPeople: false }
  await saveSnippet(server.parts(), app, hosts)
  await reportVisit({}, 403, { headers: { Origin: 'https://else.example' } })
  const by = { appId: app.id, accountId: app.accountId, actor: 'test', at: server.clock.now() }
  await server.parts().store.setMailSettings({ ...by, settings: { bounceSecret: SECRET } })
  await reportBounce({ kind: 'bounced', email: 'bob@example.com' }, 202)
  await reportBounce({ kind: 'lost' }, 400)
  await reportBounce({}, 401, { secret: 'another' })
  await reportBounce({}, 401, { ageS: 600 })
  await reportBounce({ kind: 'bounced', delivery: 'dlv_00000000001' }, 404)
  await reportBounce({ kind: 'bounced', email: 'x'.repeat(20_000) }, 413)
  await takeWebhooks()

  // limits
  await server.setPlan({ eventsPerHour: 0, addsPerHour: 0, updatesPerHour: 0 })
  for (const [method, path] of WRITES) {
    if (method !== 'DELETE') await ask(method, path, { body: bodyFor(method, path) }, 429)
  }
  await server.setPlan({ eventsPerHour: null, addsPerHour: null, updatesPerHour: null })
  for (let count = 0; count < 5; count++) await addAda({ ip: '203.0.113.7' })
  await ask('POST', CONTACTS, { body: bodyFor('POST', CONTACTS, { ip: '203.0.113.7' }) }, 429)
  for (let count = 0; count < 1_200; count++) await server.call('GET', `${EVENTS}?${query}`, { key: null })
  for (const [method, path] of [...WRITES, ...READS]) await ask(method, path, { key: null }, 429)
  for (const path of CHANGES) await ask('POST', path, { key: null }, 429)
  await ask('GET', EXPORT, { key: null }, 429)
  await ask('GET', `${DELIVERIES}/dlv_00000000001`, { key: null }, 429)
  for (const path of [MESSAGES, ...readsOf(messageId)]) await ask('GET', path, { key: null }, 429)
  for (const [path] of writesOf(messageId)) await ask('POST', path, { key: null }, 429)

  // our own faults
  await addAda()
  const left = await waiting()
  await addFailed()
  for (const [behaviour, status] of [
    ['refuses', 503],
    ['breaks', 500],
  ] as const) {
    store = behaviour
    for (const [method, path] of WRITES) await ask(method, path, { body: bodyFor(method, path) }, status)
    for (const path of CHANGES) await ask('POST', path, { body: left }, status)
    await ask('GET', `${EXPORT}?${query}&email=ada@example.com`, {}, status)
    await reportVisit({}, status)
    await reportBounce({ kind: 'bounced', email: 'bob@example.com' }, status)
    await takeWebhook(JSON.parse(postmarkDelivery(OF_TEST).body) as object, status, { token: TOKEN })
    await takeSigned(resendEvent('email.delivered', OF_TEST), status)
    if (status === 500) for (const [method, path] of READS) await ask(method, `${path}?${query}`, {}, status)
    if (status === 500) await ask('GET', `${DELIVERIES}/dlv_00000000001?${query}`, {}, status)
    for (const [path, body] of writesOf(messageId)) {
      if (status === 503 && path.endsWith('/test')) continue
      await ask('POST', path, { body: { app: server.first.appId, ...body }, key: manage }, status)
    }
    if (status === 500) {
      for (const path of [MESSAGES, ...readsOf(messageId)])
        await ask(
          'GET',
          `${path}?${query}${path.endsWith('/explanation') ? '&email=a@b.example' : ''}`,
          { key: manage },
          500,
        )
    }
    store = 'works'
  }

  const promised = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.keys(responses).map((status) => `${method.toUpperCase()} ${path} ${status}`),
    ),
  )
  const missing = promised.filter((name) => !described.has(name))
  // reads and tests wait for no commit: only a crowd of requests is refused so
  expect(missing).toEqual([
    `GET ${EVENTS} 503`,
    `GET ${CONTACTS} 503`,
    `GET ${DELIVERIES} 503`,
    `GET ${DELIVERIES}/{delivery} 503`,
    `GET ${MESSAGES} 503`,
    ...readsOf('{message}').map((path) => `GET ${path} 503`),
    `POST ${MESSAGES}/test 503`,
  ])
})
