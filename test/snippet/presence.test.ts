/**
 * Presence in snippet/snippet.ts: visible, hidden, left, back. Windows stand in for tabs, except where the browser itself
 * decides what is hidden or kept.
 */
import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { bringToFront, requireWholeChromium, startChromium } from '../chromium.ts'
import { quiet, type Sent } from './collector.ts'
import { until } from '../waiting.ts'
import { identify, useBench, LOADED, SITE_ID } from './site.ts'

const IDENTIFY = identify()

async function closeTab(page: Page): Promise<void> {
  await page.close({ runBeforeUnload: true })
  if (!page.isClosed()) await page.waitForEvent('close')
}

/** Paths last reported as present; tabs are independent. */
function whereabouts(sent: Sent[]): string[] {
  const last = new Map<string, string>()
  for (const { events } of sent) for (const { type, path } of events) last.set(path, type)
  return [...last].filter(([, type]) => type !== 'leave').map(([path]) => path)
}

describe('a tab', () => {
  const bench = useBench()

  test('that is shown six times is one page view', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await bench.expectNew('ada page /a')
    const other = await bench.openBlank()
    for (let i = 0; i < 5; i += 1) {
      await bench.expectNew('ada leave /a')
      await bringToFront(page)
      await bench.expectNew('ada here /a')
      await bringToFront(other)
    }
    await bench.expectNew('ada leave /a')
  })

  test('with a path replaced and restored while hidden is the same page', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await bench.expectNew('ada page /a')
    await bench.openBlank()
    await bench.expectNew('ada leave /a')
    await page.evaluate(`history.pushState(0, '', '/b'); history.replaceState(0, '', '/a')`)
    await bringToFront(page)
    await bench.expectNew('ada here /a')
    await page.evaluate(`history.pushState(0, '', '/b')`)
    await bench.expectNew('ada page /b')
    await page.evaluate(`history.pushState(0, '', '/a')`)
    await bench.expectNew('ada page /a')
  })

  test('of another person, or of one who signed in again, is a new page view', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await bench.expectNew('ada page /a')
    const other = await bench.openBlank()
    await bench.expectNew('ada leave /a')
    await page.evaluate(identify('grace@example.com'))
    await bringToFront(page)
    await bench.expectNew('grace page /a')
    await bringToFront(other)
    await bench.expectNew('grace leave /a')
    await page.evaluate(`service('reset'); ${identify('grace@example.com')}`)
    await bringToFront(page)
    await bench.expectNew('grace page /a')
  })

  test('without consent returns silently', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await bench.expectNew('ada page /a')
    await bench.openBlank()
    await bench.expectNew('ada leave /a')
    await page.evaluate(`service('consent', false)`)
    await bringToFront(page)
    await bench.expectNew()
  })

  test('that is closed leaves', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await bench.expectNew('ada page /a')
    await closeTab(page)
    await bench.expectNew('ada leave /a')
  })

  test('that is closed in the same task reports everything', async () => {
    bench.site().serve({ calls: '' })
    const { page } = await bench.openTab('/a')
    await page.waitForFunction(LOADED)
    bench.site().serve({ head: '<title>away</title>' }, '/away')
    await page.evaluate(`${IDENTIFY}; service('track', 'saved'); location.href = '/away'`)
    await bench.expectNew('ada page /a', 'ada track saved /a', 'ada leave /a')
  })

  test('that crashes reports nothing more', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await bench.expectNew('ada page /a')
    const crashed = page.waitForEvent('crash')
    page.goto('chrome://crash').catch(() => null)
    await crashed
    await bench.expectNew()
  })

  test('without a person reports nothing', async () => {
    bench.site().serve({ calls: `service('track', 'saved')` })
    const { page } = await bench.openTab('/a')
    await bench.openBlank()
    await bringToFront(page)
    await closeTab(page)
    await bench.expectNew()
  })

  test('of a person who signs out reports a leave, and nothing when hidden', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await bench.expectNew('ada page /a')
    await page.evaluate(`service('reset')`)
    await bench.expectNew('ada leave /a')
    await bench.openBlank()
    await bench.expectNew()
  })

  test('that is restored with pageshow only is the same page', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await bench.expectNew('ada page /a')
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`)
    await bench.expectNew('ada leave /a')
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
    await bench.expectNew('ada here /a')
  })

  test('that was never visible and is closed reports nothing', async () => {
    bench.site().serve({ calls: `${IDENTIFY}; service('track', 'saved')` })
    const page = await bench.openBehind('/a')
    expect(await page.evaluate('document.visibilityState')).toBe('hidden')
    await closeTab(page)
    await bench.expectNew()
  })
})

describe('in a whole Chromium', () => {
  const bench = useBench({ tabs: true })
  const reported = (): string[] => bench.collector().reported()

  test('a tab that is hidden and shown again leaves and comes back', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await bench.expectNew('ada page /a')
    const other = await bench.openBlank()
    await bench.expectNew('ada leave /a')
    // hidden pages are not reported; events are
    await page.evaluate(`history.pushState(0, '', '/b'); service('track', 'done')`)
    await bench.expectNew('ada track done /b')
    await bringToFront(page)
    await bench.expectNew('ada page /b')
    await bringToFront(other)
    await bench.expectNew('ada leave /b')
    await bringToFront(page)
    await bench.expectNew('ada here /b')
  })

  test('a tab that was never visible waits and reports when shown', async () => {
    bench.site().serve({ calls: `${IDENTIFY}; service('track', 'saved')` })
    const page = await bench.openBehind('/a')
    expect(await page.evaluate('[document.visibilityState, service.v]')).toEqual(['hidden', SITE_ID])
    await page.evaluate(`history.pushState(0, '', '/b')`)
    await bench.expectNew()
    await bringToFront(page)
    await bench.expectNew('ada track saved /a', 'ada page /b')
  })

  test('with two tabs, one that is open means present', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const one = await bench.openTab('/a')
    const two = await bench.openTab('/b')
    await bench.expectReports(['ada page /a', 'ada leave /a', 'ada page /b'])
    expect(whereabouts(bench.collector().bodies())).toEqual(['/b'])
    await bringToFront(one.page)
    await until(() => reported().length === 5, reported)
    expect(whereabouts(bench.collector().bodies())).toEqual(['/a'])
    await closeTab(one.page)
    await bringToFront(two.page)
    await until(() => reported().length === 7, reported)
    expect(whereabouts(bench.collector().bodies())).toEqual(['/b'])
    await closeTab(two.page)
    await until(() => reported().length === 8, reported)
    expect(whereabouts(bench.collector().bodies())).toEqual([])
  })

  test('a page restored from the back/forward cache is the same page', async () => {
    requireWholeChromium()
    bench.site().serve({ calls: IDENTIFY })
    bench.site().serve({ head: '<title>away</title>' }, '/away')
    const { page } = await bench.openTab('/a')
    await bench.expectNew('ada page /a')
    await page.evaluate(`window.isKept = true; location.href = '/away'`)
    await bench.expectNew('ada leave /a')
    await page.evaluate('history.back()')
    await bench.expectNew('ada here /a')
    expect(await page.evaluate('window.isKept')).toBe(true)
  })

  test('a page that is prerendered waits until it is shown', async () => {
    requireWholeChromium()
    const rules = `{"prerender":[{"urls":["/next"],"eagerness":"immediate"}]}`
    const leave = `setInterval(async () => {
        if ((await (await fetch('/signal')).text()).includes('go')) location.href = '/next' }, 50)`
    const tell = `${IDENTIFY}; document.addEventListener('prerenderingchange', () => service('track', 'shown'))`
    bench.site().serve({ head: `<script type="speculationrules">${rules}</script><script>${leave}</script>` })
    bench.site().serve({ calls: tell }, '/next')
    bench.site().serve({ head: 'wait' }, '/signal')
    // pages under a debugger are not prerendered
    const { stop } = startChromium(`${bench.site().url}/first`)
    try {
      await until(() => bench.collector().recorded.some(({ url }) => url === '/s.js'), reported)
      await quiet()
      // the page is prerendered behind the visible one
      expect(reported()).toEqual([])
      bench.site().serve({ head: 'go' }, '/signal')
      await bench.expectReports(['ada track shown /next', 'ada page /next'])
    } finally {
      await stop()
    }
  })
})
