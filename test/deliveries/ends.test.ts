/** What becomes of an email, its events and its key when it ends, with plain facts. */
import { describe, expect, test } from 'bun:test'
import { suppressionVerdict } from '../../src/deliveries/decide.ts'
import {
  addVerdict,
  cancelBySuppression,
  isResendable,
  isResent,
  isRetried,
  planUnconfirmed,
  planEnd,
  planResend,
  queryEnd,
} from '../../src/deliveries/ends.ts'
import type { EndFacts, Finish, ResendFacts, RetryCause } from '../../src/store/delivery-rules.ts'
import { TIMED_KEY } from '../../src/store/delivery-states.ts'
import { DELIVERY_STATES, SUPPRESSION_REASONS, type Verdict } from '../../src/store/message-types.ts'
import { DAY, MINUTE } from '../durations.ts'

const AT = 1_000
type Delivery = NonNullable<EndFacts['delivery']>
type Attempt = NonNullable<EndFacts['attempt']>
type Joined = EndFacts['joined'][number]

const delivery = (changes: Partial<Delivery> = {}): Delivery => ({
  dedupeKey: 'first',
  plannedAt: AT,
  dueAt: AT + 1,
  ...changes,
})
const joined = (id: number, triggeredAt: number, dedupeKey: string | null = `key ${id}`): Joined => ({
  id,
  triggeredAt,
  dedupeKey,
})
const plan = (finish: Finish, facts: Partial<EndFacts> = {}) =>
  planEnd(finish, { delivery: null, attempt: null, joined: [], ...facts })

const OF_EVENT: Finish = { state: 'skipped', reason: 'seen', isOfEvent: true }

describe('the first event ends alone', () => {
  test('the event that happened first takes over the email, with its times', () => {
    const { heir, key } = plan(OF_EVENT, {
      delivery: delivery(),
      joined: [joined(5, 30), joined(7, 20), joined(6, 20)],
    })
    expect(heir).toEqual({ id: 6, dedupeKey: 'key 6', plannedAt: AT, dueAt: AT + 1 })
    expect(key).toBe('releaseTimed')
  })

  test('an event without a key takes over that of the email', () => {
    const { heir, key } = plan(OF_EVENT, { delivery: delivery(), joined: [joined(5, 30, null)] })
    expect([heir?.dedupeKey, key]).toEqual(['first', 'release'])
  })

  test('a key by time is not taken over', () => {
    const facts = { delivery: delivery({ dedupeKey: TIMED_KEY }), joined: [joined(5, 30, null)] }
    expect(plan(OF_EVENT, facts).heir?.dedupeKey).toBeNull()
  })

  test('without other events the email ends', () => {
    expect(plan(OF_EVENT, { delivery: delivery() })).toMatchObject({
      heir: null,
      isUnsent: true,
      key: 'releaseTimed',
    })
  })

  test('the facts of the email and its events are asked for', () =>
    expect(queryEnd(OF_EVENT)).toEqual({ delivery: true, attempt: false, joined: true }))
})

test.each<Finish>([
  { state: 'skipped', reason: 'tag' },
  { state: 'sent', isOfEvent: true },
  { state: 'waiting', isOfEvent: true },
])('no event takes over the email when it is $state ($reason)', (finish) => {
  expect(plan(finish, { delivery: delivery(), joined: [joined(5, 30)] }).heir).toBeNull()
  expect(queryEnd(finish)).toEqual({ delivery: false, attempt: false, joined: false })
})

test.each<[Finish, string]>([
  [{ state: 'waiting' }, 'keep'],
  [{ state: 'deferred', reason: 'window' }, 'keep'],
  [{ state: 'sent' }, 'releaseTimed'],
  [{ state: 'kept' }, 'releaseTimed'],
  [{ state: 'unknown' }, 'releaseTimed'],
  [{ state: 'skipped', reason: 'tag' }, 'releaseTimed'],
  [{ state: 'skipped', reason: 'gone' }, 'release'],
])('%j: the key: %s', (finish, key) => expect<string>(plan(finish).key).toBe(key))

test('the message may reach the person again only if the email was not sent', () => {
  const unsent = DELIVERY_STATES.filter((state) => plan({ state }).isUnsent)
  expect(unsent.toSorted()).toEqual(['failed', 'skipped'])
})

