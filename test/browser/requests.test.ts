/** Refused requests on open pages, with the service's own maintenance. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { createLog } from '../../src/ops/log.ts'
import { startMaintenance } from '../../src/ops/maintenance.ts'
import { EVENTS } from '../helper.ts'
import { keepOutput } from '../ops/keep-output.ts'
import { openChromium, type Served, serveTest, signIn } from './chromium.ts'
import { BEST_OF_FIVE } from '../waiting.ts'

const TRY_MS = 120_000

let browser: Browser
beforeAll(async () => {
  browser = await openChromium()
})
afterAll(() => browser?.close())

/** The first account alone, so that it sees unknown keys. */
async function openAlone(path: string, viewport = { width: 1440, height: 900 }) {
  const server = await serveTest()
  const maintenance = startMaintenance(server.parts(), createLog(server.clock.now, keepOutput([])))
  const page = await browser.newPage({ viewport })
  await signIn(page, server)
  const { store } = server.parts()
  const [first] = await store.listAccounts()
  Object.assign(store, { listAccounts: async () => [first] })
  await page.goto(`${server.url}/apps/${server.first.appId}/${path}`)
  const close = async () => {
    maintenance.stop()
    await page.close()
    await server.close()
  }
  return { server, page, close }
}

const sendWithoutKey = ({ call, first }: Served, key: string | null) =>
  call('POST', EVENTS, { body: { app: first.appId, email: 'ada@example.com', event: 'signed_in' }, key })

/** Ms until an element is there. */
async function timeUntil(page: Page, selector: string): Promise<number> {
  const startedAt = performance.now()
  await page.waitForSelector(selector)
  return performance.now() - startedAt
}

test(
  'a wrong and a missing key show on Requests within a second, and open to what to do',
  async () => {
    const { server, page, close } = await openAlone('requests')
    await page.waitForSelector('.said[data-feed-state] >> text=Refreshing')
    expect(await page.isVisible('.empty')).toBe(true)
    await sendWithoutKey(server, 'mc_wrong')
    expect(await timeUntil(page, '.feed .who >> text=Unknown key')).toBeLessThan(1_000)
    expect(await page.isVisible('.empty')).toBe(false)
    await sendWithoutKey(server, null)
    expect(await timeUntil(page, '.feed .who >> text=No key')).toBeLessThan(1_000)
    await page.waitForSelector('.lead >> text=2 refused requests in the log.')
    // the whole row is a link, 40 pixels high
    const box = await page.locator('.feed > li').first().boundingBox()
    expect(Math.round(box?.height ?? 0)).toBe(40)
    await page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) - 4, (box?.y ?? 0) + 20)
    await page.waitForSelector('main section p:has-text("The request had no Authorization header.")')
    await close()
  },
  { timeout: TRY_MS, ...BEST_OF_FIVE },
)

test.each([
  ['events', 'before=evt_1zzzzzzzzzz'],
  ['requests', 'before=9999999'],
])(
  'a phone shows the timezone of %s below the newest ones, also if they arrive later',
  async (path, before) => {
    const { server, page, close } = await openAlone(path, { width: 375, height: 812 })
    await page.waitForSelector('.said[data-feed-state] >> text=Refreshing')
    const isZoneShown = () => page.locator('.feed-zone').isVisible()
    expect(await isZoneShown()).toBe(false)
    await sendWithoutKey(server, 'mc_wrong')
    await server.call('POST', EVENTS, {
      body: { app: server.first.appId, email: 'ada@example.com', event: 'signed_in', createContact: true },
    })
    await page.waitForSelector('.feed > li')
    expect(await isZoneShown()).toBe(true)
    await page.goto(`${page.url()}?${before}`)
    expect([await page.locator('.feed > li').count(), await isZoneShown()]).toEqual([1, false])
    await close()
  },
  TRY_MS,
)

test(
  'a wrong key shows on Activation within a second, and links to its requests',
  async () => {
    const { server, page, close } = await openAlone('activation')
    await page.waitForSelector('[data-live-state] >> text=Refreshing')
    await sendWithoutKey(server, 'mc_wrong')
    expect(await timeUntil(page, '.troubles >> text=invalid_api_key')).toBeLessThan(1_000)
    await page.click('.troubles >> text=invalid_api_key')
    await page.waitForSelector('.chip >> text=invalid_api_key')
    expect(await page.locator('.feed > li').count()).toBe(1)
    await close()
  },
  { timeout: TRY_MS, ...BEST_OF_FIVE },
)
