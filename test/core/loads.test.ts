import { describe, expect, test } from 'bun:test'
import { createLoads } from '../../src/core/in-order.ts'

type Value = { n: number }

function openLoads(most = 10) {
  const loads = createLoads<string, Value>(most)
  const open: PromiseWithResolvers<Value | null>[] = []
  const load = (): Promise<Value | null> => {
    const one = Promise.withResolvers<Value | null>()
    open.push(one)
    return one.promise
  }
  return { ...loads, open, ask: (key: string) => loads.find(key, load) }
}

describe('what is loaded once', () => {
  test('is shared by calls that come meanwhile, and remembered', async () => {
    const { ask, open, get } = openLoads()
    const asked = [ask('a'), ask('a'), ask('a')]
    expect([open.length, get('a')]).toEqual([1, undefined])
    open[0]?.resolve({ n: 1 })
    const [first, ...others] = await Promise.all(asked)
    for (const other of [...others, await ask('a'), get('a')]) expect(other).toBe(first as Value)
    expect(open).toHaveLength(1)
  })

  test('is not remembered if it was dropped meanwhile', async () => {
    for (const how of ['drop', 'clear'] as const) {
      const loads = openLoads()
      const before = loads.ask('a')
      loads[how]('a')
      const after = loads.ask('a')
      loads.open[0]?.resolve({ n: 1 })
      expect(await before).toEqual({ n: 1 })
      expect(loads.get('a')).toBeUndefined()
      loads.open[1]?.resolve({ n: 2 })
      expect([await after, loads.get('a')]).toEqual([{ n: 2 }, { n: 2 }])
    }
  })

  test('is loaded again after a failure, and after null', async () => {
    const { ask, open } = openLoads()
    const failed = ask('a').catch((error: unknown) => String(error))
    open[0]?.reject(new Error('gone'))
    expect(await failed).toBe('Error: gone')
    const none = ask('a')
    open[1]?.resolve(null)
    expect(await none).toBeNull()
    const found = ask('a')
    open[2]?.resolve({ n: 3 })
    expect(await found).toEqual({ n: 3 })
  })

  test('is forgotten when there is too much', async () => {
    const { ask, open, get } = openLoads(2)
    for (const [index, key] of ['a', 'b', 'c'].entries()) {
      const asked = ask(key)
      open[index]?.resolve({ n: index })
      await asked
    }
    expect([get('a'), get('b'), get('c')]).toEqual([undefined, undefined, { n: 2 }])
  })
})
