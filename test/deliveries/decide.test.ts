import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { decide, type DecidedMessage, decideStart, type Facts, findCancelled } from '../../src/deliveries/decide.ts'
import { NOTHING_DONE } from '../../src/deliveries/rules.ts'
import { dedupeKeyOf } from '../../src/messages/again.ts'
import type { Arrival, Lead, StartFacts } from '../../src/store/delivery-rules.ts'
import type { Again, MessageContent, Rule, SendWindow, Trigger } from '../../src/store/message-types.ts'
import { DAY, HOUR, MINUTE } from '../durations.ts'

const AT = Date.parse('2026-05-15T12:00:00Z')
const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6]
const WORKDAYS = [1, 2, 3, 4, 5]
const window = (from: string, until: string, days = EVERY_DAY) => ({ from, until, days })
const content = (changes: Partial<MessageContent> = {}): MessageContent => ({
  trigger: { event: 'ready' },
  mail: { subject: 'S', body: 'B' },
  ...changes,
})
const NO_SETTINGS = { sendWindow: null, timezone: null, giveUpHours: null, perPersonDay: null, perPersonWeek: null }

type Changes = Partial<MessageContent> & { settings?: Partial<DecidedMessage['settings']>; status?: 'live' | 'paused' }
const messageOf = ({ settings, status = 'live', ...changes }: Changes = {}): DecidedMessage => ({
  content: content(changes),
  status,
  settings: { ...NO_SETTINGS, ...settings },
})
const factsOf = (changes: Partial<Facts> = {}): Facts => ({
  ...NOTHING_DONE,
  at: AT,
  triggeredAt: changes.at ?? AT,
  plannedAt: changes.at ?? AT,
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
  ...changes,
})
/** What it waits for in minutes, or why it is skipped. */
const outcomeOf = (message: Changes, facts: Partial<Facts> = {}) => {
  const decision = decide(messageOf(message), factsOf(facts))
  if (decision.outcome === 'send') return 'send'
  return decision.outcome === 'skip'
    ? decision.reason
    : `${decision.reason} ${(decision.dueAt - (facts.at ?? AT)) / MINUTE}`
}

describe('the send window', () => {
  test.each<[name: string, at: string, window: SendWindow | null, zone: string, opens: string]>([
    ['no window', '2026-05-15T03:00Z', null, 'UTC', '2026-05-15T03:00Z'],
    ['no days: always', '2026-05-15T03:00Z', window('09:00', '17:00', []), 'UTC', '2026-05-15T03:00Z'],
    ['no hours: always', '2026-05-15T03:00Z', window('09:00', '09:00'), 'UTC', '2026-05-15T03:00Z'],
    ['before', '2026-05-15T08:59:59.999Z', window('09:00', '17:00'), 'UTC', '2026-05-15T09:00Z'],
    ['at its opening', '2026-05-15T09:00Z', window('09:00', '17:00'), 'UTC', '2026-05-15T09:00Z'],
    ['within', '2026-05-15T16:59:59Z', window('09:00', '17:00'), 'UTC', '2026-05-15T16:59:59Z'],
    ['at its end: tomorrow', '2026-05-15T17:00Z', window('09:00', '17:00'), 'UTC', '2026-05-16T09:00Z'],
    ['on Friday evening: Monday', '2026-05-15T17:00Z', window('09:00', '17:00', WORKDAYS), 'UTC', '2026-05-18T09:00Z'],
    [
      'on Fridays only, on Friday evening: next Friday',
      '2026-05-15T18:00Z',
      window('09:00', '17:00', [5]),
      'UTC',
      '2026-05-22T09:00Z',
    ],
    ['over midnight, late', '2026-05-15T23:00Z', window('22:00', '06:00'), 'UTC', '2026-05-15T23:00Z'],
    ['over midnight, early', '2026-05-15T05:59Z', window('22:00', '06:00'), 'UTC', '2026-05-15T05:59Z'],
    ['over midnight, of Friday only', '2026-05-16T01:00Z', window('22:00', '06:00', [5]), 'UTC', '2026-05-16T01:00Z'],
    ['over midnight, not of Thursday', '2026-05-15T01:00Z', window('22:00', '06:00', [5]), 'UTC', '2026-05-15T22:00Z'],
    ['in New York', '2026-05-15T12:00Z', window('09:00', '17:00'), 'America/New_York', '2026-05-15T13:00Z'],
    ['in Tokyo it is tomorrow', '2026-05-15T20:00Z', window('09:00', '17:00', [6]), 'Asia/Tokyo', '2026-05-16T00:00Z'],
    ['in Kathmandu', '2026-05-15T00:00Z', window('09:00', '17:00'), 'Asia/Kathmandu', '2026-05-15T03:15Z'],
    ['the skipped hour in spring', '2026-03-29T00:30Z', window('02:30', '04:00'), 'Europe/Berlin', '2026-03-29T01:30Z'],
    [
      'the repeated hour in autumn',
      '2026-10-25T00:10Z',
      window('02:30', '02:45'),
      'Europe/Berlin',
      '2026-10-25T00:30Z',
    ],
  ])('%s', (_, time, sendWindow, timezone, opens) => {
    const at = Date.parse(time)
    const minutes = (Date.parse(opens) - at) / MINUTE
    const settings = { sendWindow, timezone, giveUpHours: 200 }
    expect(outcomeOf({ settings }, { at })).toBe(minutes === 0 ? 'send' : `window ${minutes}`)
  })

  test('in the timezone of the person, and giving up too', () => {
    const settings = { sendWindow: window('09:00', '17:00'), timezone: 'UTC', giveUpHours: 1 }
    const contact = { status: 'subscribed' as const, tags: [], fields: { timezone: 'America/New_York' } }
    const at = Date.parse('2026-05-15T12:00Z')
    const decision = decide(messageOf({ settings }), factsOf({ at, plannedAt: at, contact }))
    expect(decision).toMatchObject({ outcome: 'wait', reason: 'window', dueAt: at + HOUR })
    expect(decision.verdicts.at(-1)).toMatchObject({ rule: 'window', zone: 'America/New_York' })
    // an hour after it opened there, which is three hours after it closed in UTC
    const late = { at: at + 2 * HOUR, plannedAt: at - 8 * HOUR, contact }
    expect(decide(messageOf({ settings }), factsOf(late)).outcome).toBe('send')
  })
})

