import { Database } from 'bun:sqlite'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { putMessage, sendEvent } from '../messages/mailing.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
let app: AppRow
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
  app = await appOf(pages)
})
afterEach(() => pages.close())

const BOB = 'bob@example.com'
const path = (what = '') => pages.at(`suppressions${what}`)
const see = async (query = '') => (await browser.get(path(query))).html
const lookUp = async (email: string) => browser.post(path(), { email })
const suppress = (email: string, reason: 'unsubscribed' | 'bounced' | 'complained' = 'unsubscribed') =>
  pages.store.suppress({ appId: app.id, email, reason, at: pages.clock.now() })

/** Actions and subjects of the audit list, oldest first. */
function audited(): { action: string; subject: string }[] {
  const file = readdirSync(pages.folder).find((name) => name.endsWith('.db')) ?? ''
  const db = new Database(join(pages.folder, file), { readonly: true })
  const rows = db
    .query<{ action: string; subject: string }, []>(
      `SELECT action, subject FROM audit_entries WHERE action LIKE 'suppression.%' ORDER BY created_at, id`,
    )
    .all()
  db.close()
  return rows
}

describe('the list', () => {
  test('is empty', async () => {
    const html = await see()
    expect(await textOf(html, '.empty h2')).toEqual(['Nobody'])
    expect(await textOf(html, '#people > .hint')).toEqual(['Nobody whom this app knows.'])
  })

  test('shows reason and time, but no address', async () => {
    await suppress('gone@example.com', 'complained')
    const html = await see()
    expect(await textOf(html, 'td .badge')).toEqual(['Complained'])
    expect(html).not.toContain('gone@example.com')
  })

  test('names known people', async () => {
    await sendEvent(pages, { app, email: BOB })
    await sendEvent(pages, { app, email: 'carol@example.com' })
    await suppress(BOB)
    expect(await textOf(await see(), '#people td[data-label=Person]')).toEqual([BOB])
  })

  test('pages', async () => {
    for (let i = 0; i < 120; i++) {
      pages.clock.ms += i % 3
      await suppress(`p${i}@example.com`)
    }
    const hashes: string[] = []
    for (let query: string | undefined = ''; query !== undefined;) {
      const html = await see(query)
      hashes.push(...(await textOf(html, 'td code')))
      const [href] = await attributesOf(html, '.pager [rel=next]', 'href')
      query = href?.slice(path().length)
    }
    expect([hashes.length, new Set(hashes).size]).toEqual([120, 120])
  })
})

describe('looking an address up', () => {
  test.each([
    ['unsubscribed', 'On the list: the person unsubscribed. They get only transactional emails.'],
    ['bounced', 'On the list: an email bounced. It gets no email.'],
    ['complained', 'On the list: the person complained. It gets no email.'],
  ] as const)('that %s', async (reason, sentence) => {
    await suppress(BOB, reason)
    const { status, html } = await lookUp(' Bob@Example.com ')
    expect(status).toBe(200)
    expect(await textOf(html, '.notice.info')).toEqual([`Note: Bob@Example.com: ${sentence}`])
  })

  test('that is not on the list or invalid', async () => {
    expect(await textOf((await lookUp(BOB)).html, '.notice.info')).toEqual([`Note: ${BOB}: It is not on the list.`])
    const { status, html } = await lookUp(HOSTILE)
    expect(status).toBe(400)
    await expectHarmless(html)
    expect(await textOf(html, '.fault')).toEqual(['Error: Give one whole email address.'])
    expect(await attributesOf(html, '#email', 'value')).toEqual([HOSTILE])
  })

  test('is for viewers too, not for other accounts', async () => {
    await pages.addMember('viewer@example.com', 'viewer')
    const viewer = await pages.signedIn('viewer@example.com')
    expect((await viewer.post(path(), { email: BOB })).status).toBe(200)
    await pages.addAccount('eve@example.com', 'Other')
    expect((await (await pages.signedIn('eve@example.com')).post(path(), { email: BOB })).status).toBe(404)
  })
})

