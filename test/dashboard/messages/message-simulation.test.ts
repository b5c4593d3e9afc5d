import { describe, expect, test } from 'bun:test'
import { describeReach } from '../../../src/dashboard/messages/message-simulation.tsx'
import type { Simulation } from '../../../src/deliveries/simulation/index.ts'
import { messageOf } from '../../messaging.ts'
import { recordEvent } from '../events/recording.ts'
import { visitReportWrite } from '../../store/samples.ts'
import { fieldsOf, useEditing } from './editing.ts'
import { attributesOf, expectHarmless, textOf } from '../pages.ts'

const [MINUTE, DAY] = [60_000, 86_400_000]

const pages = useEditing()

const RESULT = { url: 'https://app.example.com/results/1', headline: 'Ready' }

const view = async (email: string, path: string): Promise<void> => {
  const at = pages.clock.now()
  const items = [{ type: 'page' as const, name: null, path, occurredAt: at }]
  await pages.store.recordVisitReport(
    visitReportWrite({
      accountId: pages.begun.accountId,
      appId: pages.app.id,
      email,
      at,
      reportId: `${path}.${at}`,
      items,
    }),
  )
}

/** Signs in again, because days have passed. */
async function simulate(at = pages.path): Promise<string> {
  const browser = await pages.signedIn()
  const { html } = await browser.get(at)
  return (await browser.post(at, { ...(await fieldsOf(html)), do: 'simulate 7' })).html
}

test('marks estimates by page views, because reports are stored for 48 hours', async () => {
  await pages.event({ email: 'bob@example.com', event: 'signed_up' })
  await view('bob@example.com', '/wait')
  pages.clock.ms += MINUTE
  await pages.event({ email: 'bob@example.com' })
  pages.clock.ms += 3_600_000
  const fresh = await simulate()
  expect(await textOf(fresh, '#simulation > p.hint')).not.toContainEqual(expect.stringContaining('48 hours'))
  expect(await textOf(fresh, '.verdicts .hint')).toEqual([])
  pages.clock.ms += 3 * DAY
  const html = await simulate()
  await expectHarmless(html)
  expect(await textOf(html, '#simulation > p.hint')).toContainEqual(
    expect.stringMatching(/^Browser reports are stored for 48 hours\. One of these triggers is older and was/),
  )
  expect(await textOf(html, '.verdicts .hint')).toContain(' Based on page views only.')
})

test('lists people never reported separately', async () => {
  const [, second] = await pages.messages()
  for (const email of ['a@example.com', 'b@example.com']) await pages.event({ email, properties: RESULT })
  pages.clock.ms += 2 * DAY
  const html = await simulate(pages.pathOf(second?.id ?? 0))
  expect(await textOf(html, '.outcome > summary b')).toEqual(['No page views before it was due'])
  expect(await textOf(html, '.outcome > summary .hint')).toEqual([' 2 people, 100%'])
  const why =
    'When the email was due, Eventpost had received no page views by a@example.com. This message is not sent in that case.'
  expect(await textOf(html, '.outcome td > bdi')).toContain(why)
})

test('names each rule, and says who is held back', async () => {
  await pages.event({ email: 'a@example.com', properties: RESULT })
  pages.clock.ms += 3_600_000
  const { html } = await pages.press(pages.path, 'simulate 7')
  expect(await textOf(html, '.verdicts li > b')).toEqual([
    "Hasn't opened the result: ",
    'Away at the trigger: ',
    'Away at send time: ',
  ])
  expect((await textOf(html, '#reach')).join('')).toBe(
    'Simulated as if live for the last 7 days: the only person who triggered it would get it.',
  )
  for (const email of ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].map((name) => `${name}@example.com`))
    await pages.event({ email, properties: RESULT })
  pages.clock.ms += 3_600_000
  const compared = await pages.press(pages.path, 'simulate 7', { holdback: '50' })
  expect((await textOf(compared.html, '#reach')).join('')).toMatch(
    /^Simulated as if live with unsaved changes for the last 7 days: \d of 10 people would get it\. \d would be held back for comparison\.$/,
  )
})

