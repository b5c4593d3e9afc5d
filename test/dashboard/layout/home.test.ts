import { withSql } from '../../data-folder.ts'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type AccountPages, openAccount } from '../browser.ts'
import { expectHarmless, HOSTILE, textOf } from '../pages.ts'

const ADA = 'ada@example.com'
let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

describe('/', () => {
  test('leads to the first app, without a cookie if it is the only one', async () => {
    const browser = await pages.signedIn()
    expect((await browser.get('/')).location).toBe(pages.at('activation'))
    const { headers } = await browser.get(pages.at('you'))
    expect(headers.getSetCookie()).toEqual([])
  })

  test('leads on from addresses above the pages of an app', async () => {
    const browser = await pages.signedIn()
    for (const path of [pages.at(''), pages.at('').replace(/\/$/, '')])
      expect((await browser.get(path)).location).toBe(pages.at('activation'))
    expect((await browser.get('/apps')).location).toBe('/')
    expect((await browser.get('/apps/app_none')).status).toBe(404)
  })

  test('leads to the last viewed app, of any account', async () => {
    const other = await pages.addAccount('eve@example.com', 'Another')
    pages.clock.ms += 1
    await pages.addMember(ADA, 'viewer', other.accountId)
    const browser = await pages.signedIn()
    expect((await browser.get('/')).location).toBe(pages.at('activation'))
    const { headers } = await browser.get(`/apps/${other.appId}/keys`)
    expect(headers.getSetCookie()).toEqual([
      `eventpost_app=${other.appId}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax`,
    ])
    expect((await browser.get('/')).location).toBe(`/apps/${other.appId}/activation`)
    // shown once
    expect((await browser.get(`/apps/${other.appId}/you`)).headers.getSetCookie()).toEqual([])
  })

  test('never leads to a foreign app', async () => {
    const other = await pages.addAccount('eve@example.com', 'Other')
    const browser = await pages.signedIn()
    for (const app of [other.appId, 'app_none', HOSTILE.replaceAll(/[;\s]/g, '')]) {
      browser.cookies.set('eventpost_app', app)
      expect((await browser.get('/')).location).toBe(pages.at('activation'))
    }
  })

  test('says if no account is left, with sign-out', async () => {
    const other = await pages.addAccount('eve@example.com', 'Other')
    await pages.addMember('zoe@example.com', 'viewer')
    const zoe = await pages.signedIn('zoe@example.com')
    const members = await pages.store.listMembers(pages.begun.accountId)
    const membershipId = members.find(({ email }) => email === 'zoe@example.com')?.id ?? ''
    const at = pages.clock.now()
    const member = { id: 'mem_unused', membershipId: 'mem_in', email: 'zoe@example.com', role: 'viewer' as const }
    const link = { tokenHash: 'x', purpose: 'invite' as const, expiresAt: at + 1 }
    await pages.store.inviteMember({ accountId: other.accountId, actor: 'test', at, member, link })
    await pages.store.removeMember({ accountId: pages.begun.accountId, actor: 'test', at, membershipId })
    const { status, html } = await zoe.get('/')
    expect([status, await textOf(html, '.lead')]).toEqual([
      200,
      ['You are signed in as zoe@example.com, but none of your accounts has an app.'],
    ])
    await expectHarmless(html)
    expect((await zoe.post('/sign-out')).location).toBe('/sign-in')
  })

  test('says if the only account has no app', async () => {
    const browser = await pages.signedIn()
    await withSql(pages.folder, async (sql) => {
      const ofApps = [
        'message_versions',
        'messages',
        'app_hosts',
        'app_mail_settings',
        'app_retention',
        'snippet_settings',
      ]
      for (const table of [...ofApps, 'apps']) await sql.prepare(`DELETE FROM ${table}`).run()
    })
    const { status, html } = await browser.get('/')
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['No app yet']])
    expect((await browser.get(pages.at('you'))).status).toBe(404)
  })
})
