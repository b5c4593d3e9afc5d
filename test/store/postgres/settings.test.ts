/** Writes that change settings, on two instances at once: each decides by what the other has stored. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { MessageContent } from '../../../src/store/message-types.ts'
import type { Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { RECORD } from '../conformance/delivery-queue.ts'
import { AT, BY, DAY, done, eventWrite, HOUR, idempotency, newAccount } from '../samples.ts'

const TEMPLATE = 'migrated'
/** What no write of settings changes. */
const OTHER_TABLES = ['instances', 'duties']
let server: PostgresServer
let admin: Bun.SQL
let database: Bun.SQL
let made = 0
let name = TEMPLATE
let stores: Store[] = []

const openStore = ({ masterKey = null }: { masterKey?: string | null } = {}): Promise<Store> =>
  openPostgresStore(
    { url: server.url(name), connections: 3, prepares: true },
    { now: () => AT, rules: STORE_RULES, masterKey },
  )

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off', max_connections: '200' })
  admin = new Bun.SQL(server.url('postgres'), { max: 1 })
  await admin.unsafe(`CREATE DATABASE ${TEMPLATE}`)
  await (await openStore()).close()
}, 120_000)
afterAll(async () => {
  await admin?.close()
  await server?.stop()
})
beforeEach(async () => {
  name = `settings_${(made += 1)}`
  await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`)
  database = new Bun.SQL(server.url(name), { max: 1 })
  stores = [await openStore(), await openStore()]
})
afterEach(async () => {
  for (const store of stores) await store.close()
  await database.close()
  await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`)
})

type Write = (store: Store) => Promise<object>

const first = (): Store => stores[0] as Store

const countWaiting = async (): Promise<number> =>
  Number((await admin`SELECT count(DISTINCT pid) AS waiting FROM pg_locks WHERE NOT granted`)[0].waiting)

/** Neither can write before both have read all they can. */
async function atOnce(...writes: [Write, Write]): Promise<string[]> {
  const tables = await database`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`
  const names = tables.map((table: { name: string }) => table.name).filter((one: string) => !OTHER_TABLES.includes(one))
  let outcomes: Promise<object>[] = []
  await database.begin(async (transaction) => {
    await transaction.unsafe(`LOCK TABLE ${names.join()} IN SHARE MODE`)
    outcomes = writes.map((write, index) => write(stores[index] as Store))
    while ((await countWaiting()) < writes.length) await Bun.sleep(1)
  })
  const answers = await Promise.all(outcomes)
  return answers.map((answer) => ('refusal' in answer ? String(answer.refusal) : 'done')).toSorted()
}

const expiresAt = AT + DAY
const link = (tokenHash: string, purpose: 'setup' | 'password' | 'invite') => ({ tokenHash, purpose, expiresAt })
const ownerOf = (number: number) => ({ ...newAccount(number).member, passwordHash: `password_${number}` })
const addAccount = async (number = 1): Promise<void> =>
  void done(await first().createAccount(newAccount(number, { member: ownerOf(number) })))

const OF_APP = { ...BY, appId: 1 }
const CONTENT: MessageContent = { trigger: { event: 'results_ready' }, mail: { subject: 'S', body: 'B' } }
const withSubject = (subject: string): MessageContent => ({ ...CONTENT, mail: { subject, body: 'B' } })
const draft = { id: null, name: 'M', status: 'live', content: CONTENT } as const
const addMessage = async () => {
  const [saved] = done(await first().saveMessages({ ...OF_APP, drafts: [draft] })).saved
  if (saved === undefined) throw new Error('no message was saved')
  return saved
}

test('a set-up link makes one account', async () => {
  done(await first().makeSetupLink({ link: link('setup', 'setup'), at: AT }))
  const create =
    (number: number): Write =>
    (store) =>
      store.createAccount(newAccount(number, { setupToken: 'setup' }))
  expect(await atOnce(create(1), create(2))).toEqual(['done', 'not_found'])
  expect(await first().listAccounts()).toHaveLength(1)
})

test('an installation is set up once', async () => {
  const create =
    (number: number): Write =>
    (store) =>
      store.createAccount(newAccount(number, { onlyFirst: true }))
  expect(await atOnce(create(1), create(2))).toEqual(['already_set_up', 'done'])
})

test('a password link sets one password', async () => {
  await addAccount()
  const { email } = ownerOf(1)
  const reset = { email, link: link('reset', 'password'), accountId: null, actor: 'cli', at: AT }
  done(await first().makePasswordLink(reset))
  const set =
    (passwordHash: string): Write =>
    (store) =>
      store.setPasswordByLink({ tokenHash: 'reset', passwordHash, at: AT })
  expect(await atOnce(set('new'), set('other'))).toEqual(['done', 'not_found'])
})

