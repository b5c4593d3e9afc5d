import { beforeEach, expect, test } from 'bun:test'
import type { Access } from '../../src/accounts/access.ts'
import { createLimits, type Limits } from '../../src/accounts/limits.ts'
import { limitsOf } from '../../src/accounts/plans.ts'
import { createEventLimit, type TakenFor } from '../../src/accounts/write-limits.ts'
import type { KeyRow, Plan } from '../../src/store/types.ts'

const HOUR = 3_600_000
const WRONG = { refused: { refusal: 'invalid_json' } }
const RIGHT = { contactId: 1 }

let now = 0
const clock = { monotonicMs: () => now, now: () => now, steadyNow: () => now }
let limits: Limits
let events: ReturnType<typeof createEventLimit>
beforeEach(() => {
  now = 0
  limits = createLimits({ clock })
  events = createEventLimit({ limits, clock })
})

function accessOf(eventsPerHour: number, id = 'key_1'): Access {
  const key = { id, name: 'A key' } as KeyRow
  return { key, keyLimits: limitsOf({ key, plan: { eventsPerHour } as Plan }) } as Access
}

/** What has been answered by now; undefined for those that wait. */
async function settled(...all: (TakenFor | Promise<TakenFor>)[]): Promise<(TakenFor | undefined)[]> {
  await Bun.sleep(0)
  return Promise.all(all.map((one) => Promise.race([one, undefined])))
}
const allowed = (all: (TakenFor | undefined)[]) => all.map((one) => one?.taken.allowed)

test('without pending events only the limit applies', () => {
  const access = accessOf(2)
  for (const remaining of [1, 0]) {
    const counted = events.take(access) as TakenFor
    expect(counted).toMatchObject({ taken: { allowed: 1, remaining }, refused: null })
    events.settle(access, counted, RIGHT)
  }
  expect(events.take(access)).toMatchObject({ taken: { allowed: 0 }, refused: { refusal: 'rate_limited' } })
})

test('events wait in order for tokens that may be returned', async () => {
  const access = accessOf(2)
  const [one, two] = [events.take(access), events.take(access)] as [TakenFor, TakenFor]
  const waiting = [1, 2, 3].map(() => events.take(access))
  expect(allowed(await settled(...waiting))).toEqual([undefined, undefined, undefined])
  expect(events.settle(access, one, WRONG).taken).toMatchObject({ remaining: 1 })
  const [third, ...others] = await settled(...waiting)
  expect(allowed([third, ...others])).toEqual([1, undefined, undefined])
  events.settle(access, two, RIGHT)
  expect(allowed(await settled(...waiting.slice(1)))).toEqual([undefined, undefined])
  events.settle(access, third as TakenFor, WRONG)
  expect(allowed(await settled(...waiting.slice(1)))).toEqual([1, undefined])
  events.settle(access, (await waiting[1]) as TakenFor, RIGHT)
  expect(allowed(await settled(...waiting.slice(2)))).toEqual([0])
})

test('no event overtakes waiting ones', async () => {
  const access = accessOf(1)
  const one = events.take(access) as TakenFor
  const waiting = events.take(access)
  now = HOUR
  const late = events.take(access)
  expect(allowed(await settled(waiting, late))).toEqual([undefined, undefined])
  events.settle(access, one, RIGHT)
  expect(allowed(await settled(waiting, late))).toEqual([1, undefined])
  events.settle(access, (await waiting) as TakenFor, RIGHT)
  expect(allowed(await settled(late))).toEqual([0])
})

test('keys do not wait for each other, and a refused request is not pending', async () => {
  const [access, other] = [accessOf(1), accessOf(1, 'key_2')]
  const one = events.take(access) as TakenFor
  expect(allowed(await settled(events.take(other)))).toEqual([1])
  events.settle(access, one, RIGHT)
  const refused = events.take(access) as TakenFor
  expect(refused.refused?.refusal).toBe('rate_limited')
  expect(allowed(await settled(events.take(access)))).toEqual([0])
  expect(events.settle(access, refused, WRONG)).toBe(refused)
  expect(events.settle(access, refused, { ...RIGHT, replayed: true }).taken.remaining).toBe(0)
})

test.each<[string, object, number]>([
  ['recorded', RIGHT, 0],
  ['somebody unknown', { refusal: 'contact_not_found', appId: 1 }, 0],
  ['a commit that nobody knows of', { refusal: 'commit_unconfirmed' }, 0],
  ['wrong', WRONG, 1],
  ['recorded before', { ...RIGHT, replayed: true }, 1],
  ["another request's key", { refusal: 'idempotency_mismatch' }, 1],
  ['not saved', { refusal: 'unavailable' }, 1],
])('returned tokens: %s', (_name, outcome, remaining) => {
  const access = accessOf(1)
  expect(events.settle(access, events.take(access) as TakenFor, outcome).taken.remaining).toBe(remaining)
})

test('returned tokens go to waiting events', async () => {
  const access = accessOf(2)
  const [one, two] = [events.take(access), events.take(access)] as [TakenFor, TakenFor]
  const waiting = [events.take(access), events.take(access)]
  now = HOUR
  events.settle(access, one, RIGHT)
  events.settle(access, two, RIGHT)
  expect(allowed(await settled(...waiting))).toEqual([1, 1])
})
