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

test('rows of an instance whose clock is ahead hide no others, and come when it is their time', () => {
  let newestNow = 200
  const found = createNewRows({ store: { isShared: true }, newest: 900, lateIds: 10, newestNow: () => newestNow })
  expect([found.newest(), found.after(), found.before()]).toEqual([200, 190, 201])
  newestNow = 210
  const stored = [950, 900, 205, 195]
  const listNew = (limit: number) => {
    const until = found.before() ?? Infinity
    const ids = stored.toSorted((a, b) => b - a).filter((id) => id > found.after() && id < until)
    return found.take(rows(...ids.slice(0, limit)))
  }
  expect(listNew(2)).toEqual(rows(205, 195))
  expect([found.newest(), found.after()]).toEqual([205, 195])
  stored.push(206)
  expect(listNew(2)).toEqual(rows(206))
  newestNow = 900
  expect(listNew(2)).toEqual(rows(900))
  expect(found.newest()).toBe(900)
})

test('where one process writes, rows after the newest are new', () => {
  const found = createNewRows({ store: { isShared: false }, newest: 100, lateIds: 10, newestNow: () => 50 })
  expect([found.after(), found.before()]).toEqual([100, null])
  expect(found.take(rows(103, 101))).toEqual(rows(103, 101))
  expect(found.after()).toBe(103)
})
