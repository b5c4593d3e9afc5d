/** Each number of results opens as many deliveries, in the list and as CSV, whatever became of the emails. */
import { withSql } from '../../data-folder.ts'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { publicId } from '../../../src/core/ids.ts'
import { DAY, HOUR, MINUTE } from '../../durations.ts'
import { LOOPBACK_HOSTS } from '../../helper.ts'
import { type MailServer, startMailServer } from '../../mail/mail-server.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { recordEvent } from '../events/recording.ts'
import { attributesOf, textOf } from '../pages.ts'
import { putMessage, sendDue } from './mailing.ts'

const CONTENT: MessageContent = {
  trigger: { event: 'results_ready' },
  wait: { minutes: 1 },
  again: { once: 'property', property: 'resultId', collect: { minutes: 30 } },
  onlyIf: [{ rule: 'notDone', event: 'paid', since: 'ever' }],
  goal: { event: 'left', days: 3 },
  holdback: 40,
  mail: { subject: 'Ready', body: '{% for event in events %}{{ event.headline }}{% endfor %}' },
}

let pages: AccountPages
let browser: Browser
let mailServer: MailServer
let messageId = 0

/** Auckland is a day ahead of UTC for half of the day. */
const ZONE = 'Pacific/Auckland'

const PEOPLE_OF_KIND = 5

const FILTERS = [
  '',
  'decided',
  'left',
  'left cameBack',
  'left opened',
  'left goal',
  'kept',
  'skipped  holdback',
  'skipped  done',
  'skipped  missing_value',
  'failed  smtp_550',
]

beforeAll(async () => {
  mailServer = await startMailServer({
    recipient: (to) => (to.startsWith('dead') ? 550 : to.startsWith('busy') ? 451 : 'accept'),
  })
  pages = await openAccount({ mail: { privateHosts: LOOPBACK_HOSTS } })
  const app = await appOf(pages)
  messageId = await putMessage(pages, { app, name: 'Results', content: CONTENT })
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  const set = (smtpUrl: string | null) => pages.store.setMailSettings({ ...by, settings: { smtpUrl } })
  await pages.store.bindSenderDomain({ ...by, domain: 'example.com', proof: 'operator' })
  await pages.store.setMailSettings({ ...by, settings: { fromEmail: 'hi@example.com', timezone: ZONE } })
  const happen = async (kind: string, resultId: number, changes: Partial<Parameters<typeof recordEvent>[2]> = {}) => {
    const properties = kind === 'bare' ? { resultId } : { resultId, headline: kind }
    for (let index = 0; index < PEOPLE_OF_KIND; index += 1)
      await recordEvent(pages, app, { email: `${kind}${index}@example.com`, properties, ...changes })
  }
  await happen('paid', 0, { name: 'paid' })
  for (const round of [0, 1]) {
    // before and after midnight of UTC, and of Auckland
    pages.clock.ms = Date.UTC(2026, 4, 5 + 3 * round, 11, 40)
    for (const hours of [0, 12]) {
      pages.clock.ms += hours * HOUR
      await set(mailServer.url)
      for (const part of [1, 2, 3])
        for (const kind of ['alive', 'dead', 'busy', 'bare', 'paid'])
          await happen(kind, 1_000 * round + 100 * hours + part)
      pages.clock.ms += 40 * MINUTE
      await sendDue(pages)
      await happen('late', 1_000 * round + 100 * hours, { occurredAt: pages.clock.now() - 2 * DAY })
      await sendDue(pages)
      await set(null)
      await happen('captured', 1_000 * round + 100 * hours)
      pages.clock.ms += MINUTE
      await sendDue(pages)
      await happen('waiting', 1_000 * round + 100 * hours)
    }
  }
  const reach = `UPDATE deliveries SET came_back_at = updated_at,
      opened_at = CASE WHEN place % 2 = 1 THEN updated_at END, goal_at = CASE WHEN place % 4 = 1 THEN updated_at END
    FROM (SELECT id AS listed, row_number() OVER (ORDER BY id) AS place FROM deliveries) AS places
    WHERE id = listed AND (state = 'sent' OR held_back_at IS NOT NULL) AND joined_to IS NULL AND place % 3 > 0`
  await withSql(pages.folder, async (sql) => await sql.prepare(reach).run())
  pages.clock.ms += 2 * HOUR
  browser = await pages.signedIn()
})
afterAll(async () => {
  await pages.close()
  await mailServer.stop()
})

type Link = { name: string; count: number; href: string }

const numberIn = (text = ''): number => Number(/(\d+)\D*$/.exec(text)?.[1] ?? Number.NaN)

const linksOf = async (html: string, selector: string): Promise<Link[]> => {
  const [texts, hrefs] = [await textOf(html, selector), await attributesOf(html, selector, 'href')]
  return texts.map((text, index) => ({ name: text, count: numberIn(text), href: hrefs[index] ?? '' }))
}

/** The rows behind a link: as the list counts them, as it shows them on all its pages, and in its CSV. */
async function countRows(href: string): Promise<number[]> {
  let [shown, next] = [0, href]
  const { html } = await browser.get(href)
  while (next !== '') {
    const page = await browser.get(next)
    shown += (await textOf(page.html, '.feed .who')).length
    next = (await attributesOf(page.html, '.pager [rel=next]', 'href'))[0] ?? ''
  }
  const [state = ''] = await textOf(html, '[data-feed-counts=state]')
  const { html: csv } = await browser.get(href.replace('/deliveries?', '/deliveries/export?'))
  return [state.startsWith('No ') ? 0 : Number.parseInt(state, 10), shown, csv.trim().split('\r\n').length - 1]
}

