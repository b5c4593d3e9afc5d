/** When a message is due and for what a person gets it once, with plain values. */
import { describe, expect, test } from 'bun:test'
import { collectMsOf, isPerPerson, dedupeKeyOf, whenDue } from '../../src/messages/again.ts'
import type { Again, Wait } from '../../src/store/message-types.ts'
import { DAY, HOUR, MINUTE, NOW } from '../durations.ts'

describe('the due time', () => {
  test.each<[name: string, wait: Wait | undefined, lateMs: number, timezone: string, dueAt: number]>([
    ['immediately', undefined, 0, 'UTC', NOW],
    ['at once, reported late', undefined, HOUR, 'UTC', NOW],
    ['minutes after it happened', { minutes: 10 }, 0, 'UTC', NOW + 10 * MINUTE],
    ['minutes after it happened, reported late', { minutes: 10 }, 4 * MINUTE, 'UTC', NOW + 6 * MINUTE],
    ['never before it came', { minutes: 10 }, HOUR, 'UTC', NOW],
    ['a time of day', { until: '18:00' }, 0, 'UTC', NOW + 6 * HOUR],
    ['a time of day of the next day', { until: '09:00' }, 0, 'UTC', NOW + 21 * HOUR],
    ['this very time of day', { until: '12:00' }, 0, 'UTC', NOW],
    ['a time of day of a zone', { until: '18:00' }, 0, 'America/New_York', NOW + 10 * HOUR],
    ['a time of day that was over when it was reported', { until: '13:00' }, DAY, 'UTC', NOW],
  ])('%s', (_, wait, lateMs, timezone, dueAt) => {
    expect(whenDue(wait, { at: NOW, occurredAt: NOW - lateMs }, timezone)).toBe(dueAt)
  })
})

const person: Again = { once: 'person' }
const timed: Again = { everyHours: 24 }
const property = (...names: string[]): Again => ({ once: 'property', property: names })

test('once per person is the default', () => {
  expect([undefined, person, timed, property('n')].map(isPerPerson)).toEqual([true, true, false, false])
})

test('collects for the given minutes', () => {
  expect([undefined, person, timed, property('n')].map(collectMsOf)).toEqual([null, null, null, null])
  expect(collectMsOf({ once: 'person', collect: { minutes: 5 } })).toBe(5 * MINUTE)
})

describe('the deduplication key', () => {
  const keyOf = (again: Again | undefined, properties: Record<string, unknown> = {}) =>
    dedupeKeyOf(again, () => properties)
  const url = (value: string) => keyOf(property('url'), { url: value })

  test('is constant by time and empty per person', () => {
    expect([keyOf(timed), keyOf(person, { n: 1 }), keyOf(undefined, { n: 1 })]).toEqual(['timed', '', ''])
  })
  test('differs by value and type', () => {
    const keys = [1, '1', 2, true, [1], { a: 1 }].map((n) => keyOf(property('n'), { n }))
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys.map((key) => key.length)).toEqual(keys.map(() => 22))
    expect(keyOf({ once: 'property', property: 'n' }, { n: 1 })).toBe(keyOf(property('n'), { n: 1 }))
  })
  test('comes from the first present property; without any it is empty', () => {
    const expected = keyOf(property('b'), { b: 1 })
    for (const a of [undefined, null, '']) expect(keyOf(property('a', 'b'), { a, b: 1 })).toBe(expected)
    expect(keyOf(property('a', 'b'), { a: 0, b: 1 })).toBe(keyOf(property('a'), { a: 0 }))
    expect(keyOf(property('a', 'b'), { a: 2, b: 1 })).toBe(keyOf(property('a'), { a: 2 }))
    expect(keyOf(property('toString'), {})).toBe('')
  })
  test('of a URL ignores query and fragment, but not a route', () => {
    const page = url('https://a.example/1')
    for (const same of [
      ' https://a.example/1 ',
      'https://a.example/1/',
      'HTTPS://A.example:443/1',
      'https://a.example/1?t=2',
      'https://a.example/1#top',
      'https://a.example/1?t#x?y',
    ])
      expect(url(same)).toBe(page)
    const route = url('https://a.example/#/results/1')
    expect(url('https://a.example/?t=1#/results/1?t=2')).toBe(route)
    const others = [
      'https://a.example/',
      'https://a.example/#/results/2',
      'https://a.example/#!/results/1',
      'https://a.example/2',
    ]
    expect(new Set([page, route, ...others.map(url)]).size).toBe(others.length + 2)
    expect(url('https://a.example/#x/y')).toBe(url('https://a.example/'))
    expect(keyOf(property('link'), { link: 'https://a.example/1?t=2' })).toBe(
      keyOf(property('link'), { link: 'https://a.example/1?t=2' }),
    )
    expect(keyOf(property('link'), { link: 'https://a.example/1?t=2' })).not.toBe(
      keyOf(property('link'), { link: 'https://a.example/1' }),
    )
    expect(keyOf(property('url'), { url: 5 })).toBe(keyOf(property('n'), { n: 5 }))
  })
})
