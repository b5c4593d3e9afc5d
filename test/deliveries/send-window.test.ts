import { describe, expect, test } from 'bun:test'
import { nextOpening } from '../../src/deliveries/send-window.ts'

const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6]
const WORKDAYS = [1, 2, 3, 4, 5]
const window = (from: string, until: string, days = EVERY_DAY) => ({ from, until, days })

describe('the next opening', () => {
  test.each([
    ['no window', '2026-05-15T03:00Z', null, 'UTC', '2026-05-15T03:00Z'],
    ['no days: always', '2026-05-15T03:00Z', window('09:00', '17:00', []), 'UTC', '2026-05-15T03:00Z'],
    ['no hours: always', '2026-05-15T03:00Z', window('09:00', '09:00'), 'UTC', '2026-05-15T03:00Z'],
    ['before', '2026-05-15T08:59:59.999Z', window('09:00', '17:00'), 'UTC', '2026-05-15T09:00Z'],
    ['at its opening', '2026-05-15T09:00Z', window('09:00', '17:00'), 'UTC', '2026-05-15T09:00Z'],
    ['within', '2026-05-15T16:59:59Z', window('09:00', '17:00'), 'UTC', '2026-05-15T16:59:59Z'],
    ['at its end: tomorrow', '2026-05-15T17:00Z', window('09:00', '17:00'), 'UTC', '2026-05-16T09:00Z'],
    ['on Friday evening: Monday', '2026-05-15T17:00Z', window('09:00', '17:00', WORKDAYS), 'UTC', '2026-05-18T09:00Z'],
    ['over midnight, late', '2026-05-15T23:00Z', window('22:00', '06:00'), 'UTC', '2026-05-15T23:00Z'],
    ['over midnight, early', '2026-05-15T05:59Z', window('22:00', '06:00'), 'UTC', '2026-05-15T05:59Z'],
    ['over midnight, of Friday only', '2026-05-16T01:00Z', window('22:00', '06:00', [5]), 'UTC', '2026-05-16T01:00Z'],
    ['over midnight, not of Thursday', '2026-05-15T01:00Z', window('22:00', '06:00', [5]), 'UTC', '2026-05-15T22:00Z'],
    ['in New York', '2026-05-15T12:00Z', window('09:00', '17:00'), 'America/New_York', '2026-05-15T13:00Z'],
    ['in Tokyo it is tomorrow', '2026-05-15T20:00Z', window('09:00', '17:00', [6]), 'Asia/Tokyo', '2026-05-16T00:00Z'],
    ['in Kathmandu', '2026-05-15T00:00Z', window('09:00', '17:00'), 'Asia/Kathmandu', '2026-05-15T03:15Z'],
    [
      'the hour that is skipped in spring',
      '2026-03-29T00:30Z',
      window('02:30', '04:00'),
      'Europe/Berlin',
      '2026-03-29T01:30Z',
    ],
    [
      'the hour that comes twice in autumn',
      '2026-10-25T00:10Z',
      window('02:30', '02:45'),
      'Europe/Berlin',
      '2026-10-25T00:30Z',
    ],
  ])('%s', (_, now, hours, zone, opens) => {
    expect(new Date(nextOpening(Date.parse(now), hours, zone)).toISOString()).toBe(new Date(opens).toISOString())
  })

  test('is never before now, at every half hour of a year in zones with and without summer time', () => {
    for (const zone of ['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Asia/Kathmandu']) {
      for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2027, 0, 1); at += 30 * 60_000) {
        const opens = nextOpening(at, window('02:15', '02:40'), zone)
        if (opens < at || opens > at + 25 * 3_600_000) throw new Error(`${zone} ${new Date(at).toISOString()}`)
      }
    }
    expect.assertions(0)
  }, 30_000)
})
