import { withSql } from '../../data-folder.ts'
import { countsTableOf } from '../../postgres/test-databases.ts'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { DAY } from '../../durations.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { attributesOf, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
let app: AppRow
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
  app = await appOf(pages)
})
afterEach(() => pages.close())

const path = (what = '') => pages.at(`sender/rates${what}`)
const see = async () => (await browser.get(path())).html

/** Emails of a day, so many days ago. */
const haveSent = (daysAgo: number, counts: [sent: number, complained: number, bounced: number]) =>
  withSql(pages.folder, async (sql) => {
    const day = Math.floor(pages.clock.now() / DAY) - daysAgo
    const insert = `INSERT INTO ${countsTableOf('mail_days')} (app_id, day, sent, complained, bounced) VALUES (?, ?, ?, ?, ?)`
    await sql.prepare(insert).run(app.id, day, ...counts)
  })

const pull = () =>
  pages.store.setMailSettings({
    accountId: app.accountId,
    appId: app.id,
    actor: 'test',
    at: pages.clock.now(),
    settings: { complaintLimit: 0.1 },
  })

test('rates of 7 and 30 days stand beside what providers ask for', async () => {
  expect(await textOf(await see(), '.page-head .lead')).toEqual(['No emails in the last 7 days.'])
  await haveSent(6, [2_000, 1, 20])
  await haveSent(7, [8_000, 39, 80])
  await haveSent(30, [9, 9, 9])
  const html = await see()
  expect(await textOf(html, '.page-head .lead')).toEqual([
    'In the last 7 days, 0.05% of the emails were reported as spam and 1% bounced.',
  ])
  expect(await textOf(html, '#rates td')).toEqual([
    'Spam complaints',
    '0.05%1 of 2000Good',
    '0.4%40 of 10,000Too high',
    'Below 0.1% (Gmail, Amazon SES) or 0.3% (Yahoo)',
    '0.3% (Gmail) or 0.5% (Amazon SES)',
    '0.2%',
    'Hard bounces',
    '1%20 of 2000Good',
    '1%100 of 10,000Good',
    'Below 5% (Amazon SES)',
    '10% (Amazon SES)',
    '4%',
  ])
})

test.each<[[number, number, number], string, string[]]>([
  [
    [50, 3, 3],
    'In the last 7 days, 6% of the emails were reported as spam and 3 of 50 bounced.',
    ['6%3 of 50High', '3 of 50Too few emails'],
  ],
  [
    [50, 1, 6],
    'In the last 7 days, 1 of 50 emails was reported as spam and 12% bounced.',
    ['1 of 50Too few emails', '12%6 of 50High'],
  ],
  [
    [50, 0, 6],
    'In the last 7 days, none of 50 emails was reported as spam and 12% bounced.',
    ['0 of 50Too few emails', '12%6 of 50High'],
  ],
  [
    [3, 0, 5],
    'In the last 7 days, none of 5 emails was reported as spam and 100% bounced.',
    ['0 of 5Too few emails', '100%5 of 5High'],
  ],
])('the sentence has the same rates as the table: %j', async (counts, lead, rates) => {
  await haveSent(0, counts)
  const html = await see()
  expect(await textOf(html, '.page-head .lead')).toEqual([lead])
  const cells = await textOf(html, '#rates td')
  expect([cells[1], cells[7]]).toEqual(rates)
})

test('few emails, or emails that nothing reports about, are not called good', async () => {
  await haveSent(0, [6, 0, 0])
  const states = async (html: string) => textOf(html, '#rates td .badge')
  const few = await see()
  expect(await states(few)).toEqual(Array(4).fill('Too few emails'))
  expect((await textOf(few, '#rates td'))[1]).toBe('0 of 6Too few emails')
  expect(await textOf(few, '.page-head .lead')).toEqual([
    'Only 6 emails in the last 7 days, too few to tell: none bounced, and none was reported as spam.',
  ])
  await pages.store.setMailSettings({
    accountId: app.accountId,
    appId: app.id,
    actor: 'test',
    at: pages.clock.now(),
    settings: { smtpUrl: 'smtp://mail.example.com:587' },
  })
  await haveSent(1, [1_000, 0, 1])
  const html = await see()
  expect(await states(html)).toEqual(['Not reported', 'Not reported', 'Good', 'Good'])
  expect(await attributesOf(html, '#rates .notice a', 'href')).toEqual([`${pages.at('sender/server')}#reports`])
})

test('the limits of the brake are saved', async () => {
  const wrong = await browser.post(path(), { complaintLimit: '0', bounceLimit: 'x' })
  expect([wrong.status, await attributesOf(wrong.html, '[aria-invalid]', 'name')]).toEqual([
    400,
    ['complaintLimit', 'bounceLimit'],
  ])
  const saved = await browser.submit(path(), path(), { complaintLimit: '0.15 %', bounceLimit: '' })
  expect(saved.location).toBe(path())
  expect(await pages.store.mailSettings(app.id)).toMatchObject({ complaintLimit: 0.15, bounceLimit: null })
  expect(await attributesOf(await see(), '#complaintLimit', 'value')).toEqual(['0.15'])
})

test('an owner releases the brake, which the pages about emails announce', async () => {
  await haveSent(0, [2_500, 5, 0])
  await pull()
  const cause = '5 of the last 2500 emails were reported as spam, so lifecycle emails'
  expect((await textOf(await see(), '.notice.problem'))[0]).toStartWith(`Problem: ${cause} have waited since`)
  expect(await textOf((await browser.get(pages.at('deliveries'))).html, '.notice.problem')).toEqual([
    `Problem: ${cause} wait. None are lost. Show the rates.`,
  ])
  await pages.addMember('editor@example.com', 'editor')
  const editor = await pages.signedIn('editor@example.com')
  expect((await editor.get(path())).html).not.toContain('Release the brake')
  const released = await browser.post(path('/release'), {})
  expect(released.location).toBe(path())
  const html = await see()
  expect(await textOf(html, '.notice.problem')).toEqual([])
  expect(await textOf(html, '#brake p.hint')).toContain('Released just now. The brake counts only emails sent since.')
  const audit = await textOf((await browser.get(pages.at('audit'))).html, 'main')
  expect(audit.join()).toContain('released the brake for the app “Engine”')
})
