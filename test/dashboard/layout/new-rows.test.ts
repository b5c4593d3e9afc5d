import { expect, test } from 'bun:test'
import { createNewRows } from '../../../src/dashboard/layout/new-rows.ts'

const rows = (...ids: number[]) => ids.map((id) => ({ id }))

test('rows are sent once each, also those that another instance stored late', () => {
  const found = createNewRows({ store: { isShared: true }, newest: 100, lateIds: 10 })
  expect(found.after()).toBe(90)
  // the page drops what it has
  expect(found.take(rows(103, 101, 100, 95))).toEqual(rows(103, 101, 100, 95))
  expect([found.newest(), found.after()]).toEqual([103, 93])
  expect(found.take(rows(103, 102, 101, 100, 99, 95))).toEqual(rows(102, 99))
  expect(found.take([])).toEqual([])
  expect(found.newest()).toBe(103)
})

test('where one process writes, rows after the newest are new', () => {
  const found = createNewRows({ store: { isShared: false }, newest: 100, lateIds: 10 })
  expect(found.after()).toBe(100)
  expect(found.take(rows(103, 101))).toEqual(rows(103, 101))
  expect(found.after()).toBe(103)
})
