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

test('rows of an instance whose clock is ahead hide no others', () => {
  let newestNow = 200
  const found = createNewRows({ store: { isShared: true }, newest: 900, lateIds: 10, newestNow: () => newestNow })
  expect([found.newest(), found.after()]).toEqual([200, 190])
  newestNow = 210
  expect(found.take(rows(900, 205, 195))).toEqual(rows(900, 205, 195))
  expect([found.newest(), found.after()]).toEqual([205, 195])
  expect(found.take(rows(901, 900, 206, 205))).toEqual(rows(901, 206))
  expect(found.after()).toBe(196)
})

test('where one process writes, rows after the newest are new', () => {
  const found = createNewRows({ store: { isShared: false }, newest: 100, lateIds: 10, newestNow: () => 50 })
  expect(found.after()).toBe(100)
  expect(found.take(rows(103, 101))).toEqual(rows(103, 101))
  expect(found.after()).toBe(103)
})
