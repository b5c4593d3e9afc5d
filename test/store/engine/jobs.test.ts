import { describe, expect, test } from 'bun:test'
import { createJobs } from '../../../src/store/engine/engine.ts'
import { NO_READER } from '../../../src/store/event-texts.ts'
import type { Job, Outcome } from '../../../src/store/writes.ts'

type Writes = Parameters<typeof createJobs>[0]['writes']

/** Writes that note their begin and their end, and end when they are let. */
function openJobs() {
  const log: string[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  const write = async ({ name }: { name: string }): Promise<Outcome> => {
    log.push(`${name} begins`)
    const end = Promise.withResolvers<void>()
    ends.set(name, end)
    await end.promise
    log.push(`${name} ends`)
    return { done: true }
  }
  const run = createJobs({
    writes: { markSent: write } as unknown as Writes,
    runPlanned: async () => [],
    readEvent: NO_READER,
  })
  const end = async (name: string, how: 'resolve' | 'reject' = 'resolve'): Promise<void> => {
    if (how === 'resolve') ends.get(name)?.resolve()
    else ends.get(name)?.reject(new Error(name))
    await new Promise(setImmediate)
  }
  return { run, log, end }
}

const job = (name: string): Job => ({ name: 'markSent', input: { name } }) as unknown as Job

describe('jobs that are apart', () => {
  test("don't wait for each other, and others wait for all of them", async () => {
    const { run, log, end } = openJobs()
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(job) as [Job, Job, Job, Job]
    const ran = run([a, b, c, d], new Set([a, b, d]))
    await end('none')
    expect(log).toEqual(['a begins', 'b begins'])
    await end('b')
    expect(log).toEqual(['a begins', 'b begins', 'b ends'])
    await end('a')
    expect(log.slice(3)).toEqual(['a ends', 'c begins'])
    await end('c')
    expect(log.slice(5)).toEqual(['c ends', 'd begins'])
    await end('d')
    expect(await ran).toHaveLength(4)
  })

  test('one that fails fails the group, whatever the others do', async () => {
    const { run, end } = openJobs()
    const [a, b, c] = ['a', 'b', 'c'].map(job) as [Job, Job, Job]
    const ran = run([a, b, c], new Set([a, b]))
    await end('none')
    const failed = ran.catch((error: unknown) => String(error))
    await end('a', 'reject')
    await end('b', 'reject')
    expect(await failed).toBe('Error: a')
  })
})
