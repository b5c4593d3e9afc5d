import { withSql } from '../../data-folder.ts'
import { describe, expect, test } from 'bun:test'
import { readAppResults, readResults } from '../../../src/deliveries/results.ts'
import { groupDays } from '../../../src/dashboard/messages/results-chart.tsx'
import { writeDay } from '../../../src/dashboard/layout/days.ts'
import { readView } from '../../../src/dashboard/messages/results-view.ts'
import { publicId } from '../../../src/core/ids.ts'
import type { ReportKind } from '../../../src/store/delivery-reports.ts'
import { DAY } from '../../durations.ts'
import { attributesOf, textOf } from '../pages.ts'
import { fieldsOf, useEditing } from './editing.ts'
import { addDeliveries, type ResultRow } from './result-rows.ts'

const pages = useEditing()

async function add(count: number, row: ResultRow, messageId?: number): Promise<void> {
  const at = pages.clock.now() - (row.daysAgo ?? 0) * DAY
  await addDeliveries(
    pages.folder,
    { appId: pages.app.id, messageId: messageId ?? (await pages.draft()).id, at, count },
    row,
  )
}

const resultsPath = async (): Promise<string> =>
  pages.at(`messages/${publicId('msg', (await pages.draft()).id)}/results`)
const show = async (query = ''): Promise<string> => (await pages.browser.get((await resultsPath()) + query)).html
const goLive = () => pages.press(pages.path, 'live')

test('a live message opens on its results, a draft in the editor', async () => {
  const linkOf = async () =>
    (await attributesOf((await pages.browser.get(pages.at('messages'))).html, '.message-name', 'href'))[0]
  expect(await linkOf()).toBe(pages.path)
  await goLive()
  expect(await linkOf()).toBe(`${pages.path}/results`)
  await pages.press(pages.path, 'paused')
  expect(await linkOf()).toBe(`${pages.path}/results`)
})

test('every page of a message has the same tabs', async () => {
  for (const [path, name] of [
    [await resultsPath(), 'Results'],
    [pages.path, 'Editor'],
    [`${pages.path}/versions`, 'Versions'],
    [pages.path.replace('messages/', 'deliveries?message='), 'Deliveries'],
  ] as const) {
    const { html } = await pages.browser.get(path)
    expect(await textOf(html, 'h1')).toEqual(['Results ready, they left'])
    expect(await textOf(html, '.sections a')).toEqual(['Results', 'Editor', 'Versions', 'Deliveries'])
    expect(await textOf(html, '.sections [aria-current]')).toEqual([name])
  }
})

test('says what is missing before there are results', async () => {
  expect((await textOf(await show(), '.empty h2')).join('')).toBe('No results yet')
  await goLive()
  expect((await textOf(await show(), '.empty h2')).join('')).toBe('No results in this range')
  const hint = async (query: string) => (await textOf(await show(query), '.empty p')).join('')
  const [today, before] = [0, DAY].map((ms) => new Date(pages.clock.now() - ms).toISOString().slice(0, 10))
  const why = 'Nothing triggered this message on these days. Choose a longer range to see'
  expect(await hint('?range=90')).toBe(`${why} earlier results.`)
  expect(await hint(`?from=${before}&to=${today}`)).toBe(`${why} earlier results.`)
  expect(await hint(`?from=${before}&to=${before}`)).toBe(`${why} earlier or later results.`)
})

