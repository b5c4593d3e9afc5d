/** What an open first page of deliveries is told. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { PAGE_ROWS } from '../../../src/dashboard/deliveries/deliveries-live.tsx'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { openLive } from '../live.ts'
import { MAIL, putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { attributesOf, textOf } from '../pages.ts'

type Page = { ids: string[]; end: string; html: string }
type Counts = { state: string; foot: string }

let pages: AccountPages
let browser: Browser
let app: AppRow
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
  app = await appOf(pages)
})
afterEach(() => pages.close())

const WAIT_MS = 10 * 60_000
const putWaiting = () => putMessage(pages, { app, content: { ...MAIL, wait: { minutes: 10 } } })
const send = (...names: string[]) =>
  Promise.all(names.map((name) => sendEvent(pages, { app, email: `${name}@example.com` })))
const sendAll = async (): Promise<void> => {
  pages.clock.ms += WAIT_MS
  await sendDue(pages)
}
const follow = async (query: string) => {
  const { read, leave } = await openLive(pages, browser, pages.at(`deliveries-live${query}`))
  /** The first message may come while the service is at it; the last one tells. */
  const until = async <T>(name: string, isIt: (one: T) => boolean): Promise<T> => {
    for (;;) {
      const one = await read<T>(name)
      if (isIt(one)) return one
    }
  }
  return {
    leave,
    rows: (count: number) => until<Page>('page', ({ ids }) => ids.length === count),
    /** By email, the last badge of each row that changed until the page is empty: a row may change before it leaves. */
    async became() {
      const changed: Page[] = []
      await until<Page>('page', (one) => changed.push(one) > 0 && one.ids.length === 0)
      const html = changed.map((one) => one.html).join('')
      const [who, badges] = [await whoOf(html), await badgesOf(html)]
      return Object.fromEntries(who.map((email, row) => [email, badges[row]]))
    },
    counts: (words: string) => until<Counts>('counts', ({ state }) => state.startsWith(words)),
  }
}
/** As a reload shows them. */
const reload = async (query: string) => {
  const { html } = await browser.get(pages.at(`deliveries${query}`))
  const [foot = ''] = /<div class="list-foot".*?>(.*?)<\/div>/.exec(html)?.slice(1) ?? []
  return { ids: await attributesOf(html, '.feed > li', 'data-id'), foot, state: (await textOf(html, '.lead'))[0] }
}
const whoOf = (html: string) => textOf(html, '.who')
const badgesOf = (html: string) => textOf(html, '.badge')

test('rows that no longer match come with what became of them, and the count and the foot agree with a reload', async () => {
  await putWaiting()
  await send('ada', 'bob')
  const { rows, became, counts, leave } = await follow('?state=pending')
  expect(await badgesOf((await rows(2)).html)).toEqual(['Waiting', 'Waiting'])
  expect((await counts('2')).state).toBe('2 deliveries match, newest first.')
  await sendAll()
  expect(await became()).toEqual({ 'ada@example.com': 'Captured', 'bob@example.com': 'Captured' })
  expect(await counts('No')).toMatchObject(await reload('?state=pending').then(({ state, foot }) => ({ state, foot })))
  await leave()
})

test('rows that match now come in their place, however old, and only those that changed', async () => {
  const waiting = await putWaiting()
  await send('old')
  await putMessage(pages, { app, name: 'Now' })
  const { id: appId, accountId } = app
  const by = { accountId, appId, actor: 'test', at: pages.clock.now() }
  const draft = {
    id: waiting,
    name: 'A message',
    content: { ...MAIL, wait: { minutes: 10 } },
    status: 'paused' as const,
  }
  await pages.store.saveMessages({ ...by, drafts: [draft] })
  await send('new')
  await sendDue(pages)
  const { rows, counts, leave } = await follow('?state=kept')
  expect(await whoOf((await rows(1)).html)).toEqual(['new@example.com'])
  await counts('1')
  await pages.store.saveMessages({ ...by, drafts: [{ ...draft, status: 'live' }] })
  await sendAll()
  const { ids, html } = await rows(2)
  expect([ids, await whoOf(html)]).toEqual([(await reload('?state=kept')).ids.map(String), ['old@example.com']])
  expect((await counts('2')).state).toBe('2 deliveries match, newest first.')
  await leave()
})

test('a full page says where the next one begins', async () => {
  await putWaiting()
  await send(...Array.from({ length: PAGE_ROWS }, (_, number) => `p${number}`))
  const { rows, counts, leave } = await follow('')
  expect((await rows(PAGE_ROWS)).end).toBe('')
  expect((await counts(`${PAGE_ROWS}`)).foot).not.toContain('Older')
  await send('last')
  const { ids, end, html } = await rows(PAGE_ROWS)
  const { foot } = await counts(`${PAGE_ROWS + 1}`)
  expect([ids.at(-1), await whoOf(html)]).toEqual([end, ['last@example.com']])
  expect(foot).toContain(`before=${end}`)
  expect([ids, foot]).toEqual([(await reload('')).ids.map(String), (await reload('')).foot])
  await leave()
})

test('an open page is read once a second at most, and not at all when nobody looks', async () => {
  const reads = spyOn(pages.store, 'listDeliveries')
  await putWaiting()
  await send('ada')
  expect(reads.mock.calls.length).toBe(0)
  const { rows, counts, leave } = await follow('')
  await rows(1)
  const startedAt = performance.now()
  for (let number = 0; number < 20; number++) await send(`p${number}`)
  await counts('21')
  expect(reads.mock.calls.length).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 1_000)
  await leave()
  await Bun.sleep(1_100)
  reads.mockClear()
  await send('zoe')
  await Bun.sleep(300)
  expect(reads.mock.calls.length).toBe(0)
  reads.mockRestore()
})
