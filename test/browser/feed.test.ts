import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { MOST_WATCHERS } from '../../src/events/feed.ts'
import { EVENTS } from '../helper.ts'
import { openChromium, serveTest, signIn } from './chromium.ts'
import { HOSTILE, SLY } from './seed.ts'

/** Slow machines need several seconds. */
const TRY_MS = 120_000

let browser: Browser
beforeAll(async () => {
  browser = await openChromium()
})
afterAll(() => browser?.close())

async function openFeed(query = '', events: string[] = []) {
  const server = await serveTest()
  const context = await browser.newContext()
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => void complaints.push(error.message))
  const send = async (event: string, properties: object = {}): Promise<void> => {
    const body = { app: server.first.appId, email: 'ada@example.com', event, properties, createContact: true }
    expect((await server.call('POST', EVENTS, { body })).status).toBe(202)
  }
  for (const event of events) await send(event)
  await signIn(page, server)
  await page.goto(`${server.url}/apps/${server.first.appId}/events${query}`)
  await stateIs(page, 'Refreshing')
  const close = async () => {
    await context.close()
    await server.close()
    expect(complaints).toEqual([])
  }
  return { server, page, send, close }
}

const namesOf = async (page: Page): Promise<string[]> =>
  (await page.locator('.feed .what').allTextContents()).map((text) => text.trim())
const stateIs = (page: Page, word: string) => page.waitForSelector(`.said[data-feed-state] >> text=${word}`)
const comes = (page: Page, name: string) => page.waitForSelector(`.feed .what >> text=${name}`)
const waits = (page: Page, words: string) => page.waitForSelector(`[data-feed-show] >> text=${words}`)

describe('the feed', () => {
  test(
    'shows the first event in place of the empty state, and hostile text as text',
    async () => {
      const { page, send, close } = await openFeed()
      expect(await page.isVisible('.feed-section .empty')).toBe(true)
      await send('first', { [HOSTILE]: SLY })
      await comes(page, 'first')
      expect([await namesOf(page), await page.isVisible('.feed-section .empty')]).toEqual([['first'], false])
      await page.waitForSelector('.lead >> text=One event arrived in the last 48 hours.')
      expect(await page.textContent('.feed .preview')).toStartWith(`${HOSTILE}: invoiceU+202Egnp.exe`)
      expect(await page.locator('.feed script, .feed img').count()).toBe(0)
      await close()
    },
    TRY_MS,
  )

  test(
    'holds new rows back while someone reads, and shows them afterwards',
    async () => {
      const { page, send, close } = await openFeed('', ['old'])
      const placeOf = async () => (await page.locator('.feed > li').last().boundingBox())?.y
      await page.hover('.feed .who')
      const before = await placeOf()
      await send('second')
      await send('third')
      await waits(page, 'Show 2 new events')
      expect([await namesOf(page), await placeOf()]).toEqual([['old'], before])
      await page.hover('h1')
      await comes(page, 'third')
      expect(await namesOf(page)).toEqual(['third', 'second', 'old'])
      expect(await page.isVisible('[data-feed-show]')).toBe(false)
      await close()
    },
    TRY_MS,
  )

  test(
    'pauses and resumes; the button shows new events, and gets the focus',
    async () => {
      const { page, send, close } = await openFeed('', ['old'])
      await page.click('[data-feed-pause]')
      await stateIs(page, 'Paused')
      await send('second')
      await waits(page, 'Show 1 new event')
      expect(await namesOf(page)).toEqual(['old'])
      await page.click('[data-feed-show]')
      expect(await namesOf(page)).toEqual(['second', 'old'])
      expect(await page.evaluate<string>('document.activeElement.textContent.trim()')).toBe('second')
      await page.click('[data-feed-pause]')
      await stateIs(page, 'Refreshing')
      await page.hover('h1')
      await send('third')
      await comes(page, 'third')
      await close()
    },
    TRY_MS,
  )

  test(
    'updates the summary, the names and the chart',
    async () => {
      const { page, send, close } = await openFeed('', ['old'])
      await send('new')
      await page.waitForSelector('.lead >> text=2 events arrived in the last 48 hours.')
      expect(await page.locator('.names .number').allTextContents()).toEqual(['2', '1', '1'])
      expect(await page.textContent('[data-chart-value]')).toBe('Peak: 2')
      expect(await page.locator('.chart tbody tr').last().locator('data').getAttribute('value')).toBe('2')
      await page.hover('.chart .drawing', { position: { x: 1, y: 1 } })
      expect(await page.textContent('[data-chart-value]')).toMatch(/: 0$/)
      expect(await page.locator('.cursor.shown').count()).toBe(1)
      await page.hover('h1')
      expect(await page.textContent('[data-chart-value]')).toBe('Peak: 2')
      await close()
    },
    TRY_MS,
  )

  test(
    'follows one name only',
    async () => {
      const { page, send, close } = await openFeed('?event=wanted', ['other'])
      await send('other')
      await send('wanted')
      await comes(page, 'wanted')
      await send('other')
      await send('wanted', { count: 2 })
      await page.waitForSelector('.feed > li >> nth=1')
      expect(await namesOf(page)).toEqual(['wanted', 'wanted'])
      await close()
    },
    TRY_MS,
  )

  test(
    'reconnects after the server restarts, with missed events and no duplicates',
    async () => {
      const { server, page, send, close } = await openFeed('', ['before'])
      await server.stop()
      await stateIs(page, 'Reconnecting')
      await server.start()
      await send('between')
      await comes(page, 'between')
      await stateIs(page, 'Refreshing')
      await send('after')
      await comes(page, 'after')
      expect(await namesOf(page)).toEqual(['after', 'between', 'before'])
      await close()
    },
    TRY_MS,
  )

  test(
    'says so when the session has ended',
    async () => {
      const { server, page, send, close } = await openFeed()
      await page.context().request.post(`${server.url}/sign-out`, { headers: { 'Sec-Fetch-Site': 'same-origin' } })
      await send('late')
      await stateIs(page, 'Signed out')
      expect(await namesOf(page)).toEqual([])
      await close()
    },
    TRY_MS,
  )

  test(
    'stops when newer pages of the member replace it, and says why',
    async () => {
      const { server, page, close } = await openFeed()
      const cookies = await page.context().cookies()
      const Cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
      const url = `${server.url}/apps/${server.first.appId}/activation/live`
      const newer = Array.from({ length: MOST_WATCHERS.member }, () => fetch(url, { headers: { Cookie } }))
      await stateIs(page, 'Stopped')
      expect(await page.textContent('[data-stream-reason]')).toStartWith('Too many live pages are open')
      for (const one of newer) await (await one).body?.cancel()
      await page.reload()
      await stateIs(page, 'Refreshing')
      expect(await page.isVisible('[data-stream-reason]')).toBe(false)
      await close()
    },
    TRY_MS,
  )
})
