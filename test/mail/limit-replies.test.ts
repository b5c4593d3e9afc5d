import { describe, expect, test } from 'bun:test'
import { mayBeLimit, readLimit } from '../../src/mail/limit-replies.ts'

const read = (answer: string) => {
  const [, code = '', enhanced = null] = /^(\d{3})(?: (\d\.\d+\.\d+))?/.exec(answer) ?? []
  const refusal = { code: Number(code), enhanced, answer }
  return [readLimit(refusal), mayBeLimit(refusal)]
}

describe('a limit that the reply names', () => {
  test.each([
    '454 4.7.0 Throttling failure: Maximum sending rate exceeded.',
    '454 4.7.0 Throttling failure: Daily message quota exceeded.',
    '421 4.7.28 Our system has detected an unusual rate of unsolicited mail.',
    '450 4.7.1 Error: too much mail from 192.0.2.1',
    '450 4.7.1 Hourly limit exceeded',
    '451 4.7.1 Resources temporarily limited. Please try again later.',
    '452 4.5.3 Too many recipients this hour',
    '421 4.7.0 Connection rate limit exceeded',
    '432 4.3.2 STOREDRV.ClientSubmit; sender thread limit exceeded',
    '450 You have sent too many emails, slow down',
    '452 200 messages per hour are allowed',
  ])('%s', (answer) => expect(read(answer)[0]).toBe('rate'))

  test.each([
    '421 4.7.0 Error: too many connections from 192.0.2.1',
    '421 Too many concurrent SMTP connections from this IP address; please try again later.',
    '450 4.3.2 Concurrent connections limit exceeded',
    '421 4.4.5 Too many simultaneous sessions',
  ])('of connections: %s', (answer) => expect(read(answer)[0]).toBe('connections'))
})

describe('no limit, whoever else is refused', () => {
  test.each([
    '450 4.2.0 ada@example.com: Recipient address rejected: Greylisted',
    '451 4.7.1 Greylisting in action, please come back in 00:05:00',
    '450 4.7.1 Graylisted, try again later',
    '452 4.2.2 The recipient is over quota',
    '450 Mailbox quota exceeded',
    '450 4.2.1 The user is receiving mail too quickly',
    '450 4.1.8 Sender address rejected: Domain not found',
  ])('%s', (answer) => expect(read(answer)).toEqual([null, false]))

  test.each([
    '550 5.4.5 Daily sending quota exceeded',
    '535 Too many login attempts',
    '552 Message size limit exceeded',
  ])('a permanent refusal: %s', (answer) => expect(read(answer)).toEqual([null, false]))
})

describe('perhaps a limit', () => {
  test.each([
    '421 Service not available',
    '450 Try again later',
    '451 4.3.0 Temporary lookup failure',
    '452 4.3.1 Insufficient system storage',
    '454 4.7.0 Temporary authentication failure',
    '421 4.4.2 Timeout exceeded',
  ])('%s', (answer) => expect(read(answer)).toEqual([null, true]))
})
