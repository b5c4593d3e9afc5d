import { expect, test } from 'bun:test'
import { createLazy } from '../../src/core/lazy.ts'

test('opens once, at the first call', async () => {
  let opened = 0
  const late = createLazy(async () => ++opened)
  expect([opened, late.peek()]).toEqual([0, null])
  expect(await Promise.all([late.get(), late.get()])).toEqual([1, 1])
  expect(await late.peek()).toBe(1)
})

test('a failure reaches all callers, and the next call tries again', async () => {
  let isBroken = true
  const late = createLazy(async () => {
    if (isBroken) throw new Error('no such file')
    return 'open'
  })
  const asked = await Promise.allSettled([late.get(), late.get()])
  expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(late.peek()).toBe(null)
  isBroken = false
  expect(await late.get()).toBe('open')
})
