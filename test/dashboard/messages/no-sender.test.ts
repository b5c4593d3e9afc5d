import { afterEach, beforeEach, expect, test } from 'bun:test'
import { type AccountPages, appOf, openAccount } from '../browser.ts'
import { textOf } from '../pages.ts'
import { MAIL, putMessage } from './mailing.ts'

let pages: AccountPages
beforeEach(async () => void (pages = await openAccount({ mail: { defaults: { smtpUrl: null, from: null } } })))
afterEach(() => pages.close())

const NOTICE =
  'Caution: No sender address is set. Emails without their own sender address are not sent. Set a sender address.'

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
  expect(await stateOf()).toEqual(["2 are live. 1 can't be sent without a sender address."])
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  await pages.store.setMailSettings({ ...by, settings: { fromEmail: 'post@first.example' } })
  expect(await stateOf()).toEqual(['2 are live and send emails automatically.'])
  expect(await textOf((await browser.get(pages.at('deliveries'))).html, '.notice')).toEqual([
    expect.stringContaining('No mail server is set. Emails are captured'),
  ])
  expect(await senders.listWithoutSender()).toEqual([])
})
