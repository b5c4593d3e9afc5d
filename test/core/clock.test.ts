import { expect, test } from 'bun:test'
import { createPatientNow } from '../../src/core/clock.ts'
import { DAY, HOUR, MINUTE } from '../durations.ts'

/** `aheadMs`: of the steady clock. `at`: what the patient clock shows then, as time since the start. */
test.each<[string, { elapsedMs: number; aheadMs: number; at: number }[]]>([
  [
    'follows small corrections, and steps back',
    [
      { elapsedMs: 5, aheadMs: MINUTE, at: MINUTE + 5 },
      { elapsedMs: 10, aheadMs: 2 * MINUTE, at: 2 * MINUTE + 10 },
      { elapsedMs: 15, aheadMs: -DAY, at: 15 - DAY },
    ],
  ],
  [
    'ignores a jump ahead that is undone',
    [
      { elapsedMs: 5, aheadMs: 30 * DAY, at: 5 },
      { elapsedMs: HOUR, aheadMs: 40 * DAY, at: HOUR },
      { elapsedMs: HOUR + 1, aheadMs: 0, at: HOUR + 1 },
      { elapsedMs: HOUR + 10, aheadMs: 30 * DAY, at: HOUR + 10 },
    ],
  ],
  [
    'follows a jump ahead after an hour, and the next one after another',
    [
      { elapsedMs: 5, aheadMs: 30 * DAY, at: 5 },
      { elapsedMs: HOUR + 4, aheadMs: 30 * DAY, at: HOUR + 4 },
      { elapsedMs: HOUR + 5, aheadMs: 30 * DAY, at: HOUR + 5 + 30 * DAY },
      { elapsedMs: HOUR + 6, aheadMs: 60 * DAY, at: HOUR + 6 + 30 * DAY },
    ],
  ],
])('a patient clock %s', (_, steps) => {
  const host = { elapsedMs: 0, aheadMs: 0 }
  const [steadyNow, now] = [() => host.elapsedMs, () => host.elapsedMs + host.aheadMs]
  const patientNow = createPatientNow({ now, steadyNow, monotonicMs: steadyNow })
  const shown = steps.map(({ elapsedMs, aheadMs }) => {
    Object.assign(host, { elapsedMs, aheadMs })
    return patientNow()
  })
  expect(shown).toEqual(steps.map(({ at }) => at))
})
