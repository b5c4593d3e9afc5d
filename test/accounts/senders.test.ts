import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { dkimRecord, makeDkimKey, publishedOf, readDkimKeys, writeDkimKeys } from '../../src/accounts/dkim.ts'
import {
  changeSenders,
  createSenders,
  keepInstallation,
  listCovering,
  senderRecord,
} from '../../src/accounts/senders.ts'
import type { MailSettings } from '../../src/store/message-types.ts'
import type { AppRow } from '../../src/store/types.ts'
import { createTestServer, type TestServer } from '../helper.ts'

const OURS = { name: '', address: 'post@ours.example' }

let server: TestServer
let app: AppRow
let asked: string[]
let records: Map<string, string[]>
beforeEach(async () => {
  server = await createTestServer()
  app = await appOf(server.second.accountId)
  asked = []
  records = new Map()
})
afterEach(() => server.close())

async function appOf(accountId: string): Promise<AppRow> {
  const [found] = await server.parts().store.listApps(accountId)
  if (!found) throw new Error('no app')
  return found
}

const open = (hasServer = true) =>
  createSenders({
    store: server.parts().store,
    clock: server.clock,
    resolveTxt: async (name) => (asked.push(name), records.get(name) ?? []),
    installation: { from: OURS, hasServer },
  })

async function set(settings: Partial<MailSettings>): Promise<MailSettings> {
  const { store } = server.parts()
  await store.setMailSettings({ accountId: app.accountId, appId: app.id, actor: 'test', at: 1, settings })
  return store.mailSettings(app.id)
}
const bind = (accountId: string, domain: string) =>
  server.parts().store.bindSenderDomain({ accountId, domain, proof: 'operator', actor: 'test', at: 2 })

const codeOf = async (settings: MailSettings, fromEmail?: string, senders = open()) =>
  (await senders.findProblem({ app, mail: { fromEmail }, settings }))?.code ?? null

describe('an address', () => {
  test('must be that of the installation, the default of the app, or another of its addresses', async () => {
    const settings = await set({ fromEmail: 'a@mine.example', otherFromEmails: ['b@mine.example'] })
    await bind(app.accountId, 'mine.example')
    for (const email of [undefined, 'a@mine.example', 'B@Mine.Example', OURS.address]) {
      expect(await codeOf(settings, email)).toBe(null)
    }
    expect(await codeOf(settings, 'c@mine.example')).toBe('sender_not_listed')
    expect(await codeOf(settings, 'nonsense')).not.toBe(null)
  })

  test('that is not listed is refused with the allowed ones', async () => {
    await set({ fromEmail: 'a@mine.example' })
    const [error, ...more] = await open().findUnlisted(app, { fromEmail: 'x@evil.example' })
    expect([error, more]).toMatchObject([{ field: 'mail.fromEmail', code: 'sender_not_listed' }, []])
    expect(error?.message).toContain('a@mine.example, post@ours.example')
    expect(error?.message).not.toContain('evil')
  })
})

describe('a domain, if several accounts share the mail server', () => {
  test('must be verified, with the record to add', async () => {
    const settings = await set({ fromEmail: 'a@mail.mine.example' })
    const problem = await open().findProblem({ app, mail: {}, settings })
    const record = { name: '_eventpost.mail.mine.example', type: 'TXT', value: `eventpost-account=${app.accountId}` }
    expect(problem).toMatchObject({ code: 'sender_unverified', record })
    expect(problem?.message).toContain(`${record.name} with the value ${record.value}`)
  })

  test.each(['mail.mine.example', 'mine.example'])('is verified by the TXT record of %s', async (domain) => {
    const settings = await set({ fromEmail: 'a@mail.mine.example' })
    records.set(`_eventpost.${domain}`, ['other', senderRecord(domain, app.accountId).value])
    expect(await codeOf(settings)).toBe(null)
    expect(await server.parts().store.listSenderDomains()).toMatchObject([{ domain, proof: 'txt' }])
    // it stays verified
    records.clear()
    server.clock.tick(60_000)
    expect(await codeOf(settings)).toBe(null)
  })

  test.each([
    ['of another account', () => senderRecord('mine.example', server.first.accountId).value],
    ['with more in it', () => `${senderRecord('mine.example', app.accountId).value}x`],
  ])('is not verified by a record %s', async (_, value) => {
    const settings = await set({ fromEmail: 'a@mine.example' })
    records.set('_eventpost.mine.example', [value()])
    expect(await codeOf(settings)).toBe('sender_unverified')
  })

  test.each([
    ['key', false],
    ['new key', true],
  ])('is verified by the app’s own DKIM %s in DNS, and by no other key', async (_, isWaiting) => {
    const makeKey = async () => ({ domain: 'mine.example', selector: 's', key: await makeDkimKey() })
    const recordOf = (key: Awaited<ReturnType<typeof makeKey>> | null) => {
      const published = publishedOf(key)
      return published && dkimRecord(published)
    }
    const keys = isWaiting ? { signing: null, waiting: await makeKey() } : { signing: await makeKey(), waiting: null }
    const settings = await set({ fromEmail: 'a@mine.example', ...writeDkimKeys(keys) })
    expect(readDkimKeys(settings)).toEqual(keys)
    const record = recordOf(keys.signing ?? keys.waiting)
    const other = recordOf(await makeKey())
    records.set(record?.name ?? '', [other?.value ?? ''])
    expect(await codeOf(settings)).toBe('sender_unverified')
    records.set(record?.name ?? '', [record?.value ?? ''])
    server.clock.tick(60_000)
    expect(await codeOf(settings)).toBe(null)
    expect(await server.parts().store.listSenderDomains()).toMatchObject([{ domain: 'mine.example', proof: 'dkim' }])
  })

  test('of another account does not count, nor does a subdomain for its parent', async () => {
    const settings = await set({ fromEmail: 'a@mine.example' })
    await bind(server.first.accountId, 'mine.example')
    await bind(app.accountId, 'mail.mine.example')
    expect(await codeOf(settings)).toBe('sender_unverified')
  })

  test('is looked up occasionally, however many emails need it', async () => {
    const settings = await set({ fromEmail: 'a@mine.example' })
    const senders = open()
    for (let mail = 0; mail < 50; mail++) await codeOf(settings, undefined, senders)
    expect(asked).toEqual(['_eventpost.mine.example'])
    server.clock.tick(30_000)
    await codeOf(settings, undefined, senders)
    expect(asked).toHaveLength(2)
  })

  test('is not looked up for a page view', async () => {
    const settings = await set({ fromEmail: 'a@mine.example' })
    await open().findProblem({ app, mail: {}, settings }, { asksDns: false })
    await open().listDomains(app, settings)
    expect(asked).toEqual([])
  })
})

