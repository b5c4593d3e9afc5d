import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { until } from '../waiting.ts'
import { openChromium, type Served, serveTest, signIn } from './chromium.ts'
import { seedEvents } from './seed.ts'

const TRY_MS = 120_000
const MOST_TABS = 300

let browser: Browser
let server: Served
let page: Page
beforeAll(async () => {
  browser = await openChromium()
})
afterAll(() => browser?.close())
beforeEach(async () => {
  server = await serveTest()
  page = await browser.newPage()
  await signIn(page, server)
})
afterEach(async () => {
  await page.close()
  await server.close()
})

const at = (name: string): string => `${server.url}/apps/${server.first.appId}/${name}`

/** Numbers all controls in reading order; of radio buttons, the selected one. */
const NUMBER = `(() => {
  const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
  const usable = all.filter((one) => one.checkVisibility() && !one.disabled && one.type !== 'hidden' &&
    !(one.type === 'radio' && !one.checked))
  usable.forEach((one, index) => (one.dataset.walked = index))
  return usable.length
})()`

/** The focused control: its number and whether it is visible; the label of drawn controls. */
const FOCUSED = `(() => {
  const one = document.activeElement
  const drawn = one.classList.contains('unseen') ? one.nextElementSibling : one
  const { outlineStyle, outlineWidth } = getComputedStyle(drawn)
  return { index: Number(one.dataset.walked ?? -1), isSeen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1,
    html: one.outerHTML.slice(0, 120), text: (one.innerText ?? '').replaceAll(/\\s+/g, ' ').trim() }
})()`

/** Waits for live updates, if any. */
const IS_CALM = `(document.querySelector('[data-live-state]')?.textContent ?? 'Refreshing') === 'Refreshing'`

type Focused = { index: number; isSeen: boolean; html: string; text: string }
const focused = () => page.evaluate<Focused>(FOCUSED)

/** Tabs to the control with this text. */
async function tabTo(words: string): Promise<void> {
  for (let count = 0; count < MOST_TABS; count += 1) {
    await page.keyboard.press('Tab')
    if ((await focused()).text === words) return
  }
  throw new Error(`Tab does not lead to "${words}"`)
}

/** Activates the control with this text and waits for the next page. */
async function enter(words: string, next: string): Promise<void> {
  await tabTo(words)
  await page.keyboard.press('Enter')
  await page.waitForSelector(next)
}

describe('by Tab', () => {
  test(
    'everything is reached in order and visible',
    async () => {
      await seedEvents(server)
      // its simulation adds a link
      await page.goto(at('overview'))
      await page.getByText('Nobody emailed them').waitFor()
      for (const name of [
        'overview',
        'activation',
        'events',
        'people',
        'messages/new',
        'keys',
        'keys/new',
        'settings',
        'members',
        'new-app',
        'you',
      ]) {
        await page.goto(at(name))
        // live parts were updated by then
        await until(
          () => page.evaluate<boolean>(IS_CALM),
          () => name,
        )
        // start at the top despite autofocus
        await page.evaluate('document.activeElement.blur()')
        const count = await page.evaluate<number>(NUMBER)
        const walked: Focused[] = []
        // one more, because the browser itself has focus in between
        for (let index = 0; index <= count; index += 1) {
          await page.keyboard.press('Tab')
          const one = await focused()
          if (one.index >= 0 && walked.length < count) walked.push(one)
        }
        const order = walked.map(({ index }) => index).toSorted((a, b) => a - b)
        expect([name, order]).toEqual([name, Array.from({ length: count }, (_, index) => index)])
        expect([name, walked.filter(({ isSeen }) => !isSeen).map(({ html }) => html)]).toEqual([name, []])
        // the cycle may start anywhere
        const breaks = walked.filter(({ index }, at) => at > 0 && index !== (walked[at - 1]?.index ?? 0) + 1)
        expect([name, breaks.length <= 1]).toEqual([name, true])
      }
    },
    TRY_MS,
  )

  test(
    'a part of the sentence of a message is opened, changed and closed, and a rule added and removed',
    async () => {
      await page.goto(at('messages/new'))
      await tabTo('results_ready arrives')
      await page.keyboard.press('Enter')
      await page.focus('#trigger\\.event')
      await page.keyboard.press('ControlOrMeta+a')
      await page.keyboard.type('paid')
      await page.waitForSelector('#trigger-says:has-text("paid arrives")')
      await page.keyboard.press('Escape')
      expect((await focused()).text).toBe('paid arrives')
      await tabTo('Add a rule')
      await page.keyboard.press('Enter')
      await tabTo('They have a tag')
      await page.keyboard.press('Enter')
      await page.waitForSelector('[name="onlyIf[0].has"]:focus')
      await page.keyboard.type('vip')
      await page.waitForSelector('.sentence:has-text("they have the tag “vip”")')
      await page.keyboard.press('Enter')
      expect((await focused()).text).toBe('they have the tag “vip”')
      await tabTo('Remove: they have the tag “vip”')
      await page.keyboard.press('Enter')
      await page.waitForSelector('.rule-part', { state: 'detached' })
    },
    TRY_MS,
  )

  test(
    'a key is made, stored and revoked, and a member invited',
    async () => {
      await enter('API keys', 'h1 :text-is("API keys")')
      await enter('Create a key', '#name:focus')
      await page.keyboard.type('Production')
      await enter('Create the key', '#api-key')
      await enter('I have stored them', 'h1 :text-is("API keys")')
      await enter('Revoke Production', 'dialog:popover-open')
      await enter('Revoke the key', 'text=The key was revoked.')
      await enter('Members', 'h1 :text-is("Members")')
      await enter('Invite a member', '#email:focus')
      await page.keyboard.type('eve@example.com')
      await page.keyboard.press('Tab')
      await page.keyboard.press('ArrowDown')
      await enter('Create the link', 'text=Send it only to eve@example.com')
      await enter('I have sent it', 'tr:has-text("eve@example.com") >> text=Viewer')
    },
    TRY_MS,
  )

  test(
    'the list of apps closes when the focus leaves it, and with Escape',
    async () => {
      const isOpen = () => page.evaluate<boolean>("document.querySelector('.switcher').open")
      await page.goto(at('keys'))
      await tabTo('first Account first')
      await page.keyboard.press('Enter')
      await tabTo('New app')
      expect(await isOpen()).toBe(true)
      await page.keyboard.press('Tab')
      expect([(await focused()).text, await isOpen()]).toEqual(['Activation', false])
      await page.keyboard.press('Shift+Tab')
      await page.keyboard.press('Enter')
      expect(await isOpen()).toBe(true)
      await page.keyboard.press('Shift+Tab')
      expect([(await focused()).text, await isOpen()]).toEqual(['Skip to content', false])
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await tabTo('New app')
      await page.keyboard.press('Escape')
      expect([(await focused()).text, await isOpen()]).toEqual(['first Account first', false])
    },
    TRY_MS,
  )

  test(
    'the first Tab skips to the content',
    async () => {
      await page.goto(at('keys'))
      await page.keyboard.press('Tab')
      expect((await focused()).text).toBe('Skip to content')
      await page.keyboard.press('Enter')
      await tabTo('Create a key')
      expect(await page.evaluate<string>('location.hash')).toBe('#main')
    },
    TRY_MS,
  )
})
