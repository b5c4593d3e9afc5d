import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { type AccountPages, openAccount } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

const names = async () => (await pages.store.listApps(pages.begun.accountId)).map(({ name }) => name)

test('a new app leads to its Activation, and keys work for it at once', async () => {
  const browser = await pages.signedIn()
  expect((await pages.access.find(pages.begun.apiKey))?.apps).toHaveLength(1)
  const home = (await browser.get(pages.at('activation'))).html
  expect(await attributesOf(home, '.switcher .more', 'href')).toEqual([pages.at('new-app')])
  const { status, location } = await browser.post(pages.at('new-app'), { app: HOSTILE, domain: ' Shop.example.com ' })
  const [, second] = await pages.store.listApps(pages.begun.accountId)
  expect([status, location]).toEqual([303, `/apps/${second?.publicId}/activation`])
  expect(second).toMatchObject({ name: HOSTILE, hosts: ['shop.example.com'], homeUrl: 'https://shop.example.com' })
  expect((await pages.access.find(pages.begun.apiKey))?.apps).toHaveLength(2)
  const { html } = await browser.get(location ?? '')
  expect((await textOf(html, '[role=status]'))[0]).toStartWith('Done: The app was created.')
  await expectHarmless(html)
})

test('the form links back to where the app starts', async () => {
  const { html } = await (await pages.signedIn()).get(pages.at('new-app'))
  expect(await textOf(html, 'h1')).toEqual(['New app'])
  expect(await attributesOf(html, '.switcher li a', 'href')).toEqual([pages.at('overview')])
  expect(await attributesOf(html, 'main a', 'href')).toContain(pages.at('activation'))
})

test.each([
  [{ app: ' ', domain: '' }, '#app-fault', 'Enter a name of 1 to'],
  [{ app: 'Shop', domain: 'github.io' }, '#domain-fault', 'Enter your own domain'],
])('%p makes nothing and keeps the input', async (fields, fault, sentence) => {
  const { status, html } = await (await pages.signedIn()).post(pages.at('new-app'), fields)
  expect([status, await textOf(html, fault)]).toEqual([400, [expect.stringContaining(sentence)]])
  expect(await attributesOf(html, 'main [type=text]', 'value')).toEqual([fields.app, fields.domain])
  expect(await names()).toEqual(['Engine'])
})

test('a full disk keeps the input', async () => {
  const failing = spyOn(pages.store, 'createApp').mockResolvedValue({ refusal: 'unavailable' })
  const { status, html } = await (await pages.signedIn()).post(pages.at('new-app'), { app: 'Shop', domain: '' })
  failing.mockRestore()
  expect([status, await attributesOf(html, '#app', 'value')]).toEqual([503, ['Shop']])
})

test.each(['editor', 'viewer'] as const)('%s neither sees the way nor may', async (role) => {
  await pages.addMember('eve@example.com', role)
  const browser = await pages.signedIn('eve@example.com')
  expect((await browser.get(pages.at('activation'))).html).not.toContain('new-app')
  expect((await browser.get(pages.at('new-app'))).status).toBe(403)
  expect((await browser.post(pages.at('new-app'), { app: 'Shop', domain: '' })).status).toBe(403)
  expect(await names()).toEqual(['Engine'])
})