describe('limits per person', () => {
  const settings = { perPersonDay: 1, perPersonWeek: 2, giveUpHours: 300 }
  test.each<[name: string, handed: number[], outcome: string]>([
    ['none yet', [], 'send'],
    ['one a day ago', [AT - DAY], 'send'],
    ['one just within the day', [AT - DAY + MINUTE], 'perDay 1'],
    ['two in the week', [AT - 2 * DAY, AT - 3 * DAY], `perWeek ${(4 * DAY) / MINUTE}`],
    ['both are full: the later of the two', [AT - HOUR, AT - 3 * DAY], `perDay ${(4 * DAY) / MINUTE}`],
    ['two, one of them a week ago', [AT - 2 * DAY, AT - 7 * DAY], 'send'],
  ])('%s', (_, handed, outcome) => expect(outcomeOf({ settings }, { handed })).toBe(outcome))

  test('count independently and only within their period', () => {
    expect(outcomeOf({ settings: { perPersonDay: 2 } }, { handed: [AT - HOUR, AT - DAY] })).toBe('send')
    const { verdicts } = decide(
      messageOf({ settings: { perPersonDay: 2 } }),
      factsOf({ handed: [AT - HOUR, AT - DAY, AT - 2 * DAY] }),
    )
    expect(verdicts.slice(2)).toEqual([{ rule: 'perDay', about: '2', value: 1, verdict: 'pass' }])
  })

  test('do not apply to transactional emails, nor does the window', () => {
    const mail = { subject: 'S', body: 'B', category: 'transactional' as const }
    const sendWindow = window('13:00', '14:00')
    expect(outcomeOf({ mail, settings: { ...settings, sendWindow } }, { handed: [AT] })).toBe('send')
  })

  test('and the send window are both recorded', () => {
    const { verdicts } = decide(
      messageOf({ settings: { ...settings, sendWindow: window('09:00', '17:00') } }),
      factsOf(),
    )
    expect(verdicts.map(({ rule, about, value, verdict }) => [rule, about, value, verdict])).toEqual([
      ['suppression', null, null, 'pass'],
      ['message', null, 'live', 'pass'],
      ['window', '09:00-17:00', AT, 'pass'],
      ['perDay', '1', 0, 'pass'],
      ['perWeek', '2', 0, 'pass'],
    ])
  })
})

