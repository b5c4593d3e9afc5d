/** Why a person got a mail, or did not, in words (messages.md, One evaluator). */
import { describe, expect, test } from 'bun:test'
import { ERROR_CODES } from '../../node_modules/nodemailer/dist/esm/errors.js'
import { explainDelivery, explainRehearsal } from '../../src/core/explanations.ts'
import { REASON_WORDS } from '../../src/core/reason-words.ts'
import type { Told } from '../../src/core/told.ts'
import { VERDICT_WORDS } from '../../src/core/verdict-words.ts'
import {
  DELIVERY_STATES,
  type DeliveryRow,
  type MessageContent,
  STOP_REASONS,
  SUPPRESSION_REASONS,
  type Verdict,
} from '../../src/store/message-types.ts'
import { NOW } from '../helper.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const WHEN = '15 May 2026, 12:00 UTC'

const CONTENT: MessageContent = {
  trigger: { event: 'results_ready' },
  onlyIf: [
    { rule: 'notSeen' },
    { rule: 'away', at: 'trigger', minutes: 1 },
    { rule: 'away', minutes: 5 },
    { rule: 'field', field: 'plan', is: 'equal', to: 'pro' },
    { rule: 'field', field: 'plan', is: 'notEqual', to: 'free trial' },
    { rule: 'notDone', event: 'checkout.paid', since: { days: 7 } },
    { rule: 'done', event: 'opened' },
  ],
  mail: { subject: 'Ready', body: 'Hello' },
}
const ADA = { firstName: 'Ada', email: 'ada@example.com' }

const deliveryOf = (changes: Partial<DeliveryRow>, verdicts?: Verdict[]): DeliveryRow => ({
  id: 1,
  appId: 1,
  contactId: 1,
  messageId: 1,
  version: 1,
  eventId: 1,
  onceKey: '',
  state: 'skipped',
  triggeredAt: NOW,
  plannedAt: NOW,
  dueAt: NOW + 10 * MINUTE,
  attempt: 1,
  claimedBy: null,
  claimedUntil: null,
  handedAt: null,
  sentAt: null,
  resent: false,
  byHand: false,
  reason: null,
  record: verdicts ? JSON.stringify({ at: NOW + 10 * MINUTE, verdicts }) : null,
  cameBackAt: null,
  openedAt: null,
  updatedAt: NOW,
  ...changes,
})
const explain = (delivery: DeliveryRow, person: Told['person'] = ADA) =>
  explainDelivery({ delivery, person, content: CONTENT, zone: 'UTC' })
const say = (changes: Partial<DeliveryRow>, verdicts?: Verdict[]) => explain(deliveryOf(changes, verdicts)).why
const sayRule = (verdict: Verdict) => explain(deliveryOf({}, [verdict])).rules[0]?.sentence

const fail = (rule: string, about: string | null, value: Verdict['value']): Verdict => ({
  rule,
  about,
  value,
  verdict: 'fail',
})
const pass = (rule: string, about: string | null, value: Verdict['value']): Verdict => ({
  rule,
  about,
  value,
  verdict: 'pass',
})

