/** Every rule of a message as a function of plain facts. */
import { describe, expect, test } from 'bun:test'
import {
  checkRules,
  findFailed,
  isSettled,
  NOTHING_DONE,
  quietMsOf,
  reasonOfRule,
  type RuleFacts,
  rulesOfEvent,
  sinceWhen,
  resultPathOf,
} from '../../src/deliveries/rules.ts'
import type { Rule, Verdict } from '../../src/store/message-types.ts'
import { PRESENCE_MS, type Presence } from '../../src/visits/presence.ts'
import { DAY, HOUR, MINUTE, NOW } from '../durations.ts'

const PATH = '/results/1'
/** The event was an hour ago, and the person was seen before. */
const TRIGGERED = NOW - HOUR
const factsOf = (changes: Partial<RuleFacts> = {}): RuleFacts => ({
  ...NOTHING_DONE,
  at: NOW,
  triggeredAt: TRIGGERED,
  firstReportedAt: TRIGGERED - DAY,
  contact: { status: 'subscribed', tags: [], fields: {} },
  ...changes,
})
const check = (rule: Rule, changes: Partial<RuleFacts> = {}): Verdict => {
  const [verdict] = checkRules({ onlyIf: [rule] }, factsOf(changes))
  if (!verdict) throw new Error('no verdict')
  return verdict
}
const passed = (rule: Rule, changes: Partial<RuleFacts> = {}) => check(rule, changes).verdict

type Pages = Presence['pages']
const gone = (lastLeftAt: number | null, lastReportAt = lastLeftAt): Presence => ({
  isHere: false,
  paths: [],
  pages: [],
  lastReportAt,
  lastLeftAt,
})
const here = (pages: Pages, lastReportAt = TRIGGERED - MINUTE): Presence => ({
  isHere: true,
  paths: pages.map(({ path }) => path),
  pages,
  lastReportAt,
  lastLeftAt: null,
})

test('without rules there are no verdicts', () => expect(checkRules({}, factsOf())).toEqual([]))

test('someone who did nothing is unknown', () => {
  expect(NOTHING_DONE.presence(NOW, 0)).toEqual(gone(null))
  expect([NOTHING_DONE.firstOnPageSince(PATH, 0), NOTHING_DONE.doneAt('paid', 0)]).toEqual([null, null])
})

describe('properties of a contact', () => {
  const contact = { status: 'unsubscribed' as const, tags: ['beta'], fields: { plan: 'pro' } }
  test.each<[rule: Rule, expected: Verdict]>([
    [
      { rule: 'tag', has: 'beta' },
      { rule: 'tag', about: 'beta', value: true, verdict: 'pass' },
    ],
    [
      { rule: 'tag', has: 'vip' },
      { rule: 'tag', about: 'vip', value: false, verdict: 'fail' },
    ],
    [
      { rule: 'tag', lacks: 'beta' },
      { rule: 'tag', about: 'beta', value: true, verdict: 'fail' },
    ],
    [
      { rule: 'tag', lacks: 'vip' },
      { rule: 'tag', about: 'vip', value: false, verdict: 'pass' },
    ],
    [
      { rule: 'field', field: 'plan', is: 'equal', to: 'pro' },
      { rule: 'field', about: 'plan', value: 'pro', verdict: 'pass' },
    ],
    [
      { rule: 'field', field: 'plan', is: 'equal', to: 'free' },
      { rule: 'field', about: 'plan', value: 'pro', verdict: 'fail' },
    ],
    [
      { rule: 'field', field: 'size', is: 'absent' },
      { rule: 'field', about: 'size', value: null, verdict: 'pass' },
    ],
    [
      { rule: 'status', is: 'subscribed' },
      { rule: 'status', about: 'subscribed', value: 'unsubscribed', verdict: 'fail' },
    ],
    [
      { rule: 'status', is: 'unsubscribed' },
      { rule: 'status', about: 'unsubscribed', value: 'unsubscribed', verdict: 'pass' },
    ],
  ])('%j', (rule, expected) => expect(check(rule, { contact })).toEqual(expected))
})

