/** What the width of a page leaves of its buttons and samples. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { BATCH } from '../helper.ts'
import { openChromium, type Served, serveTest, signIn } from './chromium.ts'
import { linkOfTopic } from './walk-unsubscribe.ts'

const TRY_MS = 60_000
const PHONE = { width: 390, height: 800 }
const DESK = { width: 1440, height: 900 }
const GRETE = 'grete@example.com'

let browser: Browser
let server: Served
let page: Page
beforeAll(async () => {
  browser = await openChromium()
  server = await serveTest()
  page = await browser.newPage()
  await signIn(page, server)
}, TRY_MS)
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

const pathOf = (path: string): string => `${server.url}/apps/${server.first.appId}/${path}`
const record = (event: string) =>
  server.call('POST', BATCH, {
    body: { events: [{ app: server.first.appId, email: GRETE, event, createContact: true }] },
  })

test(
  'the buttons of the unsubscribe page are as wide as a phone allows',
  async () => {
    await record('signed_in')
    await page.setViewportSize(PHONE)
    await page.goto(await linkOfTopic(server, GRETE))
    const widths = await page
      .locator('main .button')
      .evaluateAll((buttons) => buttons.map((button) => button.getBoundingClientRect().width))
    expect(widths).toEqual([358, 358, 358])
  },
  TRY_MS,
)

test(
  'the sample that signs a report fits on a desktop without scrolling sideways',
  async () => {
    await page.setViewportSize(DESK)
    await page.goto(pathOf('sender/server'))
    await page.locator('form[action$="/reports"] button').evaluate((button) => (button as HTMLButtonElement).click())
    const sample = page.locator('pre:has(#report), #report').first()
    await sample.waitFor()
    const [inner, outer] = await sample.evaluate((code) => {
      const pre = code.closest('pre') ?? code
      return [pre.scrollWidth, pre.clientWidth]
    })
    expect(inner).toBe(outer ?? 0)
  },
  TRY_MS,
)
