/** What the Activation page says, and what it says it by. */
import { beforeEach, describe, expect, test } from 'bun:test'
import { rotateIdentitySecret } from '../../src/accounts/accounts.ts'
import { type Activation, readActivation } from '../../src/events/activation.ts'
import { addPerson, appOf, leave, ORIGIN, page, report, saveSnippet, send, track } from '../api/reports.ts'
import { useClosing } from '../closing.ts'
import { type Account, BATCH, createTestServer, EVENTS, type TestServer, useSharedServer } from '../helper.ts'

const keep = useClosing()
const openServer = useSharedServer()
let server: TestServer
beforeEach(async () => {
  server = await openServer()
})

const read = async (account?: Account): Promise<Activation> =>
  readActivation(server.parts(), await appOf(server, account))
const stateOf = async (account?: Account) => {
  const { state, message } = await read(account)
  return [state, message]
}
const event = (more: Record<string, unknown> = {}) =>
  server.call('POST', EVENTS, {
    body: { app: server.first.appId, email: 'ada@example.com', event: 'e', createContact: true, ...more },
  })
const post = (more: Record<string, unknown> = {}, headers?: Record<string, string>) =>
  send(server, report(server.first, more), { headers })
const loadScript = (referer: string | null) =>
  server.call('GET', '/s.js', { key: null, headers: referer === null ? {} : { Referer: referer } })

const WAITING = ['waiting', 'Waiting for the first event...']
const WITHOUT_EMAIL = ['without-email', "Call identify with the user's email after they sign in."]
const DONE = ['done', null]
const nothing = {
  lastEventAt: null,
  lastNamedAt: null,
  lastViewAt: null,
  lastIdentified: null,
  failedSignature: null,
  oldSecret: null,
  unknownPeople: null,
  withoutEmail: null,
  scriptLoaded: null,
  refused: null,
  foreignHost: null,
  limited: null,
  refusedCall: null,
}
const noted = (more: object = {}) => ({ count: 1, lastAt: server.clock.now(), reason: null, origin: null, ...more })

