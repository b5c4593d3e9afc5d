import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { BATCH } from '../helper.ts'
import { openChromium, openSignedIn, type Served, serveTest, type SignedIn, signIn } from './chromium.ts'

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
      const [[last], [line]] = [await boxes('label[for=view-text]'), await boxes('#preview .tabs')]
      expect(dark?.left).toBeGreaterThan(last?.right ?? 0)
      expect(dark?.right).toBe(line?.right)
      expect(await page.locator('#preview .tabs input').evaluateAll((all) => all.map(({ id }) => id))).toEqual([
        'view-phone',
        'view-desktop',
        'view-text',
        'view-dark',
      ])
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
    [1440, 600, '.page-head h1'],
    [320, 568, 'button[value=save]'],
    [320, 568, '[popovertarget=go-live]'],
  ])(
    'keeps its actions above an open part of the sentence, at %p by %p pixels: %s',
    async (width, height, selector) => {
      await page.setViewportSize({ width, height })
      await page.click('summary[id^="onlyIf"] >> nth=1')
      // the script scrolls the fields into view after the click
      await page.evaluate('new Promise((done) => setTimeout(done, 100))')
      const [fields] = await boxes('.part[open] .part-fields')
      // the part's fields begin just above it
      await page.evaluate(`scrollBy(0, ${(fields?.top ?? 0) - (width === 320 ? 64 : 10)})`)
      const [[shown], [under]] = [await boxes(selector), await boxes('.part[open] .part-fields')]
      const [left, top] = [(shown?.left ?? 0) + 20, ((shown?.top ?? 0) + (shown?.bottom ?? 0)) / 2]
      expect([(under?.left ?? left) < left, (under?.top ?? top) < top, (under?.bottom ?? 0) > top]).toEqual([
        true,
        true,
        true,
      ])
      const isOnTop = `document.elementFromPoint(${left}, ${top}).closest(${JSON.stringify(selector)}) !== null`
      expect(await page.evaluate(isOnTop)).toBe(true)
      await page.reload()
      await page.setViewportSize({ width: 1440, height: 900 })
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
    'names shortcuts only where there is room for a keyboard',
    async () => {
      const keys = page.locator('.keys')
      expect(await keys.isVisible()).toBe(true)
      await page.setViewportSize({ width: 375, height: 812 })
      expect(await keys.isVisible()).toBe(false)
      await page.setViewportSize({ width: 1440, height: 900 })
    },
    TRY_MS,
  )

  test.each([1440, 375])(
    'shows the part of the sentence that a link leads to, below the buttons, at %p pixels',
    async (width) => {
      await page.setViewportSize({ width, height: 900 })
      const path = page.url().split('#')[0] ?? ''
      await page.goto('about:blank')
      await page.goto(`${path}#holdback`)
      await page.waitForSelector('#holdback:focus')
      const [[save], [part]] = [await boxes('button[value=save]'), await boxes('.part[open] > summary')]
      expect(part?.top).toBeGreaterThan(save?.bottom ?? 900)
      await page.goto(path)
      await page.setViewportSize({ width: 1440, height: 900 })
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

describe('the editor of an app without a sender address and a mail server', () => {
  let setUp: SignedIn
  const boxOf = (selector: string) => setUp.page.locator(selector).first().boundingBox()

  beforeAll(async () => {
    const mail = { defaults: { smtpUrl: null, from: null } }
    setUp = await openSignedIn({ mail }, { viewport: { width: 1440, height: 900 } })
    await setUp.open('messages')
    await setUp.page.click('.message-name >> nth=0')
    await setUp.page.waitForURL('**/messages/msg_*')
  }, TRY_MS)
  afterAll(() => setUp?.close())

  test(
    'shows trigger, wait, rules, subject and 250 pixels of the email on the first screen, with what to do first',
    async () => {
      const parts = ['#trigger-says', '#wait-says', 'summary[id^="onlyIf"]', '#again-says', '[name="mail.subject"]']
      for (const part of [...parts, '#reach', '[name=newSender]', 'button[value=newSender]', '#test button']) {
        const { y = 900, height = 0 } = (await boxOf(part)) ?? {}
        expect([part, y > 0, y + height < 900]).toEqual([part, true, true])
      }
      const preview = await boxOf('.screen:not(.desktop)')
      expect(900 - (preview?.y ?? 900)).toBeGreaterThanOrEqual(250)
    },
    TRY_MS,
  )

  test(
    'keeps the other checks in one line, open once opened, until there is a sender address',
    async () => {
      const { page } = setUp
      const other = page.locator('#checklist li:has-text("Mail server")')
      expect(await other.isVisible()).toBe(false)
      await page.click('#checklist summary:has-text("5 more checks")')
      expect(await other.isVisible()).toBe(true)
      await page.fill('[name="mail.subject"]', '{{ event.headline')
      await page.waitForSelector('#checklist .wrong:has-text("does not end with }}")')
      expect(await other.isVisible()).toBe(true)
      await page.click('#checklist summary:has-text("4 more checks")')
      expect(await other.isVisible()).toBe(false)
      await page.click('button[value=newSender]')
      await page.waitForSelector('#checklist .done:has-text("Sender")')
      expect(await other.isVisible()).toBe(true)
      expect(await page.locator('#checklist summary').count()).toBe(0)
    },
    TRY_MS,
  )
})

describe('the editor of a live message with waiting emails', () => {
  let server: Served
  let live: Page
  const choice = () => live.locator('.waiting-choice')
  const colorOf = (): Promise<string> => choice().evaluate((label) => getComputedStyle(label).color)

  beforeAll(async () => {
    const browser = await openChromium()
    server = await serveTest()
    live = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    await signIn(live, server)
    await live.goto(`${server.url}/apps/${server.first.appId}/messages`)
    await live.click('.message-name >> nth=0')
    await live.click('[popovertarget=go-live]')
    await live.click('dialog:popover-open .primary')
    await live.waitForSelector('.page-head .badge.good')
    const event = { app: server.first.appId, event: 'results_ready', createContact: true }
    const events = ['ada', 'bob'].map((name) => ({ ...event, email: `${name}@example.com` }))
    await server.call('POST', BATCH, { body: { events } })
  }, TRY_MS)
  afterAll(async () => {
    await live?.close()
    await server?.close()
  })

  test.each([1440, 900, 375])(
    'offers them the version once something changes, and moves nothing while somebody types, at %p pixels',
    async (width) => {
      await live.setViewportSize({ width, height: 900 })
      await live.reload()
      const places = (): Promise<number[]> =>
        live.evaluate(
          `['.page-head h1', '.page-head .lead', '.sections', '.page-head button[value=save]'].map((one) => document.querySelector(one).getBoundingClientRect().top + scrollY)`,
        )
      const before = await places()
      expect(
        await live.locator('.page-head h1').evaluate((title) => title.getBoundingClientRect().width),
      ).toBeGreaterThan(180)
      expect(await choice().innerText()).toBe('Also use this version for the 2 waiting emails')
      const quiet = await colorOf()
      await live.fill('[name="mail.preheader"]', `Typed at ${width}`)
      expect(await colorOf()).not.toBe(quiet)
      await live.evaluate('scrollTo(0, 0)')
      expect(await places()).toEqual(before)
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
  const boxOfActions = (phone: Page) => phone.locator('.page-head .action').boundingBox()
  const choose = (phone: Page, name: string) =>
    phone.locator('.panes > :is(label, a):visible', { hasText: name }).click()
  const [WRITE, PREVIEW, CHECKS] = [
    [true, false, false],
    [false, true, false],
    [false, false, true],
  ]

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
        expect(await shown(page)).toEqual(CHECKS)
        await page.click('#checks a[href="#mail.subject"]')
        expect(await shown(page)).toEqual(WRITE)
        const subject = page.locator('[name="mail.subject"]')
        expect(await subject.evaluate((field) => field === document.activeElement)).toBe(true)
        const box = await subject.boundingBox()
        const actions = await boxOfActions(page)
        expect(box?.y).toBeGreaterThan((actions?.y ?? 0) + (actions?.height ?? 0))
        expect(box?.y).toBeLessThan(PHONE.height - TOUCH)
        await page.goBack()
        expect([new URL(page.url()).hash, await shown(page)]).toEqual(['#checks', CHECKS])
        await page.goBack()
        expect([new URL(page.url()).hash, await shown(page)]).toEqual(['', WRITE])
      },
      TRY_MS,
    )

    test(
      'shows only what is chosen after a link',
      async () => {
        const { page } = phone
        await phone.open('messages')
        const href = await page.getAttribute('.message-name >> nth=0', 'href')
        await page.goto(`${new URL(href ?? '', page.url()).href}#checks`)
        const seen = [await shown(page)]
        for (const name of ['Preview', 'Checks', 'Write', 'Checks']) {
          await choose(page, name)
          seen.push(await shown(page))
          const [bar, actions] = [await page.locator('.panes').boundingBox(), await boxOfActions(page)]
          expect(bar?.y).toBeGreaterThanOrEqual((actions?.y ?? 0) + (actions?.height ?? 0))
          expect(bar?.y).toBeLessThan(PHONE.height - TOUCH)
        }
        expect(seen).toEqual([CHECKS, PREVIEW, CHECKS, WRITE, CHECKS])
      },
      TRY_MS,
    )

    test(
      'keeps the chosen one when the message is saved',
      async () => {
        const { page } = phone
        await phone.open('messages')
        await page.click('.message-name >> nth=0')
        for (const [name, pane] of [
          ['Checks', CHECKS],
          ['Preview', PREVIEW],
          ['Write', WRITE],
        ] as const) {
          await choose(page, name)
          await page.click('button[value=save]')
          await page.waitForSelector('text=The message was saved')
          expect([name, await shown(page)]).toEqual([name, pane])
          await page.reload()
          expect(await page.locator('text=The message was saved').count()).toBe(0)
        }
      },
      TRY_MS,
    )
  })

  test(
    'works at an address that names nothing, and with a link to one',
    async () => {
      const phone = await openSignedIn({}, { viewport: PHONE })
      const { page } = phone
      const errors: string[] = []
      page.on('pageerror', (error) => void errors.push(error.message))
      await phone.open('messages/new#100%')
      await page.evaluate(`document.querySelector('h1').innerHTML = '<a href="#50%">Half</a>'`)
      await page.click('h1 a')
      await page.fill('[name="mail.subject"]', 'Half of it')
      await page.click('[data-insert] >> nth=0')
      expect(await page.inputValue('[name="mail.subject"]')).toStartWith('Half of it{{ ')
      expect(errors).toEqual([])
      await phone.close()
    },
    TRY_MS,
  )

  test.each([
    [320, 568],
    [375, 667],
  ])(
    'shows the fields of each part of the sentence below the actions, in a window of %p by %p pixels',
    async (width, height) => {
      const phone = await openSignedIn({}, { viewport: { width, height } })
      const { page } = phone
      await phone.open('messages')
      await page.click('.message-name >> nth=0')
      for (const part of await page.locator('#sentence details.part > summary').all()) {
        await part.click()
        const inView = page.evaluate(`new Promise((resolve) => {
          const boxOf = (one) => document.querySelector(one).getBoundingClientRect()
          const look = () => {
            const [bar, fields] = [boxOf('.page-head .action').bottom, boxOf('.part[open] > .part-fields')]
            resolve([fields.top >= bar, fields.bottom <= innerHeight])
          }
          requestAnimationFrame(() => requestAnimationFrame(look))
        })`)
        expect(await inView).toEqual([true, true])
        await page.keyboard.press('Escape')
      }
      await phone.close()
    },
    TRY_MS,
  )

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
      await choose(page, 'Preview')
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