describe('the time of the hand-over', () => {
  const refused: Finish = { state: 'deferred', reason: 'smtp_451', isRefused: true }
  const after = (finish: Finish, changes: Partial<Attempt>) =>
    plan(finish, { attempt: { handedAt: AT, resent: false, record: null, ...changes } }).handedAt

  test('stays unless a server refused the email', () => {
    expect(after({ state: 'sent' }, {})).toBeUndefined()
    expect(after({ state: 'deferred', reason: 'window' }, {})).toBeUndefined()
  })

  test('is cleared by a refusal', () => expect(after(refused, {})).toBeNull())

  test('is that of an earlier try with an unknown outcome', () => {
    expect(after(refused, { resent: true })).toBe(AT)
    expect(after(refused, { record: '{"at":1,"verdicts":[],"unconfirmedAt":7}' })).toBe(7)
    const record = '{"at":1,"verdicts":[],"unconfirmedAt":8}'
    expect(after({ ...refused, record }, { record: '{"at":1,"verdicts":[],"unconfirmedAt":7}' })).toBe(8)
  })

  test('needs the attempt', () => expect(queryEnd(refused)).toEqual({ delivery: false, attempt: true, joined: false }))
})

test.each<[Finish, boolean]>([
  [{ state: 'skipped', reason: 'unsubscribed' }, true],
  [{ state: 'skipped', reason: 'complained' }, true],
  [{ state: 'skipped', reason: 'gone' }, true],
  [{ state: 'skipped', reason: 'tag' }, false],
  [{ state: 'failed', reason: 'bounced' }, false],
  [{ state: 'skipped' }, false],
])('%j: the captured copy is dropped: %p', (finish, drops) => expect(plan(finish).dropsCaptured).toBe(drops))

test('nothing takes over from an email without events', () =>
  expect(plan(OF_EVENT, { delivery: delivery(), joined: [] }).heir).toBeNull())

test('an email that waits, is on its way or arrived cannot be resent', () =>
  expect(DELIVERY_STATES.filter((state) => !isResendable(state)).toSorted()).toEqual([
    'bounced',
    'claimed',
    'complained',
    'handed',
    'joined',
    'sent',
    'waiting',
  ]))

test('after an unknown outcome a result is sent again, and another email if its message says so', () => {
  const content = (event: string, ifUnconfirmed?: 'resend' | 'leave') => ({
    trigger: { event },
    mail: { subject: 'S', body: 'B' },
    ...(ifUnconfirmed && { ifUnconfirmed }),
  })
  expect([isResent(content('results_ready')), isResent(content('other'))]).toEqual([true, false])
  expect([isResent(content('results_ready', 'leave')), isResent(content('other', 'resend'))]).toEqual([false, true])
  expect(isResent({ trigger: { page: '/a' }, mail: { subject: 'S', body: 'B' } })).toBe(false)
})

test('an unknown outcome is followed by one more try, if the message says so', () => {
  const content = { trigger: { event: 'results_ready' }, mail: { subject: 'S', body: 'B' } }
  const plan = (resent: boolean, ifUnconfirmed?: 'leave') =>
    planUnconfirmed({ content: { ...content, ifUnconfirmed }, resent, record: null }, AT)
  expect([plan(false), plan(true), plan(false, 'leave')]).toEqual([AT, null, null])
})

test('an unknown outcome at a provider that recognizes the email is followed by tries in time, whatever the message says', () => {
  const content = { trigger: { event: 'x' }, mail: { subject: 'S', body: 'B' }, ifUnconfirmed: 'leave' as const }
  const plan = (resent: boolean, leftMs: number) => {
    const repeatable = { until: AT + leftMs, account: 'a' }
    return planUnconfirmed({ content, resent, record: JSON.stringify({ at: AT, verdicts: [], repeatable }) }, AT)
  }
  expect([plan(false, DAY), plan(true, DAY)]).toEqual([AT, AT + MINUTE])
  expect([plan(false, 5 * MINUTE), plan(true, 6 * MINUTE), plan(true, -DAY)]).toEqual([null, null, null])
})

