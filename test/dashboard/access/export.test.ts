import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { publicId } from '../../../src/core/ids.ts'
import { createDashboard } from '../../../src/dashboard/index.ts'
import { sendEvent } from '../messages/mailing.ts'
import { type AccountPages, appOf, type Browser, createBrowser, openAccount, PASSWORD, type Seen } from '../browser.ts'
import { attributesOf, BASE, expectHarmless, HOSTILE, openApiOf, textOf } from '../pages.ts'

const TEN_MINUTES = 10 * 60_000
const BOB = 'bob@example.com'

let pages: AccountPages
let owner: Browser
let bob: string
beforeEach(async () => {
  pages = await openAccount()
  owner = await pages.signedIn()
  const app = await appOf(pages)
  await sendEvent(pages, { app, email: BOB })
  bob = publicId('con', (await pages.store.findContact(app.id, BOB))?.id ?? 0)
})
afterEach(() => pages.close())

/** Every export: what the page and the audit log say about it, and the page that it belongs to. */
const EXPORTS: [path: string, what: string, noted: string, back: string][] = [
  ['people/export', 'people as CSV', 'people from the app “Engine” as CSV', 'people'],
  [
    'people/export?format=ndjson&tag=secret-tag&status=subscribed&seen=never',
    'people as NDJSON, filtered by tag, status, and last page view',
    'people from the app “Engine” as NDJSON, filtered by tag, status, and last page view',
    'people?tag=secret-tag&status=subscribed&seen=never',
  ],
  ...(
    [
      ['emails=returned&days=30', 'who came back after an email in the last 30 days'],
      ['emails=returned', 'who came back after an email'],
      [`emails=sent&message=${publicId('msg', 1)}`, 'message and who was emailed'],
      ['emails=not-sent&days=7&tag=secret-tag', 'who was not emailed in the last 7 days and tag'],
    ] as const
  ).map(([query, filters]): (typeof EXPORTS)[number] => [
    `people/export?${query}`,
    `people as CSV, filtered by ${filters}`,
    `people from the app “Engine” as CSV, filtered by ${filters}`,
    `people?${query}`,
  ]),
  ['people/:person/export', `${BOB} as JSON`, `the person ${BOB}`, 'people/:person'],
  [
    'events/export?event=secret_event',
    'events as CSV, filtered by name',
    'events from the app “Engine” as CSV, filtered by name',
    'events?event=secret_event',
  ],
  [
    'deliveries/export?state=sent&from=2026-05-01&to=2026-05-02',
    'deliveries as CSV, filtered by state and dates',
    'deliveries from the app “Engine” as CSV, filtered by state and dates',
    'deliveries?state=sent&from=2026-05-01&to=2026-05-02',
  ],
  ['suppressions/export', 'suppressions as CSV', 'suppressions from the app “Engine” as CSV', 'suppressions'],
  [
    'requests/export?code=invalid_field',
    'refused requests as CSV, filtered by error code',
    'refused requests from the app “Engine” as CSV, filtered by error code',
    'requests?code=invalid_field',
  ],
  ['requests/export?kind=all', 'requests as CSV', 'requests from the app “Engine” as CSV', 'requests?kind=all'],
]

const at = (path: string): string => pages.at(path.replace(':person', bob))
const isFile = ({ status, headers }: Seen): boolean =>
  status === 200 && headers.get('content-disposition')?.startsWith('attachment; ') === true
const titleOf = async ({ html }: Seen) => (await textOf(html, 'h1'))[0]
const linksOf = async ({ html }: Seen) => attributesOf(html, 'main .buttons a', 'href')

async function listNoted(): Promise<string[]> {
  const accountId = pages.begun.accountId
  const entries = await pages.store.listAudit({ accountId, kind: 'all', before: null, limit: 100 })
  const noted = entries.filter(({ action }) => action.endsWith('.export'))
  return noted.map(({ subject }) => subject ?? '')
}

