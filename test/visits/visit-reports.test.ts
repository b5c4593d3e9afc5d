/** What the browser script sends, as a function of its body. */
import { describe, expect, test } from 'bun:test'
import { MAX_BATCH_ITEMS, readVisitReport } from '../../src/visits/visit-reports.ts'
import { DAY, MINUTE, NOW } from '../durations.ts'

const ITEM = { type: 'page', path: '/a', age: 0 }
const BODY = { v: 1, site: 'st_1', email: ' Ada@Example.com ', signature: 'x', id: 'a.1', events: [ITEM] }
const read = (changes: object = {}) => readVisitReport({ ...BODY, ...changes }, NOW)
const errorsOf = (changes: object) => {
  const result = read(changes)
  return 'errors' in result ? result.errors.map(({ field, code }) => `${field} ${code}`) : []
}
const itemsOf = (...events: object[]) => {
  const result = read({ events })
  if ('errors' in result) throw new Error(JSON.stringify(result.errors))
  return result.input.items
}
/** Which sentence an item is refused with. */
const wrongOf = (item: unknown) => {
  const result = read({ events: [ITEM, item] })
  return 'errors' in result ? result.errors.map(({ field, message }) => `${field}: ${message}`) : []
}

test('reads a report', () => {
  expect(read()).toEqual({
    input: {
      site: 'st_1',
      email: 'ada@example.com',
      emailShown: 'Ada@Example.com',
      signature: 'x',
      id: 'a.1',
      items: [{ type: 'page', name: null, path: '/a', occurredAt: NOW }],
    },
  })
})

describe('a field', () => {
  test.each<[changes: object, errors: string[]]>([
    [{ v: undefined }, ['v missing']],
    [{ v: 2 }, ['v invalid']],
    [{ site: undefined }, ['site missing']],
    [{ site: '' }, ['site invalid']],
    [{ site: 5 }, ['site invalid']],
    [{ email: undefined }, ['email missing']],
    [{ email: 'ada' }, ['email invalid']],
    [{ signature: undefined }, ['signature missing']],
    [{ signature: '' }, ['signature invalid']],
    [{ id: undefined }, ['id missing']],
    [{ id: '' }, ['id invalid']],
    [{ id: 7 }, ['id invalid']],
    [{ id: 'x'.repeat(64) }, []],
    [{ id: 'x'.repeat(65) }, ['id invalid']],
    [{ id: 'ä' }, ['id invalid']],
    [{ events: undefined }, ['events missing']],
    [{ events: {} }, ['events invalid']],
    [{ events: [] }, ['events invalid']],
    [{ events: Array(MAX_BATCH_ITEMS).fill(ITEM) }, []],
    [{ events: Array(MAX_BATCH_ITEMS + 1).fill(ITEM) }, ['events invalid']],
    [{ v: 2, id: '', site: '' }, ['v invalid', 'site invalid', 'id invalid']],
  ])('%j: %j', (changes, errors) => expect(errorsOf(changes)).toEqual(errors))
})

describe('an item', () => {
  test('has a type, and an action has a name', () => {
    const track = { type: 'track', path: '/', age: 0, name: 'zoom.in' }
    const [page, leave, here] = ['page', 'leave', 'here'].map((type) => ({ ...ITEM, type, name: 'zoom' }))
    expect(itemsOf(page ?? {}, leave ?? {}, here ?? {}, track).map(({ type, name }) => [type, name])).toEqual([
      ['page', null],
      ['leave', null],
      ['here', null],
      ['action', 'zoom.in'],
    ])
    for (const name of [undefined, 5, null, '', 'with space']) expect(wrongOf({ ...track, name })).toHaveLength(1)
  })
  test('loses query and fragment', () => {
    const paths = ['/a?b#c', '/a#b?c', '/a', '/?x'].map((path) => ({ ...ITEM, path }))
    expect(itemsOf(...paths).map(({ path }) => path)).toEqual(['/a', '/a', '/a', '/'])
  })
  test('is sorted by the time it happened', () => {
    const ages = [0, 5.4, MINUTE, DAY, 1].map((age) => ({ ...ITEM, age }))
    expect(itemsOf(...ages).map(({ occurredAt }) => NOW - occurredAt)).toEqual([DAY, MINUTE, 5, 1, 0])
  })
  test.each<[item: unknown, sentence: string]>([
    [null, 'events: Send each item with the type'],
    ['page', 'events: Send each item with the type'],
    [{ ...ITEM, type: 'view' }, 'events: Send each item with the type'],
    [{ ...ITEM, path: 'a' }, 'events: Send a path that starts'],
    [{ ...ITEM, path: 5 }, 'events: Send a path that starts'],
    [{ ...ITEM, path: '/a\u0000' }, 'events: Send a path that starts'],
    [{ ...ITEM, path: `/${'a'.repeat(1_024)}` }, 'events: Send a path that starts'],
    [{ ...ITEM, age: '5' }, 'events: Send the age'],
    [{ ...ITEM, age: -1 }, 'events: Send the age'],
    [{ ...ITEM, age: DAY + 1 }, 'events: Send the age'],
    [{ ...ITEM, age: Number.NaN }, 'events: Send the age'],
  ])('%j is refused', (item, sentence) => {
    const [message = '', ...others] = wrongOf(item)
    expect(message).toStartWith(sentence)
    expect(others).toEqual([])
  })
  test('has a path of up to 1,024 characters', () => {
    const path = `/${'a'.repeat(1_023)}`
    expect(itemsOf({ ...ITEM, path })[0]?.path).toBe(path)
  })
})