describe('a resend by hand', () => {
  const resend = (changes: Partial<ResendFacts>) =>
    planResend(
      {
        state: 'skipped',
        reason: null,
        handedAt: null,
        record: null,
        dedupeKey: 'first',
        joinedTo: null,
        isEventDeleted: false,
        ...changes,
      },
      { at: AT, actor: 'mem_1', inBulk: false },
    )
  const RECORD = JSON.stringify({ at: 5, verdicts: [], tries: 3 })

  test('keeps the key and the decision, and restarts the retry delays', () =>
    expect(resend({ record: RECORD })).toEqual({
      handedAt: null,
      dedupeKey: 'first',
      record: { at: 5, verdicts: [], sentOn: { at: AT, actor: 'mem_1' }, tries: 0 },
      isUnconfirmed: false,
      takesNewest: false,
    }))
  test('is refused once its event was deleted', () =>
    expect(resend({ isEventDeleted: true })).toEqual({ refusal: 'event_deleted' }))
  test('keeps what stopped it', () => {
    const verdicts = [
      { rule: 'suppression', about: null, value: 'unsubscribed', verdict: 'fail' },
      { rule: 'message', about: null, value: 'live', verdict: 'pass' },
    ]
    const record = JSON.stringify({ at: 5, verdicts })
    const stopped = { at: 5, reason: 'unsubscribed', verdicts: verdicts.slice(0, 1) }
    expect(resend({ reason: 'unsubscribed', record })).toMatchObject({ record: { sentOn: { stopped } } })
    expect(resend({ state: 'failed', reason: 'smtp_550', record })).not.toHaveProperty('record.sentOn.stopped')
  })
  test('of an email that was sent although it was stopped keeps what stopped it, and who sent it first', () => {
    const stopped = { at: 5, reason: 'tag', verdicts: [not] }
    const first = { at: 5, verdicts: [not], sentOn: { at: 6, actor: 'mem_0', stopped } }
    const kept = { ...stopped, overridden: { at: 6, actor: 'mem_0' } }
    const ended: Partial<ResendFacts>[] = [
      { state: 'failed', reason: 'smtp_550' },
      { state: 'unknown', reason: 'stopped', handedAt: 7 },
      { state: 'deferred', reason: 'econnection' },
      { state: 'kept', handedAt: 7 },
      { reason: 'cancelled', record: JSON.stringify({ ...first, cancelled: { at: 8, actor: 'mem_2' } }) },
      { reason: 'unsubscribed' },
    ]
    for (const changes of ended) {
      const again = resend({ record: JSON.stringify(first), ...changes })
      expect(again).toMatchObject({ record: { sentOn: { at: AT, actor: 'mem_1', stopped: kept } } })
      const record = JSON.stringify('record' in again ? again.record : null)
      expect(resend({ ...changes, record })).toMatchObject({ record: { sentOn: { stopped: kept } } })
    }
  })
  test('of a cancelled email keeps when it was cancelled last, without what its rules said', () => {
    const cancelled = (at: number, more: object = {}) =>
      resend({
        reason: 'cancelled',
        record: JSON.stringify({ at: 5, verdicts: [not], cancelled: { at, actor: 'mem_2' }, ...more }),
      })
    const [once, twice] = [8, 9].map((at) => ({ at, reason: 'cancelled', verdicts: [] }))
    expect(cancelled(8)).toHaveProperty('record.sentOn.stopped', once)
    expect(cancelled(9, { sentOn: { at: 6, stopped: once } })).toHaveProperty('record.sentOn.stopped', twice)
  })
  test('of an email that could not be rendered takes the newest version', () => {
    for (const reason of ['missing_value', 'broken_template', 'empty_mail', 'template_too_slow'])
      expect(resend({ reason })).toHaveProperty('takesNewest', true)
    for (const reason of ['tag', 'no_sender', 'template_slow', null])
      expect(resend({ reason })).toHaveProperty('takesNewest', false)
    expect(resend({ state: 'failed', reason: 'missing_value' })).toHaveProperty('takesNewest', false)
  })
  test('takes back a key by time; an event that was in another email needs none', () => {
    expect(resend({ dedupeKey: null })).toHaveProperty('dedupeKey', TIMED_KEY)
    expect(resend({ dedupeKey: null, joinedTo: 7 })).toHaveProperty('dedupeKey', '')
  })
  test('of a captured email forgets the hand-over; of one with an unknown outcome, it stays', () => {
    expect(resend({ state: 'kept', handedAt: 9 })).toMatchObject({ handedAt: null, record: { keptAt: 9 } })
    expect(resend({ state: 'unknown', handedAt: 9 })).toMatchObject({
      handedAt: 9,
      record: { unconfirmedAt: 9 },
      isUnconfirmed: true,
    })
  })
  test('of an email on its way or done is refused', () => {
    const refused = DELIVERY_STATES.filter((state) => 'refusal' in resend({ state }))
    expect(refused).toEqual(DELIVERY_STATES.filter((state) => !isResendable(state)))
  })
})

