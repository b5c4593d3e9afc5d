import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { pickSettings } from '../../../src/store/apps.ts'
import { DEFAULT_RETENTION } from '../../../src/accounts/retention.ts'
import { DAY_MS as DAY } from '../../../src/core/clock.ts'
import { type AccountPages, appOf, type Browser, hiddenFieldsOf, openAccount } from '../browser.ts'
import { recordEvent } from '../events/recording.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

const FIELDS = {
  app: 'Renamed',
  home: 'https://www.example.com/',
  domains: 'app.example.com\r\nwww.example.com',
  timezone: 'America/New_York',
  locale: 'de-CH',
  snippetHosts: 'app.example.com',
  addsPeople: 'on',
  eventDays: '365',
  pageViewDays: '90',
  capturedDays: '',
  requestDays: '14',
  responseDays: '3',
}
const save = async (more: Record<string, string> = {}, who?: string) =>
  (await pages.signedIn(who)).submit(pages.at('settings'), pages.at('settings'), { ...FIELDS, ...more })
const apps = () => pages.store.listApps(pages.begun.accountId)

test('settings are shown, saved, and apply from the next request', async () => {
  const browser = await pages.signedIn()
  const { html } = await browser.get(pages.at('settings'))
  expect(await attributesOf(html, 'main input:not([type=hidden])', 'value')).toEqual([
    'Engine',
    'https://app.example.com',
    null,
    '',
    '',
    '30',
    '',
    '',
  ])
  expect(await textOf(html, 'textarea')).toEqual(['app.example.com', ''])
  const days = ['7 to 3,650 days.', '7 to 3,650 days.', '1 to 3,650 days.']
  const defaults = ['1 to 90 days. Default: 7.', '1 to 30 days. Default: 1.']
  expect(await textOf(html, '#retention .field > .hint')).toEqual([...days, ...defaults])
  expect((await textOf(html, '#retention label')).at(-1)).toContain('Days to keep Idempotency-Key responses')
  expect(await attributesOf(html, '[role=switch]', 'checked')).toEqual([null])
  await pages.access.findSite(pages.begun.siteId)

  const { status, location } = await browser.submit(pages.at('settings'), pages.at('settings'), FIELDS)
  expect([status, location]).toEqual([303, pages.at('settings')])
  const hosts = ['app.example.com', 'www.example.com']
  expect(await apps()).toMatchObject([{ name: 'Renamed', homeUrl: 'https://www.example.com/', hosts, locale: 'de-CH' }])
  const site = await pages.access.findSite(pages.begun.siteId)
  expect([site?.app.hosts, site?.settings]).toEqual([hosts, { hosts: ['app.example.com'], addsPeople: true }])
  expect(await pages.store.findRetention(site?.app.id ?? 0)).toEqual({
    eventDays: 365,
    pageViewDays: 90,
    capturedDays: null,
    requestDays: 14,
    responseDays: 3,
  })
  const again = (await browser.get(pages.at('settings'))).html
  expect((await textOf(again, '[role=status]'))[0]).toStartWith('Done: The settings were saved.')
  expect(await textOf(again, 'textarea')).toEqual([hosts.join('\n'), 'app.example.com'])
  expect(await attributesOf(again, '[role=switch]', 'checked')).toEqual([''])
  expect(await attributesOf(again, '#locale option[selected]', 'value')).toEqual(['de-CH'])
})

test('a locale with extensions that the app has already is shown and stays', async () => {
  const [app] = await apps()
  if (app === undefined) throw new Error('there is no app')
  const locale = 'en-u-ca-buddhist'
  const settings = { ...pickSettings(app, { hosts: [], addsPeople: false }, DEFAULT_RETENTION), locale }
  const by = { accountId: app.accountId, actor: 'test', at: pages.clock.now() }
  await pages.store.updateApp({ ...by, appId: app.id, settings })
  const browser = await pages.signedIn()
  const { status, html } = await browser.get(pages.at('settings'))
  expect([status, await textOf(html, '#locale option[selected]')]).toEqual([200, [locale]])
  expect((await save({ locale })).status).toBe(303)
  expect(await apps()).toMatchObject([{ name: 'Renamed', locale }])
})

