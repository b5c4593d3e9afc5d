import { withSql } from '../../data-folder.ts'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CreatedAccount } from '../../../src/accounts/accounts.ts'
import { hasRole, inviteMember, type Role, ROLES } from '../../../src/accounts/members.ts'
import { publicId } from '../../../src/core/ids.ts'
import { createDashboard } from '../../../src/dashboard/index.ts'
import { type AccountPages, type Browser, openAccount } from '../browser.ts'
import { openApiOf, textOf } from '../pages.ts'
import { recordEvent } from '../events/recording.ts'

const ADA = 'ada@example.com'
let pages: AccountPages
let browser: Browser
let routes: { method: string; path: string }[]
let accounts: Record<Role, CreatedAccount>

beforeAll(async () => {
  pages = await openAccount()
  // the first account operates the installation
  pages.clock.ms += 1
  const [editor, viewer] = [
    await pages.addAccount('eve@example.com', 'Edited'),
    await pages.addAccount('vic@example.com', 'Viewed'),
  ]
  await pages.addMember(ADA, 'editor', editor.accountId)
  await pages.addMember(ADA, 'viewer', viewer.accountId)
  accounts = { owner: pages.begun, editor, viewer }
  browser = await pages.signedIn()
  routes = createDashboard({ ...pages.parts, openApi: openApiOf(pages.parts) }).app.routes.filter(({ path }) =>
    path.startsWith('/apps/:app/'),
  )
})
afterAll(() => pages.close())

/** Every form of an app: minimum role and required fields. */
const FORMS: [form: string, least: Role, fields: Record<string, string>][] = [
  ['activation/key', 'owner', { name: '' }],
  ['activation/test', 'editor', {}],
  ['activation/signature', 'viewer', { email: ADA, signature: 'F'.repeat(64) }],
  ['people', 'viewer', { email: ADA }],
  ['people/new', 'editor', { email: 'x' }],
  ['people/:person/edit', 'editor', {}],
  ['people/:person/ask', 'editor', {}],
  ['people/:person/topics', 'editor', {}],
  ['people/:person/erase', 'owner', {}],
  ['people/export', 'viewer', {}],
  ['people/:person/export', 'viewer', {}],
  ['events/export', 'viewer', {}],
  ['deliveries/export', 'viewer', {}],
  ['suppressions/export', 'viewer', {}],
  ['requests/export', 'viewer', {}],
  ['deliveries/resend', 'editor', {}],
  ['deliveries/:delivery/resend', 'editor', {}],
  ['deliveries/:delivery/cancel', 'editor', {}],
  ['deliveries/:delivery/send-now', 'editor', {}],
  ['deliveries', 'viewer', { email: '' }],
  ['outbox/send', 'editor', {}],
  ['suppressions', 'viewer', { email: ADA }],
  ['suppressions/new', 'editor', { addresses: 'x' }],
  ['suppressions/remove', 'editor', { email: 'x' }],
  ['suppressions/sync', 'editor', {}],
  ['messages/:message', 'editor', { do: 'paused' }],
  ['messages/:message/preview', 'viewer', {}],
  ['keys', 'owner', { name: '' }],
  ['keys/revoke', 'owner', { key: 'key_none' }],
  ['keys/secret', 'owner', { replaces: 'sec_none' }],
  ['keys/secret/revoke', 'owner', {}],
  ['sender', 'owner', { fromEmail: 'x' }],
  ['sender/dkim', 'owner', { domain: 'x' }],
  ['sender/dkim/use', 'owner', {}],
  ['sender/dkim/discard', 'owner', {}],
  ['sender/dkim/remove', 'owner', {}],
  ['sender/domains', 'editor', {}],
  ['sender/check', 'editor', {}],
  ['sender/received', 'editor', { source: '' }],
  ['sender/reports', 'owner', {}],
  ['sender/limits', 'owner', {}],
  ['sender/opt-in', 'owner', { days: 'x' }],
  ['sender/layout', 'owner', {}],
  ['sender/texts', 'owner', { lang: '?' }],
  ['sender/topics', 'owner', { name: '' }],
  ['sender/topics/:topic', 'owner', {}],
  ['sender/topics/:topic/delete', 'owner', {}],
  ['sender/rates', 'owner', {}],
  ['sender/rates/release', 'owner', {}],
  ['sender/webhooks/url', 'owner', {}],
  ['sender/webhooks/secret', 'owner', {}],
  ['sender/webhooks/test', 'editor', {}],
  ['sender/server', 'owner', {}],
  ['sender/server/check', 'editor', {}],
  ['sender/server/test', 'editor', {}],
  ['sender/server/remove', 'owner', {}],
  ['settings', 'owner', { app: '' }],
  ['members', 'owner', { email: 'x', role: 'viewer' }],
  ['members/account', 'owner', { name: '' }],
  ['members/role', 'owner', { member: 'ada', role: 'viewer' }],
  ['members/link', 'owner', { member: 'ada' }],
  ['members/remove', 'owner', { member: 'ada' }],
  ['members/sessions', 'owner', { member: 'ada' }],
  ['members/two-step', 'owner', { required: 'no' }],
  ['new-app', 'owner', { app: '' }],
  ['system/test', 'owner', {}],
  ['you/summary', 'owner', { on: 'yes' }],
  ['you/password', 'viewer', { newPassword: 'short' }],
  ['you/sessions', 'viewer', { session: 'ses_none' }],
  ['you/two-step', 'viewer', {}],
  ['you/two-step/on', 'viewer', {}],
  ['you/two-step/codes', 'viewer', {}],
  ['you/two-step/off', 'viewer', {}],
]

