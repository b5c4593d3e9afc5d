/** The reference integration against the real service: what a browser does is read back by GET /api/v1/events. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { type Served, serveTest } from '../browser/chromium.ts'
import { type OpenChromium, openChromium } from '../chromium.ts'
import { EVENTS } from '../helper.ts'
import { until } from '../waiting.ts'
import { tagOf } from '../snippet/site.ts'
import { startSite } from './site.ts'

setDefaultTimeout(60_000)

let browser: OpenChromium
let service: Served

beforeAll(async () => {
  ;[browser, service] = await Promise.all([openChromium(), serveTest()])
})
afterAll(async () => {
  await browser?.close()
  await service?.close()
})

/** The demo site of the first account's app, in a browser of its own. */
async function openSite(identitySecret: string) {
  const { appId, siteId, apiKey } = service.first
  const eventpost = { url: service.url, appId, siteId, apiKey, identitySecret }
  const site = startSite({ eventpost, tag: tagOf(service.url, { siteId, requiresConsent: true }), jobMs: 50 })
  const page = await (await browser.browser.newContext()).newPage()
  const close = async (): Promise<void> => {
    await page.context().close()
    await site.stop()
  }
  return { site, page, close }
}

async function signIn(page: Page, url: string, email: string): Promise<void> {
  await page.goto(url)
  await page.fill('[name=email]', email)
  await page.click('button')
  await page.waitForURL('**/home')
  await page.click('#banner [value=yes]')
}

/** Type and path or name of what is stored of a person, oldest first. */
async function storedOf(email: string): Promise<string[]> {
  const path = `${EVENTS}?app=${service.first.appId}&email=${encodeURIComponent(email)}`
  const { body } = await service.call('GET', path)
  return (body.data ?? []).map(({ type, event, path, via }) => `${via} ${type} ${event ?? path}`).reverse()
}

describe('a customer with the demo site', () => {
  test('sees pages and actions of signed-in people, and results of the server', async () => {
    const { site, page, close } = await openSite(service.first.identitySecret)
    await signIn(page, site.url, 'ada@example.com')
    for (const [link, path] of [
      ['text=Studio >> nth=1', '/studio/pictures'],
      ['text=Styles', '/studio/styles'],
      ['text=Make >> nth=0', '/studio/make'],
    ] as const) {
      await page.click(link)
      // who leaves before the script ran has seen nothing
      await page.waitForURL(`**${path}`)
    }
    await page.click('#make')
    await page.locator('#made a').click()
    await page.waitForURL('**/results/*')
    const opened = `browser page ${new URL(page.url()).pathname}`
    let stored: string[] = []
    await until(
      async () => (stored = await storedOf('ada@example.com')).at(-1) === opened,
      () => stored,
    )
    expect(stored.filter((one) => one !== 'api event results_ready')).toEqual([
      'browser page /home',
      'browser page /studio/pictures',
      'browser page /studio/styles',
      'browser page /studio/make',
      'browser action pictures_started',
      opened,
    ])
    expect(stored).toContain('api event results_ready')
    await close()
  })

  test('reads refusals in the console, and nothing is stored', async () => {
    const { site, page, close } = await openSite('is_of_another')
    const said: string[] = []
    page.on('console', (message) => void said.push(message.text()))
    await signIn(page, site.url, 'eve@example.com')
    await until(
      () => said.some((text) => text.includes('Invalid signature')),
      () => said,
    )
    expect(await storedOf('eve@example.com')).toEqual([])
    await close()
  })
})
