import { makeDataFolder, openTestStore } from '../data-folder.ts'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { createAccount } from '../../src/accounts/accounts.ts'
import { type AccountText, readAccountInput } from '../../src/accounts/account-input.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import type { Store } from '../../src/store/store.ts'

const TYPED: AccountText = { email: 'ada@example.com', appName: ' Engine ', domains: [], home: null }

describe('an account', () => {
  let folder: string
  let store: Store
  beforeAll(async () => {
    folder = await makeDataFolder()
    store = await openTestStore(folder, { rules: STORE_RULES })
  })
  afterAll(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })

  test.each([
    [undefined, 'Engine'],
    [null, 'Engine'],
    [' Difference ', 'Difference'],
  ])('named %p gets the name %p', async (name, called) => {
    const reading = readAccountInput({ ...TYPED, name })
    if ('errors' in reading) throw new Error(reading.errors.join())
    const maker = { store, now: 1, actor: 'test' }
    const begun = await createAccount(
      maker,
      { ...reading.input, passwordHash: null },
      { onlyFirst: false, setupToken: null },
    )
    const account = 'refusal' in begun ? null : await store.findAccount(begun.accountId)
    expect(account?.name).toBe(called)
  })
})

test.each(['', ' ', 'x'.repeat(101), 'two\nlines', '\u200b', 'a\u202eb', '\u115f'])('refuses the name %p', (name) => {
  const message = 'Enter a name of 1 to 100 characters for the account.'
  expect(readAccountInput({ ...TYPED, name })).toEqual({ errors: [{ field: 'name', code: 'invalid', message }] })
})

test('reports all errors at once', () => {
  const reading = readAccountInput({ email: 'x', name: '', appName: '', domains: ['https://'], home: 'x' })
  expect('errors' in reading && reading.errors.map(({ field }) => field)).toEqual([
    'email',
    'app',
    'domain',
    'home',
    'name',
  ])
})
