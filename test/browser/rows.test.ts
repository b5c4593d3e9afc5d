/** Lists on a desktop: the height of their rows, and what is cut. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { openDatabase } from '../../src/store/engine/database.ts'
import { MINUTE } from '../durations.ts'
import { EVENTS } from '../helper.ts'
import { openChromium, type Served, serveTest, signIn } from './chromium.ts'
import { DESK_WIDTH } from './walking.ts'

const ROW = 40

let server: Served
let browser: Browser
let page: Page
beforeAll(async () => {
  server = await serveTest()
  browser = await openChromium()
  page = await browser.newPage({ viewport: { width: DESK_WIDTH, height: 900 } })
  await seed()
  await signIn(page, server)
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

/** People with emails of a live message, half of which were sent an hour ago and half captured. */
async function seed(): Promise<void> {
  const { store } = server.parts()
  const [app] = await store.listApps(server.first.accountId)
  if (!app) throw new Error('no app')
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: server.clock.now() }
  const live = (await store.listMessages(app.id)).find(({ name }) => name === 'Results ready, they left')
  await store.setMessageStatus({ ...by, id: live?.id ?? 0, status: 'live' })
  const now = server.clock.wallMs
  server.clock.wallMs -= 60 * MINUTE
  const properties = { headline: 'Your 12 pictures are ready', url: 'https://app.first.example/results/12' }
  for (const name of ['ada', 'bob', 'grete', 'hedy']) {
    const body = { app: server.first.appId, email: `${name}@example.com`, event: 'results_ready', properties }
    await server.call('POST', EVENTS, { body: { ...body, createContact: true } })
  }
  server.clock.wallMs += 11 * MINUTE
  await server.sender().sendDue()
  const db = openDatabase(server.folder)
  db.run(
    `UPDATE deliveries SET state = 'sent', handed_at = updated_at, came_back_at = updated_at WHERE id IN (SELECT id FROM deliveries LIMIT 2)`,
  )
  db.close()
  server.clock.wallMs = now
}

const open = (path: string) => page.goto(`${server.url}/apps/${server.first.appId}/${path}`)

/** From the top of each row to that of the next. */
const stepsOf = (rows: string): Promise<number[]> =>
  page.evaluate<number[]>(`(() => {
    const tops = [...document.querySelectorAll('${rows}')].map((row) => row.getBoundingClientRect().top)
    return tops.slice(1).map((top, index) => top - tops[index])
  })()`)

const heightsOf = (rows: string): Promise<number[]> =>
  page.evaluate<number[]>(`[...document.querySelectorAll('${rows}')].map((row) => row.getBoundingClientRect().height)`)

describe('a row is 40 pixels high', () => {
  test.each([
    ['deliveries', '.feed.deliveries > li'],
    ['events', '.feed > li'],
    ['people', '.table > tbody > tr'],
    ['people?emails=sent', '.table > tbody > tr'],
    ['people?emails=returned', '.table > tbody > tr'],
    ['outbox', '.table > tbody > tr'],
    ['audit', '.table > tbody > tr'],
  ])('in %s', async (path, rows) => {
    await open(path)
    const steps = await stepsOf(rows)
    expect([path, steps.length > 0, [...new Set(steps)]]).toEqual([path, true, [ROW]])
  })

  test('in live messages, with their trend', async () => {
    await open('overview')
    expect(await page.locator('.live-messages .spark').count()).toBe(1)
    expect(await heightsOf('.live-messages tbody > tr')).toEqual([ROW])
  })
})

/** Times of lists and tables that their cell cuts. */
const listCutTimes = (): Promise<string[]> =>
  page.evaluate<string[]>(`[...document.querySelectorAll('main :is(td, .feed > li) time')].filter((time) => {
    const cell = time.closest('td') ?? time.parentElement
    const end = cell.getBoundingClientRect().right - parseFloat(getComputedStyle(cell).paddingRight)
    const { width, right } = time.getBoundingClientRect()
    return width > 0 && (right > end || time.scrollWidth > time.clientWidth + 1)
  }).map((time) => time.textContent)`)

const TIMED = [
  'people',
  'people?emails=sent',
  'people?emails=returned',
  'people?emails=not-sent',
  'outbox',
  'audit',
  'deliveries',
  'events',
]

test.each([1_024, 1_280, DESK_WIDTH])('at %d pixels, times are whole', async (width) => {
  await page.setViewportSize({ width, height: 900 })
  for (const path of TIMED) {
    await open(path)
    expect([path, await page.locator('main time:visible').count()]).not.toEqual([path, 0])
    expect([path, await listCutTimes()]).toEqual([path, []])
  }
  await page.setViewportSize({ width: DESK_WIDTH, height: 900 })
})

test.each(['sent', 'returned'])(
  'people of %s emails have the name of the message and the times whole',
  async (emails) => {
    await open(`people?emails=${emails}`)
    expect(await page.locator('.table tbody tr:first-child td').nth(3).textContent()).toBe('Results ready, they left')
    const cut = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.table td')].filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)`,
    )
    expect(cut).toEqual([])
  },
)

describe('on a phone, a delivery', () => {
  const PHONE = { width: 375, height: 800 }
  const TWO_LINES = 76

  test('has two lines, with all its texts whole', async () => {
    await page.setViewportSize(PHONE)
    await open('deliveries')
    const heights = await heightsOf('.feed.deliveries > li')
    expect(heights.length).toBeGreaterThanOrEqual(4)
    expect(Math.max(...heights)).toBeLessThanOrEqual(TWO_LINES)
    const cut = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.feed.deliveries > li > a > *')]
        .filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.textContent)`,
    )
    expect(cut).toEqual([])
  })

  test('counts down right behind the word', async () => {
    const body = { app: server.first.appId, email: 'zoe@example.com', event: 'results_ready', createContact: true }
    await server.call('POST', EVENTS, { body })
    await page.setViewportSize(PHONE)
    await open('deliveries')
    const [words, gap] = await page.evaluate<[string, number]>(`(() => {
      const why = document.querySelector('.feed.deliveries > li .why')
      const rectOf = (node) => {
        const range = document.createRange()
        range.selectNodeContents(node)
        return range.getBoundingClientRect()
      }
      return [why.textContent, rectOf(why.querySelector('time')).left - rectOf(why.querySelector('bdi')).right]
    })()`)
    expect(words).toBe('Due in 10 min')
    expect(gap).toBeGreaterThan(0)
    expect(gap).toBeLessThan(6)
  })
})
