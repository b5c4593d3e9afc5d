/** An open list of deliveries while emails go out. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import type { MessageContent, MessageStatus } from '../../src/store/message-types.ts'
import { EVENTS } from '../helper.ts'
import { openChromium, serveTest, signIn } from './chromium.ts'

/** Slow machines need several seconds. */
const TRY_MS = 120_000
const WAIT_MS = 10 * 60_000

let browser: Browser
beforeAll(async () => {
  browser = await openChromium()
})
afterAll(() => browser?.close())

async function openDeliveries() {
  const server = await serveTest()
  const { store } = server.parts()
  const app = await store.findAppByPublicId(server.first.appId)
  if (!app) throw new Error('no app')
  const save = async (name: string, status: MessageStatus, more: Partial<MessageContent> = {}, id?: number) => {
    const content = { trigger: { event: name }, mail: { subject: 'Ready', body: 'Hello' }, ...more }
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: server.clock.now() }
    const saved = await store.saveMessages({ ...by, drafts: [{ id: id ?? null, name, status, content }] })
    return ('saved' in saved && saved.saved[0]?.id) || 0
  }
  const send = async (event: string, email: string): Promise<void> => {
    const body = { app: server.first.appId, email: `${email}@example.com`, event, createContact: true }
    expect((await server.call('POST', EVENTS, { body })).status).toBe(202)
  }
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' })
  const complaints: string[] = []
  page.on('pageerror', (error) => void complaints.push(error.message))
  await signIn(page, server)
  const erase = (email: string) =>
    store.eraseContact({
      accountId: app.accountId,
      appId: app.id,
      actor: 'test',
      at: server.clock.now(),
      email: `${email}@example.com`,
    })
  return {
    page,
    erase,
    save,
    send,
    sendDue: () => server.sender().sendDue(),
    sendLater: async (): Promise<void> => {
      server.clock.tick(WAIT_MS)
      await server.sender().sendDue()
    },
    open: async (query: string): Promise<void> => {
      const live = page.waitForResponse((response) => response.url().includes('deliveries-live'))
      await page.goto(`${server.url}/apps/${server.first.appId}/deliveries${query}`)
      await live
    },
    close: async (): Promise<void> => {
      await page.close()
      await server.close()
      expect(complaints).toEqual([])
    },
  }
}

const WAITS = { wait: { minutes: 10 } } as const
/** Other pages have live parts too, such as Activation, where a sign-in ends. */
const isOfDelivery = (url: string): boolean => /\/dlv_\w+\/live$/.test(url)
const rowsOf = async (page: Page): Promise<string[]> => {
  const rows = await page.locator('.feed > li').allInnerTexts()
  return rows.map((text) => text.split('\n').slice(0, 3).join(' ').replaceAll('@example.com', ''))
}
const leadIs = (page: Page, words: string) => page.waitForSelector(`.lead >> text=${words}`)
/** Without the shifts that follow input, as Chromium reports them. */
const shiftOf = (page: Page) =>
  page.evaluate<number>(`new Promise((resolve) => {
    const observer = new PerformanceObserver((list) => {
      resolve(list.getEntries().reduce((sum, { value, hadRecentInput }) => sum + (hadRecentInput ? 0 : value), 0))
    })
    observer.observe({ type: 'layout-shift', buffered: true })
    setTimeout(() => resolve(0), 200)
  })`)

test(
  'rows that no longer match say what became of them, and go when nobody reads the list',
  async () => {
    const { page, save, send, sendLater, open, close } = await openDeliveries()
    await save('later', 'live', WAITS)
    await send('later', 'ada')
    await send('later', 'bob')
    await open('?state=pending')
    expect([await rowsOf(page), await page.isVisible('.empty')]).toEqual([
      ['bob later Waiting', 'ada later Waiting'],
      false,
    ])
    await page.hover('.feed > li >> nth=1')
    const before = await page.locator('.feed > li').last().boundingBox()
    await sendLater()
    await leadIs(page, 'No deliveries match.')
    await page.waitForSelector('.feed > .left >> nth=1')
    // longer than they would stay
    await page.waitForTimeout(3_500)
    expect(await rowsOf(page)).toEqual(['bob later Captured', 'ada later Captured'])
    expect([await page.locator('.feed > li').last().boundingBox(), await shiftOf(page)]).toEqual([before, 0])
    await page.hover('h1')
    await page.waitForSelector('.empty >> text=No deliveries match')
    expect([await rowsOf(page), await page.isVisible('.delivery-heads')]).toEqual([[], false])
    expect(await page.locator('.list-foot').innerText()).toBe('')
    await close()
  },
  TRY_MS,
)