describe('a person with consent pending', () => {
  const pending = { contact: { status: 'pending' as const, tags: [], fields: {} } }
  const transactional = { mail: { subject: 'S', body: 'B', category: 'transactional' as const } }

  test('gets transactional emails only, also from a member', () => {
    expect(outcomeOf({}, pending)).toBe('pending')
    expect(outcomeOf({}, { ...pending, isByHand: true })).toBe('pending')
    expect(outcomeOf(transactional, pending)).toBe('send')
    expect(outcomeOf({}, { ...pending, suppression: 'unsubscribed' })).toBe('unsubscribed')
    expect(outcomeOf(transactional, { ...pending, suppression: 'bounced' })).toBe('bounced')
  })

  test('alone is asked to confirm', () => {
    const asking = { ...transactional, asksConsent: true as const }
    expect(outcomeOf(asking, pending)).toBe('send')
    for (const status of ['subscribed', 'unsubscribed'] as const) {
      const contact = { status, tags: [], fields: {} }
      expect(outcomeOf(asking, { contact })).toBe('not_pending')
      expect(outcomeOf(asking, { contact, isByHand: true })).toBe('not_pending')
    }
  })
})

describe('a topic that the person ended', () => {
  const ended = { topicEndedAt: AT - DAY }
  test('stops its lifecycle emails, also from a member', () => {
    expect(outcomeOf({ topic: 'Tips' }, ended)).toBe('topic')
    expect(outcomeOf({ topic: 'Tips' }, { ...ended, isByHand: true })).toBe('topic')
    expect(outcomeOf({ topic: 'Tips' })).toBe('send')
    expect(outcomeOf({ topic: 'Tips' }, { ...ended, suppression: 'unsubscribed' })).toBe('unsubscribed')
  })
})

describe('the brake', () => {
  const brake = { kind: 'complaints', failures: 5, emails: 2_000, since: AT - 10 * DAY } as const
  test('holds lifecycle emails back, however long it takes', () => {
    expect(outcomeOf({ settings: { giveUpHours: 1 } }, { brake, plannedAt: AT - 9 * DAY })).toBe(
      `brake ${DAY / MINUTE}`,
    )
    expect(decide(messageOf(), factsOf({ brake })).verdicts.at(-1)).toEqual({
      rule: 'brake',
      about: 'complaints',
      value: '0.25%',
      verdict: 'fail',
    })
  })
  test('leaves to the rules whom they stop, and holds back what a member sends in bulk', () => {
    expect(outcomeOf({ onlyIf: [{ rule: 'tag', has: 'beta' }] }, { brake })).toBe('tag')
    expect(outcomeOf({}, { brake, isByHand: true })).toBe('brake 1440')
    expect(outcomeOf({}, { brake, isByHand: true, suppression: 'complained' })).toBe('complained')
  })
})

