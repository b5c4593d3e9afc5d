import { beforeEach, describe, expect, test } from 'bun:test'
import { saveLastCheck } from '../../../src/accounts/dns-checks.ts'
import { listUnchecked, type SenderCheck } from '../../../src/accounts/sender-checks.ts'
import { PAGE_NAME } from '../../../src/store/visit-reports.ts'
import { visitReportWrite } from '../../store/samples.ts'
import { createBrowser } from '../browser.ts'
import { addDeliveries, type ResultRow } from '../messages/result-rows.ts'
import { recordEvent } from '../events/recording.ts'
import { useEditing } from '../messages/editing.ts'
import { attributesOf, DAY, expectHarmless, HOSTILE, textOf } from '../pages.ts'
import { inTurns } from '../../helper.ts'

const pages = useEditing()

const HOUR = 3_600_000
const path = () => pages.at('overview')
const show = async (): Promise<string> => (await (await pages.signedIn()).get(path())).html
const answerOf = async (html: string): Promise<string> => (await textOf(html, '.answer')).join('')

async function add(count: number, row: ResultRow): Promise<void> {
  const at = pages.clock.now() - (row.daysAgo ?? 0) * DAY
  await addDeliveries(pages.folder, { appId: pages.app.id, messageId: (await pages.draft()).id, at, count }, row)
}

/** Opens the page until its simulation has ended, as the page's script does. `first`: while it runs. */
async function followSimulation(of = path()): Promise<{ first: string; html: string }> {
  const browser = await pages.signedIn()
  const first = await browser.get(of)
  const [live] = await attributesOf(first.html, '[data-live-from]', 'data-live-from')
  expect(live).toBe(`${path()}/live`)
  const cookie = Array.from(browser.cookies, ([name, value]) => `${name}=${value}`).join('; ')
  const stream = await pages.handle(live ?? '', { headers: { Cookie: cookie } })
  for await (const chunk of stream.body ?? [])
    if (new TextDecoder().decode(chunk as Uint8Array).includes('data: ')) break
  return { first: first.html, html: (await browser.get(of)).html }
}
const showSimulated = async (of?: string): Promise<string> => (await followSimulation(of)).html

/** Three people whose results were ready two hours ago, one of whom saw them. */
async function leaveEarly(): Promise<void> {
  for (const email of ['a@example.com', 'b@example.com'])
    await pages.event({ email, properties: { headline: 'Ready' } })
  pages.clock.ms += 2 * HOUR
}

describe('the way to it', () => {
  const homeOf = async () => (await pages.browser.get('/')).location
  const navOf = async (page: string) =>
    textOf((await pages.browser.get(pages.at(page))).html, '.sidebar > ul .item > span')

  test('is Activation until the first event, and Overview from then on', async () => {
    expect(await homeOf()).toBe(pages.at('activation'))
    expect((await pages.browser.get(path())).location).toBe(pages.at('activation'))
    expect((await navOf('keys')).slice(0, 2)).toEqual(['Activation', 'Events'])
    await pages.event()
    expect(await homeOf()).toBe(path())
    expect((await navOf('keys')).slice(0, 2)).toEqual(['Overview', 'Events'])
    expect((await pages.browser.get(path())).status).toBe(200)
  })

  test('stays Overview when the person of the only event is erased', async () => {
    await pages.event()
    const by = { accountId: pages.begun.accountId, appId: pages.app.id, actor: 'test', at: pages.clock.now() }
    await pages.store.eraseContact({ ...by, email: 'bob@example.com' })
    expect(await homeOf()).toBe(path())
  })

  test('Activation stays in reach of Overview and Settings', async () => {
    await pages.event()
    for (const page of ['overview', 'settings'])
      expect(await attributesOf((await pages.browser.get(pages.at(page))).html, 'main a', 'href')).toContain(
        pages.at('activation'),
      )
    const { status, html } = await pages.browser.get(pages.at('activation'))
    expect([status, await textOf(html, 'section > h2')]).toEqual([
      200,
      expect.arrayContaining(['API key', 'Code for your server', 'Script tag for your pages']),
    ])
  })

  test('is for members only', async () => {
    await pages.event()
    await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    for (const page of ['overview', 'overview/people', 'overview/live'])
      expect([page, (await eve.get(pages.at(page))).status]).toEqual([page, 404])
    expect((await createBrowser(pages).get(`${path()}/live`)).status).toBe(401)
    await pages.addMember('zoe@example.com', 'viewer')
    const zoe = await (await pages.signedIn('zoe@example.com')).get(path())
    expect([zoe.status, await textOf(zoe.html, '.overview-answer .primary')]).toEqual([
      200,
      ['Open “Results ready, they left”'],
    ])
  })
})

