import { DEFAULT_PLACE } from '../../src/messages/template-values.ts'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openChromium, type OpenChromium } from '../chromium.ts'
import { BARE, CONTACT, makeFacts, renderForTest, RESULTS } from './facts.ts'

const HOSTILE = '"><script>document.title="run"</script><img src=x onerror=\'document.title="run"\'>'

const EVERYTHING = `# Heading\n\n## Second\n\nText with [a link]({{ event.url }}) and \`code\`.\n\n> said\n\n- one\n- two

| a | b |\n|---|---|\n| {{ event.headline }} | 2 |\n\n\`\`\`\ncode\n\`\`\`\n\n---\n\n[{{ event.headline }}]({{ event.url }})`

const MAILS = {
  draft: renderForTest(),
  everything: renderForTest({ body: EVERYTHING }),
  yellow: renderForTest({ body: EVERYTHING }, makeFacts(RESULTS, { style: { ...BARE, colour: '#ffdd00' } })),
  hostile: renderForTest(
    { body: EVERYTHING },
    makeFacts(
      { headline: `${HOSTILE}${'long'.repeat(100)}`, url: 'javascript:document.title="run"' },
      {
        contact: { ...CONTACT, firstName: HOSTILE },
        app: { name: HOSTILE, homeUrl: null, ...DEFAULT_PLACE, hosts: [] },
        style: { ...BARE, colour: '#ff0000;}', logoUrl: 'https://logo.invalid/"><script>', postalAddress: HOSTILE },
      },
    ),
  ),
}

const SCREENS = Object.keys(MAILS).flatMap((name) =>
  (['light', 'dark'] as const).flatMap((scheme) => [360, 1280].map((width) => ({ name, scheme, width }))),
)

/** By WCAG. Runs in the page. */
function lowestContrast(): number {
  const parse = (text: string): number[] => (text.match(/[\d.]+/g) ?? []).map(Number)
  const shade = (part: number): number => (part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4)
  const light = ([r = 0, g = 0, b = 0]: number[]): number => 0.2126 * shade(r) + 0.7152 * shade(g) + 0.0722 * shade(b)
  const groundOf = (element: Element | null): number[] => {
    if (!element) return [255, 255, 255]
    const colour = parse(getComputedStyle(element).backgroundColor)
    return colour[3] === 0 ? groundOf(element.parentElement) : colour
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  let lowest = 21
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement
    if (!element || node.textContent?.trim() === '' || element.getClientRects().length === 0) continue
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(groundOf(element))]
    lowest = Math.min(lowest, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05))
  }
  return lowest
}

describe('an email in Chromium', () => {
  let open: OpenChromium
  let page: Page
  beforeAll(async () => {
    open = await openChromium()
    page = await open.browser.newPage()
  })
  afterAll(() => open.close())

  test.each(SCREENS)('$name, $scheme, $width wide', async ({ name, scheme, width }) => {
    await page.goto('about:blank')
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme: scheme })
    const mail = MAILS[name as keyof typeof MAILS]
    await page.setContent(mail.html)
    expect(await page.title()).toBe(mail.subject.replaceAll(/\s+/g, ' '))
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    )
    expect(overflow).toBe(0)
    expect(await page.evaluate(lowestContrast)).toBeGreaterThanOrEqual(4.5)
    expect(await page.locator('script, [onerror]').count()).toBe(0)
    const links = await page.locator('a').evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).protocol))
    expect(links.filter((protocol) => protocol !== 'https:')).toEqual([])
    // screen readers must not announce layout tables
    expect(await page.locator('table:not([role=presentation]):not(:has(th))').count()).toBe(0)
    expect(await page.locator('img:not([alt])').count()).toBe(0)
  })
})