describe('giving up', () => {
  const settings = { sendWindow: window('09:00', '17:00', [1]), giveUpHours: 24 }
  const opensIn = 2 * DAY + 21 * HOUR
  test('never comes before the send window has opened once', () => {
    for (const giveUpHours of [1, 24, null])
      expect(outcomeOf({ settings: { ...settings, giveUpHours } })).toBe(`window ${opensIn / MINUTE}`)
    const onMonday = { at: AT + opensIn, plannedAt: AT }
    expect(outcomeOf({ settings: { ...settings, giveUpHours: 1 } }, onMonday)).toBe('send')
  })
  test('counts from the first opening of the window, and comes before a longer wait', () => {
    const facts = (later: number) => ({ at: AT + opensIn + later, plannedAt: AT, handed: [AT + opensIn - DAY + HOUR] })
    const limited = { ...settings, perPersonDay: 1 }
    expect(decide(messageOf({ settings: { ...limited, giveUpHours: 1 } }), factsOf(facts(0)))).toMatchObject({
      reason: 'perDay',
      dueAt: AT + opensIn + HOUR,
    })
    const decision = decide(messageOf({ settings: { ...limited, giveUpHours: 1 } }), factsOf(facts(8 * HOUR)))
    expect(decision).toMatchObject({ outcome: 'skip', reason: 'gave_up' })
    expect(decision.verdicts.at(-1)).toMatchObject({ rule: 'giveUp', value: AT + opensIn + HOUR })
  })
  test('does not count the time that a limit of the mail server let it wait', () => {
    const settings = { sendWindow: null, giveUpHours: 2 }
    const waited = (limitedMs: number) => outcomeOf({ settings }, { at: AT + 5 * HOUR, plannedAt: AT, limitedMs })
    expect([waited(0), waited(3 * HOUR - 1), waited(3 * HOUR)]).toEqual(['gave_up', 'gave_up', 'send'])
  })
  test('leaves one more opening if the window closes before the hours are over', () => {
    const week = 7 * DAY
    const facts = (later: number) => ({ at: AT + opensIn + later, plannedAt: AT })
    expect(outcomeOf({ settings }, facts(8 * HOUR))).toBe(`window ${(week - 8 * HOUR) / MINUTE}`)
    expect(outcomeOf({ settings }, facts(week + 8 * HOUR - 1))).toBe('send')
    const decision = decide(messageOf({ settings }), factsOf(facts(week + 8 * HOUR)))
    expect(decision).toMatchObject({ outcome: 'skip', reason: 'gave_up' })
    expect(decision.verdicts.at(-1)).toMatchObject({ rule: 'giveUp', value: AT + opensIn + week + 8 * HOUR })
    // hours that end later still count
    expect(outcomeOf({ settings: { ...settings, giveUpHours: 15 * 24 } }, facts(week + 8 * HOUR))).toStartWith('window')
  })
  test('of an email that a limit keeps through an opening: the next opening after the limit ends', () => {
    const facts = { at: AT + opensIn, plannedAt: AT, handed: [AT + opensIn - MINUTE] }
    const limited = { settings: { ...settings, perPersonDay: 1 } }
    expect(outcomeOf(limited, facts)).toBe(`perDay ${(7 * DAY) / MINUTE}`)
    expect(outcomeOf(limited, { at: AT + opensIn + 7 * DAY, plannedAt: AT })).toBe('send')
  })
  test('of transactional email, which does not wait for the window, counts from the planned time', () => {
    const mail = { subject: 'S', body: 'B', category: 'transactional' as const }
    expect(outcomeOf({ mail, settings }, { plannedAt: AT - DAY })).toBe('send')
    expect(outcomeOf({ mail, settings }, { plannedAt: AT - DAY - 1 })).toBe('gave_up')
  })
  test('is a verdict with its time', () => {
    const decision = decide(messageOf({ settings: { giveUpHours: 2 } }), factsOf({ plannedAt: AT - 3 * HOUR }))
    expect(decision.verdicts.at(-1)).toEqual({ rule: 'giveUp', about: null, value: AT - HOUR, verdict: 'fail' })
    expect(decide(messageOf(), factsOf()).verdicts.map(({ rule }) => rule)).toEqual(['suppression', 'message'])
  })
  test('counts from the planned time', () => {
    expect(outcomeOf({ settings: { giveUpHours: 2 } }, { plannedAt: AT - 2 * HOUR })).toBe('send')
    expect(outcomeOf({ settings: { giveUpHours: 2 } }, { plannedAt: AT - 2 * HOUR - 1 })).toBe('gave_up')
  })
})

describe('precedence', () => {
  const tag: Rule = { rule: 'tag', has: 'beta' }
  test.each<[reason: string, message: Changes, facts: Partial<Facts>]>([
    ['bounced', { status: 'paused', onlyIf: [tag] }, { suppression: 'bounced' }],
    ['unsubscribed', {}, { contact: { status: 'unsubscribed', tags: [], fields: {} } }],
    ['message_paused', { status: 'paused', onlyIf: [tag] }, {}],
    ['tag', { onlyIf: [tag], again: { everyHours: 24 } }, { lastHandedAt: AT - HOUR }],
    ['again', { again: { everyHours: 24 }, settings: { giveUpHours: 1 } }, { lastHandedAt: AT - HOUR }],
    ['send', { again: { everyHours: 24 } }, { lastHandedAt: AT - DAY }],
    ['send', { status: 'paused', onlyIf: [tag] }, { isByHand: true }],
    ['complained', {}, { isByHand: true, suppression: 'complained' }],
  ])('%s', (reason, message, facts) => expect(outcomeOf(message, facts)).toBe(reason))

  test('a manual resend records the suppression check only', () => {
    const message = messageOf({ status: 'paused', onlyIf: [tag] })
    const decisions = [null, 'bounced' as const].map((suppression) =>
      decide(message, factsOf({ isByHand: true, suppression })),
    )
    expect(decisions.map(({ outcome, unfit }) => [outcome, unfit])).toEqual([
      ['send', []],
      ['skip', []],
    ])
    expect(decisions.map(({ verdicts }) => verdicts.map(({ rule, verdict }) => [rule, verdict]))).toEqual([
      [['suppression', 'pass']],
      [['suppression', 'fail']],
    ])
  })

  test('waits for a verdict that needs time, along with other waits', () => {
    const page = { path: '/', heardAt: AT }
    const presence = () => ({ isHere: true, paths: ['/'], pages: [page], lastReportAt: AT, lastLeftAt: null })
    const facts = { presence, firstReportedAt: AT - DAY }
    const onlyIf: Rule[] = [{ rule: 'away' }]
    expect(outcomeOf({ onlyIf }, facts)).toBe('unsure 30')
    expect(outcomeOf({ onlyIf, settings: { sendWindow: window('13:00', '14:00') } }, facts)).toBe('unsure 60')
    expect(outcomeOf({ onlyIf, settings: { perPersonDay: 1 } }, { ...facts, handed: [AT] })).toBe('unsure 1440')
    expect(decide(messageOf({ onlyIf }), factsOf(facts)).unfit).toEqual([])
  })

  test('a message never sent to the person may be sent at once', () => {
    expect(outcomeOf({ again: { everyHours: 24 } }, { lastHandedAt: null, at: HOUR })).toBe('send')
  })

  test('known verdicts are reused if nothing changed', () => {
    const known = [{ rule: 'tag', about: 'beta', value: true, verdict: 'pass' as const }]
    expect(outcomeOf({ onlyIf: [tag] }, { known })).toBe('send')
    const joined = [{ ...factsOf({}), firstOnPageSince: () => AT, resultPath: '/' }]
    const decision = decide(messageOf({ onlyIf: [{ rule: 'notSeen' }] }), factsOf({ known, joined }))
    expect(decision.verdicts.map(({ rule }) => rule)).toEqual(['suppression', 'message', 'tag'])
    expect(decision.unfit).toEqual([])
  })
})

