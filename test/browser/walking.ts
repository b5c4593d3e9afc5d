/** Goes through every page in a real Chromium. Each view has a test file of its own, because it takes minutes. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { openChromium, serveTest, signIn } from './chromium.ts'
import { STEPS } from './walk.ts'

const AXE = readFileSync(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir), 'utf8')
export const WALK_MS = 300_000
/** All that a change of colours can break. */
const COLOURS_ONLY = {
  runOnly: ['color-contrast', 'link-in-text-block'],
  // what they need not know, and what takes as long as they do
  preload: false,
}

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

/** @returns what the browser complained about. */
export async function walk(
  options: BrowserContextOptions,
  look: (page: Page, name: string) => Promise<void>,
): Promise<string[]> {
  const browser = await openChromium()
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
  await browser.close()
  await server.close()
  return complaints
}

/** What axe-core finds on each page, what the content security policy forbids, and how wide it is, in both colours. */
export function testView(name: string, options: BrowserContextOptions): void {
  test(
    `on ${name}, in light and in dark: axe-core and the policy find nothing, and nothing is too wide`,
    async () => {
      const found: Record<string, string[]> = {}
      const complaints = await walk(options, async (page, step) => {
        const violations = await findViolations(page)
        if (violations.length > 0) found[step] = violations
      })
      expect(found).toEqual({})
      expect(complaints).toEqual([])
    },
    WALK_MS,
  )
}
