import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { MAIL, putMessage, sendEvent } from '../messages/mailing.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
let app: AppRow
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
  app = await appOf(pages)
})
afterEach(() => pages.close())

const path = () => pages.at('sender/topics')
const add = (name: string, description = '') => browser.submit(path(), path(), { name, description })
const rows = async () => textOf((await browser.get(path())).html, 'tbody td')
const open = async () => (await attributesOf((await browser.get(path())).html, 'tbody a', 'href'))?.[0] ?? ''

test('owners add, rename and delete topics', async () => {
  expect(await add('Tips', 'Once a week')).toMatchObject({ status: 303, location: path() })
  expect(await rows()).toEqual(['Tips', 'Once a week', 'No messages'])
  expect((await add('Tips')).status).toBe(400)
  const topic = await open()
  await browser.submit(topic, topic, { name: 'Advice', description: '' })
  expect(await rows()).toEqual(['Advice', '', 'No messages'])
  expect((await browser.post(`${topic}/delete`, {})).location).toBe(path())
  expect(await rows()).toEqual([])
})

test('a topic in use stays, and hostile names are harmless', async () => {
  const name = HOSTILE.slice(0, 60)
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  const content = { trigger: { event: 'x' }, topic: name, mail: { subject: 'S', body: 'B' } }
  await pages.store.saveMessages({ ...by, drafts: [{ id: null, name: 'M', status: null, content }] })
  const topic = await open()
  const { status, html } = await browser.post(`${topic}/delete`, {})
  expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([409, expect.stringContaining('Choose another')])
  await expectHarmless(html)
  await expectHarmless((await browser.get(path())).html)
})

test('a topic of emails that wait stays, and the page says why', async () => {
  const content = { ...MAIL, topic: 'Tips', wait: { minutes: 5 } }
  const id = await putMessage(pages, { app, content })
  await sendEvent(pages, { app, email: 'eve@example.com' })
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  await pages.store.saveMessages({ ...by, drafts: [{ id, name: 'M', status: 'live', content: MAIL }] })
  const topic = await open()
  const { status, html } = await browser.post(`${topic}/delete`, {})
  expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([409, expect.stringContaining('are waiting')])
  expect(await rows()).toEqual(['Tips', '', 'No messages'])
})

test("editors change a person's topics, which their timeline shows", async () => {
  await add('Tips')
  const { location } = await browser.post(pages.at('people/new'), { email: 'eve@example.com' })
  const person = location ?? ''
  const html = async () => (await browser.get(person)).html
  const box = (await attributesOf(await html(), '#topics [type=checkbox]', 'name'))?.[0] ?? ''
  pages.clock.ms += 1
  expect((await browser.post(`${person}/topics`, { [`${box}.shown`]: '1' })).status).toBe(303)
  expect(await pages.store.listEndedTopics(app.id, 'eve@example.com')).toMatchObject([{ topic: 'Tips' }])
  expect(await textOf(await html(), '#timeline .followed, #timeline li')).toContainEqual(
    expect.stringContaining('Unsubscribed from: Tips'),
  )
  await browser.post(`${person}/topics`, { [`${box}.shown`]: '1', [box]: 'on' })
  expect(await pages.store.listEndedTopics(app.id, 'eve@example.com')).toEqual([])
})