describe('properties', () => {
  const minutes = (most: number) => fc.nat({ max: most })
  /** null: given up. */
  const decideUntilSent = (message: DecidedMessage, at: number, handed: readonly number[]): number | null => {
    for (let now = at, tries = 0; tries < 20; tries += 1) {
      const decision = decide(message, factsOf({ at: now, plannedAt: at, handed: handed.toReversed() }))
      if (decision.outcome === 'skip') return null
      if (decision.outcome === 'send') return now
      expect(decision.dueAt).toBeGreaterThan(now)
      now = decision.dueAt
    }
    throw new Error('it waits for ever')
  }

  test('no one gets more than the limits in any day or week', () => {
    const limits = fc.record({
      perPersonDay: fc.integer({ min: 1, max: 3 }),
      perPersonWeek: fc.integer({ min: 1, max: 5 }),
    })
    const arrivals = fc.array(minutes(3 * 1_440), { maxLength: 15 })
    fc.assert(
      fc.property(limits, arrivals, (settings, pauses) => {
        const message = messageOf({ settings: { ...settings, giveUpHours: 2_000 } })
        const handed: number[] = []
        let at = AT
        for (const pause of pauses) {
          at = decideUntilSent(message, at + pause * MINUTE, handed) ?? at
          handed.push(at)
        }
        for (const time of handed) {
          const within = (ms: number) => handed.filter((one) => one > time - ms && one <= time).length
          expect(within(DAY)).toBeLessThanOrEqual(settings.perPersonDay)
          expect(within(7 * DAY)).toBeLessThanOrEqual(settings.perPersonWeek)
        }
      }),
    )
  })

  test('an email is given up only when its hours are over, and a whole opening later if the window closed before', () => {
    const hour = fc.integer({ min: 0, max: 23 })
    const days = fc.subarray(EVERY_DAY, { minLength: 1 })
    const hours = fc.constantFrom(1, 2, 5, 12, 24, 72, 168, 720)
    const limits = fc.record({ perPersonDay: fc.constantFrom(null, 1), perPersonWeek: fc.constantFrom(null, 2) })
    const pauses = fc.array(fc.constantFrom(1, 5, 15, 60, 240, 480), { minLength: 1, maxLength: 40 })
    let givenUp = 0
    fc.assert(
      fc.property(minutes(14 * 1_440), days, hour, hour, hours, limits, pauses, (later, on, from, until, ...rest) => {
        const [giveUpHours, limited, retries] = rest
        fc.pre(from !== until)
        const isOpen = (at: number): boolean => {
          const opened = new Date(at - from * HOUR)
          const length = ((until - from + 24) % 24) * HOUR
          return on.includes(opened.getUTCDay()) && opened.getTime() % DAY < length
        }
        const firstFrom = (at: number, fits: (at: number) => boolean): number => {
          while (!fits(at)) at += MINUTE
          return at
        }
        const time = (hours: number) => `${String(hours).padStart(2, '0')}:00`
        const sendWindow = window(time(from), time(until), on)
        const message = messageOf({ settings: { ...limited, sendWindow, giveUpHours } })
        const plannedAt = AT + later * MINUTE
        // each time it may be sent, the mail server refuses it for now, or another email takes its place
        let now = plannedAt
        const handed: number[] = []
        for (const [index, pause] of retries.entries()) {
          const decision = decide(message, factsOf({ at: now, plannedAt, handed: handed.toReversed() }))
          if (decision.outcome === 'skip') {
            givenUp += 1
            const { reason, verdicts } = decision
            const isLimited = ({ rule, verdict }: (typeof verdicts)[number]) =>
              verdict === 'fail' && (rule === 'perDay' || rule === 'perWeek')
            const limitEndsAt = verdicts.some(isLimited) ? firstFrom(now, (at) => !isFull(at)) : now
            const nextAt = firstFrom(limitEndsAt, isOpen)
            const firstAt = firstFrom(plannedAt, isOpen)
            const overAt = firstAt + giveUpHours * HOUR
            const closedAt = firstFrom(firstAt, (at) => !isOpen(at))
            const hadAnother = firstFrom(firstFrom(closedAt, isOpen), (at) => !isOpen(at)) < nextAt + MINUTE
            expect(reason).toBe('gave_up')
            expect(nextAt).toBeGreaterThan(overAt)
            expect(overAt <= closedAt || hadAnother).toBe(true)
            return
          }
          if (decision.outcome === 'wait') now = decision.dueAt
          else {
            if (index % 3 === 0) handed.push(now)
            now += pause * MINUTE
          }
        }
        function isFull(at: number): boolean {
          const count = (ms: number) => handed.filter((one) => one > at - ms).length
          return [
            [limited.perPersonDay, DAY],
            [limited.perPersonWeek, 7 * DAY],
          ].some(([most, ms]) => most !== null && most !== undefined && count(ms ?? 0) >= most)
        }
      }),
    )
    expect(givenUp).toBeGreaterThan(20)
  })

  test('an email that waits for the window is sent on its days and within its hours', () => {
    const hour = fc.integer({ min: 0, max: 23 })
    const days = fc.subarray(EVERY_DAY, { minLength: 1 })
    fc.assert(
      fc.property(minutes(366 * 1_440), days, hour, hour, (later, on, from, until) => {
        const time = (hours: number) => `${String(hours).padStart(2, '0')}:00`
        const sendWindow = window(time(from), time(until), on)
        const sentAt = decideUntilSent(
          messageOf({ settings: { sendWindow, giveUpHours: 200 } }),
          AT + later * MINUTE,
          [],
        )
        if (sentAt === null) throw new Error('it is given up')
        if (from === until) return expect(sentAt).toBe(AT + later * MINUTE)
        const sent = new Date(sentAt)
        const isOverMidnight = until < from
        const isAfterMidnight = isOverMidnight && sent.getUTCHours() < until
        const day = (sent.getUTCDay() + (isAfterMidnight ? 6 : 0)) % 7
        expect(on).toContain(day)
        expect(isAfterMidnight || (sent.getUTCHours() >= from && (isOverMidnight || sent.getUTCHours() < until))).toBe(
          true,
        )
      }),
    )
  })
})

