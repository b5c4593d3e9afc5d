import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openSignedIn, type SignedIn } from './chromium.ts'

const TRY_MS = 120_000

let editor: SignedIn
let page: Page

beforeAll(async () => {
  editor = await openSignedIn({}, { viewport: { width: 1440, height: 900 } })
  page = editor.page
  await editor.open('messages')
  await page.click('.message-name >> nth=0')
  await page.waitForURL('**/messages/msg_*')
}, TRY_MS)
afterAll(() => editor?.close())

type Box = { left: number; right: number; top: number; bottom: number }
const boxes = (selector: string): Promise<Box[]> =>
  page.evaluate(
    `Array.from(document.querySelectorAll(${JSON.stringify(selector)}), (one) => one.getBoundingClientRect().toJSON())`,
  )

const heightOf = (): Promise<number> => page.evaluate('document.documentElement.scrollHeight')
const countElements = (): Promise<number> => page.evaluate('document.querySelectorAll("*").length')

describe('the editor', () => {
  test(
    'shows trigger, wait, rules, subject and preview on the first screen, on one page of 2,000 pixels',
    async () => {
      const parts = ['#trigger-says', '#wait-says', '#again-says', '.add-rule', '[name="mail.subject"]']
      for (const part of [...parts, '#reach', '#test button']) {
        const [box] = await boxes(part)
        expect([part, (box?.top ?? 0) > 0, (box?.bottom ?? 900) < 900]).toEqual([part, true, true])
      }
      expect((await boxes('summary[id^="onlyIf"]')).map(({ bottom }) => bottom < 900)).toEqual([true, true])
      const [preview] = await boxes('.screen:not(.desktop)')
      expect(900 - (preview?.top ?? 900)).toBeGreaterThan(160)
      expect(await heightOf()).toBeLessThanOrEqual(2_000)
      expect(await countElements()).toBeLessThan(900)
    },
    TRY_MS,
  )

  test.each([
    ['phone', 1440, 373],
    ['desktop', 1440, 640],
    ['phone', 375, 341],
    ['desktop', 375, 640],
  ])(
    'previews the email on a %s at true scale, in a window of %p pixels',
    async (kind, width, emailWidth) => {
      await page.setViewportSize({ width, height: 900 })
      if (width === 375) await page.click('label[for=pane-preview]')
      await page.click(`label[for=view-${kind}]`)
      const [box] = await boxes(`.screen.${kind} iframe`)
      const laidOut = await page.locator(`.screen.${kind} iframe`).evaluate((frame) => frame.clientWidth)
      expect([laidOut, (box?.right ?? 0) - (box?.left ?? 0)]).toEqual([emailWidth, emailWidth])
      const hidden = await page.locator(`.screen.${kind}`).evaluate((screen) => screen.scrollWidth - screen.clientWidth)
      expect(hidden).toBe(width === 375 && kind === 'desktop' ? 640 - 341 : 0)
      await page.click('label[for=view-phone]')
      await page.setViewportSize({ width: 1440, height: 900 })
    },
    TRY_MS,
  )

  test(
    'has the choice of a dark email in the line of the views',
    async () => {
      const [[dark], [view]] = [await boxes('#preview .dark-mail'), await boxes('label[for=view-phone]')]
      expect([dark?.top, dark?.bottom]).toEqual([view?.top, view?.bottom])
      await page.click('#preview .dark-mail')
      expect(await page.isChecked('#view-dark')).toBe(true)
      await page.click('#preview .dark-mail')
    },
    TRY_MS,
  )

  test(
    'keeps its actions in view',
    async () => {
      await page.evaluate('scrollTo(0, 5000)')
      for (const one of ['button[value=save]', '[popovertarget=go-live]']) {
        const [button] = await boxes(one)
        expect([one, (button?.top ?? -1) >= 0, (button?.bottom ?? 900) < 100]).toEqual([one, true, true])
      }
      await page.evaluate('scrollTo(0, 0)')
    },
    TRY_MS,
  )

  test.each([
    [1440, 140, 40],
    [375, 300, 290],
  ])(
    'keeps its actions and tabs at the top with a long name, at %p pixels',
    async (width, tabsTop, actionTop) => {
      const name = 'The results are ready, and the person left before their pictures were finished'
      await page.evaluate(`document.querySelector('[name="name"]').value = ${JSON.stringify(name)}`)
      await page.click('button[value=save]')
      await page.waitForSelector(`h1[title="${name}"]`)
      // without the flash message
      await page.reload()
      await page.setViewportSize({ width, height: 800 })
      const [[save], [tabs]] = [await boxes('button[value=save]'), await boxes('.sections')]
      expect(save?.top).toBeLessThan(actionTop)
      expect(tabs?.top).toBeLessThan(tabsTop)
      await page.setViewportSize({ width: 1440, height: 900 })
    },
    TRY_MS,
  )

  test(
    'shows the result of a test email',
    async () => {
      await page.click('#test button')
      await page.waitForSelector('#test .notice')
      const [notice] = await boxes('#test .notice')
      expect(notice?.bottom).toBeLessThanOrEqual(900)
      expect(notice?.top).toBeGreaterThanOrEqual(0)
      expect(await heightOf()).toBeLessThanOrEqual(2_000)
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

describe('the editor on a phone', () => {
  const PHONE = { width: 375, height: 812 }
  const TOUCH = 44
  /** What is seen of the text, the preview and the checks. */
  const shown = (phone: Page) =>
    phone.evaluate<boolean[]>(
      `['[name="mail.body"]', '.screen.phone', '#test button'].map((one) => document.querySelector(one).checkVisibility())`,
    )
  const topOf = (phone: Page, selector: string): Promise<number> =>
    phone.evaluate(`document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect().top + scrollY`)

  describe.each([
    ['with', true],
    ['without', false],
  ])('%s scripts', (_, javaScriptEnabled) => {
    let phone: SignedIn
    beforeAll(async () => {
      phone = await openSignedIn({}, { viewport: PHONE, javaScriptEnabled })
      await phone.open('messages')
      await phone.page.click('.message-name >> nth=0')
      await phone.page.waitForURL('**/messages/msg_*')
    }, TRY_MS)
    afterAll(() => phone?.close())

    test(
      'has the subject on the first screen, and the preview and the checks one tap away in its place',
      async () => {
        const { page } = phone
        const tall = (): Promise<number> => page.evaluate('document.documentElement.scrollHeight')
        expect(await topOf(page, '[name="mail.subject"]')).toBeLessThan(PHONE.height - TOUCH)
        expect(await shown(page)).toEqual([true, false, false])
        expect(await tall()).toBeLessThanOrEqual(2_000)
        await page.click('label[for=pane-preview]')
        expect(await shown(page)).toEqual([false, true, false])
        expect(await topOf(page, '#preview')).toBeLessThan(PHONE.height - TOUCH)
        expect(await tall()).toBeLessThanOrEqual(2_000)
        await page.click('label[for=pane-checks]')
        expect(await shown(page)).toEqual([false, false, true])
        await page.click('label[for=pane-write]')
        const targets = await page
          .locator(':is(.panes > label, .sentence summary, .sentence .remove, .reach > .button):visible')
          .evaluateAll((all) => all.map((one) => Math.round((one.getClientRects()[0] as DOMRect).height)))
        expect(targets.length).toBeGreaterThan(8)
        expect(Math.min(...targets)).toBeGreaterThanOrEqual(TOUCH)
      },
      TRY_MS,
    )

    test(
      'shows what a link leads to',
      async () => {
        const { page } = phone
        await phone.open('messages/new')
        await page.click('button[value=save]')
        await page.click('#refused a')
        await page.click('#checks a[href="#mail.subject"]')
        const subject = page.locator('[name="mail.subject"]')
        await subject.waitFor()
        const box = await subject.boundingBox()
        const actions = await page.locator('.page-head .action').boundingBox()
        expect(box?.y).toBeGreaterThan((actions?.y ?? 0) + (actions?.height ?? 0))
        expect(box?.y).toBeLessThan(PHONE.height - TOUCH)
      },
      TRY_MS,
    )
  })

  test(
    'counts the open checks while somebody types',
    async () => {
      const phone = await openSignedIn({}, { viewport: PHONE })
      const { page } = phone
      await phone.open('messages')
      await page.click('.message-name >> nth=0')
      const checks = page.locator('label[for=pane-checks]')
      await checks.getByText('Checks (4)').waitFor()
      await page.fill('[name="mail.subject"]', '{{ event.headline')
      await checks.getByText('Checks (5)').waitFor()
      await phone.close()
    },
    TRY_MS,
  )

  test(
    'keeps the chosen one when a button opens the page again, and shows the fields if one is wrong',
    async () => {
      const phone = await openSignedIn({}, { viewport: PHONE, javaScriptEnabled: false })
      const { page } = phone
      await phone.open('messages')
      await page.click('.message-name >> nth=0')
      await page.click('label[for=pane-checks]')
      await page.click('#test button')
      await page.waitForSelector('#test .notice')
      expect(await shown(page)).toEqual([false, false, true])
      await page.click('label[for=pane-preview]')
      await page.click('button[value=preview]:visible')
      expect(await shown(page)).toEqual([false, true, false])
      await phone.open('messages/new')
      await page.click('label[for=pane-preview]')
      await page.click('button[value=save]')
      await page.waitForSelector('#refused a')
      expect(await shown(page)).toEqual([true, false, false])
      await phone.close()
    },
    TRY_MS,
  )
})
