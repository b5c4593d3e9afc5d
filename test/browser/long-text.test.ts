import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { LONG, openWorld, PASSWORD, type World } from '../fuzz/world.ts'
import { openChromium, widthOver } from './chromium.ts'
import { DESK_WIDTH, MOST_HEIGHT } from './walking.ts'

const SWEEP_MS = 600_000
const MOST_BYTES = 60 * 1024
/** Set by `bun run check-pages`: at more widths. */
const isWhole = process.env.CHECK_PAGES === 'all'

let world: World
let browser: Browser
let http: Bun.Server<undefined>
let base = ''
beforeAll(async () => {
  world = await openWorld()
  browser = await openChromium()
  http = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => world.server.send(request, '127.0.0.1'),
  })
  base = `http://127.0.0.1:${http.port}`
})
afterAll(async () => {
  await browser?.close()
  await http?.stop(true)
  await world?.close()
})

const at = (page: string): string => `${base}/apps/${world.server.first.appId}/${page}`

async function openPage(width: number): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage({ viewport: { width, height: 900 } })
  const faults: string[] = []
  page.on('pageerror', (error) => void faults.push(error.message))
  // Chromium's own texts under a POSIX locale
  await page.addInitScript(`Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' })`)
  await page.goto(`${base}/sign-in`)
  await page.fill('#email', 'first@owner.example')
  await page.fill('#password', PASSWORD)
  await page.click('button.primary')
  await page.waitForURL('**/apps/**')
  return { page, faults }
}

/** URLs of the listed rows, newest first. */
const listed = async (page: Page, list: string, part: string): Promise<string[]> => {
  await page.goto(at(list))
  const found = await page
    .locator(`main a[href*="/${part}"]`)
    .evaluateAll((links) => links.map((link) => (link as { href?: string }).href))
  return [...new Set(found as string[])].slice(0, 3)
}

/** Words on more than one line, outside code blocks. Names may wrap at a sign between their parts. */
const BROKEN_WORDS = `(() => {
  const broken = []
  const range = document.createRange()
  const isBroken = () => range.getClientRects().length > 1
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const text = texts.currentNode
    if (!text.parentElement.closest('h1, h2, h3, p, li, th, td')) continue
    range.selectNodeContents(text)
    if (!isBroken()) continue
    for (const { index, 0: word } of text.data.matchAll(/[^\\s/_.:,=?-]+/g)) {
      range.setStart(text, index)
      range.setEnd(text, index + word.length)
      if (isBroken()) broken.push(word)
    }
  }
  return broken
})()`

const PAGES =
  `activation events people deliveries outbox suppressions suppressions/new messages messages/new keys keys/new sender sender/server sender/domain sender/limits sender/rates sender/layout sender/texts settings
  members members/new new-app you events?range=weeks`.split(/\s+/)

/** Pixels by which the page is too wide at a width. */
async function resize(page: Page, width: number): Promise<number> {
  await page.setViewportSize({ width, height: 900 })
  return widthOver(page, width)
}

/** Widths in ascending or descending order, beginning with the one that the page has: it is laid out once less. */
const beginningNow = (page: Page, widths: number[]): number[] =>
  widths.toSorted((one, other) => (page.viewportSize()?.width === Math.max(...widths) ? other - one : one - other))

describe('with the longest texts', () => {
  test(
    'no page is wider than the window, and no script fails',
    async () => {
      const { page, faults } = await openPage(1440)
      const lists = [
        await listed(page, 'events', 'events/evt_'),
        await listed(page, `events?event=${LONG.event}`, 'events/evt_'),
        await listed(page, 'people', 'people/con_'),
        await listed(page, 'messages', 'messages/msg_'),
        await listed(page, 'deliveries', 'deliveries/dlv_'),
      ]
      expect(lists.map(({ length }) => length > 0)).toEqual([true, true, true, true, true])
      const wide: string[] = []
      for (const address of [
        ...PAGES.map(at),
        ...lists.flat(),
        `${base}/docs/api/post-contacts`,
        `${base}/docs/start`,
      ]) {
        await page.goto(address)
        for (const width of beginningNow(page, [1440, 375])) {
          const over = await resize(page, width)
          if (over > 0) wide.push(`${address}: ${over} pixels over ${width}`)
        }
      }
      expect(wide).toEqual([])
      expect(faults).toEqual([])
      await page.close()
    },
    SWEEP_MS,
  )

  /** Pages of the documentation, or the first `most`. */
  const listDocs = async (page: Page, most = Infinity): Promise<string[]> => {
    await page.goto(`${base}/docs/start`)
    const paths = await page
      .locator('.docs-links a.item')
      .evaluateAll((links) => links.map((link) => (link as { href?: string }).href))
    expect(paths.length).toBeGreaterThan(40)
    return [...new Set(paths as string[])].slice(0, most)
  }

  // signed out, only the frame differs
  test.each([
    ['signed in', isWhole ? [375, 800, 1152, 1440] : [375, 1440], Infinity],
    ['signed out', isWhole ? [375, 800] : [375], 3],
  ])(
    'no page of the documentation is too tall or too large, and no word of it is broken, %s, at %p pixels',
    async (who, widths, most) => {
      const page = who === 'signed in' ? (await openPage(1440)).page : await browser.newPage()
      const beyond: unknown[] = []
      for (const path of await listDocs(page, most)) {
        const bytes = (await (await page.goto(path))?.body())?.length ?? 0
        if (bytes > MOST_BYTES || bytes === 0) beyond.push([path, bytes])
        for (const width of beginningNow(page, widths)) {
          const over = await resize(page, width)
          const words = await page.evaluate<string[]>(BROKEN_WORDS)
          const height = await page.evaluate<number>('document.documentElement.scrollHeight')
          const isTall = width >= DESK_WIDTH && height > MOST_HEIGHT
          if (words.length > 0 || over > 0 || isTall) beyond.push([path, width, words, over, height])
        }
      }
      expect(beyond).toEqual([])
      await page.close()
    },
    SWEEP_MS,
  )
})
