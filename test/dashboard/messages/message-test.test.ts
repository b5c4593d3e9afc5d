import { describe, expect, test } from 'bun:test'
import { inviteMember } from '../../../src/accounts/members.ts'
import type { Sender } from '../../../src/mail/sender.ts'
import { startMailServer } from '../../mail/mail-server.ts'
import { useEditing } from './editing.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

const pages = useEditing()

describe('a test email', () => {
  test('is captured without a mail server, and shown', async () => {
    await pages.event({ properties: { headline: 'Ready & done', url: 'https://app.example.com/r/1' } })
    const { status, html } = await pages.press(pages.path, 'test', { to: 'ada@example.com' })
    expect([status, (await textOf(html, '#test .notice'))[0]]).toEqual([
      200,
      expect.stringContaining('Captured, not sent: no mail server is set up.'),
    ])
    expect(await attributesOf(html, '#test .notice a', 'href')).toEqual([pages.at('outbox'), pages.at('sender/server')])
    const [raw = ''] = await textOf(html, '#test pre')
    expect(raw).toContain('To: ada@example.com')
    expect(raw).toContain('Subject: [Test] Ready & done')
    await expectHarmless(html)
  })

  test('goes to members only', async () => {
    const { status, html } = await pages.press(pages.path, 'test', { to: 'bob@example.com' })
    expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([
      400,
      expect.stringContaining('members of the account'),
    ])
  })

  test('does not go to invited members', async () => {
    const maker = { store: pages.store, now: pages.clock.now(), actor: 'test' }
    await inviteMember(maker, pages.begun.accountId, { email: 'eve@example.com', role: 'editor' })
    const { html } = await pages.browser.get(pages.path)
    expect(await attributesOf(html, '#test [name=to]', 'value')).toEqual(['ada@example.com'])
    expect((await pages.press(pages.path, 'test', { to: 'eve@example.com' })).status).toBe(400)
  })

  test('is done in the checklist, for exactly this text', async () => {
    const lineOf = async (html: string) => (await textOf(html, '.checks > li')).at(-1)
    const tested = await pages.press(pages.path, 'test', { 'mail.subject': 'Tested' })
    expect(await lineOf(tested.html)).toBe('Note: Test Captured, not sent.')
    const { html } = await pages.browser.get(pages.path)
    expect(await lineOf(html)).toBe("To do: Test This text hasn't been tested yet.")
    const saved = await pages.press(pages.path, 'save', { 'mail.subject': 'Tested' })
    expect(await lineOf((await pages.browser.get(saved.location ?? '')).html)).toBe('Note: Test Captured, not sent.')
    const server = await startMailServer({})
    await pages.set({ smtpUrl: server.url })
    const sent = await pages.press(pages.path, 'test', { 'mail.subject': 'Tested' })
    expect(await lineOf(sent.html)).toBe('Done: Test Sent to ada@example.com.')
    await (pages.mailer as Sender).stop()
    await server.stop()
    const broken = await pages.press(pages.path, 'test', {
      'mail.subject': '{{ x }}',
      'again.collect.minutes': '',
    })
    expect(await lineOf(broken.html)).toBe("To do: Test This text hasn't been tested yet.")
  })

  test('of a new message needs its email only', async () => {
    const fresh = pages.at('messages/new')
    const stateOf = async (html: string, name: string) =>
      (await textOf(html, '.checks > li')).find((line) => line.includes(` ${name} `))
    const { html } = await pages.browser.get(fresh)
    expect([await stateOf(html, 'Email'), await stateOf(html, 'Values')]).toEqual([
      'To do: Email Add a subject and text.',
      'To do: Values Checked once the other problems are fixed.',
    ])
    const empty = await pages.press(fresh, 'test', { to: 'ada@example.com' })
    expect(await textOf(empty.html, '.notice.error')).toEqual([expect.stringContaining('Nothing was sent. Subject: ')])
    expect(await attributesOf(empty.html, '#test .notice a', 'href')).toEqual(['#mail.subject'])
    const typed = { to: 'ada@example.com', 'mail.subject': 'Hi', 'mail.body': 'Text', 'trigger.event': '' }
    const tested = await pages.press(fresh, 'test', typed)
    expect((await textOf(tested.html, '#test .notice'))[0]).toContain('Captured, not sent')
    expect((await textOf(tested.html, '#test pre'))[0]).toContain('Subject: [Test] Hi')
    expect(await textOf(tested.html, '#refused')).toEqual([''])
  })

  test('is limited to twenty a minute', async () => {
    const send = () => pages.press(pages.path, 'test', { to: 'ada@example.com' })
    for (let index = 0; index < 20; index += 1) expect((await send()).status).toBe(200)
    const { status, html } = await send()
    expect([status, await textOf(html, '[role=alert]')]).toEqual([
      429,
      ['Error: You can send 20 tests a minute. Try again in 60 seconds.'],
    ])
    pages.clock.ms += 59_000
    expect(await textOf((await send()).html, '[role=alert]')).toEqual([expect.stringContaining('again in a second.')])
    pages.clock.ms += 1_000
    expect((await send()).status).toBe(200)
  })

  test('explains a failure', async () => {
    await pages.set({ smtpUrl: 'smtp://127.0.0.1:1' })
    const { html } = await pages.press(pages.path, 'test', { to: 'ada@example.com' })
    expect((await textOf(html, '#test .notice'))[0]).toBe(
      "Error: Nothing was sent. Nothing responds at the mail server's address and port. Check that it is running and that both are correct.",
    )
    const missing = await pages.press(pages.path, 'test', {
      to: 'ada@example.com',
      'mail.subject': '{{ contact.tags[0] }}',
    })
    expect((await textOf(missing.html, '#test .notice'))[0]).toBe(
      'Error: Nothing was sent. contact.tags has neither a value nor a fallback.',
    )
  })

  test('that was refused explains the reply without its text', async () => {
    const server = await startMailServer({ recipient: () => 550, words: () => `5.7.1 ${HOSTILE}` })
    await pages.set({ smtpUrl: server.url })
    const { html } = await pages.press(pages.path, 'test', { to: 'ada@example.com' })
    await expectHarmless(html)
    expect((await textOf(html, '#test .notice'))[0]).toContain(
      'The mail server refused the email: its policy does not allow the email (550 5.7.1).',
    )
    expect(html).not.toContain('alert(1)')
    await (pages.mailer as Sender).stop()
    await server.stop()
  })
})

test.each(['constructor', 'unknown'])('a preview leaves out the rule %s, which does not exist', async (rule) => {
  await pages.event()
  await pages.event()
  const typed = { 'onlyIf[0].rule': rule }
  const { status, html } = await pages.press(pages.path, 'add onlyIf notDone', typed)
  expect(status).toBe(200)
  expect(html).toContain('Preview')
})