test(
  'a row that matches now waits while someone reads, then is in its place, as after a reload',
  async () => {
    const { page, save, send, sendDue, sendLater, open, close } = await openDeliveries()
    const later = await save('later', 'live', WAITS)
    await save('now', 'live')
    await send('later', 'old')
    // kept from going out before the newer one is there
    await save('later', 'paused', WAITS, later)
    await send('now', 'new')
    await sendDue()
    await open('?state=kept')
    expect(await rowsOf(page)).toEqual(['new now Captured'])
    await page.focus('.feed a')
    await save('later', 'live', WAITS, later)
    await sendLater()
    await page.waitForSelector('[data-feed-show] >> text=Show 1 new delivery')
    await leadIs(page, '2 deliveries match')
    expect([await rowsOf(page), await page.locator('.feed a:focus').count()]).toEqual([['new now Captured'], 1])
    await page.click('[data-feed-show]', { delay: 100 })
    const shown = await rowsOf(page)
    expect(shown).toEqual(['new now Captured', 'old later Captured'])
    expect(await page.locator('.feed > li:last-child > a:focus').count()).toBe(1)
    expect(await page.locator('.list-foot').innerText()).toBe('Export 2 as CSV')
    await page.reload()
    expect(await rowsOf(page)).toEqual(shown)
    await close()
  },
  TRY_MS,
)

test(
  'new deliveries wait until the button above the list is pressed by keyboard',
  async () => {
    const { page, save, send, open, close } = await openDeliveries()
    await save('later', 'live', WAITS)
    await send('later', 'ada')
    await open('')
    await page.focus('.feed a')
    await send('later', 'bob')
    await page.waitForSelector('[data-feed-show] >> text=Show 1 new delivery')
    await page.focus('[data-feed-show]')
    // longer than a list that nobody reads takes to change
    await Bun.sleep(100)
    expect(await rowsOf(page)).toEqual(['ada later Waiting'])
    await page.keyboard.press('Enter')
    expect(await rowsOf(page)).toEqual(['bob later Waiting', 'ada later Waiting'])
    expect(await page.locator('.feed > li:first-child > a:focus').count()).toBe(1)
    await send('later', 'cyd')
    await page.waitForSelector('[data-feed-show] >> text=Show 1 new delivery')
    await page.focus('[data-feed-show]')
    await page.focus('[data-feed-pause]')
    await page.waitForSelector('.feed > li:nth-child(3)')
    await close()
  },
  TRY_MS,
)

test(
  'the first delivery appears on the empty page',
  async () => {
    const { page, save, send, open, close } = await openDeliveries()
    await open('')
    expect([await page.isVisible('.empty'), await page.isVisible('.delivery-heads')]).toEqual([true, false])
    await save('later', 'live', WAITS)
    await send('later', 'ada')
    await leadIs(page, '1 delivery, newest first.')
    expect([await rowsOf(page), await page.isVisible('.empty')]).toEqual([['ada later Waiting'], false])
    await close()
  },
  TRY_MS,
)

test(
  'an open delivery shows what became of it after Check and send now, and keeps the view of its email until then',
  async () => {
    const { page, save, send, sendDue, open, close } = await openDeliveries()
    await save('later', 'live', WAITS)
    await send('later', 'ada')
    await open('')
    const live = page.waitForResponse((response) => isOfDelivery(response.url()))
    await page.click('.feed a')
    await live
    await page.click('button:text("Check and send now")')
    await page.click('#send-now form button')
    await page.waitForSelector('.notice >> text=The email was queued')
    await page.evaluate('window.isSame = true')
    await page.click('label[for=view-text]')
    await send('later', 'bob')
    await page.waitForTimeout(1_500)
    expect([await page.isVisible('aside .badge >> text=Waiting'), await page.isChecked('#view-text')]).toEqual([
      true,
      true,
    ])
    await sendDue()
    await page.waitForSelector('aside .badge >> text=Captured')
    await leadIs(page, 'It was captured on')
    expect([
      await page.isVisible('button:text("Check and send now")'),
      await page.evaluate<boolean>('window.isSame'),
    ]).toEqual([false, true])
    await close()
  },
  TRY_MS,
)

test(
  "an open delivery says that its person was erased, and doesn't reconnect",
  async () => {
    const { page, save, send, erase, open, close } = await openDeliveries()
    await save('later', 'live', WAITS)
    for (const name of ['ada', 'bob']) await send('later', name)
    const reads: string[] = []
    page.on('request', (request) => {
      if (isOfDelivery(request.url())) reads.push(request.method())
    })
    const reason = page.locator('[data-stream-reason]')
    const openFirst = async (): Promise<void> => {
      await open('')
      await page.click('.feed a')
    }
    let live = page.waitForResponse((response) => isOfDelivery(response.url()))
    await openFirst()
    await live
    await erase('bob')
    await leadIs(page, 'This person was erased.')
    expect([
      await page.locator('[data-live]').allInnerTexts(),
      await page.isVisible('text="Check and send now"'),
    ]).toEqual([['This person was erased.', '', '', ''], false])
    expect([await page.title(), await page.innerText('h1')]).toEqual(['Email', 'Email'])
    // longer than the delay of a retry
    await page.waitForTimeout(3_500)
    expect(reads).toEqual(['GET'])
    reads.length = 0
    // erased while the page isn't connected
    await page.route('**/live', async (route) => {
      if (route.request().method() === 'GET' && reads.length === 1) await erase('ada')
      await route.continue()
    })
    live = page.waitForResponse((response) => isOfDelivery(response.url()))
    await openFirst()
    await live
    await reason.getByText('This page is no longer available.').waitFor()
    expect([await page.title(), await page.innerText('h1')]).toEqual(['Email', 'Email'])
    await page.waitForTimeout(3_500)
    expect(reads).toEqual(['GET', 'HEAD'])
    await close()
  },
  TRY_MS,
)