test('errors appear next to the field, without saving', async () => {
  const before = await apps()
  const { status, html } = await save({ domains: `app.example.com\n${HOSTILE}`, app: HOSTILE })
  expect(status).toBe(400)
  expect(await textOf(html, '#domains-fault')).toEqual([expect.stringContaining('Line 2 is not a domain.')])
  expect(await textOf(html, 'textarea')).toEqual([`app.example.com\n${HOSTILE}`, 'app.example.com'])
  expect(await attributesOf(html, '#app', 'value')).toEqual([HOSTILE])
  await expectHarmless(html)
  expect(await apps()).toEqual(before)
})

test.each([
  ['app.example.com\nlocalhost:8562', ''],
  ['', 'localhost:8562'],
])('says that the ports of %j and %j are not saved', async (domains, snippetHosts) => {
  const PORTS = 'Domains are saved without ports.'
  const notice = async () => (await textOf((await browser.get(pages.at('settings'))).html, '[role=status]'))[0]
  const browser = await pages.signedIn()
  await browser.submit(pages.at('settings'), pages.at('settings'), { ...FIELDS, domains, snippetHosts })
  expect(await notice()).toContain(PORTS)
  await browser.submit(pages.at('settings'), pages.at('settings'), FIELDS)
  expect(await notice()).not.toContain(PORTS)
})

describe('fewer days, of which older data is stored', () => {
  const days = { eventDays: '', pageViewDays: '90', capturedDays: '30' }
  const retention = async () => pages.store.findRetention((await apps())[0]?.id ?? 0)

  test('are saved after a page that says what is deleted, with everything else that was typed', async () => {
    const app = await appOf(pages)
    await recordEvent(pages, app, {})
    pages.clock.ms += 40 * DAY
    const browser = await pages.signedIn()
    const submit = (more: Record<string, string>) =>
      browser.submit(pages.at('settings'), pages.at('settings'), { ...FIELDS, ...days, ...more })
    expect((await submit({ eventDays: '41' })).status).toBe(303)
    const before = [await apps(), await retention()]
    const asked = await submit({ eventDays: '30', app: HOSTILE })
    expect([asked.status, await textOf(asked.html, 'h1')]).toEqual([200, ['Delete older data?']])
    expect(await textOf(asked.html, '.page-head .lead')).toEqual([
      "Events before 13 May 2026 will be deleted. This can't be undone. Nothing is saved yet.",
    ])
    expect(await textOf(asked.html, 'main form .button')).toEqual(['Save and delete older data', 'Cancel'])
    expect(await attributesOf(asked.html, 'main form', 'action')).toEqual([pages.at('settings')])
    await expectHarmless(asked.html)
    expect([await apps(), await retention()]).toEqual(before)
    const { status, location } = await browser.post(pages.at('settings'), await hiddenFieldsOf(asked.html, 'main form'))
    expect([status, location]).toEqual([303, pages.at('settings')])
    expect(await apps()).toMatchObject([{ name: HOSTILE }])
    expect(await retention()).toMatchObject({ eventDays: 30, pageViewDays: 90, capturedDays: 30, requestDays: 14 })
  })

  test('are refused if someone else changes the settings in between', async () => {
    await recordEvent(pages, await appOf(pages), {})
    pages.clock.ms += 40 * DAY
    const [ada, bob] = [await pages.signedIn(), await pages.signedIn()]
    const asked = await ada.submit(pages.at('settings'), pages.at('settings'), { ...FIELDS, ...days, eventDays: '30' })
    await bob.submit(pages.at('settings'), pages.at('settings'), { ...FIELDS, ...days })
    const { status } = await ada.post(pages.at('settings'), await hiddenFieldsOf(asked.html, 'main form'))
    expect([status, (await retention()).eventDays]).toEqual([409, null])
  })
})

test('a full disk keeps the input', async () => {
  const failing = spyOn(pages.store, 'updateApp').mockResolvedValue({ refusal: 'unavailable' })
  const { status, html } = await save()
  failing.mockRestore()
  expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([503, expect.stringContaining("can't save")])
  expect(await attributesOf(html, '#app', 'value')).toEqual(['Renamed'])
})

