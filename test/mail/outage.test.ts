/** Whether a mail server takes emails at all. */
import { describe, expect, test } from 'bun:test'
import { createOutageWatch } from '../../src/mail/outage.ts'
import type { Outcome } from '../../src/mail/provider.ts'
import { DAY, HOUR } from '../helper.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const refusal = (code: number, answer = ''): Outcome => ({
  is: 'refused',
  code,
  enhanced: null,
  answer,
  about: 'recipient',
})
const SENT: Outcome = { is: 'sent' }

function watch() {
  let now = 0
  const outage = createOutageWatch({ monotonicMs: () => now })
  return {
    ...outage,
    pass: (ms: number): void => void (now += ms),
    try: (to: string, outcome: Outcome): void => outage.begin(to).end(outcome),
  }
}

const THREE = ['a@example.com', 'b@example.com', 'c@example.com']

describe('an outage', () => {
  test('begins half a minute after three people were refused for now', () => {
    const server = watch()
    for (const to of THREE) server.try(to, refusal(451))
    expect(server.find()).toBe(null)
    server.pass(30 * SECOND)
    expect(server.find()).toEqual({ how: 'refused', reason: 'smtp_451' })
  })

  test.each([false, true])('begins while three emails get no answer for half a minute, sent: %p', (isHanded) => {
    const server = watch()
    const open = THREE.map((to) => server.begin(to))
    if (isHanded) for (const one of open) one.hand()
    server.pass(29 * SECOND)
    expect(server.find()).toBe(null)
    server.pass(SECOND)
    expect(server.find()).toEqual({ how: isHanded ? 'unconfirmed' : 'silent', reason: 'etimedout' })
    for (const one of open) one.end({ is: 'unknown', reason: 'etimedout' })
    expect(server.find()?.how).toBe('unconfirmed')
  })

  test('that began before the server could not be reached goes on, and later failures are forgotten', () => {
    const server = watch()
    for (const to of THREE) server.try(to, refusal(451))
    server.pass(30 * SECOND)
    server.forgetSince(30 * SECOND)
    expect(server.find()).toEqual({ how: 'refused', reason: 'smtp_451' })
    server.forgetSince(0)
    expect(server.find()).toBe(null)
  })

  test('of a server with few emails begins after ten minutes', () => {
    const server = watch()
    for (const to of THREE.slice(1)) server.try(to, { is: 'unreachable', reason: 'etimedout' })
    server.pass(9 * MINUTE)
    expect(server.find()).toBe(null)
    server.pass(MINUTE)
    expect(server.find()).toEqual({ how: 'silent', reason: 'etimedout' })
  })

  test('ends with the first email that gets through, of a test too', () => {
    for (const isTest of [false, true]) {
      const server = watch()
      for (const to of THREE) server.try(to, refusal(451))
      server.pass(HOUR)
      expect(server.find()).not.toBe(null)
      if (isTest) server.noteSent()
      else server.try('d@example.com', SENT)
      expect([server.find(), server.isSeen()]).toEqual([null, true])
    }
  })

  test('is forgotten after a day without another email', () => {
    const server = watch()
    for (const to of THREE) server.try(to, refusal(451))
    server.pass(DAY + SECOND)
    expect(server.find()).toBe(null)
  })
})

describe('no outage is', () => {
  const never = (name: string, act: (server: ReturnType<typeof watch>) => void) =>
    test(name, () => {
      const server = watch()
      act(server)
      server.pass(HOUR)
      expect(server.find()).toBe(null)
    })

  never('one recipient who is refused again and again', (server) => {
    for (let count = 0; count < 50; count++) {
      server.try('a@example.com', refusal(451))
      server.pass(MINUTE)
    }
  })
  never('a few recipients who are greylisted', (server) => {
    for (const to of THREE) server.try(to, refusal(451, '451 4.7.1 greylisted'))
  })
  never('mailboxes that do not exist', (server) => {
    for (let count = 0; count < 50; count++) server.try(`p${count}@example.com`, refusal(550))
  })
  never('a limit that the server names', (server) => {
    for (const to of THREE) server.try(to, refusal(451, '451 too many emails per hour'))
  })
  never('a refusal between others that get through', (server) => {
    for (const to of THREE) {
      server.try(to, refusal(451))
      server.try('d@example.com', SENT)
    }
  })
  test('a server that is as slow as before', () => {
    const server = watch()
    const first = server.begin('a@example.com')
    server.pass(MINUTE)
    first.end(SENT)
    for (const to of THREE) server.begin(to)
    server.pass(90 * SECOND)
    expect(server.find()).toBe(null)
    server.pass(MINUTE)
    expect(server.find()).not.toBe(null)
  })
})
