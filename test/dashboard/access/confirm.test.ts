import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { publicId } from '../../../src/core/ids.ts'
import { sendEvent } from '../messages/mailing.ts'
import { type AccountPages, appOf, type Browser, createBrowser, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, DAY, expectHarmless, HOSTILE, textOf } from '../pages.ts'

const MINUTE = 60_000
const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36'
const FIELDS = { name: 'Production', scope: 'standard' }

let pages: AccountPages
let owner: Browser
beforeEach(async () => {
  pages = await openAccount()
  owner = await pages.signedIn()
})
afterEach(() => pages.close())

const keys = () => pages.at('keys')
const make = (fields: Record<string, string> = {}) => owner.post(keys(), { ...FIELDS, ...fields })
const listed = () => pages.store.listKeys(pages.begun.accountId)

describe('password confirmation', () => {
  test('is required every 10 minutes', async () => {
    pages.clock.ms += 10 * MINUTE - 1
    expect((await textOf((await make()).html, 'h1'))[0]).toBe('Your new key')
    pages.clock.ms += 1
    const asked = await make({ name: HOSTILE })
    expect(await textOf(asked.html, 'h1')).toEqual(['Confirm your password'])
    expect(await attributesOf(asked.html, 'main form', 'action')).toEqual([keys()])
    expect(await attributesOf(asked.html, 'main [type=hidden][name=name]', 'value')).toEqual([HOSTILE])
    await expectHarmless(asked.html)
    expect(asked.html).not.toContain(pages.begun.identitySecret)
    expect((await textOf((await make({ confirmPassword: PASSWORD })).html, 'h1'))[0]).toBe('Your new key')
    pages.clock.ms += 10 * MINUTE - 1
    expect((await textOf((await make()).html, 'h1'))[0]).toBe('Your new key')
  })

  test('is not asked for while a field is wrong', async () => {
    pages.clock.ms += 10 * MINUTE
    const { status, html } = await make({ name: ' ' })
    expect([status, await textOf(html, 'h1'), (await textOf(html, '#name-fault')).length]).toEqual([
      400,
      ['Create a key'],
      1,
    ])
    const invited = await owner.post(pages.at('members'), { email: 'nobody', role: 'editor' })
    expect([invited.status, await textOf(invited.html, 'h1')]).toEqual([400, ['Invite a member']])
    expect(await attributesOf(invited.html, '#email', 'value')).toEqual(['nobody'])
  })

  test('a wrong password changes nothing and keeps the form', async () => {
    pages.clock.ms += 10 * MINUTE
    const { status, html } = await make({ confirmPassword: 'wrong' })
    expect([status, await textOf(html, '#confirmPassword-fault')]).toEqual([400, ['Error: This password is wrong.']])
    expect(await attributesOf(html, 'main [type=hidden][name=name]', 'value')).toEqual([FIELDS.name])
    expect(html).not.toContain('value="wrong"')
    expect(await listed()).toHaveLength(1)
  })

  test('gives the session a new token, and the old one ends', async () => {
    pages.clock.ms += 10 * MINUTE
    const before = new Map(owner.cookies)
    await make({ confirmPassword: 'wrong' })
    expect(owner.cookies.get('eventpost_session_8080')).toBe(before.get('eventpost_session_8080') ?? '')
    expect((await make({ confirmPassword: PASSWORD })).status).toBe(200)
    expect(owner.cookies.get('eventpost_session_8080')).not.toBe(before.get('eventpost_session_8080') ?? '')
    expect((await owner.get(pages.at('you'))).status).toBe(200)
    const thief = createBrowser(pages)
    for (const [name, value] of before) thief.cookies.set(name, value)
    expect((await thief.get(pages.at('you'))).status).toBe(303)
    const member = await pages.store.findMember('ada@example.com')
    expect(await pages.store.listSessions(member?.id ?? '')).toHaveLength(1)
  })

  test('keeps the token while the disk is full', async () => {
    pages.clock.ms += 10 * MINUTE
    const before = owner.cookies.get('eventpost_session_8080')
    const full = spyOn(pages.store, 'confirmSession').mockResolvedValue({ refusal: 'unavailable' })
    expect((await textOf((await make({ confirmPassword: PASSWORD })).html, 'h1'))[0]).toBe('Your new key')
    full.mockRestore()
    expect(owner.cookies.get('eventpost_session_8080')).toBe(before ?? '')
    expect((await owner.get(pages.at('you'))).status).toBe(200)
  })

  test('wrong passwords count like those of signing in', async () => {
    pages.clock.ms += 10 * MINUTE
    spyOn(Bun.password, 'verify').mockResolvedValue(false)
    for (let i = 0; i < 20; i++) await make({ confirmPassword: 'wrong' })
    const { status, headers } = await make({ confirmPassword: PASSWORD })
    expect([status, Number(headers.get('retry-after')) > 0]).toEqual([429, true])
    spyOn(Bun.password, 'verify').mockRestore()
  })

  test('names what is changed, as stored, and leads back to the page of the form', async () => {
    const app = await appOf(pages)
    await sendEvent(pages, { app, email: 'bob@example.com' })
    const bob = publicId('con', (await pages.store.findContact(app.id, 'bob@example.com'))?.id ?? 0)
    await pages.addMember('eve@example.com', 'viewer')
    const members = await pages.store.listMembers(pages.begun.accountId)
    const eve = members.find(({ email }) => email === 'eve@example.com')?.id ?? ''
    const [key] = await listed()
    await pages.signedIn('ada@example.com', { agent: CHROME })
    const member = await pages.store.findMember('ada@example.com')
    const sessions = await pages.store.listSessions(member?.id ?? '')
    const other = sessions.find(({ browser }) => browser.startsWith('Chrome'))
    pages.clock.ms += 10 * MINUTE
    const ask = async (path: string, fields: Record<string, string> = {}) => {
      const { html } = await owner.post(pages.at(path), { ...fields, name: 'Another', email: 'mal@example.com' })
      const [lead = ''] = await textOf(html, '.lead')
      const [label = ''] = await textOf(html, 'main form button')
      expect(lead.toLowerCase()).toStartWith(`you are about to ${label.toLowerCase()}.`)
      const isDanger = (await textOf(html, 'main form button.danger')).length > 0
      return [
        label,
        isDanger,
        (await attributesOf(html, 'main form a', 'href')).map((href) => href?.slice(pages.at('').length))[0],
      ]
    }
    const editing = `members/edit?member=${eve}`
    expect(await ask(`people/${bob}/erase`)).toEqual(['Erase bob@example.com', true, `people/${bob}`])
    expect(await ask('keys/revoke', { key: key?.id ?? '' })).toEqual([
      `Revoke the API key “${key?.name}”`,
      true,
      'keys',
    ])
    expect(await ask('members/remove', { member: eve })).toEqual(['Remove eve@example.com', true, editing])
    expect(await ask('members/role', { member: eve, role: 'owner' })).toEqual([
      'Change the role of eve@example.com',
      false,
      editing,
    ])
    expect(await ask('you/sessions', { session: other?.id ?? '' })).toEqual([
      `End the session of ${other?.browser}`,
      false,
      'you',
    ])
    expect(await ask('you/sessions')).toEqual(['End all your other sessions', false, 'you'])
    expect(await ask('sender/reports')).toEqual(['Create a secret for bounce reports', false, 'sender/server'])
  })

  test('names nothing of another account', async () => {
    const { accountId } = await pages.addAccount('mal@example.com', 'Other')
    const [key] = await pages.store.listKeys(accountId)
    const [member] = await pages.store.listMembers(accountId)
    pages.clock.ms += 10 * MINUTE
    const ask = async (path: string, fields: Record<string, string>) =>
      textOf((await owner.post(pages.at(path), fields)).html, 'main form button')
    expect(await ask('keys/revoke', { key: key?.id ?? '' })).toEqual(['Revoke an API key'])
    expect(await ask('members/remove', { member: member?.id ?? '' })).toEqual(['Remove a member'])
    expect(await ask('people/con_none/erase', {})).toEqual(['Erase a person'])
  })

  test('a clock set back does not skip it', async () => {
    pages.clock.ms -= DAY
    expect((await textOf((await make()).html, 'h1'))[0]).toBe('Confirm your password')
  })
})
