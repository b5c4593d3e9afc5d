/** Someone at the customer's site: what they do in the browser, and what is true of them while they do it. */
import type { BrowserContext, Page } from 'playwright-core'
import { readPresence } from '../../api/reports.ts'
import { bringToFront } from '../../chromium.ts'
import { sendResultsReady } from '../../demo/eventpost.ts'
import { EVENTS } from '../../helper.ts'
import { until } from '../../waiting.ts'
import type { Lane } from './lane.ts'

/** What is on its way to the service has come by then, also on a machine that does much else. */
const ARRIVES_MS = 15_000
const QUIET_MS = 60

/** Since when (ms UTC) the person is on the site, or is not: a page in front of them that the network reaches. */
export type Truth = { here: { at: number; isHere: boolean }[]; resultSeenAt: number | null }

export type Visitor = ReturnType<typeof createVisitor>

export function createVisitor({ lane, window, name }: { lane: Lane; window: BrowserContext; name: string }) {
  const { service, messaging, eventpost } = lane
  const email = `${name}@example.com`
  const origin = `http://${name}.localhost:${lane.sitePort}`
  const [blank] = window.pages()
  const truth: Truth = { here: [], resultSeenAt: null }
  const tabs: Page[] = []
  let front: Page | null = null
  let isOnline = true
  let isReporting = false
  let hasJob = false
  let resultPath = ''

  const isHere = (): boolean => front !== null && isOnline
  const presence = async () => {
    const contact = await messaging.store().findContact(messaging.app.id, email)
    return readPresence(service.parts(), { appId: messaging.app.id, contactId: contact?.id ?? 0 })
  }
  /** Notes what is true from now on, and gives the network time: until the service says the same, or a while. */
  const settle = async (): Promise<void> => {
    truth.here.push({ at: service.clock.now(), isHere: isHere() })
    const path = front && new URL(front.url()).pathname
    const end = performance.now() + (isReporting && isOnline ? ARRIVES_MS : 0)
    while (performance.now() < end) {
      const known = await presence()
      if (known.isHere === isHere() && (path === null || known.paths.includes(path))) return
      await Bun.sleep(10)
    }
    if (!isReporting || !isOnline) await Bun.sleep(QUIET_MS)
  }
  const open = async (url: string): Promise<Page> => {
    const page = await window.newPage()
    tabs.push(page)
    front = page
    await bringToFront(page)
    await page.goto(url)
    return page
  }
  const current = (): Page => {
    if (!front) throw new Error(`${name} looks at nothing`)
    return front
  }
  const drop = async (page: Page | undefined): Promise<void> => {
    if (!page) return
    tabs.splice(tabs.indexOf(page), 1)
    if (front === page) front = null
    await page.close({ runBeforeUnload: true })
    if (!page.isClosed()) await page.waitForEvent('close')
  }
  /** Shows an empty tab, so that none of the site is in front. */
  const lookAway = async (): Promise<void> => {
    if (blank) await bringToFront(blank)
  }
  const closeAll = async (): Promise<void> => {
    for (const page of tabs.slice()) await drop(page)
    await lookAway()
    await settle()
  }

  return {
    email,
    truth,
    async arrive(answer: 'yes' | 'no' | null): Promise<void> {
      const page = await open(`${origin}/`)
      await page.fill('[name=email]', email)
      await page.click('button')
      await page.waitForURL('**/home')
      isReporting = answer === 'yes'
      if (answer) await page.click(`#banner [value=${answer}]`)
      await settle()
    },
    async arriveNameless(): Promise<void> {
      await open(`http://${name}.localhost:${lane.namelessPort}/offer`)
      await settle()
    },
    async startJob(): Promise<void> {
      const page = current()
      await page.click('nav a[href="/studio/pictures"]')
      await page.waitForURL('**/studio/pictures')
      await page.click('#views a[href="/studio/make"]')
      await page.click('#make')
      hasJob = true
      await settle()
    },
    async view(path: string): Promise<void> {
      await current().click(`nav a[href="${path}"] >> nth=0`)
      await current().waitForURL(`**${path}`)
      await settle()
    },
    async clickResult(): Promise<void> {
      const link = current().locator('#made a')
      await link.click()
      await current().waitForURL('**/results/*')
      truth.resultSeenAt ??= service.clock.now()
      await settle()
    },
    async openTab(path: string): Promise<void> {
      await open(origin + path)
      await settle()
    },
    async comeBack(path: string): Promise<void> {
      const [kept] = tabs
      const url = origin + (path === 'result' ? resultPath : path)
      if (kept) {
        front = kept
        await bringToFront(kept)
        await kept.goto(url)
      } else await open(url)
      if (path === 'result') truth.resultSeenAt ??= service.clock.now()
      await settle()
    },
    async show(index: number): Promise<void> {
      front = tabs[index] ?? null
      if (front) await bringToFront(front)
      await settle()
    },
    async hide(): Promise<void> {
      front = null
      await lookAway()
      await settle()
    },
    async close(index: number): Promise<void> {
      await drop(tabs[index])
      if (!front) await lookAway()
      await settle()
    },
    closeAll,
    /** What is left of a crashed tab is closed, and can tell nothing. */
    async crash(): Promise<void> {
      const page = current()
      const crashed = page.waitForEvent('crash')
      page.goto('chrome://crash').catch(() => null)
      await crashed
      tabs.splice(tabs.indexOf(page), 1)
      front = null
      isReporting = false
      await page.close()
      await lookAway()
      await settle()
    },
    async goOffline(): Promise<void> {
      await window.setOffline(true)
      isOnline = false
      await settle()
    },
    async goOnline(): Promise<void> {
      await window.setOffline(false)
      isOnline = true
      await settle()
    },
    /** The customer's server has the results, and tells the service. */
    async finish(): Promise<void> {
      const result = { id: crypto.randomUUID(), url: `${origin}/results/0`, headline: 'Your 12 pictures are ready.' }
      if (hasJob) lane.finishJobs()
      else await sendResultsReady(eventpost, { email, firstName: '' }, result)
      const query = `${EVENTS}?app=${eventpost.appId}&email=${encodeURIComponent(email)}&event=results_ready`
      const url = await until(
        async () => {
          const { properties } = (await service.call('GET', query)).body.data?.[0] ?? {}
          return (properties as { url?: string } | undefined)?.url
        },
        () => email,
      )
      resultPath = new URL(url).pathname
    },
    async leaveForGood(): Promise<void> {
      if (!isOnline) await window.setOffline(false)
      for (const page of tabs.slice()) await drop(page)
    },
  }
}
