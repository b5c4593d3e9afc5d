import { describe, expect, test } from 'bun:test'
import { makeConfirmToken, mayAskFrom, readConfirmToken, refuseConsent } from '../../src/people/consent.ts'
import { makeUnsubscribeToken } from '../../src/people/unsubscribe.ts'
import type { ConsentSource } from '../../src/store/types.ts'
import { DAY, HOUR } from '../durations.ts'

const AT = 1_800_000_000_000
const LINK = { consentId: 2 ** 53 - 17, expiresAt: AT }

describe('a token', () => {
  test('is short, and names the request and its end to holders of the key', () => {
    const token = makeConfirmToken('key', LINK)
    expect(token).toMatch(/^[\w-]{38}$/)
    expect(readConfirmToken('key', token)).toEqual(LINK)
    expect(readConfirmToken('other', token)).toBeNull()
  })

  test('with any change is invalid', () => {
    const token = makeConfirmToken('key', LINK)
    const changed = Array.from(token, (one, at) => token.slice(0, at) + (one === 'A' ? 'B' : 'A') + token.slice(at + 1))
    // the last character has bits to spare
    expect(changed.slice(0, -1).map((text) => readConfirmToken('key', text))).toEqual(changed.slice(1).map(() => null))
    for (const text of [
      '',
      'test',
      `${token}=`,
      ` ${token}`,
      makeUnsubscribeToken('key', { contactId: 1, topicId: null }),
    ])
      expect(readConfirmToken('key', text)).toBeNull()
  })
})

test.each<[name: string, source: ConsentSource, asked: number[], from: number]>([
  ['nobody was asked', 'api', [], AT],
  ['a call, a moment later', 'api', [AT], AT + DAY],
  ['a call, a day later', 'mcp', [AT - DAY], AT],
  ['a call, after three within 30 days', 'api', [AT - 2 * DAY, AT - 20 * DAY, AT - 29 * DAY], AT + DAY],
  ['a call, after three in any order', 'api', [AT - 29 * DAY, AT - 2 * DAY, AT - 31 * DAY], AT],
  ['the person, a moment later', 'page', [AT - 1], AT - 1 + HOUR],
  ['the person, an hour later', 'page', [AT - HOUR, AT - HOUR - 1, AT - HOUR - 2], AT],
  ['a member, a moment later', 'dashboard', [AT], AT + HOUR],
])('who may ask again: %s', (_, source, asked, from) => expect(mayAskFrom(source, asked, AT)).toBe(from))

test('nobody is added with consent pending while double opt-in is off', async () => {
  const storeOf = (optIn: object | null) => ({ mailSettings: async () => ({ optIn }) }) as never
  const refuse = (optIn: object | null, consent?: 'pending') => refuseConsent(storeOf(optIn), { id: 1 }, { consent })
  expect(await refuse({ isOn: true }, 'pending')).toBeNull()
  expect(await refuse(null)).toBeNull()
  for (const off of [null, { isOn: false }])
    expect(await refuse(off, 'pending')).toMatchObject({ refusal: 'invalid_field', field: 'consent' })
})
