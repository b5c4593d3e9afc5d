import { describe, expect, test } from 'bun:test'
import { REASON_TEXTS } from '../../src/deliveries/describe-reason.ts'
import { describeShortReason, shortenDelivery, shortenReason } from '../../src/deliveries/short-reasons.ts'
import type { DeliveryRow, Trigger, Verdict } from '../../src/store/message-types.ts'
import { HOUR, MINUTE, NOW } from '../durations.ts'
import { CONTENT, deliveryOf, explain, fail } from './explaining.ts'

const MOST = 24

describe('each reason code has a short text', () => {
  test.each([...REASON_TEXTS.keys()])('%s', (code) => {
    const text = shortenReason(code)
    // a phrase, not the code itself
    expect(text).toMatch(/^[A-Z][\w'-]*(?: [\w'-]+)*$/)
    expect(text).not.toBe(code)
    expect(text.length).toBeLessThanOrEqual(MOST)
    if (code !== 'seen') expect(say({ state: 'skipped', reason: code })).toBe(text)
  })

  test.each([
    ['seen', 'Opened it'],
    ['perDay', 'Daily limit reached'],
    ['holdback', 'Held back'],
    ['smtp_450', 'Mailbox busy'],
    ['smtp_451', 'Not accepted (451)'],
    ['smtp_554', 'Refused by server (554)'],
    ['api_422', 'Refused by server (422)'],
    ['no_mailbox', "Mailbox doesn't exist"],
    ['from_553', 'Sender refused (553)'],
    ['No such user', 'No such user'],
  ])('%s', (code, text) => expect(shortenReason(code)).toBe(text))
})

const at = NOW + 10 * MINUTE
const say = (changes: Partial<DeliveryRow>, verdicts?: Verdict[], content = CONTENT) =>
  describeShortReason(shortenDelivery(deliveryOf(changes, verdicts), content), NOW)

test('an email that a member sent although it was stopped is marked', () => {
  const record = JSON.stringify({
    at: 1,
    verdicts: [],
    sentOn: { at: 2, stopped: { at: 1, reason: 'tag', verdicts: [] } },
  })
  const marked = (changes: Partial<DeliveryRow>) =>
    describeShortReason(
      shortenDelivery({ ...deliveryOf({ state: 'sent', handedAt: at, ...changes }), record }, CONTENT),
      NOW,
    )
  expect(marked({ sentAt: at })).toBe("Sent anyway (Tags don't match)")
  expect(marked({ cameBackAt: at + 20_000 })).toBe('Came back 20 s later, sent anyway')
})

