/** Every page in a real Chromium: what axe-core finds, what the policy forbids, how wide it is, and without script. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { hasChromium, openChromium, serveTest, signIn } from './chromium.ts'
import { STEPS } from './walk.ts'

const AXE = readFileSync(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir), 'utf8')
const WALK_MS = 300_000
/** All that a change of colours can break. */
const COLOURS_ONLY = {
  runOnly: ['color-contrast', 'link-in-text-block'],
  // what they need not know, and what takes as long as they do
  preload: false,
}

let browser: Browser
beforeAll(async () => {
  if (hasChromium) browser = await openChromium()
})
afterAll(() => browser?.close())

const TIMES = 3

/** What is wrong with the page, in a line each. A click may open the next page only now: then with that one. */
async function findViolations(page: Page, time = 1): Promise<string[]> {
  try {
    return await lookOver(page)
  } catch (error) {
    if (time < TIMES && /context was destroyed/.test(String(error))) return findViolations(page, time + 1)
    throw error
  }
}

/** All of axe-core in light colours, in dark ones what depends on them, and the width. */
async function lookOver(page: Page): Promise<string[]> {
  // a click goes on before the page that it opens is whole
  await page.waitForLoadState()
  await page.emulateMedia({ colorScheme: 'light' })
  await page.evaluate(AXE)
  const inLight = await runAxe(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const inDark = await runAxe(page, COLOURS_ONLY)
  const over = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
  return [...inLight, ...inDark.map((line) => `dark: ${line}`), ...(over > 0 ? [`${over} pixels too wide`] : [])]
}

/** By all rules, or as `options` say. Text on a gradient cannot be judged, so there is none but at the ends of what scrolls. */
const runAxe = (page: Page, options?: object): Promise<string[]> =>
  page.evaluate<string[]>(
    `axe.run(${JSON.stringify({ resultTypes: ['violations', 'incomplete'], ...options })})
      .then(({ violations, incomplete }) => {
        const isUnjudged = ({ data, relatedNodes }) =>
          data?.messageKey === 'bgGradient' && !relatedNodes.every(({ html }) => html.includes('role="region"'))
        const unjudged = incomplete.map((rule) => ({ ...rule, nodes: rule.nodes.filter(({ any }) => any.some(isUnjudged)) }))
        return [...violations, ...unjudged].flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html))
      })`,
  )

async function walk(
  options: BrowserContextOptions,
  look: (page: Page, name: string) => Promise<void>,
): Promise<string[]> {
  const server = await serveTest()
  // colours change at once, without the passage that axe-core would judge in its middle
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    // an answer that refuses is told there too
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => void complaints.push(error.message))
  let isSignedIn = false
  for (const { name, go, isOpen } of STEPS) {
    if (!isOpen && !isSignedIn) await signIn(page, server)
    isSignedIn = !isOpen
    await go(page, server)
    await look(page, name)
  }
  await context.close()
  await server.close()
  return complaints
}

const VIEWS: [name: string, options: BrowserContextOptions][] = [
  ['a desk', { viewport: { width: 1440, height: 900 } }],
  ['a phone', { viewport: { width: 375, height: 800 }, hasTouch: true }],
]

describe.skipIf(!hasChromium).each(VIEWS)('on %s, in light and in dark', (_, options) => {
  test(
    'axe-core finds nothing, the policy forbids nothing, and nothing is wider than the screen',
    async () => {
      const found: Record<string, string[]> = {}
      const complaints = await walk(options, async (page, name) => {
        const violations = await findViolations(page)
        if (violations.length > 0) found[name] = violations
      })
      expect(found).toEqual({})
      expect(complaints).toEqual([])
    },
    WALK_MS,
  )
})

describe.skipIf(!hasChromium)('without script', () => {
  test(
    'every page is reached, and nothing is shown that needs one',
    async () => {
      const seen: string[] = []
      await walk({ javaScriptEnabled: false, viewport: { width: 375, height: 800 } }, async (page, name) => {
        seen.push(name)
        expect(await page.locator('.copy:visible').count()).toBe(0)
      })
      expect(seen).toEqual(STEPS.map(({ name }) => name))
    },
    WALK_MS,
  )
})
