import { describe, expect, test } from 'bun:test'
import { ERROR_CODES } from 'nodemailer/lib/errors.js'
import { describeServerFault, REASON_TEXTS } from '../../src/deliveries/describe-reason.ts'
import { CANCELLATION_REASONS, SUPPRESSION_REASONS } from '../../src/store/message-types.ts'
import { say } from './explaining.ts'

describe('each reason has its own sentence', () => {
  const decided = [
    'never_reported',
    'date_changed',
    'active_again',
    'no_page',
    'message_paused',
    'again',
    'cancelled',
    'gave_up',
    'window',
    'unsure',
    'perDay',
    'perWeek',
    'brake',
    'holdback',
    'gone',
  ]
  const writing = ['missing_value', 'broken_template', 'empty_mail', 'template_slow', 'template_too_slow']
  const sending = [
    ...writing,
    'no_sender',
    'sender_not_listed',
    'sender_unverified',
    'smtp_url',
    'dkim_key',
    'error',
    'not_saved',
  ]
  const server = [
    'server_paused',
    'server_limited',
    'sender_paused',
    'stopped',
    'restored',
    'no_mailbox',
    'provider_suppressed',
    'unknown',
    'erefused',
    'euntrusted',
    'eexpired',
    'ename',
    'eplain',
    'eprivate',
    'eshared',
    'enologin',
  ]
  /** For features of nodemailer that we don't use. */
  const foreign = ['EOTP', 'EOAUTH2', 'EMAXLIMIT', 'EMAXRECIPIENTS', 'ESENDMAIL', 'ESES', 'ECONFIG', 'EPROXY']
  const unused = [...foreign, 'EFILEACCESS', 'EURLACCESS', 'EFETCH']
  const network = Object.keys(ERROR_CODES)
    .filter((code) => !unused.includes(code))
    .map((code) => code.toLowerCase())
  const codes = [
    ...Object.values(CANCELLATION_REASONS),
    'came_back',
    'left_too_recently',
    ...SUPPRESSION_REASONS,
    'pending',
    'not_pending',
    'topic',
    ...decided,
    ...sending,
    ...server,
    ...network,
  ]

  test.each(codes)('%s', (code) => expect(say({ reason: code })).toMatch(/^[A-Z][^()]+\.$/))
  test('there are no other reasons', () => expect([...REASON_TEXTS.keys()].sort()).toEqual([...new Set(codes)].sort()))
})

test('a server that does not answer in time may be no mail server', () => {
  expect(describeServerFault('etimedout', 'web.example.com:80')).toBe(
    'web.example.com:80 did not respond in time. Check that it is a mail server, and check the port: usually 587 with STARTTLS or 465 with TLS.',
  )
})
