/** A message is turned on, paused and deleted in the dashboard (messages.md, Check before going live). */
import { beforeEach, describe, expect, test } from 'bun:test'
import { publicId } from '../../src/core/public-ids.ts'
import { openDatabase } from '../../src/store/database.ts'
import { fieldsOf, useEditing } from './editing.ts'
import { HOSTILE, textOf } from './pages.ts'

const pages = useEditing()

describe('going live', () => {
  test('says so, and the list too', async () => {
    const { status, location } = await pages.press(pages.path, 'live')
    expect([status, location]).toEqual([303, pages.path])
    const { html } = await pages.browser.get(pages.path)
    expect(await textOf(html, '.page-head .badge')).toEqual(['Live'])
    const list = await pages.browser.get(pages.at('messages'))
    expect(await textOf(list.html, 'td .badge')).toEqual(['Live', 'Draft'])
  })

  test('saves what was typed with it', async () => {
    await pages.press(pages.path, 'live', { 'mail.subject': 'New' })
    expect(await pages.draft()).toMatchObject({ status: 'live', content: { mail: { subject: 'New' } } })
  })

  test('is refused while values are missing: beside the field, with the share', async () => {
    for (let i = 0; i < 100; i++) {
      await pages.event({ email: `p${i}@example.com`, properties: i < 12 ? {} : { headline: 'H', url: 'https://x' } })
    }
    const problem = '`event.url` is missing in 12 % of the last 100 events.'
    const opened = await pages.browser.get(pages.path)
    expect(await textOf(opened.html, '.notice.caution p:first-of-type')).toContain(
      'One thing stands in the way of going live:',
    )
    const { status, html } = await pages.press(pages.path, 'live', { 'mail.preheader': 'typed' })
    expect(status).toBe(400)
    expect((await textOf(html, '[id="mail.body-fault"]'))[0]).toContain(problem.replaceAll('`', ''))
    expect((await fieldsOf(html))['mail.preheader']).toBe('typed')
    expect(await pages.draft()).toMatchObject({ status: 'draft' })
  })

  test('is said in one sentence before', async () => {
    const { html } = await pages.browser.get(pages.path)
    expect(await textOf(html, '#go-live p')).toEqual([
      expect.stringContaining('10 minutes after results_ready comes, the person gets this mail once'),
      expect.stringContaining('It begins with what comes from now on'),
      expect.stringMatching(/No mail server is set yet.*kept in the outbox.*counts as sent.*can be sent from there/),
    ])
  })

  test('is said to be blocked while something is in the way, with a way to mend it', async () => {
    const { id, content } = await pages.draft()
    const mail = { ...content.mail, subject: '{{ event.headline' }
    const by = { accountId: pages.begun.accountId, appId: pages.app.id, actor: 'test', at: pages.clock.now() }
    const drafts = [{ id, name: 'Broken', content: { ...content, mail }, status: 'draft' as const }]
    await pages.store.saveMessages({ ...by, drafts })
    const { html } = await pages.browser.get(pages.path)
    expect(await textOf(html, '#go-live h2')).toEqual(['“Broken” cannot go live yet'])
    expect(await textOf(html, '#go-live li')).toEqual(['“{{ event.headline” does not end with }}, in line 1.'])
    expect(await textOf(html, '#go-live button[name=do]')).toEqual(['Save'])
  })
})

describe('pausing', () => {
  beforeEach(() => pages.press(pages.path, 'live'))

  test('stops it, and a draft again is one step further', async () => {
    expect((await pages.press(pages.path, 'paused')).status).toBe(303)
    expect(await pages.draft()).toMatchObject({ status: 'paused', version: 1 })
    expect((await pages.press(pages.path, 'draft')).status).toBe(303)
    expect(await pages.draft()).toMatchObject({ status: 'draft' })
  })

  test('works whatever was typed, which is kept and not saved', async () => {
    const { status, html } = await pages.press(pages.path, 'paused', { 'mail.subject': '', name: HOSTILE })
    expect(status).toBe(200)
    expect(await pages.draft()).toMatchObject({ status: 'paused', name: 'Results ready, they left' })
    expect((await textOf(html, '[role=alert]'))[0]).toContain('What you typed is not saved yet.')
    const fields = await fieldsOf(html)
    expect(fields.name).toBe(HOSTILE)
    expect(
      (await pages.browser.post(pages.path, { ...fields, name: 'N', 'mail.subject': 'S', do: 'save' })).status,
    ).toBe(303)
  })
})

describe('deleting', () => {
  const buttons = async () => textOf((await pages.browser.get(pages.path)).html, '[popovertarget=delete].danger')

  test('a draft goes with all that it says, after it was asked for, and stands in the audit list', async () => {
    expect(await buttons()).toEqual(['Delete'])
    const { id } = await pages.draft()
    const { status, location } = await pages.press(pages.path, 'delete', { 'mail.subject': 'Typed' })
    expect([status, location]).toEqual([303, pages.at('messages')])
    expect((await pages.messages()).map(({ name }) => name)).toEqual(['Results not opened yet'])
    const list = await pages.browser.get(pages.at('messages'))
    expect((await textOf(list.html, '.notice.done'))[0]).toContain('The message was deleted')
    expect((await pages.browser.get(pages.path)).status).toBe(404)
    const db = openDatabase(pages.folder)
    const told = db.query('SELECT actor, subject FROM audit_entries WHERE action = ?').all('message.delete')
    db.close()
    expect(told).toEqual([{ actor: expect.stringMatching(/^mem_/), subject: publicId('msg', id) }])
  })

  test('one that is live, or was started for somebody, stays', async () => {
    await pages.press(pages.path, 'live')
    expect(await buttons()).toEqual([])
    const live = await pages.press(pages.path, 'delete')
    expect([live.status, (await textOf(live.html, '[role=alert]'))[0]]).toEqual([
      409,
      expect.stringContaining('Pause it before it is deleted'),
    ])
    await pages.event({ properties: { url: 'https://app.example.com/r' } })
    await pages.press(pages.path, 'paused')
    expect(await buttons()).toEqual([])
    expect((await pages.press(pages.path, 'delete')).status).toBe(409)
    expect(await pages.messages()).toHaveLength(2)
  })

  test('what somebody else has written since does not go unseen', async () => {
    const fields = await fieldsOf((await pages.browser.get(pages.path)).html)
    pages.clock.ms += 1_000
    await pages.press(pages.path, 'save', { 'mail.subject': 'Theirs' })
    const refused = await pages.browser.post(pages.path, { ...fields, do: 'delete' })
    expect([refused.status, (await textOf(refused.html, '[role=alert]'))[0]]).toEqual([
      409,
      expect.stringContaining('Nothing was deleted'),
    ])
    expect((await pages.press(pages.path, 'delete')).status).toBe(303)
  })
})
