import { withSql } from '../../data-folder.ts'
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { type AccountPages, type Browser, openAccount } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
let ada: Browser
beforeEach(async () => {
  pages = await openAccount()
  ada = await pages.signedIn()
})
afterEach(() => pages.close())

const rename = (name: string, browser = ada) => browser.post(pages.at('members/account'), { name })
const nameNow = async () => (await pages.store.listAccounts()).map(({ name }) => name)

test('an owner renames the account, and every page says so', async () => {
  const { status, location } = await rename(` ${HOSTILE} `)
  expect([status, location]).toEqual([303, pages.at('members')])
  const { html } = await ada.get(pages.at('members'))
  expect(await textOf(html, '[role=status]')).toEqual(['Done: The account was renamed.'])
  expect(await textOf(html, '.lead')).toEqual(['1 member.'])
  const audit = await ada.get(pages.at('audit'))
  expect((await textOf(audit.html, '.lead'))[0]).toStartWith(
    `Changes, exports and sign-ins in the account ${HOSTILE}. `,
  )
  expect(await textOf(html, '.switcher summary span')).toEqual([`EngineAccount ${HOSTILE}`])
  expect(await attributesOf(html, '#name', 'value')).toEqual([HOSTILE])
  await expectHarmless(html)
  const text = `SELECT actor, subject FROM audit_entries WHERE action = 'account.rename'`
  const entries = await withSql(pages.folder, async (sql) => await sql.prepare(text).all())
  const owner = await pages.store.findMember('ada@example.com')
  expect(entries).toEqual([{ actor: owner?.id, subject: pages.begun.accountId }])
})

test('the name that it has already changes nothing, and the page says so', async () => {
  const { status, location } = await rename(' Engine ')
  expect([status, location]).toEqual([303, pages.at('members')])
  const { html } = await ada.get(pages.at('members'))
  expect(await textOf(html, '[role=status]')).toEqual(['Done: The account already has this name.'])
  const entries = await pages.store.listAudit({
    accountId: pages.begun.accountId,
    kind: 'changes',
    before: null,
    limit: 100,
  })
  expect(entries.filter(({ action }) => action === 'account.rename')).toEqual([])
})

test('two accounts may have the same name', async () => {
  const other = await pages.addAccount('zoe@example.com', 'Other')
  expect((await rename('Other')).status).toBe(303)
  expect(await nameNow()).toEqual(['Other', 'Other'])
  expect((await rename('Third')).status).toBe(303)
  expect((await pages.store.findAccount(other.accountId))?.name).toBe('Other')
})

test.each(['', '   ', 'x'.repeat(101), 'two\nlines'])(
  '400: %p is refused next to the field and stays',
  async (name) => {
    const { status, html } = await rename(name)
    expect([status, await textOf(html, '#name-fault')]).toEqual([
      400,
      ['Error: Enter a name of 1 to 100 characters for the account.'],
    ])
    expect(await attributesOf(html, '#name', 'value')).toEqual([name])
    expect([await nameNow(), await textOf(html, 'h1')]).toEqual([['Engine'], ['Members']])
  },
)

test('503: a full disk keeps the input', async () => {
  const failing = spyOn(pages.store, 'renameAccount').mockResolvedValue({ refusal: 'unavailable' })
  const { status, html } = await rename('Difference')
  failing.mockRestore()
  expect([status, await attributesOf(html, '#name', 'value')]).toEqual([503, ['Difference']])
  expect((await textOf(html, '#name-fault'))[0]).toContain("can't save right now")
})

test.each(['editor', 'viewer'] as const)('%s is not asked, and is refused', async (role) => {
  await pages.addMember('eve@example.com', role)
  const eve = await pages.signedIn('eve@example.com')
  expect(await attributesOf((await eve.get(pages.at('members'))).html, 'form[action$=account]', 'method')).toEqual([])
  expect([(await rename('Mine', eve)).status, await nameNow()]).toEqual([403, ['Engine']])
})
