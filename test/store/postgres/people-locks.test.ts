/** Which locks a group takes, in which order. The answers are made up. */
import { expect, test } from 'bun:test'
import { NO_READER } from '../../../src/store/event-texts.ts'
import type { Run } from '../../../src/store/postgres/connection.ts'
import { Outdated } from '../../../src/store/postgres/faults.ts'
import { lockPeopleOf } from '../../../src/store/postgres/people-locks.ts'
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