describe('before a message is live', () => {
  test('shows that it counts, then who left before their results', async () => {
    await leaveEarly()
    const { first, html } = await followSimulation()
    expect(await answerOf(first)).toBe('Counting people who left before their results were ready last week.')
    expect(await answerOf(html)).toBe(
      '2 people would have got “Results ready, they left” last week. Nobody emailed them; none of them have page views.',
    )
    expect(await textOf(html, '.overview-answer .button')).toEqual(['Review “Results ready, they left”', 'See who'])
    expect(await attributesOf(html, '.overview-answer .button', 'href')).toEqual([
      pages.path,
      pages.at('overview/people'),
    ])
    expect(await attributesOf(html, '[data-live-from]', 'class')).toEqual([])
  })

  test('says that people left where page views show it', async () => {
    const view = (email: string) =>
      pages.store.recordVisitReport(
        visitReportWrite({
          accountId: pages.begun.accountId,
          appId: pages.app.id,
          email,
          at: pages.clock.now(),
          reportId: email,
          items: [{ type: 'page', name: null, path: '/wait', occurredAt: pages.clock.now() }],
        }),
      )
    await pages.event({ email: 'a@example.com', event: 'signed_up' })
    await view('a@example.com')
    pages.clock.ms += 2 * HOUR
    await leaveEarly()
    expect(await answerOf(await showSimulated())).toBe(
      '2 people would have got “Results ready, they left” last week. Nobody emailed them; for 1 of them, no page views had arrived when the email was due.',
    )
  })

  test('says of page views that arrived late only that they had not arrived', async () => {
    const properties = { headline: 'Ready' }
    const occurredAt = pages.clock.now() - 3 * HOUR
    await recordEvent(pages, pages.app, { email: 'a@example.com', properties, occurredAt })
    pages.clock.ms += HOUR
    const view = { email: 'a@example.com', name: PAGE_NAME, path: '/wait', occurredAt: occurredAt - HOUR }
    await recordEvent(pages, pages.app, view)
    const html = await showSimulated()
    expect((await textOf(html, '.figures a')).join()).toMatch(/Page views\s*1/)
    expect(await answerOf(html)).toBe(
      '1 person would have got “Results ready, they left” last week. Nobody emailed them; no page views of theirs had arrived when the email was due.',
    )
  })

  test('lists many in pages', async () => {
    await inTurns(45, (index) => pages.event({ email: `p${index}@example.com` }))
    pages.clock.ms += 2 * HOUR
    const html = await showSimulated(pages.at('overview/people'))
    expect(await textOf(html, 'tbody tr')).toHaveLength(40)
    const [older] = await attributesOf(html, '.pager [rel=next]', 'href')
    const second = await (await pages.signedIn()).get(older ?? '')
    expect(await textOf(second.html, 'tbody tr')).toHaveLength(5)
    expect(await attributesOf(second.html, '.pager a', 'href')).toEqual([pages.at('overview/people')])
    for (const skip of ['x', '-1', '999'])
      expect((await pages.browser.get(`${pages.at('overview/people')}?skip=${skip}`)).status).toBe(200)
  })

  test('lists these people once each', async () => {
    await leaveEarly()
    await pages.event({ email: 'a@example.com', properties: { headline: 'Another', resultId: '2' } })
    pages.clock.ms += 2 * HOUR
    const html = await showSimulated(pages.at('overview/people'))
    expect(await textOf(html, 'tbody td:first-child')).toEqual(['a@example.com', 'b@example.com'])
    expect((await textOf(html, '.page-head')).join()).toContain('none of them have page views.')
    expect(await attributesOf(html, 'tbody time', 'data-age')).toEqual(['', '', '', ''])
    for (const href of await attributesOf(html, 'tbody a', 'href'))
      expect((await pages.browser.get(href ?? '')).status).toBe(200)
    expect(await attributesOf(html, '.page-head .primary', 'href')).toEqual([pages.path])
  })

  test.each([72 * HOUR + 1, 240 * HOUR])(
    'says how many events were too old when they arrived, by %d ms',
    async (ms) => {
      const occurredAt = pages.clock.now() - ms
      const old = '1 event was received more than 72 hours after it happened. It triggers no email.'
      await recordEvent(pages, pages.app, { email: 'old@example.com', properties: {}, occurredAt })
      expect((await textOf(await showSimulated(), '.overview-answer .hint')).join()).toContain(old)
      expect((await textOf(await showPeople(), '.empty p')).join()).toContain(old)
      await leaveEarly()
      pages.clock.ms += HOUR
      const html = await showSimulated(pages.at('overview/people'))
      expect(await textOf(html, 'tbody tr')).toHaveLength(2)
      expect((await textOf(html, '.after-table')).join()).toStartWith(old)
    },
  )

  test('says when nobody left', async () => {
    await pages.event({ event: 'signed_up' })
    const html = await showSimulated()
    expect(await answerOf(html)).toBe('Nothing triggered “Results ready, they left” last week.')
    expect(await textOf(html, '.overview-answer .button')).toEqual(['Review “Results ready, they left”'])
    expect(await textOf(await showPeople(), '.empty h2')).toEqual(['Nobody'])
  })

  test('without any message leads to a new one', async () => {
    await pages.event()
    for (const { id } of await pages.messages()) await pages.store.deleteMessage({ ...by(), id })
    const html = await show()
    expect(await answerOf(html)).toBe('No messages yet, so nobody is emailed automatically.')
    expect(await attributesOf(html, '.overview-answer .button', 'href')).toEqual([pages.at('messages/new')])
    expect((await pages.browser.get(pages.at('overview/people'))).location).toBe(path())
  })

  test('a hostile name is text', async () => {
    await leaveEarly()
    const [first] = await pages.messages()
    if (!first) throw new Error('no draft')
    const content = { ...first.content, onlyIf: [] }
    const draft = { id: first.id, name: HOSTILE, content, status: null }
    await pages.store.saveMessages({ ...by(), drafts: [draft] })
    const html = await showSimulated()
    await expectHarmless(html)
    expect(await answerOf(html)).toBe(`2 people would have got “${HOSTILE}” last week. Nobody emailed them.`)
  })

  const by = () => ({ accountId: pages.begun.accountId, appId: pages.app.id, actor: 'test', at: pages.clock.now() })
  const showPeople = async () => (await (await pages.signedIn()).get(pages.at('overview/people'))).html
})

