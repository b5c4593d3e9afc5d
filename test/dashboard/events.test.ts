import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { type AccountPages, type Browser, openAccount } from './browser.ts'
import { attributesOf, DAY, expectHarmless, HOSTILE, textOf } from './pages.ts'

let pages: AccountPages
let browser: Browser
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
})
afterEach(() => pages.close())

const MINUTE = 60_000
const SLY = 'exe.\u202Egnp\u200B'

type Sent = { email?: string; name?: string; properties?: object; path?: string; at?: number }

async function appOf(appId = pages.begun.appId, accountId = pages.begun.accountId) {
  const app = (await pages.store.listApps(accountId)).find(({ publicId }) => publicId === appId)
  if (!app) throw new Error('no app')
  return app
}

/** Records an event as a door does. */
async function record({ email = 'bob@example.com', name = 'results_ready', properties, path, at }: Sent, app?: string) {
  const { id, accountId } = app === undefined ? await appOf() : await appOf(app, (await eve).accountId)
  const outcome = await pages.store.recordEvent({
    accountId,
    appId: id,
    email,
    shownEmail: null,
    newPeoplePerMonth: null,
    createContact: true,
    firstName: null,
    lastName: null,
    type: path === undefined ? 'event' : 'page',
    name,
    properties: properties ? JSON.stringify(properties) : null,
    path: path ?? null,
    via: path === undefined ? 'api' : 'browser',
    at: at ?? pages.clock.now(),
    occurredAt: null,
    buckets: [],
    idempotency: null,
  })
  if ('refusal' in outcome) throw new Error(outcome.refusal)
  return outcome
}
let eve: Promise<{ appId: string; accountId: string }>

const see = async (query = '') => (await browser.get(pages.at(`events${query}`))).html
const namesOf = async (html: string) => (await textOf(html, '.what')).map((name) => name.trim())
const leadOf = async (html: string) => (await textOf(html, '.lead'))[0]

describe('the events', () => {
  test('there are none: what they are, and the one next step', async () => {
    const html = await see()
    expect(await leadOf(html)).toBe('No events in the last 48 hours.')
    expect(await textOf(html, '.empty h2')).toEqual(['No events yet'])
    expect(await attributesOf(html, '.empty a', 'href')).toEqual([pages.at('activation')])
    expect(await attributesOf(html, '.feed', 'data-cursor')).toEqual(['evt_00000000000'])
    expect(await textOf(html, '.chart')).toEqual([])
  })

  test('newest first, each with when, what, who and what tells it from others', async () => {
    await record({ properties: { headline: 'Spring', count: 2, by: { team: 'x' } }, at: pages.clock.now() - MINUTE })
    await record({ email: 'eve@example.com', name: '$page', path: '/results/81' })
    const html = await see()
    expect(await leadOf(html)).toBe('2 events in the last 48 hours.')
    expect(await namesOf(html)).toEqual(['Page view', 'results_ready'])
    expect(await textOf(html, '.feed .who')).toEqual(['eve@example.com', 'bob@example.com'])
    expect(await textOf(html, '.feed .preview')).toEqual([
      '/results/81',
      'headline: Spring, count: 2, by: {"team":"x"}',
    ])
    expect(await textOf(html, '.feed time')).toEqual(['3 May 12:00:00', '3 May 11:59:00'])
  })

  test('hostile text is text, and what would not be seen is named', async () => {
    await record({ properties: { [HOSTILE]: SLY } })
    await record({ name: '$page', path: `/${HOSTILE}${'x'.repeat(900)}` })
    const html = await see()
    await expectHarmless(html)
    expect(html).not.toContain('\u202E')
    const [path = '', properties] = await textOf(html, '.feed .preview')
    expect(properties).toBe(`${HOSTILE}: exe.U+202EgnpU+200B`)
    expect([path.length, path.endsWith('x…')]).toEqual([161, true])
    await expectHarmless(await see(`?event=${encodeURIComponent(HOSTILE)}&range=${encodeURIComponent(HOSTILE)}`))
  })

  test('by pages: each goes on where the last ended, also while new ones come', async () => {
    for (let i = 0; i < 120; i++) await record({ name: `n${i}` })
    const seen: string[] = []
    for (let query: string | undefined = ''; query !== undefined;) {
      const html = await see(query)
      seen.push(...(await namesOf(html)))
      await record({ name: 'new' })
      const [href] = await attributesOf(html, '.pager [rel=next]', 'href')
      query = href?.slice(pages.at('events').length)
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, i) => `n${119 - i}`))
  })

  test('an older page is not followed, and leads to the newest', async () => {
    await record({})
    const html = await see('?before=evt_1zzzzzzzzzz')
    expect(await attributesOf(html, '.feed', 'data-feed')).toEqual([null])
    expect([await textOf(html, '.feed-tools'), await attributesOf(html, '.pager a', 'href')]).toEqual([
      [],
      [pages.at('events')],
    ])
  })

  test('of one name: rows, chart and stream are of it, and its link says so', async () => {
    await record({ name: 'a' })
    await record({ name: 'b' })
    await record({ name: 'b' })
    const html = await see('?event=b')
    expect(await namesOf(html)).toEqual(['b', 'b'])
    expect(await leadOf(html)).toBe('b came 2 times in the last 48 hours.')
    expect(await textOf(html, '.names a')).toEqual(['All events3', 'b2', 'a1'])
    expect(await textOf(html, '.names [aria-current]')).toEqual(['b2'])
    expect(await attributesOf(html, '.feed', 'data-feed')).toEqual([`${pages.at('feed')}?event=b`])
    expect((await textOf(html, '.chart td')).at(-1)).toBe('2')
  })

  test('of a name that never came', async () => {
    await record({ name: 'a' })
    const html = await see('?event=nothing')
    expect(await leadOf(html)).toBe('nothing did not come in the last 48 hours.')
    expect(await textOf(html, '.empty h2')).toEqual(['Nothing under this name'])
  })

  test.each([
    ['', 48, '1 May, 13:00', '3 May, 12:00'],
    ['?range=days', 30, '4 April 2026', '3 May 2026'],
    ['?range=weeks', 26, 'Week of 3 November 2025', 'Week of 27 April 2026'],
    ['?range=nonsense', 48, '1 May, 13:00', '3 May, 12:00'],
  ])('the chart of %p has its numbers as a table', async (query, length, first, last) => {
    await record({ at: pages.clock.now() - 200 * DAY })
    await record({})
    const labels = await textOf(await see(query), '.chart th')
    expect([labels.length, labels[0], labels.at(-1)]).toEqual([length, first, last])
    expect((await textOf(await see(query), '.chart td')).at(-1)).toBe('1')
  })
})

