import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { openChromium, type Served, serveTest, signIn } from './chromium.ts'
import { DESK_WIDTH } from './walking.ts'

let server: Served
let browser: Browser
beforeAll(async () => {
  server = await serveTest()
  browser = await openChromium()
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

const open = async (path: string, options: { width?: number; javaScriptEnabled?: boolean } = {}): Promise<Page> => {
  const { width = 1440, javaScriptEnabled = true } = options
  const context = await browser.newContext({ viewport: { width, height: 800 }, javaScriptEnabled })
  const page = await context.newPage()
  await page.goto(`${server.url}/docs/${path}`)
  return page
}

describe('the search of the documentation', () => {
  test('shows results while typing, which the arrow keys reach', async () => {
    const page = await open('start')
    await page.keyboard.press('/')
    await page.keyboard.type('idempot')
    await page.waitForSelector('.sidebar .docs-found a')
    expect(await page.locator('.sidebar .docs-found a').count()).toBeLessThanOrEqual(8)
    expect(await page.locator('.sidebar [role=status]').textContent()).toMatch(/^\d+ sections? found for “idempot”\.$/)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/docs\/(?!start)/)
    expect(await page.locator('main').textContent()).toMatch(/idempotency/i)
    await page.close()
  })

  test('closes on Escape, and when the focus leaves it', async () => {
    const page = await open('start')
    for (const leave of ['Escape', 'Shift+Tab']) {
      await page.fill('#menu-search', leave === 'Escape' ? 'limit' : 'limits')
      await page.waitForSelector('.sidebar .docs-found:not([hidden])')
      await page.keyboard.press(leave)
      await page.waitForSelector('.sidebar .docs-found', { state: 'hidden' })
    }
    await page.close()
  })

  test('works without scripts', async () => {
    const page = await open('start', { javaScriptEnabled: false })
    await page.fill('#menu-search', 'rate limit')
    await page.press('#menu-search', 'Enter')
    await page.waitForURL('**/docs/search?q=rate+limit')
    expect(await page.locator('.docs-results mark').count()).toBeGreaterThan(3)
    await page.close()
  })
})

test('short pages begin at the top for members, too', async () => {
  const page = await browser.newPage({ viewport: { width: DESK_WIDTH, height: 900 } })
  await signIn(page, server)
  for (const path of ['retries', 'search?q=nothing-like-this']) {
    await page.goto(`${server.url}/docs/${path}`)
    expect((await page.locator('h1').boundingBox())?.y).toBeLessThan(100)
  }
  await page.close()
})

describe('language tabs', () => {
  test('change all samples, stay in place and are remembered', async () => {
    const page = await open('start')
    const tab = page.locator('label[for="sample-read-events-python"]')
    await tab.scrollIntoViewIfNeeded()
    const before = (await tab.boundingBox())?.y ?? 0
    const saved = page.waitForResponse('**/language')
    await tab.click()
    expect((await saved).status()).toBe(204)
    expect(await page.isChecked('#sample-event-python')).toBe(true)
    expect(Math.abs(((await tab.boundingBox())?.y ?? 0) - before)).toBeLessThan(2)
    await page.goto(`${server.url}/docs/api/post-events`)
    expect(await page.isChecked('#sample-request-python')).toBe(true)
    expect(await page.isVisible('text=from urllib import request')).toBe(true)
    await page.close()
  })

  test('work without scripts and by keyboard', async () => {
    const page = await open('api/post-events', { javaScriptEnabled: false })
    await page.focus('#sample-request-curl')
    await page.keyboard.press('ArrowRight')
    expect(await page.isVisible('#sample-request-node-0')).toBe(true)
    expect(await page.isVisible('#sample-request-curl-0')).toBe(false)
    await page.close()
  })
})

test('in a step of a list, text below code has a gap', async () => {
  const page = await open('move', { width: 375 })
  const code = await page.locator('.docs li > .code').first().boundingBox()
  const text = await page.locator('.docs li > .code + p').first().boundingBox()
  expect((text?.y ?? 0) - ((code?.y ?? 0) + (code?.height ?? 0))).toBeGreaterThanOrEqual(12)
  await page.close()
})

test('on a phone, the names of settings do not break', async () => {
  const page = await open('settings', { width: 375 })
  const heights = await page
    .locator('.docs td:first-child code')
    .evaluateAll((names) => names.map((name) => name.getBoundingClientRect().height))
  expect(heights.length).toBeGreaterThan(40)
  expect(Math.max(...heights)).toBeLessThan(24)
  await page.close()
})

test('the sidebar marks the section that is read', async () => {
  const page = await open('events')
  await page.locator('#warnings').scrollIntoViewIfNeeded()
  await page.evaluate("document.getElementById('warnings').scrollIntoView()")
  await page.waitForSelector('.docs-headings a[aria-current]:text-is("Warnings")')
  expect(await page.locator('.docs-headings a[aria-current]').count()).toBe(1)
  await page.close()
})

test('the sidebar shows the current page', async () => {
  const page = await open('api/report-bounce')
  const link = page.locator('.docs-links [aria-current=page]')
  await page.waitForFunction("document.querySelector('.sidebar > .docs-links').scrollTop > 0")
  const [own, list] = [await link.boundingBox(), await page.locator('.sidebar > .docs-links').boundingBox()]
  expect((own?.y ?? 0) + (own?.height ?? 0)).toBeLessThanOrEqual((list?.y ?? 0) + (list?.height ?? 0))
  await page.close()
})

test('a phone reaches all pages by the menu, signed in and out', async () => {
  const page = await open('start', { width: 375 })
  await page.click('[popovertarget=menu]')
  await page.click('#menu a[href="/docs/mcp"]')
  await page.waitForURL('**/docs/mcp')
  await signIn(page, server)
  await page.goto(`${server.url}/docs/start`)
  await page.goto(`${server.url}/docs/api/report-bounce`)
  await page.click('[popovertarget=pages]')
  await page.waitForFunction("document.getElementById('pages').scrollTop > 0")
  await page.click('#pages a[href="/docs/limits"]')
  await page.waitForURL('**/docs/limits')
  await page.close()
})

test('printed, a page is its text alone', async () => {
  const page = await open('api/post-events')
  await page.emulateMedia({ media: 'print' })
  for (const hidden of ['.sidebar', '.docs-tools', '.docs-markdown', '.docs-neighbours', '.copy', '.tabs > label']) {
    expect([hidden, await page.locator(hidden).first().isVisible()]).toEqual([hidden, false])
  }
  for (const shown of ['h1', '#body', '#sample-request-curl-0']) {
    expect([shown, await page.locator(shown).first().isVisible()]).toEqual([shown, true])
  }
  await page.close()
})

test('names of settings and errors stay on one line on a desktop', async () => {
  const page = await open('settings')
  for (const path of ['settings', 'errors']) {
    await page.goto(`${server.url}/docs/${path}`)
    const lines = await page
      .locator('main td:first-child code')
      .evaluateAll((names) => names.map((name) => name.getClientRects().length))
    expect(lines).toEqual(lines.map(() => 1))
    expect(lines.length).toBeGreaterThan(20)
  }
  await page.close()
})
