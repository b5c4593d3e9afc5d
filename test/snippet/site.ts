/** A customer's site on another origin. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout } from 'bun:test'
import type { BrowserContext, Page } from 'playwright-core'
import { signEmail } from '../../src/accounts/identity.ts'
import { makeSnippetTag, type SnippetTag } from '../../src/visits/snippet-tag.ts'
import { bringToFront, openBehind, type OpenChromium, openChromium, openTabbedChromium } from '../chromium.ts'
import { type Collector, quiet, startCollector, STUB } from './collector.ts'
import { until } from '../waiting.ts'

const START_MS = 120_000
/** Longer than any test takes on a slow machine. */
const TEST_MS = 120_000
export const SITE_ID = 'site_abc'
/** Result of the page once the script has loaded. */
export const LOADED = 'window.service?.v !== undefined'
const SECRET = 'is_secret'

export type Served = {
  /** attributes of the tag */
  tag?: Partial<SnippetTag>
  /** script after the tag */
  calls?: string
  /** replaces the tag */
  head?: string
  body?: string
  headers?: Record<string, string>
}

export type Opened = { page: Page; said: string[] }

/** `service("identify", ...)`. */
export const identify = (email = 'ada@example.com', signature = signEmail(email, SECRET)): string =>
  `service('identify', ${JSON.stringify({ email, signature })})`

/** The signed person, as the collector receives them. */
export const proofOf = (email: string) => ({ email, signature: signEmail(email, SECRET) })

/** Browser, site and collector of a test file; reset before each test. Tabs are hidden only where `tabs` asks for them. */
export function useBench({ tabs = false } = {}) {
  setDefaultTimeout(TEST_MS)
  let browser: OpenChromium
  let collector: Collector
  let site: ReturnType<typeof startSite>
  const opened: { close(): Promise<void> }[] = []
  let shared: BrowserContext | null = null
  /** Empty pages of the shared profile. */
  const spare: Page[] = []
  beforeAll(async () => {
    ;[browser, collector] = await Promise.all([tabs ? openTabbedChromium() : openChromium(), startCollector()])
    site = startSite(collector.url)
  }, START_MS)
  afterAll(async () => {
    await browser?.close()
    collector?.close()
    await site?.close()
  }, START_MS)
  beforeEach(() => {
    collector?.clear()
    site?.clear()
  })
  afterEach(async () => {
    for (const { close } of opened.splice(0)) await close()
    // no permission was requested
    expect(collector?.calls().filter(({ method }) => method !== 'POST') ?? []).toEqual([])
  })

  const empty = async (page: Page): Promise<void> => {
    await page.goto('about:blank')
    page.removeAllListeners('console')
    page.removeAllListeners('pageerror')
    spare.push(page)
  }
  const listen = (page: Page): Opened => {
    const said: string[] = []
    page.on('console', (message) => message.type() === 'warning' && said.push(message.text()))
    page.on('pageerror', (error) => said.push(`error: ${error.message}`))
    return { page, said }
  }
  return {
    chromium: () => browser,
    collector: () => collector,
    site: () => site,
    listen,
    /** A visible page. It is emptied after the test and used again, because a new one takes far more time. */
    async openPage(url = '/a') {
      shared ??= await browser.browser.newContext()
      const one = listen(spare.pop() ?? (await shared.newPage()))
      opened.push({ close: () => empty(one.page) })
      await one.page.goto(new URL(url, site.url).href)
      return one
    },
    /** A visible page with its own profile. */
    async openAlone(url = '/a', prepare: (context: BrowserContext) => unknown = () => undefined) {
      const context = await browser.browser.newContext()
      opened.push({ close: () => context.close() })
      await prepare(context)
      const one = listen(await context.newPage())
      await one.page.goto(new URL(url, site.url).href)
      return one
    },
    /** A tab, hidden while another is in front. */
    async openTab(url = '/a') {
      const one = listen(await browser.window.newPage())
      opened.push({ close: () => one.page.close() })
      await bringToFront(one.page)
      await one.page.goto(new URL(url, site.url).href)
      return one
    },
    /** An empty tab in front. */
    async openBlank(): Promise<Page> {
      const page = await browser.window.newPage()
      opened.push({ close: () => page.close() })
      await bringToFront(page)
      return page
    },
    /** A tab in the background. */
    async openBehind(url: string): Promise<Page> {
      const page = await openBehind(await this.openBlank(), new URL(url, site.url).href)
      opened.push({ close: () => page.close() })
      return page
    },
    /** Waits for expected requests, and a little longer for unexpected ones. */
    expectReports: (expected: string[]): Promise<void> => expectSent(collector.reported, expected),
    /** The same for requests since the last time. */
    async expectNew(...expected: string[]): Promise<void> {
      await expectSent(collector.reported, expected)
      collector.forget()
    },
    /** Waits for expected requests, where a page may end before the answer to a request, which is then repeated. */
    expectKept: (expected: string[]): Promise<void> => expectSent(collector.kept, expected),
  }
}

async function expectSent(sent: () => string[], expected: string[]): Promise<void> {
  await until(() => sent().length >= expected.length, sent)
  await quiet()
  expect(sent().sort()).toEqual([...expected].sort())
}

function startSite(baseUrl: () => string) {
  let pages = new Map<string, Served>()
  const server = Bun.serve({
    // both names of the machine, so that pages can be of the service's own host too
    hostname: '0.0.0.0',
    port: 0,
    fetch: (request) => {
      const { pathname } = new URL(request.url)
      const served = pages.get(pathname) ?? pages.get('*') ?? {}
      const headers = { 'Content-Type': 'text/html; charset=utf-8', ...served.headers }
      return new Response(toHtml(served, baseUrl()), { headers })
    },
  })
  return {
    url: `http://localhost:${server.port}`,
    /** The same pages on the service's host: another origin of the same site. */
    nearUrl: `http://127.0.0.1:${server.port}`,
    /** The tag, for pages that put it elsewhere than first. */
    tag: (options: Partial<SnippetTag> = {}): string => tagOf(baseUrl(), options),
    /** What is served on a path, or on all others. */
    serve: (served: Served, path = '*'): void => void pages.set(path, served),
    clear: (): void => void (pages = new Map()),
    close: () => server.stop(true),
  }
}

export const tagOf = (baseUrl: string, options: Partial<SnippetTag> = {}): string =>
  makeSnippetTag({ baseUrl, siteId: SITE_ID, stub: STUB, ...options })

const toHtml = ({ tag, head, calls, body = '' }: Served, baseUrl: string): string =>
  `<!doctype html><html><head><link rel="icon" href="data:,">${head ?? tagOf(baseUrl, tag)}` +
  `${calls === undefined ? '' : `<script>${calls}</script>`}</head><body>${body}</body></html>`
