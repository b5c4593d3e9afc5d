import { beforeEach, describe, expect, test } from 'bun:test'
import { createApp } from '../../src/accounts/accounts.ts'
import { publicId } from '../../src/core/ids.ts'
import { isRefusal } from '../../src/core/refusals.ts'
import { API, type Given, type TestServer, useSharedServer } from '../helper.ts'
import { ADA, createMessaging, messageOf, MINUTE, type Messaging } from '../messaging.ts'
import { callTool } from '../mcp/client.ts'
import { codeOf } from './expected.ts'

const DELIVERIES = `${API}/deliveries`
const CANCEL = `${DELIVERIES}/cancel`
const SEND = `${DELIVERIES}/send-now`
const BOB = 'bob@example.com'

const openServer = useSharedServer()
let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  messaging = await createMessaging(server)
  await messaging.put(messageOf({ wait: { minutes: 10 } }))
})

/** The public ID of a new email that waits. */
async function waiting(email = ADA): Promise<string> {
  await messaging.event({ email })
  return publicId('dlv', (await messaging.deliveries()).at(-1)?.id ?? 0)
}
const list = async (filter: string, given: Given = {}) =>
  server.call('GET', `${DELIVERIES}?app=${server.first.appId}${filter}`, given)
const change = (path: string, deliveryId: string, given: Given = {}) =>
  server.call('POST', path, { body: { app: server.first.appId, deliveryId }, ...given })
const audited = async () => {
  const { accountId } = messaging.by
  const entries = await messaging.store().listAudit({ accountId, kind: 'changes', before: null, limit: 10 })
  return entries.filter(({ action }) => action.startsWith('delivery.')).map(({ action, actor }) => [action, actor])
}
const shown = (delivery: unknown) => delivery as { id: string; state: string; reason: string; dueAt: string }

describe('the list', () => {
  test('is newest first, in pages, by person and by state', async () => {
    const [ada, bob] = [await waiting(), await waiting(BOB)]
    await change(CANCEL, ada)
    const idsOf = async (filter: string) => (await list(filter)).body.data?.map(({ id }) => id)
    expect(await idsOf('')).toEqual([bob, ada])
    expect(await idsOf(`&email=${ADA}`)).toEqual([ada])
    expect(await idsOf('&state=waiting')).toEqual([bob])
    expect(await idsOf('&state=skipped')).toEqual([ada])
    const { body } = await list('&limit=1')
    expect(body.data).toMatchObject([{ id: bob, email: BOB, message: 'A message', state: 'waiting', reason: null }])
    expect(await idsOf(`&limit=1&cursor=${body.nextCursor}`)).toEqual([ada])
    expect((await list(`&limit=1&cursor=${body.nextCursor}`)).body.nextCursor).toBeNull()
  })

  test('says when the event happened, and when the delivery was created', async () => {
    const occurredAt = new Date(server.clock.now() - 60 * MINUTE).toISOString()
    await messaging.event({ occurredAt })
    const createdAt = new Date(server.clock.now()).toISOString()
    expect((await list('')).body.data).toMatchObject([{ triggeredAt: occurredAt, createdAt }])
  })

  test('refuses unknown people, states, parameters and cursors', async () => {
    expect(codeOf(await list('&email=nobody@example.com'))).toBe('404 contact_not_found')
    for (const wrong of ['&state=lost', '&sate=waiting', '&cursor=x', '&limit=101', '&email=x'])
      expect([wrong, codeOf(await list(wrong))]).toEqual([wrong, '400 invalid_field'])
  })
})

