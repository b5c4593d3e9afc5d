import { describe, expect, test } from 'bun:test'
import { fillTemplate, findTemplateProblems, showValues } from '../../src/messages/templates.ts'
import { formatDate, type Place } from '../../src/messages/template-values.ts'

const US: Place = { locale: 'en-US', timezone: 'America/New_York' }
const SWISS: Place = { locale: 'de-CH', timezone: 'Europe/Zurich' }
const same = (text: string): string => text

function fill(source: string, event: Record<string, unknown>, place: Place = US) {
  const filled = fillTemplate(source, { event }, { place })
  // normalises non-breaking spaces
  return 'filled' in filled
    ? showValues(filled.filled, { value: same, plain: same }).replaceAll(/[\u00a0\u202f]/g, ' ')
    : filled
}

describe('money', () => {
  test.each<[string, Record<string, unknown>, string, string]>([
    ['{{ event.amount | money: "USD" }}', { amount: 1234.5 }, '$1,234.50', "$ 1'234.50"],
    ['{{ event.amount | money: "EUR" }}', { amount: '19.9' }, '€19.90', 'EUR 19.90'],
    ['{{ event.amount | money: "JPY" }}', { amount: 1200 }, '¥1,200', "¥ 1'200"],
    [
      '{{ event.cents | divided_by: 100 | money: event.currency }}',
      { cents: 995, currency: 'chf' },
      'CHF 9.95',
      'CHF 9.95',
    ],
    ['{{ event.amount | money: "USD" }}', { amount: -3 }, '-$3.00', '$-3.00'],
    ['{{ event.amount | money: "USD" | default: "free" }}', { amount: 'nothing' }, 'free', 'free'],
  ])('%s of %p', (source, event, american, swiss) => {
    expect(fill(source, event)).toBe(american)
    expect(fill(source, event, SWISS)).toBe(swiss)
  })

  test.each([-0, -0.001, '-0.004'])('of %p is nothing, without a sign', (amount) => {
    expect(fill('{{ event.amount | money: "EUR" }}', { amount })).toBe('€0.00')
    expect(fill('{{ event.amount | times: 0 | number }}', { amount })).toBe('0')
  })

  test.each<[Record<string, unknown>]>([
    [{ amount: 'much' }],
    [{ amount: true }],
    [{ amount: ['1'] }],
    [{ amount: {} }],
  ])('needs a number: %p', (event) => {
    expect(fill('{{ event.amount | money: "USD" }}', event)).toEqual({ missing: 'event.amount | money: "USD"' })
  })

  test('needs a currency, which is checked at saving if it is a literal', () => {
    for (const source of ['{{ event.amount | money }}', '{{ event.amount | money: "US dollar" }}']) {
      expect(findTemplateProblems(source)).toEqual([expect.stringMatching(/currency/)])
    }
    expect(findTemplateProblems('{{ event.amount | money: event.currency }}')).toEqual([])
    expect(fill('{{ event.amount | money: event.currency }}', { amount: 1, currency: 'DOLLAR' })).toEqual({
      broken: expect.stringContaining('“DOLLAR” is not a currency code'),
    })
    expect(fill('{{ event.amount | money: event.currency }}', { amount: 1 })).toEqual({ missing: 'event.currency' })
  })
})

test.each<[unknown, string, string]>([
  [1234567, '1,234,567', "1'234'567"],
  ['0.125', '0.125', '0.125'],
  [0.1 + 0.2, '0.3', '0.3'],
])('the number %p', (count, american, swiss) => {
  expect(fill('{{ event.count | number }}', { count })).toBe(american)
  expect(fill('{{ event.count | number }}', { count }, SWISS)).toBe(swiss)
})

