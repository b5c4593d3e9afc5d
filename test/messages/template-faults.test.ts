import { expect, test } from 'bun:test'
import { describeTemplateError } from '../../src/messages/template-faults.ts'
import { findTemplateProblems, TEMPLATE_CHARACTERS } from '../../src/messages/templates.ts'

test.each([
  ['{{ event.foo }', '“{{ event.foo }” does not end with }}, in line 1.'],
  ['Hello\n\nyou {{ event.foo', '“{{ event.foo” does not end with }}, in line 3.'],
  ['{{ "Ada }}', '“{{ "Ada }}” does not end with }}, in line 1.'],
  ['{% if event.x ', '“{% if event.x” does not end with %}, in line 1.'],
  ['{% if event.x %}', '“{% if event.x %}” is begun, and its end is missing, in line 1.'],
  ['a\n{% endif %}', '“{% endif %}” cannot stand here, in line 2.'],
  ['{% include "x" %}', '“{% include %}” cannot stand here, in line 1.'],
  ['{{ event.a | raw }}', 'There is no filter “raw”, in line 1.'],
  ['{% for i on x %}{% endfor %}', '“{% for i on x %}” is not written as it must be, in line 1.'],
  ['{{ }}', 'A value is missing between the braces, or cannot be read, in line 1.'],
  ['{{ event[ }}', 'A bracket is opened and not closed, in line 1.'],
  ['{% if event.a %}{% else %}{% else %}{% endif %}', 'After {% else %} there comes another, in line 1.'],
  ['{% assign x %}', 'What stands between the braces cannot be read, in line 1.'],
  [`{% if event.${'a'.repeat(60)} %}`, `“{% if event.${'a'.repeat(28)}…” is begun, and its end is missing, in line 1.`],
  ['x'.repeat(TEMPLATE_CHARACTERS + 1), 'It is too long.'],
])('%p is told its author', (source, sentence) => expect(findTemplateProblems(source)).toEqual([sentence]))

test('what came up while filling', () => {
  expect(describeTemplateError(new Error('memory alloc limit exceeded, line:2, col:1'))).toBe(
    'it takes too much work to fill in, in line 2',
  )
  expect(describeTemplateError('odd')).toBe('what stands between the braces cannot be read')
})