describe('with a live message', () => {
  const CAME_BACK = expect.stringMatching(/\/people\?emails=returned&days=30$/)
  const LAST_WEEK = expect.stringMatching(/\/people\?emails=returned&days=7$/)
  const NOT_SENT = expect.stringMatching(/\/deliveries\?state=unsent&from=[\d-]+&rows=emails$/)

  beforeEach(async () => {
    await pages.event()
    await pages.set({ fromEmail: 'team@example.com' })
    await pages.press(pages.path, 'live')
  })

  test('says that nobody was emailed yet, and simulates nothing', async () => {
    const html = await show()
    expect(await answerOf(html)).toBe('Nobody has been emailed yet.')
    expect(await attributesOf(html, '[data-live-from]', 'class')).toEqual([])
    expect((await pages.browser.get(pages.at('overview/people'))).location).toBe(path())
  })

  test('counts the emails that are waiting', async () => {
    await add(2, { state: 'waiting' })
    const html = await show()
    expect(await answerOf(html)).toBe('Nobody has been emailed yet: 2 emails are waiting.')
    expect((await textOf(html, '.live-messages td')).join('|')).toContain('|2 waiting|')
    await add(1, { state: 'sent' })
    expect((await textOf(await show(), '.overview-answer .hint'))[0]).toStartWith('Last 30 days. 2 emails are waiting.')
    const [waiting] = await attributesOf(await show(), '.overview-answer a', 'href')
    expect((await textOf((await pages.browser.get(waiting ?? '')).html, '.page-head p')).join()).toStartWith(
      '2 deliveries match',
    )
  })

  test('leads to who came back in the last 30 days, and to those of the last 7 days if there are any', async () => {
    const links = async () => attributesOf(await show(), '.overview-answer a', 'href')
    await add(2, { state: 'sent', cameBack: true, daysAgo: 7 })
    expect((await links()).slice(0, 2)).toEqual([CAME_BACK, `${pages.path}#holdback`])
    await add(1, { state: 'sent', cameBack: true, daysAgo: 6 })
    expect((await links()).slice(0, 2)).toEqual([CAME_BACK, LAST_WEEK])
    expect((await textOf(await show(), '.overview-answer .hint')).join('')).toStartWith(
      'Last 30 days. See who came back, or only those from the last 7 days.',
    )
  })

  test('sums up the last 30 days, with a way to a comparison', async () => {
    await add(3, { state: 'sent', cameBack: true })
    await add(2, { state: 'sent', daysAgo: 29 })
    await add(9, { state: 'sent', daysAgo: 30, cameBack: true })
    await add(4, { state: 'skipped', reason: 'seen' })
    const html = await show()
    expect(await answerOf(html)).toBe(
      '5 people emailed, 3 came back; 4 not emailed because they had already opened the result.',
    )
    expect(await attributesOf(html, '.overview-answer a', 'href')).toEqual([
      CAME_BACK,
      LAST_WEEK,
      NOT_SENT,
      `${pages.path}#holdback`,
    ])
  })

  test('counts the emails that were not sent, as its link lists them and as the results of the message do', async () => {
    await add(1, { state: 'sent' })
    await add(4, { state: 'skipped', reason: 'seen' })
    await add(2, { state: 'skipped', reason: 'not_away' })
    await add(1, { state: 'skipped', reason: 'missing_value' })
    await add(5, { state: 'skipped', reason: 'not_away', daysAgo: 30 })
    await add(7, { state: 'skipped', reason: 'holdback', heldBack: true })
    await add(2, { state: 'failed', reason: 'smtp_550' })
    await add(3, { state: 'kept' })
    const html = await show()
    expect((await textOf(html, '.overview-answer .hint'))[0]).toStartWith(
      "Last 30 days. 19 emails weren't sent, 3 of them captured: see why.",
    )
    const [why] = await attributesOf(html, '.overview-answer a', 'href')
    expect(why).toEqual(NOT_SENT)
    const listed = await pages.browser.get((why ?? '').replaceAll('&amp;', '&'))
    expect(await textOf(listed.html, '[data-feed-counts=state]')).toEqual(['19 deliveries match, newest first.'])
    const { html: results } = await pages.browser.get(`${pages.path}/results`)
    expect((await textOf(results, 'main')).join(' ')).toContain('Percentages of the 19 not sent.')
  })

  test('says that emails were captured, and counts nothing twice', async () => {
    const hintOf = async (html: string) => (await textOf(html, '.overview-answer .hint')).join('')
    await add(22, { state: 'kept' })
    const captured = await show()
    expect(await answerOf(captured)).toBe('22 emails were captured, none sent.')
    expect(await hintOf(captured)).toBe('Last 30 days. See these emails.')
    const [these] = await attributesOf(captured, '.overview-answer a', 'href')
    const listed = await pages.browser.get((these ?? '').replaceAll('&amp;', '&'))
    expect(await textOf(listed.html, '[data-feed-counts=state]')).toEqual(['22 deliveries match, newest first.'])
    await add(2, { state: 'skipped', reason: 'seen' })
    await add(1, { state: 'skipped', reason: 'not_away' })
    const mixed = await show()
    expect(await answerOf(mixed)).toBe(
      '22 emails were captured, none sent; 2 not emailed because they had already opened the result.',
    )
    expect(await hintOf(mixed)).toBe("Last 30 days. 25 emails weren't sent, 22 of them captured: see why.")
  })

  test('compares with those held back', async () => {
    await add(131, { state: 'sent', cameBack: true })
    await add(249, { state: 'sent' })
    await add(6, { state: 'skipped', reason: 'holdback', heldBack: true, cameBack: true })
    await add(36, { state: 'skipped', reason: 'holdback', heldBack: true })
    const html = await show()
    expect(await answerOf(html)).toBe('380 people emailed, 131 came back, 71 ± 45 more than without.')
    expect(await attributesOf(html, '.overview-answer a', 'href')).toEqual([CAME_BACK, LAST_WEEK, NOT_SENT])
  })

  test('adds up what several messages brought about, with one margin for all', async () => {
    const [first, second] = await pages.messages()
    const compare = async (messageId = 0) => {
      const to = { appId: pages.app.id, messageId, at: pages.clock.now() }
      await addDeliveries(pages.folder, { ...to, count: 131 }, { state: 'sent', cameBack: true })
      await addDeliveries(pages.folder, { ...to, count: 249 }, { state: 'sent' })
      await addDeliveries(
        pages.folder,
        { ...to, count: 6 },
        { state: 'skipped', reason: 'holdback', heldBack: true, cameBack: true },
      )
      await addDeliveries(pages.folder, { ...to, count: 36 }, { state: 'skipped', reason: 'holdback', heldBack: true })
    }
    await compare(first?.id)
    expect(await answerOf(await show())).toBe('380 people emailed, 131 came back, 71 ± 45 more than without.')
    await compare(second?.id)
    expect(await answerOf(await show())).toBe('760 people emailed, 262 came back, 142 ± 63 more than without.')
  })

  test('names how many are compared where that is another number, and says who they are', async () => {
    await add(131, { state: 'sent', cameBack: true })
    await add(249, { state: 'sent' })
    await add(20, { state: 'failed', reason: 'smtp_550' })
    await add(6, { state: 'skipped', reason: 'holdback', heldBack: true, cameBack: true })
    await add(36, { state: 'skipped', reason: 'holdback', heldBack: true })
    const html = await show()
    expect(await answerOf(html)).toBe(
      '380 people emailed, 131 came back, 68 ± 47 more than without, among the 400 compared.',
    )
    expect((await textOf(html, '.overview-answer .hint')).join('')).toContain('only messages with a holdback')
    expect(await attributesOf(html, '.overview-answer a', 'href')).toEqual([
      CAME_BACK,
      LAST_WEEK,
      NOT_SENT,
      '/docs/holdback',
    ])
  })

  test('lists it with its trend and numbers, leading to its results', async () => {
    await add(3, { state: 'sent', cameBack: true })
    await add(1, { state: 'sent', daysAgo: 1 })
    const html = await show()
    expect(await textOf(html, '.table td')).toEqual(['Results ready, they left', '', '4 sent', '3 came back 75%'])
    expect(await attributesOf(html, '.table a', 'href')).toEqual([`${pages.path}/results`])
    expect(await attributesOf(html, '.table svg', 'aria-label')).toEqual(['Emails by day: 0 to 3, last 3'])
  })

  test('names what needs attention, and nothing else', async () => {
    expect(await textOf(await show(), '.attention > li > a')).toEqual(['Set up a mail server'])
    await add(1, { state: 'failed', reason: 'smtp_550' })
    await add(2, { state: 'unknown' })
    await add(3, { state: 'kept' })
    const html = await show()
    expect(await textOf(html, '.attention > li > a')).toEqual(['See why', 'Set up a mail server', 'Review'])
    expect((await textOf(html, '.attention > li')).join(' ')).toContain('3 emails are captured, not sent.')
    for (const href of await attributesOf(html, '.attention > li > a', 'href'))
      expect([href, (await pages.browser.get((href ?? '').replaceAll('&amp;', '&'))).status]).toEqual([href, 200])
    await pages.set({ smtpUrl: 'smtp://mail.example.com' })
    expect(await textOf(await show(), '.attention > li > a')).toContain('Open the outbox')
  })

  test('names a mail server that answers nothing, from the first email that waits for it', async () => {
    await pages.set({ smtpUrl: 'smtp://mail.example.com' })
    const stuck = async () =>
      (await textOf(await show(), '.attention > li')).filter((text) => text.includes('Your mail server'))
    await add(2, { state: 'deferred', reason: 'perDay' })
    await add(2, { state: 'deferred', reason: 'smtp_450' })
    await add(2, { state: 'failed', reason: 'erefused' })
    expect(await stuck()).toEqual([])
    await add(1, { state: 'deferred', reason: 'erefused' })
    expect(await stuck()).toEqual([
      "Problem: Your mail server doesn't respond: 1 email is waiting.Check the connection",
    ])
    expect(await attributesOf(await show(), '.attention > li > a', 'href')).toContain(
      `${pages.at('sender/server')}#server-check`,
    )
    const notices = await textOf((await pages.browser.get(pages.at('messages'))).html, '.notice')
    expect(notices.join(' ')).toContain("Your mail server doesn't respond: 1 email is waiting. Check the connection.")
    await pages.set({ smtpUrl: null })
    expect(await stuck()).toEqual([])
  })

  test('leads to the DNS records until they are right', async () => {
    await pages.set({ smtpUrl: 'smtp://mail.example.com' })
    const links = async () => textOf(await show(), '.attention > li > a')
    expect(await links()).toContain('Check the records')
    const sender = {
      domain: 'example.com',
      server: 'mail.example.com',
      dkim: null,
      nextDkim: null,
      seen: null,
      hasOneClick: true,
    }
    const known = { appId: pages.app.id, sender, checkedAt: pages.clock.now() }
    const spf: SenderCheck = { about: 'SPF', state: 'bad', sentence: 'None.', record: null }
    await saveLastCheck(pages.store, { ...known, checks: [spf] })
    expect(await links()).toContain('Show the records to add')
    const checks = listUnchecked(sender).map((one): SenderCheck => ({ ...one, state: 'good' }))
    await saveLastCheck(pages.store, { ...known, checks })
    expect((await links()).filter((one) => /record/.test(one))).toEqual([])
    await pages.set({ fromEmail: 'team@first.example' })
    expect(await links()).toContain('Check the records')
  })

  test('failures older than a week need no attention', async () => {
    await pages.set({ smtpUrl: 'smtp://mail.example.com' })
    await add(1, { state: 'failed', reason: 'smtp_550', daysAgo: 7 })
    expect(await textOf(await show(), '.attention > li > a')).not.toContain('See why')
    await add(1, { state: 'failed', reason: 'smtp_550', daysAgo: 6 })
    expect(await textOf(await show(), '.attention > li > a')).toContain('See why')
  })
})

