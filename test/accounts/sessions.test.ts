import { makeDataFolder, openTestStore } from '../data-folder.ts'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { createAccount } from '../../src/accounts/accounts.ts'
import { createSessions, type Sessions } from '../../src/accounts/sessions.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import type { Store } from '../../src/store/store.ts'

const HOUR = 3_600_000
const clock = {
  wall: 0,
  mono: 0,
  now: () => clock.wall,
  monotonicMs: () => clock.mono,
  steadyNow: () => clock.mono,
}

let folder: string
let store: Store
let sessions: Sessions
let token = ''

beforeEach(async () => {
  Object.assign(clock, { wall: Date.UTC(2026, 4, 3), mono: 5_000 })
  folder = await makeDataFolder()
  store = await openTestStore(folder, { rules: STORE_RULES })
  sessions = createSessions({ store, clock })
  const beginning = { email: 'ada@example.com', passwordHash: 'argon', appName: 'Ada', domains: [], home: null }
  await createAccount({ store, now: clock.now(), actor: 'test' }, beginning, { onlyFirst: true, setupToken: null })
  const member = await store.findMember('ada@example.com')
  if (!member) throw new Error('no member')
  const started = await sessions.start(
    { member, passwordHash: 'argon' },
    { browser: 'Firefox', address: 'a', replaces: null },
  )
  token = 'token' in started ? started.token : ''
  expect(await sessions.find(token)).not.toBeNull()
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const pass = (ms: number): void => {
  clock.wall += ms
  clock.mono += ms
}

test('a clock step of a day ends no active session', async () => {
  clock.wall += 24 * HOUR
  await store.cleanUp({ at: clock.now() })
  expect(await sessions.find(token)).not.toBeNull()
  clock.wall -= 48 * HOUR
  expect(await sessions.find(token)).not.toBeNull()
})

test('a clock set back does not extend a session', async () => {
  clock.wall -= 24 * HOUR
  clock.mono += 12 * HOUR
  expect(await sessions.find(token)).toBeNull()
})

test('after a restart the stored time applies', async () => {
  pass(6 * HOUR)
  expect(await sessions.find(token)).not.toBeNull()
  pass(12 * HOUR - 1)
  expect(await createSessions({ store, clock }).find(token)).not.toBeNull()
  pass(12 * HOUR)
  expect(await createSessions({ store, clock }).find(token)).toBeNull()
})

test('saves the use of a session once a minute', async () => {
  const saved: number[] = []
  const { touchSession } = store
  store.touchSession = (input) => (saved.push(input.at), touchSession(input))
  for (let i = 0; i < 130; i++) {
    pass(1_000)
    await sessions.find(token)
  }
  expect(saved).toHaveLength(2)
})
