import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { hasApiKeyShape, hashApiKey, KEY_SCOPES, makeApiKey, readBearer } from '../../src/accounts/api-keys.ts'
import { growthTo, MOST_GROWTH } from '../waiting.ts'

const ZERO_KEY = makeApiKey((count) => new Uint8Array(count))

/** The checksum computed independently: zlib's CRC-32 in base 62 with BigInt. */
function checksumOf(checked: string): string {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const value = BigInt(crc32(checked))
  return [5n, 4n, 3n, 2n, 1n, 0n].map((place) => alphabet[Number((value / 62n ** place) % 62n)]).join('')
}

describe('makeApiKey', () => {
  test('returns mc_, 30 random characters and a checksum of 6', () => {
    for (let i = 0; i < 1_000; i++) {
      const key = makeApiKey()
      expect(key).toMatch(/^mc_[0-9A-Za-z]{36}$/)
      expect(key.slice(33)).toBe(checksumOf(key.slice(0, 33)))
      expect(hasApiKeyShape(key)).toBe(true)
    }
  })

  test('a fixed key stays fixed: keys made by older releases keep working', () => {
    expect(ZERO_KEY).toBe(`mc_${'0'.repeat(30)}${checksumOf(`mc_${'0'.repeat(30)}`)}`)
    expect(ZERO_KEY).toBe('mc_0000000000000000000000000000000F70n1')
  })

  test('two keys are never the same', () => {
    expect(new Set(Array.from({ length: 10_000 }, () => makeApiKey())).size).toBe(10_000)
  })
})

describe('hasApiKeyShape', () => {
  test.each([
    ['nothing', ''],
    ['the prefix', 'mc_'],
    ['one character less', ZERO_KEY.slice(0, -1)],
    ['one more', `${ZERO_KEY}0`],
    ['another prefix', `MC_${ZERO_KEY.slice(3)}`],
    ['a space before', ` ${ZERO_KEY.slice(0, -1)}`],
    ['a line feed after', `${ZERO_KEY}\n`],
    ['a character outside the alphabet, checksum right', `mc_${'-'.repeat(30)}${checksumOf(`mc_${'-'.repeat(30)}`)}`],
    ['a letter that is not ASCII, checksum right', `mc_${'é'.repeat(30)}${checksumOf(`mc_${'é'.repeat(30)}`)}`],
    ['two characters swapped', `mc_10${ZERO_KEY.slice(5)}`],
    ['another checksum', `${ZERO_KEY.slice(0, -1)}!`],
    ['a megabyte', 'mc_'.repeat(350_000)],
  ])('refuses %s', (_, text) => {
    expect(hasApiKeyShape(text)).toBe(false)
  })

  test('detects any changed character', () => {
    const key = makeApiKey()
    for (let i = 0; i < key.length; i++) {
      const other = key[i] === 'x' ? 'y' : 'x'
      expect(hasApiKeyShape(key.slice(0, i) + other + key.slice(i + 1))).toBe(false)
    }
  })
})

describe('hashApiKey', () => {
  test('is SHA-256 in base64url', () => {
    expect(hashApiKey('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
    for (const key of [ZERO_KEY, makeApiKey(), '']) {
      expect(hashApiKey(key)).toBe(createHash('sha256').update(key).digest('base64url'))
    }
  })
})

describe('readBearer', () => {
  test.each([
    [`Bearer ${ZERO_KEY}`, ZERO_KEY],
    [`bearer ${ZERO_KEY}`, ZERO_KEY],
    [`BEARER   ${ZERO_KEY}`, ZERO_KEY],
    ['Bearer a-b.c~d+e/f_g==', 'a-b.c~d+e/f_g=='],
    [null, null],
    ['', null],
    ['Bearer', null],
    ['Bearer ', null],
    [ZERO_KEY, null],
    [` Bearer ${ZERO_KEY}`, null],
    [`Bearer\t${ZERO_KEY}`, null],
    [`Bearer${ZERO_KEY}`, null],
    [`Bearer ${ZERO_KEY} `, null],
    [`Bearer ${ZERO_KEY} x`, null],
    [`Bearer ${ZERO_KEY}, Bearer x`, null],
    [`Bearer ${ZERO_KEY}\n`, null],
    [`Bearer "${ZERO_KEY}"`, null],
    [`Basic ${ZERO_KEY}`, null],
    [`Bearer =`, null],
  ])('%j is %j', (header, token) => {
    expect(readBearer(header)).toBe(token)
  })

  test.each(['=', ' ', 'a'])('a long empty header is read in linear time: %j', (letter) => {
    const read = (count: number): void => expect(readBearer(`Bearer ${letter.repeat(count)}!`)).toBe(null)
    expect(growthTo(160_000, read)).toBeLessThan(MOST_GROWTH)
  })
})

test('the scopes are fixed', () => {
  expect(KEY_SCOPES).toEqual(['standard', 'ingest', 'manage'])
})
