import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { signEmail } from '../../src/accounts/identity.ts'
import { addPerson, report, send } from '../api/reports.ts'
import { call, makeFolder, startServer } from '../cli/process.ts'
import { DAY } from '../helper.ts'
import { findPort } from '../ports.ts'
import { openChromium, PASSWORD, serveTest, signIn } from './chromium.ts'

const FIRST_EVENT_MS = 60_000
const TRY_MS = 120_000

let browser: Browser
beforeAll(async () => {
  browser = await openChromium()
})
afterAll(() => browser?.close())

async function paste(lines: string, env: Record<string, string>): Promise<string> {
  const child = Bun.spawn(['bash', '-c', lines], { env: { ...process.env, ...env }, stdout: 'pipe' })
  return new Response(child.stdout).text()
}

const stateOf = (page: Page) => page.locator('[data-live=state]')
const textOf = async (page: Page, selector: string): Promise<string> => (await page.textContent(selector)) ?? ''

describe('a new user', () => {
  test(
    'opens the printed link, pastes the code and sees the first event within a minute',
    async () => {
      const { folder, remove } = makeFolder()
      const startedAt = performance.now()
      const port = await findPort()
      let server = await startServer({ data: join(folder, 'data'), port })
      const page = await browser.newPage()
      const link = /^set up at (.*)$/m.exec(server.said.out)?.[1] ?? ''
      await page.goto(link)
      await page.fill('#email', 'ada@example.com')
      await page.fill('#password', PASSWORD)
      await page.fill('#app', 'Engine')
      await page.fill('#domain', 'app.example.com')
      await page.click('button.primary')
      await stateOf(page).getByText('Waiting for the first event...', { exact: true }).waitFor()
      await page.locator('[data-live-state]').getByText('Refreshing', { exact: true }).waitFor()

      // first without an email, then the code as shown
      const key = await textOf(page, '#api-key')
      const app = await textOf(page, '#app-id')
      const lacking = await call(server.url, key, 'POST', '/api/v1/events', { app, event: 'results_ready' })
      expect(lacking.status).toBe(400)
      await stateOf(page)
        .getByText("Call identify with the user's email after they sign in.", { exact: true })
        .waitFor()
      await page.locator('.troubles').getByText('Events or page views without an email').waitFor()
      expect(await paste(await textOf(page, '#code-curl-0'), { SERVICE_API_KEY: key })).toContain('"ok":true')
      await stateOf(page).getByText('Events are arriving.').waitFor()
      expect(performance.now() - startedAt).toBeLessThan(FIRST_EVENT_MS)
      expect(await page.locator('.step.done').allInnerTexts()).toEqual([expect.stringMatching(/^First event/)])
      expect(await textOf(page, '.step.due')).toStartWith('Browser script: next')
      // one-time values are still shown, because the page was never reloaded
      expect(await textOf(page, '#api-key')).toBe(key)

      // survives a restart of the server
      const live = page.locator('[data-live-state]')
      await server.stop()
      await live.getByText('Reconnecting', { exact: true }).waitFor()
      server = await startServer({ data: join(folder, 'data'), port })
      await live.getByText('Refreshing', { exact: true }).waitFor()
      expect((await call(server.url, key, 'POST', '/api/v1/events', { app, event: 'x', email: 'no' })).status).toBe(400)
      await page.locator('.troubles li', { hasText: 'invalid_field' }).getByText('email', { exact: true }).waitFor()

      // Back leads to Activation, not to the form that can't be sent again
      await page.click('nav >> text=API keys')
      await page.waitForURL('**/keys')
      await page.goBack()
      expect(new URL(page.url()).pathname).toBe(`/apps/${app}/activation`)
      expect(await textOf(page, 'h1')).toBe('Activation')
      expect(await page.locator('#api-key').count()).toBe(0)

      // revoke the key, then its next request is refused
      await page.click('nav >> text=API keys')
      expect((await call(server.url, key, 'GET', `/api/v1/events?app=${app}`)).status).toBe(200)
      await page.click('[popovertarget^=revoke-key]')
      await page.click('dialog:popover-open .danger')
      await page.waitForSelector('text=The key was revoked.')
      expect((await call(server.url, key, 'GET', `/api/v1/events?app=${app}`)).status).toBe(401)
      await page.close()
      await server.stop()
      remove()
    },
    TRY_MS,
  )
})

describe('a new user with one draft', () => {
  test(
    'needs at most eight actions to the first event, and eight more to a live message with a test email',
    async () => {
      const { folder, remove } = makeFolder()
      const server = await startServer({ data: join(folder, 'data') })
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
      let actions = 0
      const act = async (take: () => Promise<unknown>): Promise<void> => {
        actions += 1
        await take()
      }
      await act(() => page.goto(/^set up at (.*)$/m.exec(server.said.out)?.[1] ?? ''))
      await act(() => page.fill('#email', 'ada@example.com'))
      await act(() => page.fill('#password', PASSWORD))
      await act(() => page.fill('#app', 'Engine'))
      await act(() => page.fill('#domain', 'app.example.com'))
      await act(() => page.click('button.primary'))
      const key = await textOf(page, '#api-key')
      const code = await textOf(page, '#code-curl-0')
      // copies and pastes the code
      await act(() => paste(code, { SERVICE_API_KEY: key }))
      await stateOf(page).getByText('Events are arriving.').waitFor()
      expect(actions).toBeLessThanOrEqual(8)

      actions = 0
      await act(() => page.click('text=I have stored them'))
      await act(() => page.click('nav >> text=Messages'))
      await act(() => page.click('text=Results ready, they left'))
      await act(() => page.click('button:has-text("Use this address")'))
      await page.waitForSelector('.checks > .done:has-text("Sender")')
      await act(() => page.click('#test button'))
      await page.waitForSelector('#test .notice')
      expect(await page.locator('.checks > .caution').allTextContents()).toEqual(
        expect.arrayContaining([expect.stringContaining('Captured, not sent.')]),
      )
      await act(() => page.click('[popovertarget=go-live]'))
      await act(() => page.click('dialog:popover-open .primary'))
      await page.waitForSelector('.page-head .badge.good')
      expect(actions).toBeLessThanOrEqual(8)
      expect(await page.textContent('[data-mail-part=from]')).toContain('<hello@example.com>')
      await page.close()
      await server.stop()
      remove()
    },
    TRY_MS,
  )
})

describe('an owner', () => {
  test(
    'rotates the identity secret: the old one works for exactly 24 hours',
    async () => {
      const server = await serveTest()
      const page = await browser.newPage()
      await signIn(page, server)
      await addPerson(server)
      const old = signEmail('ada@example.com', server.first.identitySecret)
      await page.goto(`${server.url}/apps/${server.first.appId}/keys`)
      await page.click('[popovertarget=rotate]')
      await page.click('dialog:popover-open .primary')
      const secret = await textOf(page, '#identity-secret')
      const statusOf = async (signature: string) => (await send(server, report(server.first, { signature }))).status
      const current = signEmail('ada@example.com', secret)
      expect([await statusOf(current), await statusOf(old)]).toEqual([202, 202])
      server.clock.tick(DAY - 1_000)
      expect([await statusOf(current), await statusOf(old)]).toEqual([202, 202])
      server.clock.tick(1_000)
      expect([await statusOf(current), await statusOf(old)]).toEqual([202, 401])
      await page.close()
      await server.close()
    },
    TRY_MS,
  )
})