test('of fields joined by "or", one is enough', () => {
  const onlyIf: Rule[] = [
    { rule: 'field', field: 'plan', is: 'equal', to: 'pro' },
    { rule: 'field', or: true, field: 'seats', is: 'above', to: 5 },
    { rule: 'tag', has: 'beta' },
  ]
  const checkFields = (fields: RuleFacts['contact']['fields']) => {
    const verdicts = checkRules({ onlyIf }, factsOf({ contact: { status: 'subscribed', tags: ['beta'], fields } }))
    return [...verdicts.map(({ verdict }) => verdict), findFailed({ onlyIf }, verdicts)?.failed.about]
  }
  expect(checkFields({ plan: 'free', seats: 6 })).toEqual(['pass', 'pass', 'pass', undefined])
  expect(checkFields({ plan: 'pro' })).toEqual(['pass', 'pass', 'pass', undefined])
  expect(checkFields({ plan: 'free', seats: 5 })).toEqual(['fail', 'fail', 'pass', 'plan'])
})

describe('done and not done', () => {
  const doneAt = (event: string, since: number) => (event === 'paid' && since <= NOW - 2 * DAY ? NOW - 2 * DAY : null)
  test.each<[rule: Rule, verdict: Verdict['verdict']]>([
    [{ rule: 'done', event: 'paid', since: 'ever' }, 'pass'],
    [{ rule: 'done', event: 'paid', since: { days: 2 } }, 'pass'],
    [{ rule: 'done', event: 'paid', since: { days: 1 } }, 'fail'],
    [{ rule: 'done', event: 'paid' }, 'fail'],
    [{ rule: 'notDone', event: 'paid', since: 'ever' }, 'fail'],
    [{ rule: 'notDone', event: 'paid', since: 'trigger' }, 'pass'],
  ])('%j: %s', (rule, verdict) => {
    const value = verdict === (rule.rule === 'done' ? 'pass' : 'fail') ? NOW - 2 * DAY : null
    expect(check(rule, { doneAt })).toEqual({ rule: rule.rule, about: 'paid', value, verdict })
  })

  test('with the same value of a property', () => {
    const same = { doneAt: (_: string, __: number, by?: string) => (by === 'id' ? NOW : null), sameValue: () => 2 }
    const rule: Rule = { rule: 'notDone', event: 'paid', same: 'id' }
    expect(check(rule, same)).toEqual({ rule: 'notDone', about: 'paid', value: NOW, verdict: 'fail', same: 2 })
    expect(check(rule)).toEqual({ rule: 'notDone', about: 'paid', value: null, verdict: 'pass', same: null })
    expect(rulesOfEvent({ onlyIf: [{ ...rule, since: 'ever' }] })).toHaveLength(1)
  })

  test('is searched from the given time', () => {
    expect(sinceWhen('ever', 5, 10 * DAY)).toBe(0)
    expect(sinceWhen(undefined, 5, 10 * DAY)).toBe(5)
    expect(sinceWhen('trigger', 5, 10 * DAY)).toBe(5)
    expect(sinceWhen({ days: 3 }, 5, 10 * DAY)).toBe(7 * DAY)
  })
})

describe('a rule about one event', () => {
  test.each<[rule: Rule, is: boolean]>([
    [{ rule: 'seen' }, true],
    [{ rule: 'notSeen' }, true],
    [{ rule: 'away' }, false],
    [{ rule: 'away', at: 'sending' }, false],
    [{ rule: 'away', at: 'trigger' }, true],
    [{ rule: 'done', event: 'a' }, true],
    [{ rule: 'notDone', event: 'a', since: 'trigger' }, true],
    [{ rule: 'done', event: 'a', since: 'ever' }, false],
    [{ rule: 'notDone', event: 'a', since: { days: 1 } }, false],
    [{ rule: 'tag', has: 'a' }, false],
    [{ rule: 'field', field: 'a', is: 'present' }, false],
    [{ rule: 'status', is: 'bounced' }, false],
  ])('%j: %p', (rule, is) => expect(rulesOfEvent({ onlyIf: [rule] })).toEqual(is ? [rule] : []))

  test('without rules there is none', () => expect(rulesOfEvent({})).toEqual([]))
})

