import { describe, expect, test } from 'bun:test'
import { render } from 'preact-render-to-string'
import { formatCountdown, formatTime } from '../../../src/core/format-time.ts'
import { ExactTime, formatAge, Moment, PlannedTime, Time, Zone } from '../../../src/dashboard/ui/time.tsx'

const AT = Date.UTC(2026, 4, 3, 14, 5, 59)
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]

describe('how long ago', () => {
  test.each([
    [0, 'just now'],
    [MINUTE - 1, 'just now'],
    [MINUTE, '1 minute ago'],
    [2 * MINUTE, '2 minutes ago'],
    [HOUR - 1, '59 minutes ago'],
    [HOUR, '1 hour ago'],
    [DAY, '24 hours ago'],
    [2 * DAY - 1, '47 hours ago'],
    [2 * DAY, '2 days ago'],
    [31 * DAY - 1, '30 days ago'],
    [31 * DAY, '3 May 2026'],
    [-1, 'just now'],
    [-10 * MINUTE, 'just now'],
    [-10 * MINUTE - 1, '3 May 2026'],
  ])('%d ms: %s', (age, words) => {
    expect(formatAge(AT, AT + age)).toBe(words)
  })
})

const textIn = (html: string): string => html.replaceAll(/<.*?>/g, '')

describe('of what is planned', () => {
  test.each([
    [MINUTE, '1 minute ago'],
    [-1, 'in less than a minute'],
    [-MINUTE, 'in 1 minute'],
    [-59_000, 'in 1 minute'],
    [-HOUR + 5_000, 'in 1 hour'],
    [-23 * HOUR, 'in 23 hours'],
    [-DAY + 5_000, 'in 24 hours'],
    [-2 * DAY + 5_000, 'in 2 days'],
    [-3 * DAY + 5_000, 'in 3 days'],
    [-3 * DAY, 'in 3 days'],
  ])('%d ms: %s', (age, words) => {
    expect(textIn(render(<PlannedTime at={AT} now={AT + age} />))).toBe(words)
  })
})

test.each([
  [20_000, 'in 20 s', 'in less than a minute'],
  [5 * MINUTE + 40_000, 'in 6 min', 'in 6 minutes'],
  [5 * HOUR - 5_000, 'in 5 h', 'in 5 hours'],
  [DAY - 20 * MINUTE, 'in 24 h', 'in 24 hours'],
  [2 * DAY - 20 * MINUTE, 'in 48 h', 'in 48 hours'],
  [3 * DAY - HOUR, 'in 3 days', 'in 3 days'],
  [0, 'now', 'just now'],
])('%d ms from now, lists say %s and pages %s', (ms, short, long) => {
  const planned = textIn(render(<PlannedTime at={AT + ms} now={AT} />))
  expect([formatCountdown({ at: AT + ms, over: 'now' }, AT), planned]).toEqual([short, long])
})

test('a time is written as people write it, in the zone that is asked for', () => {
  expect(formatTime(AT)).toBe('3 May 2026, 14:05')
  expect(formatTime(AT, 'Europe/Zurich')).toBe('3 May 2026, 16:05')
  expect(formatTime(Date.UTC(2026, 0, 1), 'UTC')).toBe('1 January 2026, 00:00')
  expect(formatTime(Date.UTC(2026, 0, 1), 'America/New_York')).toBe('31 December 2025, 19:00')
})

test('it is exact for machines, and where the pointer rests', () => {
  expect(render(<Time at={AT} now={AT + 5 * MINUTE} />)).toBe(
    '<time datetime="2026-05-03T14:05:59.000Z" title="3 May 2026, 14:05 UTC" data-age>5 minutes ago</time>',
  )
})

test('it follows the zone of the app', () => {
  const times = (
    <Zone.Provider value="America/New_York">
      <ExactTime at={AT} />
      <Time at={AT} now={AT + 31 * DAY} />
      <Moment at={AT} />
    </Zone.Provider>
  )
  expect(render(times)).toBe(
    '<time datetime="2026-05-03T14:05:59.000Z">3 May 2026, 10:05 America/New York</time>' +
      '<time datetime="2026-05-03T14:05:59.000Z" title="3 May 2026, 10:05 America/New York">3 May 2026</time>' +
      '<time datetime="2026-05-03T14:05:59.000Z" title="3 May 2026, 10:05 America/New York">' +
      '<span class="hint">3 May</span> 10:05:59</time>',
  )
})
