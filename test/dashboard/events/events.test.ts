import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { attributesOf, DAY, expectHarmless, HOSTILE, textOf } from '../pages.ts'
import { type EventPages, leadOf, namesOf, openEvents } from './recording.ts'
import { inTurns } from '../../helper.ts'

let pages: EventPages
beforeEach(async () => {
  pages = await openEvents()
})
afterEach(() => pages.close())

const MINUTE = 60_000
const SLY = 'exe.\u202Egnp\u200B'

describe('the events', () => {
  test('the empty state explains events and the next step', async () => {
    const html = await pages.see()
    expect(await leadOf(html)).toBe('No events arrived in the last 48 hours.')
    expect(await textOf(html, '.empty h2')).toEqual(['No events yet'])
    expect(await attributesOf(html, '.empty a', 'href')).toEqual([pages.at('activation')])
    expect(await attributesOf(html, '.feed', 'data-cursor')).toEqual(['evt_00000000000'])
    expect(await textOf(html, '.chart')).toEqual([])
  })

  test('are exported as CSV, all or those with a name', async () => {
    await pages.record({ name: 'paid', properties: { note: '=1+1' } })
    await pages.record({ email: 'eve@example.com', name: '$page', path: '/results/81' })
    const export_ = async (query: string) => {
      const [path] = await attributesOf(await pages.see(query), '.list-foot .hint a', 'href')
      const { html } = await pages.browser.get(path ?? '')
      return html.split('\r\n').map((line) => line.split(',').slice(1, 5).join(','))
    }
    const columns = 'type,event,path,email'
    expect(await export_('')).toEqual([columns, 'page,,/results/81,eve@example.com', 'event,paid,,bob@example.com', ''])
    expect(await export_('?event=paid')).toEqual([columns, 'event,paid,,bob@example.com', ''])
  })

  test('lists newest first, with time, name, person and details', async () => {
    await pages.record({
      properties: { headline: 'Spring', count: 2, by: { team: 'x' } },
      at: pages.clock.now() - MINUTE,
    })
    await pages.record({ email: 'eve@example.com', name: '$page', path: '/results/81' })
    const html = await pages.see()
    expect(await leadOf(html)).toBe('One event and one page view arrived in the last 48 hours.')
    expect((await textOf(html, '.names a'))[0]).toBe('Events and page views2')
    expect(await namesOf(html)).toEqual(['Page view', 'results_ready'])
    expect(await textOf(html, '.feed .who')).toEqual(['eve@example.com', 'bob@example.com'])
    expect(await textOf(html, '.feed .preview')).toEqual(['/results/81', 'Spring · count: 2 · by: {"team":"x"}'])
    expect(await textOf(html, '.feed time')).toEqual(['3 May 12:00:00', '3 May 11:59:00'])
  })

  test('says when an event happened that arrived late, and counts it on arrival', async () => {
    const now = pages.clock.now()
    const paths = ['/a', '/b', '/c', '/d']
    const late = [4 * MINUTE, 5 * MINUTE, 27 * DAY, 365 * DAY]
    for (const [index, path] of paths.entries())
      await pages.record({ name: '$page', path, occurredAt: now - (late[index] ?? 0) })
    await pages.record({ name: 'signed_up', occurredAt: now - 27 * DAY })
    const html = await pages.see()
    expect(await textOf(html, '.feed .preview')).toEqual([
      'happened 6 Apr',
      'happened 3 May 2025 · /d',
      'happened 6 Apr · /c',
      'happened 11:55 · /b',
      '/a',
    ])
    expect(new Set(await textOf(html, '.feed li > time'))).toEqual(new Set(['3 May 12:00:00']))
    expect(await attributesOf(html, '.feed .preview time', 'title')).toContain('6 April 2026, 12:00 UTC')
    expect((await textOf(html, '.chart figcaption'))[0]).toStartWith('Events and page views by hour of arrival (UTC)')
  })

  test.each([
    [
      { url: 'https://app.first.example/results/81?tab=2', headline: 'Ready', n: 1 },
      'Ready · /results/81?tab=2 · n: 1',
    ],
    [
      { url: 'https://app.first.example', link: 'https://app.first.example/a' },
      'https://app.first.example · link: https://app.first.example/a',
    ],
    [{ url: 'javascript:alert(1)', headline: 3 }, 'javascript:alert(1) · headline: 3'],
  ])('the details of %j start with what differs', async (properties, preview) => {
    await pages.record({ properties })
    expect(await textOf(await pages.see(), '.feed .preview')).toEqual([preview])
  })

  test('hostile text is text, and invisible characters are named', async () => {
    await pages.record({ properties: { [HOSTILE]: SLY } })
    await pages.record({ name: '$page', path: `/${HOSTILE}${'x'.repeat(900)}` })
    const html = await pages.see()
    await expectHarmless(html)
    expect(html).not.toContain('\u202E')
    const [path = '', properties] = await textOf(html, '.feed .preview')
    expect(properties).toBe(`${HOSTILE}: exe.U+202EgnpU+200B`)
    expect([path.length, path.endsWith('x…')]).toEqual([161, true])
    await expectHarmless(await pages.see(`?event=${encodeURIComponent(HOSTILE)}&range=${encodeURIComponent(HOSTILE)}`))
  })

  test('pages without gaps while new events arrive', async () => {
    await inTurns(120, (i) => pages.record({ name: `n${i}` }))
    const seen: string[] = []
    for (let query: string | undefined = ''; query !== undefined;) {
      const html = await pages.see(query)
      seen.push(...(await namesOf(html)))
      await pages.record({ name: 'new' })
      const [href] = await attributesOf(html, '.pager [rel=next]', 'href')
      query = href?.slice(pages.at('events').length)
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, i) => `n${119 - i}`))
  })

  test('an older page is not live, and links to the newest', async () => {
    await pages.record({})
    const html = await pages.see('?before=evt_1zzzzzzzzzz')
    expect(await attributesOf(html, '.feed', 'data-feed')).toEqual([null])
    expect([await textOf(html, '.feed-tools'), await attributesOf(html, '.pager a', 'href')]).toEqual([
      [],
      [pages.at('events')],
    ])
  })

  test('a filter by name applies to rows, chart and stream', async () => {
    await pages.record({ name: 'a' })
    await pages.record({ name: 'b' })
    await pages.record({ name: 'b' })
    const html = await pages.see('?event=b')
    expect(await namesOf(html)).toEqual(['b', 'b'])
    expect(await leadOf(html)).toBe('b: 2 events arrived in the last 48 hours.')
    expect(await textOf(html, '.names a')).toEqual(['All events3', 'b2', 'a1'])
    expect(await textOf(html, '.names [aria-current]')).toEqual(['b2'])
    expect(await attributesOf(html, '.feed', 'data-feed')).toEqual([`${pages.at('feed')}?event=b`])
    expect((await textOf(html, '.chart td')).at(-1)).toBe('2')
  })

  test('an unknown name shows no events', async () => {
    await pages.record({ name: 'a' })
    const html = await pages.see('?event=nothing')
    expect(await leadOf(html)).toBe('nothing: no events arrived in the last 48 hours.')
    expect(await textOf(html, '.empty h2')).toEqual(['No events with this name'])
  })

  test.each([
    ['', 48, '1 May, 13:00', '3 May, 12:00'],
    ['?range=days', 30, '4 April 2026', '3 May 2026'],
    ['?range=weeks', 26, 'Week of 3 November 2025', 'Week of 27 April 2026'],
    ['?range=nonsense', 48, '1 May, 13:00', '3 May, 12:00'],
  ])('the chart of %p has its numbers as a table', async (query, length, first, last) => {
    await pages.record({ at: pages.clock.now() - 200 * DAY })
    await pages.record({})
    const labels = await textOf(await pages.see(query), '.chart th')
    expect([labels.length, labels[0], labels.at(-1)]).toEqual([length, first, last])
    expect((await textOf(await pages.see(query), '.chart td')).at(-1)).toBe('1')
  })
})