describe('the funnel', () => {
  test('counts each step, with its share', async () => {
    await add(4, { state: 'sent' })
    await add(3, { state: 'sent', cameBack: true })
    await add(2, { state: 'sent', cameBack: true, opened: true })
    await add(1, { state: 'sent', cameBack: true, opened: true, goal: true })
    await add(6, { state: 'skipped', reason: 'seen' })
    await add(4, { state: 'waiting' })
    const html = await show()
    const [steps] = await barsOf(html)
    expect(steps).toEqual([
      'Triggered 4 still waiting 20',
      'Passed the rules 63% of those not waiting 10',
      'Sent 63% of those not waiting 10',
      'Came back 60% of sent 6',
      'Opened the result 30% of sent 3',
      'Reached the goal 10% of sent 1',
    ])
    expect((await textOf(html, '.answer')).join('')).toBe('10 emails sent. After 6 of them, the recipient came back.')
  })

  test.each([
    [1, 0, '1 email sent, nobody came back.'],
    [1, 1, '1 email sent, and the recipient came back.'],
    [4, 1, '4 emails sent. After 1 of them, the recipient came back.'],
  ])('says after how many of %i emails a person came back (%i)', async (sent, returns, answer) => {
    await add(sent - returns, { state: 'sent' })
    await add(returns, { state: 'sent', cameBack: true })
    expect((await textOf(await show(), '.answer')).join('')).toBe(answer)
  })

  test.each([
    [0, 22, 0, 0, '22 emails were captured, none sent.'],
    [0, 1, 0, 3, '1 email was captured, none sent.'],
    [0, 22, 5, 0, '22 emails were captured, none sent; 5 emails are waiting.'],
    [4, 22, 0, 0, '4 emails sent, nobody came back. 22 more emails were captured.'],
    [0, 0, 0, 3, 'No emails were sent.'],
  ])(
    'says what became of %i sent, %i captured, %i waiting and %i skipped',
    async (sent, kept, waiting, skipped, said) => {
      await add(sent, { state: 'sent' })
      await add(kept, { state: 'kept' })
      await add(waiting, { state: 'waiting' })
      await add(skipped, { state: 'skipped', reason: 'not_away' })
      expect((await textOf(await show(), '.answer')).join('')).toBe(said)
    },
  )

  test('has the step “Delivered” only where the email provider reports it', async () => {
    await add(2, { state: 'sent' })
    const sent = { appId: pages.app.id, messageId: null, contactId: null, states: null, before: null, limit: 2 }
    const ids = (await pages.store.listDeliveries(sent)).map(({ id }) => id)
    await withSql(pages.folder, async (sql) => {
      const move = sql.prepare('UPDATE deliveries SET contact_id = ? WHERE id = ?')
      for (const [nth, id] of ids.entries())
        await move.run(await pages.event({ email: `${nth}@example.com`, event: 'other' }), id)
    })
    const report = (nth: number, kind: ReportKind, provider: string | null) => {
      const reports = [{ deliveryId: ids[nth] ?? 0, kind, reason: '' }]
      return pages.store.reportDeliveries({ appId: pages.app.id, at: pages.clock.now(), provider, reports })
    }
    const nameSteps = async () => ((await barsOf(await show()))[0] ?? []).filter((step) => step.startsWith('Delivered'))
    await report(0, 'complained', null)
    expect(await nameSteps()).toEqual([])
    await report(1, 'delivered', 'postmark')
    expect(await nameSteps()).toEqual(['Delivered 100% of sent 2'])
  })

  test('has a step for the goal only where one is set or was reached', async () => {
    await add(1, { state: 'sent' })
    expect((await barsOf(await show()))[0]).toHaveLength(5)
    await pages.press(pages.path, 'save', { 'goal.event': 'paid', 'goal.days': '7' })
    expect((await barsOf(await show()))[0]?.at(-1)).toBe('Reached the goal paid 0% of sent 0')
    expect((await textOf(await show(), '.hint')).join()).not.toContain('Each email counts')
  })

  test('names each goal that its emails had, until none of them had an earlier one', async () => {
    let browser = pages.browser
    const setGoal = async (event: string, action = 'save') => {
      const fields = await fieldsOf((await browser.get(pages.path)).html)
      await browser.post(pages.path, { ...fields, 'goal.event': event, 'goal.days': '7', do: action })
    }
    const later = async (days: number) => {
      pages.clock.ms += days * DAY
      browser = await pages.signedIn()
    }
    const said = async () => {
      const { html } = await browser.get(`${await resultsPath()}?range=7`)
      const compared = await textOf(html, '[aria-label="Emailed and held back"] td')
      const hints = await textOf(html, '.hint')
      return [
        (await barsOf(html))[0]?.at(-1),
        compared.at(-4),
        ...hints.filter((hint) => hint.startsWith('Each email counts')),
      ]
    }
    await setGoal('draft')
    await later(1)
    await setGoal('checkout', 'live')
    await add(10, { state: 'sent' })
    await add(30, { state: 'sent', goal: true })
    await add(40, { state: 'skipped', reason: 'holdback', heldBack: true })
    expect(await said()).toEqual(['Reached the goal checkout 75% of sent 30', 'Reached the goal checkout'])
    await later(1)
    await setGoal('upgraded')
    const both = 'Each email counts towards the goal it had: checkout until 5 May 2026, 12:00 UTC, then upgraded.'
    expect(await said()).toEqual(['Reached its goal 75% of sent 30', 'Reached its goal', both, both])
    await later(7)
    await add(40, { state: 'sent' })
    await add(40, { state: 'skipped', reason: 'holdback', heldBack: true })
    // some may have waited since before the change
    expect(await said()).toEqual(['Reached the goal upgraded 0% of sent 0', 'Reached its goal', both])
    await later(75)
    await add(40, { state: 'sent' })
    await add(40, { state: 'skipped', reason: 'holdback', heldBack: true })
    expect(await said()).toEqual(['Reached the goal upgraded 0% of sent 0', 'Reached the goal upgraded'])
  })
})

