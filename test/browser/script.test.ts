import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { createApp } from '../../src/accounts/accounts.ts'
import { until } from '../waiting.ts'
import { DAY } from '../durations.ts'
import { openChromium, PASSWORD, type Served, serveTest, signIn } from './chromium.ts'
import { seedDays, seedEvents, seedNames } from './seed.ts'

/** Slow machines need a second. */
const TRY_MS = 120_000

let browser: Browser
let server: Served
beforeAll(async () => {
  browser = await openChromium()
})
afterAll(() => browser?.close())

/** Of a page with its scripts and styles. */
const MOST_BYTES = 60 * 1024

/** What shifted, and the bytes that came over the wire. */
const measureLoading = (page: Page) =>
  page.evaluate<{ moved: string[]; bytes: number }>(`new Promise((resolve) => {
    const bytes = performance.getEntriesByType('resource')
      .filter(({ name }) => name.includes('/assets/'))
      .concat(performance.getEntriesByType('navigation')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)
    const moved = []
    const say = ({ node, previousRect: before, currentRect: after }) =>
      [node?.nodeName, node?.className, node?.textContent?.slice(0, 40), before.x, before.y, after.x, after.y].join(' ')
    new PerformanceObserver((list) => list.getEntries().forEach(({ sources }) => moved.push(...sources.map(say))))
      .observe({ type: 'layout-shift', buffered: true })
    setTimeout(() => resolve({ moved, bytes }), 300)
  })`)

/** The pages of a server, of which the browser gets all up to the first `mark` long enough before the rest to show it. */
const serveInParts = ({ url }: Served, mark: string) =>
  Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const answer = await fetch(`${url}${pathname}${search}`, { headers: request.headers })
      const text = await answer.text()
      const cut = text.indexOf(mark) + mark.length
      if (cut < mark.length) return new Response(text, { headers: { 'Content-Type': typeOf(answer) } })
      const parts = new ReadableStream<string>({
        async start(controller) {
          controller.enqueue(text.slice(0, cut))
          await Bun.sleep(500)
          controller.enqueue(text.slice(cut))
          controller.close()
        },
      })
      return new Response(parts, { headers: { 'Content-Type': typeOf(answer) } })
    },
  })

const typeOf = ({ headers }: Response): string => headers.get('content-type') ?? ''