test('says which numbers are simulated, and where those of a live message are', async () => {
  const links = async (html: string) => attributesOf(html, '#simulation a', 'href')
  expect(await links((await (await pages.signedIn()).get(pages.path)).html)).toEqual([])
  await pages.press(pages.path, 'live')
  for (const name of ['a', 'b']) await pages.event({ email: `${name}@example.com`, properties: RESULT })
  pages.clock.ms += 3_600_000
  const { html } = await pages.press(pages.path, 'simulate 7', { name: 'Another name' })
  expect((await textOf(html, '#reach')).join('')).toBe(
    'Simulated as if live for the last 7 days: 2 of 2 people would get it.',
  )
  expect((await links(html))[0]).toBe(`${pages.path}/results`)
  const changed = await pages.press(pages.path, 'simulate 7', { 'wait.minutes': '20' })
  expect((await textOf(changed.html, '#reach')).join('')).toBe(
    'Simulated as if live with unsaved changes for the last 7 days: 2 of 2 people would get it.',
  )
})

describe('counts in words', () => {
  const { name: _, status: __, ...content } = messageOf()
  const say = (people: Partial<Simulation['people']>, more: Partial<Simulation> = {}) => {
    const none = { triggered: 0, emailed: 0, unseen: 0, waiting: 0, heldBack: 0 }
    const lists = { counts: {}, outcomes: [], lines: [] }
    const found = { from: 0, until: 0, triggered: 0, tooOld: 0, hasMore: false, estimated: 0, untried: 0, ...lists }
    const counted = { ...found, ...more, people: { ...none, ...people } }
    return describeReach({ found: counted, content, days: 30, isUnsaved: false })
  }
  const one = 'Simulated as if live for the last 30 days: the only person who triggered it'
  test.each([
    [{}, 'Nobody triggered it in the last 30 days.'],
    [{ triggered: 1, emailed: 1 }, `${one} would get it.`],
    [{ triggered: 1, waiting: 1 }, `${one} would still be waiting.`],
    [{ triggered: 1, heldBack: 1 }, `${one} would be held back for comparison.`],
    [{ triggered: 1 }, `${one} wouldn't get it.`],
    [{ triggered: 3 }, 'Simulated as if live for the last 30 days: none of the 3 people would get it.'],
    [
      { triggered: 3, waiting: 2 },
      'Simulated as if live for the last 30 days: none of the 3 people would get it yet. 2 would still be waiting.',
    ],
    [
      { triggered: 3, emailed: 1, waiting: 1 },
      'Simulated as if live for the last 30 days: 1 of 3 people would get it. 1 more would still be waiting.',
    ],
  ])('%j', (people, text) => expect(say(people)).toBe(text))

  test('and says how many events were too old', () => {
    expect(say({}, { tooOld: 1 })).toBe(
      'Nobody triggered it in the last 30 days. 1 event was received more than 72 hours after it happened. It triggers no email.',
    )
    expect(say({ triggered: 3, emailed: 2 }, { tooOld: 28 })).toEndWith(
      ' 2 of 3 people would get it. 28 events were received more than 72 hours after they happened. They trigger no email.',
    )
    expect(say({ triggered: 3 }, { tooOld: 28, hasMore: true })).toEndWith(
      ' At least 28 events were received more than 72 hours after they happened. They trigger no email.',
    )
  })

  test.each([
    [{ triggered: 1, emailed: 1 }, 'one person caused the newest 10,000 triggers and would get it.'],
    [{ triggered: 1 }, "one person caused the newest 10,000 triggers and wouldn't get it."],
    [{ triggered: 3, emailed: 1 }, '1 of the last 3 people to trigger it would get it.'],
  ])('%j, of the newest triggers', (people, text) =>
    expect(say(people, { triggered: 10_000, hasMore: true })).toBe(
      `Simulated as if live for the last 30 days: ${text}`,
    ),
  )
})

