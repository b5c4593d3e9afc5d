/** How buttons, samples and descriptions fit their pages. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { BATCH } from '../helper.ts'
import { SAME_ORIGIN } from '../dashboard/pages.ts'
import { openChromium, PASSWORD, type Served, serveTest, signIn } from './chromium.ts'
import { linkOfTopic } from './walk-unsubscribe.ts'

const TRY_MS = 120_000
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

test(
  'samples in lists use the width of the documentation',
  async () => {
    await page.setViewportSize(DESK)
    await page.goto(`${server.url}/docs/start`)
    const cut = await page
      .locator('.docs li pre:visible')
      .evaluateAll((samples) => samples.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))
    expect(cut).toEqual([0, 0, 0])
  },
  TRY_MS,
)

/** Of fields beside each other: the tops of their labels, and of their controls. */
const topsOf = (page: Page) =>
  page.locator(':is(.pair, .pairs):visible').evaluateAll((groups) =>
    groups.map((group) => {
      const tops = [...group.querySelectorAll(':scope > .field')].map((field) =>
        [field.querySelector('label'), field.lastElementChild].map((part) => part?.getBoundingClientRect().top ?? 0),
      )
      return { pairs: new Set(tops.map(String)).size, tops: [0, 1].map((at) => new Set(tops.map((of) => of[at])).size) }
    }),
  )

test(
  'labels beside each other are level, and so are their fields, whatever hints and errors they have',
  async () => {
    await page.setViewportSize(DESK)
    for (const path of ['sender', 'sender/server', 'sender/limits', 'sender/texts', 'settings']) {
      await page.goto(pathOf(path))
      const groups = await topsOf(page)
      expect(groups.length).toBeGreaterThan(0)
      for (const { pairs, tops } of groups) expect([path, ...tops]).toEqual([path, pairs, pairs])
    }
    await page.goto(pathOf('sender'))
    await page.fill('#fromEmail', 'nobody')
    await page.click('form button.primary')
    await page.locator('#fromEmail-fault').waitFor()
    for (const { pairs, tops } of await topsOf(page)) expect(tops).toEqual([pairs, pairs])
  },
  TRY_MS,
)

test(
  'the description of an option is below its name',
  async () => {
    await page.setViewportSize(DESK)
    await page.goto(pathOf('keys/new'))
    const places = await page.locator('.option > span').evaluateAll((texts) =>
      texts.map((text) => {
        const [whole, hint] = [text.getBoundingClientRect(), text.querySelector('.hint')?.getBoundingClientRect()]
        return { indent: (hint?.left ?? 0) - whole.left, isBelow: (hint?.top ?? 0) - whole.top >= 16 }
      }),
    )
    expect(places).toEqual(Array(3).fill({ indent: 0, isBelow: true }))
  },
  TRY_MS,
)

test(
  'the buttons of a popup in the editor have space between them',
  async () => {
    await page.setViewportSize(DESK)
    await page.goto(pathOf('messages/new'))
    await page.locator('#sentence .part summary').first().click()
    await page.getByRole('button', { name: 'Only with certain properties' }).click()
    const left = await page.getByRole('button', { name: 'Add a condition' }).boundingBox()
    const right = await page.getByRole('button', { name: 'Add an alternative' }).boundingBox()
    expect((right?.x ?? 0) - (left?.x ?? 0) - (left?.width ?? 0)).toBe(8)
  },
  TRY_MS,
)

test(
  'on a phone, choices of several words in the delivery filter fill the width',
  async () => {
    await page.setViewportSize(PHONE)
    await page.goto(pathOf('deliveries?state=failed'))
    await page.locator('.filter-menu > summary').click()
    const widths = await page
      .locator('.filter-fields > :is(.field:has(:is(#email, #message, #state)), .button)')
      .evaluateAll((fields) => fields.map((field) => field.getBoundingClientRect().width))
    expect(widths).toEqual(Array(4).fill(332))
  },
  TRY_MS,
)

