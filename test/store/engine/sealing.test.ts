import { describe, expect, test } from 'bun:test'
import { StoreError } from '../../../src/store/engine/errors.ts'
import { createSealer, SEALED_PREFIX } from '../../../src/store/engine/sealing.ts'

const KEY = 'the first key that is long enough'
const PLACE = 'identity_secrets.secret:sec_1'
const sealer = createSealer(KEY)
const NONE_MESSAGE =
  'The secrets in this database are encrypted. Set EVENTPOST_MASTER_KEY to the key they were encrypted with.'
const OTHER_MESSAGE =
  'The secrets in this database are encrypted with a different key, or were modified. Set EVENTPOST_MASTER_KEY to the key they were encrypted with.'

const refuses = (unseal: () => string, message: string): void => {
  expect(unseal).toThrow(StoreError)
  expect(unseal).toThrow(new StoreError('sealed', message))
}

describe('a sealed text', () => {
  test.each(['hush', '', 'Zürich 🔑', 'x'.repeat(100)])('opens with the key: %p', (text) => {
    const sealed = sealer.seal(text, PLACE)
    expect(sealed).toMatch(/^sealed:v1:[\w-]+$/)
    expect(sealed.length).toBe(SEALED_PREFIX.length + Math.ceil(((Buffer.byteLength(text) + 28) * 4) / 3))
    expect(createSealer(KEY).unseal(sealed, PLACE)).toBe(text)
  })

  test('looks different each time', () => {
    expect(sealer.seal('hush', PLACE)).not.toBe(sealer.seal('hush', PLACE))
  })

  test('does not open without the key, or with another', () => {
    const sealed = sealer.seal('hush', PLACE)
    refuses(() => createSealer(null).unseal(sealed, PLACE), NONE_MESSAGE)
    refuses(() => createSealer('another key that is long enough too').unseal(sealed, PLACE), OTHER_MESSAGE)
  })

  test('does not open in the place of another', () => {
    refuses(() => sealer.unseal(sealer.seal('hush', PLACE), 'identity_secrets.secret:sec_2'), OTHER_MESSAGE)
  })

  test('does not open if any byte is changed, cut off or missing', () => {
    const bytes = Buffer.from(sealer.seal('hush', PLACE).slice(SEALED_PREFIX.length), 'base64url')
    const changed = [...bytes.keys()].map((at) => bytes.with(at, (bytes[at] ?? 0) ^ 1))
    const cut = [...bytes.keys()].map((length) => bytes.subarray(0, length))
    expect(changed.length).toBe(32)
    for (const wrong of [...changed, ...cut]) {
      refuses(() => sealer.unseal(SEALED_PREFIX + Buffer.from(wrong).toString('base64url'), PLACE), OTHER_MESSAGE)
    }
  })
})

describe('an unsealed text', () => {
  test('is unchanged with and without a key', () => {
    for (const one of [sealer, createSealer(null)]) {
      expect(one.unseal('smtp://user:hush@mail.example.com', PLACE)).toBe('smtp://user:hush@mail.example.com')
    }
  })

  test('stays unsealed without a key', () => {
    expect(createSealer(null).seal('hush', PLACE)).toBe('hush')
  })
})
