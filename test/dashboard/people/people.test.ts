import { withSql } from '../../data-folder.ts'
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { publicId } from '../../../src/core/ids.ts'
import { DAY } from '../../durations.ts'
import { type AccountPages, appOf, type Browser, openAccount, PASSWORD } from '../browser.ts'
import { exportPeople, type PeopleSort } from '../../../src/people/people-lists.ts'
import { eventWrite, visitReportWrite } from '../../store/samples.ts'
import { putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'
import { inTurns } from '../../helper.ts'

let pages: AccountPages
let browser: Browser
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
})
afterEach(() => pages.close())

const MINUTE = 60_000
const SLY = 'a\u202Eb'

type Person = { email: string; firstName?: string; lastName?: string; tags?: string[]; fields?: Record<string, string> }

async function add({ email, firstName, lastName, tags = [], fields }: Person): Promise<void> {
  const [app] = await pages.store.listApps(pages.begun.accountId)
  const outcome = await pages.store.addContact({
    accountId: pages.begun.accountId,
    appId: app?.id ?? 0,
    email,
    shownEmail: null,
    newPeoplePerMonth: null,
    firstName,
    lastName,
    tags,
    removeTags: [],
    fields: fields ?? null,
    source: null,
    at: pages.clock.now(),
    limits: [],
    idempotency: null,
  })
  if ('refusal' in outcome) throw new Error(outcome.refusal)
}

const see = async (query = '') => (await browser.get(pages.at(`people${query}`))).html
const emailsOf = (html: string) => textOf(html, 'td:first-child a')
const namesOf = (html: string) => textOf(html, 'td:nth-child(2)')
/** The page of the newest person. */
const pathOfNewest = async (): Promise<string> => (await attributesOf(await see(), 'td:first-child a', 'href'))[0] ?? ''

describe('the people', () => {
  test('the empty state explains people and the next step', async () => {
    const html = await see()
    expect(await textOf(html, '.empty h2')).toEqual(['No people yet'])
    expect(await attributesOf(html, '.empty a', 'href')).toEqual([pages.at('activation')])
  })

  test('lists newest first, with name, status and tags', async () => {
    await add({ email: 'bob@example.com', tags: ['a', 'b', 'c', 'd', 'e'] })
    await add({ email: 'grace@example.com', firstName: 'Grace', lastName: 'Hopper' })
    const html = await see()
    expect(await emailsOf(html)).toEqual(['grace@example.com', 'bob@example.com'])
    expect(await namesOf(html)).toEqual(['Grace Hopper', '–'])
    expect(await textOf(html, '.tags')).toEqual(['a+4'])
    // the first word is for phones, whose rows have no headings
    expect(await textOf(html, 'td[data-label=Added]')).toEqual(['Added just now', 'Added just now'])
  })

  test('pages', async () => {
    await inTurns(120, (i) => add({ email: `p${i}@example.com` }))
    const seen: string[] = []
    for (let query: string | undefined = ''; query !== undefined;) {
      const html = await see(query)
      seen.push(...(await emailsOf(html)))
      const [href] = await attributesOf(html, '.pager [rel=next]', 'href')
      query = href?.slice(pages.at('people').length)
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, i) => `p${119 - i}@example.com`))
  })

  test('hostile text is text', async () => {
    await add({ email: 'eve@example.com', firstName: HOSTILE, lastName: SLY, tags: [HOSTILE.slice(0, 50)] })
    const html = await see()
    await expectHarmless(html)
    expect(html).not.toContain('\u202E')
    expect(await namesOf(html)).toEqual([expect.stringContaining('<script>alert(1)</script>')])
    const found = await find({ search: HOSTILE, tag: HOSTILE, event: HOSTILE, field: HOSTILE })
    await expectHarmless(found)
    expect((await textOf(found, '.chip b'))[1]).toContain('<script>alert(1)</script>')
  })
})

/** Searches and filters, as with the form. */
async function find(fields: Record<string, string>): Promise<string> {
  const { status, location } = await browser.post(pages.at('people'), fields)
  expect(status).toBe(303)
  return (await browser.get(location ?? '')).html
}