describe('a rule is said', () => {
  test.each<[Verdict, string]>([
    [pass('wish', null, null), 'Ada may be written to.'],
    [fail('wish', null, 'unsubscribed'), 'Ada had unsubscribed.'],
    [fail('message', null, 'paused'), 'The message was paused.'],
    [pass('message', null, 'live'), 'The message was live.'],
    [
      fail('away', 'sending', '/results/1'),
      'Ada was on /results/1 when the mail was due, so this mail was not needed.',
    ],
    [fail('away', 'trigger', '/wait'), 'Ada was on /wait at the time of the event, so this mail was not needed.'],
    [pass('away', 'sending', NOW - 5 * MINUTE), 'Ada had left 15 minutes before.'],
    [pass('away', 'trigger', NOW - 5 * MINUTE), 'Ada had left 5 minutes before.'],
    [
      { ...pass('away', 'sending', NOW - 20 * MINUTE), isSilent: true },
      'No report of Ada for 30 minutes: they had left.',
    ],
    [pass('away', 'sending', null), 'No report of Ada for two days: they had left.'],
    [
      { ...pass('away', 'sending', null), isEstimated: true },
      'Ada had opened no page of yours for a while: they had left.',
    ],
    [
      fail('away', 'sending', NOW + 7 * MINUTE),
      'Ada had left 3 minutes before, and this message goes only to who has been gone for 5 minutes.',
    ],
    [
      { ...pass('away', 'sending', null), isUnknown: true },
      'Your pages had not reported Ada yet, and this message is sent to such people too.',
    ],
    [
      { ...fail('away', 'sending', null), isUnknown: true },
      'Your pages had not reported Ada yet, and this message is not sent to such people.',
    ],
    [
      fail('notSeen', '/r/1', NOW + 2 * MINUTE),
      'Ada opened /r/1 2 minutes after the event, so this mail was not needed.',
    ],
    [fail('notSeen', '/r/1', NOW), 'Ada had /r/1 open at the time of the event, so this mail was not needed.'],
    [pass('notSeen', '/r/1', null), 'Ada had not opened /r/1.'],
    [fail('seen', '/r/1', null), 'Ada had not opened /r/1, and this message asks for that.'],
    [pass('seen', '/r/1', NOW + 3 * HOUR), 'Ada opened /r/1 3 hours after the event.'],
    [
      { ...pass('notSeen', null, null), isUnknown: true },
      'The event named no page of yours, so nobody knows whether Ada opened it. This message is sent then too.',
    ],
    [fail('notDone', 'checkout.paid', NOW), `checkout.paid came for Ada on ${WHEN}, so this mail was not needed.`],
    [pass('notDone', 'checkout.paid', null), 'checkout.paid had not come for Ada in the 7 days before.'],
    [fail('done', 'opened', null), 'opened had not come for Ada since the event, and this message asks for it.'],
    [fail('tag', 'beta', false), 'Ada did not have the tag beta, and this message goes only to people with it.'],
    [fail('tag', 'beta', true), 'Ada had the tag beta, and this message goes only to people without it.'],
    [pass('tag', 'beta', false), 'Ada did not have the tag beta.'],
    [fail('field', 'plan', 'free'), 'Ada had free in the field plan, and this message asks for pro.'],
    [fail('field', 'plan', null), 'Ada had nothing in the field plan, and this message asks for pro.'],
    [
      fail('status', 'subscribed', 'bounced'),
      'Ada was bounced, and this message goes only to people who are subscribed.',
    ],
    [pass('again', '24', null), 'Ada had not got this message before.'],
    [fail('again', '24', NOW), `Ada last got this message on ${WHEN}, and it is sent at most every 24 hours.`],
    [pass('window', '09:00-17:00', NOW), 'It was within the hours in which this app sends (09:00-17:00).'],
    [
      fail('window', '09:00-17:00', NOW),
      `It was outside the hours in which this app sends (09:00-17:00). They begin again on ${WHEN}.`,
    ],
    [fail('perDay', '1', 1), 'Ada had got 1 mail within a day, and this app sends at most 1.'],
    [pass('perWeek', '5', 2), 'Ada had got 2 mails within a week, and may get 5.'],
    [fail('giveUp', null, NOW), `It was to be sent until ${WHEN} at the latest, and could not be.`],
    [fail('template', 'event.headline', 'missing'), 'event.headline had neither a value nor a fallback.'],
    [fail('template', 'subject', 'missing'), 'The subject would have been empty.'],
    [
      fail('template', 'what it makes is too long for a mail', 'broken'),
      'The mail could not be written: what it makes is too long for a mail.',
    ],
    [
      pass('link', 'https://evil.example/', false),
      'The mail does not link to https://evil.example/, because it is not on a domain of this app.',
    ],
  ])('%j', (verdict, sentence) => expect(sayRule(verdict)).toBe(sentence))

  test('by the one of several that it is', () => {
    const both = explain(deliveryOf({}, [fail('field', 'plan', 'free'), fail('field', 'plan', 'free')]))
    expect(both.rules.map(({ sentence }) => sentence)).toEqual([
      'Ada had free in the field plan, and this message asks for pro.',
      'Ada had free in the field plan, and this message asks for anything but "free trial".',
    ])
  })

  test('whatever it is', () => {
    const judged = ['wish', 'message', 'again', 'window', 'perDay', 'perWeek', 'giveUp', 'template', 'link']
    expect(Object.keys(VERDICT_WORDS).sort()).toEqual([...Object.keys(STOP_REASONS), ...judged].sort())
  })
})

