import { describe, expect, test } from 'bun:test'
import {
  type AppSettingsText,
  localesWith,
  readAppSettings,
  siteOrigin,
  timezonesWith,
  writeAppSettings,
} from '../../src/accounts/app-settings.ts'

const TYPED: AppSettingsText = {
  name: ' Engine ',
  home: ' https://www.example.com/start ',
  domains: 'https://App.Example.com:443/a\r\n\r\n bücher.example \nlocalhost\napp.example.com',
  timezone: ' Europe/Zurich ',
  locale: ' de-ch ',
  snippetHosts: 'https://app.example.com/',
  addsPeople: true,
  eventDays: ' 365 ',
  pageViewDays: '30',
  capturedDays: '',
  requestDays: '14',
  responseDays: ' 3',
}
const read = (more: Partial<AppSettingsText> = {}) => readAppSettings({ ...TYPED, ...more })

test('is normalized for comparison', () => {
  const snippet = { hosts: ['app.example.com'], addsPeople: true }
  const hosts = ['app.example.com', 'xn--bcher-kva.example', 'localhost']
  const timezone = 'Europe/Zurich'
  const settings = {
    name: 'Engine',
    homeUrl: 'https://www.example.com/start',
    hosts,
    timezone,
    locale: 'de-CH',
    snippet,
    retention: { eventDays: 365, pageViewDays: 30, capturedDays: null, requestDays: 14, responseDays: 3 },
  }
  expect(read()).toEqual({ settings })
  expect(readAppSettings(writeAppSettings(settings))).toEqual({ settings })
})

test('a home page stays as typed, with or without a slash', () => {
  const homes = [
    'https://acme.test',
    'https://acme.test/',
    'http://localhost:3000',
    'HTTPS://Acme.Test',
    'https://a.test/é',
  ]
  const read = homes.map((home) => readAppSettings({ ...TYPED, home }))
  expect(read.map((one) => ('settings' in one ? one.settings.homeUrl : one))).toEqual([
    'https://acme.test',
    'https://acme.test/',
    'http://localhost:3000',
    'https://acme.test/',
    'https://a.test/%C3%A9',
  ])
})

test('everything except the name may be empty', () => {
  const kept = { eventDays: '', pageViewDays: ' ', capturedDays: '', requestDays: '', responseDays: ' ' }
  expect(read({ home: '', domains: '\n', snippetHosts: '', addsPeople: false, ...kept })).toEqual({
    settings: {
      name: 'Engine',
      homeUrl: null,
      hosts: [],
      timezone: 'Europe/Zurich',
      locale: 'de-CH',
      snippet: { hosts: [], addsPeople: false },
      retention: { eventDays: null, pageViewDays: null, capturedDays: null, requestDays: null, responseDays: null },
    },
  })
})

describe('refused, with the field', () => {
  const DOMAIN = 'Enter your own domain, such as app.example.com.'
  const IP = "An IP address doesn't work here. Use a domain, or localhost for tests."
  const TIMEZONE = 'Choose a timezone by its name, such as Europe/Zurich, or UTC.'
  const days = (least: number) =>
    `Enter a whole number of days from ${least} to 3,650, or leave this empty for no limit.`
  const within = (range: string, ifEmpty: number) =>
    `Enter a whole number of days from ${range}, or leave this empty for ${ifEmpty}.`
  const LOCALE = 'Choose a locale by its BCP 47 tag, such as en-US or de-CH.'
  test.each<[Partial<AppSettingsText>, string, string]>([
    [{ name: ' ' }, 'app', 'Enter a name of 1 to 100 characters for the app.'],
    [{ name: 'x'.repeat(101) }, 'app', 'Enter a name of 1 to 100 characters for the app.'],
    [{ home: 'http://example.com' }, 'home', 'Enter the URL of your home page, starting with https://.'],
    [{ home: 'javascript:alert(1)' }, 'home', 'Enter the URL of your home page, starting with https://.'],
    [{ domains: 'https://' }, 'domains', DOMAIN],
    [{ domains: 'github.io' }, 'domains', DOMAIN],
    [{ domains: 'a.example\n\n127.0.0.1' }, 'domains', `Line 2 is not a domain. ${IP}`],
    [{ domains: 'x' }, 'domains', DOMAIN],
    [{ timezone: '' }, 'timezone', TIMEZONE],
    [{ timezone: 'Europe/Atlantis' }, 'timezone', TIMEZONE],
    [{ locale: 'tlh' }, 'locale', LOCALE],
    [{ locale: 'en-US@posix' }, 'locale', LOCALE],
    [{ eventDays: '6' }, 'eventDays', days(7)],
    [{ pageViewDays: '3651' }, 'pageViewDays', days(7)],
    [{ capturedDays: '1.5' }, 'capturedDays', days(1)],
    [{ requestDays: '91' }, 'requestDays', within('1 to 90', 7)],
    [{ responseDays: '0' }, 'responseDays', within('1 to 30', 1)],
    [{ responseDays: '31' }, 'responseDays', within('1 to 30', 1)],
    [{ snippetHosts: 'a.example\nb.example\n*' }, 'snippetHosts', `Line 3 is not a domain. ${DOMAIN}`],
  ])('%p', (more, field, message) => {
    expect(read(more)).toEqual({ errors: [{ field, code: 'invalid', message }] })
  })

  test('reports all errors at once', () => {
    const reading = read({ name: '', domains: '*', snippetHosts: '*' })
    expect('errors' in reading && reading.errors.map(({ field }) => field)).toEqual(['app', 'domains', 'snippetHosts'])
  })
})

test('offers timezones, including the current one', () => {
  const all = timezonesWith('Asia/Calcutta')
  expect(all).toEqual(expect.arrayContaining(['UTC', 'Asia/Calcutta', 'Europe/Zurich', 'America/New_York']))
  expect(new Set(timezonesWith('UTC')).size).toBe(timezonesWith('UTC').length)
})

test('offers locales by name, including the current one', () => {
  const offered = localesWith('gsw-CH')
  expect(offered).toContainEqual({ locale: 'de-CH', name: 'German (Switzerland)' })
  expect(offered.filter(({ locale }) => locale === 'gsw-CH')).toHaveLength(1)
  expect(localesWith('en-US')).toHaveLength(offered.length - 1)
  expect(readAppSettings({ ...TYPED, locale: '' })).toMatchObject({ settings: { locale: 'en-US' } })
})

test('a locale with extensions is refused, unless the app has it already', () => {
  const locale = 'en-US-u-hc-h23'
  const message = expect.stringContaining('Leave out extensions')
  expect(read({ locale })).toEqual({ errors: [{ field: 'locale', code: 'invalid', message }] })
  expect(readAppSettings({ ...TYPED, locale }, { locale })).toMatchObject({ settings: { locale } })
  expect(localesWith(locale)).toContainEqual({ locale, name: locale })
})

test.each([
  [{ homeUrl: 'https://www.first.example/welcome', hosts: ['first.example'] }, 'https://www.first.example'],
  [{ homeUrl: 'https://elsewhere.example', hosts: ['first.example'] }, 'https://first.example'],
  [{ homeUrl: 'https://localhost', hosts: ['localhost'] }, 'http://localhost'],
  [{ homeUrl: 'http://localhost:8562', hosts: ['localhost'] }, 'http://localhost:8562'],
  [{ homeUrl: null, hosts: [] }, 'https://app.example.com'],
])('the pages of %p are at %s', (app, origin) => {
  expect(siteOrigin(app)).toBe(origin)
})
