import { describe, expect, test } from 'bun:test'
import { fromLocalTime, isTimezone, localTime, nextTimeOfDay } from '../../src/core/local-time.ts'

describe('the next time of day', () => {
  test.each([
    ['later today', '2026-05-15T08:00Z', '09:00', 'UTC', '2026-05-15T09:00Z'],
    ['now', '2026-05-15T09:00Z', '09:00', 'UTC', '2026-05-15T09:00Z'],
    ['a moment ago: tomorrow', '2026-05-15T09:00:00.001Z', '09:00', 'UTC', '2026-05-16T09:00Z'],
    ['in New York', '2026-05-15T12:00Z', '09:00', 'America/New_York', '2026-05-15T13:00Z'],
    ['in Tokyo, where it is tomorrow', '2026-05-15T20:00Z', '09:00', 'Asia/Tokyo', '2026-05-16T00:00Z'],
    ['at midnight', '2026-05-15T20:00Z', '00:00', 'Europe/Berlin', '2026-05-15T22:00Z'],
    ['over the change to summer time', '2026-03-28T12:00Z', '09:00', 'Europe/Berlin', '2026-03-29T07:00Z'],
    ['over the change to winter time', '2026-10-24T12:00Z', '09:00', 'Europe/Berlin', '2026-10-25T08:00Z'],
    ['in a skipped hour: an hour later', '2026-03-28T12:00Z', '02:30', 'Europe/Berlin', '2026-03-29T01:30Z'],
    ['at the end of a year', '2026-12-31T23:30Z', '09:00', 'Pacific/Kiritimati', '2027-01-01T19:00Z'],
  ])('%s', (_, after, time, zone, next) => {
    expect(new Date(nextTimeOfDay(Date.parse(after), time, zone)).toISOString()).toBe(new Date(next).toISOString())
  })
})

test('converts both ways at every hour of a year except the repeated one', () => {
  let wrong = 0
  for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2027, 0, 1); at += 3_600_000) {
    if (fromLocalTime(localTime(at, 'Europe/Berlin'), 'Europe/Berlin') !== at) wrong += 1
  }
  expect(wrong).toBeLessThanOrEqual(1)
})

test('timezone names', () => {
  expect(['UTC', 'Europe/Berlin', 'Mars/Olympus', '', '../etc'].map(isTimezone)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})