describe('a state is said', () => {
  const LATER = '15 May 2026, 12:10 UTC'
  test.each<[Partial<DeliveryRow>, string]>([
    [{ state: 'waiting' }, `It waits, and is judged on ${LATER}.`],
    [{ state: 'waiting', byHand: true }, 'Sent on by hand; it goes out next.'],
    [{ state: 'claimed' }, 'It is being sent right now.'],
    [{ state: 'handed' }, 'The mail server has it, and has not answered yet.'],
    [{ state: 'sent', sentAt: NOW }, `It was sent on ${WHEN}.`],
    [{ state: 'skipped', reason: 'unsubscribed' }, 'Ada had unsubscribed.'],
    [
      { state: 'deferred', reason: 'smtp_421' },
      `The mail server asked to be left alone for a while (it answered 421). It is tried again on ${LATER}.`,
    ],
    [
      { state: 'failed', reason: 'smtp_554' },
      'The mail server refused the mail (it answered 554). It is not tried again by itself.',
    ],
    [
      { state: 'failed', reason: 'smtp_451' },
      'The mail server could not take it then (it answered 451). It is not tried again by itself.',
    ],
    [
      { state: 'unknown', reason: 'stopped' },
      'The service stopped while the mail server took the mail. Nobody knows whether Ada got it.',
    ],
    [{ state: 'bounced', reason: 'No such user' }, 'The mail bounced. The mail provider said: "No such user".'],
    [{ state: 'complained', reason: 'abuse' }, 'Ada complained about the mail. The mail provider said: "abuse".'],
    [{ state: 'deferred', reason: 'enew' }, `The mail server could not be used (enew). It is tried again on ${LATER}.`],
  ])('%j', (changes, sentence) => expect(say(changes)).toBe(sentence))

  test('by the rule that stopped it, and not by another that failed', () => {
    const verdicts = [fail('window', '09:00-17:00', NOW), fail('giveUp', null, NOW)]
    expect(say({ reason: 'gave_up' }, verdicts)).toBe(
      `It was to be sent until ${WHEN} at the latest, and could not be.`,
    )
    expect(say({ reason: 'unsubscribed' }, [fail('seen', '/r/1', null)])).toBe('Ada had unsubscribed.')
    expect(say({ reason: 'seen' }, [fail('notSeen', '/r/1', NOW + MINUTE)])).toBe(
      'Ada opened /r/1 1 minute after the event, so this mail was not needed.',
    )
  })

  test('by the rule that nothing was known for', () => {
    const stranger = { ...fail('away', 'sending', null), isUnknown: true as const }
    const unreported = 'Your pages had not reported Ada yet, and this message is not sent to such people.'
    expect(say({ reason: 'never_reported' }, [fail('field', 'plan', 'pro'), stranger])).toBe(unreported)
    expect(say({ reason: 'never_reported' })).toBe(unreported)
    const nowhere = { ...fail('notSeen', null, null), isUnknown: true as const }
    expect(say({ reason: 'no_page' }, [nowhere, stranger])).toBe(
      'The event named no page of yours, so nobody knows whether Ada opened it. This message is not sent then.',
    )
  })

  test('as what cannot be told yet', () => {
    const verdicts = [{ ...fail('away', 'sending', NOW), until: NOW + 30 * MINUTE }]
    expect(say({ state: 'deferred', reason: 'unsure' }, verdicts)).toBe(
      'A page was open at the time of the event, and nobody knows yet whether Ada was in front of it. It is judged again on 15 May 2026, 12:10 UTC.',
    )
  })

  test('as kept where it did not leave', () => {
    expect(say({ state: 'kept', handedAt: NOW })).toBe(
      `It was written on ${WHEN} and kept in the outbox, because no mail server was set.`,
    )
  })

  test('with what the mail server said, unless it is on its way again or gone', () => {
    const record = JSON.stringify({ at: NOW, verdicts: [], said: '550 no' })
    const telling = DELIVERY_STATES.filter((state) => explain(deliveryOf({ state, record })).said === '550 no')
    expect(telling.sort()).toEqual(['deferred', 'failed', 'skipped'])
    expect(explain(deliveryOf({ state: 'failed', reason: 'smtp_550' })).said).toBeUndefined()
  })

  test.each([...DELIVERY_STATES])('also when nothing is known of %s', (state) => {
    expect(say({ state })).toMatch(/^[A-Z].+\.$/)
  })
})

