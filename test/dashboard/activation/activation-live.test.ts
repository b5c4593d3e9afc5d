import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type AccountPages, type Browser, createBrowser, openAccount } from '../browser.ts'
import { textOf } from '../pages.ts'

let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

const WAITING = 'Waiting for the first event...'
const unescapeText = (text = '') => text.replaceAll('&#39;', "'")

describe('the open page', () => {
  /** Reads stream messages until one contains the text. */
  async function* follow(browser: Browser, path = pages.at('activation')) {
    const cookie = Array.from(browser.cookies, ([name, value]) => `${name}=${value}`).join('; ')
    const response = await pages.handle(`${path}/live`, { headers: { Cookie: cookie } })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true })
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1]
        text = text.slice(end + 2)
        if (data !== undefined) yield JSON.parse(data) as Record<'state' | 'steps' | 'trouble', string>
      }
    }
  }

  test('updates as events arrive', async () => {
    const browser = await pages.signedIn()
    const parts = follow(browser)
    const next = async () => (await parts.next()).value
    expect((await next())?.state).toBe(WAITING)
    const [app] = await pages.store.listApps(pages.begun.accountId)
    pages.notes.add(app?.id ?? 0, 'without_email')
    const lacking = await next()
    expect(unescapeText(lacking?.state)).toBe("Call identify with the user's email after they sign in.")
    expect(lacking?.trouble).toContain('Events or page views without an email')
    pages.clock.ms += 1
    await browser.post(`${pages.at('activation')}/test`)
    const done = await next()
    expect(done?.state).toMatch(/^<a [^>]+>Events are arriving<\/a>\. <span class="latest">Last event <time/)
    expect(await textOf(done?.steps ?? '', '.step.done')).toHaveLength(1)
    await parts.return(undefined)
  })

  test('is for members of the account', async () => {
    const { status, location } = await createBrowser(pages).get(`${pages.at('activation')}/live`)
    expect([status, location]).toEqual([401, null])
    await pages.addAccount('eve@example.com', 'Other')
    expect((await (await pages.signedIn('eve@example.com')).get(`${pages.at('activation')}/live`)).status).toBe(404)
  })
})
