import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openSignedIn, type SignedIn } from './chromium.ts'

const TRY_MS = 60_000
const COLOUR = '#0a7d4f'
let sender: SignedIn

beforeAll(async () => void (sender = await openSignedIn()), TRY_MS)
afterAll(() => sender?.close())

test(
  'the sample email follows the fields without saving, and Back leaves the page',
  async () => {
    const { page, open } = sender
    await open('sender/limits')
    await open('sender')
    const sample = page.frameLocator('.screen.desktop iframe').locator('body')
    const isColoured = async () => (await sample.innerHTML()).includes(COLOUR)
    expect(await isColoured()).toBe(false)
    await page.fill('#colour', COLOUR)
    await page.waitForSelector('.screen.desktop iframe[src*="%230a7d4f"]')
    expect(await isColoured()).toBe(true)
    await page.fill('#colour', 'nonsense')
    await page.waitForSelector('.screen.desktop iframe[src*="nonsense"]')
    expect(await isColoured()).toBe(false)
    expect(await page.isVisible('#from [value=preview]')).toBe(false)
    await page.goBack()
    expect(new URL(page.url()).pathname).toEndWith('/sender/limits')
  },
  TRY_MS,
)
