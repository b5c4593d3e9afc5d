/** The demo in a real Chromium, from sign-in to sign-out, against a recorder in Eventpost's place. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import type { BrowserContext, Page } from 'playwright-core'
import { type OpenChromium, openChromium } from '../chromium.ts'
import { type Collector, quiet, startCollector } from '../snippet/collector.ts'
import { until } from '../waiting.ts'
import { tagOf } from '../snippet/site.ts'
import { startSite } from './site.ts'

/** Far beyond what any test takes, also on a machine that does much else. */
const TEST_MS = 120_000
const JOB_MS = 50
const SECRET = 'is_demo'
const KEY = 'mc_demo'

let browser: OpenChromium
let collector: Collector
let site: ReturnType<typeof startSite>
let profile: BrowserContext
let page: Page

setDefaultTimeout(TEST_MS)
beforeAll(async () => {
  ;[browser, collector] = await Promise.all([openChromium(), startCollector()])
})
afterAll(async () => {
  await browser?.close()
  collector?.close()
  await site?.stop()
})

beforeEach(async () => {
  collector.clear()
  await profile?.close()
  await site?.stop()
  const url = collector.url()
  const eventpost = { url, appId: 'app_demo', siteId: 'site_demo', apiKey: KEY, identitySecret: SECRET }
  site = startSite({ eventpost, tag: tagOf(url, { siteId: 'site_demo', requiresConsent: true }), jobMs: JOB_MS })
  profile = await browser.browser.newContext()
  page = await profile.newPage()
})

async function signIn(email: string, firstName = ''): Promise<void> {
  await page.goto(site.url)
  await page.fill('[name=email]', email)
  await page.fill('[name=firstName]', firstName)
  await page.click('button')
  await page.waitForURL('**/home')
}

async function expectReports(expected: string[]): Promise<void> {
  await until(() => collector.reported().length >= expected.length, collector.reported)
  await quiet()
  expect(collector.reported()).toEqual(expected)
}

const sentTo = (path: string) =>
  collector.recorded.filter(({ url }) => url === path).map(({ text, headers }) => ({ body: JSON.parse(text), headers }))

describe('the demo', () => {
  test('adds and identifies people who sign in', async () => {
    await signIn(' Ada@Example.com', 'Ada')
    await page.click('#banner [value=yes]')
    await until(() => collector.reported().length === 1, collector.reported)
    const [sent] = collector.bodies()
    const proof = createHmac('sha256', SECRET).update('ada@example.com').digest('hex')
    expect(sent).toMatchObject({ site: 'site_demo', email: 'Ada@Example.com', signature: proof })
    const [added] = sentTo('/api/v1/contacts')
    expect(added?.headers.authorization).toBe(`Bearer ${KEY}`)
    const person = { email: 'Ada@Example.com', firstName: 'Ada', source: 'sign-up' }
    expect(added?.body).toEqual({ newsletter: 'app_demo', ...person })
    expect(await page.content()).not.toMatch(/mc_demo|is_demo/)
  })

  test('reports nothing before the banner is answered, and remembers the answer', async () => {
    await signIn('ada@example.com')
    await page.click('text=Settings')
    await page.waitForURL('**/settings')
    await expectReports([])
    await page.click('#banner [value=yes]')
    await expectReports(['ada page /settings'])
    await page.click('text=Home')
    await page.waitForURL('**/home')
    await expectReports(['ada page /settings', 'ada leave /settings', 'ada page /home'])
    expect(await page.isVisible('#banner')).toBe(false)
  })

  test('reports nothing when the banner is refused', async () => {
    await signIn('ada@example.com')
    await page.click('#banner [value=no]')
    await page.click('text=Settings')
    await page.waitForURL('**/settings')
    await expectReports([])
  })

  test('reports views of its single-page part, and results from its server', async () => {
    await signIn('ada@example.com')
    await page.click('#banner [value=yes]')
    const expectView = (path: string) => until(() => collector.kept().includes(`ada page ${path}`), collector.kept)
    await expectView('/home')
    await page.click('text=Studio >> nth=1')
    await expectView('/studio/pictures')
    await page.click('text=Styles')
    await expectView('/studio/styles')
    await page.click('text=Make >> nth=0')
    await expectView('/studio/make')
    await page.click('#make')
    const link = page.locator('#made a')
    await link.waitFor()
    const path = (await link.getAttribute('href')) ?? ''
    await link.click()
    await page.waitForURL(`**${path}`)
    expect(await page.textContent('main')).toContain('Your 12 pictures are ready.')
    const [sent] = sentTo('/api/v1/events')
    expect(sent?.body).toEqual({
      app: 'app_demo',
      email: 'ada@example.com',
      event: 'results_ready',
      createContact: true,
      properties: { url: site.url + path, headline: 'Your 12 pictures are ready.' },
    })
    expect(sent?.headers['idempotency-key']).toBe(path.split('/').at(-1))
    const views = ['/home', '/studio/pictures', '/studio/styles', '/studio/make', path]
    await expectView(path)
    const reported = collector.kept()
    expect(reported.filter((one) => one.includes(' page '))).toEqual(views.map((view) => `ada page ${view}`))
    expect(reported).toContain('ada track pictures_started /studio/make')
  })

  test('forgets people who sign out', async () => {
    await signIn('ada@example.com')
    await page.click('#banner [value=yes]')
    await expectReports(['ada page /home'])
    await page.click('#sign-out button')
    await page.waitForURL(`${site.url}/`)
    await signIn('grace@example.com')
    await expectReports(['ada page /home', 'ada leave /home', 'grace page /home'])
  })

  test('works without Eventpost', async () => {
    collector.replyWith('lost')
    await signIn('ada@example.com')
    await page.click('#banner [value=yes]')
    await page.click('text=Settings')
    await page.waitForURL('**/settings')
    expect(await page.textContent('main')).toContain('You are signed in as ada@example.com.')
  })
})
