import { describe, expect, test } from 'bun:test'
import commonPasswords from '@zxcvbn-ts/language-common/src/passwords.json' with { type: 'text' }
import { findPasswordFault, PASSWORD_MIN_CHARACTERS } from '../../src/core/passwords.ts'

const COMMON = 'This password is one of the first that others would try. Choose another.'

describe('a password that is tried first is refused', () => {
  test('of the most common ones that are long enough, at least the 3,000 that ASVS 6.2.4 asks for', () => {
    const long = (JSON.parse(commonPasswords) as string[]).filter((text) => text.length >= PASSWORD_MIN_CHARACTERS)
    const most = long.slice(0, 3_000)
    expect(new Set(most).size).toBe(3_000)
    expect(most.filter((text) => findPasswordFault(text) !== COMMON)).toEqual([])
  })

  test.each([
    'password',
    'Password123',
    'TRUSTNO1',
    'Eventpost',
    'eventpost1',
    'aaaaaaaa',
    '00000000',
    '12341234',
    'abcabcabc',
    '12345678',
    '87654321',
    '01234567890',
    'abcdefgh',
    'zyxwvuts',
  ])('%s', (password) => expect(findPasswordFault(password)).toBe(COMMON))
})

test.each(['correct horse battery', 'four dull wooden spoons', 'aaaaaaab', '1234123412', 'éèàüöäçñ', 'eventposter'])(
  '%s is taken',
  (password) => expect(findPasswordFault(password)).toBe(null),
)

test.each([
  ['', 'Choose a password of at least 8 characters.'],
  ['\u{1f980}'.repeat(7), 'Choose a password of at least 8 characters.'],
  ['\u{1f980}1'.repeat(64) + '!', 'Choose a password of at most 128 characters.'],
])('%p is too short or too long', (password, fault) => expect(findPasswordFault(password)).toBe(fault))
