import { expect, test } from 'bun:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { addPerson } from '../api/reports.ts'
import { openChromium, PASSWORD, serveTest, signIn } from './chromium.ts'

const TRY_MS = 120_000
const TEN_MINUTES = 10 * 60_000

/** The file that an action downloads. */
async function download(page: Page, act: () => Promise<unknown>): Promise<{ name: string; text: string }> {
  const [file] = await Promise.all([page.waitForEvent('download'), act()])
  return { name: file.suggestedFilename(), text: await Bun.file(await file.path()).text() }
}

const titleOf = (page: Page) => page.textContent('h1')

test.each<BrowserContextOptions>([{ javaScriptEnabled: true }, { javaScriptEnabled: false }])(
  'an export asks for an older password, and then downloads by itself: %p',
  async (options) => {
    const [browser, server] = [await openChromium(), await serveTest()]
    const page = await browser.newPage(options)
    await signIn(page, server)
    await addPerson(server)
    const people = `${server.url}/apps/${server.first.appId}/people`
    await page.goto(`${people}?status=subscribed`)
    const csv = () => page.click('.list-foot .hint a >> text=CSV')

    const first = await download(page, csv)
    expect(first.name).toMatch(/^people-.+\.csv$/)
    expect(first.text).toContain('ada@example.com')
    expect(page.url()).toBe(`${people}?status=subscribed`)

    server.clock.tick(TEN_MINUTES)
    await csv()
    await page.waitForURL('**/export?**')
    expect(await titleOf(page)).toBe('Confirm your password')
    await page.fill('#confirmPassword', PASSWORD)
    expect(await download(page, () => page.click('button.primary'))).toEqual(first)
    expect(await titleOf(page)).toBe('Your download has started')
    expect(await download(page, () => page.click('text=Download again'))).toEqual(first)
    await page.click('text=Back to the list')
    await page.waitForURL(`${people}?status=subscribed`)
    expect(await download(page, csv)).toEqual(first)
    await browser.close()
    await server.close()
  },
  TRY_MS,
)
