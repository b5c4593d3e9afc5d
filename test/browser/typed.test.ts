import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openSignedIn, type SignedIn } from './chromium.ts'

const TRY_MS = 120_000

let signedIn: SignedIn
let page: Page
beforeAll(async () => {
  signedIn = await openSignedIn()
  page = signedIn.page
})
afterAll(() => signedIn?.close())

const open = (path: string) => signedIn.open(path)

async function typeSettings(domains: string): Promise<void> {
  await open('settings')
  await page.fill('#app', 'Typed')
  await page.fill('#domains', domains)
  await page.selectOption('#timezone', 'Europe/Zurich')
  await page.check('[name=addsPeople]')
}

const readSettings = async () => [
  await page.inputValue('#app'),
  await page.inputValue('#domains'),
  await page.inputValue('#timezone'),
  await page.isChecked('[name=addsPeople]'),
]

test(
  'Back, links and reload keep the input of a refused form',
  async () => {
    await typeSettings('no domain')
    await page.click('main .primary')
    await page.waitForSelector('.notice.error')
    await page.goBack()
    expect(await page.locator('.notice.error').count()).toBe(0)
    expect(await readSettings()).toEqual(['Typed', 'no domain', 'Europe/Zurich', true])

    await typeSettings('first.example\nsecond.example')
    await page.click('nav >> text=People')
    await page.waitForURL('**/people')
    await page.goBack()
    expect(await readSettings()).toEqual(['Typed', 'first.example\nsecond.example', 'Europe/Zurich', true])
    await page.reload()
    expect(await readSettings()).toEqual(['Typed', 'first.example\nsecond.example', 'Europe/Zurich', true])
  },
  TRY_MS,
)

test(
  'a chosen option stays chosen',
  async () => {
    await open('members/new')
    await page.check('[value=owner]')
    await page.check('[value=viewer]')
    await page.reload()
    expect(await page.isChecked('[value=viewer]')).toBe(true)
  },
  TRY_MS,
)

test(
  'a page opened again shows saved values, and never a password',
  async () => {
    await typeSettings('first.example')
    await Promise.all([page.waitForEvent('load'), page.click('nav >> text=Settings')])
    expect((await readSettings())[0]).toBe('first')
    await open('you')
    await page.fill('#newPassword', 'four dull wooden spoons')
    await page.keyboard.press('Tab')
    await page.reload()
    await open('sender/server')
    await page.fill('#smtpPassword', 'hidden')
    await page.fill('#smtpUser', 'Kept')
    await page.keyboard.press('Tab')
    await page.reload()
    expect([await page.inputValue('#smtpPassword'), await page.inputValue('#smtpUser')]).toEqual(['', 'Kept'])
    expect(await page.evaluate('JSON.stringify(history.state)')).not.toContain('hidden')
    await page.goBack()
    expect([await page.inputValue('#newPassword'), await page.evaluate('JSON.stringify(history.state)')]).toEqual([
      '',
      '{"typed":{}}',
    ])
  },
  TRY_MS,
)
