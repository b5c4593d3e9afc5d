import { afterEach, expect, test } from 'bun:test'
import { turnOn } from './authenticator.ts'
import { type AccountPages, createBrowser, openAccount, PASSWORD } from '../browser.ts'

let pages: AccountPages
afterEach(() => pages.close())

/** Triggers every cookie and returns the Set-Cookie headers. */
async function collectCookies(baseUrl: string): Promise<string[]> {
  pages = await openAccount({ baseUrl })
  const second = await pages.addAccount('eve@example.com', 'Other')
  await pages.addMember('ada@example.com', 'owner', second.accountId)
  await pages.addMember('eve@example.com', 'viewer')
  const browser = createBrowser(pages)
  const lines: string[] = []
  const seen = async (answer: Promise<{ headers: Headers }>) => lines.push(...(await answer).headers.getSetCookie())
  await seen(browser.signIn('ada@example.com'))
  await seen(browser.get(pages.at('you')))
  await seen(browser.post('/theme', { theme: 'dark', to: '/' }))
  await seen(browser.post(`${pages.at('you')}/sessions`))
  await seen(browser.get(pages.at('you')))
  await seen(browser.post(`${pages.at('you')}/password`, { password: PASSWORD, newPassword: 'four dull spoons' }))
  await seen(browser.post('/sign-out'))
  const eve = await pages.signedIn('eve@example.com')
  await turnOn(pages, eve)
  await seen(createBrowser(pages).signIn('eve@example.com'))
  return lines
}

const namesOf = (lines: string[]) => [...new Set(lines.map((line) => line.split('=')[0]))].sort()

test('over https each has the __Host- prefix and Secure', async () => {
  const lines = await collectCookies('https://post.example.com')
  for (const line of lines)
    expect(line).toMatch(/^__Host-\w+=[^;]*; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/)
  expect(namesOf(lines)).toEqual([
    '__Host-app',
    '__Host-flash',
    '__Host-known',
    '__Host-second_step',
    '__Host-session',
    '__Host-theme',
  ])
})

test('over plain http none has, because browsers would drop it', async () => {
  const lines = await collectCookies('http://localhost:8080')
  for (const line of lines) expect(line).toMatch(/^eventpost_\w+=[^;]*; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/)
  expect(namesOf(lines)).toHaveLength(6)
})

test('over https a cookie without the prefix is ignored', async () => {
  pages = await openAccount({ baseUrl: 'https://post.example.com' })
  const browser = await pages.signedIn()
  const token = browser.cookies.get('__Host-session') ?? ''
  browser.cookies.clear()
  for (const name of ['session', 'eventpost_session', '__Secure-session']) browser.cookies.set(name, token)
  expect((await browser.get(pages.at('you'))).status).toBe(303)
  browser.cookies.set('__Host-session', token)
  expect((await browser.get(pages.at('you'))).status).toBe(200)
})
