/** A year of clocks: too many moments for the tests of a mutant, which decide.test.ts is for. */
import { expect, test } from 'bun:test'
import { decide, type DecidedMessage, type Facts } from '../../src/deliveries/decide.ts'
import { NOTHING_DONE } from '../../src/deliveries/rules.ts'
import { HOUR, MINUTE } from '../durations.ts'
import { isLong } from '../long-form.ts'

const MESSAGE: DecidedMessage = {
  content: { trigger: { event: 'ready' }, mail: { subject: 'S', body: 'B' } },
  status: 'live',
  settings: { sendWindow: null, timezone: null, giveUpHours: null, perPersonDay: null, perPersonWeek: null },
}
const FACTS: Facts = {
  ...NOTHING_DONE,
  at: 0,
  triggeredAt: 0,
  plannedAt: 0,
  limitedMs: 0,
  isByHand: false,
  suppression: null,
  topicEndedAt: null,
  brake: null,
  lastHandedAt: null,
  handed: [],
  place: null,
  lastActiveAt: null,
  contact: { status: 'subscribed', tags: [], fields: {} },
  joined: [],
}

/** The short form has the weeks in which clocks change. */
const RANGES: [from: number, until: number][] = isLong
  ? [[Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)]]
  : [
      [Date.UTC(2026, 2, 26), Date.UTC(2026, 3, 8)],
      [Date.UTC(2026, 9, 1), Date.UTC(2026, 9, 28)],
    ]

test('never opens in the past, at every half hour in several timezones', () => {
  const halfHours = RANGES.flatMap(([from, until]) =>
    Array.from({ length: (until - from) / (30 * MINUTE) }, (_, index) => from + index * 30 * MINUTE),
  )
  const sendWindow = { from: '02:15', until: '02:40', days: [0, 1, 2, 3, 4, 5, 6] }
  for (const timezone of ['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Asia/Kathmandu']) {
    const message = { ...MESSAGE, settings: { ...MESSAGE.settings, sendWindow, timezone } }
    for (const at of halfHours) {
      const decision = decide(message, { ...FACTS, at, plannedAt: at })
      const dueAt = decision.outcome === 'wait' ? decision.dueAt : at
      if (decision.outcome === 'skip' || dueAt < at || dueAt > at + 25 * HOUR)
        throw new Error(`${timezone} ${new Date(at).toISOString()}`)
    }
  }
  expect.assertions(0)
})
