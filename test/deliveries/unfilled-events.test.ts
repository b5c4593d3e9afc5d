/** Which events an email leaves out, with plain events and faults. */
import { expect, test } from 'bun:test'
import { findUnfilled } from '../../src/deliveries/unfilled-events.ts'
import type { TemplateFault } from '../../src/messages/template-faults.ts'

const MISSING: TemplateFault = { missing: 'event.url' }
const BROKEN: TemplateFault = { broken: 'event.price' }
const SLOW: TemplateFault = { slow: true }
const EMPTY: TemplateFault = { empty: 'body' }

/** An email has the first fault of its events. `rendered`: the events of each email that was rendered. */
function find(events: string[], faults: Record<string, TemplateFault>, isByHand = false) {
  const rendered: string[] = []
  const render = (listed: readonly string[]): TemplateFault | null => {
    rendered.push(listed.join(''))
    return listed.map((event) => faults[event]).find((fault) => fault !== undefined) ?? null
  }
  const [first = '', ...others] = events
  const search = findUnfilled({ first, others, fault: render(events) }, { isByHand })
  let step = search.next()
  while (!step.done) step = search.next(render([step.value.first, ...step.value.others]))
  return { ...step.value, rendered }
}

test('an email whose events have all values is rendered once', () =>
  expect(find(['a', 'b'], {})).toEqual({ fault: null, isOfEvent: false, unfilled: [], rendered: ['ab'] }))

test('events without values are left out, and the others are rendered again', () =>
  expect(find(['a', 'b', 'c', 'd'], { b: MISSING, d: BROKEN })).toEqual({
    fault: null,
    isOfEvent: false,
    unfilled: [
      { event: 'b', fault: MISSING },
      { event: 'd', fault: BROKEN },
    ],
    rendered: ['abcd', 'a', 'ab', 'ac', 'ad', 'ac'],
  }))

test('a first event without values ends alone if another can begin', () => {
  expect(find(['a', 'b', 'c'], { a: MISSING, b: MISSING })).toMatchObject({
    fault: MISSING,
    isOfEvent: true,
    unfilled: [],
  })
  expect(find(['a', 'b'], { a: MISSING, b: SLOW })).toMatchObject({ fault: MISSING, isOfEvent: true })
  expect(find(['a', 'b'], { a: MISSING, b: MISSING })).toMatchObject({ fault: MISSING, isOfEvent: false, unfilled: [] })
  expect(find(['a'], { a: MISSING })).toMatchObject({ fault: MISSING, isOfEvent: false, rendered: ['a'] })
})

test('an email sent by hand is never split', () =>
  expect(find(['a', 'b'], { a: MISSING }, true)).toMatchObject({
    fault: MISSING,
    isOfEvent: false,
    rendered: ['ab', 'a'],
  }))

test('a fault that is not about values ends the email', () => {
  expect(find(['a', 'b'], { b: EMPTY })).toMatchObject({ fault: EMPTY, unfilled: [], rendered: ['ab'] })
  expect(find(['a', 'b', 'c'], { b: MISSING, c: SLOW })).toMatchObject({ fault: SLOW, unfilled: [] })
})

test('a fault of the events together ends the email', () => {
  const search = findUnfilled({ first: 'a', others: ['b'], fault: MISSING }, { isByHand: false })
  search.next()
  search.next(null)
  expect(search.next(null)).toEqual({ done: true, value: { fault: MISSING, isOfEvent: false, unfilled: [] } })
})
