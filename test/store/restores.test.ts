/** What a restored copy does with the messages and emails that it has. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openSource, writeBackup } from '../../src/store/engine/backup-files.ts'
import { openForReading, openUnchanged } from '../../src/store/engine/database.ts'
import { createMemberships } from '../../src/store/members.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'
import { keepServerFacts, readServerFacts } from '../../src/monitoring/installation.ts'
import { readRestore } from '../../src/store/restored.ts'
import { restoreDatabase } from '../../src/store/restores.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { API, createTestServer, DAY, HOUR, TEST_SERVER, type TestServer } from '../helper.ts'
import { createMessaging, messageOf, type Messaging, MINUTE } from '../messaging.ts'
import { done, eventWrite, makeFolder } from './samples.ts'

let server: TestServer
let messaging: Messaging
let target: ReturnType<typeof makeFolder>
let store: Store | null = null
beforeEach(async () => {
  server = await createTestServer()
  messaging = await createMessaging(server)
  target = makeFolder()
})
afterEach(async () => {
  await store?.close()
  store = null
  await server.close()
  target.remove()
})

const claimOf = (now: number) => ({ claimedBy: 'a', now, leaseMs: MINUTE, most: 100, skipApps: [] })

/** Backs up now, and restores after `ms`. */
async function restoreLater(ms: number) {
  const file = `${target.folder}/backup.db`
  await writeBackup({ folder: server.folder, descriptor: openSource(server.folder) }, file)
  const at = server.clock.now() + ms
  const folder = `${target.folder}/restored`
  const restored = await restoreDatabase(file, { folder, masterKey: null, at })
  const opened = await openStore(folder, { threads: false, now: () => at, rules: STORE_RULES })
  store = opened
  const list = () => {
    const db = openForReading(folder)
    const rows = db
      .query<{ email: string; state: string; reason: string | null }, []>(
        'SELECT email, deliveries.state, reason FROM deliveries JOIN contacts ON contacts.id = contact_id',
      )
      .all()
    db.close()
    return Object.fromEntries(rows.map(({ email, state, reason }) => [email.split('@')[0] ?? '', [state, reason]]))
  }
  return { restored, opened, list, at }
}

test('an old copy sends nothing that waited, even if it was due later and its message is live again', async () => {
  await messaging.put(messageOf({ name: 'Soon' }))
  const later = await messaging.put(messageOf({ name: 'Later', trigger: { event: 'later' }, wait: { minutes: 2_880 } }))
  await messaging.put({ ...messageOf({ name: 'Draft', trigger: { event: 'other' } }), status: 'draft' })
  await messaging.event({ email: 'claimed@example.com' })
  done(await messaging.store().claimDeliveries(claimOf(server.clock.now() + HOUR)))
  await messaging.event({ email: 'due@example.com' })
  await messaging.event({ email: 'later@example.com', event: 'later' })
  const own = { email: 'own@example.com', subject: 'S', body: 'B', createContact: true, properties: {} }
  const sent = await server.call('POST', `${API}/send`, { body: { app: server.first.appId, ...own } })
  expect(sent.status).toBe(202)

  const { restored, opened, list, at } = await restoreLater(HOUR)
  expect(restored).toMatchObject({ paused: 2, ended: 4, newestEventAt: server.clock.now() })
  const statuses = (await opened.listMessages(messaging.app.id)).map(({ name, status }) => [name, status])
  expect(Object.fromEntries(statuses)).toMatchObject({ Soon: 'paused', Later: 'paused', Draft: 'draft' })
  expect(list()).toEqual({
    claimed: ['skipped', 'restored'],
    due: ['skipped', 'restored'],
    own: ['skipped', 'restored'],
    later: ['skipped', 'restored'],
  })
  const live = { ...messaging.by, at, id: later.id, status: 'live' as const }
  done(await opened.setMessageStatus(live))
  expect(done(await opened.claimDeliveries(claimOf(at + 4 * DAY)))).toEqual({ works: [], decisions: [] })
})

test('a copy knows that it is one, and counts what it ended as neither unconfirmed nor handed over', async () => {
  await messaging.put(messageOf())
  await messaging.event({ email: 'due@example.com' })
  const backup = { kind: 'scheduled', startedAt: 1, finishedAt: 2, bytes: 3, error: null } as const
  done(await messaging.store().recordBackup({ ...backup, place: '/old/machine.db', removedPlaces: [] }))
  await keepServerFacts(messaging.store(), { ...TEST_SERVER, backupFolder: '/old' })
  const { opened, at } = await restoreLater(HOUR)
  expect(await readRestore(opened)).toEqual({ at, paused: 1, ended: 1 })
  expect([await opened.listBackups(10), await readServerFacts(opened)]).toEqual([[], null])
  const range = { from: 0, until: 100_000 }
  expect(await opened.countProblems(messaging.app.id, range, [])).toMatchObject({ unknown: 0, restored: 1 })
  const { people, days } = await opened.readAppResults(messaging.app.id, range)
  expect([people.emailed, days.map(({ sent, unsent }) => [sent, unsent])]).toEqual([0, [[0, 1]]])
})