describe('an export', () => {
  test('is in the table above', () => {
    const { app } = createDashboard({ ...pages.parts, openApi: openApiOf(pages.parts) })
    const known = new Set(EXPORTS.map(([path]) => `/apps/:app/${path.split('?')[0]}`))
    const paths = app.routes.map(({ path }) => path).filter((path) => path.endsWith('/export'))
    expect([...known].toSorted()).toEqual([...new Set(paths)].toSorted())
  })

  test.each(EXPORTS)('%s downloads at once for 10 minutes after the password, and is noted', async (path, _, noted) => {
    pages.clock.ms += TEN_MINUTES - 1
    expect(isFile(await owner.get(at(path)))).toBe(true)
    const { html } = await owner.get(pages.at('audit'))
    const [what] = await textOf(html, '[aria-label="Audit log"] tbody tr:first-child td:nth-child(3)')
    expect(what).toBe(`exported ${noted}`)
    const stored = await listNoted()
    expect(stored).toHaveLength(1)
    expect(stored.join()).not.toMatch(/secret|bob@/)
  })

  test.each(EXPORTS)('%s asks for an older password, and then starts by itself', async (path, what, _, back) => {
    pages.clock.ms += TEN_MINUTES
    const asked = await owner.get(at(path))
    expect([isFile(asked), asked.status, await titleOf(asked)]).toEqual([false, 200, 'Confirm your password'])
    expect(await textOf(asked.html, '.lead')).toEqual([
      `You are about to export ${what}. You last entered your password more than 10 minutes ago.`,
    ])
    expect(asked.html.includes('http-equiv')).toBe(false)
    expect(await attributesOf(asked.html, 'main form', 'action')).toEqual([at(path)])
    expect(await linksOf(asked)).toEqual([at(back)])
    expect(await listNoted()).toEqual([])

    const started = await owner.submit(at(path), at(path), { confirmPassword: PASSWORD })
    expect([started.status, await titleOf(started)]).toEqual([200, 'Your download has started'])
    expect(await textOf(started.html, '.lead')).toEqual([`You exported ${what}.`])
    const [refresh = ''] = await attributesOf(started.html, 'meta[http-equiv=refresh]', 'content')
    expect(refresh).toBe(`0;url=${at(path)}`)
    expect(await linksOf(started)).toEqual([at(path), at(back)])
    expect(isFile(await owner.get(refresh?.slice('0;url='.length) ?? ''))).toBe(true)
    expect(await listNoted()).toHaveLength(1)
  })

  test('takes no wrong password, and counts them as sign-in does', async () => {
    pages.clock.ms += TEN_MINUTES
    const path = at('people/export')
    const send = (confirmPassword: string) => owner.post(path, { confirmPassword })
    const wrong = await send('wrong')
    expect([wrong.status, await textOf(wrong.html, '#confirmPassword-fault')]).toEqual([
      400,
      ['Error: This password is wrong.'],
    ])
    spyOn(Bun.password, 'verify').mockResolvedValue(false)
    for (let i = 0; i < 20; i++) await send('wrong')
    const { status, headers } = await send(PASSWORD)
    spyOn(Bun.password, 'verify').mockRestore()
    expect([status, Number(headers.get('retry-after')) > 0]).toEqual([429, true])
    expect(isFile(await owner.get(path))).toBe(false)
    expect(await listNoted()).toEqual([])
  })

  test('takes no password from another site, and none in the address', async () => {
    pages.clock.ms += TEN_MINUTES
    const path = at('people/export')
    const foreign = await owner.post(path, { confirmPassword: PASSWORD }, { 'Sec-Fetch-Site': 'cross-site' })
    expect([foreign.status, foreign.html.includes('http-equiv')]).toEqual([403, false])
    const asked = await owner.get(`${path}?confirmPassword=${encodeURIComponent(PASSWORD)}`)
    expect([isFile(asked), await titleOf(asked)]).toEqual([false, 'Confirm your password'])
  })

  test('without a session leads to the sign-in page, and from there to the list', async () => {
    const { status, location } = await createBrowser(pages).get(at('people/export?tag=x&format=ndjson'))
    expect([status, location]).toEqual([303, `/sign-in?${new URLSearchParams({ next: at('people?tag=x') })}`])
    expect(await listNoted()).toEqual([])
  })

  test('of an unknown person is neither asked about nor noted', async () => {
    expect((await owner.get(at('people/con_none/export'))).status).toBe(404)
    pages.clock.ms += TEN_MINUTES
    const { status, html } = await owner.post(at('people/con_none/export'), { confirmPassword: PASSWORD })
    expect([status, await textOf(html, 'h1')]).toEqual([404, ['Person not found']])
    expect(await listNoted()).toEqual([])
  })

  test('is refused while it cannot be noted', async () => {
    const full = spyOn(pages.store, 'noteExport').mockResolvedValue({ refusal: 'unavailable' })
    const refused = await owner.get(at('people/export'))
    expect([isFile(refused), refused.status, await titleOf(refused)]).toEqual([false, 503, 'Nothing was exported'])
    expect(refused.html).not.toContain(BOB)
    expect(refused.html).not.toContain('http-equiv')
    full.mockRestore()
    expect(isFile(await owner.get(at('people/export')))).toBe(true)
  })

  test('says so after the password, instead of asking for it again and again', async () => {
    pages.clock.ms += TEN_MINUTES
    const full = spyOn(pages.store, 'confirmSession').mockResolvedValue({ refusal: 'unavailable' })
    const refused = await owner.post(at('people/export'), { confirmPassword: PASSWORD })
    expect([refused.status, await titleOf(refused)]).toEqual([503, 'Nothing was exported'])
    expect(refused.html).not.toContain('http-equiv')
    full.mockRestore()
  })
})

test('names are text, on the page and in the audit log', async () => {
  const other = await pages.addAccount('eve@example.com', HOSTILE)
  const eve = await pages.signedIn('eve@example.com')
  const path = `/apps/${other.appId}/people/export?tag=${encodeURIComponent(HOSTILE)}`
  await eve.get(path)
  await expectHarmless((await eve.get(`/apps/${other.appId}/audit`)).html)
  pages.clock.ms += TEN_MINUTES
  await expectHarmless((await eve.get(path)).html)
  const { html } = await eve.post(path, { confirmPassword: PASSWORD })
  expect(await textOf(html, 'h1')).toEqual(['Your download has started'])
  const [refresh = ''] = await attributesOf(html, 'meta[http-equiv]', 'content')
  const { pathname, search } = new URL(path, BASE)
  expect(refresh).toBe(`0;url=${pathname}${search}`)
  // it leads to this file only
  await expectHarmless(html.replace(/<meta http-equiv="refresh" content="0;url=\/apps\/[^"<>]+"\/>/, ''))
})

test('an erased person is not named in the audit log', async () => {
  await owner.get(at('people/:person/export'))
  await owner.post(at('people/:person/erase'))
  const { html } = await owner.get(pages.at('audit'))
  const what = await textOf(html, '[aria-label="Audit log"] td:nth-child(3)')
  expect(what.map((text) => text.trim())).toContain(`exported the person ${bob}`)
  expect(html).not.toContain(BOB)
})