describe('an email of several events', () => {
  const onlyIf: Rule[] = [{ rule: 'notSeen' }, { rule: 'tag', lacks: 'vip' }]
  const event = (path: string, seen: string[]) => ({
    ...NOTHING_DONE,
    triggeredAt: AT,
    firstReportedAt: 0,
    resultPath: path,
    firstOnPageSince: (asked: string) => (seen.includes(asked) ? AT : null),
  })
  const facts = (seen: string[]) => factsOf({ ...event('/1', seen), joined: [event('/2', seen), event('/3', seen)] })

  test('continues without events that fail a rule about each event', () => {
    const decision = decide(messageOf({ onlyIf }), facts(['/3']))
    expect(decision).toMatchObject({ outcome: 'send', unfit: [{ index: 1, reason: 'seen' }] })
  })
  test('all stay without such a rule', () => {
    const contact = { status: 'subscribed' as const, tags: ['vip'], fields: {} }
    const decision = decide(messageOf({ onlyIf: [{ rule: 'tag', has: 'vip' }] }), {
      ...facts(['/2', '/3']),
      contact,
    })
    expect(decision).toMatchObject({ outcome: 'send', unfit: [] })
  })
  test('are recorded with their times', () => {
    const { verdicts } = decide(messageOf({ onlyIf }), facts([]))
    expect(verdicts.map(({ rule, eventAt }) => [rule, eventAt ?? null])).toEqual([
      ['suppression', null],
      ['message', null],
      ['notSeen', null],
      ['tag', null],
      ['notSeen', AT],
      ['notSeen', AT],
    ])
  })
  test('passes to the others if the first one fails', () => {
    const decision = decide(messageOf({ onlyIf }), facts(['/1', '/2']))
    expect(decision).toMatchObject({ outcome: 'skip', reason: 'seen', isOfEvent: true, unfit: [{ index: 0 }] })
  })
  test('ends with a rule about the person', () => {
    const vip = { ...facts(['/2']), contact: { status: 'subscribed' as const, tags: ['vip'], fields: {} } }
    const decision = decide(messageOf({ onlyIf }), vip)
    expect(decision).toMatchObject({ outcome: 'skip', reason: 'tag', isOfEvent: false, unfit: [] })
  })
})