test('an email that a member sent early after the backup is not sent again', async () => {
  const { id } = await messaging.put(messageOf({ wait: { minutes: 2_880 } }))
  await messaging.event({ email: 'ada@example.com' })
  const { opened, at } = await restoreLater(HOUR)
  // meanwhile, on the old server
  const [waiting] = await messaging.deliveries()
  const early = { appId: messaging.app.id, id: waiting?.id ?? 0, at: server.clock.now(), by: messaging.by }
  done(await messaging.store().sendDeliveryEarly({ ...early, idempotency: null }))
  await messaging.decide()
  expect((await messaging.deliveries()).map(({ state }) => state)).toEqual(['sent'])

  done(await opened.setMessageStatus({ ...messaging.by, at, id, status: 'live' }))
  expect(done(await opened.claimDeliveries(claimOf(at + 3 * DAY))).decisions).toEqual([])
})

test('an email that waited for a limit, and was sent early after the backup, is not sent again', async () => {
  await messaging.set({ perPersonDay: 1 })
  const first = await messaging.put(messageOf({ name: 'First' }))
  const second = await messaging.put(messageOf({ name: 'Second', trigger: { event: 'other' } }))
  await messaging.event({ email: 'ada@example.com' })
  await messaging.event({ email: 'ada@example.com', event: 'other' })
  server.clock.tick(HOUR)
  await messaging.decide()
  expect((await messaging.deliveries()).map(({ state }) => state)).toEqual(['sent', 'deferred'])

  const { opened, at } = await restoreLater(HOUR)
  // meanwhile, on the old server
  server.clock.tick(MINUTE)
  await messaging.store().setMailSettings({ ...messaging.by, at: server.clock.now(), settings: { perPersonDay: null } })
  await messaging.decide()
  expect((await messaging.deliveries()).map(({ state }) => state)).toEqual(['sent', 'sent'])

  for (const { id } of [first, second]) done(await opened.setMessageStatus({ ...messaging.by, at, id, status: 'live' }))
  const { decisions } = done(await opened.claimDeliveries(claimOf(at + DAY)))
  expect(decisions.map((one) => one?.outcome)).toEqual([])
})

test('the same result is not emailed again by a restored copy', async () => {
  const { id } = await messaging.put(messageOf({ again: { once: 'property', property: 'url' } }))
  const properties = { url: 'https://first.example/results/9', headline: 'H' }
  await messaging.event({ email: 'ada@example.com', properties })
  const { opened, list, at } = await restoreLater(HOUR)
  done(await opened.setMessageStatus({ ...messaging.by, at, id, status: 'live' }))
  const { accountId, id: appId } = messaging.app
  for (const [email, url] of [
    ['ada@example.com', properties.url],
    ['bob@example.com', 'https://first.example/results/10'],
  ] as const) {
    const sent = JSON.stringify({ ...properties, url })
    done(await opened.recordEvent(eventWrite({ accountId, appId, email, properties: sent, at })))
  }
  expect(list()).toEqual({ ada: ['skipped', 'restored'], bob: ['waiting', null] })
})

test('a copy reports nothing of the old server: no alert, no end of one, no weekly summary of the week before', async () => {
  const notice = { route: 'webhook', isOver: false, state: 'due', tries: 1, nextAt: 0 } as const
  const at = server.clock.now()
  const told = { title: 'T', detail: 'D', fix: 'F', path: '/' }
  const alert = { kind: 'disk', subject: '', accountId: null, ...told, openedAt: at }
  await messaging.store().saveAlerts({
    alerts: [
      { ...alert, id: 'alt_open', resolvedAt: null, notices: [notice, { ...notice, route: 'mem_1', state: 'sent' }] },
      { ...alert, id: 'alt_over', resolvedAt: at, notices: [{ ...notice, isOver: true }] },
    ],
  })
  const { accountId } = messaging.app
  const db = openUnchanged(server.folder)
  const memberships = createMemberships(createSqliteSql(db))
  const memberId = await memberships.ensurePerson({ id: 'mem_1', email: 'owner@example.com', passwordHash: '' }, at)
  await memberships.add({ id: 'mbs_1', accountId, memberId, role: 'owner', isAccepted: true, at })
  db.close()
  const { opened, at: restoredAt } = await restoreLater(HOUR)
  const states = (await opened.listAlerts()).map(({ id, resolvedAt, notices }) => [
    id,
    resolvedAt,
    notices.map(({ state }) => state),
  ])
  expect(states.sort()).toEqual([
    ['alt_open', restoredAt, ['left_out', 'sent']],
    ['alt_over', at, ['left_out']],
  ])
  const owners = await opened.listOwners(accountId)
  expect(owners.map(({ summarizedAt }) => summarizedAt)).toEqual([restoredAt])
})
