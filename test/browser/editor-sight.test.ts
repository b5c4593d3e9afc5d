import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openSignedIn, type SignedIn } from './chromium.ts'

const TRY_MS = 30_000

let editor: SignedIn
let page: Page

beforeAll(async () => {
  // no sender address, so that there is a problem to show
  const nobody = { mail: { defaults: { smtpUrl: null, from: null } } }
  editor = await openSignedIn(nobody, { viewport: { width: 1440, height: 900 } })
  page = editor.page
  await editor.open('messages')
  await page.click('.person >> nth=0')
}, TRY_MS)
afterAll(() => editor?.close())

type Box = { left: number; right: number; top: number; bottom: number }
const boxes = (selector: string): Promise<Box[]> =>
  page.evaluate(
    `Array.from(document.querySelectorAll(${JSON.stringify(selector)}), (one) => one.getBoundingClientRect().toJSON())`,
  )

describe('the editor', () => {
  test.each([900, 800])(
    'shows the email and the test form without scrolling, in a window %d high',
    async (height) => {
      await page.setViewportSize({ width: 1440, height })
      await page.evaluate('scrollTo(0, 400)')
      const [button] = await boxes('#test button')
      const [aside] = await boxes('.editor > aside')
      expect(button?.bottom).toBeLessThanOrEqual(Math.min(aside?.bottom ?? 0, height))
      expect(await page.evaluate('document.querySelector(".editor > aside").scrollTop')).toBe(0)
      await page.setViewportSize({ width: 1440, height: 900 })
    },
    TRY_MS,
  )

  test(
    'shows the result of a test email',
    async () => {
      await page.locator('#test button').scrollIntoViewIfNeeded()
      await page.click('#test button')
      await page.waitForSelector('#test .notice')
      const [[notice], [aside]] = [await boxes('#test .notice'), await boxes('.editor > aside')]
      expect(notice?.bottom).toBeLessThanOrEqual(Math.min(aside?.bottom ?? 0, 900))
      expect(notice?.top).toBeGreaterThanOrEqual(Math.max(aside?.top ?? 900, 0))
    },
    TRY_MS,
  )

  test(
    'separates the buttons of a dialog',
    async () => {
      await page.click('[popovertarget=go-live]')
      await page.waitForSelector('dialog:popover-open')
      const buttons = await boxes('dialog:popover-open .button')
      expect(buttons).toHaveLength(2)
      const gaps = buttons.slice(1).map(({ left }, index) => Math.round(left - (buttons[index]?.right ?? 0)))
      expect(gaps).toEqual([8])
      expect(new Set(buttons.map(({ top }) => Math.round(top))).size).toBe(1)
    },
    TRY_MS,
  )
})