test('the reasons, the most frequent first, and the rest behind a link', async () => {
  await add(2, { state: 'skipped', reason: 'holdback', heldBack: true })
  await add(5, { state: 'skipped', reason: 'seen' })
  await add(3, { state: 'failed', reason: 'smtp_550' })
  await add(1, { state: 'kept' })
  const [, reasons] = await barsOf(await show())
  expect(reasons).toEqual(['Opened it 45% 5', 'Refused by server (550) 27% 3', 'Held back 18% 2', 'Captured 9% 1'])
  const hints = await textOf(await show(), '.results .hint')
  expect(hints).toContain('Percentages of the 11 not sent.')
  expect(hints).toContain('Passed the rules, but not sent: 2 held back, 1 captured, 3 failed.')
  for (let index = 0; index < 6; index += 1) await add(1, { state: 'skipped', reason: `r${index}` })
  const html = await show()
  expect((await barsOf(html))[1]).toHaveLength(8)
  expect((await textOf(html, '.results .hint')).join(' ')).toContain('2 more reasons')
})

test('what is still waiting is no reason, and has a line of its own', async () => {
  await add(1, { state: 'waiting' })
  const waiting = await show()
  expect(await barsOf(waiting)).toHaveLength(1)
  expect(await textOf(waiting, '.results section:nth-of-type(2) .hint')).toEqual([
    '1 email is waiting, not counted here.',
  ])
  await add(25, { state: 'waiting' })
  await add(12, { state: 'skipped', reason: 'came_back' })
  await add(11, { state: 'skipped', reason: 'seen' })
  const html = await show()
  expect((await barsOf(html))[1]).toEqual(['Came back on their own 52% 12', 'Opened it 48% 11'])
  expect(await textOf(html, '.results section:nth-of-type(2) .hint')).toEqual([
    'Percentages of the 23 not sent.',
    '26 emails are waiting, not counted here.',
  ])
  expect(await attributesOf(html, '.results .hint a', 'href')).toContainEqual(expect.stringContaining('state=pending'))
})

