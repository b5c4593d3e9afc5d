import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type AccountPages, type Browser, openAccount } from '../browser.ts'
import { attributesOf, HOSTILE } from '../pages.ts'

let pages: AccountPages
let browser: Browser
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
})
afterEach(() => pages.close())

const choose = (theme: string, to = pages.at('you')) => browser.post('/theme', { theme, to })
const themeOf = async (html: string) => (await attributesOf(html, 'html', 'data-theme'))[0]
const pressedIn = (html: string) => attributesOf(html, '.themes [aria-pressed=true]', 'value')

describe('the colours', () => {
  test('follow the system by default', async () => {
    const { html } = await browser.get(pages.at('you'))
    expect([await themeOf(html), await pressedIn(html)]).toEqual([null, ['system']])
  })

  test.each(['light', 'dark'])('%s is remembered, also after signing out', async (theme) => {
    const { status, location } = await choose(theme)
    expect([status, location]).toEqual([303, pages.at('you')])
    const { html } = await browser.get(pages.at('you'))
    expect([await themeOf(html), await pressedIn(html)]).toEqual([theme, [theme]])
    await browser.post('/sign-out')
    expect(await themeOf((await browser.get('/sign-in')).html)).toBe(theme)
  })

  test('anything else means system', async () => {
    await choose('dark')
    await choose(HOSTILE)
    expect(await themeOf((await browser.get(pages.at('you'))).html)).toBe(null)
    browser.cookies.set('eventpost_theme', 'neon')
    expect(await themeOf((await browser.get(pages.at('you'))).html)).toBe(null)
  })

  test('a choice does not redirect to another site', async () => {
    expect((await choose('dark', '//evil.example')).location).toBe('/')
  })

  test('can be chosen on every page, without script only on pages that can be reloaded', async () => {
    const seen = await browser.get(pages.at('keys'))
    expect(await attributesOf(seen.html, '.themes', 'class')).toEqual(['themes'])
    await choose('dark')
    for (const [page, fields, status] of [
      ['keys', { name: 'x', scope: 'standard' }, 200],
      ['keys', { name: '', scope: 'standard' }, 400],
      ['sender', { fromEmail: 'x' }, 400],
      ['settings', { name: '' }, 400],
    ] as const) {
      const answer = await browser.post(pages.at(page), fields)
      expect([answer.status, await pressedIn(answer.html)]).toEqual([status, ['dark']])
      expect(await attributesOf(answer.html, '.themes', 'class')).toEqual(['themes staying'])
      expect(await attributesOf(answer.html, '.themes [name=to]', 'value')).toEqual([pages.at(page)])
    }
  })
})
