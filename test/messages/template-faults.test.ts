import { expect, test } from 'bun:test'
import {
  describeTemplateError,
  describeTemplateFault,
  readFault,
  recordFault,
  type TemplateFault,
  type TemplateReason,
} from '../../src/messages/template-faults.ts'
import { findTemplateProblems, TEMPLATE_CHARACTERS } from '../../src/messages/templates.ts'

test.each([
  ['{{ event.foo }', '“{{ event.foo }” does not end with }}.'],
  ['{{ event.foo }\nBye', 'On line 1, “{{ event.foo }” does not end with }}.'],
  ['Hello\n\nyou {{ event.foo', 'On line 3, “{{ event.foo” does not end with }}.'],
  ['Hi {{ event.foo }, see {{ event.url }}', '“{{ event.foo }” does not end with }}.'],
  ['{{ event.url }} {{ event.foo }, {{ event.url }}', '“{{ event.foo }” does not end with }}.'],
  ['{{ "Ada }}', '“{{ "Ada }}” does not end with }}.'],
  ['{% if event.x ', '“{% if event.x” does not end with %}.'],
  ['{% if event.x %}', '“{% if event.x %}” is not closed.'],
  ['a\n{% endif %}', 'On line 2, “{% endif %}” is not allowed here.'],
  ['{% include "x" %}', '“{% include %}” is not allowed here.'],
  ['{{ event.a | raw }}', 'There is no filter “raw”.'],
  ['{% for i on x %}{% endfor %}', '“{% for i on x %}” is invalid.'],
  ['{{ }}', 'The value between the braces is missing or invalid.'],
  ['a\n{% if %}b{% endif %}', 'On line 2, “{% if %}” needs a condition.'],
  ['{% if event.a %}{%- elsif %}{% endif %}', '“{%- elsif %}” needs a condition.'],
  ['{{ event[ }}', 'A bracket is not closed.'],
  ['{% if event.a %}{% else %}{% else %}{% endif %}', '{% else %} is followed by another {% else %} or {% elsif %}.'],
  ['{% assign x %}', 'The value between the braces is invalid.'],
  [`{% if event.${'a'.repeat(60)} %}`, `“{% if event.${'a'.repeat(28)}…” is not closed.`],
  ['x'.repeat(TEMPLATE_CHARACTERS + 1), 'It is too long.'],
])('explains %p', (source, sentence) => expect(findTemplateProblems(source)).toEqual([sentence]))

test('faults while rendering', () => {
  expect(describeTemplateError(new Error('memory alloc limit exceeded, line:2, col:1'))).toBe(
    'on line 2, it takes too many steps to render',
  )
  expect(describeTemplateError('odd')).toBe('the value between the braces is invalid')
})

test.each<[fault: TemplateFault, reason: TemplateReason, value: string, about: string | null, sentence: string]>([
  [
    { missing: 'event.url' },
    'missing_value',
    'missing',
    'event.url',
    '`event.url` has neither a value nor a fallback.',
  ],
  [
    { missing: 'contact.firstName | upcase | default: ""' },
    'missing_value',
    'missing',
    'contact.firstName | upcase | default: ""',
    '`contact.firstName` has no value, and an empty fallback counts as none.',
  ],
  [{ broken: 'it is odd' }, 'broken_template', 'broken', 'it is odd', 'Template error: it is odd.'],
  [{ empty: 'body' }, 'empty_mail', 'empty', 'body', 'The email has no text.'],
  [{ slow: true }, 'template_too_slow', 'slow', null, 'This email takes too long to render.'],
])('%j has a reason, a readable verdict and a sentence', (fault, reason, value, about, sentence) => {
  const verdict = { rule: 'template', about, value, verdict: 'fail' } as const
  expect(recordFault(fault)).toEqual({ reason, verdict })
  expect(readFault(verdict)).toEqual(fault)
  expect(describeTemplateFault(fault)).toBe(sentence)
})

test('a verdict without its object has none', () => {
  expect(readFault({ about: null, value: 'missing' })).toEqual({ missing: '' })
  expect(readFault({ about: null, value: 'broken' })).toEqual({ broken: '' })
})

const DATE = 'is not a date style. Use'
test.each([
  ['parse length limit exceeded', 'it is too long'],
  ['length limit exceeded', 'it is too long'],
  ['nesting limit exceeded', 'it is nested too deeply'],
  ['Maximum call stack size exceeded.', 'it is nested too deeply'],
  ['range limit exceeded', 'a range needs two whole numbers, less than 1,000 apart'],
  ['range outside a loop', 'a range such as (1..5) is allowed only in {% for %}'],
  ['no currency: ', 'money needs a currency, such as money: "USD"'],
  ['no currency: Euro', '“Euro” is not a currency code such as "USD"'],
  ['time limit exceeded', 'it takes too long to render'],
  ['render limit exceeded', 'it takes too many steps to render'],
  ['duplicated else', '{% else %} is followed by another {% else %} or {% elsif %}'],
  ['unexpected elsif after else', '{% else %} is followed by another {% else %} or {% elsif %}'],
  ['unexpected token', 'the value between the braces is missing or invalid'],
  ['invalid value expression: x', 'the value between the braces is missing or invalid'],
  ['undefined filter: a\nb', 'there is no filter “a\nb”'],
  ['tag " x " not found', '“{%  x  %}” is not allowed here'],
  [`undefined filter: ${'a'.repeat(40)}`, `there is no filter “${'a'.repeat(40)}”`],
  [`undefined filter: ${'a'.repeat(41)}`, `there is no filter “${'a'.repeat(40)}…”`],
  ['undefined filter: x, file:mail, line:12, col:34', 'on line 12, there is no filter “x”'],
  ['a range limit exceeded by far', 'the value between the braces is invalid'],
  ['no date style: x', `“x” ${DATE}`],
])('%p is said as %p', (said, words) => expect(describeTemplateError(new Error(said))).toStartWith(words))