test('says how many events were too old when they arrived', async () => {
  const occurredAt = pages.clock.now() - 72 * 3_600_000 - 1
  const old = 'was received more than 72 hours after it happened. It triggers no email.'
  await recordEvent(pages, pages.app, { email: 'old@example.com', name: 'results_ready', properties: {}, occurredAt })
  const none = await simulate()
  expect(await textOf(none, '#simulation .empty p')).toEqual([`1 event ${old}`])
  await pages.event({ email: 'bob@example.com' })
  pages.clock.ms += 3_600_000
  const html = await simulate()
  expect(await textOf(html, '#simulation > p.hint')).toContain(`1 event ${old}`)
  expect((await textOf(html, '#reach')).join('')).toEndWith(` would get it. 1 event ${old}`)
})

test('does not count a cancelled email as sent', async () => {
  const email = 'bob@example.com'
  for (const _ of ['first', 'second']) {
    await pages.event({ email, properties: RESULT })
    pages.clock.ms += MINUTE
  }
  await view(email, '/results/1')
  pages.clock.ms += 3_600_000
  const html = await simulate()
  expect(await textOf(html, '.outcome > summary')).toEqual(['Had opened the result 1 person, 100%'])
  expect((await textOf(html, '.outcome td > bdi')).join()).toStartWith('bob@example.com was on /results/1')
})

describe('a simulation', () => {
  const simulateTyped = (changes: Record<string, string> = {}) => pages.press(pages.path, 'simulate 7', changes)

  test('shows who, when and why not, for the current input', async () => {
    const properties = { url: 'https://example.com/results/1' }
    for (const email of ['bob@example.com', 'eve@example.com']) await pages.event({ email, properties })
    pages.clock.ms += 60_000
    await pages.event({ email: 'eve@example.com', event: 'paid' })
    pages.clock.ms += 3_600_000
    const { status, html } = await simulateTyped({
      'onlyIf[3].rule': 'notDone',
      'onlyIf[3].event': 'paid',
      'onlyIf[3].since': 'ever',
      'onlyIf[4].rule': 'tagLacks',
      'onlyIf[4].lacks': 'vip',
    })
    expect(status).toBe(200)
    await expectHarmless(html)
    expect(await textOf(html, '#simulation > p:not(.hint)')).toEqual([
      'One person would have got the email. The message has been triggered 2 times since 26 April 2026.',
    ])
    expect(await textOf(html, '.outcome > summary')).toEqual([
      'Would have been sent 1 person, 50%',
      'An excluded event arrived 1 person, 50%',
    ])
    expect(await textOf(html, '.outcome td a')).toEqual(['bob@example.com', 'eve@example.com'])
    expect((await textOf(html, '.verdicts .hint')).every((text) => text.includes('today'))).toBe(true)
    expect(await textOf(html, '.verdicts .fail')).toEqual([expect.stringContaining('paid')])
    expect((await pages.draft()).content.onlyIf).toHaveLength(3)
    expect(await pages.store.countDeliveries((await pages.draft()).id)).toMatchObject({ waiting: 0, sent: 0 })
  })

  test('says if nothing triggered it or it cannot be simulated', async () => {
    expect(await textOf((await simulateTyped()).html, '#simulation .empty h2')).toEqual([
      'Nothing triggered it in the last 7 days',
    ])
    const rule = { 'onlyIf[0].rule': 'status', 'onlyIf[0].is': 'subscribed' }
    const byTag = { trigger: 'tag', 'trigger.tag': 'vip', ...rule, again: 'person', 'again.collect.minutes': '' }
    expect(await textOf((await simulateTyped(byTag)).html, '#simulation .empty h2')).toEqual([
      "This can't be simulated",
    ])
  })

  test('shows errors of the input', async () => {
    const { status, html } = await simulateTyped({ 'mail.subject': '', name: '' })
    expect([status, await attributesOf(html, '.field .fault', 'id')]).toEqual([400, ['mail.subject-fault']])
  })
})

test('reports progress, or nothing if none runs', async () => {
  const browser = await pages.signedIn()
  const { html } = await browser.get(pages.path)
  const [busy] = await attributesOf(html, '#simulation [data-busy]', 'data-progress')
  const answer = await browser.get(busy ?? '')
  expect([answer.status, answer.html]).toEqual([200, 'null'])
})
