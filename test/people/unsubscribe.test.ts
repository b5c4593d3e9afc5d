import { describe, expect, test } from 'bun:test'
import { makeUnsubscribeToken, readUnsubscribeToken, unsubscribeUrl } from '../../src/people/unsubscribe.ts'

const ID = 2 ** 53 - 17

describe('a token', () => {
  test('is short, and says who to those who know the key', () => {
    const token = makeUnsubscribeToken('key', ID)
    expect(token).toMatch(/^[\w-]{32}$/)
    expect(readUnsubscribeToken('key', token)).toBe(ID)
    expect(unsubscribeUrl('https://post.example.com', 'key', ID)).toBe(`https://post.example.com/u/${token}`)
    expect(readUnsubscribeToken('key', makeUnsubscribeToken('key', 0))).toBe(0)
  })

  test('of another key, or changed in any character, is none', () => {
    const token = makeUnsubscribeToken('key', ID)
    expect(readUnsubscribeToken('other', token)).toBeNull()
    const changed = Array.from(token, (one, at) => token.slice(0, at) + (one === 'A' ? 'B' : 'A') + token.slice(at + 1))
    expect(changed.map((text) => readUnsubscribeToken('key', text))).toEqual(changed.map(() => null))
  })

  test.each(['', 'x', 'preview', 'test', 'A'.repeat(31), 'A'.repeat(33), `${'A'.repeat(31)}\n`, `${'A'.repeat(31)}=`])(
    'is not %p',
    (text) => {
      expect(readUnsubscribeToken('key', text)).toBeNull()
    },
  )
})