describe('the stream', () => {
  const follow = async (query: string) => {
    const response = await pages.handle(pages.at(`feed?${query}`), {
      headers: { Cookie: `eventpost_session=${browser.cookies.get('eventpost_session')}` },
    })
    const reader = response.body?.getReader()
    let text = ''
    /** The next message of a name; those of others are passed over. */
    const read = async <T>(name: string): Promise<T> => {
      const message = new RegExp(`event: ${name}\\ndata: (.*)\\n\\n`)
      while (!message.test(text)) text += new TextDecoder().decode((await reader?.read())?.value)
      const [all = '', data = '{}'] = new RegExp(`^[^]*?${message.source}`).exec(text) ?? []
      text = text.slice(all.length)
      return JSON.parse(data)
    }
    const next = () => read<{ html: string; count: number; cursor: string }>('rows')
    const counts = () => read<{ state: string; chart: string; names: string }>('counts')
    return { response, next, counts, leave: () => reader?.cancel() }
  }

  test('goes on from the cursor: nothing is missed and nothing comes twice', async () => {
    await record({ name: 'seen' })
    const [cursor] = await attributesOf(await see(), '.feed', 'data-cursor')
    await record({ name: 'missed' })
    const { next, leave } = await follow(`after=${cursor}`)
    const first = await next()
    expect([await namesOf(first.html), first.count]).toEqual([['missed'], 1])
    await record({ name: 'now', properties: { x: HOSTILE } })
    const second = await next()
    expect(await namesOf(second.html)).toEqual(['now'])
    expect(second.html).not.toContain('<script>')
    expect((await attributesOf(second.html, 'li', 'data-id'))[0]).toBe(second.cursor)
    await leave()
  })

  test('tells where more came in between than is shown', async () => {
    await record({})
    const [cursor] = await attributesOf(await see(), '.feed', 'data-cursor')
    for (let i = 0; i < 51; i++) await record({ name: `n${i}` })
    const { next, leave } = await follow(`after=${cursor}`)
    const { html, count } = await next()
    expect([count, (await textOf(html, 'li')).length, await textOf(html, '.gap')]).toEqual([
      50,
      51,
      [expect.stringContaining('More came in between')],
    ])
    await leave()
  })

  test('tells the counts with the first rows, and then once in ten seconds', async () => {
    const { next, counts, leave } = await follow('range=days&after=evt_00000000000')
    await record({ name: HOSTILE })
    const first = await counts()
    expect(first.state).toBe('One event in the last 30 days.')
    expect((await textOf(first.chart, '[data-told]'))[0]).toBe('Most: 1')
    expect(await textOf(first.names, '.number')).toEqual(['1', '1'])
    expect(first.names).not.toContain('<script>')
    await record({})
    await next()
    pages.clock.ms += 10_000
    await record({})
    expect((await counts()).state).toBe('3 events in the last 30 days.')
    await leave()
  })

  test('of one name is of that only', async () => {
    const { next, leave } = await follow('event=wanted&after=evt_00000000000')
    await record({ name: 'other' })
    await record({ name: 'wanted' })
    expect(await namesOf((await next()).html)).toEqual(['wanted'])
    await leave()
  })

  test('is not begun for HEAD, which nobody reads', async () => {
    const watch = spyOn(pages.feed, 'watch')
    const headers = { Cookie: `eventpost_session=${browser.cookies.get('eventpost_session')}` }
    const { status } = await pages.handle(pages.at('feed'), { method: 'HEAD', headers })
    expect([status, watch.mock.calls.length]).toEqual([200, 0])
    watch.mockRestore()
  })

  test.each([
    ['401 for a stranger', 401, async () => pages.get(pages.at('feed'))],
    [
      '404 for another account',
      404,
      async () => {
        const other = await pages.addAccount('eve@example.com', 'Other')
        const cookie = `eventpost_session=${browser.cookies.get('eventpost_session')}`
        return pages.get(`/apps/${other.appId}/feed`, { Cookie: cookie })
      },
    ],
  ])('%s', async (_, status, ask) => {
    expect((await ask()).status).toBe(status)
  })
})