describe('a date', () => {
  const AT = '2026-05-03T02:05:09.042Z'

  test.each([
    ['{{ event.at | date }}', 'May 2, 2026', '3. Mai 2026'],
    ['{{ event.at | date: "short" }}', '5/2/26', '03.05.26'],
    ['{{ event.at | date: "medium" }}', 'May 2, 2026', '03.05.2026'],
    ['{{ event.at | date: "full" }}', 'Saturday, May 2, 2026', 'Sonntag, 3. Mai 2026'],
    ['{{ event.at | date: "time" }}', '10:05 PM', '04:05'],
    ['{{ event.at | date: "datetime" }}', 'May 2, 2026, 10:05 PM', '03.05.2026, 04:05'],
    ['{{ event.at | date: "%A, %-d. %B %Y" }}', 'Saturday, 2. May 2026', 'Sonntag, 3. Mai 2026'],
    ['{{ event.at | date: "%a %b %y %H:%M:%S.%L" }}', 'Sat May 26 22:05:09.042', 'So Mai 26 04:05:09.042'],
    ['{{ event.at | date: "%l:%M %p" }}', '10:05 PM', ' 4:05 AM'],
    ['{{ event.at | date: "%j %u %z %%" }}', '122 6 -0400 %', '123 7 +0200 %'],
    ['{{ event.at | date: "%^B %_m %e %s %q" }}', 'MAY  5  2 1777773909 %q', 'MAI  5  3 1777773909 %q'],
  ])('%s', (source, american, swiss) => {
    expect(fill(source, { at: AT })).toBe(american)
    expect(fill(source, { at: AT }, SWISS)).toBe(swiss)
  })

  test.each<[unknown, string]>([
    ['2026-05-03T02:05:00Z', '2026-05-02 22:05 -0400'],
    ['2026-05-03T04:05:00+02:00', '2026-05-02 22:05 -0400'],
    ['Sun, 03 May 2026 02:05:00 GMT', '2026-05-02 22:05 -0400'],
    [1777773900, '2026-05-02 22:05 -0400'],
    ['1777773900', '2026-05-02 22:05 -0400'],
    [1777773900000, '2026-05-02 22:05 -0400'],
    // the app's zone is the default
    ['2026-05-03', '2026-05-03 00:00 -0400'],
    ['2026-05-03T14:05', '2026-05-03 14:05 -0400'],
    ['2026-01-03 14:05:59', '2026-01-03 14:05 -0500'],
    ['3 May 2026', '2026-05-03 00:00 -0400'],
    [0, '1969-12-31 19:00 -0500'],
    ['20260328', '2026-03-28 00:00 -0400'],
    [20260328, '2026-03-28 00:00 -0400'],
    ['2026', '2026-01-01 00:00 -0500'],
    [2026, '2026-01-01 00:00 -0500'],
  ])('of %p', (at, written) => {
    expect(fill('{{ event.at | date: "%Y-%m-%d %H:%M %z" }}', { at })).toBe(written)
  })

  test.each<[unknown]>([
    ['tomorrow'],
    ['2026-02-31'],
    ['20260231'],
    ['2026-13-01'],
    ['2026-05-03T25:00'],
    [1e300],
    [true],
    [['2026-05-03']],
  ])('is not %p', (at) => {
    expect(fill('{{ event.at | date }}', { at })).toEqual({ missing: 'event.at | date' })
    expect(fill('{{ event.at | date | default: "soon" }}', { at })).toBe('soon')
  })

  test('needs a known style', () => {
    expect(findTemplateProblems('{{ event.at | date: "lang" }}')).toEqual([
      expect.stringMatching(
        /^“lang” is not a date style\. Use short, medium, long, full, time, datetime, or a pattern/,
      ),
    ])
    expect(fill('{{ event.at | date: event.style }}', { at: AT, style: 'lang' })).toEqual({
      broken: expect.stringContaining('“lang” is not a date style'),
    })
  })

  test('follows clock changes of the timezone, whatever the zone of this machine', () => {
    // during the hour that Berlin and Zurich skip
    const at = Date.UTC(2026, 2, 29, 6, 30)
    expect(formatDate(at, '%H:%M', US)).toBe('02:30')
    expect(formatDate(Date.UTC(2026, 2, 29, 0, 59), '%H:%M %z', SWISS)).toBe('01:59 +0100')
    expect(formatDate(Date.UTC(2026, 2, 29, 1), '%H:%M %z', SWISS)).toBe('03:00 +0200')
  })

  test('today is the current date', () => {
    const year = new Date().getUTCFullYear()
    expect([String(year - 1), String(year), String(year + 1)]).toContain(String(fill('{{ "now" | date: "%Y" }}', {})))
  })
})

test.each(['upcase', 'append: "!"', 'truncate: 5', 'replace: "a", "b"', 'join: ", "'])(
  'the filter %s does not print an object',
  (filter) => {
    const source = `{{ event.value | ${filter} }}`
    expect(fill(source, { value: { a: 1 } })).toEqual({ missing: `event.value | ${filter}` })
    expect(fill(source, { value: [{ a: 1 }] })).toEqual({ missing: `event.value | ${filter}` })
  },
)
