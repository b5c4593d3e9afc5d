import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { createKey } from '../../../src/accounts/accounts.ts'
import { publicId } from '../../../src/core/ids.ts'
import { isRefusal } from '../../../src/core/refusals.ts'
import type { Mail } from '../../../src/store/message-types.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { putMessage, sendDue } from '../messages/mailing.ts'
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

const RECEIPT = {
  trigger: { api: 'send' as const },
  mail: { subject: 'Receipt {{ event.number }}', body: 'Thank you', category: 'transactional' as const },
}

type Sent = { messageId?: number; mail?: Mail; properties?: object }

/** As the API stores it. @returns the pages of the email and of its person */
async function send({ messageId, mail, properties }: Sent): Promise<{ delivery: string; person: string }> {
  const { accountId, id: appId } = app
  const by = { store: pages.store, now: pages.clock.now(), actor: 'test' }
  const key = await createKey(by, accountId, { name: 'Billing', scope: 'standard' })
  if (isRefusal(key)) throw new Error(key.refusal)
  const sent = await pages.store.sendMail({
    accountId,
    appId,
    email: 'ada@example.com',
    shownEmail: null,
    newPeoplePerMonth: null,
    at: pages.clock.now(),
    limits: [],
    idempotency: null,
    keyId: key.keyId,
    createContact: true,
    firstName: null,
    lastName: null,
    messageId: messageId ?? null,
    properties: properties === undefined ? null : JSON.stringify(properties),
    mail: mail ?? null,
    unlinked: 0,
  })
  if (isRefusal(sent)) throw new Error(sent.refusal)
  return {
    delivery: pages.at(`deliveries/${publicId('dlv', sent.deliveryId)}`),
    person: pages.at(`people/${publicId('con', sent.contactId)}`),
  }
}

const textOfMail = (subject: string, body: string): Mail => ({ subject, body, category: 'transactional' })

test('the page of an email says which key sent it, and with what', async () => {
  const messageId = await putMessage(pages, { app, content: RECEIPT, name: 'Receipt' })
  const { delivery, person } = await send({ messageId, properties: { number: 'R-7' } })
  await sendDue(pages)
  const { html } = await browser.get(delivery)
  const facts = (await textOf(html, 'aside dl, aside .values')).join(' ')
  expect(facts).toContain('Receipt, version 1')
  expect(facts).toContain('API key Billing')
  expect(facts).toContain('number: R-7')
  expect(await textOf(html, '.timeline li')).toContainEqual(expect.stringContaining('Your server sent it'))
  const timeline = (await textOf((await browser.get(person)).html, '#timeline li')).join(' ')
  expect(timeline).toContain('Sent by the API key Billing')
})

test('a text of its own is called by its subject, and leads to no message', async () => {
  const { delivery, person } = await send({ mail: textOfMail('Choose a password', 'Hello') })
  const { html } = await browser.get(delivery)
  expect((await textOf(html, 'title'))[0]).toStartWith('Choose a password: email to ada@example.com')
  const links = await attributesOf(html, 'main a', 'href')
  expect(links.filter((href) => href?.includes('/messages/'))).toEqual([])
  for (const path of [person, pages.at('deliveries')]) {
    expect((await textOf((await browser.get(path)).html, 'main')).join(' ')).toContain('Choose a password')
  }
  // nor is it a message that could be opened, filtered or counted
  const listed = await browser.get(pages.at('messages'))
  expect((await textOf(listed.html, 'main')).join(' ')).not.toContain('Choose a password')
})

test('what it says is only text', async () => {
  const { delivery, person } = await send({ mail: textOfMail(HOSTILE, HOSTILE), properties: { x: HOSTILE } })
  for (const path of [delivery, person, pages.at('deliveries')]) await expectHarmless((await browser.get(path)).html)
})
