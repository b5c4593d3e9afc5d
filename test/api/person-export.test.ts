import { beforeEach, expect, test } from 'bun:test'
import { FormatRegistry } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { exportPerson } from '../../src/deliveries/person-export.ts'
import { PersonExport } from '../../src/http/answer-schemas.ts'
import { API, CONTACTS, type TestServer, useSharedServer } from '../helper.ts'
import { ADA, createMessaging, leave, messageOf, type Messaging, page } from '../messaging.ts'

if (!FormatRegistry.Has('date-time')) FormatRegistry.Set('date-time', (text) => !Number.isNaN(Date.parse(text)))

const openServer = useSharedServer()
let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  messaging = await createMessaging(server)
})

const EXPORT = `${CONTACTS}/export`
const ask = (email: string, given = {}) =>
  server.call('GET', `${EXPORT}?${new URLSearchParams({ app: server.first.appId, email })}`, given)

/** Ada is asked for consent, does things, gets emails, and is suppressed. */
async function fill(): Promise<void> {
  const { store, sender } = { ...server.parts(), sender: server.sender }
  const texts = { subject: 'Confirm', body: 'Please confirm.', button: 'Confirm' }
  await messaging.set({ optIn: { isOn: true, storesIp: false, days: null, ...texts } })
  const app = server.first.appId
  await server.call('POST', CONTACTS, { body: { app, email: ADA, consent: 'pending', tags: ['vip'] } })
  await sender().sendDue()
  server.clock.tick(1_000)
  const contactId = (await store.findContact(messaging.app.id, ADA))?.id ?? 0
  const [consent] = await store.listConsents(contactId)
  const person = { accountId: messaging.app.accountId, appId: messaging.app.id, email: ADA, shownEmail: null }
  const write = { ...person, newPeoplePerMonth: null, at: server.clock.now(), limits: [], idempotency: null }
  await store.confirmConsent({ ...write, consentId: consent?.id ?? 0, address: null })
  await messaging.put(messageOf({ topic: 'Tips', wait: { minutes: 10 } }))
  await messaging.event()
  await messaging.browse('load', page('/start'), leave('/start'))
  const body = { app, email: ADA, subject: 'Receipt', body: 'Hello {{ event.total }}', properties: { total: '$5' } }
  expect((await server.call('POST', `${API}/send`, { body })).status).toBe(202)
  await sender().sendDue()
  await server.call('PATCH', CONTACTS, { body: { app, email: ADA, firstName: 'Ada' } })
  server.clock.tick(1_000)
  const by = { ...messaging.by, why: 'She asked' }
  await store.suppress({ appId: messaging.app.id, email: ADA, reason: 'unsubscribed', at: server.clock.now(), by })
  await store.chooseTopics({ contactId, end: ['Tips'], resume: [], actor: 'mem_1', at: server.clock.now() })
}

test('has everything that is stored about the person, in the shape of its schema', async () => {
  await fill()
  const { status, body, headers } = await ask(ADA)
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  expect([...TypeCompiler.Compile(PersonExport).Errors(body)]).toEqual([])
  expect(body).toMatchObject({
    person: { email: ADA, firstName: 'Ada', status: 'unsubscribed' },
    suppression: { reason: 'unsubscribed', why: 'By a member: “She asked”' },
    topics: [{ name: 'Tips', isOn: false, endedAt: new Date(server.clock.now()).toISOString() }],
    consents: [{ source: 'api', confirmedBy: 'page', text: { subject: 'Confirm' }, address: null }],
    pageReports: [{ type: 'leave', path: '/start' }],
    deleted: { eventsUntil: null, pageViewsUntil: null },
  })
  const emails = body.emails as { state: string; message: string; why: string; properties: object; captured: object }[]
  expect(emails.map(({ state, message }) => [state, message])).toEqual([
    ['kept', 'Receipt'],
    ['skipped', 'A message'],
    ['kept', 'Confirm email address'],
  ])
  expect(emails[0]).toMatchObject({ properties: { total: '$5' }, captured: { subject: 'Receipt' } })
  expect(emails.filter(({ why }) => why === '')).toEqual([])
  expect((body.events as { type: string }[]).map(({ type }) => type)).toEqual(['page', 'event'])
  expect((body.changes as { status: string[] | null }[]).flatMap(({ status }) => (status ? [status] : []))).toEqual([
    ['subscribed', 'unsubscribed'],
    ['pending', 'subscribed'],
  ])
  const described = Object.keys(PersonExport.properties.changes.items.properties).toSorted()
  for (const change of body.changes as object[]) expect(Object.keys(change).toSorted()).toEqual(described)
  expect(JSON.stringify(body)).not.toContain('mem_')
})

test('is the same as the file of the page and the command', async () => {
  await fill()
  const { store } = server.parts()
  const person = await store.findContact(messaging.app.id, ADA)
  if (!person) throw new Error('Ada is unknown')
  const pieces = await Array.fromAsync(exportPerson(server.parts(), messaging.app, person))
  const { body } = await ask(ADA)
  expect(body).toEqual({ ok: true, ...(JSON.parse(pieces.join('')) as object) })
})

test('is in the audit log, without the email', async () => {
  await messaging.event()
  await ask(ADA)
  const query = { accountId: messaging.app.accountId, kind: 'people' as const, before: null, limit: 100 }
  const noted = (await server.parts().store.listAudit(query)).filter(({ action }) => action === 'contact.export')
  expect(noted).toMatchObject([{ actor: server.first.keyId, subject: expect.stringMatching(/^con_/) }])
})

test('shows nothing of other accounts', async () => {
  await messaging.event()
  expect((await ask(ADA, { key: server.second.apiKey })).body).toMatchObject({ error: 'app_not_found' })
})
