/** Which locks a group takes, in which order. The answers are made up. */
import { expect, test } from 'bun:test'
import { createIdSequence } from '../../../src/core/ids.ts'
import { NO_READER } from '../../../src/store/event-texts.ts'
import type { Run } from '../../../src/store/postgres/connection.ts'
import { Outdated } from '../../../src/store/postgres/faults.ts'
import { createPostgresParts } from '../../../src/store/postgres/parts.ts'
import { lockPeopleOf } from '../../../src/store/postgres/people-locks.ts'
import type { PersonKey } from '../../../src/store/people.ts'
import type { Job } from '../../../src/store/writes.ts'
import { BY, eventWrite } from '../samples.ts'

const [ADA, EVE] = ['ada@example.com', 'eve@example.com']
const suppress = { name: 'suppress', input: { ...BY, appId: 1, email: EVE, reason: 'manual' } } as unknown as Job
const event = { name: 'recordEvent', input: eventWrite({ email: ADA }) } as unknown as Job

/** @returns what was locked, with the number of rows that were named */
async function lock(jobs: Job[], isAdded = false): Promise<string[]> {
  const locks: string[] = []
  const run: Run = async (text, values) => {
    const [table] = /address_locks|contacts/.exec(text) ?? []
    if (text.includes('FOR ')) locks.push(`${table} ${(JSON.parse(String(values[0])) as unknown[]).length}`)
    const rows = isAdded && !text.includes('FOR ') ? [{}] : []
    return Object.assign(rows, { count: rows.length })
  }
  const failed = await lockPeopleOf(run, jobs, NO_READER).catch((error: unknown) => error)
  return failed instanceof Outdated ? [...locks, 'again'] : locks
}

test('addresses that are changed and those of new people are locked together', async () => {
  expect(await lock([suppress, event])).toEqual(['contacts 2', 'address_locks 2'])
  expect(await lock([event])).toEqual(['contacts 1'])
})

test('people who were added meanwhile are not locked after addresses', async () => {
  expect(await lock([suppress], true)).toEqual(['contacts 1', 'address_locks 1', 'again'])
})

/** People as a group loads them. `stored`: those that are locked. */
function createLoads() {
  let stored: readonly PersonKey[] = []
  const run: Run = async (text) => {
    const people = stored.map(({ appId, email }, id) => ({ id, app: appId, email, lacksName: 0 }))
    const rows = text.includes('lacksName') ? people : []
    return Object.assign(rows, { count: rows.length })
  }
  const perTransaction = <State>(make: () => State): (() => State) => {
    const state = make()
    return () => state
  }
  const { engine } = createPostgresParts(
    { run, send: () => {}, perTransaction },
    {
      ids: createIdSequence(() => 0),
      rules: { defaultResponseDays: 1 },
      lookAt: async () => [],
      onDeliveries: () => {},
    },
  )
  return async (people: readonly PersonKey[], those = people): Promise<void> => {
    stored = those
    await engine.people.load(people)
  }
}

test('a group is planned again after somebody was erased, also when it finds that too many people are known', async () => {
  const load = createLoads()
  const people = Array.from({ length: 100_001 }, (_, n) => ({ appId: 1, email: `p${n}@example.com` }))
  await load(people)
  const [one] = people
  await expect(load(one ? [one] : [], [])).rejects.toThrow(Outdated)
})
