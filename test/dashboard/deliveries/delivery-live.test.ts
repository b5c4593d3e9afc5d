/** What the open page of a delivery is told. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { openLive } from '../live.ts'
import { MAIL, putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { attributesOf, textOf } from '../pages.ts'

type Parts = Record<'state' | 'action' | 'text' | 'about', string>

let pages: AccountPages
let browser: Browser
let app: AppRow
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
  app = await appOf(pages)
})
afterEach(() => pages.close())

const BOB = 'bob@example.com'
const WAITING = { ...MAIL, wait: { minutes: 10 } } as const

/** The path of an email that waits. */
async function trigger(content = {}): Promise<string> {
  await putMessage(pages, { app, content: { ...WAITING, ...content } })
  await sendEvent(pages, { app, email: BOB })
  const { html } = await browser.get(pages.at('deliveries'))
  return (await attributesOf(html, '.feed a', 'href'))[0] ?? ''
}
const follow = async (path: string) => {
  const { read, leave } = await openLive(pages, browser, `${path}/live`)
  return {
    leave,
    read,
    /** The email may be claimed in between; the last one tells. */
    until: async (badge: string): Promise<Parts> => {
      for (;;) {
        const parts = await read<Parts>('parts')
        if ((await textOf(parts.about, '.badge'))[0] === badge) return parts
      }
    },
  }
}
const actionsIn = (html: string) => textOf(html, 'form button')

test.each<[string, object, [badge: string, why: string]]>([
  ['captured', {}, ['Captured', 'It was captured on 3 May 2026, 12:00 UTC, because no mail server was set up.']],
  [
    'skipped',
    { onlyIf: [{ rule: 'tag', has: 'beta' }] },
    ['Not sent', `${BOB} did not have the tag beta, but this message goes only to people with it.`],
  ],
])('says that an email sent now was %s', async (_, content, [badge, why]) => {
  const path = await trigger(content)
  const { until, leave } = await follow(path)
  expect(await actionsIn((await until('Waiting')).action)).toEqual(['Check and send now', 'Cancel this email'])
  await browser.post(`${path}/send-now`)
  await sendDue(pages)
  const parts = await until(badge)
  expect(parts.state).toContain(why)
  expect(await actionsIn(parts.action)).not.toContain('Check and send now')
  const { html } = await browser.get(path)
  for (const [name, part] of Object.entries(parts)) expect([name, html.includes(part)]).toEqual([name, true])
  await leave()
})

const headOf = async (path: string) => {
  const cookie = Array.from(browser.cookies, ([name, value]) => `${name}=${value}`).join('; ')
  return (await pages.handle(path, { method: 'HEAD', headers: { Cookie: cookie } })).status
}

test('ends when the person is erased, and says so', async () => {
  const path = await trigger()
  const { until, read } = await follow(path)
  await until('Waiting')
  expect(await headOf(`${path}/live`)).toBe(200)
  const by = { accountId: app.accountId, actor: 'test', at: pages.clock.now() }
  await pages.store.eraseContact({ ...by, appId: app.id, email: BOB })
  expect(await read<null>('gone')).toBeNull()
  expect(await read<string>('ended')).toBe('This person was erased.')
  await expect(read('anything else')).rejects.toThrow('the stream ended')
  expect([await headOf(`${path}/live`), (await browser.get(`${path}/live`)).status]).toEqual([404, 404])
})

test('says so, too, if the person is erased while the email is read', async () => {
  const path = await trigger()
  const by = { accountId: app.accountId, actor: 'test', at: pages.clock.now() }
  const find = spyOn(pages.store, 'findCaptured').mockImplementation(async () => {
    await pages.store.eraseContact({ ...by, appId: app.id, email: BOB })
    throw new Error('the email is gone')
  })
  const { read } = await follow(path)
  expect(await read<null>('gone')).toBeNull()
  expect(await read<string>('ended')).toBe('This person was erased.')
  find.mockRestore()
})

test('is for members, and only about their own emails', async () => {
  const path = await trigger()
  const other = await pages.addAccount('eve@example.com', 'Other')
  const eve = await pages.signedIn('eve@example.com')
  expect((await eve.get(`${path}/live`)).status).toBe(404)
  expect((await eve.get(`${path.replace(app.publicId, other.appId)}/live`)).status).toBe(404)
})