test('figures count people, events, page views, emails and returns of 30 days', async () => {
  const dayAgo = async (days: number, email: string, event: string) => {
    pages.clock.ms -= days * DAY
    await pages.event({ email, event })
    pages.clock.ms += days * DAY
  }
  await dayAgo(29, 'a@example.com', 'signed_up')
  await dayAgo(30, 'b@example.com', 'signed_up')
  await dayAgo(0, 'b@example.com', PAGE_NAME)
  await add(2, { state: 'sent', cameBack: true, daysAgo: 1 })
  await add(1, { state: 'sent' })
  const html = await show()
  const figures = (await textOf(html, '.figures a')).map((text) => text.replace(/\s+/g, ' ').trim())
  expect(figures).toEqual(['New people1', 'Events1', 'Page views1', 'Emails sent3', 'Came back2'])
  const sparks = await attributesOf(html, '.figures svg', 'aria-label')
  expect(sparks).toEqual([
    'By day: 0 to 1, last 0',
    'By day: 0 to 1, last 0',
    'By day: 0 to 1, last 1',
    'By day: 0 to 2, last 1',
    'By day: 0 to 2, last 0',
  ])
  for (const href of await attributesOf(html, '.figures a', 'href'))
    expect([href, (await pages.browser.get((href ?? '').replaceAll('&amp;', '&'))).status]).toEqual([href, 200])
})

