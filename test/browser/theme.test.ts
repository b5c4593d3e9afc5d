import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { openChromium, type Served, serveTest, signIn } from './chromium.ts'

const TRY_MS = 120_000

let browser: Browser
let server: Served

beforeAll(async () => {
  browser = await openChromium()
  server = await serveTest()
}, TRY_MS)
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

/** A page showing a refused form. */
async function refuse(javaScriptEnabled: boolean): Promise<Page> {
  const context = await browser.newContext({ colorScheme: 'light', javaScriptEnabled })
  const page = await context.newPage()
  await signIn(page, server)
  await page.goto(`${server.url}/apps/${server.first.appId}/sender`)
  await page.fill('#fromEmail', 'no address')
  await page.click('main .primary')
  await page.waitForSelector('#fromEmail[aria-invalid]')
  return page
}

test(
  'change on a page with a refused form, which keeps its input',
  async () => {
    const page = await refuse(true)
    await page.fill('#fromName', 'Typed after that')
    const kept = page.waitForResponse((response) => response.url().endsWith('/theme'))
    await page.click('.themes [value=dark]')
    await kept
    expect(await page.getAttribute('html', 'data-theme')).toBe('dark')
    expect(await page.getAttribute('.themes [value=dark]', 'aria-pressed')).toBe('true')
    expect([await page.inputValue('#fromEmail'), await page.inputValue('#fromName')]).toEqual([
      'no address',
      'Typed after that',
    ])
    await page.goto(`${server.url}/apps/${server.first.appId}/you`)
    expect(await page.getAttribute('html', 'data-theme')).toBe('dark')
  },
  TRY_MS,
)

test(
  'can be chosen without script on pages that can be reloaded',
  async () => {
    const page = await refuse(false)
    expect(await page.isVisible('.themes')).toBe(false)
    await page.click('nav >> text=Members')
    await page.waitForURL('**/members')
    await page.click('.themes [value=dark]')
    await page.waitForSelector('html[data-theme=dark]')
    expect(page.url()).toEndWith('/members')
  },
  TRY_MS,
)

/** WCAG 2.2, of colours such as "rgb(24, 23, 21)". */
function contrast(...colours: [string, string]): number {
  const [light = 0, dark = 0] = colours
    .map((colour) => {
      const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/g) ?? [])
        .map((part) => Number(part) / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    })
    .toSorted((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

test.each(['light', 'dark'] as const)(
  'placeholders are as readable as text on a %s page',
  async (colorScheme) => {
    const page = await browser.newPage({ colorScheme })
    await signIn(page, server)
    await page.goto(`${server.url}/apps/${server.first.appId}/settings`)
    const colours = await page.evaluate<[string, string][]>(`
      [...document.querySelectorAll('main [placeholder]')].map((field) =>
        [getComputedStyle(field, '::placeholder').color, getComputedStyle(field).backgroundColor])`)
    expect(colours.length).toBeGreaterThan(2)
    for (const pair of colours) expect(contrast(...pair)).toBeGreaterThanOrEqual(4.5)
    await page.close()
  },
  TRY_MS,
)