describe('the state', () => {
  test('waits for the first event and changes when it arrives', async () => {
    expect(await read()).toEqual({ state: 'waiting', message: WAITING[1] ?? null, ...nothing })
    await post({ email: 'nobody' })
    expect(await stateOf()).toEqual(WAITING)
    await event()
    expect(await read()).toMatchObject({ state: 'done', message: null, lastEventAt: server.clock.now() })
    expect(await stateOf(server.second)).toEqual(WAITING)
  })

  test.each<[string, () => Promise<unknown>]>([
    ['a server sends an event without one', () => event({ email: undefined })],
    ['a server sends it empty', () => event({ email: '' })],
    [
      'a server sends it by the older name of the app',
      () => event({ app: undefined, newsletter: server.first.appId, email: null }),
    ],
    [
      'one of a batch has none',
      () => server.call('POST', BATCH, { body: { events: [{ app: server.first.appId, event: 'e' }] } }),
    ],
    ['a page sends none', () => post({ email: undefined })],
    ['a page sends it empty', () => post({ email: '', signature: '' })],
  ])('lacks an email: %s', async (_name, send) => {
    await send()
    expect(await stateOf()).toEqual(WITHOUT_EMAIL)
    expect((await read()).withoutEmail).toMatchObject({ count: 1, lastAt: server.clock.now() })
    expect(await stateOf(server.second)).toEqual(WAITING)
    server.clock.tick(1_000)
    await event()
    expect(await stateOf()).toEqual(DONE)
    server.clock.tick(1_000)
    await send()
    expect(await stateOf()).toEqual(WITHOUT_EMAIL)
  })

  test('an invalid email is a different mistake', async () => {
    await event({ email: 'nobody' })
    await post({ email: 'nobody' })
    expect(await stateOf()).toEqual(WAITING)
  })

  test('records nothing for an app of another account', async () => {
    await event({ app: server.second.appId, email: undefined })
    expect(await stateOf(server.second)).toEqual(WAITING)
  })

  test('the script is loaded by a page of the app without identify', async () => {
    await loadScript('https://app.first.example/')
    expect(await stateOf()).toEqual(WITHOUT_EMAIL)
    expect((await read()).scriptLoaded).toEqual(noted({ origin: 'https://app.first.example' }))
    expect(await stateOf(server.second)).toEqual(WAITING)
    await event()
    expect(await stateOf()).toEqual(WITHOUT_EMAIL)
    await post({ events: [page()] })
    expect(await stateOf()).toEqual(DONE)
    await loadScript('https://app.first.example/')
    expect(await stateOf()).toEqual(DONE)
  })

  test.each<[string, Record<string, unknown>]>([
    ['an action of somebody known', { events: [track('x')] }],
    ['a leave of somebody known', { events: [leave()] }],
    ['anything of nobody', { email: 'nobody@example.com' }],
  ])('a valid signature counts as identified: %s', async (_name, more) => {
    server = keep(await createTestServer())
    await event()
    await loadScript('https://app.first.example/')
    await post({ signature: '0'.repeat(64) })
    expect(await stateOf()).toEqual(WITHOUT_EMAIL)
    await post(more)
    expect(await stateOf()).toEqual(DONE)
    await server.parts().notes.save()
    await server.restart()
    expect(await stateOf()).toEqual(DONE)
  })

  test.each([
    [null, false],
    ['https://first.example/', true],
    ['http://deep.app.first.example:3000/path', true],
    ['https://evilfirst.example/', false],
    ['https://first.example.evil.example/', false],
    ['https://example/', false],
    ['about:blank', false],
    ['nonsense', false],
    [`https://first.example/${'x'.repeat(3_000)}`, false],
  ])('a page at %s', async (referer, isOwn) => {
    expect((await loadScript(referer)).status).toBe(200)
    expect(await stateOf()).toEqual(isOwn ? WITHOUT_EMAIL : WAITING)
  })
})