test('figures of 30 days leave out what a clock that was ahead recorded for later days', async () => {
  await pages.event({ email: 'a@example.com', event: 'signed_up' })
  pages.clock.ms += DAY
  await pages.event({ email: 'b@example.com', event: 'signed_up' })
  await pages.event({ email: 'b@example.com', event: PAGE_NAME })
  pages.clock.ms -= DAY
  const html = await show()
  const figures = (await textOf(html, '.figures a')).map((text) => text.replace(/\s+/g, ' ').trim())
  expect(figures.slice(0, 3)).toEqual(['New people1', 'Events1', 'Page views0'])
  const sparks = await attributesOf(html, '.figures svg', 'aria-label')
  expect(sparks.slice(0, 2)).toEqual(['By day: 0 to 1, last 1', 'By day: 0 to 1, last 1'])
})

test('the checklist goes away with the first email, also of an app without the browser script', async () => {
  await pages.event()
  await add(1, { state: 'sent' })
  expect(await textOf(await show(), 'aside .step')).toEqual([])
})

test('the checklist is shown until the first email is sent', async () => {
  await pages.event()
  expect(await textOf(await show(), 'aside .step.due b')).toEqual(['Browser script'])
  pages.notes.add(pages.app.id, 'script_loaded')
  expect(await textOf(await show(), 'aside .step.due b')).toEqual(['Signed-in people'])
  pages.notes.add(pages.app.id, 'identified')
  expect(await textOf(await show(), 'aside .step.due a')).toEqual(['Open the message'])
  await pages.set({ fromEmail: 'team@example.com' })
  await pages.press(pages.path, 'live')
  expect(await textOf(await show(), 'aside .step.due a')).toEqual(['Set up a mail server'])
  await add(1, { state: 'kept' })
  expect(await textOf(await show(), 'aside .step')).toHaveLength(5)
  await add(1, { state: 'sent' })
  expect(await textOf(await show(), 'aside')).toEqual([])
})