describe('changing it', () => {
  const add = (fields: Record<string, string> = {}) =>
    browser.post(path('/add'), { email: BOB, why: 'They  wrote to us', reason: 'unsubscribed', ...fields })
  const remove = (fields: Record<string, string> = {}) =>
    browser.post(path('/remove'), { email: BOB, why: 'They asked for it', ...fields })

  test('ends email to an address at once, with the reason in the audit log', async () => {
    await putMessage(pages, { app })
    await sendEvent(pages, { app, email: BOB })
    const { status, location } = await add({ reason: 'complained' })
    expect([status, location]).toEqual([303, path()])
    expect(await pages.store.findSuppression(app.id, BOB)).toBe('complained')
    expect((await pages.store.findContact(app.id, BOB))?.status).toBe('complained')
    expect(audited()).toEqual([
      { action: 'suppression.add', subject: expect.stringMatching(/^[\w-]{43}: They wrote to us$/) },
    ])
  })

  test('allows email again', async () => {
    await sendEvent(pages, { app, email: BOB })
    await add()
    pages.clock.ms += 1
    await remove()
    expect(await pages.store.findSuppression(app.id, BOB)).toBe(null)
    expect((await pages.store.findContact(app.id, BOB))?.status).toBe('subscribed')
    expect(audited().at(-1)).toEqual({
      action: 'suppression.remove',
      subject: expect.stringMatching(/^[\w-]{43}: They asked for it$/),
    })
  })

  test('refuses to remove an address that is not listed', async () => {
    await sendEvent(pages, { app, email: BOB })
    for (const email of [BOB, 'stranger@example.com']) {
      const { status, html } = await remove({ email })
      expect([status, await textOf(html, '.fault')]).toEqual([400, ['Error: This address is not on the list.']])
      expect(await attributesOf(html, '#remove-email', 'value')).toEqual([email])
    }
    expect(audited()).toEqual([])
  })

  test('applies to people added later, and their page says so', async () => {
    await add()
    await sendEvent(pages, { app, email: BOB })
    expect((await pages.store.findContact(app.id, BOB))?.status).toBe('unsubscribed')
    expect(await textOf(await see(), '#people td[data-label=Person]')).toEqual([BOB])
  })

  test.each([
    [{ email: 'nobody' }, ['Give one whole email address.']],
    [{ why: ' ' }, ['Give a reason. It is stored with your name.']],
    [{ why: 'x'.repeat(201) }, ['Say it in up to 200 characters.']],
    [{ reason: 'hearsay' }, ['Choose one of these.']],
    [{ email: HOSTILE, why: '' }, ['Give one whole email address.', 'Give a reason. It is stored with your name.']],
  ])('refuses invalid input and keeps it (%j)', async (fields, faults) => {
    const { status, html } = await add(fields)
    expect(status).toBe(400)
    await expectHarmless(html)
    expect(await textOf(html, '.fault')).toEqual(faults.map((fault) => `Error: ${fault}`))
    const typed = { email: BOB, why: 'They  wrote to us', ...fields }
    expect(await attributesOf(html, '#add-email, #add-why', 'value')).toEqual([typed.email, typed.why])
    expect(audited()).toEqual([])
  })

  test('is for editors', async () => {
    for (const [role, status] of [
      ['viewer', 403],
      ['editor', 303],
    ] as const) {
      await pages.addMember(`${role}@example.com`, role)
      const member = await pages.signedIn(`${role}@example.com`)
      expect(await attributesOf((await member.get(path())).html, 'aside form', 'method')).toHaveLength(
        role === 'editor' ? 2 : 0,
      )
      const fields = { email: `${role}s@example.com`, why: 'x', reason: 'bounced' }
      expect((await member.post(path('/add'), fields)).status).toBe(status)
      expect((await member.post(path('/remove'), fields)).status).toBe(status)
    }
  })
})
