/** The mails that were kept instead of sent, on their page. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type AccountPages, appOf, type Browser, openAccount } from './browser.ts'
import { putMessage, sendDue, sendEvent } from './mailing.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from './pages.ts'

let pages: AccountPages
let browser: Browser
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
})
afterEach(() => pages.close())

const see = async (query = '') => (await browser.get(pages.at(`outbox${query}`))).html

async function keep(mails: { email: string; headline: string }[]): Promise<void> {
  const app = await appOf(pages)
  await putMessage(pages, { app })
  for (const { email, headline } of mails) await sendEvent(pages, { app, email, properties: { headline } })
  await sendDue(pages)
}

describe('the outbox', () => {
  test('is empty', async () => {
    expect(await textOf(await see(), '.empty h2')).toEqual(['Nothing kept yet'])
    const app = await appOf(pages)
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: 1 }
    await pages.store.setMailSettings({ ...by, settings: { smtpUrl: 'smtp://127.0.0.1:1' } })
    expect(await textOf(await see(), '.empty h2')).toEqual(['Nothing is kept here'])
  })

  test('holds what would have been sent, and leads to it', async () => {
    await keep([{ email: 'bob@example.com', headline: 'Zwölf Bilder 👩‍🚀' }])
    const html = await see()
    expect(await textOf(html, 'td .strong')).toEqual(['Zwölf Bilder 👩‍🚀'])
    expect(await textOf(html, 'td[data-label=To]')).toEqual(['bob@example.com'])
    const [path] = await attributesOf(html, 'td .strong', 'href')
    expect((await browser.get((path ?? '').replace('#mail', ''))).status).toBe(200)
  })

  test('by pages', async () => {
    await keep(Array.from({ length: 60 }, (_, i) => ({ email: `p${i}@example.com`, headline: `Number ${i}` })))
    const first = await see()
    expect(await textOf(first, 'td .strong')).toHaveLength(50)
    const [older] = await attributesOf(first, '.pager [rel=next]', 'href')
    const second = await see((older ?? '').slice(pages.at('outbox').length))
    const all = [...(await textOf(first, 'td .strong')), ...(await textOf(second, 'td .strong'))]
    expect(new Set(all).size).toBe(60)
    expect(await attributesOf(second, '.pager [rel=next]', 'href')).toEqual([])
  })

  test('hostile text is text', async () => {
    await keep([{ email: 'bob@example.com', headline: HOSTILE }])
    await expectHarmless(await see())
  })

  test("is the app's own", async () => {
    await keep([{ email: 'bob@example.com', headline: 'Ready' }])
    const { appId } = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    expect((await eve.get(pages.at('outbox'))).status).toBe(404)
    expect(await textOf((await eve.get(`/apps/${appId}/outbox`)).html, 'td')).toEqual([])
  })
})
