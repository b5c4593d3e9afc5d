/** What the width of a page leaves of its buttons, rows and samples. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { publicId } from '../../src/core/ids.ts'
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
  'the rows of Deliveries end at the right, also while an email waits',
  async () => {
    const { store } = server.parts()
    const app = await store.findAppByPublicId(server.first.appId)
    const [draft] = await store.listMessages(app?.id ?? 0)
    await page.setViewportSize(DESK)
    await page.goto(pathOf(`messages/${publicId('msg', draft?.id ?? 0)}`))
    await page.click('[popovertarget=go-live]')
    await page.click('dialog:popover-open .primary')
    await page.waitForSelector('.page-head .badge.good')
    await record('results_ready')
    await page.setViewportSize(PHONE)
    await page.goto(pathOf('deliveries'))
    const [why, row] = await page
      .locator('.feed.deliveries > li:has([data-over])')
      .first()
      .evaluate((li) => {
        const range = document.createRange()
        range.selectNodeContents(li.querySelector('.why time') ?? li)
        return [range.getBoundingClientRect().right, li.getBoundingClientRect().right]
      })
    expect(Math.abs((why ?? 0) - (row ?? 0))).toBeLessThan(1)
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
