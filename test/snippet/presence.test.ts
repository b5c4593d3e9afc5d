/** Presence in snippet/snippet.ts: visible, hidden, left, back. */
import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { bringToFront, requireWholeChromium, startChromium } from '../chromium.ts'
import { quiet, until } from './collector.ts'
import { identify, useBench, LOADED, SITE_ID } from './site.ts'

const bench = useBench({ tabs: true })
const IDENTIFY = identify()

const reported = (): string[] => bench.collector().reported()
const expectOnly = async (...expected: string[]): Promise<void> => {
  await bench.expectReports(expected)
  bench.collector().forget()
}

async function closeTab(page: Page): Promise<void> {
  await page.close({ runBeforeUnload: true })
  if (!page.isClosed()) await page.waitForEvent('close')
}

/** Paths last reported as present; tabs are independent. */
function whereabouts(): string[] {
  const last = new Map<string, string>()
  for (const { events } of bench.collector().bodies()) for (const { type, path } of events) last.set(path, type)
  return [...last].filter(([, type]) => type !== 'leave').map(([path]) => path)
}

describe('a tab', () => {
  test('that is hidden and shown again leaves and comes back', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await expectOnly('ada page /a')
    const other = await bench.openBlank()
    await expectOnly('ada leave /a')
    // hidden pages are not reported; events are
    await page.evaluate(`history.pushState(0, '', '/b'); service('track', 'done')`)
    await expectOnly('ada track done /b')
    await bringToFront(page)
    await expectOnly('ada page /b')
    await bringToFront(other)
    await expectOnly('ada leave /b')
    await bringToFront(page)
    await expectOnly('ada here /b')
  })

  test('that is shown six times is one page view', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await expectOnly('ada page /a')
    const other = await bench.openBlank()
    for (let i = 0; i < 5; i += 1) {
      await expectOnly('ada leave /a')
      await bringToFront(page)
      await expectOnly('ada here /a')
      await bringToFront(other)
    }
    await expectOnly('ada leave /a')
  })

  test('with a path replaced and restored while hidden is the same page', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await expectOnly('ada page /a')
    await bench.openBlank()
    await expectOnly('ada leave /a')
    await page.evaluate(`history.pushState(0, '', '/b'); history.replaceState(0, '', '/a')`)
    await bringToFront(page)
    await expectOnly('ada here /a')
    await page.evaluate(`history.pushState(0, '', '/b')`)
    await expectOnly('ada page /b')
    await page.evaluate(`history.pushState(0, '', '/a')`)
    await expectOnly('ada page /a')
  })

  test('of another person, or of one who signed in again, is a new page view', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await expectOnly('ada page /a')
    const other = await bench.openBlank()
    await expectOnly('ada leave /a')
    await page.evaluate(identify('grace@example.com'))
    await bringToFront(page)
    await expectOnly('grace page /a')
    await bringToFront(other)
    await expectOnly('grace leave /a')
    await page.evaluate(`service('reset'); ${identify('grace@example.com')}`)
    await bringToFront(page)
    await expectOnly('grace page /a')
  })

  test('without consent returns silently', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await expectOnly('ada page /a')
    await bench.openBlank()
    await expectOnly('ada leave /a')
    await page.evaluate(`service('consent', false)`)
    await bringToFront(page)
    await expectOnly()
  })

  test('that is closed leaves', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await expectOnly('ada page /a')
    await closeTab(page)
    await expectOnly('ada leave /a')
  })

  test('that is closed in the same task reports everything', async () => {
    bench.site().serve({ calls: '' })
    const { page } = await bench.openTab('/a')
    await page.waitForFunction(LOADED)
    bench.site().serve({ head: '<title>away</title>' }, '/away')
    await page.evaluate(`${IDENTIFY}; service('track', 'saved'); location.href = '/away'`)
    await expectOnly('ada page /a', 'ada track saved /a', 'ada leave /a')
  })

  test('that crashes reports nothing more', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await expectOnly('ada page /a')
    const crashed = page.waitForEvent('crash')
    page.goto('chrome://crash').catch(() => null)
    await crashed
    await expectOnly()
  })

  test('without a person reports nothing', async () => {
    bench.site().serve({ calls: `service('track', 'saved')` })
    const { page } = await bench.openTab('/a')
    await bench.openBlank()
    await bringToFront(page)
    await closeTab(page)
    await expectOnly()
  })

  test('of a person who signs out reports a leave, and nothing when hidden', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await expectOnly('ada page /a')
    await page.evaluate(`service('reset')`)
    await expectOnly('ada leave /a')
    await bench.openBlank()
    await expectOnly()
  })

  test('that was never visible waits and reports when shown', async () => {
    bench.site().serve({ calls: `${IDENTIFY}; service('track', 'saved')` })
    const page = await bench.openBehind('/a')
    expect(await page.evaluate('[document.visibilityState, service.v]')).toEqual(['hidden', SITE_ID])
    await page.evaluate(`history.pushState(0, '', '/b')`)
    await expectOnly()
    await bringToFront(page)
    await expectOnly('ada track saved /a', 'ada page /b')
  })

  test('that was never visible and is closed reports nothing', async () => {
    bench.site().serve({ calls: `${IDENTIFY}; service('track', 'saved')` })
    const page = await bench.openBehind('/a')
    await closeTab(page)
    await expectOnly()
  })
})

describe('two tabs', () => {
  test('one open tab means present', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const one = await bench.openTab('/a')
    const two = await bench.openTab('/b')
    await bench.expectReports(['ada page /a', 'ada leave /a', 'ada page /b'])
    expect(whereabouts()).toEqual(['/b'])
    await bringToFront(one.page)
    await until(() => reported().length === 5, reported)
    expect(whereabouts()).toEqual(['/a'])
    await closeTab(one.page)
    await bringToFront(two.page)
    await until(() => reported().length === 7, reported)
    expect(whereabouts()).toEqual(['/b'])
    await closeTab(two.page)
    await until(() => reported().length === 8, reported)
    expect(whereabouts()).toEqual([])
  })
})

describe('a page', () => {
  test('restored from the back/forward cache is the same page', async () => {
    requireWholeChromium()
    bench.site().serve({ calls: IDENTIFY })
    bench.site().serve({ head: '<title>away</title>' }, '/away')
    const { page } = await bench.openTab('/a')
    await expectOnly('ada page /a')
    await page.evaluate(`window.isKept = true; location.href = '/away'`)
    await expectOnly('ada leave /a')
    await page.evaluate('history.back()')
    await expectOnly('ada here /a')
    expect(await page.evaluate('window.isKept')).toBe(true)
  })

  test('restored with pageshow only is the same page', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page } = await bench.openTab('/a')
    await expectOnly('ada page /a')
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`)
    await expectOnly('ada leave /a')
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
    await expectOnly('ada here /a')
  })

  test('that is prerendered waits until it is shown', async () => {
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