describe('away', () => {
  test('at send time: the last leave is old enough, to the millisecond', () => {
    const rule: Rule = { rule: 'away', minutes: 5 }
    const left = (lastLeftAt: number) => check(rule, { presence: () => gone(lastLeftAt) })
    expect(left(NOW - 5 * MINUTE)).toEqual({
      rule: 'away',
      about: 'sending',
      value: NOW - 5 * MINUTE,
      verdict: 'pass',
    })
    expect(left(NOW - 5 * MINUTE + 1).verdict).toBe('fail')
    expect(passed({ rule: 'away' }, { presence: () => gone(NOW) })).toBe('pass')
  })

  test('at the trigger: checks that moment', () => {
    const rule: Rule = { rule: 'away', at: 'trigger', minutes: 5 }
    const asked: number[] = []
    const presence = (at: number) => {
      asked.push(at)
      return gone(TRIGGERED - 4 * MINUTE)
    }
    expect(check(rule, { presence })).toMatchObject({ about: 'trigger', verdict: 'fail' })
    expect(asked).toEqual([TRIGGERED])
  })

  test('without a leave, silence since the last report counts', () => {
    expect(check({ rule: 'away', minutes: 5 }, { presence: () => gone(null, NOW - HOUR) })).toEqual({
      rule: 'away',
      about: 'sending',
      value: NOW - HOUR,
      verdict: 'pass',
      isSilent: true,
    })
  })

  test('a report after the event means present', () => {
    const presence = () =>
      here([
        { path: '/old', heardAt: TRIGGERED },
        { path: '/new', heardAt: TRIGGERED + 1 },
      ])
    expect(check({ rule: 'away' }, { presence })).toEqual({
      rule: 'away',
      about: 'sending',
      value: '/new',
      verdict: 'fail',
    })
  })

  test('waits for a silent page as long as it may be silent', () => {
    const presence = () => here([{ path: '/', heardAt: TRIGGERED }])
    const rule: Rule = { rule: 'away', quietMinutes: 10 }
    const until = TRIGGERED + 10 * MINUTE
    expect(check(rule, { presence, at: until - 1 })).toEqual({
      rule: 'away',
      about: 'sending',
      value: TRIGGERED,
      verdict: 'fail',
      until,
      openPath: '/',
    })
    expect(check(rule, { presence, at: until })).toEqual({
      rule: 'away',
      about: 'sending',
      value: TRIGGERED - MINUTE,
      verdict: 'pass',
      isSilent: true,
    })
    const atTrigger = check({ ...rule, at: 'trigger' }, { presence, at: until })
    expect(atTrigger).toMatchObject({ about: 'trigger', verdict: 'pass' })
  })

  test('uses the silence limit of the rule', () => {
    expect(quietMsOf({ rule: 'away' })).toBe(PRESENCE_MS)
    expect(quietMsOf({ rule: 'away', quietMinutes: 2 })).toBe(2 * MINUTE)
    const asked: number[] = []
    const presence = (_: number, quietMs: number) => {
      asked.push(quietMs)
      return gone(0)
    }
    check({ rule: 'away', quietMinutes: 3 }, { presence })
    check({ rule: 'seen' }, { presence, resultPath: PATH })
    expect(asked).toEqual([3 * MINUTE, PRESENCE_MS])
  })

  describe('who had left before the event', () => {
    const left = gone(TRIGGERED - 20 * MINUTE)
    const firstVisitSince = (since: number) => (since === TRIGGERED ? TRIGGERED + 56_000 : null)
    const later = (after: Presence, rule: Rule = { rule: 'away', minutes: 5 }, before = left) =>
      check(rule, { presence: (at) => (at === TRIGGERED ? before : after), firstVisitSince })
    const back = { rule: 'away', about: 'sending', verdict: 'fail', cameBackAt: TRIGGERED + 56_000 } as const

    test('and is on a page has come back', () => {
      const home = here([{ path: '/home', heardAt: TRIGGERED + MINUTE }])
      expect(later(home)).toEqual({ ...back, value: '/home' })
      expect(later(home, { rule: 'away' })).toEqual({ ...back, value: '/home' })
      expect(later(home, { rule: 'away' }, home)).not.toHaveProperty('cameBackAt')
      expect(later(home, { rule: 'away', at: 'trigger' })).toMatchObject({ verdict: 'pass' })
    })

    test('and left again since has come back', () => {
      expect(later(gone(NOW - MINUTE))).toEqual({ ...back, value: NOW - MINUTE })
      expect(later(gone(NOW - 5 * MINUTE))).not.toHaveProperty('cameBackAt')
    })

    test('has not come back before it is known', () => {
      const silent = here([{ path: '/', heardAt: TRIGGERED }])
      const rule: Rule = { rule: 'away', quietMinutes: 90 }
      expect(later(silent, rule)).toMatchObject({ until: TRIGGERED + 90 * MINUTE })
      expect(later(silent, rule)).not.toHaveProperty('cameBackAt')
    })

    test('and has not been gone for long left too recently', () => {
      const found = later(left, { rule: 'away', minutes: 120 })
      expect(found).toEqual({
        rule: 'away',
        about: 'sending',
        value: TRIGGERED - 20 * MINUTE,
        verdict: 'fail',
        isTooSoon: true,
      })
    })

    test('or was never reported before it has not come back', () => {
      const home = here([{ path: '/home', heardAt: TRIGGERED + MINUTE }])
      const presence = () => home
      const firstReportedAt = TRIGGERED + 1
      const found = check({ rule: 'away' }, { presence, firstVisitSince, firstReportedAt })
      expect(found).toMatchObject({ verdict: 'fail' })
      expect(found).not.toHaveProperty('cameBackAt')
    })
  })

  test('applies ifUnknown to a person never seen', () => {
    const unknown = { rule: 'away', about: 'sending', value: null, isUnknown: true } as const
    expect(check({ rule: 'away' }, { firstReportedAt: null })).toEqual({ ...unknown, verdict: 'pass' })
    expect(check({ rule: 'away', ifUnknown: 'skip' }, { firstReportedAt: null })).toEqual({
      ...unknown,
      verdict: 'fail',
    })
    expect(check({ rule: 'away' }, { firstReportedAt: NOW + 1 }).isUnknown).toBe(true)
    expect(check({ rule: 'away' }, { firstReportedAt: NOW }).isUnknown).toBeUndefined()
    expect(check({ rule: 'away', at: 'trigger' }, { firstReportedAt: TRIGGERED + 1 }).isUnknown).toBe(true)
  })

  test('marks an estimate', () => {
    expect(check({ rule: 'away' }, { presence: () => ({ ...gone(0), isEstimated: true }) }).isEstimated).toBe(true)
    expect(check({ rule: 'away' }, { presence: () => gone(0) })).not.toHaveProperty('isEstimated')
  })
})

