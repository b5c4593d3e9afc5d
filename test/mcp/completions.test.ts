import { expect, test } from 'bun:test'
import type { Caller } from '../../src/mcp/caller.ts'
import { completeApp } from '../../src/mcp/server.ts'

const caller = (ids: string[]) => ({ access: { apps: ids.map((publicId) => ({ publicId })) } }) as unknown as Caller
const many = Array.from({ length: 150 }, (_, index) => `app_${index}`)

test.each([
  ['those that begin so', ['app_a', 'app_b'], 'app', 'app_a', ['app_a'], 1, false],
  ['all where nothing is typed', ['app_a', 'app_b'], 'app', '', ['app_a', 'app_b'], 2, false],
  ['none of another argument', ['app_a'], 'email', 'a', [], 0, false],
  ['100 at most', many, 'app', '', many.slice(0, 100), 150, true],
])('%s', (_, ids, name, value, values, total, hasMore) => {
  expect(completeApp(caller(ids), { name, value })).toEqual({ values, total, hasMore })
})