test('times are told by the clock of the app', () => {
  const zone = 'America/New_York'
  const late = [fail('window', '09:00-17:00', NOW + HOUR), pass('again', '24', NOW - HOUR)]
  const delivery = deliveryOf({ state: 'deferred', reason: 'window' }, late)
  const { why, rules } = explainDelivery({ delivery, person: ADA, content: CONTENT, zone })
  const opens = 'They begin again on 15 May 2026, 09:00 America/New York.'
  expect(why).toBe(
    `It was outside the hours in which this app sends (09:00-17:00). ${opens} It is tried again on 15 May 2026, 08:10 America/New York.`,
  )
  expect(rules[1]?.sentence).toBe('Ada last got this message on 15 May 2026, 07:00 America/New York.')
})

describe('a reason has a sentence of its own', () => {
  const judged = [
    'never_reported',
    'no_page',
    'message_paused',
    'again',
    'gave_up',
    'window',
    'unsure',
    'perDay',
    'perWeek',
    'gone',
  ]
  const sending = ['missing_value', 'broken_template', 'no_sender', 'smtp_url', 'dkim_key', 'error', 'not_saved']
  const server = ['server_paused', 'stopped', 'unknown', 'erefused', 'euntrusted', 'eplain']
  /** Of other ways to send, of files and of logins that we do not use. */
  const foreign = ['EOTP', 'EOAUTH2', 'EMAXLIMIT', 'EMAXRECIPIENTS', 'ESENDMAIL', 'ESES', 'ECONFIG', 'EPROXY']
  const unused = [...foreign, 'EFILEACCESS', 'EURLACCESS', 'EFETCH']
  const network = Object.keys(ERROR_CODES)
    .filter((code) => !unused.includes(code))
    .map((code) => code.toLowerCase())
  const codes = [...Object.values(STOP_REASONS), ...SUPPRESSION_REASONS, ...judged, ...sending, ...server, ...network]

  test.each(codes)('%s', (code) => expect(say({ reason: code })).toMatch(/^[A-Z][^()]+\.$/))
  test('and there are no others', () => expect(Object.keys(REASON_WORDS).sort()).toEqual([...new Set(codes)].sort()))
})

describe('a person is called', () => {
  const nameIn = (person: typeof ADA | { firstName: null; email: string | null }) =>
    explain(deliveryOf({ reason: 'unsubscribed' }), person).why
  test('by the first name, the address, or neither', () => {
    expect(nameIn({ firstName: null, email: 'ada@example.com' })).toBe('ada@example.com had unsubscribed.')
    expect(nameIn({ firstName: null, email: null })).toBe('This person had unsubscribed.')
    expect(nameIn({ firstName: `A\n\u202eda${'a'.repeat(99)}`, email: '' })).toBe(
      `A da${'a'.repeat(36)} had unsubscribed.`,
    )
  })
})

describe('a line of a rehearsal is said', () => {
  const line = (outcome: string, verdicts: Verdict[] = []) =>
    explainRehearsal(
      { contactId: 1, email: ADA.email, triggeredAt: NOW, dueAt: NOW, outcome, verdicts },
      { person: ADA, content: CONTENT, zone: 'UTC' },
    )
  test('as a delivery would be', () => {
    expect(line('send').why).toBe(`It would have been sent on ${WHEN}.`)
    expect(line('waiting')).toEqual({ why: `It would wait until ${WHEN}.`, judgedAt: null, rules: [] })
    expect(line('again').why).toBe('Ada had a mail of this message waiting, or had got it already.')
    expect(line('seen', [fail('notSeen', '/r/1', NOW)])).toEqual({
      why: 'Ada had /r/1 open at the time of the event, so this mail was not needed.',
      judgedAt: NOW,
      rules: [
        {
          ...fail('notSeen', '/r/1', NOW),
          sentence: 'Ada had /r/1 open at the time of the event, so this mail was not needed.',
        },
      ],
    })
  })
})
