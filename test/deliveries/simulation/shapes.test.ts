/** Whose mails are alike: those for whom the same values are there. */
import { describe, expect, test } from 'bun:test'
import { NAMELESS, shapeOf, variablesOf, type Variables } from '../../../src/deliveries/simulation/shapes.ts'

const NONE: Variables = { ofPeople: [], ofEvents: [] }

describe('a mail asks', () => {
  test.each<[body: string, Variables | null]>([
    ['Hello', NONE],
    ['{{ app.name }} {{ unsubscribeUrl }}', NONE],
    ['{{ contact.email }}', NONE],
    ['{{ contact.firstName }}', { ...NONE, ofPeople: [['contact', 'firstName']] }],
    ['{{ contact.firstName | default: "there" }}', NONE],
    ['{{ contact.firstName | default: " " }}', { ...NONE, ofPeople: [['contact', 'firstName']] }],
    ['{{ contact.fields.plan | default: "free" }}', { ...NONE, ofPeople: [['contact', 'fields', 'plan']] }],
    ['{{ contact.tags }}', { ...NONE, ofPeople: [['contact', 'tags']] }],
    [
      '{{event.headline}} {{ event.n | default: "1" }}',
      {
        ...NONE,
        ofEvents: [
          ['event', 'headline'],
          ['event', 'n'],
        ],
      },
    ],
    ['{{ event.list | join: ", " }}', null],
    ['{% if event.n %}more{% endif %}', null],
    ['{{ event.n', null],
  ])('by %j', (body, variables) => {
    expect(variablesOf({ subject: 'Ready', body })).toEqual(variables)
    expect(variablesOf({ subject: 'Ready', preheader: body, body: 'Hello' })).toEqual(variables)
    expect(variablesOf({ subject: body, body: 'Hello' })).toEqual(variables)
  })

  test('by all its parts together, and by none where one of them is more than values', () => {
    const [subject, body] = ['{{ contact.lastName }}', '{{ event.n }}']
    expect(variablesOf({ subject, body })).toEqual({ ofPeople: [['contact', 'lastName']], ofEvents: [['event', 'n']] })
    expect(variablesOf({ subject, preheader: '{% if true %}x{% endif %}', body })).toBeNull()
  })
})

describe('an event is of the same shape as another', () => {
  const shape = (value: unknown) => shapeOf([['event', 'x']], () => ({ x: value }))
  test.each<[one: unknown, other: unknown, isSame: boolean]>([
    ['Ready', 'Gone', true],
    ['Ready', ' \u00e9', true],
    ['Ready', ' ', false],
    ['Ready', '\u202e', false],
    ['Ready', 1, false],
    ['Ready', null, false],
    [' ', undefined, true],
    [1, 2.5, true],
    [1, 0, true],
    [true, false, false],
    [true, 'true', false],
    [null, undefined, false],
    [['a'], ['a'], true],
    [['a'], ['b'], false],
    [{ a: 1 }, { a: 1 }, true],
  ])('%j and %j: %p', (one, other, isSame) => expect(shape(one) === shape(other)).toBe(isSame))

  test('by each of the values that are asked for, in their order, and by no other', () => {
    const variables = [
      ['event', 'a'],
      ['event', 'b'],
    ]
    const shapes = [{ a: 'x' }, { b: 'x' }, { a: 'x', c: 1 }].map((values) => shapeOf(variables, () => values))
    expect(shapes[0]).toBe(shapes[2] ?? '')
    expect(shapes[0]).not.toBe(shapes[1] ?? '')
    expect(shapeOf([['event', 'constructor']], () => ({}))).toBe(shapeOf([['event', 'none']], () => ({})))
  })
})

test('a person by their fields too, also where they have none', () => {
  const plan = [['contact', 'fields', 'plan']]
  const shape = (fields: Record<string, string> | null) => shapeOf(plan, () => ({ ...NAMELESS, fields }))
  expect(shape({ plan: 'pro' })).toBe(shape({ plan: 'free', x: 'y' }))
  expect(new Set([shape({ plan: 'pro' }), shape({}), shape(null)]).size).toBe(2)
})