describe('the range', () => {
  test('is 30 days unless another is asked for', async () => {
    for (const daysAgo of [0, 6, 7, 29, 30, 89, 90]) await add(1, { state: 'sent', daysAgo })
    const startedIn = async (query: string) => (await barsOf(await show(query)))[0]?.[0]
    expect(await Promise.all(['', '?range=7', '?range=30', '?range=90', '?range=8'].map(startedIn))).toEqual([
      'Triggered 4',
      'Triggered 2',
      'Triggered 4',
      'Triggered 6',
      'Triggered 4',
    ])
    const today = Math.floor(pages.clock.now() / DAY)
    expect(await startedIn(`?from=${writeDay(today - 7)}&to=${writeDay(today - 6)}`)).toBe('Triggered 2')
  })

  test.each([
    ['?from=2026-05-03', 'Enter both dates, such as 2026-05-03.'],
    ['?from=2026-02-31&to=x', 'Enter both dates, such as 2026-05-03.'],
    ['?from=2026-05-03&to=2026-05-02', 'The first day is after the last.'],
    ['?from=2020-05-03&to=2026-05-02', 'Choose at most 366 days.'],
  ])('%s is refused', async (query, error) => {
    await goLive()
    const { status, html } = await pages.browser.get((await resultsPath()) + query)
    expect(status).toBe(400)
    expect((await textOf(html, '.notice.error')).join('')).toContain(error)
    const [from] = /from=([^&]*)/.exec(query)?.slice(1) ?? []
    expect(await attributesOf(html, '#from', 'value')).toEqual([from ?? null])
  })

  test('a custom range has up to 366 days', () => {
    const read = (to: string) => readView(new URLSearchParams({ from: '2026-01-01', to }), 0)
    expect(read('2027-01-01')).toMatchObject({ days: null, error: null })
    expect(read('2027-01-02').error).not.toBeNull()
    expect(read('2026-01-01').range).toEqual({ from: 20_454, until: 20_454 })
  })
})

test('days of a long range are grouped by week, and none is lost', () => {
  const dayOf = (day: number) => ({ day, started: 1, wouldSend: 1, sent: 1, cameBack: 1, opened: 0, reachedGoal: 0 })
  const daysOf = (count: number) => Array.from({ length: count }, (_, index) => dayOf(100 + index))
  expect(groupDays(daysOf(90))).toHaveLength(90)
  const weeks = groupDays(daysOf(100))
  expect(weeks).toHaveLength(15)
  expect(weeks.reduce((sum, { started }) => sum + started, 0)).toBe(100)
  expect(weeks.at(-1)).toMatchObject({ from: 198, until: 199, sent: 2 })
})

test('the chart has a link for each day, in a table too', async () => {
  await add(3, { state: 'sent', daysAgo: 1, cameBack: true })
  const html = await show('?range=7')
  expect(await attributesOf(html, '.plot a', 'tabindex')).toEqual(Array.from({ length: 7 }, () => '-1'))
  const today = Math.floor(pages.clock.now() / DAY)
  const [, yesterday] = await attributesOf(html, '.day-bars tbody a', 'href')
  expect(yesterday).toContain(`from=${writeDay(today - 1)}&to=${writeDay(today - 1)}`)
  expect((await textOf(html, '.day-bars td')).slice(3, 6)).toEqual(['3', '3', '3'])
})

describe('emailed and held back', () => {
  test('are compared with an interval', async () => {
    await add(131, { state: 'sent', cameBack: true })
    await add(249, { state: 'sent' })
    await add(6, { state: 'skipped', reason: 'holdback', heldBack: true, cameBack: true })
    await add(36, { state: 'skipped', reason: 'holdback', heldBack: true })
    const html = await show()
    expect((await textOf(html, '.answer')).join('')).toBe(
      '380 emails sent. After 131 of them, the recipient came back. 71 ± 45 more people came back than without the email, among the 380 compared.',
    )
    const cells = await textOf(html, '[aria-label="Emailed and held back"] td')
    expect(cells.slice(0, 4)).toEqual(['Came back', '131 of 380 34%', '6 of 42 14%', '71 ± 45 more'])
  })

  test('tell nothing with too few people', async () => {
    await add(100, { state: 'sent', cameBack: true })
    await add(29, { state: 'skipped', reason: 'holdback', heldBack: true })
    const cells = await textOf(await show(), '[aria-label="Emailed and held back"] td')
    expect(cells[3]).toBe('Too few people to tell')
  })

  test('without a mail server, the page says why nobody is compared', async () => {
    await add(9, { state: 'skipped', reason: 'holdback', heldBack: true, isCapturing: true })
    await pages.press(pages.path, 'save', { holdback: '20' })
    const hints = await textOf(await show(), 'section .hint')
    expect(hints).toContain(
      'Nobody in this range is compared: each person counts once, and only while the app has a mail server and a sender address. Change the share in the editor.',
    )
  })

  test('without a holdback, the page says how to get it', async () => {
    await add(1, { state: 'sent' })
    expect(await attributesOf(await show(), 'section .hint a', 'href')).toContain(`${pages.path}#holdback`)
  })
})