test.each(['editor', 'viewer'] as const)('%s sees them and changes nothing', async (role) => {
  await pages.addMember('eve@example.com', role)
  const { html } = await (await pages.signedIn('eve@example.com')).get(pages.at('settings'))
  expect(await textOf(html, 'main button[type=submit]')).toEqual([])
  expect(await attributesOf(html, '#app', 'readonly')).toEqual([''])
  expect((await save({}, 'eve@example.com')).status).toBe(403)
  expect(await apps()).toMatchObject([{ name: 'Engine' }])
})

test('an app of another account is unknown', async () => {
  await pages.addAccount('eve@example.com', 'Other')
  expect((await save({}, 'eve@example.com')).status).toBe(404)
  expect(await apps()).toMatchObject([{ name: 'Engine' }])
})

test('pages show times in its timezone', async () => {
  const browser = await pages.signedIn()
  const { html } = await browser.get(pages.at('settings'))
  expect(await attributesOf(html, 'option[selected]', 'value')).toEqual(['UTC', 'en-US'])
  await browser.post(pages.at('activation/test'))
  await browser.submit(pages.at('settings'), pages.at('settings'), FIELDS)
  const events = (await browser.get(pages.at('events'))).html
  expect(await textOf(events, '.feed-tools > .hint')).toEqual(['America/New York'])
  expect(await textOf(events, '.feed time')).toEqual(['3 May 08:00:00'])
  expect((await textOf(events, '.chart th')).at(-1)).toBe('3 May, 08:00')
  const days = (await browser.get(pages.at('events?range=days'))).html
  expect((await textOf(days, '.chart figcaption'))[0]).toStartWith('All events by day of arrival (UTC)')
  const wrong = await browser.submit(pages.at('settings'), pages.at('settings'), { ...FIELDS, timezone: HOSTILE })
  expect([wrong.status, (await textOf(wrong.html, '#timezone-fault'))[0]]).toEqual([
    400,
    'Error: Choose a timezone by its name, such as Europe/Zurich, or UTC.',
  ])
  await expectHarmless(wrong.html)
})

describe('two owners who change them at once', () => {
  const shown = async (browser: Browser) => hiddenFieldsOf((await browser.get(pages.at('settings'))).html, 'form')

  test('the second sees what the first changed, keeps the input, and can overwrite', async () => {
    const [ada, bob] = [await pages.signedIn(), await pages.signedIn()]
    const typed = { ...FIELDS, app: 'Typed', ...(await shown(ada)) }
    const fields = { ...FIELDS, home: 'https://first.example/', ...(await shown(bob)) }
    expect((await bob.post(pages.at('settings'), fields)).status).toBe(303)
    const wrong = await ada.post(pages.at('settings'), { ...typed, timezone: 'Mars' })
    const before = await apps()
    const { status, html } = await ada.post(pages.at('settings'), { ...typed, ...(await hiddenFieldsOf(wrong.html)) })
    expect([wrong.status, status, await attributesOf(html, '#app', 'value')]).toEqual([400, 409, ['Typed']])
    const [notice] = await textOf(html, '[role=alert]')
    expect(notice).toStartWith(
      'Error: ada@example.com changed these settings while you were editing: Name (now Renamed);',
    )
    expect(notice).toContain('Home page (now https://first.example/)')
    expect(await apps()).toEqual(before)
    expect((await ada.post(pages.at('settings'), { ...typed, ...(await hiddenFieldsOf(html)) })).status).toBe(303)
    expect(await apps()).toMatchObject([{ name: 'Typed', homeUrl: 'https://www.example.com/' }])
  })

  test('a change between the check and the save is kept', async () => {
    const ada = await pages.signedIn()
    const typed = { ...FIELDS, ...(await shown(ada)) }
    const [app] = await apps()
    const { updateApp } = pages.store
    const other = {
      ...(app as AppRow),
      name: 'Other',
      snippet: { hosts: [], addsPeople: false },
      retention: DEFAULT_RETENTION,
    }
    const racing = spyOn(pages.store, 'updateApp').mockImplementationOnce(async (asked) => {
      await updateApp({ ...asked, settings: other, basedOn: undefined })
      return updateApp(asked)
    })
    const { status, html } = await ada.post(pages.at('settings'), typed)
    racing.mockRestore()
    expect([status, await textOf(html, '[role=alert]')]).toEqual([409, [expect.stringContaining('Name (now Other).')]])
    expect(await apps()).toMatchObject([{ name: 'Other' }])
  })
})
