/** Checks every page in a real Chromium. */
import { readFileSync } from 'node:fs'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { openChromium, type Served, serveTest, signIn } from './chromium.ts'
import { type Step, STEPS } from './walk.ts'

const AXE = readFileSync(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir), 'utf8')
export const WALK_MS = 300_000
const THEMES = ['light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const TIMES = 3

/** Problems of the page, one per line. Repeated if a pending navigation replaces the page. */
async function findViolations(page: Page, theme: Theme, time = 1): Promise<string[]> {
  try {
    return await lookOver(page, theme)
  } catch (error) {
    if (time < TIMES && /context was destroyed/.test(String(error))) return findViolations(page, theme, time + 1)
    throw error
  }
}

/** After a resize, the browser may still report the old layout for a moment. */
const WIDTH_OVER = `new Promise((resolve) => {
  const until = performance.now() + 3000
  const look = () => {
    const over = document.documentElement.scrollWidth - innerWidth
    if (over <= 0 || performance.now() > until) resolve(over)
    else setTimeout(look, 50)
  }
  look()
})`

/** All axe-core rules, and the width. */
async function lookOver(page: Page, theme: Theme): Promise<string[]> {
  // wait for the page that a click opened
  await page.waitForLoadState()
  await page.emulateMedia({ colorScheme: theme })
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(AXE)
  const found = await runAxe(page)
  const over = Number(await page.evaluate(WIDTH_OVER))
  return [...found, ...(over > 0 ? [`${over} pixels too wide`] : [])]
}

/** axe-core can't check text on gradients, so only scroll edges have them. Media and frames have no need of preloading. */
const runAxe = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(
    `axe.run({ resultTypes: ['violations', 'incomplete'], preload: false })
      .then(({ violations, incomplete }) => {
        const isUnchecked = ({ data, relatedNodes }) =>
          data?.messageKey === 'bgGradient' && !relatedNodes.every(({ html }) => html.includes('role="region"'))
        const unchecked = incomplete.map((rule) => ({ ...rule, nodes: rule.nodes.filter(({ any }) => any.some(isUnchecked)) }))
        return [...violations, ...unchecked].flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html))
      })`,
  )

export async function walk(
  options: BrowserContextOptions,
  look: (page: Page, step: Step, server: Served) => Promise<void>,
): Promise<string[]> {
  const browser = await openChromium()
  const server = await serveTest()
  // no transitions, which axe-core would check half-way
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

/**
 * Runs axe-core and width checks on a page in both views, in light in one and in dark in the other, by turns. So what all
 * pages share is looked at in each pair. The walk goes on in the last view.
 */
export async function findInViews(
  views: Record<string, { width: number; height: number }>,
  page: Page,
  step: Step,
  server: Served,
): Promise<string[]> {
  const found: string[] = []
  for (const [index, [view, size]] of Object.entries(views).entries()) {
    const theme = THEMES[(STEPS.indexOf(step) + index) % THEMES.length] ?? 'light'
    await page.setViewportSize(size)
    if (step.isPerView) await step.go(page, server)
    found.push(...(await findViolations(page, theme)).map((line) => `${view}, ${theme}: ${line}`))
  }
  return found
}
