import { expect, test } from 'bun:test'
import { createRequestIds } from '../../src/http/request-facts.ts'

test('IDs are unique, have one format, and differ between processes', () => {
  const [one, other] = [createRequestIds(), createRequestIds()]
  const ids = Array.from({ length: 36 ** 3 }, () => one())
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of [...ids.slice(0, 3), ...ids.slice(36 ** 2 - 1, 36 ** 2 + 2), ...ids.slice(-2)])
    expect(id).toMatch(/^req_[0-9a-f]{12}[0-9a-z]{6}$/)
  expect(ids.toSorted()).toEqual(ids)
  expect(other().slice(0, 16)).not.toBe(ids[0]?.slice(0, 16))
})
