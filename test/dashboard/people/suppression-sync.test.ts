import { beforeEach, expect, test } from 'bun:test'
import { useClosing } from '../../closing.ts'
import { startPostmark } from '../../mail/postmark-server.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { textOf } from '../pages.ts'

const keep = useClosing()
let pages: AccountPages
let browser: Browser

beforeEach(async () => {
  const listed = { EmailAddress: 'gone@example.com', SuppressionReason: 'HardBounce', Origin: 'Recipient' } as const
  const postmark = await startPostmark({ suppressions: [{ ...listed, CreatedAt: '2026-05-01T12:00:00Z' }] })
  keep({ close: postmark.stop })
  const standIns = { postmark: { host: '127.0.0.1', port: postmark.port } }
  pages = keep(await openAccount({ mail: { standIns } }))
  browser = await pages.signedIn()
})

const TOKEN = '6f4a1d2c-0b7e-4c43-9a57-2f1f0a9d7c11'
const path = (what = '') => pages.at(`suppressions${what}`)
const see = async () => (await browser.get(path())).html
const buttons = async () => textOf(await see(), '.page-head .button')

async function setServer(smtpUrl: string): Promise<void> {
  const app = await appOf(pages)
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  await pages.store.setMailSettings({ ...by, settings: { smtpUrl } })
}

test("adds the provider's list, and says what it did", async () => {
  expect(await buttons()).toEqual(['Add addresses'])
  await setServer(`postmark://${TOKEN}@api.postmarkapp.com/outbound`)
  expect(await buttons()).toEqual(['Sync with Postmark', 'Add addresses'])
  const synced = await browser.post(path('/sync'))
  expect([synced.status, synced.location]).toEqual([303, `${path()}#sync`])
  const html = await see()
  expect(await textOf(html, '#sync')).toEqual([
    'The Postmark list was read just now. 1 address was added, and 0 were already listed.',
  ])
  expect(await textOf(html, 'td .cause')).toEqual(["On Postmark's suppression list: “HardBounce, Recipient”"])
  await browser.post(path('/sync'))
  expect((await textOf(await see(), '#sync'))[0]).toEndWith('0 addresses were added, and 1 was already listed.')
  const audit = await textOf((await browser.get(pages.at('audit'))).html, 'main')
  expect(audit.join()).toContain('read the suppression list of Postmark: 0 added, 1 already listed')
})

test('says what went wrong', async () => {
  await setServer('postmark://wrong@api.postmarkapp.com/outbound')
  await browser.post(path('/sync'))
  expect((await textOf(await see(), '#sync'))[0]).toStartWith(
    "Caution: Postmark refused to show its suppression list (it replied 401): the key isn't allowed to read it.",
  )
  const app = await appOf(pages)
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  const sync = { provider: 'postmark', added: 0, known: 0, unread: 2, fault: 'endless' }
  await pages.store.saveSuppressionSync({ ...by, sync })
  expect((await textOf(await see(), '#sync'))[0]).toStartWith(
    'Caution: The Postmark list could not be read completely. Try again later',
  )
})

test('is not offered where the login reads no list', async () => {
  expect((await textOf(await see(), '#sync'))[0]).toStartWith("To sync your provider's list, choose the provider")
  await setServer('smtp://u:p@smtp.mailgun.org:587')
  expect([await buttons(), (await textOf(await see(), '#sync'))[0]]).toEqual([
    ['Add addresses'],
    expect.stringContaining("Eventpost's SMTP login for Mailgun can't read the suppression list there."),
  ])
  expect((await browser.post(path('/sync'))).location).toBe(`${path()}#sync`)
  expect(await pages.store.findSuppressionSync((await appOf(pages)).id)).toBeNull()
})

test('is limited', async () => {
  await setServer(`postmark://${TOKEN}@api.postmarkapp.com/outbound`)
  for (let time = 0; time < 10; time += 1) expect((await browser.post(path('/sync'))).status).toBe(303)
  expect((await browser.post(path('/sync'))).status).toBe(429)
})

test("of the installation's server is read only while it has one account", async () => {
  const standIns = { postmark: { host: '127.0.0.1', port: 1 } }
  const defaults = { smtpUrl: `postmark://${TOKEN}@api.postmarkapp.com/outbound`, from: null }
  pages = keep(await openAccount({ mail: { standIns, defaults } }))
  browser = await pages.signedIn()
  expect(await buttons()).toEqual(['Sync with Postmark', 'Add addresses'])
  await browser.post(path('/sync'))
  expect((await textOf(await see(), '#sync'))[0]).toBe(
    'Caution: Postmark could not be reached. 0 addresses were added, and 0 were already listed. Last attempt: just now.',
  )
  await pages.addAccount('eve@example.com', 'Other')
  expect(await buttons()).toEqual(['Add addresses'])
})
