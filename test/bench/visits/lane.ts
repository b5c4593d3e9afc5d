/** A window of a real Chromium, a customer's site and a whole service, whose clock and the pages' are moved together. */
import { DEFAULT_RETENTION } from '../../../src/accounts/retention.ts'
import { FIRST_MESSAGES } from '../../../src/accounts/first-messages.ts'
import { type Served, serveTest } from '../../browser/chromium.ts'
import type { OpenChromium } from '../../chromium.ts'
import type { Eventpost } from '../../demo/eventpost.ts'
import { startSite } from '../../demo/site.ts'
import { createMessaging, type Messaging } from '../../messaging.ts'
import { tagOf } from '../../snippet/site.ts'

/** Each step of a page's moved clock is repeated in every page that is opened later, so browsers are not kept for long. */
const VISITS_A_BROWSER = 10

export type Lane = Awaited<ReturnType<typeof openLane>>

export async function openLane(openBrowser: () => Promise<OpenChromium>) {
  const service = await serveTest()
  const messaging = await createMessaging(service)
  await ownLocalhost(service, messaging)
  const draft = await messaging.store().findMessageByName(messaging.app.id, FIRST_MESSAGES[0]?.name ?? '')
  if (!draft) throw new Error('there is no draft')
  await messaging.store().setMessageStatus({ ...messaging.by, id: draft.id, status: 'live' })
  const { appId, siteId, apiKey, identitySecret } = service.first
  const eventpost: Eventpost = { url: service.url, appId, siteId, apiKey, identitySecret }
  const tag = tagOf(service.url, { siteId, requiresConsent: true })
  let job = Promise.withResolvers<void>()
  const site = startSite({ eventpost, tag, work: () => job.promise })
  const nameless = servePage(`${tag}<script>service('consent', true)</script>`)
  const windows = createWindows(openBrowser)
  return {
    service,
    messaging,
    eventpost,
    sitePort: new URL(site.url).port,
    namelessPort: String(nameless.port),
    openWindow: windows.open,
    /** The jobs of a visit wait until they are let go. */
    holdJobs: (): void => void (job = Promise.withResolvers()),
    finishJobs: (): void => job.resolve(),
    async close(): Promise<void> {
      job.resolve()
      await windows.close()
      await site.stop()
      await nameless.stop(true)
      await service.close()
    },
  }
}

/** Results count as opened on the app's own domains only. */
async function ownLocalhost({ first, clock }: Served, { app, store }: Messaging): Promise<void> {
  const { name, timezone, locale } = app
  const settings = {
    name,
    timezone,
    locale,
    homeUrl: null,
    hosts: ['localhost'],
    snippet: { hosts: [], addsPeople: false },
    retention: DEFAULT_RETENTION,
  }
  await store().updateApp({ accountId: first.accountId, actor: 'test', at: clock.now(), appId: app.id, settings })
}

/** The page of a customer who does not say who looks at it. */
const servePage = (head: string) =>
  Bun.serve({
    hostname: 'localhost',
    port: 0,
    fetch: () =>
      new Response(
        `<!doctype html><html><head><link rel="icon" href="data:,">${head}</head><body>Hello</body></html>`,
        {
          headers: { 'Content-Type': 'text/html; charset=utf-8' },
        },
      ),
  })

function createWindows(openBrowser: () => Promise<OpenChromium>) {
  let browser: OpenChromium | null = null
  let visits = 0
  return {
    async open() {
      if (browser && visits % VISITS_A_BROWSER === 0) {
        await browser.close()
        browser = null
      }
      visits += 1
      if (browser) return browser.window
      browser = await openBrowser()
      await browser.window.clock.install()
      return browser.window
    },
    async close(): Promise<void> {
      await browser?.close()
    },
  }
}
