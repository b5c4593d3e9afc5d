import { afterEach, describe, expect, test } from 'bun:test'
import PostalMime from 'postal-mime'
import {
  type AppWeek,
  createWeeklySummaries,
  isSummaryDue,
  lastSummaryTime,
  makeSummaryToken,
  readSummaryToken,
  writeSummary,
} from '../../src/monitoring/weekly-summary.ts'
import type { Owner } from '../../src/store/weekly-summaries.ts'
import { type AccountPages, appOf, createBrowser, openAccount } from '../dashboard/browser.ts'
import { addDeliveries } from '../dashboard/messages/result-rows.ts'
import { textOf } from '../dashboard/pages.ts'
import { DAY, HOUR } from '../helper.ts'
import { type MailServer, startMailServer } from '../mail/mail-server.ts'

const MONDAY = Date.UTC(2026, 4, 4)

describe('the time of the summary', () => {
  test.each([
    ['2026-05-04T08:59:00Z', 'UTC', '2026-04-27T09:00:00Z'],
    ['2026-05-04T09:00:00Z', 'UTC', '2026-05-04T09:00:00Z'],
    ['2026-05-10T23:00:00Z', 'UTC', '2026-05-04T09:00:00Z'],
    ['2026-05-04T07:00:00Z', 'Europe/Zurich', '2026-05-04T07:00:00Z'],
    ['2026-05-04T12:59:00Z', 'America/New_York', '2026-04-27T13:00:00Z'],
    ['2026-05-04T00:30:00Z', 'Asia/Tokyo', '2026-05-04T00:00:00Z'],
  ])('at %s in %s is %s', (now, zone, due) => {
    expect(new Date(lastSummaryTime(Date.parse(now), zone)).toISOString()).toBe(due.replace('Z', '.000Z'))
  })

  test('is once a week, for those who were owners then and want it, until Thursday', () => {
    const owner: Owner = {
      id: 'm',
      memberId: 'm',
      email: 'a@b.example',
      acceptedAt: 0,
      weeklySummary: true,
      summarizedAt: null,
    }
    const due = MONDAY + 9 * HOUR
    const isDue = (more: Partial<Owner>, at = due) => isSummaryDue({ ...owner, ...more }, due, at)
    expect([isDue({}), isDue({ summarizedAt: due - 7 * DAY }), isDue({}, due + 2 * DAY)]).toEqual([true, true, true])
    expect([isDue({ summarizedAt: due }), isDue({ weeklySummary: false }), isDue({ acceptedAt: due })]).toEqual([
      false,
      false,
      false,
    ])
    expect(isDue({}, due + 3 * DAY)).toBe(false)
  })
})

const NOTHING = {
  emailed: 0,
  cameBack: 0,
  ofEarlier: 0,
  compared: null,
  alreadySeen: 0,
  captured: 0,
  waitingOf: new Map(),
}
const week: AppWeek = {
  app: { publicId: 'app_1', name: 'Engine' },
  results: { ...NOTHING, emailed: 380, cameBack: 131 },
  hasHoldback: false,
  attention: [],
}
const write = (...weeks: AppWeek[]) =>
  writeSummary({ account: { name: 'Acme' }, weeks, baseUrl: 'https://post.example.com', unsubscribeUrl: 'https://x' })

describe('the text', () => {
  test('says whom the messages reached, who came back, and what needs attention', () => {
    const attention = [{ isBad: true, text: '2 emails failed in the last 7 days.' }]
    expect(write({ ...week, attention })).toMatchObject({
      subject: 'Your week in Eventpost: 380 emailed, 131 came back, 1 problem',
      paragraphs: [
        'The last 7 days in the account Acme.',
        { heading: 'Engine' },
        '380 people emailed, 131 came back.',
        'Needs attention:',
        { items: ['2 emails failed in the last 7 days.'] },
      ],
      link: { url: 'https://post.example.com/apps/app_1/overview' },
    })
  })

  test('says that emails were captured', () => {
    const captured = { ...NOTHING, captured: 22 }
    const attention = [{ isBad: true, text: 'x' }]
    expect(write({ ...week, results: captured, attention })?.paragraphs).toContain(
      '22 emails were captured, none sent.',
    )
  })

  test('leaves out apps without news; without any there is no summary', () => {
    const quiet = { ...week, app: { publicId: 'app_2', name: 'Quiet' }, results: NOTHING }
    const recommended = { ...quiet, attention: [{ isBad: false, text: 'The DNS records have not been checked yet.' }] }
    expect(JSON.stringify(write(week, quiet, recommended))).not.toContain('Quiet')
    expect(write(quiet, recommended)).toBeNull()
    expect(write({ ...quiet, attention: [{ isBad: true, text: 'x' }] })?.subject).toBe(
      'Your week in Eventpost: 1 problem',
    )
  })
})

