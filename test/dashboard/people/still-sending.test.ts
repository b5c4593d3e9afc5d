import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { publicId } from '../../../src/core/ids.ts'
import type { Provider } from '../../../src/mail/provider.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { fieldsOf } from '../messages/editing.ts'
import { textOf } from '../pages.ts'

const BOB = 'bob@example.com'

let pages: AccountPages
let browser: Browser
let app: AppRow
let messageId = 0
let answer: () => void
beforeEach(async () => {
  const [handed, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const createProvider = (): Provider => ({
    send: async (_, handOver) => {
      if (!(await handOver())) return { is: 'withheld' }
      handed.resolve()
      await answered.promise
      return { is: 'sent' }
    },
    close: () => {},
  })
  const defaults = { smtpUrl: 'smtp://mail.example.com', from: 'Demo <hello@first.example>' }
  pages = await openAccount({ mail: { defaults, createProvider, settleMs: 50 } })
  browser = await pages.signedIn()
  app = await appOf(pages)
  messageId = await putMessage(pages, { app })
  await sendEvent(pages, { app, email: BOB })
  const sending = sendDue(pages)
  await handed.promise
  answer = () => answered.resolve()
  waitForSending = sending
})
let waitForSending: Promise<void>
afterEach(async () => {
  answer()
  await waitForSending
  await pages.close()
})

const SENDING = 'Emails that were already with the mail server may still arrive.'

async function pathOfBob(): Promise<string> {
  const contact = await pages.store.findContact(app.id, BOB)
  return pages.at(`people/${publicId('con', contact?.id ?? 0)}`)
}

const ACTIONS: [string, () => Promise<{ location: string | null }>][] = [
  [
    'pausing a message',
    async () => {
      const path = pages.at(`messages/${publicId('msg', messageId)}`)
      return browser.post(path, { ...(await fieldsOf((await browser.get(path)).html)), do: 'paused' })
    },
  ],
  [
    'suppressing an address',
    () => browser.post(pages.at('suppressions/new'), { addresses: BOB, why: 'asked', reason: 'unsubscribed' }),
  ],
  ['erasing a person', async () => browser.post(`${await pathOfBob()}/erase`)],
]

test.each(ACTIONS)('%s says that an email may still arrive', async (_, act) => {
  const { location } = await act()
  const { html } = await browser.get(location ?? '')
  expect((await textOf(html, '.notice')).join(' ')).toContain(SENDING)
})

test.each(ACTIONS)('%s says nothing of it where the mail server has answered', async (_, act) => {
  answer()
  await waitForSending
  const { location } = await act()
  const { html } = await browser.get(location ?? '')
  expect((await textOf(html, '.notice')).join(' ')).not.toContain(SENDING)
})