describe('one event', () => {
  const open = async () => {
    const [href] = await attributesOf(await see(), '.feed .what', 'href')
    return browser.get(href ?? '')
  }

  test('shows its properties, its facts and its person', async () => {
    await record({ properties: { headline: 'Spring', count: 2, isNew: true, none: null, empty: '', by: { a: [1] } } })
    const { status, html } = await open()
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['results_ready']])
    expect(await leadOf(html)).toBe('Event of bob@example.com, just now.')
    expect(await textOf(html, '.properties dt')).toEqual(['headline', 'count', 'isNew', 'none', 'empty', 'by'])
    expect(await textOf(html, '.properties dd')).toEqual([
      'Spring',
      '2',
      'true',
      'null',
      'empty',
      '{\n  "a": [\n    1\n  ]\n}',
    ])
    expect((await attributesOf(html, 'aside a', 'href'))[0]).toStartWith(`${pages.at('people')}/con_`)
  })

  test('hostile properties are text, and their JSON means the same', async () => {
    const properties = { [HOSTILE]: { [SLY]: SLY }, ['__proto__']: 1 }
    await record({ properties: JSON.parse(`{"a":${JSON.stringify(properties)},"__proto__":"own"}`) })
    const { html } = await open()
    await expectHarmless(html)
    expect(html).not.toMatch(/[\u202E\u200B]/)
    const [json = ''] = await textOf(html, '#json')
    expect(JSON.parse(json)).toEqual(JSON.parse(`{"a":${JSON.stringify(properties)},"__proto__":"own"}`))
  })

  test('a page view shows its path', async () => {
    await record({ name: '$page', path: '/results/81' })
    const { html } = await open()
    expect([await textOf(html, 'h1'), await textOf(html, '.sent-path')]).toEqual([['Page view'], ['/results/81']])
  })

  test('one without properties says so', async () => {
    await record({})
    expect(await textOf((await open()).html, '.empty h2')).toEqual(['No properties'])
  })

  test('one of another account, or of nobody, does not exist', async () => {
    eve = pages.addAccount('eve@example.com', 'Other')
    const { appId } = await eve
    await record({}, appId)
    const other = await pages.signedIn('eve@example.com')
    const [href = ''] = await attributesOf((await other.get(`/apps/${appId}/events`)).html, '.feed .what', 'href')
    expect((await other.get(href ?? '')).status).toBe(200)
    const id = href?.split('/').at(-1)
    for (const event of [id, 'evt_00000000001', 'evt_x', encodeURIComponent(HOSTILE)]) {
      const { status, html } = await browser.get(pages.at(`events/${event}`))
      expect([status, html.includes('alert(1)')]).toEqual([404, false])
    }
  })
})
