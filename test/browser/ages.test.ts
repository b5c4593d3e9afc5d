import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { formatAge } from '../../src/dashboard/ui/time.tsx'
import { MINUTE } from '../durations.ts'
import { EVENTS } from '../helper.ts'
import { openChromium, type Served, serveTest, signIn } from './chromium.ts'

const TRY_MS = 120_000

let browser: Browser
/** With an app that has an email that waits. */
let server: Served
let signedIn: Awaited<ReturnType<BrowserContext['storageState']>>
beforeAll(async () => {
  browser = await openChromium()
  server = await serveTest()
  const { store } = server.parts()
  const [app] = await store.listApps(server.first.accountId)
  const { accountId = '', id: appId = 0 } = app ?? {}
  const by = { accountId, appId, actor: 'test', at: server.clock.now() }
  for (const { id } of await store.listMessages(appId)) await store.setMessageStatus({ ...by, id, status: 'live' })
  const body = { app: server.first.appId, email: 'ada@example.com', event: 'results_ready', createContact: true }
  expect((await server.call('POST', EVENTS, { body })).status).toBe(202)
  const page = await browser.newPage()
  await signIn(page, server)
  signedIn = await page.context().storageState()
  await page.close()
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

/** A page with a clock of its own. */
async function openWaiting(path: string, width: number) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, storageState: signedIn })
  const page = await context.newPage()
  await page.clock.install()
  // what comes live has the time of the server, which stands still
  await page.route(
    ({ pathname }) => /\blive$/.test(pathname),
    () => {},
  )
  await page.goto(`${server.url}/apps/${server.first.appId}/${path}`)
  await page.evaluate(`{
    moved = []
    const isPeriod = ({ node }) => node?.textContent === '.'
    const say = ({ node }) => node?.parentElement?.outerHTML
    new PerformanceObserver((list) => list.getEntries().forEach(({ sources }) =>
      moved.push(...sources.filter((source) => !isPeriod(source)).map(say))))
      .observe({ type: 'layout-shift' })
  }`)
  return { page, close: () => context.close() }
}

/** The clock of the page starts a little behind the server's. */
const A_SECOND = 1_000

const agesOn = async (page: Page): Promise<string[]> => [
  ...new Set(await page.locator('main time[data-age]').allTextContents()),
]
const movedOn = (page: Page) => page.evaluate<string[]>('new Promise((resolve) => setTimeout(resolve, 0, moved))')

describe.each([1440, 375])('on a page %p pixels wide, relative times stay true', (width) => {
  test(
    'in a list, with the time until an email is due',
    async () => {
      const { page, close } = await openWaiting('deliveries', width)
      const duesOn = () => page.locator('.deliveries .why').allTextContents()
      expect(await duesOn()).toEqual(['Due in 24 h', 'Due in 10 min'])
      expect(await agesOn(page)).toEqual(['just now'])
      await page.clock.fastForward(4 * MINUTE + A_SECOND)
      expect(await duesOn()).toEqual(['Due in 24 h', 'Due in 6 min'])
      expect(await agesOn(page)).toEqual(['4 minutes ago'])
      await page.clock.fastForward(7 * MINUTE)
      expect(await duesOn()).toEqual(['Due in 24 h', 'Due now'])
      expect(await agesOn(page)).toEqual([formatAge(0, 11 * MINUTE)])
      await page.clock.fastForward(20 * MINUTE)
      expect(await duesOn()).toEqual(['Due in 23 h', 'Due now'])
      expect(await agesOn(page)).toEqual([formatAge(0, 31 * MINUTE)])
      expect(await movedOn(page)).toEqual([])
      await close()
    },
    TRY_MS,
  )

  test.each(['people', 'activation', 'keys', 'members'])(
    'on %s',
    async (path) => {
      const { page, close } = await openWaiting(path, width)
      expect(await agesOn(page)).toContain('just now')
      for (const minutes of [4, 17, 51]) {
        await page.clock.fastForward(minutes * MINUTE)
        await page.waitForTimeout(50)
      }
      expect(await agesOn(page)).toEqual([formatAge(0, 72 * MINUTE)])
      expect(await movedOn(page)).toEqual([])
      await close()
    },
    TRY_MS,
  )
})

test(
  'what happened after the page was loaded is never ahead, and what is planned is',
  async () => {
    const { page, close } = await openWaiting('people', 1440)
    const at = new Date(server.clock.now() + 30 * A_SECOND).toISOString()
    await page.evaluate(`{
      const times = [...document.querySelectorAll('main time[data-age]'), document.createElement('time')].slice(-2)
      times[0].after(times[1])
      times[1].dataset.age = 'planned'
      for (const time of times) [time.id, time.dateTime, time.textContent] = ['changed', '${at}', '']
    }`)
    await page.clock.fastForward(10 * A_SECOND)
    expect(await page.locator('#changed').allTextContents()).toEqual(['just now', 'in less than a minute'])
    await close()
  },
  TRY_MS,
)