describe('the page of the event', () => {
  const seen: Rule = { rule: 'seen' }
  const resultPath = PATH
  const open = (heardAt: number, path = `${PATH}/`) => ({ resultPath, presence: () => here([{ path, heardAt }]) })

  test('was opened after the event', () => {
    const firstOnPageSince = (path: string, since: number) => (path === PATH && since === TRIGGERED ? NOW - 1 : null)
    expect(check(seen, { resultPath, firstOnPageSince })).toEqual({
      rule: 'seen',
      about: PATH,
      value: NOW - 1,
      verdict: 'pass',
    })
    expect(passed({ rule: 'notSeen' }, { resultPath, firstOnPageSince })).toBe('fail')
  })
  test('was never opened', () => {
    expect(check(seen, { resultPath })).toEqual({ rule: 'seen', about: PATH, value: null, verdict: 'fail' })
    expect(passed({ rule: 'notSeen' }, { resultPath })).toBe('pass')
  })
  test('was open before and reported after', () => {
    expect(check(seen, open(TRIGGERED + 1))).toMatchObject({ value: TRIGGERED, verdict: 'pass' })
    expect(check(seen, { ...open(TRIGGERED + 1, '/other') })).toMatchObject({ value: null, verdict: 'fail' })
  })
  test('was open and silent since: waits half an hour', () => {
    const until = TRIGGERED + PRESENCE_MS
    expect(check(seen, { ...open(TRIGGERED), at: until - 1 })).toEqual({
      rule: 'seen',
      about: PATH,
      value: TRIGGERED,
      verdict: 'fail',
      until,
    })
    expect(check(seen, { ...open(TRIGGERED), at: until })).toMatchObject({ value: null, verdict: 'fail' })
    const firstOnPageSince = () => TRIGGERED + 5
    expect(check(seen, { ...open(TRIGGERED), at: until - 1, firstOnPageSince })).toMatchObject({ value: TRIGGERED + 5 })
    const other = check(seen, { ...open(TRIGGERED, '/other'), at: until - 1 })
    expect(other).not.toHaveProperty('until')
  })
  test('is unknown without a page or visit', () => {
    const skip: Rule = { rule: 'notSeen', ifUnknown: 'skip' }
    expect(check(skip)).toEqual({ rule: 'notSeen', about: null, value: null, verdict: 'fail', isUnknown: true })
    expect(check(skip, { resultPath, firstReportedAt: null })).toMatchObject({ about: PATH, isUnknown: true })
    expect(check(skip, { resultPath })).not.toHaveProperty('isUnknown')
  })
  test('is estimated unless a stored view proves it', () => {
    const presence = () => ({ ...gone(null), isEstimated: true as const })
    expect(check(seen, { resultPath, presence }).isEstimated).toBe(true)
    expect(check(seen, { resultPath, presence, firstOnPageSince: () => NOW })).not.toHaveProperty('isEstimated')
  })
})

