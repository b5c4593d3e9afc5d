import { expect, test } from 'bun:test'
import { type CallRow, createCallLog } from '../../src/accounts/call-log.ts'
import type { Store } from '../../src/store/store.ts'

const call = (ms: number): CallRow => ({
  accountId: 'acc_1',
  keyId: 'key_1',
  tool: 'get_contact',
  outcome: 'ok',
  ms,
  client: null,
  calledAt: 0,
})

function open(answer: () => { done: true } | { refusal: 'unavailable' } = () => ({ done: true })) {
  const written: number[][] = []
  const addCalls = async (calls: CallRow[]) => {
    written.push(calls.map(({ ms }) => ms))
    await Bun.sleep(0)
    return answer()
  }
  return { written, log: createCallLog({ store: { addCalls } as unknown as Store }) }
}

test('writes added calls once and together', async () => {
  const { log, written } = open()
  await log.save()
  for (const ms of [1, 2, 3]) log.add(call(ms))
  await Promise.all([log.save(), log.save()])
  await log.save()
  expect(written).toEqual([[1, 2, 3]])
})

test('writes automatically when many are added', async () => {
  const { log, written } = open()
  for (let ms = 0; ms < 1_000; ms += 1) log.add(call(ms))
  await Bun.sleep(1)
  expect(written.map((rows) => rows.length)).toEqual([1_000])
})

test('keeps the last 10,000 unsaved calls, in order', async () => {
  let isFull = true
  const { log, written } = open(() => (isFull ? { refusal: 'unavailable' } : { done: true }))
  log.add(call(1))
  const saving = log.save()
  log.add(call(2))
  await saving
  isFull = false
  await log.save()
  expect(written).toEqual([[1], [1, 2]])
  isFull = true
  for (let ms = 0; ms < 12_345; ms += 1) log.add(call(ms))
  await Bun.sleep(5)
  await log.save()
  isFull = false
  await log.save()
  expect(written.at(-1)?.length).toBeLessThanOrEqual(10_000)
  expect(written.at(-1)?.at(-1)).toBe(12_344)
})

test('what came while a write is open is written before a stop', async () => {
  const { log, written } = open()
  log.add(call(1))
  const timed = log.save()
  log.add(call(2))
  await log.save()
  expect(written).toEqual([[1], [2]])
  await timed
})