const titleOf = async (html: string) => (await textOf(html, 'h1'))[0]
const [FORBIDDEN, UNKNOWN] = ["Your role doesn't allow this", 'Page not found']

async function fill(path: string, { appId }: CreatedAccount): Promise<string> {
  const app = await pages.store.findAppByPublicId(appId)
  const [message] = await pages.store.listMessages(app?.id ?? 0)
  return path
    .replace(':app', appId)
    .replace(':message', publicId('msg', message?.id ?? 0))
    .replace(':person', 'con_none')
    .replace(':delivery', 'dlv_none')
    .replace(':topic', 'top_none')
    .replace(':event', 'evt_none')
    .replace(':frame', 'none')
}

/** Membership ids. */
const idIn = async ({ accountId }: CreatedAccount, email: string): Promise<string> =>
  (await pages.store.listMembers(accountId)).find((member) => member.email === email)?.id ?? ''

async function send(form: string, account: CreatedAccount, fields: Record<string, string>) {
  const member = fields.member && (await idIn(account, ADA))
  return browser.post(await fill(`/apps/:app/${form}`, account), { ...fields, ...(member ? { member } : {}) })
}

describe('a form of an app', () => {
  test('is in the table above', () => {
    const forms = routes.filter(({ method }) => method === 'POST').map(({ path }) => path)
    expect(FORMS.map(([form]) => `/apps/:app/${form}`).toSorted()).toEqual(forms.toSorted())
  })

  test.each(FORMS)('%s is taken from %s of the account of its app', async (form, least, fields) => {
    for (const role of ROLES) {
      const { status, html } = await send(form, accounts[role], fields)
      const title = await titleOf(html)
      expect([role, title === UNKNOWN]).toEqual([role, false])
      expect([role, status === 403, title === FORBIDDEN]).toEqual(
        hasRole(role, least) ? [role, false, false] : [role, true, true],
      )
    }
  })
})

test('every page of an app is shown to all roles', async () => {
  // skip missing objects, and streams, which don't end
  const open = routes.filter(({ method, path }) => method === 'GET' && !/:(?!app)|live|feed/.test(path))
  expect(open.length).toBeGreaterThan(12)
  // Overview leads to Activation until something arrives
  for (const role of ROLES) {
    const app = await pages.store.findAppByPublicId(accounts[role].appId)
    if (app) await recordEvent(pages, app, { email: 'bob@example.com', name: 'signed_up' })
  }
  for (const { path } of open) {
    if (path.endsWith('/members/edit')) continue
    for (const role of ROLES) {
      const { status } = await browser.get(await fill(path, accounts[role]))
      const isOwners = /\/(keys|members)\/new$|\/new-app$|\/audit$|\/system$/.test(path)
      const isEditors = /\/(people|suppressions)\/new$/.test(path)
      const isRefused = (isOwners && role !== 'owner') || (isEditors && role === 'viewer')
      // the documentation is outside any app
      const shown = path.endsWith('/docs') ? 303 : 200
      expect([path, role, status]).toEqual([path, role, isRefused ? 403 : shown])
    }
  }
})

