/** A real Chromium with a real server. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { setPasswordByLink } from '../../src/accounts/members.ts'
import { CHROMIUM_SHELL } from '../chromium.ts'
import { SAME_ORIGIN } from '../dashboard/pages.ts'
import { createTestServer, type Options } from '../helper.ts'
import { findPort } from '../ports.ts'

const QUIET = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // keeps the frame from page to page, which takes a sixth of the CPU time off
  '--disable-features=RenderDocument',
]

export const startChromium = (more: string[] = [], path = CHROMIUM_SHELL): Promise<Browser> =>
  chromium.launch({ executablePath: path, args: [...QUIET, ...more] })

let shared: Promise<Browser> | null = null

/** One for all test files of a process, each of which closes its pages only: a start takes long. It ends with the process. */
export function openChromium(): Promise<Browser> {
  shared ??= startShared()
  shared.catch(() => (shared = null))
  return shared
}

async function startShared(): Promise<Browser> {
  const browser = await startChromium()
  browser.on('disconnected', () => (shared = null))
  browser.close = async () => {
    for (const context of browser.contexts()) await context.close()
  }
  return browser
}

export const PASSWORD = 'correct horse battery'

/** A server that a browser can reach. */
export async function serveTest(options: Options = {}) {
  const server = await createTestServer(options)
  const listen = (port: number) =>
    Bun.serve({ port, hostname: '127.0.0.1', fetch: (request) => server.send(request, '127.0.0.1') })
  const port = await findPort()
  let http = listen(port)
  const stop = async (): Promise<void> => {
    server.parts().feed.end()
    await http.stop(true)
  }
  return {
    ...server,
    url: `http://localhost:${port}`,
    /** Stops the server; `start` restarts it on the same data folder. */
    stop,
    start: async (): Promise<void> => {
      await server.restart()
      http = listen(port)
    },
    close: async (): Promise<void> => {
      await stop()
      await server.close()
    },
  }
}

export type Served = Awaited<ReturnType<typeof serveTest>>

/** A cheap hash; the real one is slow on purpose. */
const passwordHash = Bun.password.hash(PASSWORD, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 })

/** Signs in the first owner without a form, which takes far less CPU time, and opens the first app. */
export async function signIn(page: Page, { url, first, parts, clock }: Served): Promise<void> {
  const isSignedIn = async (): Promise<boolean> => (await page.request.get(`${url}/`)).url().includes('/apps/')
  if (!(await isSignedIn())) {
    // the link can be used once
    await setPasswordByLink({ store: parts().store, now: clock.now() }, first.inviteToken ?? '', await passwordHash)
    const form = { email: 'first@owner.example', password: PASSWORD, next: '/' }
    await page.request.post(`${url}/sign-in`, { form, headers: SAME_ORIGIN })
  }
  await page.goto(`${url}/`)
  await page.waitForURL('**/apps/**')
}

/** A page of the first owner, with its own browser and server. */
export async function openSignedIn(options: Options = {}, window: BrowserContextOptions = {}) {
  const browser = await openChromium()
  const server = await serveTest(options)
  const page = await browser.newPage(window)
  await signIn(page, server)
  return {
    page,
    /** Opens a page of the first app. */
    open: (path: string) => page.goto(`${server.url}/apps/${server.first.appId}/${path}`),
    close: async (): Promise<void> => {
      await browser.close()
      await server.close()
    },
  }
}

export type SignedIn = Awaited<ReturnType<typeof openSignedIn>>

/** Opens the phone menu and the app switcher. */
export async function openMenu(page: Page): Promise<void> {
  if (await page.isVisible('[popovertarget=menu]')) await page.click('[popovertarget=menu]')
  await page.click('.switcher > summary')
}

/** Pixels by which the page is wider than its window of `width`, once the browser has laid it out for that width. */
export async function widthOver(page: Page, width: number): Promise<number> {
  await page.waitForLoadState()
  return page.evaluate<number>(`new Promise((resolve) => {
    const until = performance.now() + 10000
    const look = () => {
      const over = document.documentElement.scrollWidth - innerWidth
      if ((innerWidth === ${width} && over <= 0) || performance.now() > until) resolve(over)
      else setTimeout(look, 50)
    }
    look()
  })`)
}