describe('one delivery', () => {
  const find = async (id: string, given: Given = {}, app = server.first.appId) =>
    server.call('GET', `${DELIVERIES}/${id}?app=${app}`, given)

  test('has its state, why the person got it or not, and every check', async () => {
    const id = await waiting()
    const { body } = await find(id)
    expect(body).toMatchObject({
      ok: true,
      delivery: { id, state: 'waiting', email: ADA, message: 'A message' },
      decidedAt: null,
      rules: [],
    })
    expect(body.why).toStartWith('It is waiting. Its rules are checked on ')
    await messaging.store().suppress({ appId: messaging.app.id, email: ADA, reason: 'unsubscribed', at: 1 })
    const after = await find(id)
    expect(after.body).toMatchObject({
      delivery: { id, state: 'skipped', reason: 'unsubscribed' },
      why: `${ADA} unsubscribed.`,
      rules: [{ rule: 'suppression', verdict: 'fail', sentence: `${ADA} unsubscribed.` }],
    })
  })

  test('is explained as MCP does', async () => {
    const id = await waiting()
    server.clock.tick(11 * MINUTE)
    await messaging.decide()
    const { body } = await find(id)
    const { data } = await callTool(server, 'explain_delivery', { app: server.first.appId, deliveryId: id })
    const { why, decidedAt, rules } = body
    expect(data).toMatchObject({ why, decidedAt, rules })
    expect(rules).not.toEqual([])
  })

  test('of another app or account, and what is no delivery, is the same 404', async () => {
    const id = await waiting()
    const { second } = server
    const answers = [
      await find('dlv_00000000001'),
      await find('none'),
      await find(id, { key: second.apiKey }, second.appId),
    ]
    const message = 'This app has no delivery with this ID. Send an `id` from GET /deliveries.'
    for (const answer of answers) {
      expect([codeOf(answer), answer.body.message]).toEqual(['404 delivery_not_found', message])
    }
    expect(codeOf(await find(id, { key: second.apiKey }))).toBe('404 app_not_found')
    expect(codeOf(await find(id, { key: (await server.makeKey('ingest')).apiKey }))).toBe('403 insufficient_scope')
  })
})

describe('cancelling', () => {
  test('ends the email, in the name of the key', async () => {
    const id = await waiting()
    const { status, body } = await change(CANCEL, id)
    expect([status, body.ok]).toEqual([200, true])
    expect(shown(body.delivery)).toMatchObject({ id, state: 'skipped', reason: 'cancelled', email: ADA })
    server.clock.tick(11 * MINUTE)
    expect(await messaging.decide()).toEqual([])
    expect(await audited()).toEqual([['delivery.cancel', server.first.keyId]])
  })

  test('is refused when the email is no longer waiting', async () => {
    const id = await waiting()
    server.clock.tick(11 * MINUTE)
    await messaging.decide()
    const answer = await change(CANCEL, id)
    expect(codeOf(answer)).toBe('409 delivery_in_use')
    expect(answer.body.message).toBe(
      'This email is no longer waiting: it is being sent, or its state is final. See its `state` in GET /deliveries.',
    )
  })
})

describe('sending now', () => {
  test('decides the email at once, and its rules still count', async () => {
    const [ada, bob] = [await waiting(), await waiting(BOB)]
    expect(shown((await change(SEND, ada)).body.delivery)).toMatchObject({
      state: 'waiting',
      dueAt: new Date(server.clock.now()).toISOString(),
    })
    await change(SEND, bob)
    await messaging.store().suppress({ appId: messaging.app.id, email: BOB, reason: 'unsubscribed', at: 1 })
    expect(await messaging.decide()).toMatchObject([{ email: ADA, verdict: 'send' }])
    expect((await messaging.deliveries()).map(({ state }) => state)).toEqual(['sent', 'skipped'])
    expect(await audited()).toEqual([
      ['delivery.send_early', server.first.keyId],
      ['delivery.send_early', server.first.keyId],
    ])
  })

  test('decides a deferred email at once: it waits again while its limit is reached', async () => {
    await messaging.set({ perPersonDay: 1 })
    await messaging.put(messageOf({ name: 'Another' }))
    await waiting()
    server.clock.tick(11 * MINUTE)
    expect((await messaging.decide()).map(({ reason }) => reason)).toEqual([null, 'perDay'])
    const deferred = (await messaging.deliveries()).find(({ state }) => state === 'deferred')
    const id = publicId('dlv', deferred?.id ?? 0)
    expect(shown((await change(SEND, id)).body.delivery)).toMatchObject({ id, state: 'deferred' })
    expect((await messaging.decide()).map(({ reason }) => reason)).toEqual(['perDay'])
    expect((await change(CANCEL, id)).status).toBe(200)
    expect(codeOf(await change(SEND, id))).toBe('409 delivery_in_use')
  })

  test('is refused for an email that is due already', async () => {
    const id = await waiting()
    await change(SEND, id)
    const answer = await change(SEND, id)
    expect(codeOf(answer)).toBe('409 delivery_in_use')
    expect(answer.body.message).toStartWith(
      "Only an email that is `waiting` or `deferred` and isn't due yet can be sent now.",
    )
  })
})