test('results of another app are not found', async () => {
  const { status } = await pages.browser.get(pages.at(`messages/${publicId('msg', 77)}/results`))
  expect(status).toBe(404)
  expect((await pages.browser.get(pages.at('messages/new/results'))).status).toBe(404)
})

test('an app has the sum of its messages, and a trend for each', async () => {
  const [first, second] = await pages.messages()
  const ids = [first?.id ?? 0, second?.id ?? 0]
  for (const id of ids) {
    await add(100, { state: 'sent', cameBack: true }, id)
    await add(100, { state: 'sent', daysAgo: 2 }, id)
    await add(40, { state: 'skipped', reason: 'holdback', heldBack: true, cameBack: true }, id)
    await add(60, { state: 'skipped', reason: 'holdback', heldBack: true }, id)
    await add(7, { state: 'skipped', reason: 'seen' }, id)
    await add(3, { state: 'skipped', reason: 'not_away' }, id)
  }
  await add(50, { state: 'sent', daysAgo: 9 })
  const today = Math.floor(pages.clock.now() / DAY)
  const range = { from: today - 6, until: today }
  const found = await readAppResults(pages.store, pages.app.id, range)
  expect(found).toMatchObject({ emailed: 400, cameBack: 200, alreadySeen: 14 })
  for (const id of ids) expect(found.trends.get(id)).toEqual([0, 0, 0, 0, 100, 0, 100])
  expect(found.days.map(({ sent, cameBack }) => [sent, cameBack]).slice(3)).toEqual([
    [0, 0],
    [200, 0],
    [0, 0],
    [200, 200],
  ])
  expect([...found.cameBackOf]).toEqual(ids.map((id) => [id, 100]))
  const one = (await readResults(pages.store, ids[0] ?? 0, range)).compared.cameBack.extra
  expect(found.compared?.people).toBe(400)
  expect(found.compared?.extra.estimate).toBeCloseTo(2 * (one?.estimate ?? 0), 8)
  expect(found.compared?.extra.margin).toBeCloseTo(Math.SQRT2 * (one?.margin ?? 0), 8)
  expect(await readAppResults(pages.store, pages.app.id + 1, range)).toEqual({
    emailed: 0,
    cameBack: 0,
    ofEarlier: 0,
    compared: null,
    alreadySeen: 0,
    unsent: 0,
    captured: 0,
    waitingOf: new Map(),
    trends: new Map(),
    days: Array.from({ length: 7 }, () => ({ sent: 0, cameBack: 0 })),
    cameBackOf: new Map(),
  })
})

/** Of the lists of bars, the text of each. */
async function barsOf(html: string): Promise<string[][]> {
  const lists = html.match(/<ul class="names bars">.*?<\/ul>/gs) ?? []
  const texts = await Promise.all(lists.map((list) => textOf(list, 'a')))
  return texts.map((bars) => bars.map((text) => text.replace(/\s+/g, ' ')))
}

test('reasons with equal counts have equal shares', async () => {
  await add(16, { state: 'skipped', reason: 'seen' })
  for (const reason of ['not_away', 'unsubscribed', 'came_back', 'bounced']) await add(3, { state: 'skipped', reason })
  const [, reasons = []] = await barsOf(await show())
  expect(reasons.map((text) => text.replace(/^\D*/, ''))).toEqual(['57% 16', '11% 3', '11% 3', '11% 3', '11% 3'])
})
