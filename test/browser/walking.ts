/** Checks every page in a real Chromium. */
import { readFileSync } from 'node:fs'
import type { BrowserContext, BrowserContextOptions, Page, ViewportSize } from 'playwright-core'
import { openChromium, type Served, serveTest, signIn, widthOver } from './chromium.ts'
import { type Step, STEPS } from './walk.ts'

const AXE = readFileSync(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir), 'utf8')
export const WALK_MS = 600_000
const THEMES = ['light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const TIMES = 3

/** Of a page on a desktop, with its usual content. */
export const MOST_HEIGHT = 2_000
/** The narrowest window of a desktop that is checked. */
export const DESK_WIDTH = 1_440

/** Repeats what a pending navigation interrupted. */
async function steadily<T>(look: () => Promise<T>, time = 1): Promise<T> {
  try {
    return await look()
  } catch (error) {
    if (time < TIMES && /context was destroyed/.test(String(error))) return steadily(look, time + 1)
    throw error
  }
}

/** All axe-core rules. */
async function lookOver(page: Page, theme: Theme): Promise<string[]> {
  // wait for the page that a click opened
  await page.waitForLoadState()
  await page.emulateMedia({ colorScheme: theme })
  return runAxe(page)
}

/**
 * A page that another one opened. axe-core runs in that one, where its code stays compiled from page to page (measured:
 * half the CPU time).
 */
async function openForAxe(context: BrowserContext, url: string): Promise<Page> {
  const opener = await context.newPage()
  await opener.goto(`${url}/sign-in`)
  await opener.evaluate(`loadAxe = (window) => { ${AXE}; return window.axe }`)
  const [page] = await Promise.all([context.waitForEvent('page'), opener.evaluate('void open("about:blank")')])
  return page
}

/**
 * axe-core can't check text on gradients, so only scroll edges have them. Media and frames have no need of preloading. No
 * axe-core is in frames, so it need not ask them, and the HTML shows where an element is.
 */
const runAxe = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(
    `(window.axe ?? opener.loadAxe(window)).run({ resultTypes: ['violations', 'incomplete'], preload: false, iframes: false, selectors: false })
      .then(({ violations, incomplete }) => {
        const isUnchecked = ({ data, relatedNodes }) =>
          data?.messageKey === 'bgGradient' && !relatedNodes.every(({ html }) => html.includes('role="region"'))
        const unchecked = incomplete.map((rule) => ({ ...rule, nodes: rule.nodes.filter(({ any }) => any.some(isUnchecked)) }))
        return [...violations, ...unchecked].flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html))
      })`,
  )

/** Turns the page's own scripts on and off; those of a test still run. */
async function createScriptSwitch(page: Page): Promise<(isOn: boolean) => Promise<void>> {
  const session = await page.context().newCDPSession(page)
  let wasOn = true
  return async (isOn) => {
    if (isOn !== wasOn) await session.send('Emulation.setScriptExecutionDisabled', { value: !isOn })
    wasOn = isOn
  }
}

/** `size` and `hasScript`: what a step has when it begins, or null for what the walk began with. */
type Begin = (step: Step) => { size: ViewportSize; hasScript: boolean } | null

export async function walk(
  options: BrowserContextOptions,
  look: (page: Page, step: Step, server: Served) => Promise<void>,
  begin: Begin = () => null,
): Promise<string[]> {
  const browser = await openChromium()
  const server = await serveTest()
  // no transitions, which axe-core would check half-way
  const { javaScriptEnabled = true } = options
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  const page = javaScriptEnabled ? await openForAxe(context, server.url) : await context.newPage()
  const switchScript = await createScriptSwitch(page)
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
    const { size, hasScript } = begin(step) ?? { size: null, hasScript: javaScriptEnabled }
    if (javaScriptEnabled) await switchScript(hasScript)
    if (size && size.width !== page.viewportSize()?.width) await page.setViewportSize(size)
    await step.go(page, server)
    await look(page, step, server)
  }
  await browser.close()
  await server.close()
  return complaints
}

const VISIBLE_COPY = `[...document.querySelectorAll('.copy')].filter((button) => button.checkVisibility()).length`

/** Buttons that need a script. Some pages open the next one by themselves, which ends an evaluation. */
export async function countVisibleCopy(page: Page): Promise<number> {
  try {
    return await page.evaluate<number>(VISIBLE_COPY)
  } catch (error) {
    if (!String(error).includes('because of a navigation')) throw error
    await page.waitForLoadState()
    return await page.evaluate<number>(VISIBLE_COPY)
  }
}

type Views = Record<string, { width: number; height: number }>

/** Steps in a row that share a turn: a page is laid out again when its width changes. */
const STEPS_A_TURN = 4

/** How the short form opens a step: in one view and one theme, with or without script. */
export type Turn = { view: string; theme: Theme; hasScript: boolean }

export function findTurn(views: Views, step: Step): Turn {
  const all = [true, false].flatMap((hasScript) =>
    Object.keys(views).flatMap((view) => THEMES.map((theme) => ({ view, theme, hasScript }))),
  )
  return (
    all[Math.floor(STEPS.indexOf(step) / STEPS_A_TURN) % all.length] ?? { view: '', theme: 'light', hasScript: true }
  )
}

/**
 * Checks the width of a page, its height on a desktop, and all axe-core rules: in each view in both themes, or only in
 * `turn`. It begins with the view that the page is in, and the walk goes on in the last one, so that no page is laid out
 * more often than needed.
 */
export async function findInViews(
  views: Views,
  { page, step, server, turn }: { page: Page; step: Step; server: Served; turn: Turn | null },
): Promise<string[]> {
  const found: string[] = []
  const before = page.viewportSize()
  const isNow = ([, { width }]: [string, { width: number }]): boolean => width === before?.width
  for (const [view, size] of Object.entries(views).sort((one, other) => Number(isNow(other)) - Number(isNow(one)))) {
    if (turn && turn.view !== view) continue
    if (size.width !== before?.width) {
      await page.setViewportSize(size)
      if (step.isPerView) await step.go(page, server)
    }
    const over = await steadily(() => widthOver(page, size.width))
    if (over > 0) found.push(`${view}: ${over} pixels too wide`)
    const height = await steadily(() => page.evaluate<number>('document.documentElement.scrollHeight'))
    if (size.width >= DESK_WIDTH && !step.isTall && height > MOST_HEIGHT) found.push(`${view}: ${height} pixels tall`)
    for (const theme of turn ? [turn.theme] : THEMES)
      found.push(...(await steadily(() => lookOver(page, theme))).map((line) => `${view}, ${theme}: ${line}`))
  }
  return found
}