describe('the first final failure', () => {
  const fail = (rule: string, more: Partial<Verdict> = {}): Verdict => ({
    rule,
    about: 'a',
    value: null,
    verdict: 'fail',
    ...more,
  })
  const pass = (rule: string): Verdict => ({ ...fail(rule), verdict: 'pass' })
  const onlyIf: Rule[] = [{ rule: 'notSeen' }, { rule: 'tag', has: 'a' }]

  test('is final unless it can still change', () => {
    expect(isSettled(fail('tag'))).toBe(true)
    expect(isSettled(fail('tag', { until: 1 }))).toBe(false)
    expect(isSettled(pass('tag'))).toBe(false)
  })
  test.each<[name: string, verdicts: Verdict[], expected: [string, boolean] | null]>([
    ['none', [pass('notSeen'), pass('tag')], null],
    ['about the event', [fail('notSeen'), pass('tag')], ['notSeen', true]],
    ['about the person', [pass('notSeen'), fail('tag')], ['tag', false]],
    ['the first of two', [fail('notSeen'), fail('tag')], ['notSeen', true]],
    ['not a verdict that is waited for', [fail('notSeen', { until: 1 }), pass('tag')], null],
  ])('%s', (_, verdicts, expected) => {
    const found = findFailed({ onlyIf }, verdicts)
    expect(found && [found.failed.rule, found.isOfEvent]).toEqual(expected)
  })
  test('has a reason', () => {
    expect(reasonOfRule(fail('notSeen'))).toBe('seen')
    expect(reasonOfRule(fail('notSeen', { isUnknown: true, about: null }))).toBe('no_page')
    expect(reasonOfRule(fail('notSeen', { isUnknown: true }))).toBe('never_reported')
    expect(reasonOfRule(fail('away'))).toBe('not_away')
    expect(reasonOfRule(fail('away', { cameBackAt: null }))).toBe('came_back')
    expect(reasonOfRule(fail('away', { isTooSoon: true }))).toBe('left_too_recently')
  })
})

describe('the page of a result', () => {
  const HOSTS = ['app.example', 'shop.example']
  test.each([
    ['https://app.example/results/1', '/results/1'],
    ['https://www.app.example/results/1/?a=1#top', '/results/1'],
    ['HTTPS://APP.EXAMPLE/results/1', '/results/1'],
    ['http://shop.example:8080/', '/'],
    ['https://partner.example/', null],
    ['https://app.example.evil.example/', null],
    ['https://app.example@partner.example/', null],
    ['https://app.example/#/results/1', null],
    ['https://app.example/app#!/results/1', null],
    ['ftp://app.example/', null],
    ['/results/1', null],
  ])('%s: %p', (url, path) => {
    expect(resultPathOf(JSON.stringify({ url }), HOSTS)).toBe(path)
  })
  test('is missing without a URL', () => {
    for (const properties of [null, '{}', '{"url":7}']) expect(resultPathOf(properties, HOSTS)).toBeNull()
  })
  test('may be on any domain while the app has none', () => {
    expect(resultPathOf('{"url":"https://partner.example/1"}', [])).toBe('/1')
  })
})