describe('finding people', () => {
  beforeEach(async () => {
    await add({
      email: 'bob@example.com',
      firstName: 'Bob',
      lastName: 'Lovelock',
      tags: ['beta'],
      fields: { plan: 'pro' },
    })
    await add({ email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace' })
    await add({ email: 'carl@example.com', tags: ['beta'] })
  })
  const lead = async (html: string): Promise<string | undefined> => (await textOf(html, '.lead'))[0]

  test('a whole email leads to the person, in any spelling', async () => {
    const { status, location } = await browser.post(pages.at('people'), { search: ' Carl@Example.com ' })
    expect([status, location]).toEqual([303, await pathOfNewest()])
  })

  test.each<[string, Record<string, string>, string[], string]>([
    ['the start of an email', { search: 'ca' }, ['carl'], '1 person matches, newest first.'],
    ['control characters', { search: '\u0000CARL\u0000' }, ['carl'], '1 person matches, newest first.'],
    ['a part of a name', { search: 'velo' }, ['bob'], '1 person matches, newest first.'],
    ['a part of two names', { search: 'LOVEL' }, ['ada', 'bob'], '2 people match, newest first.'],
    ['a tag', { tag: 'beta', sort: 'email' }, ['bob', 'carl'], '2 people match, by email.'],
    ['a field', { field: 'plan', value: 'pro' }, ['bob'], '1 person matches, newest first.'],
    ['any value of a field', { field: 'plan' }, ['bob'], '1 person matches, newest first.'],
    ['not done', { event: 'paid', did: 'no', tag: 'beta' }, ['carl', 'bob'], '2 people match, newest first.'],
    ['never seen', { seen: 'never', search: 'bo' }, ['bob'], '1 person matches, newest first.'],
    ['nobody', { status: 'bounced' }, [], 'Nobody matches.'],
  ])('%s', async (_, fields, names, state) => {
    const html = await find(fields)
    const emails = names.map((name) => `${name}@example.com`)
    expect([await emailsOf(html), await lead(html)]).toEqual([emails, state])
  })

  test('an unfinished or unknown filter is ignored', async () => {
    const html = await find({ did: 'no', value: 'pro', status: 'happy', seen: 'x', sort: 'x', search: '  ' })
    expect([(await emailsOf(html)).length, await lead(html)]).toEqual([3, '3 people, newest first.'])
    for (const query of ['?find=x&after=y', '?sort=x&seen=x', '?emails=x&days=x&message=x', '?find=sealed:v1:AAAA']) {
      expect((await emailsOf(await see(query))).length).toBe(3)
    }
  })

  test('no search, field or cursor is readable in a URL', async () => {
    const { location } = await browser.post(pages.at('people'), { search: 'lovel', field: 'plan', value: 'secretive' })
    expect(location).toMatch(/\?find=/)
    expect(decodeURIComponent(location ?? '')).not.toMatch(/lovel|secretive|plan/)
    const other = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    const { html } = await eve.get(`/apps/${other.appId}/people?${location?.split('?')[1]}`)
    expect(await textOf(html, 'h1')).toEqual(['People'])
    expect(html).not.toContain('lovel')
  })

  describe('by what emails did', () => {
    let message = ''
    beforeEach(async () => {
      const app = await appOf(pages)
      const messageId = await putMessage(pages, { app, name: HOSTILE.slice(0, 50) })
      message = publicId('msg', messageId)
      const otherId = await putMessage(pages, { app, name: 'Another message' })
      const at = Math.floor(pages.clock.now() / DAY) * DAY
      await withSql(pages.folder, async (sql) => {
        const hand = sql.prepare(`INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state,
            triggered_at, planned_at, due_at, attempt, resent, by_hand, handed_at, came_back_at, updated_at)
          SELECT coalesce((SELECT max(id) FROM deliveries), 0) + 1, app_id, id, CAST(?2 AS bigint), 1, '', 'handed',
            CAST(?3 AS bigint), ?3, ?3, 1, 0, 0, ?3, CAST(?4 AS bigint), ?3
          FROM contacts WHERE email = ?1`)
        await hand.run('bob@example.com', messageId, at - 8 * DAY, at - 6 * DAY)
        await hand.run('bob@example.com', otherId, at - 7 * DAY, null)
        await hand.run('ada@example.com', otherId, at - 29 * DAY, at - 6 * DAY - 1)
        await sql.prepare("UPDATE deliveries SET state = 'sent', opened_at = came_back_at + 1").run()
      })
    })

    test.each<[string, Record<string, string>, string[], string[]]>([
      ['came back', { emails: 'returned' }, ['ada', 'bob'], ['Came back after an email: at any time']],
      [
        'came back lately',
        { emails: 'returned', days: '7' },
        ['bob'],
        ['Came back after an email: in the last 7 days'],
      ],
      ['emailed', { emails: 'sent', days: '30' }, ['ada', 'bob'], ['Was emailed: in the last 30 days']],
      ['not emailed', { emails: 'not-sent' }, ['carl'], ['Was not emailed: at any time']],
      ['not emailed lately', { emails: 'not-sent', days: '7' }, ['carl', 'ada', 'bob'], []],
      ['a range alone means emailed', { days: '30' }, ['ada', 'bob'], ['Was emailed: in the last 30 days']],
      [
        'with another filter',
        { emails: 'returned', tag: 'beta' },
        ['bob'],
        ['Came back after an email: at any time', 'Tag: beta'],
      ],
    ])('%s', async (_, fields, names, chips) => {
      const html = await find(fields)
      expect(await emailsOf(html)).toEqual(names.map((name) => `${name}@example.com`))
      const texts = (await textOf(html, '.chip')).map((text) => text.replace('Remove the filter ', ''))
      if (chips.length > 0) expect(texts).toEqual(chips)
      const [path = ''] = await attributesOf(html, '.list-foot .hint a', 'href')
      const csv = (await browser.get(path ?? '')).html.trim().split('\r\n').slice(1)
      expect(csv.map((line) => line.split(',')[1])).toEqual(names.map((name) => `${name}@example.com`))
    })

    test('the list and the exports say when, and of any other filter they do not', async () => {
      const html = await find({ emails: 'returned', message })
      const at = Math.floor(pages.clock.now() / DAY) * DAY
      const times = [at - 8 * DAY, at - 6 * DAY, at - 6 * DAY + 1].map((time) => new Date(time).toISOString())
      expect((await attributesOf(html, 'tbody time', 'datetime')).slice(-2)).toEqual(times.slice(1))
      expect((await textOf(html, 'th')).slice(-3)).toEqual(['Message', 'Came back', 'Opened the result'])
      expect((await textOf(html, '.lead'))[0]).toBe('1 person matches, most recently added first.')
      const [csv, ndjson] = await attributesOf(html, '.list-foot .hint a', 'href')
      const lines = (await browser.get(csv ?? '')).html.split('\r\n')
      expect(lines[0]).toEndWith(',lastEventAt,endedTopics,message,emailedAt,cameBackAt,openedAt')
      expect(lines[1]).toEndWith(`,${times.join(',')}`)
      const [emailedAt, cameBackAt, openedAt] = times
      expect(JSON.parse((await browser.get(ndjson ?? '')).html)).toMatchObject({ emailedAt, cameBackAt, openedAt })
      const named: Record<string, (string | null)[]> = {
        returned: ['Another message', HOSTILE.slice(0, 50)],
        'not-sent': [null],
      }
      for (const [emails, names] of Object.entries(named)) {
        const exported = await attributesOf(await find({ emails }), '.list-foot .hint a', 'href')
        const people = (await browser.get(exported[1] ?? '')).html.trim().split('\n')
        expect(people.map((line) => JSON.parse(line).message ?? null)).toEqual(names)
      }
      expect(await textOf(await find({ emails: 'returned' }), 'td[data-label=Message]')).toEqual([
        'Another message',
        expect.stringContaining('<script>'),
      ])
      const emailed = await find({ emails: 'sent', days: '30' })
      expect((await textOf(emailed, 'th')).slice(-3)).toEqual(['Message', 'Emailed', 'Came back'])
      expect(await textOf(emailed, 'td[data-label=Message]')).toEqual(['Another message', 'Another message'])
      expect((await attributesOf(emailed, 'tbody time', 'datetime')).at(-1)).toBe(new Date(at - 7 * DAY).toISOString())
      for (const other of ['', 'emails=not-sent']) {
        expect((await browser.get(pages.at(`people/export?${other}`))).html).not.toContain('cameBackAt')
      }
      expect(await textOf(await find({ emails: 'not-sent' }), 'th')).toContain('Last event')
    })

    test('of one message, whose name is text and stays with its app', async () => {
      const html = await find({ emails: 'returned', message, days: '7' })
      await expectHarmless(html)
      expect(await emailsOf(html)).toEqual(['bob@example.com'])
      expect((await textOf(html, '.chip')).join()).toMatch(/Came back after “.*<script>alert.*…”: in the last 7 days/)
      expect(await attributesOf(html, '#message option[selected]', 'value')).toEqual([message])
      const [without] = await attributesOf(html, '.chip', 'href')
      expect(without).toBe(pages.at('people'))
      const other = await pages.addAccount('eve@example.com', 'Other')
      const eve = await pages.signedIn('eve@example.com')
      const found = (await eve.get(`/apps/${other.appId}/people?emails=returned&message=${message}`)).html
      expect((await textOf(found, '.chip')).join()).toContain('Came back after “unknown message”: at any time')
      expect(await textOf(found, 'td')).toEqual([])
    })
  })

  test.each([
    [3_000, true, '3000 people match, newest first.'],
    [2_000, false, 'At least 2000 people match, newest first.'],
    [1, false, 'At least 1 person matches, newest first.'],
    [0, false, 'Newest first.'],
    [10_000, false, '10,000+ people match, newest first.'],
  ])('%d people, counted exactly: %p', async (people, isExact, state) => {
    const found = spyOn(pages.store, 'findPeople')
    found.mockResolvedValue({ people: [], next: { key: null, id: 1 }, count: { people, isExact } })
    expect(await lead(await find({ tag: 'beta' }))).toBe(state)
    found.mockRestore()
  })

  test('a chip removes its filter, and all go at once', async () => {
    const html = await find({ tag: 'beta', search: 'bob', sort: 'name' })
    expect(await textOf(html, '.chip b')).toEqual(['bob', 'beta'])
    expect(await attributesOf(html, '#search', 'value')).toEqual(['bob'])
    const [withoutSearch, withoutTag] = await attributesOf(html, '.chip', 'href')
    expect(withoutSearch).toBe(`${pages.at('people')}?tag=beta&sort=name`)
    expect(await textOf((await browser.get(withoutTag ?? '')).html, '.chip b')).toEqual(['bob'])
    const [clear] = await attributesOf(html, '.chips li > a:not(.chip)', 'href')
    expect(clear).toBe(`${pages.at('people')}?sort=name`)
  })

  test('sorting and paging keep the filters', async () => {
    await inTurns(80, (number) => add({ email: `p${number}@example.com`, tags: ['many'] }))
    let html = await find({ tag: 'many', sort: 'email' })
    expect(await lead(html)).toBe('80 people match, by email.')
    const [, byName] = await attributesOf(html, '[aria-label=Sort] a', 'href')
    expect(byName).toBe(`${pages.at('people')}?tag=many&sort=name`)
    const seen: string[] = []
    for (let path: string | null | undefined; ;) {
      seen.push(...(await emailsOf(html)))
      ;[path] = await attributesOf(html, '.pager [rel=next]', 'href')
      if (!path) break
      expect(decodeURIComponent(path)).not.toContain('@')
      ;({ html } = await browser.get(path))
    }
    expect(seen).toEqual(Array.from({ length: 80 }, (_, number) => `p${number}@example.com`).toSorted())
  })

  test('suggests tags, fields and events', async () => {
    const [app] = await pages.store.listApps(pages.begun.accountId)
    const event = { accountId: pages.begun.accountId, appId: app?.id ?? 0, email: 'bob@example.com', name: 'paid' }
    await pages.store.recordEvent(eventWrite(event))
    expect(await attributesOf(await see(), 'datalist option', 'value')).toEqual(['beta', 'plan', 'paid'])
  })

  test('does not find people of another account', async () => {
    const other = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    const { location } = await eve.post(`/apps/${other.appId}/people`, { search: 'bob@example.com' })
    expect(await textOf((await eve.get(location ?? '')).html, 'td')).toEqual([])
    const id = (await pathOfNewest()).split('/').at(-1)
    for (const path of [`/apps/${other.appId}/people/${id}`, `/apps/${pages.begun.appId}/people/${id}`]) {
      expect((await eve.get(path)).status).toBe(404)
    }
    expect((await eve.get(`/apps/${pages.begun.appId}/people/export`)).status).toBe(404)
  })
})

describe('exporting', () => {
  const download = async (query: string): Promise<string> =>
    (await browser.get(pages.at(`people/export?${query}`))).html
  beforeEach(async () => {
    await add({ email: '=1+1@example.com', firstName: '@SUM(A1)', lastName: '-2', tags: ['+x', 'y;z'] })
    await add({ email: 'ada@example.com', firstName: 'Ada, "Countess"', fields: { a: 'b' } })
  })

  test('CSV, in which no cell is a formula', async () => {
    const [head, ada, sly, end] = (await download('format=csv')).split('\r\n')
    expect(head).toStartWith('id,email,firstName,lastName,status,tags,fields,source,createdAt')
    expect(ada).toMatch(/^con_\w+,ada@example\.com,"Ada, ""Countess""",,subscribed,,"{""a"":""b""}",,2026-/)
    expect(sly).toMatch(/^con_\w+,'=1\+1@example\.com,'@SUM\(A1\),'-2,subscribed,"\[""\+x"",""y;z""\]",,,2026-/)
    expect(end).toBe('')
  })

  test('NDJSON of what is filtered, in its order', async () => {
    await inTurns(450, (number) => add({ email: `p${number}@example.com`, tags: ['many'] }))
    const lines = (await download('format=ndjson&tag=many&sort=email')).trimEnd().split('\n')
    const emails = lines.map((line) => (JSON.parse(line) as { email: string }).email)
    expect(emails).toEqual(Array.from({ length: 450 }, (_, number) => `p${number}@example.com`).toSorted())
  })

  test.each<PeopleSort>(['newest', 'name', 'email', 'seen'])(
    'everyone, while they are seen and renamed: by %s',
    async (sort) => {
      const emails = Array.from({ length: 450 }, (_, number) => `p${1000 + number}@example.com`)
      await Promise.all(emails.map((email) => add({ email, firstName: 'M' })))
      const [app] = await pages.store.listApps(pages.begun.accountId)
      if (!app) throw new Error('no app')
      const change = async (email: string) => {
        pages.clock.ms += 1
        const at = pages.clock.now()
        const items = [{ type: 'page' as const, name: null, path: '/', occurredAt: at }]
        await pages.store.recordVisitReport(
          visitReportWrite({ accountId: app.accountId, appId: app.id, email, reportId: email, at, items }),
        )
        await add({ email, firstName: 'A' })
      }
      const filter = { search: null, tag: null, status: null, field: null, event: null, seen: null, email: null }
      const exported: string[] = []
      for await (const part of exportPeople(pages, app, { filter, sort, format: 'ndjson' })) {
        exported.push(
          ...part
            .trimEnd()
            .split('\n')
            .map((line) => (JSON.parse(line) as { email: string }).email),
        )
        for (const email of [emails[2], emails[448]]) await change(email ?? '')
      }
      expect(exported.toSorted()).toEqual(['=1+1@example.com', 'ada@example.com', ...emails])
    },
  )

  test('is linked with the filters of the page', async () => {
    const html = await find({ search: 'ada', sort: 'seen' })
    const links = await attributesOf(html, '.list-foot .hint a', 'href')
    expect(links.length).toBe(2)
    const { html: csv, headers } = await browser.get(links[0] ?? '')
    expect([csv.split('\r\n').length, csv.includes('ada@example.com')]).toEqual([3, true])
    expect(headers.get('content-disposition')).toBe('attachment; filename="people-engine-2026-05-03-filtered.csv"')
    const [all] = await attributesOf(await find({ sort: 'seen' }), '.list-foot .hint a', 'href')
    const whole = await browser.get(all ?? '')
    expect(whole.headers.get('content-disposition')).toBe('attachment; filename="people-engine-2026-05-03.csv"')
    expect((await pages.get(links[0] ?? '')).status).toBe(303)
  })
})

describe('one person', () => {
  test('has a timeline of events, page views and actions, and facts', async () => {
    await add({ email: 'bob@example.com', firstName: 'Bob', tags: ['beta'], fields: { plan: 'team', [SLY]: HOSTILE } })
    const [app] = await pages.store.listApps(pages.begun.accountId)
    const at = pages.clock.now()
    const items = [
      { type: 'page' as const, name: null, path: '/results/81', occurredAt: at - 2 * MINUTE },
      { type: 'action' as const, name: 'opened_chart', path: '/results/81', occurredAt: at - MINUTE },
    ]
    const person = { accountId: pages.begun.accountId, appId: app?.id ?? 0, email: 'bob@example.com' }
    const rest = {
      shownEmail: null,
      newPeoplePerMonth: null,
      limits: [],
      createContact: false,
      reportId: 'b',
      at,
      items,
    }
    await pages.store.recordVisitReport({ ...person, ...rest })
    const { html } = await browser.get(await pathOfNewest())
    await expectHarmless(html)
    expect(await textOf(html, 'h1')).toEqual(['bob@example.com'])
    expect((await textOf(html, '.lead'))[0]).toBe('Bob. Last page view 2 minutes ago.')
    expect(await textOf(html, '.timeline a')).toEqual(['opened_chart', '/results/81'])
    expect(await textOf(html, '.timeline p')).toEqual(['/results/81'])
    expect(await textOf(html, '.tag')).toEqual(['beta'])
    const facts = await textOf(html, 'aside section:nth-of-type(2) dt')
    expect(facts).toEqual(['plan', 'aU+202Eb'])
  })

  test('without events', async () => {
    await add({ email: 'bob@example.com' })
    const { html } = await browser.get(await pathOfNewest())
    expect((await textOf(html, '.lead'))[0]).toBe('No events or page views yet.')
    expect(await textOf(html, '.empty h2')).toEqual(['Nothing yet'])
  })
})

describe('erasing', () => {
  const erase = async (as: Browser, fields: Record<string, string> = {}) =>
    as.post(`${await pathOfNewest()}/erase`, fields)
  beforeEach(() => add({ email: 'bob@example.com' }))

  test('removes the person, and says so', async () => {
    const path = await pathOfNewest()
    const { status, location } = await erase(browser)
    expect([status, location]).toEqual([303, pages.at('people')])
    const html = await see()
    expect(await textOf(html, '[role=status]')).toEqual(['Done: The person and their data were erased.'])
    expect([await emailsOf(html), (await browser.get(path)).status]).toEqual([[], 404])
    expect((await browser.post(`${path}/erase`)).status).toBe(404)
  })

  test('keeps counts of events, but not of people and results, as the dialog says', async () => {
    const [app] = await pages.store.listApps(pages.begun.accountId)
    if (!app) throw new Error('no app')
    const id = await putMessage(pages, { app })
    await sendEvent(pages, { app, email: 'bob@example.com' })
    await sendDue(pages)
    const day = Math.floor(pages.clock.now() / 86_400_000)
    const read = async () => ({
      events: await pages.store.countByDay(app.id, null, day),
      people: (await pages.store.countPeopleByDay(app.id, day)).map(({ people }) => people),
      emails: (await pages.store.readResults(id, { from: day, until: day })).days.length,
    })
    const before = await read()
    expect(await textOf((await browser.get(await pathOfNewest())).html, 'dialog p')).toEqual([
      'This deletes the person and their data: events, page views, emails, tags and fields. Event counts stay. If the address is suppressed or unsubscribed from a topic, a hash of it stays. People counts and message results no longer include this person.',
    ])
    await erase(browser)
    const after = await read()
    expect([before.emails, before.people]).toEqual([1, [1]])
    expect(after).toEqual({ ...before, people: [], emails: 0 })
  })

  test('is in the audit log with actor, time and an anonymous ID', async () => {
    const { id } = (await pages.store.findMember('ada@example.com')) ?? { id: '' }
    const subject = (await pathOfNewest()).split('/').at(-1)
    await erase(browser)
    const text = "SELECT actor, subject, created_at FROM audit_entries WHERE action = 'contact.erase'"
    const found = await withSql(pages.folder, async (sql) => await sql.prepare(text).all())
    expect(found).toEqual([{ actor: id, subject, created_at: pages.clock.now() }])
  })

  test('asks for the password after 10 minutes', async () => {
    pages.clock.ms += 10 * MINUTE
    const asked = await erase(browser)
    expect([asked.status, await textOf(asked.html, 'h1')]).toEqual([200, ['Confirm your password']])
    expect(await textOf(asked.html, '#menu > ul [aria-current]')).toEqual(['People'])
    expect((await erase(browser, { confirmPassword: 'wrong' })).status).toBe(400)
    expect(await emailsOf(await see())).toEqual(['bob@example.com'])
    expect((await erase(browser, { confirmPassword: PASSWORD })).status).toBe(303)
    expect(await emailsOf(await see())).toEqual([])
  })

  test('is for owners only', async () => {
    await pages.addMember('eve@example.com', 'editor')
    const editor = await pages.signedIn('eve@example.com')
    expect((await editor.get(await pathOfNewest())).html).not.toContain('Erase')
    expect((await erase(editor)).status).toBe(403)
    expect(await emailsOf(await see())).toEqual(['bob@example.com'])
  })

  test('says when it cannot be saved', async () => {
    const failing = spyOn(pages.store, 'eraseContact').mockResolvedValue({ refusal: 'unavailable' })
    const { status, html } = await erase(browser)
    failing.mockRestore()
    expect(status).toBe(503)
    expect((await textOf(html, '[role=alert]'))[0]).toStartWith("Error: Eventpost can't save right now")
  })
})
