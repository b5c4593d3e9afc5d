import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRests } from '../../src/core/priority.ts'

/** proc_pid_stat(5): the nineteenth field; the second, a name in parentheses, may contain spaces. */
const nicenessOf = (file: string): number => Number(readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ')[16])

const PRIORITY = join(import.meta.dir, '../../src/core/priority.ts')
const THREAD = `
  import { readFileSync } from 'node:fs'
  import { yieldToServer } from ${JSON.stringify(PRIORITY)}
  const nicenessOf = ${nicenessOf}
  const before = nicenessOf('/proc/thread-self/stat')
  yieldToServer('little')
  postMessage([before, nicenessOf('/proc/thread-self/stat')])`

test.skipIf(process.platform !== 'linux')('only the thread that yields gets a lower priority', async () => {
  const before = nicenessOf('/proc/self/stat')
  const url = URL.createObjectURL(new Blob([THREAD], { type: 'application/typescript' }))
  const thread = new Worker(url)
  const message = await new Promise<MessageEvent<number[]>>((resolve, reject) => {
    thread.onmessage = resolve
    thread.onerror = ({ message }) => reject(new Error(message))
  })
  thread.terminate()
  expect(message.data).toEqual([before, Math.max(before, 10)])
  expect(nicenessOf('/proc/self/stat')).toBe(before)
})

test('work rests eight times as long as it ran, while the server is busy', async () => {
  let [now, used, isServing] = [0, 0, false]
  const slept: number[] = []
  const sleep = async (ms: number): Promise<void> => {
    slept.push(ms)
    now += ms
  }
  const rest = createRests(() => isServing, { monotonicMs: () => now, usedMs: () => used, sleep })
  const work = async (ms: number, ranMs: number): Promise<void> => {
    now += ms
    used += ranMs
    await rest()
  }
  await work(10, 10)
  expect(slept).toEqual([])
  isServing = true
  await work(10, 5)
  expect(slept).toEqual([40])
  // short steps count together
  await work(3, 1)
  await work(3, 1)
  expect(slept).toEqual([40, 16])
  isServing = false
  await work(10, 10)
  expect(slept).toEqual([40, 16])
  // in time, whatever the server does
  isServing = true
  now = 20_001
  await work(10, 10)
  expect(slept).toEqual([40, 16])
})
