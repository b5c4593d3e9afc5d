import { afterEach, beforeEach, expect, test } from 'bun:test'
import { type AccountPages, appOf, openAccount } from '../browser.ts'
import { textOf } from '../pages.ts'
import { publicId } from '../../../src/core/ids.ts'
import { attributesOf } from '../pages.ts'
import { fieldsOf } from './editing.ts'
import { MAIL, putMessage } from './mailing.ts'

let pages: AccountPages
beforeEach(async () => void (pages = await openAccount({ mail: { defaults: { smtpUrl: null, from: null } } })))
afterEach(() => pages.close())

const NOTICE =
  'Caution: No sender address is set. Messages without an address of their own send no emails. Set a sender address.'

test('Messages, Deliveries and the start say that live messages have no sender', async () => {
  const app = await appOf(pages)
  const browser = await pages.signedIn()
  await putMessage(pages, { app, name: 'One' })
  await putMessage(pages, { app, name: 'Two', content: { ...MAIL, mail: { ...MAIL.mail, fromEmail: 'a@b.example' } } })
  const { senders } = pages.mailer
  expect(await senders.listWithoutSender()).toEqual([{ appId: app.publicId, messages: 1 }])
  for (const page of ['messages', 'deliveries']) {
    const { html } = await browser.get(pages.at(page))
    expect(await textOf(html, '.notice')).toEqual([NOTICE])
  }
  const stateOf = async () => textOf((await browser.get(pages.at('messages'))).html, '.page-head .lead')
  expect(await stateOf()).toEqual(["2 of 4 messages are live. 1 can't be sent without a sender address."])
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  await pages.store.setMailSettings({ ...by, settings: { fromEmail: 'post@first.example' } })
  expect(await stateOf()).toEqual(['2 of 4 messages are live. Emails are captured until a mail server is set up.'])
  expect(await textOf((await browser.get(pages.at('deliveries'))).html, '.notice')).toEqual([
    expect.stringContaining('No mail server yet. Emails are captured'),
  ])
  expect(await senders.listWithoutSender()).toEqual([])
})

test('Messages say so about the only one, too', async () => {
  const app = await appOf(pages)
  const browser = await pages.signedIn()
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  for (const { id } of await pages.store.listMessages(app.id)) await pages.store.deleteMessage({ ...by, id })
  await putMessage(pages, { app, name: 'One' })
  const { html } = await browser.get(pages.at('messages'))
  expect(await textOf(html, '.page-head .lead')).toEqual([
    "The message is live. It can't be sent without a sender address.",
  ])
})

test('owners set one in the checklist of a message, without saving it', async () => {
  const app = await appOf(pages)
  const owner = await pages.signedIn()
  await pages.addMember('eve@example.com', 'editor')
  const eve = await pages.signedIn('eve@example.com')
  const [draft] = await pages.store.listMessages(app.id)
  const path = pages.at(`messages/${publicId('msg', draft?.id ?? 0)}`)
  const { html } = await owner.get(path)
  expect(await attributesOf(html, '#newSender', 'value')).toEqual([`hello@${app.hosts[0]?.replace(/^app\./, '')}`])
  for (const one of [html, (await eve.get(path)).html])
    expect((await textOf(one, '.checks .wrong'))[0]).toStartWith('Problem: Sender No address yet. Open Sender')
  expect(await textOf((await eve.get(path)).html, '.checks .button')).toEqual([])
  const typed = { ...(await fieldsOf(html)), 'mail.subject': 'Typed', newSender: 'hello', do: 'newSender' }
  const wrong = await owner.post(path, typed)
  expect([wrong.status, await attributesOf(wrong.html, '#newSender', 'value')]).toEqual([400, ['hello']])
  expect(await textOf(wrong.html, '#newSender-fault')).toEqual([expect.stringContaining('Enter one email address')])
  const accented = await owner.post(path, { ...typed, newSender: 'zoë@example.com' })
  expect(await textOf(accented.html, '#newSender-fault')).toEqual([
    expect.stringContaining('Use only ASCII characters'),
  ])
  expect(await textOf(html, '#newSender-fault')).toEqual([])
  const none = await owner.post(path, { ...typed, newSender: '' })
  const { do: _, ...left } = await fieldsOf(none.html)
  const checked = JSON.parse((await owner.post(`${path}/preview`, { ...left, show: 'check' })).html)
  expect(checked.faults).toMatchObject({ newSender: expect.stringContaining('Enter one') })
  expect(await textOf(checked.fragments.checklist, '#newSender-fault')).toEqual([expect.stringContaining('Enter one')])
  expect((await eve.post(path, { ...typed, newSender: 'eve@example.com' })).status).toBe(403)
  expect((await pages.store.mailSettings(app.id)).fromEmail).toBe(null)
  const set = await owner.post(path, { ...typed, newSender: ' Post@First.example ' })
  expect([set.status, await attributesOf(set.html, '[id="mail.subject"]', 'value')]).toEqual([200, ['Typed']])
  expect(await textOf(set.html, '.checks .wrong b')).not.toContain('Sender')
  expect((await pages.store.mailSettings(app.id)).fromEmail).toBe('post@first.example')
  expect((await owner.get(pages.at('audit'))).html).toContain('changed the sender: Address<')
})

test('without one, the checklist folds what is no problem', async () => {
  const app = await appOf(pages)
  const browser = await pages.signedIn()
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  const [draft] = await pages.store.listMessages(app.id)
  const linesOf = async (list: string) => {
    const { html } = await browser.get(pages.at(`messages/${publicId('msg', draft?.id ?? 0)}`))
    return textOf(html, `${list} > .checks > li > div > b`)
  }
  expect(await linesOf('#more-checks')).toContain('Public address')
  await pages.store.setMailSettings({ ...by, settings: { smtpUrl: 'smtp://mail.example.com' } })
  expect(await linesOf('#checklist')).toEqual(['Sender', 'Public address'])
  expect(await linesOf('#more-checks')).toEqual(['Values', 'Email', 'Test'])
})

test('the only address is not emptied while live messages need it', async () => {
  const app = await appOf(pages)
  const browser = await pages.signedIn()
  const save = (fromEmail: string) => browser.submit(pages.at('sender'), pages.at('sender'), { fromEmail })
  await save('post@first.example')
  expect((await save('')).status).toBe(303)
  await save('post@first.example')
  await putMessage(pages, { app, name: 'One' })
  const { status, html } = await save('')
  expect([status, await textOf(html, '#fromEmail-fault')]).toEqual([
    409,
    [
      expect.stringContaining(
        'The live message "One" sends from post@first.example. Enter another address, or pause it first.',
      ),
    ],
  ])
  expect((await pages.store.mailSettings(app.id)).fromEmail).toBe('post@first.example')
  expect((await save('new@first.example')).status).toBe(303)
})

test('Sender asks for one, and can be saved without', async () => {
  const browser = await pages.signedIn()
  const labels = async () => textOf((await browser.get(pages.at('sender'))).html, 'label')
  expect(await labels()).toContain('Address')
  const { status } = await browser.submit(pages.at('sender'), pages.at('sender'), { fromName: 'Ada' })
  expect(status).toBe(303)
  expect(await attributesOf((await browser.get(pages.at('sender'))).html, '#fromEmail', 'required')).toEqual([null])
})
