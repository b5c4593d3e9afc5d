/**
 * A real Chromium, started once per test file. The shell of the npm package has windows instead of tabs, no back/forward
 * cache and no prerendering, and takes a third of the CPU time of the whole one: that at CHROMIUM_PATH, or Debian's.
 * Where only one of them runs, it stands in for the other; where none does, importing this fails.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packed from '@sparticuz/chromium'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { makeAlone } from './executable.ts'

const DEBIAN = '/usr/bin/chromium'
const READY_MS = 60_000

const WORDS = [
  '--headless=new',
  '--no-sandbox',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
]

export type OpenChromium = {
  browser: Browser
  /** Of the user's own profile: a page here is hidden when another is brought to the front, as in life. */
  window: BrowserContext
  close(): Promise<void>
}

/** Unpacked by one process: the others would start what is half written. */
async function findShell(): Promise<string | null> {
  const path = await makeAlone('chromium', () => packed.executablePath()).catch(() => null)
  const runs = path !== null && Bun.spawnSync([path, '--version'], { stdout: 'ignore', stderr: 'ignore' }).success
  return runs ? path : null
}

function orFail(path: string | null): string {
  if (path === null) throw new Error('No Chromium runs here. Install the package chromium, or set CHROMIUM_PATH.')
  return path
}

const WHOLE = process.env.CHROMIUM_PATH ?? (existsSync(DEBIAN) ? DEBIAN : null)
/** Browsers with tabs, one of which is in front. */
const tabbed = new WeakSet<Browser>()
/** For pages that need no tabs. */
export const CHROMIUM_SHELL = orFail((await findShell()) ?? WHOLE)
export const CHROMIUM = WHOLE ?? CHROMIUM_SHELL

/** @throws Error in the shell, which cannot do what the test is about */
export function requireWholeChromium(): void {
  if (WHOLE === null)
    throw new Error('This test needs a whole Chromium. Install the package chromium, or set CHROMIUM_PATH.')
}

/** A browser process that opens `url`, driven by nobody. */
export function startChromium(url: string, words: string[] = [], path = CHROMIUM) {
  const profile = mkdtempSync(join(tmpdir(), 'eventpost-chromium-'))
  const command = [path, ...WORDS, `--user-data-dir=${profile}`, ...words, url]
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await child.exited
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  }
  return { profile, stop }
}

/** The shell, for pages that stay in front. */
export const openChromium = (): Promise<OpenChromium> => take(CHROMIUM_SHELL)

/** The whole browser, in whose window tabs are hidden and shown. */
export const openTabbedChromium = (): Promise<OpenChromium> => take(CHROMIUM)

function hasTabs(page: Page): boolean {
  const browser = page.context().browser()
  return browser !== null && tabbed.has(browser)
}

/** Starts a browser and takes hold of it. Playwright's own start would keep every tab visible. */
async function take(path: string): Promise<OpenChromium> {
  const { profile, stop } = startChromium('about:blank', ['--remote-debugging-port=0'], path)
  const port = await readPort(join(profile, 'DevToolsActivePort'))
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`, { noDefaults: true })
  if (path === WHOLE) tabbed.add(browser)
  const [window] = browser.contexts()
  if (!window) throw new Error('Chromium has no window')
  const close = async (): Promise<void> => {
    await browser.close()
    await stop()
  }
  return { browser, window, close }
}

/** Shows a page of a browser's window, and hides the others. */
export async function bringToFront(page: Page): Promise<void> {
  if (hasTabs(page)) return page.bringToFront()
  for (const one of page.context().pages()) if (one !== page) await setWindow(one, 'minimized')
  await setWindow(page, 'normal')
}

/** Opens a page behind the one in front, as a middle click does. */
export async function openBehind(front: Page, url: string): Promise<Page> {
  const context = front.context()
  const session = await context.newCDPSession(front)
  const coming = context.waitForEvent('page')
  const how = hasTabs(front) ? { background: true } : MINIMIZED
  await session.send('Target.createTarget', { url, ...how })
  const page = await coming
  // a hidden tab draws no frames, on which other ways of waiting rest; the script is there when all is loaded
  await page.waitForLoadState()
  return page
}

const MINIMIZED = { newWindow: true, windowState: 'minimized' } as const

async function setWindow(page: Page, windowState: 'minimized' | 'normal'): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { windowId } = await session.send('Browser.getWindowForTarget')
  await session.send('Browser.setWindowBounds', { windowId, bounds: { windowState } })
  await session.detach()
}

async function readPort(file: string): Promise<string> {
  const until = performance.now() + READY_MS
  while (performance.now() < until) {
    const [port, path] = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
    if (port && path) return port
    await Bun.sleep(10)
  }
  throw new Error('Chromium does not start')
}