test('an invitation is accepted once', async () => {
  for (const number of [1, 2]) await addAccount(number)
  const { id: memberId, email } = ownerOf(2)
  const member = { id: 'unused', membershipId: 'joined', email, role: 'editor' as const }
  done(await first().inviteMember({ ...BY, member, link: link('invite', 'invite') }))
  const accept: Write = (store) =>
    store.acceptInvitation({ tokenHash: 'invite', memberId, passwordHash: 'password_2', at: AT })
  expect(await atOnce(accept, accept)).toEqual(['done', 'not_found'])
})

test('an account keeps an owner', async () => {
  await addAccount()
  const member = { id: 'mem_2', membershipId: 'own_2', email: 'second@example.com', role: 'owner' as const }
  done(await first().inviteMember({ ...BY, member, link: link('invite', 'invite') }))
  done(await first().setPasswordByLink({ tokenHash: 'invite', passwordHash: 'password', at: AT }))
  const demote: Write = (store) => store.setRole({ ...BY, membershipId: 'own_1', role: 'editor' })
  const remove: Write = (store) => store.removeMember({ ...BY, membershipId: 'own_2' })
  expect(await atOnce(demote, remove)).toEqual(['done', 'last_owner'])
})

test('a notice is sent once', async () => {
  await addAccount()
  const claim: Write = (store) => store.claimNotice({ memberId: 'mem_1', action: 'notice', since: AT - 1, at: AT })
  expect(await atOnce(claim, claim)).toEqual(['already_done', 'done'])
})

test('a change of a message is never lost', async () => {
  await addAccount()
  const { id, updatedAt } = await addMessage()
  const save =
    (subject: string): Write =>
    (store) =>
      store.saveMessages({ ...OF_APP, drafts: [{ ...draft, id, content: withSubject(subject), basedOn: updatedAt }] })
  expect(await atOnce(save('one'), save('other'))).toEqual(['done', 'message_changed'])
  expect(await first().listVersions(id, { before: null, limit: 9 })).toHaveLength(2)
})

test('changes of a message that are based on nothing get versions of their own', async () => {
  await addAccount()
  const { id } = await addMessage()
  const save =
    (subject: string): Write =>
    (store) =>
      store.saveMessages({ ...OF_APP, drafts: [{ ...draft, content: withSubject(subject) }] })
  expect(await atOnce(save('one'), save('other'))).toEqual(['done', 'done'])
  const versions = await first().listVersions(id, { before: null, limit: 9 })
  expect(versions.map(({ content }) => content.mail?.subject).toSorted()).toEqual(['S', 'one', 'other'])
})

test('the content of a message that goes live is the one that was approved', async () => {
  await addAccount()
  const { id } = await addMessage()
  done(await first().setMessageStatus({ ...OF_APP, id, status: 'paused' }))
  const approve: Write = (store) => store.setMessageStatus({ ...OF_APP, id, status: 'live', content: CONTENT })
  const save: Write = (store) =>
    store.saveMessages({ ...OF_APP, drafts: [{ ...draft, id, status: null, content: withSubject('other') }] })
  const outcomes = await atOnce(approve, save)
  const stored = await first().findMessage(1, id)
  // saved first: refused; approved first: the change of a live message is an edit of its own
  expect(outcomes).toEqual(stored?.status === 'live' ? ['done', 'done'] : ['done', 'message_changed'])
  expect(stored?.content.mail?.subject).toBe('other')
})

test('a key writes a message once', async () => {
  await addAccount()
  const save: Write = (store) =>
    store.saveMessages({ ...OF_APP, drafts: [{ ...draft, content: withSubject('new') }], idempotency: idempotency() })
  await addMessage()
  const outcomes: object[] = []
  const noted: Write = async (store) => {
    const outcome = await save(store)
    outcomes.push(outcome)
    return outcome
  }
  expect(await atOnce(noted, noted)).toEqual(['done', 'done'])
  expect(outcomes.filter((outcome) => 'replayed' in outcome)).toHaveLength(1)
})

test('a key cancels an email once', async () => {
  await addAccount()
  await addMessage()
  done(await first().recordEvent(eventWrite()))
  const query = { appId: 1, messageId: null, contactId: null, states: null, before: null, limit: 9 }
  const [delivery] = await first().listDeliveries(query)
  const cancelling = { appId: 1, id: delivery?.id ?? 0, at: AT, by: BY, idempotency: idempotency() }
  const cancel: Write = (store) => store.cancelDelivery(cancelling)
  expect(await atOnce(cancel, cancel)).toEqual(['done', 'done'])
  const cancelled = (await first().listAudit({ accountId: 'acc_1', kind: 'all', before: null, limit: 99 })).filter(
    ({ action }) => action === 'delivery.cancel',
  )
  expect(cancelled).toHaveLength(1)
})

