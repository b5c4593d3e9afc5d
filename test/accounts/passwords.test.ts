import { describe, expect, test } from 'bun:test'
import commonPasswords from '@zxcvbn-ts/language-common/src/passwords.json' with { type: 'text' }
import {
  findPasswordFault as findFault,
  hashPassword,
  isPasswordOf,
  PASSWORD_MIN_CHARACTERS,
} from '../../src/accounts/passwords.ts'

const ADA = { email: 'ada.lovelace@analytical.example', names: ['Ärger & Söhne', 'Engine', 'Go'] }
const findPasswordFault = (password: string) => findFault(password, ADA)
const COMMON = 'This password is too common. Choose another.'

describe('refuses a password that attackers try first', () => {
  test('refuses at least 3,000 common passwords (ASVS 6.2.4)', () => {
    const long = (JSON.parse(commonPasswords) as string[]).filter((text) => text.length >= PASSWORD_MIN_CHARACTERS)
    const most = long.slice(0, 3_000)
    expect(new Set(most).size).toBe(3_000)
    expect(most.filter((text) => findPasswordFault(text) !== COMMON)).toEqual([])
  })

  test.each([
    'password',
    'Password123',
    'TRUSTNO1',
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

describe('refuses a password made of the email or a name', () => {
  test.each([
    'ada.lovelace@analytical.example',
    'ADA.LOVELACE@analytical.example!',
    'adalovelace',
    'Lovelace1815',
    'lovelace!!',
    'L0vel4ce',
    '4d4.l0v3l4c3',
    'ecalevol',
    'analytical',
    'analytical.example',
    'analyt1cal99',
    'Engine2026',
    'Engine123456',
    'engineengine',
    '3ng1n3-3ng1n3',
    'Engine-password',
    'Ärger & Söhne',
    'arger-sohne-1',
    'ArgerArger1',
    'Eventpost',
    'eventpost1',
    'eventposter',
    'Adas engine',
  ])('%s', (password) => {
    expect(findPasswordFault(password)).toBe(
      'This password is too similar to your email or to the name of your account or app. Choose another.',
    )
  })
})

test.each([
  'correct horse battery',
  'four dull wooden spoons',
  'aaaaaaab',
  '1234123412',
  'éèàüöäçñ',
  'engine of forty spoons',
  'Engine 84729163',
  'lovelace wrote this',
  'gorilla glue',
])('accepts %s', (password) => expect(findPasswordFault(password)).toBe(null))

test('a password is compared exactly as typed, whatever its characters', async () => {
  const password = ' Größe\tund 🦀 Blanks '
  const hash = await hashPassword(password)
  expect(hash).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
  expect(await isPasswordOf(hash, password)).toBe(true)
  for (const other of [password.trim(), password.toLowerCase(), password.normalize('NFD'), password.slice(0, -1)])
    expect(await isPasswordOf(hash, other)).toBe(false)
  expect(await isPasswordOf(null, password)).toBe(false)
})

test.each([
  ['', 'Choose a password of at least 8 characters.'],
  ['\u{1f980}'.repeat(7), 'Choose a password of at least 8 characters.'],
  ['\u{1f980}1'.repeat(64) + '!', 'Choose a password of at most 128 characters.'],
])('%p is too short or too long', (password, fault) => expect(findPasswordFault(password)).toBe(fault))
