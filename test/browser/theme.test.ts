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

type Colour = { red: number; green: number; blue: number; alpha: number }

/** Of computed colours, such as "rgb(24, 23, 21)" or "rgba(0, 0, 0, 0.5)". */
function readColour(text: string): Colour {
  const [, red, green, blue, alpha = '1'] = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/.exec(text) ?? []
  if (red === undefined) throw new Error(`unknown colour ${text}`)
  return { red: Number(red), green: Number(green), blue: Number(blue), alpha: Number(alpha) }
}

function blend(front: Colour, back: Colour): Colour {
  const mix = (part: 'red' | 'green' | 'blue') => front[part] * front.alpha + back[part] * (1 - front.alpha)
  return { red: mix('red'), green: mix('green'), blue: mix('blue'), alpha: back.alpha }
}

/** WCAG 2.2. */
function luminanceOf({ red, green, blue }: Colour): number {
  const [r = 0, g = 0, b = 0] = [red, green, blue]
    .map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

/** WCAG 2.2, of a text and what is behind it: the backgrounds from its element's to the page's. */
function contrast(text: string, backgrounds: string[]): number {
  const layers = backgrounds.map(readColour)
  const opaque = layers.findIndex(({ alpha }) => alpha === 1)
  const bottom = layers[opaque]
  if (!bottom) throw new Error('nothing opaque is behind the text')
  const back = layers.slice(0, opaque).reduceRight((behind, layer) => blend(layer, behind), bottom)
  const [light = 0, dark = 0] = [blend(readColour(text), back), back].map(luminanceOf).toSorted((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

test('contrast is measured against what is seen behind a text', () => {
  const [black, white] = ['rgb(0, 0, 0)', 'rgb(255, 255, 255)']
  expect(contrast(black, [white])).toBe(21)
  expect(contrast(white, ['rgba(0, 0, 0, 0)', white, black])).toBe(1)
  expect(contrast('rgba(0, 0, 0, 0)', [white])).toBe(1)
  expect(contrast(white, ['rgba(0, 0, 0, 0.5)', white])).toBeCloseTo(3.98, 2)
  expect(() => contrast(black, ['rgba(0, 0, 0, 0)'])).toThrow('opaque')
})

test.each(['light', 'dark'] as const)(
  'placeholders are as readable as text on a %s page',
  async (colorScheme) => {
    const page = await browser.newPage({ colorScheme })
    await signIn(page, server)
    await page.goto(`${server.url}/apps/${server.first.appId}/settings`)
    const colours = await page.evaluate<[string, string[]][]>(`{
      const behind = (one) => one ? [getComputedStyle(one).backgroundColor, ...behind(one.parentElement)] : []
      Array.from(document.querySelectorAll('main [placeholder]'), (field) =>
        [getComputedStyle(field, '::placeholder').color, behind(field)])
    }`)
    expect(colours.length).toBeGreaterThan(2)
    for (const [text, backgrounds] of colours) expect(contrast(text, backgrounds)).toBeGreaterThanOrEqual(4.5)
    await page.close()
  },
  TRY_MS,
)