describe('a domain needs no verification', () => {
  test('if the app has its own mail server, or no email is sent', async () => {
    expect(await codeOf(await set({ fromEmail: 'a@mine.example', smtpUrl: 'smtps://a:b@mail.example' }))).toBe(null)
    expect(await codeOf(await set({ smtpUrl: null }), undefined, open(false))).toBe(null)
    expect(await open(false).listDomains(app, await set({}))).toMatchObject([{ state: 'not_needed', record: null }])
  })
})

test('lists the state of each domain once, and checks it on request', async () => {
  const settings = await set({ fromEmail: 'a@mine.example', otherFromEmails: ['b@mine.example', 'c@else.example'] })
  const senders = open()
  const record = senderRecord('mine.example', app.accountId)
  records.set(record.name, [record.value])
  const list = (asksDns: boolean) => senders.listDomains(app, settings, { asksDns })
  expect(await list(false)).toMatchObject([
    { domain: 'mine.example', state: 'unverified', record },
    { domain: 'else.example', state: 'unverified' },
  ])
  expect(await list(true)).toMatchObject([
    { domain: 'mine.example', state: 'verified', proof: 'txt', record: null },
    { domain: 'else.example', state: 'unverified', proof: null },
  ])
})

test.each([
  ['a.b.mine.example', ['a.b.mine.example', 'b.mine.example', 'mine.example']],
  ['mine.co.uk', ['mine.co.uk']],
  ['mine.github.io', ['mine.github.io']],
  ['github.io', ['github.io']],
])('%s is covered by itself and by those above it, never by a public suffix', (domain, covering) => {
  expect(listCovering(domain)).toEqual(covering)
})

test('addresses are added and removed, but not while a message uses them', async () => {
  const { store } = server.parts()
  const change = async (
    ...given: Parameters<typeof changeSenders> extends [unknown, unknown, infer C] ? [C] : never
  ) => {
    const changed = await changeSenders(store, app, ...given)
    if ('wrong' in changed) return changed
    await set(changed.settings)
    return { settings: changed.settings }
  }
  await change({ add: 'a@x.example', isDefault: false })
  expect(await change({ add: 'b@x.example', isDefault: true })).toEqual({
    settings: { fromEmail: 'b@x.example', otherFromEmails: ['a@x.example'] },
  })
  expect(await change({ add: 'a@x.example', isDefault: true })).toEqual({
    settings: { fromEmail: 'a@x.example', otherFromEmails: ['b@x.example'] },
  })
  const content = { trigger: { event: 'x' }, mail: { subject: 'S', body: 'B', fromEmail: 'B@x.example' } }
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: 3 }
  await store.saveMessages({ ...by, drafts: [{ id: null, name: 'Mine', status: null, content }] })
  expect(await change({ remove: 'b@x.example' })).toEqual({ wrong: expect.stringContaining('"Mine" uses b@x.example') })
  expect(await change({ remove: 'a@x.example' })).toEqual({
    settings: { fromEmail: null, otherFromEmails: ['b@x.example'] },
  })
})

test('the only address stays while a live message needs it', async () => {
  const { store } = server.parts()
  await set({ fromEmail: 'a@x.example' })
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: 3 }
  const content = { trigger: { event: 'x' }, mail: { subject: 'S', body: 'B' } }
  await store.saveMessages({ ...by, drafts: [{ id: null, name: 'Mine', status: 'live', content }] })
  const remove = () => changeSenders(store, app, { remove: 'a@x.example' })
  expect(await remove()).toEqual({
    wrong: 'The live message "Mine" sends from a@x.example. Enter another address, or pause it first.',
  })
  const from = { name: '', address: 'team@installation.example' }
  await keepInstallation(store, { from, hasServer: true })
  expect(await remove()).toHaveProperty('settings')
})

test('an address that the app does not have is not removed', async () => {
  await set({ fromEmail: 'a@x.example' })
  for (const remove of ['b@x.example', OURS.address]) {
    expect(await changeSenders(server.parts().store, app, { remove })).toEqual({
      wrong: `${remove} was not added to this app, so it cannot be removed.`,
    })
  }
})

test('a change of the addresses in between is not written over', async () => {
  const { store } = server.parts()
  await set({ fromEmail: 'a@x.example' })
  const changed = await changeSenders(store, app, { add: 'b@x.example', isDefault: true })
  if ('wrong' in changed) throw new Error(changed.wrong)
  await set({ fromEmail: 'c@x.example' })
  const by = { accountId: app.accountId, appId: app.id, actor: 'cli', at: 4 }
  expect(await store.setMailSettings({ ...by, ...changed })).toMatchObject({ refusal: 'settings_changed' })
  expect(await store.mailSettings(app.id)).toMatchObject({ fromEmail: 'c@x.example', otherFromEmails: null })
})