describe('with script', () => {
  const open = async (options: BrowserContextOptions = {}) => {
    server = await serveTest()
    const context = await browser.newContext(options)
    const page = await context.newPage()
    await signIn(page, server)
    const close = async () => {
      await context.close()
      await server.close()
    }
    return { context, page, close }
  }

  test(
    'copies a value, and the button says so',
    async () => {
      const { page, close } = await open({
        permissions: ['clipboard-read', 'clipboard-write'],
      })
      await page.click('[data-copy=app-id]')
      await page.waitForSelector('text=Copied')
      expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(server.first.appId)
      await close()
    },
    TRY_MS,
  )

  test(
    'a page loads without layout shift, with at most 60 KB in all',
    async () => {
      const { page, close } = await open({
        viewport: { width: 1440, height: 900 },
      })
      await seedEvents(server)
      for (const view of ['events', 'events?range=weeks&event=results_ready', 'people', 'messages/new']) {
        await page.goto(`${server.url}/apps/${server.first.appId}/${view}`)
        if (view.startsWith('events')) await page.waitForSelector('.plot .area')
        const { moved, bytes } = await measureLoading(page)
        expect(moved).toEqual([])
        expect(bytes).toBeGreaterThan(5_000)
        expect(bytes).toBeLessThan(MOST_BYTES)
      }
      await close()
    },
    TRY_MS,
  )

  test(
    'and nothing moves while its content arrives in two parts',
    async () => {
      const { page, close } = await open()
      await seedEvents(server)
      const path = `/apps/${server.first.appId}/events?range=weeks`
      const slow = serveInParts(server, '<div class="feed-tools">')
      await page.goto(`http://localhost:${slow.port}${path}`)
      const { moved, bytes } = await measureLoading(page)
      expect(moved).toEqual([])
      expect(bytes).toBeGreaterThan(5_000)
      await slow.stop(true)
      await close()
    },
    TRY_MS,
  )

  test(
    'with lists of 100 names and over long ranges, too',
    async () => {
      const { page, close } = await open({
        viewport: { width: 1440, height: 900 },
      })
      await seedEvents(server)
      await seedNames(server)
      const results = await seedDays(server, 120)
      const app = `${server.url}/apps/${server.first.appId}`
      const day = (ago: number) => new Date(server.clock.now() - ago * DAY).toISOString().slice(0, 10)
      const views = [
        'events?range=weeks',
        ...['status=subscribed', 'sort=name', 'emails=returned'].map((query) => `people?${query}`),
        ...['range=90', `from=${day(72)}&to=${day(0)}`, `from=${day(365)}&to=${day(0)}`].map(
          (query) => `${results}?${query}`,
        ),
      ]
      const heavy: [string, number][] = []
      for (const view of views) {
        await page.goto(`${app}/${view}`)
        const { moved, bytes } = await measureLoading(page)
        expect([view, moved]).toEqual([view, []])
        if (bytes >= MOST_BYTES) heavy.push([view, bytes])
      }
      expect(heavy).toEqual([])
      await close()
    },
    TRY_MS,
  )

  test(
    'the theme changes at once, persists, and keeps input',
    async () => {
      const { page, close } = await open({ colorScheme: 'light' })
      const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      await page.goto(`${server.url}/apps/${server.first.appId}/keys/new`)
      await page.fill('#name', 'typed')
      const light = await ground()
      const saved = page.waitForResponse('**/theme')
      await page.click('.themes [value=dark]')
      const dark = await ground()
      expect([light === dark, await page.inputValue('#name')]).toEqual([false, 'typed'])
      await saved
      await page.reload()
      expect(await ground()).toBe(dark)
      expect(await page.getAttribute('.themes [value=dark]', 'aria-pressed')).toBe('true')
      await close()
    },
    TRY_MS,
  )

  test(
    'the list of apps closes with Escape and a click outside',
    async () => {
      const { page, close } = await open()
      for (const leave of [() => page.keyboard.press('Escape'), () => page.click('h1')]) {
        await page.click('.switcher > summary')
        expect(await page.isVisible('.menu')).toBe(true)
        await leave()
        expect(await page.isVisible('.menu')).toBe(false)
      }
      await close()
    },
    TRY_MS,
  )

  test(
    'a long list of apps opens at the current one, and Tab reaches the end',
    async () => {
      const { page, close } = await open()
      const maker = {
        store: server.parts().store,
        now: server.clock.now(),
        actor: 'test',
      }
      const add = (name: string) =>
        createApp(maker, server.first.accountId, {
          name,
          domains: [],
          home: null,
        })
      const made: unknown[] = []
      for (let index = 0; index < 60; index += 1) made.push(await add(`App ${index}`))
      const { appId } = made[40] as { appId: string }
      await page.goto(`${server.url}/apps/${appId}/you`)
      await page.focus('.switcher > summary')
      await page.keyboard.press('Enter')
      const placeOf = () => page.evaluate<number>("document.querySelector('.account-apps').scrollTop")
      await until(
        async () => (await placeOf()) > 0,
        () => 'no scrolling',
      )
      const isInSight = (selector: string) =>
        page.evaluate<boolean>(`(() => {
          const [all, one] = ['.account-apps', '${selector}'].map((name) => document.querySelector(name).getBoundingClientRect())
          return one.top >= all.top && one.bottom <= all.bottom
        })()`)
      expect(await isInSight('.account-apps [aria-current]')).toBe(true)
      for (let index = 0; index < 61; index += 1) await page.keyboard.press('Tab')
      expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('App 59')
      expect(await isInSight('.account-apps li:last-child a')).toBe(true)
      await close()
    },
    TRY_MS,
  )

  test(
    'sign-in and dialogs work by keyboard alone',
    async () => {
      const { page, context, close } = await open()
      await context.clearCookies()
      await page.goto(`${server.url}/sign-in`)
      await page.waitForSelector('#email:focus')
      await page.keyboard.type('first@owner.example')
      await page.keyboard.press('Tab')
      await page.keyboard.type(PASSWORD)
      await page.keyboard.press('Enter')
      await page.waitForURL('**/activation')
      await page.goto(`${server.url}/apps/${server.first.appId}/keys`)
      await page.keyboard.press('Tab')
      expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Skip to content')
      await page.focus('[popovertarget=rotate]')
      await page.keyboard.press('Enter')
      expect(await page.isVisible('#rotate')).toBe(true)
      await page.keyboard.press('Escape')
      expect(await page.isVisible('#rotate')).toBe(false)
      await close()
    },
    TRY_MS,
  )
})
