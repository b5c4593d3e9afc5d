import { afterEach, beforeEach, expect, test } from 'bun:test'
import { codeAt, codesOf, STEP_MS, turnOn, twoStepPath } from './authenticator.ts'
import { type AccountPages, type Browser, createBrowser, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, textOf } from '../pages.ts'

let pages: AccountPages
let owner: Browser
beforeEach(async () => {
  pages = await openAccount()
  owner = await pages.signedIn()
  await pages.addMember('eve@example.com', 'editor')
})
afterEach(() => pages.close())

const rule = (required: 'yes' | 'no', browser = owner) => browser.post(pages.at('members/two-step'), { required })
const sectionOf = async (browser = owner) => textOf((await browser.get(pages.at('members'))).html, '#two-step .hint')
const actionOf = async () => textOf((await owner.get(pages.at('members'))).html, '#two-step .button')

test('the only member without it is addressed as you', async () => {
  const [, eve] = await pages.store.listMembers(pages.begun.accountId)
  await owner.post(pages.at('members/remove'), { member: eve?.id ?? '' })
  expect(await sectionOf()).toEqual(["You haven't set it up yet. Set it up for yourself before you require it."])
  expect(await actionOf()).toEqual(['Set up two-step sign-in'])
})

test('an owner must use it first, and only owners require it', async () => {
  const refused = await rule('yes')
  expect([refused.status, await textOf(refused.html, '#two-step [role=alert]')]).toEqual([
    409,
    ['Error: Set up two-step sign-in for yourself first.'],
  ])
  const eve = await pages.signedIn('eve@example.com')
  expect((await rule('yes', eve)).status).toBe(403)
  expect(await textOf((await eve.get(pages.at('members'))).html, '#two-step')).toEqual([])
  await turnOn(pages, owner)
  expect(await sectionOf()).toEqual([
    '1 member has not set it up. Once you require it, they can open only Your profile until they do.',
  ])
  expect(await actionOf()).toEqual(['Require it for all members'])
  expect((await rule('yes')).status).toBe(303)
  expect(await sectionOf()).toEqual(['1 member has yet to set it up, and can open only Your profile until then.'])
})

test('a member without it can open only their own page', async () => {
  await turnOn(pages, owner)
  const eve = await pages.signedIn('eve@example.com')
  expect((await eve.get(pages.at('events'))).status).toBe(200)
  await rule('yes')
  for (const page of ['activation', 'events', 'people', 'messages', 'keys', 'members']) {
    const { status, location } = await eve.get(pages.at(page))
    expect([page, status, location]).toEqual([page, 303, pages.at('you')])
  }
  for (const form of ['activation/test', 'suppressions/new']) {
    expect((await eve.post(pages.at(form), { email: 'x@example.com' })).location).toBe(pages.at('you'))
  }
  expect((await eve.get(pages.at('activation/live'))).status).toBe(403)
  const own = await eve.get(pages.at('you'))
  expect([own.status, await textOf(own.html, '[role=status]')]).toEqual([
    200,
    ['Done: The account Engine requires two-step sign-in. Set it up to open its pages.'],
  ])
  await turnOn(pages, eve)
  expect((await eve.get(pages.at('events'))).status).toBe(200)
  expect(await sectionOf()).toEqual(['All members use it.'])
})

test('it cannot be turned off while an account requires it', async () => {
  const { secret } = await turnOn(pages, owner)
  await rule('yes')
  const { html } = await owner.get(pages.at('you'))
  expect(await textOf(html, '#two-step button')).toEqual(['Create new recovery codes'])
  expect(await textOf(html, '#two-step .hint')).toContain('Required by the account Engine.')
  const confirmed = { confirmPassword: PASSWORD, confirmCode: codeAt(secret, pages.clock.ms) }
  const refused = await owner.post(twoStepPath(pages, '/off'), confirmed)
  expect([refused.status, await textOf(refused.html, '#two-step [role=alert]')]).toEqual([
    409,
    ['Error: One of your accounts requires two-step sign-in, so it stays on.'],
  ])
  await rule('no')
  pages.clock.ms += STEP_MS
  const again = { ...confirmed, confirmCode: codeAt(secret, pages.clock.ms) }
  expect((await owner.post(twoStepPath(pages, '/off'), again)).status).toBe(303)
})

test('it does not reveal other accounts, and keys still work', async () => {
  await turnOn(pages, owner)
  await rule('yes')
  const other = await pages.addAccount('zoe@example.com', 'Other')
  await pages.addMember('eve@example.com', 'viewer', other.accountId)
  const eve = await pages.signedIn('eve@example.com')
  expect((await eve.get(`/apps/${other.appId}/events`)).status).toBe(200)
  expect((await eve.get(pages.at('events'))).status).toBe(303)
  expect((await pages.store.listKeys(pages.begun.accountId)).every(({ revokedAt }) => revokedAt === null)).toBe(true)
})

test('new members set it up first', async () => {
  await turnOn(pages, owner)
  await rule('yes')
  await pages.addMember('new@example.com', 'viewer')
  const fresh = await pages.signedIn('new@example.com')
  expect((await fresh.get(pages.at('activation'))).location).toBe(pages.at('you'))
  const { html } = await fresh.post(twoStepPath(pages), { confirmPassword: PASSWORD })
  const key = (await textOf(html, '#two-step-key')).join('').replaceAll(' ', '')
  const on = await fresh.post(twoStepPath(pages, '/on'), { code: codeAt(key, pages.clock.ms) })
  expect((await codesOf(on.html)).length).toBe(10)
  expect((await fresh.get(pages.at('activation'))).status).toBe(200)
})

test('owners end all sessions of another member', async () => {
  const eves = [await pages.signedIn('eve@example.com'), await pages.signedIn('eve@example.com')]
  const members = await pages.store.listMembers(pages.begun.accountId)
  const idOf = (email: string) => members.find((member) => member.email === email)?.id ?? ''
  const page = await owner.get(`${pages.at('members/edit')}?member=${idOf('eve@example.com')}`)
  expect(await attributesOf(page.html, 'form[action$="/sessions"] [name=member]', 'value')).toEqual([
    idOf('eve@example.com'),
  ])
  const end = (email: string, browser = owner) => browser.post(pages.at('members/sessions'), { member: idOf(email) })
  expect((await end('ada@example.com', eves[0])).status).toBe(403)
  expect((await end('eve@example.com')).status).toBe(303)
  for (const eve of eves) expect((await eve.get(pages.at('you'))).status).toBe(303)
  expect((await owner.get(pages.at('you'))).status).toBe(200)
  expect((await createBrowser(pages).signIn('eve@example.com')).status).toBe(303)
  // their own page
  expect((await end('ada@example.com')).location).toBe(pages.at('you'))
  expect((await owner.get(pages.at('you'))).status).toBe(200)
  const other = await pages.addAccount('zoe@example.com', 'Other')
  const [zoe] = await pages.store.listMembers(other.accountId)
  expect((await owner.post(pages.at('members/sessions'), { member: zoe?.id ?? '' })).status).toBe(404)
})
