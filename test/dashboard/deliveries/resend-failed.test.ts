/** Failed emails that are sent again together, from the list that shows them. */
import { withSql } from '../../data-folder.ts'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { publicId } from '../../../src/core/ids.ts'
import { describeResent } from '../../../src/dashboard/deliveries/resend-all.tsx'
import { startMailServer } from '../../mail/mail-server.ts'
import { LOOPBACK_HOSTS } from '../../helper.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { attributesOf, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
let mailServer: Awaited<ReturnType<typeof startMailServer>>
let refuses = true
beforeEach(async () => {
  refuses = true
  pages = await openAccount({ mail: { privateHosts: LOOPBACK_HOSTS } })
  browser = await pages.signedIn()
  mailServer = await startMailServer({ recipient: (to) => (refuses && to !== 'fine@example.com' ? 554 : 'accept') })
  const app = await appOf(pages)
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  await pages.store.setMailSettings({ ...by, settings: { smtpUrl: mailServer.url } })
  await putMessage(pages, { app })
  for (const email of ['fine@example.com', 'bob@example.com', 'eve@example.com'])
    await sendEvent(pages, { app, email, properties: { headline: 'Ready' } })
  await sendDue(pages)
})
afterEach(async () => {
  await mailServer.stop()
  await pages.close()
})

const FAILED = 'deliveries?state=failed'
const see = async (query = FAILED) => (await browser.get(pages.at(query))).html

test('are counted, sent again, and no longer listed', async () => {
  expect(await textOf(await see('deliveries'), '#send-all')).toEqual([])
  const html = await see()
  expect(await textOf(html, '#send-all h2')).toEqual(['Send 2 failed emails again?'])
  const [action] = await attributesOf(html, '#send-all form', 'action')
  const [until] = await attributesOf(html, '#send-all [name=until]', 'value')
  refuses = false
  const { location } = await browser.post(action ?? '', { until: until ?? '' })
  expect(location).toBe(pages.at(FAILED))
  expect(await textOf((await browser.get(location ?? '')).html, '.notice.done')).toEqual([
    "Done: 2 emails go out in a moment, except to people who can't be emailed.",
  ])
  await sendDue(pages)
  expect(mailServer.received.map(({ to }) => to[0]).toSorted()).toEqual([
    'bob@example.com',
    'eve@example.com',
    'fine@example.com',
  ])
  expect(await see()).not.toContain('send-all')
})

test('only those that the list shows, and only by editors', async () => {
  const [reason] = new Set((await pages.store.listReasons((await appOf(pages)).id)).values())
  expect(await textOf(await see(`${FAILED}&reason=${reason}`), '#send-all h2')).toHaveLength(1)
  expect(await textOf(await see(`${FAILED}&reason=other`), '#send-all h2')).toEqual([])
  const [until] = await attributesOf(await see(), '#send-all [name=until]', 'value')
  await browser.post(pages.at('deliveries/resend?state=failed&reason=other'), { until: until ?? '' })
  await browser.post(pages.at('deliveries/resend?state=sent'), { until: until ?? '' })
  expect(await textOf(await see(), '#send-all h2')).toEqual(['Send 2 failed emails again?'])
  await pages.addMember('vic@example.com', 'viewer')
  const viewer = await pages.signedIn('vic@example.com')
  expect((await viewer.get(pages.at(FAILED))).html).not.toContain('send-all')
})

test('while the brake is on: all wait, and a single one is sent anyway, as the dialogs say', async () => {
  const app = await appOf(pages)
  const pull = "INSERT INTO mail_brakes (app_id, since, kind, failures, emails) VALUES (?, ?, 'complaints', 5, 2500)"
  await withSql(pages.folder, async (sql) => await sql.prepare(pull).run(app.id, pages.clock.now()))
  const html = await see()
  expect(await textOf(html, '#send-all p')).toContain(
    'The brake is on, so lifecycle emails wait until the rate has fallen.',
  )
  const [until] = await attributesOf(html, '#send-all [name=until]', 'value')
  const query = { appId: app.id, messageId: null, contactId: null, states: ['failed'], before: null, limit: 1 } as const
  const [failed] = await pages.store.listDeliveries(query)
  const one = await see(`deliveries/${publicId('dlv', failed?.id ?? 0)}`)
  expect(await textOf(one, '#resend p')).toContain(
    'The brake is on: 5 of the last 2500 emails were reported as spam. This email is sent anyway.',
  )
  const { location } = await browser.post(pages.at('deliveries/resend?state=failed'), { until: until ?? '' })
  expect(await textOf((await browser.get(location ?? '')).html, '.notice.done')).toEqual([
    'Done: 2 emails were queued. Lifecycle emails wait while the brake is on.',
  ])
})

test('while sending is paused, nobody is told that they go out in a moment', () => {
  const pause = { server: 'mail.example.com', isOwn: true, reason: 'smtp_421', until: 0 }
  expect(describeResent('failed', { sent: 2, refused: 0, gone: 0, next: null }, { brake: null, pause })).toEqual([
    ['resent_paused', 2],
  ])
})
