import { describe, expect, test } from 'bun:test'
import { REASON_TEXTS } from '../../src/deliveries/describe-reason.ts'
import { describeShortly, shortenReason } from '../../src/deliveries/short-reasons.ts'
import type { DeliveryRow, Verdict } from '../../src/store/message-types.ts'
import { HOUR, MINUTE, NOW } from '../durations.ts'
import { deliveryOf, fail } from './explaining.ts'

const MOST = 24

const EXPECTED: Record<string, string> = {
  not_away: "Hadn't left",
  not_seen: "Hadn't opened it",
  seen: 'Opened it',
  never_reported: 'No page views',
  no_page: 'No URL in the event',
  not_done: 'Required event missing',
  done: 'Did it already',
  tag: "Tags don't match",
  field: "Field doesn't match",
  status: "Status doesn't match",
  unsubscribed: 'Unsubscribed',
  bounced: 'Address bounced',
  complained: 'Reported spam',
  message_paused: 'Message not live',
  again: 'Got it already',
  gave_up: 'Too late to send',
  window: 'Outside send window',
  unsure: 'Page still open',
  perDay: 'Daily limit reached',
  perWeek: 'Weekly limit reached',
  holdback: 'Held back',
  gone: 'Event or person gone',
  missing_value: 'Missing value',
  broken_template: 'Template error',
  empty_mail: 'Empty email',
  template_slow: 'Slow to render',
  template_too_slow: 'Too slow to render',
  no_sender: 'No sender address',
  sender_not_listed: 'Sender not listed',
  sender_unverified: 'Sender not verified',
  smtp_url: 'Invalid mail server',
  dkim_key: 'Invalid DKIM key',
  server_paused: 'Mail server paused',
  sender_paused: 'Sender paused',
  not_saved: 'Could not be saved',
  error: 'Internal error',
  stopped: 'Stopped while sending',
  econnection: 'Server unreachable',
  etimedout: 'Server timed out',
  erefused: 'Connection refused',
  esocket: 'Connection broke',
  edns: 'Server name not found',
  etls: 'No STARTTLS',
  eprivate: 'Private mail server',
  eshared: 'Shared mail server',
  enologin: 'No login offered',
  euntrusted: 'Untrusted certificate',
  eplain: 'No TLS on this port',
  erequiretls: 'Required TLS missing',
  eauth: 'Wrong login',
  enoauth: 'Login required',
  eprotocol: 'Malformed reply',
  eenvelope: 'Addresses rejected',
  emessage: 'Email rejected',
  estream: 'Connection broke',
  eabort: 'Server too slow',
  unknown: 'Unknown reason',
}

describe('each reason code has a short text', () => {
  test.each([...REASON_TEXTS.keys()])('%s', (code) => {
    const text = shortenReason(code)
    expect(text).toBe(EXPECTED[code] ?? 'not expected here')
    expect(text.length).toBeLessThanOrEqual(MOST)
    if (code !== 'seen') expect(say({ state: 'skipped', reason: code })).toBe(text)
  })

  test.each([
    ['smtp_450', 'Server answered 450'],
    ['from_553', 'Sender refused (553)'],
    ['No such user', 'No such user'],
  ])('%s', (code, text) => expect(shortenReason(code)).toBe(text))
})

const at = NOW + 10 * MINUTE
const say = (changes: Partial<DeliveryRow>, verdicts?: Verdict[], now = NOW) =>
  describeShortly(deliveryOf(changes, verdicts), now)

describe('each state has a short text', () => {
  test.each<[Partial<DeliveryRow>, string]>([
    [{ state: 'waiting' }, 'Due in 10 min'],
    [{ state: 'waiting', dueAt: NOW }, 'Due now'],
    [{ state: 'waiting', byHand: true }, 'Sent next'],
    [{ state: 'claimed' }, 'Being sent'],
    [{ state: 'handed', handedAt: at }, 'Waiting for the server'],
    [{ state: 'sent', handedAt: at, sentAt: at }, 'Sent after 10 min'],
    [{ state: 'sent', handedAt: at, cameBackAt: at + 20_000 }, 'Came back 20 s later'],
    [{ state: 'sent', handedAt: at, cameBackAt: at + 1, openedAt: at + 3 * HOUR }, 'Opened it 3 h later'],
    [{ state: 'kept', handedAt: at }, 'No mail server'],
    [{ state: 'joined' }, 'In another email'],
    [{ state: 'unknown', reason: 'stopped', handedAt: at }, 'May have arrived'],
    [{ state: 'unknown', reason: 'stopped', handedAt: at, cameBackAt: at + 5_000 }, 'Came back 5 s later'],
    [{ state: 'bounced', reason: 'No such user' }, 'Bounced'],
    [{ state: 'complained', reason: 'abuse' }, 'Reported spam'],
    [{ state: 'deferred', reason: 'smtp_450' }, 'Server answered 450'],
  ])('%o: %s', (changes, text) => expect(say(changes)).toBe(text))

  test('who opened the result before it was due, and when', () => {
    const seen = fail('notSeen', '/results/1', at - 3 * MINUTE)
    expect(say({ state: 'skipped', reason: 'seen' }, [seen])).toBe('Opened it 3 min before')
    expect(say({ state: 'skipped', reason: 'seen' }, [{ ...seen, value: null }])).toBe('Opened it')
    expect(say({ state: 'skipped', reason: 'seen' })).toBe('Opened it')
    expect(say({ state: 'skipped', reason: 'again' }, [seen])).toBe('Got it already')
  })

  test('a mailbox that does not exist', () => {
    const record = JSON.stringify({ at, verdicts: [], reply: '550 5.1.1' })
    expect(say({ state: 'failed', reason: 'smtp_550', record })).toBe("Mailbox doesn't exist")
  })
})
