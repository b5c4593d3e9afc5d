import { afterAll, beforeAll, expect, test } from 'bun:test'
import { until } from '../waiting.ts'
import { openSignedIn, type SignedIn, widthOver } from './chromium.ts'

const TRY_MS = 120_000
const COLOUR = '#0a7d4f'
let sender: SignedIn

beforeAll(async () => void (sender = await openSignedIn()), TRY_MS)
afterAll(() => sender?.close())

test(
  'the current tab is in view on a phone',
  async () => {
    const { page, open } = sender
    await page.setViewportSize({ width: 375, height: 800 })
    await open('sender/limits')
    const box = await page.locator('.sections [aria-current]').boundingBox()
    expect([box === null, (box?.x ?? -1) >= 0, (box?.x ?? 0) + (box?.width ?? 999) <= 375]).toEqual([false, true, true])
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