test(
  'on a phone, the button that ends a session is beside its last line',
  async () => {
    const other = await browser.newContext()
    const form = { email: 'first@owner.example', password: PASSWORD, next: '/' }
    await other.request.post(`${server.url}/sign-in`, { form, headers: SAME_ORIGIN })
    await other.close()
    await page.setViewportSize(PHONE)
    await page.goto(pathOf('you'))
    const button = await page.locator('td.action .button').boundingBox()
    const row = await page.locator('tr:has(td.action .button)').boundingBox()
    expect(button?.width).toBeLessThan((row?.width ?? 0) / 3)
  },
  TRY_MS,
)

test(
  'on a small phone, the buttons of a long confirmation can be reached',
  async () => {
    await page.setViewportSize({ width: 320, height: 568 })
    await page.goto(pathOf('messages'))
    await page.locator('.message-name').first().click()
    await page.waitForURL('**/messages/msg_*')
    await page.locator('[popovertarget=go-live]').first().click()
    const dialog = page.locator('#go-live')
    const [inner, outer] = await dialog.evaluate((one) => [one.scrollHeight, one.clientHeight])
    expect(inner).toBeGreaterThan(outer ?? 0)
    await dialog.locator('.close').click({ timeout: 5_000 })
    await dialog.waitFor({ state: 'hidden' })
  },
  TRY_MS,
)

test.each(['keys', 'members', 'suppressions'])(
  'on a small phone, %s needs no scrolling sideways',
  async (path) => {
    await fillLists()
    await page.setViewportSize({ width: 320, height: 568 })
    await page.goto(pathOf(path))
    const cells = page.locator('.table.side-action td')
    expect(await cells.count()).toBeGreaterThan(2)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  },
  TRY_MS,
)

test(
  'the source of an email scrolls, so that the page stays short',
  async () => {
    await page.setViewportSize(PHONE)
    await page.goto(pathOf('deliveries'))
    const height = await page.locator('main').evaluate((main) => {
      const source = document.createElement('pre')
      source.className = 'sheet raw'
      source.textContent = 'Header: value\n'.repeat(500)
      main.append(source)
      return source.getBoundingClientRect().height
    })
    expect(height).toBeLessThan(600)
  },
  TRY_MS,
)

async function fillLists(): Promise<void> {
  const { store } = server.parts()
  const [app] = await store.listApps(server.first.accountId)
  if (!app) throw new Error('no app')
  const [message] = await store.listMessages(app.id)
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: server.clock.now() }
  await store.setMessageStatus({ ...by, id: message?.id ?? 0, status: 'live' })
  await record('results_ready')
  await store.suppress({ appId: app.id, email: GRETE, reason: 'unsubscribed', at: server.clock.now() })
}

test.each(
  [
    'deliveries',
    'deliveries?state=skipped',
    'requests',
    'requests?kind=all',
    'people',
    'suppressions',
    'audit',
  ].flatMap((path) => [375, 360].map((width): [string, number] => [path, width])),
)(
  'the controls above the list of %s take at most two rows of a phone %p pixels wide',
  async (path, width) => {
    await fillLists()
    await page.setViewportSize({ width, height: 800 })
    await page.goto(pathOf(path))
    await page.locator('.feed-tools:not(:has(.said))').waitFor({ state: 'detached' })
    const rows = await page
      .locator('main :is(.list-tools, .finder, .filter-links) :is(a, button, summary, input):visible')
      .evaluateAll((controls) =>
        controls.map((control) => {
          const { top, bottom } = control.getBoundingClientRect()
          return Math.round((top + bottom) / 2)
        }),
      )
    expect(rows.length).toBeGreaterThan(2)
    expect([path, new Set(rows).size]).toEqual([path, Math.min(2, new Set(rows).size)])
  },
  TRY_MS,
)
