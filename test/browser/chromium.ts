/** A real Chromium before a real server on a port of its own. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { CHROMIUM } from '../chromium.ts'
import { createTestServer, type Options } from '../helper.ts'

const QUIET = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync']

export const openChromium = (more: string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: [...QUIET, ...more] })

export const PASSWORD = 'correct horse battery'

/** A whole server that a browser can reach; `close` ends it. */
export async function serveTest(options: Options = {}) {
  const server = await createTestServer(options)
  const listen = (port: number) =>
    Bun.serve({ port, hostname: '127.0.0.1', fetch: (request) => server.send(request, '127.0.0.1') })
  let http = listen(0)
  const port = http.port ?? 0
  const stop = async (): Promise<void> => {
    server.parts().feed.end()
    await http.stop(true)
  }
  return {
    ...server,
    url: `http://localhost:${port}`,
    /** Nobody can reach it until `start`, which begins anew on the same folder. */
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

/** Signs the owner of the first account in, who chooses a password by the link on the first time. */
export async function signIn(page: Page, { url, first }: Served): Promise<void> {
  await page.goto(`${url}/password?token=${first.inviteToken}`)
  if (await page.isVisible('#newPassword')) {
    await page.fill('#newPassword', PASSWORD)
    await page.click('main .plain')
    await page.waitForURL('**/apps/**')
    return
  }
  await page.goto(`${url}/sign-in`)
  await page.fill('#email', 'first@owner.example')
  await page.fill('#password', PASSWORD)
  await page.click('button.primary')
  await page.waitForURL('**/apps/**')
}

/** A page of the owner of the first account, in a browser and before a server of its own. */
export async function openSignedIn(options: Options = {}, window: BrowserContextOptions = {}) {
  const browser = await openChromium()
  const server = await serveTest(options)
  const page = await browser.newPage(window)
  await signIn(page, server)
  return {
    page,
    /** Goes to a page of the first app. */
    open: (path: string) => page.goto(`${server.url}/apps/${server.first.appId}/${path}`),
    close: async (): Promise<void> => {
      await browser.close()
      await server.close()
    },
  }
}

export type SignedIn = Awaited<ReturnType<typeof openSignedIn>>

/** Opens what a phone hides behind its menu, and the list of apps. */
export async function openMenu(page: Page): Promise<void> {
  if (await page.isVisible('[popovertarget=menu]')) await page.click('[popovertarget=menu]')
  await page.click('.switcher > summary')
}
