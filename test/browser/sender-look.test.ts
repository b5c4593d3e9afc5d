import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { until } from '../waiting.ts'
import { openSignedIn, type SignedIn, widthOver } from './chromium.ts'

const TRY_MS = 120_000
const COLOUR = '#0a7d4f'
let sender: SignedIn

beforeAll(async () => void (sender = await openSignedIn()), TRY_MS)
afterAll(() => sender?.close())

/** Of the tabs: their rows, and whether the current one is in view. */
const tabsOf = (page: Page) =>
  page.locator('.sections').evaluate((tabs) => {
    const [all, { left, right }] = [[...tabs.querySelectorAll('a')], tabs.getBoundingClientRect()]
    const current = tabs.querySelector('[aria-current]')?.getBoundingClientRect()
    const isInView = current !== undefined && current.left >= left - 1 && current.right <= right + 1
    return { rows: new Set(all.map((tab) => tab.getBoundingClientRect().top)).size, isInView, scrolled: scrollY }
  })

test(
  'tabs are one row, with the current one in view, and the keyboard reaches all of them',
  async () => {
    const { page, open } = sender
    for (const width of [320, 375, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      for (const path of ['sender', 'sender/limits', 'sender/rates']) {
        await open(path)
        expect([width, path, await tabsOf(page)]).toEqual([width, path, { rows: 1, isInView: true, scrolled: 0 }])
        expect(await widthOver(page, width)).toBeLessThanOrEqual(0)
      }
    }
    await page.setViewportSize({ width: 375, height: 800 })
    await open('sender/rates')
    await page.locator('.sections > a').last().focus()
    for (let tab = 1; tab < 9; tab += 1) await page.keyboard.press('Shift+Tab')
    const focused = page.locator('.sections > a:focus')
    expect(await focused.textContent()).toBe('From and appearance')
    await until(async () => ((await focused.boundingBox())?.x ?? -1) >= 0)
    const cut = page.locator('.sections > a', { hasText: 'Mail server' })
    expect((await cut.boundingBox())?.x).toBeLessThan(340)
    await page.mouse.click(350, ((await cut.boundingBox())?.y ?? 0) + 20)
    await page.waitForURL('**/sender/server')
    await page.setViewportSize({ width: 1280, height: 800 })
  },
  TRY_MS,
)

test(
  'the current tab is in view without scripts, too',
  async () => {
    const { page, open } = sender
    await page.setViewportSize({ width: 375, height: 800 })
    await page.route('**/*.js', (route) => route.abort())
    await open('sender/rates')
    expect(await tabsOf(page)).toEqual({ rows: 1, isInView: true, scrolled: 0 })
    await page.unroute('**/*.js')
    await page.setViewportSize({ width: 1280, height: 800 })
  },
  TRY_MS,
)

test(
  'the fields and buttons of the mail server have the whole width of a phone',
  async () => {
    const { page, open } = sender
    await page.setViewportSize({ width: 390, height: 800 })
    await open('sender/server')
    const widthOf = async (selector: string) => (await page.locator(selector).boundingBox())?.width ?? 0
    const width = await widthOf('form#server')
    expect(width).toBe(358)
    for (const field of [
      '#smtpHost',
      '#smtpSecurity',
      '#smtpUser',
      '#smtpPassword',
      'form#server > .buttons > .primary',
    ])
      expect([field, await widthOf(field)]).toEqual([field, width])
    expect(await widthOf('#smtpPort')).toBeLessThan(width / 2)
    expect(await widthOver(page, 390)).toBeLessThanOrEqual(0)
    await page.setViewportSize({ width: 1280, height: 800 })
  },
  TRY_MS,
)

test(
  'the sample email follows the fields without saving, and Back leaves the page',
  async () => {
    const { page, open } = sender
    await open('sender/limits')
    await open('sender')
    const sample = page.frameLocator('.screen.phone iframe').locator('body')
    const colouredIs = (is: boolean) => until(async () => (await sample.innerHTML()).includes(COLOUR) === is)
    await colouredIs(false)
    const heights = await page.evaluate(() => {
      const frame = document.querySelector<HTMLIFrameElement>('.screen.phone iframe')
      return [frame?.contentDocument?.documentElement.scrollHeight, frame?.clientHeight]
    })
    expect(heights[0]).toBe(heights[1] ?? -1)
    const { height = 0 } = (await page.locator('.screen.phone').boundingBox()) ?? {}
    expect(Math.abs(height - (heights[0] ?? 0))).toBeLessThanOrEqual(2)
    await page.fill('#colour', COLOUR)
    await page.waitForSelector('.screen.phone iframe[src*="%230a7d4f"]')
    await colouredIs(true)
    await page.fill('#colour', 'nonsense')
    await page.waitForSelector('.screen.phone iframe[src*="nonsense"]')
    await colouredIs(false)
    expect(await page.isVisible('#from [value=preview]')).toBe(false)
    await page.goBack()
    expect(new URL(page.url()).pathname).toEndWith('/sender/limits')
  },
  TRY_MS,
)
