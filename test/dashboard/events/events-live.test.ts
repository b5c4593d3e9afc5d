import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { isOnPostgres } from '../../postgres/test-databases.ts'
import { openLive } from '../live.ts'
import { attributesOf, HOSTILE, textOf } from '../pages.ts'
import { type EventPages, namesOf, openEvents } from './recording.ts'

let pages: EventPages
beforeEach(async () => {
  pages = await openEvents()
})
afterEach(() => pages.close())

describe('the stream', () => {
  const follow = async (query: string) => {
    const { read, leave } = await openLive(pages, pages.browser, pages.at(`feed?${query}`))
    const next = () => read<{ html: string; count: number; cursor: string }>('rows')
    const counts = () => read<{ state: string; chart: string; names: string }>('counts')
    return { next, counts, leave }
  }

  test('continues from the cursor without gaps or duplicates', async () => {
    await pages.record({ name: 'seen' })
    const [cursor] = await attributesOf(await pages.see(), '.feed', 'data-cursor')
    await pages.record({ name: 'missed' })
    const { next, leave } = await follow(`after=${cursor}`)
    const first = await next()
    // on PostgreSQL, rows of the last seconds are sent again: the page drops what it has
    const names = isOnPostgres ? ['missed', 'seen'] : ['missed']
    expect([await namesOf(first.html), first.count]).toEqual([names, names.length])
    await pages.record({ name: 'now', properties: { x: HOSTILE } })
    const second = await next()
    expect(await namesOf(second.html)).toEqual(['now'])
    expect(second.html).not.toContain('<script>')
    expect((await attributesOf(second.html, 'li', 'data-id'))[0]).toBe(second.cursor)
    await leave()
  })

  test('marks a gap if more arrived than is shown', async () => {
    await pages.record({})
    const [cursor] = await attributesOf(await pages.see(), '.feed', 'data-cursor')
    for (let i = 0; i < 33; i++) await pages.record({ name: `n${i}` })
    const { next, leave } = await follow(`after=${cursor}`)
    const { html, count } = await next()
    expect([count, (await textOf(html, 'li')).length, await textOf(html, '.gap')]).toEqual([
      32,
      33,
      [expect.stringContaining("Some events aren't shown here")],
    ])
    await leave()
  })

  test('sends counts with the first rows, then every ten seconds', async () => {
    const { next, counts, leave } = await follow('range=days&after=evt_00000000000')
    await pages.record({ name: HOSTILE })
    const first = await counts()
    expect(first.state).toBe('One event arrived in the last 30 days.')
    expect((await textOf(first.chart, '[data-chart-value]'))[0]).toBe('Peak: 1')
    expect(await textOf(first.names, '.number')).toEqual(['1', '1'])
    expect(first.names).not.toContain('<script>')
    await pages.record({})
    await next()
    pages.clock.ms += 10_000
    await pages.record({})
    expect((await counts()).state).toBe('3 events arrived in the last 30 days.')
    await leave()
  })

  test('of one name has only that', async () => {
    const { next, leave } = await follow('event=wanted&after=evt_00000000000')
    await pages.record({ name: 'other' })
    await pages.record({ name: 'wanted' })
    expect(await namesOf((await next()).html)).toEqual(['wanted'])
    await leave()
  })

  test('is not opened for HEAD', async () => {
    const watch = spyOn(pages.feed, 'watch')
    const headers = { Cookie: `eventpost_session_8080=${pages.browser.cookies.get('eventpost_session_8080')}` }
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
        const cookie = `eventpost_session_8080=${pages.browser.cookies.get('eventpost_session_8080')}`
        return pages.get(`/apps/${other.appId}/feed`, { Cookie: cookie })
      },
    ],
  ])('%s', async (_, status, ask) => {
    expect((await ask()).status).toBe(status)
  })
})
