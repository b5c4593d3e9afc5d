import { describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../../src/accounts/first-messages.ts'
import type { SenderCheck } from '../../../src/accounts/sender-checks.ts'
import { type LinkFacts, listAttention } from '../../../src/dashboard/overview/attention.ts'
import { type AttentionFacts, writeItem } from '../../../src/monitoring/attention.ts'
import type { MessageContent } from '../../../src/messages/messages.ts'

const content = FIRST_MESSAGES[0]?.content ?? ({} as MessageContent)
const live = { id: 7, name: 'Welcome', status: 'live' as const, content }
const mail = {
  isCapturing: false,
  isUnreadable: false,
  hasSender: true,
  lostUrl: null,
  unverified: [],
  problem: null,
  pause: null,
  stuck: null,
  brake: null,
  giveUpHours: 24,
}
const well: AttentionFacts & LinkFacts = {
  appId: 'app_1',
  isOwner: true,
  mail,
  messages: [live],
  problems: { failed: 0, captured: 0, unknown: 0, restored: 0, unfit: [] },
  records: null,
  refused: { groups: [], isCut: false },
  revoked: [],
  refusedAlert: null,
  refusedSince: '2026-05-02',
  failedSince: { from: '2026-04-27', isUtc: true },
  rates: { emails: 10_000, complaints: 9, bounces: 300 },
  days: 7,
}

const only = (facts: Partial<AttentionFacts>) => {
  const items = listAttention({ ...well, ...facts })
  expect(items).toHaveLength(1)
  return [items[0]?.text, items[0]?.link.label, items[0]?.link.href]
}
const problems = (some: Partial<AttentionFacts['problems']>) => ({ problems: { ...well.problems, ...some } })

const found = (about: SenderCheck['about'], state: SenderCheck['state'], isToAdd = false): SenderCheck => ({
  about,
  state,
  sentence: '',
  record: isToAdd ? { name: 'x', type: 'TXT', value: 'y' } : null,
})
const records = (...checks: SenderCheck[]) => ({ records: { domain: 'acme.example', checks } })
const GOOD = (['SPF', 'DKIM', 'DMARC'] as const).map((about) => found(about, 'good'))

test('nothing when all is well', () => {
  expect(listAttention({ ...well, rates: { emails: 3, complaints: 1, bounces: 1 } })).toEqual([])
  expect(listAttention(well)).toEqual([])
  expect(listAttention({ ...well, messages: [] })).toEqual([])
  expect(listAttention({ ...well, ...records(...GOOD) })).toEqual([])
  // emails that the provider signs, or that need no record of SPF
  expect(listAttention({ ...well, ...records(found('DKIM', 'caution'), found('SPF', 'caution')) })).toEqual([])
})

test('a local base URL is a problem only where a message is live', () => {
  const isBadWith = (messages: AttentionFacts['messages']) =>
    listAttention({ ...well, messages, mail: { ...mail, lostUrl: 'http://localhost:8080' } }).map(({ isBad }) => isBad)
  expect([isBadWith([]), isBadWith([{ ...live, status: 'draft' }]), isBadWith([live])]).toEqual([
    [false],
    [false],
    [true],
  ])
})

test('only owners are asked to change Sender', () => {
  const labelOf = (changed: Partial<AttentionFacts['mail']>, isOwner: boolean) =>
    listAttention({ ...well, mail: { ...mail, ...changed }, isOwner })[0]?.link.label
  for (const changed of [{ hasSender: false }, { isCapturing: true }, { isUnreadable: true }]) {
    expect(labelOf(changed, true)).toStartWith('Set ')
    expect(labelOf(changed, false)).toBe('Open Sender')
  }
})

describe('each problem has one link', () => {
  test.each<[string, Partial<AttentionFacts>, string[]]>([
    [
      'the brake',
      { mail: { ...mail, brake: { kind: 'bounces', failures: 50, emails: 1_000, since: 1 } } },
      ['50 of the last 1000 emails bounced, so lifecycle emails wait.', 'Show the rates', '/apps/app_1/sender/rates'],
    ],
    [
      'a complaint that is more than mailbox providers expect',
      { rates: { emails: 150, complaints: 1, bounces: 0 } },
      [
        '1 of the last 150 emails was reported as spam. Gmail and Amazon SES expect less than 0.1%.',
        'Show the rates',
        '/apps/app_1/sender/rates',
      ],
    ],
    [
      'more complaints than mailbox providers expect',
      { rates: { emails: 10_000, complaints: 10, bounces: 0 } },
      [
        '10 of the last 10,000 emails were reported as spam. Gmail and Amazon SES expect less than 0.1%.',
        'Show the rates',
        '/apps/app_1/sender/rates',
      ],
    ],
    [
      'a live message without a sender',
      { mail: { ...mail, hasSender: false } },
      [
        "1 live message has no sender address, so its emails aren't sent.",
        'Set a sender address',
        '/apps/app_1/sender',
      ],
    ],
    [
      'live messages without a sender',
      { mail: { ...mail, hasSender: false }, messages: [live, live] },
      [
        "2 live messages have no sender address, so their emails aren't sent.",
        'Set a sender address',
        '/apps/app_1/sender',
      ],
    ],
    [
      'no mail server',
      { mail: { ...mail, isCapturing: true } },
      ['No mail server yet. Emails are captured, not sent.', 'Set up a mail server', '/apps/app_1/sender/server'],
    ],
    [
      'no mail server, and captured emails',
      { mail: { ...mail, isCapturing: true }, messages: [], ...problems({ captured: 1 }) },
      ['No mail server yet. 1 email is captured, not sent.', 'Set up a mail server', '/apps/app_1/sender/server'],
    ],
    [
      'a mail server that cannot be read',
      { mail: { ...mail, isUnreadable: true } },
      [
        "The saved mail server settings can't be read, so no email is sent.",
        'Set up the mail server again',
        '/apps/app_1/sender/server',
      ],
    ],
    [
      'captured emails, with a mail server',
      problems({ captured: 12 }),
      ['12 emails are captured and not sent.', 'Open the outbox', '/apps/app_1/outbox'],
    ],
    [
      'a server that asked for a pause',
      { mail: { ...mail, pause: { server: 'smtp.example.com', isOwn: false, reason: 'smtp_421', until: 5 } } },
      [
        'The mail server asked Eventpost to pause. Emails wait',
        'Check the connection',
        '/apps/app_1/sender/server#server-check',
      ],
    ],
    [
      'a mail server with a problem, which is also why emails wait',
      {
        mail: {
          ...mail,
          problem: {
            what: "The mail server m can't be reached",
            since: 5,
            cause: 'Nothing responds.',
            isWaiting: true,
          },
          pause: { server: 'm', isOwn: false, reason: 'erefused', until: 5 },
          stuck: { count: 3, isSilent: true },
        },
      },
      ["The mail server m can't be reached", 'Check the connection', '/apps/app_1/sender/server#server-check'],
    ],
    [
      'many requests that are refused now, and since yesterday',
      {
        refused: { groups: [{ code: 'invalid_field', count: 400 }], isCut: false },
        refusedAlert: { id: 'alt_1', title: 'Many requests are refused', detail: '', openedAt: 5 },
      },
      ['Many requests are refused', 'Show requests', '/apps/app_1/requests'],
    ],
    [
      'a mail server that does not answer',
      { mail: { ...mail, stuck: { count: 1, isSilent: true } } },
      [
        "Your mail server doesn't respond: 1 email is waiting.",
        'Check the connection',
        '/apps/app_1/sender/server#server-check',
      ],
    ],
    [
      'a mail server that takes no email',
      { mail: { ...mail, stuck: { count: 1000, isSilent: false } } },
      [
        "Your mail server can't be used: 1000 or more emails are waiting.",
        'Check the connection',
        '/apps/app_1/sender/server#server-check',
      ],
    ],
    [
      'records that were never looked up',
      { records: { domain: 'acme.example', checks: null } },
      [
        "The DNS records for acme.example haven't been checked yet. Without them, emails may go to spam.",
        'Check the records',
        '/apps/app_1/sender/domain#checks',
      ],
    ],
    [
      'a lookup without an answer',
      records(...GOOD.map(({ about }) => found(about, 'unasked'))),
      [
        "The DNS records for acme.example haven't been checked yet. Without them, emails may go to spam.",
        'Check the records',
        '/apps/app_1/sender/domain#checks',
      ],
    ],
    [
      'a record of which nothing is known, and others',
      records(found('SPF', 'good'), found('DKIM', 'unchecked'), found('DMARC', 'good')),
      [
        "DKIM for acme.example hasn't been checked yet. Without it, emails may go to spam.",
        'Check the records',
        '/apps/app_1/sender/domain#checks',
      ],
    ],
    [
      'records of which nothing is known, and one that is good',
      records(found('SPF', 'good'), found('DKIM', 'unchecked'), found('DMARC', 'unasked')),
      [
        "DKIM and DMARC for acme.example haven't been checked yet. Without them, emails may go to spam.",
        'Check the records',
        '/apps/app_1/sender/domain#checks',
      ],
    ],
    [
      'a record to add',
      records(found('SPF', 'good'), found('DMARC', 'caution', true)),
      [
        'DMARC for acme.example is missing or wrong, so emails may go to spam.',
        'Show the records to add',
        '/apps/app_1/sender/domain#checks',
      ],
    ],
    [
      'the record of a new key to add',
      records(found('SPF', 'good'), found('New DKIM key', 'caution', true)),
      [
        'The new DKIM key for acme.example is missing or wrong, so emails may go to spam.',
        'Show the records to add',
        '/apps/app_1/sender/domain#checks',
      ],
    ],
    [
      'wrong records',
      records(found('SPF', 'bad'), found('DKIM', 'bad', true), found('DMARC', 'unasked')),
      [
        'SPF and DKIM for acme.example are missing or wrong, so emails may go to spam.',
        'Show the records to add',
        '/apps/app_1/sender/domain#checks',
      ],
    ],
    [
      'missing records',
      { mail: { ...mail, unverified: ['a.example', 'b.example'] } },
      [
        'Emails from a.example, b.example wait for a DNS record.',
        'Show the record to add',
        '/apps/app_1/sender/domain#domains',
      ],
    ],
    [
      'failures',
      problems({ failed: 3 }),
      [
        '3 emails failed in the last 7 days.',
        'See why',
        '/apps/app_1/deliveries?state=failed&from=2026-04-27&days=utc&rows=emails',
      ],
    ],
    [
      'unknown outcomes',
      problems({ unknown: 1 }),
      [
        '1 email may or may not have been sent: the mail server sent no confirmation.',
        'Review',
        '/apps/app_1/deliveries?state=unknown',
      ],
    ],
    [
      'emails of a restored copy',
      problems({ restored: 2 }),
      [
        "2 emails were waiting in the backup that was restored, and weren't sent from here. The old server may have sent them.",
        'Review',
        '/apps/app_1/deliveries?state=skipped&reason=restored',
      ],
    ],
    [
      'a revoked key that is still used',
      { revoked: [{ keyId: 'key_1', name: 'Old server', count: 12 }] },
      [
        'The revoked key “Old server” is still in use: 12 requests with it have been refused since yesterday. Replace it on the server that uses it.',
        'Show requests',
        '/apps/app_1/requests?key=key_1&app=own_or_none&from=2026-05-02',
      ],
    ],
    [
      'one kind of refusals',
      { refused: { groups: [{ code: 'invalid_field', count: 1 }], isCut: false } },
      [
        '1 request has been refused since yesterday, with invalid_field.',
        'Show requests',
        '/apps/app_1/requests?app=own_or_none&from=2026-05-02',
      ],
    ],
    [
      'two kinds',
      {
        refused: {
          groups: [
            { code: 'invalid_signature', count: 1 },
            { code: 'invalid_api_key', count: 1 },
          ],
          isCut: false,
        },
      },
      [
        '2 requests have been refused since yesterday, 1 with invalid_signature and 1 with invalid_api_key.',
        'Show requests',
        '/apps/app_1/requests?app=own_or_none&from=2026-05-02',
      ],
    ],
    [
      'several kinds',
      {
        refused: {
          groups: [
            { code: 'rate_limited', count: 5 },
            { code: 'invalid_field', count: 4 },
            { code: 'invalid_field', count: 12_000 },
            { code: 'invalid_json', count: 5 },
          ],
          isCut: false,
        },
      },
      [
        '12,014 requests have been refused since yesterday, 12,004 of them with invalid_field.',
        'Show requests',
        '/apps/app_1/requests?app=own_or_none&from=2026-05-02',
      ],
    ],
    [
      'more refusals than are counted',
      {
        refused: {
          groups: [
            { code: 'invalid_field', count: 5_001 },
            { code: 'rate_limited', count: 5_000 },
          ],
          isCut: true,
        },
      },
      [
        '10,000+ requests have been refused since yesterday, many of them with invalid_field.',
        'Show requests',
        '/apps/app_1/requests?app=own_or_none&from=2026-05-02',
      ],
    ],
    [
      'links that only this machine can open',
      { mail: { ...mail, lostUrl: 'http://localhost:8080' } },
      [
        "Recipients can't unsubscribe: links in emails lead to http://localhost:8080, which only this machine can open.",
        'How to set the public address',
        '/docs/hosting#public-address',
      ],
    ],
  ])('%s', (_, facts, item) => {
    expect(only(facts)).toEqual(item)
  })
})

test('a live message with its own sender needs no default', () => {
  const own = { ...live, content: { ...content, mail: { ...content.mail, fromEmail: 'a@example.com' } } }
  expect(listAttention({ ...well, mail: { ...mail, hasSender: false }, messages: [own] })).toEqual([])
})

test('emails that a message stopped by itself are named by message and reason', () => {
  const unfit = (emails: number, reason: string) => ({ messageId: 7, emails, reason })
  const items = listAttention({
    ...well,
    ...problems({
      unfit: [unfit(2, 'missing_value'), unfit(1, 'broken_template'), { ...unfit(9, 'x'), messageId: 8 }],
    }),
  })
  expect(items.map(({ text, isBad }) => [text, isBad])).toEqual([
    ["2 emails from “Welcome” weren't sent in the last 7 days: a value was missing.", true],
    ["1 email from “Welcome” wasn't sent in the last 7 days: the template has an error.", true],
  ])
  expect(items[0]?.link.href).toBe(
    '/apps/app_1/deliveries?message=msg_00000000007&state=skipped&reason=missing_value&from=2026-04-27&days=utc&rows=emails',
  )
})

test('drafts are not yet a problem', () => {
  const draft = { ...live, status: 'draft' as const }
  const facts = { ...well, mail: { ...mail, hasSender: false, isCapturing: true }, messages: [draft] }
  expect(listAttention(facts)).toEqual([])
})

test('what loses emails comes first', () => {
  const facts: AttentionFacts & LinkFacts = {
    ...well,
    mail: { ...mail, hasSender: false, isCapturing: true, unverified: ['a.example'] },
    problems: { ...well.problems, failed: 1, captured: 2, unknown: 3 },
    refused: { groups: [{ code: 'x', count: 1 }], isCut: false },
  }
  expect(listAttention(facts).map(({ link }) => link.label)).toEqual([
    'Set a sender address',
    'Show the record to add',
    'See why',
    'Set up a mail server',
    'Review',
    'Show requests',
  ])
})

test('as a text, each names when it began or how long it lasts, and what follows', () => {
  const problem = { what: "The mail server m can't be reached", since: 0, cause: 'Nothing responds.', isWaiting: true }
  const pause = { server: 'm', isOwn: false, reason: 'smtp_421', until: 3_600_000 }
  const write = (changed: Partial<AttentionFacts['mail']>) =>
    listAttention({ ...well, mail: { ...mail, ...changed } }).map((item) => writeItem(item, 'Europe/Berlin'))
  expect(write({ problem })).toEqual([
    "The mail server m can't be reached (since 1 January 1970, 01:00 Europe/Berlin). Emails wait for up to 24 hours.",
  ])
  expect(write({ problem: { ...problem, since: null } })).toEqual([
    "The mail server m can't be reached. Emails wait for up to 24 hours.",
  ])
  expect(write({ pause })).toEqual([
    'The mail server asked Eventpost to pause. Emails wait until 1 January 1970, 02:00 Europe/Berlin.',
  ])
  expect(write({ lostUrl: 'http://localhost' })).toHaveLength(1)
})