test('what changed decides which emails are tried again', () => {
  const ofServer = ['server_paused', 'server_limited', 'unknown', 'smtp_421', 'econnrefused', 'error']
  const ofSender = ['sender_unverified', 'sender_paused', 'from_550']
  const ofLimits = ['perDay', 'perWeek', 'window', 'unsure']
  const others = ['brake', 'template_slow', 'dkim_key']
  const retried = (cause: RetryCause) =>
    [...ofServer, ...ofSender, ...ofLimits, ...others].filter((reason) => isRetried(reason, cause))
  expect(retried('server')).toEqual([...ofServer, ...ofSender])
  expect(retried('sender')).toEqual(ofSender)
  expect(retried('limits')).toEqual(ofLimits)
  expect(retried('brake')).toEqual(['brake'])
})

describe('a waiting email of someone who is suppressed', () => {
  const cancel = (category: 'lifecycle' | 'transactional', reason: (typeof SUPPRESSION_REASONS)[number]) =>
    cancelBySuppression(
      { content: { trigger: { event: 'a' }, mail: { subject: 'S', body: 'B', category } }, record: null },
      reason,
      AT,
    )

  test('is skipped for that reason, which the record shows', () =>
    expect(cancel('lifecycle', 'bounced')).toEqual({
      state: 'skipped',
      reason: 'bounced',
      record: JSON.stringify({
        at: AT,
        verdicts: [{ rule: 'suppression', about: null, value: 'bounced', verdict: 'fail' }],
      }),
    }))
  test('is sent to those who only unsubscribed, if it is transactional', () => {
    const cancelled = SUPPRESSION_REASONS.map((reason) => cancel('transactional', reason)?.state ?? null)
    expect(cancelled).toEqual([null, 'skipped', 'skipped'])
  })
})

const seen: Verdict = { rule: 'notSeen', about: '/r', value: null, verdict: 'pass' }
const [may, not] = [suppressionVerdict(null), suppressionVerdict('unsubscribed')]

test('the suppression rule passes when nothing suppresses the person', () => {
  expect([may.verdict, may.value, not.verdict, not.value]).toEqual(['pass', null, 'fail', 'unsubscribed'])
})

test.each([
  ['of nothing before', null, { at: 9, verdicts: [not] }],
  ['alone', { at: 1, verdicts: [may] }, { at: 9, verdicts: [not] }],
  ['beside others', { at: 1, verdicts: [may, seen] }, { at: 9, rulesAt: 1, verdicts: [not, seen] }],
  ['that was not asked before', { at: 1, verdicts: [seen] }, { at: 9, rulesAt: 1, verdicts: [not, seen] }],
  ['once more', { at: 5, rulesAt: 1, verdicts: [may, seen] }, { at: 9, rulesAt: 1, verdicts: [not, seen] }],
  ['at the same time', { at: 9, verdicts: [may, seen] }, { at: 9, verdicts: [not, seen] }],
  [
    'of what a member sent on',
    { at: 1, verdicts: [], sentOn: { at: 3 }, keptAt: 1, tries: 2 },
    { at: 9, verdicts: [not], sentOn: { at: 3 }, keptAt: 1, tries: 2 },
  ],
])('a later decision: a rule %s', (_, earlier, record) => {
  expect(addVerdict(earlier, not, 9)).toEqual(record)
})