describe.each([CANCEL, SEND])('%s', (path) => {
  test('of an unknown delivery, another app or another account is the same 404', async () => {
    const id = await waiting()
    const by = { store: messaging.store(), now: server.clock.now(), actor: 'test' }
    const { accountId } = messaging.by
    const app = await createApp(by, accountId, { name: 'Another', domains: [], home: null })
    if (isRefusal(app)) throw new Error(app.refusal)
    const { second } = server
    const answers = [
      await change(path, 'dlv_00000000001'),
      await server.call('POST', path, {
        body: { app: app.appId, deliveryId: id },
        key: (await server.makeKey()).apiKey,
      }),
      await server.call('POST', path, { body: { app: second.appId, deliveryId: id }, key: second.apiKey }),
    ]
    const message = 'This app has no delivery with this ID. Send an `id` from GET /deliveries.'
    for (const answer of answers) {
      expect([codeOf(answer), answer.body.message]).toEqual(['404 delivery_not_found', message])
    }
    expect((await messaging.deliveries()).map(({ state }) => state)).toEqual(['waiting'])
  })

  test('names the field that is missing or wrong, and the app that is unknown', async () => {
    for (const deliveryId of [undefined, '', 'con_029bh3swvls', 7]) {
      const answer = await server.call('POST', path, { body: { app: server.first.appId, deliveryId } })
      expect([codeOf(answer), answer.body.field]).toEqual(['400 invalid_field', 'deliveryId'])
    }
    const answer = await server.call('POST', path, { body: { app: 'app_none', deliveryId: await waiting() } })
    expect(codeOf(answer)).toBe('404 app_not_found')
  })

  test('needs more than the scope ingest', async () => {
    const id = await waiting()
    const { apiKey } = await server.makeKey('ingest')
    expect(codeOf(await change(path, id, { key: apiKey }))).toBe('403 insufficient_scope')
    expect(codeOf(await list('', { key: apiKey }))).toBe('403 insufficient_scope')
  })

  test('is done once per Idempotency-Key, until the person is erased', async () => {
    const id = await waiting()
    const headers = { 'Idempotency-Key': 'a' }
    const first = await change(path, id, { headers })
    server.clock.tick(MINUTE)
    const again = await change(path, id, { headers })
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    expect(again.body.delivery).toEqual(first.body.delivery)
    expect(codeOf(await change(path, await waiting(BOB), { headers }))).toBe('422 idempotency_mismatch')
    expect(await audited()).toHaveLength(1)
    // another call with the same body
    const other = path === CANCEL ? SEND : CANCEL
    expect(codeOf(await change(other, id, { headers }))).toBe('422 idempotency_mismatch')
    await server.call('DELETE', `${API}/contacts`, { body: { app: server.first.appId, email: ADA } })
    expect(codeOf(await change(path, id, { headers }))).toBe('404 delivery_not_found')
  })

  test('stores no refusal under an Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'b' }
    expect(codeOf(await change(path, 'dlv_00000000001', { headers }))).toBe('404 delivery_not_found')
    expect((await change(path, await waiting(), { headers })).status).toBe(200)
  })
})
