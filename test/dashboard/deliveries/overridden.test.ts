/** Emails that a member sends although they were blocked, and what the page says of them later. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { publicId } from '../../../src/core/ids.ts'
import { LOOPBACK_HOSTS } from '../../helper.ts'
import { type Behaviour, startMailServer } from '../../mail/mail-server.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { MAIL, putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { attributesOf, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
let app: AppRow
let behaviour: Behaviour
let stop: () => Promise<void>
let path: string

const ADA = 'ada@example.com'
const BLOCKED = `did not have the tag beta, but this message goes only to people with it. ${ADA} sent it anyway on`

/** Blocked by a rule. */
beforeEach(async () => {
  pages = await openAccount({ mail: { privateHosts: LOOPBACK_HOSTS } })
  browser = await pages.signedIn()
  app = await appOf(pages)
  behaviour = {}
  const server = await startMailServer(behaviour)
  stop = server.stop
  await putMessage(pages, { app, content: { ...MAIL, onlyIf: [{ rule: 'tag', has: 'beta' }] } })
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  await pages.store.setMailSettings({ ...by, settings: { smtpUrl: server.url } })
  await sendEvent(pages, { app, email: 'bob@example.com' })
  await sendDue(pages)
  const filter = { messageId: null, contactId: null, states: null, before: null, limit: 1 }
  const [delivery] = await pages.store.listDeliveries({ ...filter, appId: app.id })
  path = pages.at(`deliveries/${publicId('dlv', delivery?.id ?? 0)}`)
})
afterEach(async () => {
  await stop()
  await pages.close()
})

const resend = async () => {
  pages.clock.ms += 60_000
  expect((await browser.post(`${path}/resend`)).status).toBe(303)
}
const sendAgain = async () => {
  await resend()
  pages.clock.ms += 60_000
  await sendDue(pages)
}
const read = async () => {
  const { html } = await browser.get(path)
  return {
    lead: (await textOf(html, '.page-head .lead')).join(),
    /** oldest first */
    moments: (await textOf(html, '.timeline li span')).toReversed(),
  }
}
const why = async () => (await textOf((await browser.get(pages.at('deliveries'))).html, '.why')).join()

test('one that the mail server refused first still says what blocked it, and who sent it anyway', async () => {
  behaviour.recipient = () => 550
  await sendAgain()
  const { moments } = await read()
  expect(moments.filter((what) => /sent it/.test(what))).toEqual([`${ADA} sent it anyway`])
  delete behaviour.recipient
  await sendAgain()
  const sent = await read()
  expect(sent.lead).toContain(BLOCKED)
  expect(sent.moments.filter((what) => /Blocked|sent it/.test(what))).toEqual([
    "Blocked: Tags don't match",
    `${ADA} sent it anyway`,
    `${ADA} sent it again`,
  ])
  expect(await why()).toContain("Sent anyway (Tags don't match)")
})

test('failed ones that are sent again together keep it too', async () => {
  behaviour.recipient = () => 550
  await sendAgain()
  delete behaviour.recipient
  const { html } = await browser.get(pages.at('deliveries?state=failed'))
  const [action] = await attributesOf(html, '#send-all form', 'action')
  const [until] = await attributesOf(html, '#send-all [name=until]', 'value')
  expect((await browser.post(action ?? '', { until: until ?? '' })).status).toBe(303)
  await sendDue(pages)
  expect(await why()).toContain("Sent anyway (Tags don't match)")
})

test('one whose connection was lost was not sent again by the member', async () => {
  behaviour.dot = () => 'drop'
  await sendAgain()
  expect((await read()).moments.filter((what) => /sent it/.test(what))).toEqual([`${ADA} sent it anyway`])
  delete behaviour.dot
  await sendAgain()
  expect((await read()).moments.filter((what) => /sent it/.test(what))).toEqual([
    `${ADA} sent it anyway`,
    `${ADA} sent it again`,
  ])
})

test('one that was cancelled meanwhile says what blocked it first', async () => {
  await resend()
  pages.clock.ms += 60_000
  expect((await browser.post(`${path}/cancel`)).status).toBe(303)
  await sendAgain()
  const { lead, moments } = await read()
  expect(lead).toContain(BLOCKED)
  expect(moments.filter((what) => /Blocked|sent it|cancelled/.test(what))).toEqual([
    "Blocked: Tags don't match",
    `${ADA} sent it anyway`,
    `${ADA} cancelled it`,
    `${ADA} sent it again`,
  ])
})
