import { makeDataFolder, openTestStore } from '../data-folder.ts'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { createAccount } from '../../src/accounts/accounts.ts'
import { createSecondSteps } from '../../src/accounts/second-steps.ts'
import type { Proof } from '../../src/accounts/sessions.ts'
import type { SignInNotes } from '../../src/accounts/sign-in-notes.ts'
import { createSignInTries } from '../../src/accounts/sign-in-tries.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import type { Store } from '../../src/store/store.ts'

const MINUTE = 60_000
const NO_NOTES = { noteFailure: () => {} } as unknown as SignInNotes
const MOST_WAITING = 10_000
const clock = { wall: 0, mono: 0, now: () => clock.wall, monotonicMs: () => clock.mono, steadyNow: () => clock.mono }

let folder: string
let store: Store
let proof: Proof
let steps: ReturnType<typeof createSecondSteps>

beforeEach(async () => {
  Object.assign(clock, { wall: Date.UTC(2026, 4, 3), mono: 5_000 })
  folder = await makeDataFolder()
  store = await openTestStore(folder, { rules: STORE_RULES })
  const beginning = { email: 'ada@example.com', passwordHash: 'argon', appName: 'Ada', domains: [], home: null }
  await createAccount({ store, now: clock.now(), actor: 'test' }, beginning, { onlyFirst: true, setupToken: null })
  const member = await store.findMember('ada@example.com')
  if (!member) throw new Error('no member')
  proof = { member, passwordHash: 'argon' }
  steps = createSecondSteps({
    store,
    clock,
    tries: createSignInTries({ clock, addressKey: 'k' }),
    signInNotes: NO_NOTES,
  })
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

async function turnOn(): Promise<void> {
  const memberId = proof.member.id
  await store.startTwoStep({ memberId, secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', at: clock.wall })
  const on = { at: clock.wall, memberId, startedAt: clock.wall, step: 1, sessionId: '' }
  await store.turnOnTwoStep({ ...on, codeHashes: ['x'] })
}

const ask = async (): Promise<string> => (await steps.ask(proof)) ?? ''

test('is required when on, not during set-up', async () => {
  expect(await steps.ask(proof)).toBeNull()
  await store.startTwoStep({ memberId: proof.member.id, secret: 'GEZDGNBVGY3TQOJQ', at: clock.wall - 1 })
  expect(await steps.ask(proof)).toBeNull()
  await store.turnOffTwoStep({ memberId: proof.member.id, at: clock.wall })
  await turnOn()
  const tokens = [await ask(), await ask()]
  expect(tokens).toEqual([expect.stringMatching(/^\w{43}$/), expect.stringMatching(/^\w{43}$/)])
  expect(tokens[0]).not.toBe(tokens[1])
})

test('a clock step of a day does not change pending sign-ins', async () => {
  await turnOn()
  const token = await ask()
  clock.wall += 24 * 60 * MINUTE
  expect(steps.findMember(token)?.email).toBe('ada@example.com')
  clock.wall -= 48 * 60 * MINUTE
  clock.mono += 5 * MINUTE - 1
  expect(steps.findMember(token)?.email).toBe('ada@example.com')
  clock.mono += 1
  expect(steps.findMember(token)).toBeNull()
})

test('drops the oldest when full', async () => {
  await turnOn()
  const first = await ask()
  const second = await ask()
  for (let i = 2; i < MOST_WAITING; i++) await ask()
  expect(steps.findMember(first)).not.toBeNull()
  const last = await ask()
  expect([first, second, last].map((token) => steps.findMember(token) !== null)).toEqual([false, true, true])
})
