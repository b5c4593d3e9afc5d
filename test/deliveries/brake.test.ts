import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  BRAKE_RULES,
  BRAKE_DAYS,
  CEILINGS,
  FEWEST,
  limitOf,
  percentOf,
  rateState,
  shownRate,
  sumRates,
} from '../../src/deliveries/brake.ts'
import type { BrakeLimits } from '../../src/store/brake-rules.ts'
import { DAY } from '../durations.ts'

const DEFAULTS: BrakeLimits = { complaintLimit: null, bounceLimit: null }
const find = (sent: number, complained: number, bounced: number, limits = DEFAULTS) =>
  BRAKE_RULES.findBrakeCause([{ day: 1, sent, complained, bounced }], limits)

test.each<[string, number, number, number, object | null]>([
  ['nothing', 0, 0, 0, null],
  ['one complaint of three emails', 3, 1, 0, null],
  ['one complaint', 100, 1, 0, null],
  ['two complaints of 99 emails', 99, 2, 0, null],
  ['two complaints of 100 emails', 100, 2, 0, { kind: 'complaints', failures: 2, emails: 100 }],
  ['two complaints of 1,001 emails', 1_001, 2, 0, null],
  ['two complaints of 1,000 emails', 1_000, 2, 0, { kind: 'complaints', failures: 2, emails: 1_000 }],
  ['four bounces', 100, 0, 4, null],
  ['five bounces of 99 emails', 99, 0, 5, null],
  ['five bounces of 126 emails', 126, 0, 5, null],
  ['five bounces of 125 emails', 125, 0, 5, { kind: 'bounces', failures: 5, emails: 125 }],
  ['both', 250, 5, 10, { kind: 'complaints', failures: 5, emails: 250 }],
])('%s', (_, sent, complained, bounced, cause) => expect(find(sent, complained, bounced)).toEqual(cause as never))

test('an app has its own limits', () => {
  expect(find(2_500, 5, 0, { ...DEFAULTS, complaintLimit: 0.25 })).toBeNull()
  expect(find(1_000, 0, 10, { ...DEFAULTS, bounceLimit: 1 })).toMatchObject({ kind: 'bounces' })
  expect([limitOf('complaints', DEFAULTS), limitOf('bounces', DEFAULTS)]).toEqual([0.2, 4])
})

test('days add up, and the first of seven counts', () => {
  const day = { sent: 1_000, complained: 2, bounced: 0 }
  const days = [1, 2, 3].map((number) => ({ day: number, ...day }))
  expect(BRAKE_RULES.findBrakeCause(days, DEFAULTS)).toEqual({ kind: 'complaints', failures: 6, emails: 3_000 })
  expect(BRAKE_RULES.firstBrakeDay(20 * DAY + 1)).toBe(20 - BRAKE_DAYS + 1)
})

test('with more than one complaint, the brake is triggered before mailbox providers act, whatever was sent', () => {
  const counts = fc.record({ sent: fc.integer({ min: FEWEST.emails, max: 100_000 }), complained: fc.nat(1_000) })
  fc.assert(
    fc.property(counts, ({ sent, complained }) => {
      if (complained > 1 && percentOf(complained, sent) >= CEILINGS.complaints)
        expect(find(sent, complained, 0)).not.toBeNull()
    }),
  )
})

test('only a rate that triggers the brake is marked as too high', () => {
  const counts = fc.record({ sent: fc.nat(100_000), complained: fc.nat(1_000), bounced: fc.nat(10_000) })
  fc.assert(
    fc.property(counts, (one) => {
      const days = [{ day: 1, ...one }]
      const states = (['complaints', 'bounces'] as const).map((kind) => rateState(kind, sumRates(days)))
      if (states.includes('over')) expect(BRAKE_RULES.findBrakeCause(days, DEFAULTS)).not.toBeNull()
    }),
  )
})

describe('a rate', () => {
  test.each<[number, number, string]>([
    [3, 1, 'few'],
    [150, 1, 'high'],
    [99, 2, 'high'],
    [150, 2, 'over'],
    [10_000, 9, 'good'],
    [10_000, 10, 'high'],
    [10_000, 30, 'over'],
    [100, 0, 'good'],
    [99, 0, 'few'],
    [0, 0, 'few'],
  ])('%d emails with %d complaints: %s', (emails, complaints, state) =>
    expect(rateState('complaints', { emails, complaints, bounces: 0 })).toBe(state as 'good'),
  )
  test('is shown once there are enough emails or reports, and never above 100%', () => {
    const counts = fc.record({ sent: fc.nat(300), complained: fc.nat(400), bounced: fc.nat(400) })
    fc.assert(
      fc.property(counts, (one) => {
        const rates = sumRates([{ day: 1, ...one }])
        for (const kind of ['complaints', 'bounces'] as const) {
          const shown = shownRate(kind, rates)
          expect(shown === null).toBe(rateState(kind, rates) === 'few')
          expect(Number.parseFloat(shown ?? '0')).toBeLessThanOrEqual(100)
        }
      }),
    )
    expect(sumRates([{ day: 1, sent: 3, complained: 0, bounced: 5 }])).toEqual({ emails: 5, complaints: 0, bounces: 5 })
  })
  test('of no emails is 0', () => expect(percentOf(0, 0)).toBe(0))
})