async function expectRows(links: Link[]): Promise<void> {
  const found: [string, number[]][] = []
  for (const { name, href } of links) found.push([name, await countRows(href)])
  expect(found).toEqual(links.map(({ name, count }) => [name, [count, count, count]]))
}

const resultsPath = () => `${pages.at(`messages/${publicId('msg', messageId)}`)}/results`

test.each(['?range=7', '?range=30', '?from=2026-05-05&to=2026-05-05', '?from=2026-05-06&to=2026-05-08'])(
  'every bar of %s opens what it counts',
  async (query) => {
    const links = await linksOf((await browser.get(resultsPath() + query)).html, '.bars a')
    const shown = links.map(({ href }) => new URL(href, 'http://x').searchParams)
    const filters = shown.map((one) =>
      ['state', 'outcome', 'reason']
        .map((name) => one.get(name) ?? '')
        .join(' ')
        .trim(),
    )
    expect(filters).toEqual(expect.arrayContaining(FILTERS))
    expect(links.filter(({ count }) => count === 0)).toEqual([])
    await expectRows(links)
  },
)

test('every day of the chart opens what it counts', async () => {
  const { html } = await browser.get(`${resultsPath()}?range=7`)
  const started = (await textOf(html, '.day-bars td')).filter((_, index) => index % 3 === 0).map(Number)
  const links = (await linksOf(html, '.day-bars tbody a')).map((link, index) => ({
    ...link,
    count: started[index] ?? -1,
  }))
  expect(links.filter(({ count }) => count > 0).length).toBe(4)
  await expectRows(links)
})

test('every number of a message opens what it counts', async () => {
  const { html } = await browser.get(pages.at('messages'))
  const links = (await linksOf(html, 'td.number a')).map((link) => ({ ...link, name: `${link.name} ${link.href}` }))
  expect(links).toHaveLength(7)
  await expectRows(links)
})

/** The people behind a link: as the list counts them, as it shows them, and each once in its CSV and NDJSON. */
async function countPeople(href: string): Promise<number[]> {
  const { html } = await browser.get(href)
  const shown = (await textOf(html, 'td:first-child a')).length
  const exports = (await attributesOf(html, '.list-foot .hint a', 'href')).map((path) => path ?? '')
  const [csv = '', ndjson = ''] = await Promise.all(exports.map(async (path) => (await browser.get(path)).html))
  const [lead = ''] = await textOf(html, '.lead')
  const emailsOf = (lines: string[]): number => new Set(lines.map((line) => /[\w.]+@example\.com/.exec(line)?.[0])).size
  const lines = [csv.trim().split('\r\n').slice(1), ndjson.trim().split('\n')]
  return [Number.parseInt(lead, 10), shown, ...lines.flatMap((one) => [one.length, emailsOf(one)])]
}

test('who came back is found from Overview, Results, Deliveries and People', async () => {
  const overview = (await browser.get(pages.at('overview'))).html
  const toPeople = async (html: string, selector: string) =>
    (await linksOf(html, selector)).filter(({ href }) => href.includes('/people?'))
  const [figure] = await toPeople(overview, '.figures a')
  const [answer] = await toPeople(overview, '.overview-answer a')
  const [sentence = ''] = await textOf(overview, '.answer')
  const count = numberIn(sentence.split(' came back')[0])
  expect(count).toBeGreaterThan(1)
  expect([figure?.name, figure?.count, answer?.name]).toEqual([`Came back${count}`, count, 'See who came back'])
  const all = [count, count, count, count, count, count]
  expect(await countPeople(figure?.href ?? '')).toEqual(all)
  expect(answer?.href).toBe(figure?.href)
  const month = await toPeople((await browser.get(`${resultsPath()}?range=30`)).html, '.hint a')
  expect(month.map(({ name }) => name)).toEqual(['People who came back in the last 30 days'])
  expect(await countPeople(month[0]?.href ?? '')).toEqual(all)
  const bar = (await linksOf((await browser.get(resultsPath())).html, '.bars a')).find(({ name }) =>
    name.startsWith('Came back'),
  )
  const deliveries = await toPeople((await browser.get(bar?.href ?? '')).html, '.hint a')
  expect(deliveries.map(({ name }) => name)).toEqual(['last 7 days', 'last 30 days', 'any time'])
  for (const { href } of deliveries) expect([href, await countPeople(href)]).toEqual([href, all])
  const { location } = await browser.post(pages.at('people'), { emails: 'returned', days: '7' })
  expect(await countPeople(location ?? '')).toEqual(all)
})

test('the figures and failures of Overview open what they count', async () => {
  const { html } = await browser.get(pages.at('overview'))
  const links = (await linksOf(html, '.figures a')).filter(({ href }) => href.includes('/deliveries?'))
  expect(links).toHaveLength(1)
  const texts = await textOf(html, '.attention li')
  const failures = (await linksOf(html, '.attention a'))
    .map((link, index) => ({ ...link, text: texts[index] ?? '' }))
    .filter(({ href }) => href.includes('/deliveries?'))
  expect(failures.map(({ text }) => /failed|a value was missing/.exec(text)?.[0])).toEqual([
    'failed',
    'a value was missing',
  ])
  const answers = (await linksOf(html, '.overview-answer a')).filter(({ href }) => href.includes('/deliveries?'))
  const [answer = ''] = await textOf(html, '.overview-answer .hint')
  const counts = Array.from(answer.matchAll(/(\d+) emails? (?:is|are|wasn't|weren't)/g), ([, count]) => Number(count))
  expect(answers).toHaveLength(2)
  await expectRows(answers.map((link, index) => ({ ...link, count: counts[index] ?? 0 })))
  await expectRows([
    ...links,
    ...failures.map(({ text, ...link }) => ({ ...link, count: numberIn(text.split(' email')[0]) })),
  ])
})
