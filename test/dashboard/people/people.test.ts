import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { databasePath } from '../../../src/store/engine/database.ts'
import { type AccountPages, type Browser, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

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
    buckets: [],
    idempotency: null,
  })
  if ('refusal' in outcome) throw new Error(outcome.refusal)
}

const see = async (query = '') => (await browser.get(pages.at(`people${query}`))).html
const emailsOf = (html: string) => textOf(html, '.person b')
/** The page of the newest person. */
const pathOfNewest = async (): Promise<string> => (await attributesOf(await see(), '.person', 'href'))[0] ?? ''

describe('the people', () => {
  test('the empty state explains people and the next step', async () => {
    const html = await see()
    expect(await textOf(html, '.empty h2')).toEqual(['Nobody yet'])
    expect(await attributesOf(html, '.empty a', 'href')).toEqual([pages.at('activation')])
  })

  test('lists newest first, with name, status and tags', async () => {
    await add({ email: 'bob@example.com', tags: ['a', 'b', 'c', 'd', 'e'] })
    await add({ email: 'grace@example.com', firstName: 'Grace', lastName: 'Hopper' })
    const html = await see()
    expect(await emailsOf(html)).toEqual(['grace@example.com', 'bob@example.com'])
    expect(await textOf(html, '.person .hint')).toEqual(['Grace Hopper'])
    expect(await textOf(html, '.tags')).toEqual(['abcand 2 more'])
  })

  test('pages', async () => {
    for (let i = 0; i < 120; i++) await add({ email: `p${i}@example.com` })
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
    expect(await textOf(html, '.person .hint')).toEqual([expect.stringContaining('<script>alert(1)</script>')])
    await expectHarmless((await browser.post(pages.at('people'), { email: HOSTILE })).html)
  })
})

describe('finding a person', () => {
  const find = (email: string) => browser.post(pages.at('people'), { email })

  test('works with any spelling of the email', async () => {
    await add({ email: 'bob@example.com' })
    const { status, location } = await find(' Bob@Example.com ')
    expect([status, location]).toEqual([303, await pathOfNewest()])
  })

  test.each([
    ['eve@example.com', 'This app knows nobody with this email.'],
    ['eve@', 'Give one whole email address.'],
    ['', 'Give one whole email address.'],
  ])('%p: says why not, and keeps the input', async (email, message) => {
    await add({ email: 'bob@example.com' })
    const { status, html } = await find(email)
    expect([status, await textOf(html, '#email-fault')]).toEqual([404, [`Error: ${message}`]])
    expect(await attributesOf(html, '#email', 'value')).toEqual([email])
    expect(await emailsOf(html)).toEqual(['bob@example.com'])
  })

  test('does not find people of another account', async () => {
    await add({ email: 'bob@example.com' })
    const other = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    expect((await eve.post(`/apps/${other.appId}/people`, { email: 'bob@example.com' })).status).toBe(404)
    const id = (await pathOfNewest()).split('/').at(-1)
    for (const path of [`/apps/${other.appId}/people/${id}`, `/apps/${pages.begun.appId}/people/${id}`]) {
      expect((await eve.get(path)).status).toBe(404)
    }
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
    const rest = { shownEmail: null, newPeoplePerMonth: null, createContact: false, reportId: 'b', at, items }
    await pages.store.recordVisitReport({ ...person, ...rest })
    const { html } = await browser.get(await pathOfNewest())
    await expectHarmless(html)
    expect(await textOf(html, 'h1')).toEqual(['bob@example.com'])
    expect((await textOf(html, '.lead'))[0]).toBe('Bob. Last active 2 minutes ago.')
    expect(await textOf(html, '.timeline a')).toEqual(['opened_chart', 'Page view'])
    expect(await textOf(html, '.timeline p')).toEqual(['/results/81', '/results/81'])
    expect(await textOf(html, '.tag')).toEqual(['beta'])
    const facts = await textOf(html, 'aside section:nth-of-type(2) dt')
    expect(facts).toEqual(['plan', 'aU+202Eb'])
  })

  test('without events', async () => {
    await add({ email: 'bob@example.com' })
    const { html } = await browser.get(await pathOfNewest())
    expect((await textOf(html, '.lead'))[0]).toBe('Nothing has happened yet.')
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
    expect(await textOf(html, '[role=status]')).toEqual(['Done: The person and all their data were erased.'])
    expect([await emailsOf(html), (await browser.get(path)).status]).toEqual([[], 404])
    expect((await browser.post(`${path}/erase`)).status).toBe(404)
  })

  test('is in the audit log with actor, time and an anonymous ID', async () => {
    const { id } = (await pages.store.findMember('ada@example.com')) ?? { id: '' }
    const subject = (await pathOfNewest()).split('/').at(-1)
    await erase(browser)
    const audit = new Database(databasePath(pages.folder), { readonly: true })
    const found = audit
      .query("SELECT actor, subject, created_at FROM audit_entries WHERE action = 'contact.erase'")
      .all()
    audit.close()
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
    expect((await textOf(html, '[role=alert]'))[0]).toStartWith('Error: The service cannot save right now')
  })
})