test('a link works for its membership only', () => {
  const token = makeSummaryToken('key', 'mem_1')
  expect(readSummaryToken('key', token)).toBe('mem_1')
  for (const wrong of [token.replace('mem_1', 'mem_2'), token.slice(0, -1), 'mem_1', 'mem_1.', '', 'x.y'])
    expect(readSummaryToken('key', wrong)).toBeNull()
  expect(readSummaryToken('other key', token)).toBeNull()
})

describe('the summary', () => {
  let pages: AccountPages
  let server: MailServer
  afterEach(async () => {
    await pages.close()
    await server.stop()
  })

  const open = async () => {
    server = await startMailServer()
    const defaults = { smtpUrl: server.url, from: 'Post <post@example.com>' }
    pages = await openAccount({ mail: { defaults, noteServer: () => {} }, baseUrl: 'https://post.example.com' })
    const app = await appOf(pages)
    const [message] = await pages.store.listMessages(app.id)
    await addDeliveries(
      pages.folder,
      { appId: app.id, messageId: message?.id ?? 0, at: pages.clock.now(), count: 3 },
      { state: 'sent' },
    )
  }
  /** As a new process would. */
  const sendAgain = () => createWeeklySummaries({ ...pages.parts, note: () => {} }).sendDue()
  const subjectsOf = async () => {
    const read = server.received.map(({ raw }) => new PostalMime().parse(raw))
    return (await Promise.all(read)).map(({ subject }) => subject)
  }

  test('is sent on Monday at nine, once, also over restarts, and again a week later', async () => {
    await open()
    // a Sunday
    await sendAgain()
    expect(await subjectsOf()).toEqual([])
    pages.clock.ms = MONDAY + 9 * HOUR
    await sendAgain()
    await sendAgain()
    expect(await subjectsOf()).toEqual(['Your week in Eventpost: 3 emailed, 0 came back'])
    const summaries = createWeeklySummaries({ ...pages.parts, note: () => {} })
    pages.clock.ms += HOUR
    await summaries.sendDue()
    pages.clock.ms = MONDAY + 7 * DAY + 9 * HOUR
    await sendAgain()
    // nothing happened in that week
    expect(server.received).toHaveLength(1)
  })

  test('names no problem that is over', async () => {
    await open()
    const { monitor, weeklySummaries } = pages.parts
    const look = async (): Promise<void> => {
      pages.clock.ms += 10_000
      await monitor.check()
      await monitor.settle()
    }
    pages.clock.ms = MONDAY + 9 * HOUR - 60_000
    await server.stop()
    for (let count = 0; count < 5; count += 1) await look()
    server = await startMailServer({}, {}, server.port)
    await look()
    expect((await pages.store.listAlerts()).map(({ resolvedAt }) => resolvedAt)).toEqual([null])
    await weeklySummaries.sendDue()
    expect(await subjectsOf()).toEqual(['Your week in Eventpost: 3 emailed, 0 came back'])
  })

  test('waits for a mail server that is down', async () => {
    await open()
    await server.stop()
    pages.clock.ms = MONDAY + 9 * HOUR
    await sendAgain()
    server = await startMailServer({}, {}, server.port)
    await sendAgain()
    expect(server.received).toHaveLength(1)
  })

  test('ends with one click in the mail program, and goes on with another', async () => {
    await open()
    pages.clock.ms = MONDAY + 9 * HOUR
    await sendAgain()
    const mail = await new PostalMime().parse(server.received[0]?.raw ?? '')
    const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value ?? ''
    expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
    const [, path = ''] = /<https:\/\/post\.example\.com(\/[^>]+)>/.exec(header('list-unsubscribe')) ?? []
    expect(mail.html).toContain(`https://post.example.com${path}`)
    // mail scanners open links, which changes nothing
    await pages.handle(path)
    const isOn = async () => (await pages.store.listOwners(pages.begun.accountId))[0]?.weeklySummary
    expect(await isOn()).toBe(true)
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })
    expect((await pages.handle(path, { method: 'POST', body })).status).toBe(200)
    expect(await isOn()).toBe(false)
    const browser = createBrowser(pages)
    expect(await textOf((await browser.get(path)).html, 'h1')).toEqual(['The weekly summary is off'])
    await browser.post(`${path}/on`)
    expect(await isOn()).toBe(true)
    expect((await pages.handle(`${path}x`)).status).toBe(404)
  })

  test('is switched off on the own page', async () => {
    await open()
    const browser = await pages.signedIn()
    const { html } = await browser.get(pages.at('you'))
    expect(await textOf(html, '#summary button')).toEqual(['Turn off the weekly summary'])
    await browser.post(pages.at('you/summary'), { on: 'no' })
    const off = (await textOf((await browser.get(pages.at('you'))).html, '#summary')).join(' ')
    expect(off).toMatch(/Weekly summary\s*Off\s*An email on Mondays/)
    expect(off).toContain('Turn on the weekly summary')
    pages.clock.ms = MONDAY + 9 * HOUR
    await sendAgain()
    expect(server.received).toEqual([])
  })
})
