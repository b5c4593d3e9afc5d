/** Checks every page in a real Chromium. */
import { readFileSync } from 'node:fs'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { openChromium, type Served, serveTest, signIn } from './chromium.ts'
import { type Step, STEPS } from './walk.ts'

const AXE = readFileSync(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir), 'utf8')
export const WALK_MS = 300_000
/** Rules that depend on the theme. */
const COLOURS_ONLY = {
  runOnly: ['color-contrast', 'link-in-text-block'],
  // excluded details, and slow rules
  preload: false,
}

const TIMES = 3

/** Problems of the page, one per line. Repeated if a pending navigation replaces the page. */
async function findViolations(page: Page, time = 1): Promise<string[]> {
  try {
    return await lookOver(page)
  } catch (error) {
    if (time < TIMES && /context was destroyed/.test(String(error))) return findViolations(page, time + 1)
    throw error
  }
}

/** All axe-core rules in light, theme-dependent ones in dark, and the width. */
async function lookOver(page: Page): Promise<string[]> {
  // wait for the page that a click opened
  await page.waitForLoadState()
  await page.emulateMedia({ colorScheme: 'light' })
  await page.evaluate(AXE)
  const inLight = await runAxe(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const inDark = await runAxe(page, COLOURS_ONLY)
  const over = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
  return [...inLight, ...inDark.map((line) => `dark: ${line}`), ...(over > 0 ? [`${over} pixels too wide`] : [])]
}

/** axe-core can't judge text on gradients, so only scroll edges have them. */
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

export async function walk(
  options: BrowserContextOptions,
  look: (page: Page, step: Step, server: Served) => Promise<void>,
): Promise<string[]> {
  const browser = await openChromium()
  const server = await serveTest()
  // no transitions, which axe-core would judge half-way
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    // refusals are reported too
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => void complaints.push(error.message))
  let isSignedIn = false
  for (const step of STEPS) {
    if (!step.isOpen && !isSignedIn) await signIn(page, server)
    isSignedIn = !step.isOpen
    await step.go(page, server)
    await look(page, step, server)
  }
  await browser.close()
  await server.close()
  return complaints
}

/** Runs axe-core and width checks on a page in each view and both themes. The walk goes on in the last view. */
export async function findInViews(
  views: Record<string, { width: number; height: number }>,
  page: Page,
  { go, isPerView }: Step,
  server: Served,
): Promise<string[]> {
  const found: string[] = []
  for (const [view, size] of Object.entries(views)) {
    await page.setViewportSize(size)
    if (isPerView) await go(page, server)
    found.push(...(await findViolations(page)).map((line) => `${view}: ${line}`))
  }
  return found
}