describe('each state has a short text', () => {
  test.each<[Partial<DeliveryRow>, string]>([
    [{ state: 'waiting' }, 'Due in 10 min'],
    [{ state: 'waiting', dueAt: NOW }, 'Due now'],
    [{ state: 'waiting', byHand: true }, 'Will be sent next'],
    [{ state: 'claimed' }, 'Being sent'],
    [{ state: 'handed', handedAt: at }, 'Waiting for the server'],
    [{ state: 'sent', handedAt: at, sentAt: at }, '10 min after the event'],
    [{ state: 'sent', handedAt: NOW + 2_000 }, 'Right away'],
    [{ state: 'sent', handedAt: at, cameBackAt: at + 20_000 }, 'Came back 20 s later'],
    [{ state: 'sent', handedAt: at, cameBackAt: at + 1, openedAt: at + 3 * HOUR }, 'Opened it 3 h later'],
    [{ state: 'kept', handedAt: at }, 'No mail server'],
    [{ state: 'joined' }, 'In another email'],
    [{ state: 'unknown', reason: 'stopped', handedAt: at }, 'May have arrived'],
    [{ state: 'unknown', reason: 'stopped', handedAt: at, cameBackAt: at + 5_000 }, 'Came back 5 s later'],
    [{ state: 'bounced', reason: 'No such user' }, 'Reported as bounced'],
    [{ state: 'bounced', handedAt: at, bouncedAt: at + 2 * HOUR }, '2 h after it was sent'],
    [{ state: 'bounced', handedAt: at, bouncedAt: at }, 'Right after it was sent'],
    [{ state: 'complained', reason: 'abuse' }, 'Reported spam'],
    [{ state: 'deferred', reason: 'smtp_450' }, 'Mailbox busy, due in 10 min'],
    [{ state: 'deferred', reason: 'perDay', dueAt: NOW }, 'Daily limit reached, due now'],
  ])('%o: %s', (changes, text) => expect(say(changes)).toBe(text))

  test("what the mail server's reply says, as on the page of the email", () => {
    const record = JSON.stringify({ at: 1, verdicts: [], reply: '554 5.7.26' })
    const failed = { ...deliveryOf({ state: 'failed', reason: 'smtp_554' }), record }
    expect(shortenDelivery(failed, CONTENT).words).toBe('SPF, DKIM or DMARC failed')
  })

  test('who opened the result before it was due, and when', () => {
    const seen = fail('notSeen', '/results/1', at - 3 * MINUTE)
    expect(say({ state: 'skipped', reason: 'seen' }, [seen])).toBe('Opened it after 7 min')
    const before = fail('notSeen', '/results/1', NOW - MINUTE)
    expect(say({ state: 'skipped', reason: 'seen' }, [before])).toBe('Already had it open')
    expect(say({ state: 'skipped', reason: 'seen' }, [{ ...seen, value: null }])).toBe('Opened it')
    expect(say({ state: 'skipped', reason: 'seen' })).toBe('Opened it')
    expect(say({ state: 'skipped', reason: 'again' }, [seen])).toBe('Got it already')
  })

  test.each([
    ['paused', 'Message was paused'],
    ['draft', 'Message was a draft'],
  ])('that the message was not live any more: %s', (value, text) => {
    const delivery = deliveryOf({ reason: 'message_paused' }, [fail('message', null, value)])
    expect(shortenDelivery(delivery, CONTENT).words).toBe(text)
    expect(explain(delivery).why).toBe(`The ${text.replace('M', 'm')}.`)
  })

  test('who came back on their own, and when', () => {
    const back = { ...fail('away', 'sending', '/home'), cameBackAt: NOW + 56_000 }
    const left = fail('away', 'trigger', '/home')
    expect(say({ state: 'skipped', reason: 'came_back' }, [back])).toBe('Came back after 56 s')
    expect(say({ state: 'skipped', reason: 'came_back' }, [{ ...back, cameBackAt: null }])).toBe(
      'Came back on their own',
    )
    expect(say({ state: 'skipped', reason: 'not_away' }, [left, back])).toBe('Still on your site')
  })

  test('a mailbox that does not exist', () => {
    const record = JSON.stringify({ at, verdicts: [], reply: '550 5.1.1' })
    expect(say({ state: 'failed', reason: 'smtp_550', record })).toBe("Mailbox doesn't exist")
  })
})

describe('the time of a sent email is counted from its trigger, which may pass on an event', () => {
  test.each<[Trigger, string]>([
    [{ event: 'results_ready' }, 'the event'],
    [{ page: '/pricing' }, 'the page view'],
    [{ message: 'Welcome' }, 'the earlier email'],
    [{ api: 'send' }, 'the call'],
    [{ contact: 'created' }, 'they were added'],
    [{ tag: 'vip' }, 'they got the tag'],
    [{ inactiveDays: 7 }, 'the trigger'],
  ])('%j: %s', (trigger, noun) => {
    const sent = { state: 'sent', handedAt: at, sentAt: at } as const
    expect(say(sent, [], { ...CONTENT, trigger })).toBe(`10 min after ${noun}`)
  })
})

test('an email that waits for someone who unsubscribed says when it will be skipped', () => {
  const refused = (changes: Partial<DeliveryRow>) =>
    describeShortReason(shortenDelivery(deliveryOf(changes), CONTENT, 'unsubscribed'), NOW)
  expect(refused({ state: 'waiting', dueAt: NOW + 600_000 })).toBe('Unsubscribed, skipped in 10 min')
  expect(refused({ state: 'waiting', dueAt: NOW })).toBe('Unsubscribed, skipped next')
  expect(refused({ state: 'sent', handedAt: at, sentAt: at })).toBe('10 min after the event')
})