test('a change of mail settings is never lost', async () => {
  await addAccount()
  const set =
    (fromName: string): Write =>
    (store) =>
      store.setMailSettings({ ...OF_APP, settings: { fromName }, basedOn: { fromName: null } })
  expect(await atOnce(set('One'), set('Other'))).toEqual(['done', 'settings_changed'])
})

test('a change of an app is never lost', async () => {
  await addAccount()
  const [app] = await first().listApps('acc_1')
  const { hosts = [], homeUrl = null, timezone = 'UTC', locale = 'en' } = app ?? {}
  const snippet = await first().snippetSettings(1)
  const basedOn = {
    name: 'App 1',
    hosts,
    homeUrl,
    timezone,
    locale,
    snippet,
    retention: await first().findRetention(1),
  }
  const update =
    (newName: string): Write =>
    (store) =>
      store.updateApp({ ...OF_APP, basedOn, settings: { ...basedOn, name: newName } } as Parameters<
        Store['updateApp']
      >[0])
  expect(await atOnce(update('One'), update('Other'))).toEqual(['done', 'settings_changed'])
})

test('a domain that the operator binds belongs to one account', async () => {
  for (const number of [1, 2]) await addAccount(number)
  const bind =
    (accountId: string): Write =>
    (store) =>
      store.bindSenderDomain({ ...BY, accountId, domain: 'example.com', proof: 'operator' })
  expect(await atOnce(bind('acc_1'), bind('acc_2'))).toEqual(['done', 'done'])
  expect(await first().listSenderDomains()).toHaveLength(1)
})

test('frequent writes do not wait for a change of settings', async () => {
  await addAccount()
  await addMessage()
  const [held, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = database.begin(async (transaction) => {
    await transaction`SELECT version FROM settings_version FOR UPDATE`
    held.resolve()
    await goOn.promise
  })
  await held.promise
  const claiming = { claimedBy: 'a', now: AT + HOUR, leaseMs: HOUR, most: 9, skipApps: [] }
  done(await first().recordEvent(eventWrite()))
  const [work] = done(await first().claimDeliveries(claiming)).works
  const claim = { id: work?.delivery.id ?? 0, claimedBy: 'a', attempt: 1, at: AT + HOUR }
  expect(await first().markHanded({ ...claim, record: RECORD })).toEqual({ isMarked: true })
  expect(await first().markSent(claim)).toEqual({ isMarked: true })
  done(await first().noteKeyUse([{ keyId: 'key_1', lastUsedAt: AT, seenInBrowserAt: null }]))
  done(await first().unsubscribe({ contactId: work?.delivery.contactId ?? 0, at: AT }))
  expect(await first().canCommit()).toBe(true)
  goOn.resolve()
  await holding
})

test('a secret that is stored while secrets are sealed stays', async () => {
  await addAccount()
  done(await first().setMailSettings({ ...OF_APP, settings: { smtpUrl: 'smtp://old.example' } }))
  const opening: Promise<Store>[] = []
  await database.begin(async (transaction) => {
    await transaction`UPDATE app_mail_settings SET smtp_url = 'smtp://new.example'`
    opening.push(openStore({ masterKey: 'a'.repeat(64) }))
    while ((await countWaiting()) === 0) await Bun.sleep(1)
  })
  stores.push(...(await Promise.all(opening)))
  expect((await database`SELECT smtp_url AS url FROM app_mail_settings`)[0].url).toBe('smtp://new.example')
})

test('an address stays suppressed for all when the database got the key of another backup', async () => {
  await addAccount()
  const [one, other] = stores as [Store, Store]
  const eve = 'eve@example.com'
  // only one of them knows the key that goes
  done(await one.suppress({ appId: 1, email: 'ada@example.com', reason: 'bounced', at: AT }))
  for (const email of ['ada@example.com', 'bob@example.com']) done(await one.recordEvent(eventWrite({ email })))
  await one.findSuppression(1, 'ada@example.com')
  await database`UPDATE install SET value = 'restored' WHERE name = 'suppression_key'`
  done(await other.suppress({ appId: 1, email: eve, reason: 'complained', at: AT }))
  expect(await Promise.all(stores.map((store) => store.findSuppression(1, eve)))).toEqual(['complained', 'complained'])
  done(await one.recordEvent(eventWrite({ email: eve })))
  expect((await one.findContact(1, eve))?.status).toBe('complained')
})

test('a new database has a key for the hashes of addresses', async () => {
  const rows = await database`SELECT value FROM install WHERE name = 'suppression_key'`
  expect(rows.map(({ value }: { value: string }) => value)).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)])
})
