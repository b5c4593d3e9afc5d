import { describe, expect, test } from 'bun:test'
import { allHold, compares, findUnmet, propertyOf } from '../../src/messages/conditions.ts'
import { readMessage } from '../../src/messages/message-input.ts'
import type { Compared, Condition } from '../../src/store/message-types.ts'

describe('a comparison', () => {
  test.each<[Compared, holds: unknown[], fails: unknown[]]>([
    [{ is: 'equal', to: 3 }, [3, '3'], ['3.0', 4, null, [3]]],
    [{ is: 'in', to: ['pro', 3] }, ['pro', 3, '3'], ['prof', undefined, ['pro'], '']],
    [{ is: 'startsWith', to: 'pr' }, ['pro', 'pr'], ['Pro', 'a pro', undefined, ['pro']]],
    [{ is: 'startsWith', to: 4 }, [42, '4'], [24]],
    [{ is: 'contains', to: 'o' }, ['pro', ['o']], ['free', [], null]],
    [{ is: 'above', to: '3' }, [4, '3.5'], [3, 'four', '', null]],
    [
      { is: 'above', to: '2026-12-31' },
      ['2026-12-31T00:00:01Z', '2027-01-01', 1_798_675_201],
      ['2026-12-31', 'soon', 5],
    ],
    [{ is: 'below', to: '2026-12-31T12:00:00+02:00' }, ['2026-12-31 09:59', '2026-12-31'], ['2026-12-31T10:00Z']],
    [{ is: 'present' }, [0, false, 'x', []], ['', null, undefined]],
  ])('%j', (compared, holds, fails) => {
    expect(holds.filter((value) => !compares(value, compared))).toEqual([])
    expect(fails.filter((value) => compares(value, compared))).toEqual([])
  })
})

test('a value inside another, unless a property has the whole name', () => {
  const properties = { plan: { name: 'pro', seats: [1, 2] }, 'a.b': 1, a: { b: 2 }, text: 'abc' }
  const names = ['plan.name', 'plan.seats.1', 'a.b', 'plan.none', 'none.name', 'text.length', 'plan.constructor']
  const none = undefined
  expect(names.map((name) => propertyOf(properties, name))).toEqual(['pro', 2, 1, none, none, none, none])
})

const equal = (property: string, to: number, or?: true): Condition => ({ property, is: 'equal', to, ...(or && { or }) })

test('all groups must hold, and of a group one condition', () => {
  // either a or b is 1, c is 1, and either d or e is 1
  const conditions = [equal('a', 1), equal('b', 1, true), equal('c', 1), equal('d', 1), equal('e', 1, true)]
  const holds = (...names: string[]) => allHold(conditions, Object.fromEntries(names.map((name) => [name, 1])))
  expect([holds('a', 'c', 'd'), holds('b', 'c', 'e'), holds('a', 'b', 'c', 'd', 'e'), allHold([], {})]).toEqual(
    Array(4).fill(true),
  )
  expect([holds('c', 'd'), holds('a', 'd'), holds('a', 'c'), holds()]).toEqual(Array(4).fill(false))
  expect(findUnmet(conditions, { a: 1, c: 1 })).toEqual([equal('d', 1), equal('e', 1, true)])
  expect(findUnmet(conditions, { a: 1, c: 1, e: 1 })).toBeUndefined()
})

describe('conditions that can never hold', () => {
  const faultsOf = (where: object[], onlyIf: object[] = []): string[] => {
    const reading = readMessage({
      name: 'A',
      trigger: { event: 'e', where },
      onlyIf,
      mail: { subject: 'S', body: 'B' },
    })
    return 'errors' in reading ? reading.errors.map(({ field }) => field) : []
  }
  const p = (is: string, to?: unknown, more: object = {}) => ({
    property: 'p',
    is,
    ...(to === undefined ? {} : { to }),
    ...more,
  })
  const or = { or: true }
  const field = (is: string, to: unknown, more: object = {}) => ({ rule: 'field', field: 'plan', is, to, ...more })

  test.each<[object[], string[]]>([
    [[p('above', 'many')], ['trigger.where[0].to']],
    [[p('below', '31.12.2026')], ['trigger.where[0].to']],
    [[p('above', true)], ['trigger.where[0].to']],
    [[p('above', '2026-02-31')], ['trigger.where[0].to']],
    [[p('above', '2026-12-31'), p('below', '2027-01-31')], []],
    [[p('equal', '')], ['trigger.where[0].to']],
    [[p('in', 'pro')], ['trigger.where[0].to']],
    [[p('in', [])], ['trigger.where[0].to']],
    [[p('equal', ['pro'])], ['trigger.where[0].to']],
    [[p('equal', 'a'), p('equal', 'b')], ['trigger.where[0].is']],
    [[p('equal', 3), p('equal', '3')], []],
    [[p('in', ['a', 'b']), p('notEqual', 'a'), p('notEqual', 'b')], ['trigger.where[0].is']],
    [[p('in', ['a', 'b']), p('notEqual', 'a')], []],
    [[p('present'), p('absent')], ['trigger.where[1].is']],
    [[p('above', 5), p('below', 5)], ['trigger.where[0].is']],
    [[p('above', 5), p('below', 6)], []],
    [[p('startsWith', 'a'), p('startsWith', 'ab')], []],
    [[p('startsWith', 'a'), p('startsWith', 'b')], ['trigger.where[0].is']],
    [[p('equal', 'a'), p('equal', 'b', or)], []],
    [[p('equal', 'a'), p('equal', 'b'), p('equal', 'c', or)], ['trigger.where[1].is']],
    [[p('equal', 'a'), p('equal', 'b'), p('equal', 'a', or)], []],
    [[p('equal', 'a'), { property: 'q', is: 'equal', to: 'b' }], []],
    [[p('equal', 'a', or)], ['trigger.where[0].or']],
  ])('%j: %j', (where, faults) => expect(faultsOf(where)).toEqual(faults))

  test.each<[object[], string[]]>([
    [[field('equal', 'pro'), field('equal', 'free')], ['onlyIf[0].is']],
    [[field('equal', 'pro'), field('equal', 'free', or)], []],
    [[field('above', 'pro')], ['onlyIf[0].to']],
    [[{ rule: 'away' }, field('equal', 'pro', or)], ['onlyIf[1].or']],
  ])('rules %j: %j', (onlyIf, faults) => expect(faultsOf([], onlyIf)).toEqual(faults))
})