test('a sign-in is in the audit log of each account of the member', async () => {
  const entries = (): Promise<string[][]> =>
    withSql(pages.folder, async (sql) => {
      const text = `SELECT DISTINCT account_id AS account, actor FROM audit_entries WHERE action = 'session.start' ORDER BY 1`
      const rows = await sql.prepare<{ account: string; actor: string }>(text).all()
      return rows.map(({ account, actor }) => [account, actor])
    })
  const other = await pages.addAccount('una@example.com', 'Una')
  await pages.signedIn()
  const id = (await pages.store.findMember(ADA))?.id ?? ''
  expect(await entries()).toEqual(
    Object.values(accounts)
      .map(({ accountId }) => [accountId, id])
      .toSorted(),
  )
  expect((await entries()).flat()).not.toContain(other.accountId)
})

describe('data of another account of the same person', () => {
  test('is not reachable through an app of the first', async () => {
    const [theirs] = await pages.store.listKeys(accounts.viewer.accountId)
    expect((await send('keys/revoke', accounts.owner, { key: theirs?.id ?? '' })).status).toBe(404)
    expect(await pages.store.listKeys(accounts.viewer.accountId)).toEqual(theirs ? [theirs] : [])
    const theirMembers = (await pages.store.listMembers(accounts.viewer.accountId)).map(({ id }) => id)
    expect(theirMembers).toHaveLength(2)
    for (const member of theirMembers) {
      for (const form of ['members/role', 'members/link', 'members/remove']) {
        const { status } = await browser.post(`/apps/${accounts.owner.appId}/${form}`, { member, role: 'viewer' })
        expect([form, status]).toEqual([form, 404])
      }
    }
    const message = (await fill(':message', accounts.viewer)).replace(':message', '')
    expect((await browser.get(`/apps/${accounts.owner.appId}/messages/${message}`)).status).toBe(404)
  })
})

describe('an app of a foreign account is unknown', () => {
  const answers = async (appId: string, zoe: Browser) => {
    const given: unknown[] = []
    for (const { method, path } of routes) {
      const address = await fill(path.replace(':app', appId), accounts.owner)
      const seen = await (method === 'GET' ? zoe.get(address) : zoe.post(address, { email: ADA }))
      const cookies = seen.headers.getSetCookie()
      given.push([method, path, seen.status, cookies, seen.html.replaceAll(appId, 'APP')])
    }
    return given
  }
  const expectNothing = async (email: string) => {
    const zoe = await pages.signedIn(email)
    const unknown = await answers('app_none', zoe)
    expect(unknown.map((one) => (one as unknown[])[2])).toEqual(routes.map(() => 404))
    expect(await answers(accounts.owner.appId, zoe)).toEqual(unknown)
    expect((await zoe.get('/')).html).not.toContain(accounts.owner.appId)
  }

  test('to a member of another account', async () => {
    await pages.addAccount('other@example.com', 'Other')
    await expectNothing('other@example.com')
  })

  test('to an invited person who has not accepted', async () => {
    const email = 'invited@example.com'
    await pages.addAccount(email, 'Invited')
    const maker = { store: pages.store, now: pages.clock.now(), actor: 'test' }
    await inviteMember(maker, accounts.owner.accountId, { email, role: 'owner' })
    await expectNothing(email)
  })

  test('to a removed member, at once', async () => {
    const email = 'removed@example.com'
    await pages.addAccount(email, 'Removed')
    await pages.addMember(email, 'owner')
    const zoe = await pages.signedIn(email)
    expect((await zoe.get(pages.at('settings'))).status).toBe(200)
    const change = { accountId: accounts.owner.accountId, actor: 'test', at: pages.clock.now() }
    await pages.store.removeMember({ ...change, membershipId: await idIn(accounts.owner, email) })
    expect((await zoe.get(pages.at('settings'))).status).toBe(404)
    await expectNothing(email)
  })
})
