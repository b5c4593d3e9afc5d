import { describe, expect, test } from 'bun:test'
import { useEditing } from './editing.ts'
import { attributesOf, textOf } from '../pages.ts'

const pages = useEditing()

describe('roles', () => {
  const actions = ['save', 'live', 'paused', 'draft', 'delete', 'test', 'copy', 'restore 1', 'add onlyIf seen']

  test('an editor may do everything', async () => {
    await pages.addMember('eve@example.com', 'editor')
    const eve = await pages.signedIn('eve@example.com')
    expect((await pages.press(pages.path, 'save', { 'mail.subject': 'By Eve' }, eve)).status).toBe(303)
    expect((await pages.draft()).content.mail.subject).toBe('By Eve')
  })

  test('a viewer may preview and simulate the stored message only', async () => {
    await pages.addMember('eve@example.com', 'viewer')
    const eve = await pages.signedIn('eve@example.com')
    const before = await pages.messages()
    const { html } = await eve.get(pages.path)
    const buttons = await textOf(html, 'main button[type=submit]')
    expect(buttons.filter((text) => text !== 'Done')).toEqual([
      'See who',
      'Preview',
      'Simulate the last 7 days',
      'Simulate the last 30 days',
    ])
    expect(await attributesOf(html, '#name', 'readonly')).toEqual([''])
    expect((await eve.get(pages.at('messages/new'))).status).toBe(403)
    for (const action of actions) {
      expect((await pages.press(pages.path, action, { 'mail.subject': 'By Eve' }, eve)).status).toBe(403)
    }
    const preview = await pages.press(pages.path, 'preview', { 'mail.subject': 'By Eve' }, eve)
    expect([preview.status, preview.html.includes('By Eve')]).toEqual([200, false])
    expect((await pages.press(pages.path, 'simulate 7', {}, eve)).status).toBe(200)
    const typed = { 'mail.subject': 'By Eve', show: 'preview' }
    const live = await eve.post(`${pages.path}/preview`, typed)
    expect([live.status, live.html.includes('By Eve')]).toEqual([200, false])
    for (const show of ['check', 'reach']) expect((await eve.post(`${pages.path}/preview`, { show })).status).toBe(200)
    expect((await eve.post(`${pages.at('messages/new')}/preview`, typed)).status).toBe(403)
    expect(await attributesOf(html, '[data-insert]', 'data-insert')).toEqual([])
    expect(await pages.messages()).toEqual(before)
  })

  test('members of another account see and change nothing', async () => {
    const other = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    const before = await pages.messages()
    const id = pages.path.split('/').at(-1)
    for (const theirs of [pages.path, `/apps/${other.appId}/messages/${id}`]) {
      expect((await eve.get(theirs)).status).toBe(404)
      expect((await eve.get(`${theirs}/versions`)).status).toBe(404)
      for (const action of actions) expect((await pages.press(pages.path, action, {}, eve)).status).toBe(404)
      expect((await eve.post(theirs, { do: 'paused' })).status).toBe(404)
    }
    expect(await pages.messages()).toEqual(before)
  })

  test('forms of another site are refused', async () => {
    const foreign = { 'Sec-Fetch-Site': 'cross-site' }
    expect((await pages.browser.post(pages.path, { do: 'live' }, foreign)).status).toBe(403)
    expect(await pages.draft()).toMatchObject({ status: 'draft' })
  })
})