describe('an arrival cancels a waiting email', () => {
  const WAITING = {
    triggeredAt: AT,
    dueAt: AT + HOUR,
    resultPath: () => null,
    properties: () => ({ id: 2 }),
    isJoined: false,
  }
  const done = (event: string, occurredAt = AT, properties = {}): Arrival => ({
    event,
    occurredAt,
    properties: () => properties,
  })
  const change = { addedTags: [], removedTags: [], fieldsBefore: {}, fieldsAfter: {} }
  const cancelled = (rule: Rule, arrival: Arrival, isJoined = false) => {
    const waiting = { ...WAITING, resultPath: () => '/results/1', isJoined }
    return findCancelled(content({ onlyIf: [rule] }), waiting, arrival)?.reason ?? null
  }
  const pro = { rule: 'field', field: 'plan', is: 'equal', to: 'pro' } as const
  test.each<[name: string, rule: Rule, arrival: Arrival, reason: string | null]>([
    ['its page is opened', { rule: 'notSeen' }, { path: '/results/1', occurredAt: AT }, 'seen'],
    ['another page is opened', { rule: 'notSeen' }, { path: '/other', occurredAt: AT }, null],
    ['it was opened before', { rule: 'notSeen' }, { path: '/results/1', occurredAt: AT - 1 }, null],
    ['it is opened as required', { rule: 'seen' }, { path: '/results/1', occurredAt: AT }, null],
    ['the event happens', { rule: 'notDone', event: 'paid' }, done('paid'), 'done'],
    ['another event happens', { rule: 'notDone', event: 'paid' }, done('seen'), null],
    ['with the same value', { rule: 'notDone', event: 'paid', same: 'id' }, done('paid', AT, { id: '2' }), 'done'],
    ['with another value', { rule: 'notDone', event: 'paid', same: 'id' }, done('paid', AT, { id: 3 }), null],
    ['within days', { rule: 'notDone', event: 'paid', since: { days: 1 } }, done('paid', AT - HOUR), 'done'],
    ['a tag too many', { rule: 'tag', lacks: 'vip' }, { ...change, addedTags: ['vip'] }, 'tag'],
    ['a lost tag', { rule: 'tag', has: 'beta' }, { ...change, removedTags: ['beta'] }, 'tag'],
    ['a tag that may still be added', { rule: 'tag', has: 'beta' }, { ...change, addedTags: ['vip'] }, null],
    ['a field that changes', pro, { ...change, fieldsBefore: { plan: 'pro' }, fieldsAfter: { plan: 'free' } }, 'field'],
    ['a field that was already wrong', pro, { ...change, fieldsAfter: { plan: 'free' } }, null],
    ['presence is not affected', { rule: 'away', ifUnknown: 'skip' }, { path: '/', occurredAt: AT }, null],
  ])('%s', (_, rule, arrival, reason) => expect(cancelled(rule, arrival)).toBe(reason))

  test.each<[name: string, arrival: { field: string; date: number }, reason: string | null]>([
    ['another date is due', { field: 'endsAt', date: AT + 2 * DAY }, 'date_changed'],
    ['the same date is due a little later', { field: 'endsAt', date: AT + 2 * DAY - 1 }, null],
    ['a date of another field is due', { field: 'startsAt', date: AT + 2 * DAY }, null],
  ])('%s', (_, arrival, reason) => {
    const trigger = { date: 'endsAt', days: 1, when: 'before' } as const
    expect(findCancelled(content({ trigger }), WAITING, arrival)?.reason ?? null).toBe(reason)
  })

  test('names the first rule that changed, not one that failed before', () => {
    const onlyIf: Rule[] = [
      { rule: 'tag', has: 'beta' },
      { rule: 'tag', lacks: 'vip' },
    ]
    expect(findCancelled(content({ onlyIf }), WAITING, { ...change, addedTags: ['vip'] })).toEqual({
      reason: 'tag',
      isOfEvent: false,
      verdict: { rule: 'tag', about: 'vip', value: true, verdict: 'fail', index: 1 },
    })
    expect(findCancelled(content(), WAITING, { ...change, addedTags: ['vip'] })).toBeNull()
  })

  test('a joined event is cancelled only by rules about each event', () => {
    const arrival = done('paid')
    expect(cancelled({ rule: 'notDone', event: 'paid' }, arrival, true)).toBe('done')
    expect(cancelled({ rule: 'notDone', event: 'paid', since: 'ever' }, arrival, true)).toBeNull()
  })
})

