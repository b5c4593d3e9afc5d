/**
 * A real Chromium, started once per test file: the one at CHROMIUM_PATH, Debian's, or else the package's, which is a
 * browser without windows: no tab of it is ever hidden, and no page is kept for going back.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packed from '@sparticuz/chromium'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'

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

export type Found = {
  path: string
  /** with tabs that can be hidden, pages that are kept for going back, and prerendering */
  isWhole: boolean
}

export type OpenChromium = {
  browser: Browser
  /** Of the user's own profile: tabs here are hidden when another comes to the front, as in life. */
  window: BrowserContext
  close(): Promise<void>
}

/** Null where none can be had. @throws Error in continuous integration, where no test may be skipped */
async function findChromium(): Promise<Found | null> {
  const installed = process.env.CHROMIUM_PATH ?? (existsSync(DEBIAN) ? DEBIAN : null)
  if (installed !== null) return { path: installed, isWhole: true }
  if (process.env.CI) throw new Error('there is no Chromium; install it, or say where it is with CHROMIUM_PATH')
  const path = await packed.executablePath().catch(() => null)
  const runs = path !== null && Bun.spawnSync([path, '--version'], { stdout: 'ignore', stderr: 'ignore' }).success
  console.warn(runs ? 'tests that need a whole Chromium are skipped' : 'tests in Chromium are skipped: there is none')
  return runs ? { path, isWhole: false } : null
}

/** What `describe.skipIf` asks for. */
export const FOUND = await findChromium()

/** A browser process that opens `url`, driven by nobody. */
export function startChromium(url: string, words: string[] = []): { profile: string; stop(): Promise<void> } {
  const profile = mkdtempSync(join(tmpdir(), 'eventpost-chromium-'))
  const command = [FOUND?.path ?? DEBIAN, ...WORDS, `--user-data-dir=${profile}`, ...words, url]
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

async function readPort(file: string): Promise<string> {
  const until = performance.now() + READY_MS
  while (performance.now() < until) {
    const [port, path] = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
    if (port && path) return port
    await Bun.sleep(10)
  }
  throw new Error('Chromium does not start')
}
