/**
 * A real Chromium, started once per test file: the one at CHROMIUM_PATH, Debian's, or else the npm package's, which has
 * windows instead of tabs, no back/forward cache and no prerendering. Where none runs, importing this fails.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packed from '@sparticuz/chromium'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

const DEBIAN = '/usr/bin/chromium'
const READY_MS = 20_000

const WORDS = [
  '--headless=new',
  '--no-sandbox',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
]

type Found = {
  path: string
  /** with tabs, a back/forward cache and prerendering */
  isWhole: boolean
}

export type OpenChromium = {
  browser: Browser
  /** Of the user's own profile: a page here is hidden when another is brought to the front, as in life. */
  window: BrowserContext
  close(): Promise<void>
}

async function findChromium(): Promise<Found> {
  const installed = process.env.CHROMIUM_PATH ?? (existsSync(DEBIAN) ? DEBIAN : null)
  if (installed !== null) return { path: installed, isWhole: true }
  const path = await packed.executablePath().catch(() => null)
  const runs = path !== null && Bun.spawnSync([path, '--version'], { stdout: 'ignore', stderr: 'ignore' }).success
  if (runs) return { path, isWhole: false }
  throw new Error('No Chromium runs here. Install the package chromium, or set CHROMIUM_PATH.')
}

const FOUND = await findChromium()
export const CHROMIUM = FOUND.path

/** @throws Error in the npm package's Chromium, which cannot do what the test is about */
export function requireWholeChromium(): void {
  if (!FOUND.isWhole)
    throw new Error('This test needs a whole Chromium. Install the package chromium, or set CHROMIUM_PATH.')
}

/** A browser process that opens `url`, driven by nobody. */
export function startChromium(url: string, words: string[] = []): { profile: string; stop(): Promise<void> } {
  const profile = mkdtempSync(join(tmpdir(), 'eventpost-chromium-'))
  const command = [FOUND.path, ...WORDS, `--user-data-dir=${profile}`, ...words, url]
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await child.exited
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  }
  return { profile, stop }
}

/** Starts a browser and takes hold of it. Playwright's own start would keep every tab visible. */
export async function openChromium(): Promise<OpenChromium> {
  const { profile, stop } = startChromium('about:blank', ['--remote-debugging-port=0'])
  const port = await readPort(join(profile, 'DevToolsActivePort'))
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`, { noDefaults: true })
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
  if (FOUND.isWhole) return page.bringToFront()
  for (const one of page.context().pages()) if (one !== page) await setWindow(one, 'minimized')
  await setWindow(page, 'normal')
}

/** Opens a page behind the one in front, as a middle click does. */
export async function openBehind(front: Page, url: string): Promise<Page> {
  const context = front.context()
  const session = await context.newCDPSession(front)
  const coming = context.waitForEvent('page')
  const [name, how] = ['Target.createTarget' as const, FOUND.isWhole ? { background: true } : MINIMIZED]
  await session.send(name, { url, ...how })
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