describe('an event starts an email', () => {
  const PROPERTIES = { n: 1 }
  const key = (again: Again) => dedupeKeyOf(again, () => PROPERTIES)
  const property: Again = { once: 'property', property: 'n' }
  const collecting: Again = { ...property, collect: { minutes: 30 } }
  const perPerson: Again = { once: 'person', collect: { minutes: 30 } }
  const lead = (joined: number): Lead => ({ id: 7, dueAt: AT + HOUR, joined })
  type StartChanges = Partial<StartFacts> & { used?: string[]; near?: Lead[]; limited?: Lead[] }
  const started = (
    again: Again | undefined,
    { used = [], near = [], limited = [], ...changes }: StartChanges = {},
    trigger: Trigger = { event: 'done' },
  ) => {
    const start = decideStart(
      { trigger, wait: { minutes: 10 }, again },
      {
        at: AT,
        occurredAt: AT,
        timezone: 'UTC',
        properties: () => PROPERTIES,
        leads: { near: () => near, limited: () => limited },
        isUsedUp: (one) => used.includes(one),
        hasAny: () => used.length > 0,
        lastHandedAt: () => null,
        ...changes,
      },
    )
    return start.outcome === 'none' ? start.reason : `${start.outcome} ${(start.dueAt - AT) / MINUTE}`
  }
  test.each<[name: string, again: Again | undefined, facts: StartChanges, expected: string]>([
    ['the first', undefined, {}, 'start 10'],
    ['a late event', undefined, { occurredAt: AT - HOUR }, 'start 0'],
    ['an event that is too late', undefined, { occurredAt: AT - 73 * HOUR }, 'too_old'],
    ['a second event of a person', undefined, { used: [''] }, 'again'],
    ['a person, after a version with another "once"', undefined, { used: ['another'] }, 'again'],
    ['a second event of a value', property, { used: [key(property)] }, 'again'],
    ['another value', property, { used: ['another'] }, 'start 10'],
    ['while its email waits', { everyHours: 1 }, { used: ['timed'] }, 'again'],
    ['too soon after the last email', { everyHours: 1 }, { lastHandedAt: () => AT - 49 * MINUTE }, 'again'],
    ['late enough after the last email', { everyHours: 1 }, { lastHandedAt: () => AT - 50 * MINUTE }, 'start 10'],
    ['beside a waiting email, without collecting', property, { near: [lead(0)] }, 'start 10'],
    ['with a waiting email', collecting, { near: [lead(0)] }, 'join 60'],
    [
      'with a waiting email that has the value already',
      collecting,
      { near: [lead(0)], used: [key(collecting)] },
      'again',
    ],
    ['with a full email', collecting, { near: [lead(49)] }, 'start 10'],
    ['with the second email if the first is full', collecting, { near: [lead(49)], limited: [lead(3)] }, 'join 60'],
    ['once per person, with a full email', perPerson, { near: [lead(49)], used: [''] }, 'join 60'],
    ['without an event that could join', collecting, { near: [lead(0)], leads: null }, 'start 10'],
  ])('%s', (_, again, facts, expected) => expect(started(again, facts)).toBe(expected))

  test.each<Trigger>([{ date: 'endsAt', days: 1, when: 'before' }, { inactiveDays: 14 }])(
    'late, by %p, due when it was meant to be',
    (trigger) => expect(started(undefined, { occurredAt: AT - 80 * HOUR }, trigger)).toBe('start -4790'),
  )
})