describe('diagnostics', () => {
  beforeEach(async () => void (await addPerson(server)))

  test.each([
    ['0'.repeat(64), 'wrong'],
    ['A'.repeat(64), 'uppercase'],
    ['x', 'malformed'],
  ])('a failed signature, once and not as another refusal: %s', async (signature, reason) => {
    await post()
    await post({ signature: 'f'.repeat(64) }, { Origin: 'https://old.example' })
    server.clock.tick(5)
    await post({ signature })
    const { failedSignature, refused } = await read()
    expect(failedSignature).toEqual(noted({ count: 2, reason, origin: ORIGIN }))
    expect(refused).toBeNull()
  })

  test('signatures that still use an old secret', async () => {
    await post()
    expect((await read()).oldSecret).toBeNull()
    const maker = { store: server.parts().store, now: server.clock.now(), actor: 'test' }
    await rotateIdentitySecret(maker, server.first.accountId)
    server.parts().access.forget()
    await post()
    await post()
    expect((await read()).oldSecret).toEqual(noted({ count: 2, origin: ORIGIN }))
  })

  test('unknown people', async () => {
    await post({ email: 'nobody@example.com' })
    await post({ email: 'nobody@example.com', events: [leave()] })
    expect(await read()).toMatchObject({ state: 'waiting', unknownPeople: noted({ count: 2 }), refused: null })
  })

  test('the last refusal, with its message', async () => {
    await post({ events: [] })
    expect((await read()).refused).toEqual(noted({ reason: 'Send 1 to 20 items.', origin: ORIGIN }))
    await saveSnippet(server.parts(), await appOf(server), { hosts: ['first.example'], addsPeople: false })
    const { body } = await post({}, { Origin: 'https://evil.example' })
    const { refused, foreignHost } = await read()
    expect(foreignHost).toEqual(noted({ reason: String(body.message), origin: 'https://evil.example' }))
    expect(refused).toMatchObject({ count: 1 })
    await send(server, { ...report(server.second), site: server.first.siteId })
    expect((await read()).refused).toMatchObject({ count: 1 })
    expect((await read(server.second)).refused).toBeNull()
  })

  test.each<[string, () => Promise<unknown>, string]>([
    ['a field', () => event({ event: 'not valid!' }), '`event`: Send 1 to 64'],
    [
      'an unknown person',
      () => event({ email: 'nobody@example.com', createContact: false }),
      'This app has no person with this email.',
    ],
    ['a batch', () => server.call('POST', BATCH, { body: { events: [] } }), 'Send `events` as an array'],
    [
      'one of a batch',
      () => server.call('POST', BATCH, { body: { events: [{ app: server.first.appId, email: 'a@b.example' }] } }),
      'Send',
    ],
    ['an app of nobody', () => event({ app: 'app_0mp6v7uo0u63b1cojcdwp' }), 'account has no app with this ID'],
  ])('the last refused call of a server: %s', async (_name, send, sentence) => {
    await event({ event: 'not valid!' })
    server.clock.tick(5)
    await send()
    const { refusedCall, refused } = await read()
    expect(refusedCall).toEqual(noted({ count: 2, reason: expect.stringContaining(sentence) }))
    expect(refused).toBeNull()
    expect((await read(server.second)).refusedCall).toBeNull()
  })

  test('a call is recorded for the app it names, and without a key for none', async () => {
    await server.call('POST', EVENTS, { key: 'mc_wrong', body: {} })
    await server.call('GET', `${EVENTS}?app=${server.first.appId}&limit=0`)
    await event({ event: 'x', createContact: true, email: 'ada@example.com' })
    expect((await read()).refusedCall).toBeNull()
    const appOfOthers = { app: server.second.appId }
    await event(appOfOthers)
    expect([(await read()).refusedCall?.count, (await read(server.second)).refusedCall]).toEqual([1, null])
  })

  test('an invalid Origin is not stored', async () => {
    for (const origin of ['null', 'nonsense', 'data:text/html,x', `https://${'x'.repeat(3_000)}.example`]) {
      await post({ signature: 'x' }, { Origin: origin })
    }
    expect((await read()).failedSignature).toMatchObject({ count: 4, origin: null })
  })
})

describe('notes', () => {
  test('are saved regularly, add up and survive a restart', async () => {
    await post({ signature: 'x' })
    await server.parts().notes.save()
    server.clock.tick(1_000)
    await post({ signature: 'f'.repeat(64) })
    await server.parts().notes.save()
    await server.parts().notes.save()
    const before = await read()
    expect(before.failedSignature).toEqual(noted({ count: 2, reason: 'wrong', origin: ORIGIN }))
    await server.restart()
    expect(await read()).toEqual(before)
  })

  test('are not lost when the disk is full', async () => {
    let isFull = true
    const full = await createTestServer({
      wrapStore: (store) => ({
        ...store,
        addNotes: async (notes) => (isFull ? { refusal: 'unavailable' } : store.addNotes(notes)),
      }),
    })
    await send(full, report(full.first, { signature: 'x' }))
    await full.parts().notes.save()
    await send(full, report(full.first, { signature: 'y' }))
    isFull = false
    await full.parts().notes.save()
    await full.restart()
    const { failedSignature } = await readActivation(full.parts(), await appOf(full))
    expect(failedSignature?.count).toBe(2)
    await full.close()
  })

  test('contain no personal data', async () => {
    await post({ email: 'nobody@example.com' })
    await post({ signature: 'a-signature', events: [page('/canary')] })
    await server.parts().notes.save()
    const app = await appOf(server)
    const text = JSON.stringify(await server.parts().store.listNotes(app.id))
    for (const secret of ['nobody', 'ada', 'a-signature', 'canary']) expect(text).not.toContain(secret)
  })
})
