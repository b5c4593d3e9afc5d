import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openSignedIn, type SignedIn } from './chromium.ts'

const TRY_MS = 120_000
const ASKED_MS = 10_000

let signedIn: SignedIn
let page: Page
beforeAll(async () => {
  signedIn = await openSignedIn()
  page = signedIn.page
})
afterAll(() => signedIn?.close())

async function createKeyOn(path: string): Promise<string | null> {
  await signedIn.open(path)
  if (path === 'keys/new') await page.fill('main [name=name]', 'Another server')
  await page.click(path === 'activation' ? 'form[action$="/activation/key"] button' : 'main form .primary')
  return page.textContent('.secret #api-key')
}

const PEOPLE = 'nav >> text=People'

/** Follows a link to another page, which asks whether to leave. */
async function leave(answer: 'accept' | 'dismiss'): Promise<void> {
  const asking = page.waitForEvent('dialog', { timeout: ASKED_MS })
  const clicked = page.click(PEOPLE, { noWaitAfter: true })
  const dialog = await asking
  expect(dialog.type()).toBe('beforeunload')
  await dialog[answer]()
  await clicked
}

test.each(['activation', 'keys/new'])(
  'leaving %s asks first, until its new key is confirmed as stored',
  async (path) => {
    const key = await createKeyOn(path)
    await leave('dismiss')
    expect(await page.textContent('.secret #api-key')).toBe(key)

    const asked: string[] = []
    const note = (dialog: { type(): string; accept(): Promise<void> }) => {
      asked.push(dialog.type())
      void dialog.accept()
    }
    page.on('dialog', note)
    await page.click('.secret > .primary')
    await page.waitForSelector('.secret', { state: 'detached' })
    await page.click(PEOPLE)
    await page.waitForURL('**/people')
    page.off('dialog', note)
    expect(asked).toEqual([])

    await createKeyOn(path)
    await leave('accept')
    await page.waitForURL('**/people')
  },
  TRY_MS,
)
