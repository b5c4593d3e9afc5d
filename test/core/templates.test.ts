import { describe, expect, test } from 'bun:test'
import type { TemplateScope } from '../../src/core/template-scope.ts'
import {
  fillTemplate,
  findTemplateProblems,
  showValues,
  splitValues,
  TEMPLATE_CHARACTERS,
} from '../../src/core/templates.ts'

const SCOPE: TemplateScope = {
  event: { headline: 'Your results are ready.', count: 12, done: true, url: 'https://app.example.com/1', list: ['a'] },
  contact: { email: 'ada@example.com', tags: ['beta', 'paid'], fields: { plan: 'pro' } },
  app: { name: 'Demo' },
  unsubscribeUrl: 'https://post.example.com/u/1',
}

/** Values in guillemets, so that a test sees what was filled in and what was written. */
function fill(source: string, scope: TemplateScope = SCOPE) {
  const filling = fillTemplate(source, scope)
  if (!('filled' in filling)) return filling
  return showValues(filling.filled, { value: (value) => `«${value}»`, plain: (text) => text })
}

describe('a template', () => {
  test.each([
    ['{{ event.headline }}', '«Your results are ready.»'],
    ['{{event.count}} and {{ event.done }}', '«12» and «true»'],
    ['{{ contact.firstName | default: "there" }}', '«there»'],
    ['{{ event.headline | default: "nothing" }}', '«Your results are ready.»'],
    ['{{ contact.fields.plan | upcase }}', '«PRO»'],
    ['{{ contact.tags | join: ", " }}', '«beta, paid»'],
    ['{% for tag in contact.tags %}{{ tag }}.{% endfor %}', '«beta».«paid».'],
    ['{% if contact.firstName %}Dear {{ contact.firstName }}{% else %}Hello{% endif %}', 'Hello'],
    ['{% assign name = "N" | append: contact.fields.plan %}{{ name }}', '«Npro»'],
    ['{{ 0 | date: "%Y-%m-%d %H:%M" }}', '«1970-01-01 00:00»'],
    ['no values at all', 'no values at all'],
  ])('%s', (source, shown) => {
    expect(fill(source)).toBe(shown)
  })

  test.each([
    ['{{ event.plan }}', 'event.plan'],
    ['{{ event.plan | upcase | default: "x" }}', 'event.plan'],
    ['{{ contact.firstName }}', 'contact.firstName'],
    ['{{ nothing.at.all }}', 'nothing'],
    ['{{ event.constructor }}', 'event.constructor'],
    ['{{ event["__proto__"] }}', 'event.__proto__'],
    ['{{ contact.tags.constructor.name }}', 'contact.tags.constructor'],
    // a list and an object are no text, and a text that a filter emptied is none either
    ['{{ event.list }}', 'event.list'],
    ['{{ contact }}', 'contact'],
    ['{{ event.headline | truncate: 0, "" }}', 'event.headline | truncate: 0, ""'],
    ['{{ contact.firstName | default: "" }}', 'contact.firstName | default: ""'],
  ])('%s has neither value nor fallback', (source, missing) => {
    expect(fill(source)).toEqual({ missing })
  })

  test.each([
    '{% include "file" %}',
    '{% render "file" %}',
    '{% layout "file" %}',
    '{% block a %}{% endblock %}',
    '{% raw %}{{ x }}{% endraw %}',
    '{% capture a %}{{ event.headline }}{% endcapture %}',
    '{% echo event.headline %}',
    '{% cycle "a", event.headline %}',
    '{% liquid echo event.headline %}',
    '{{ event.headline | raw }}',
    '{{ contact.tags | where_exp: "a", event.headline }}',
    '{{ event.headline | json }}',
    '{{ event.headline | nothing_known }}',
    '{{ event.headline ',
    '{% if event.headline %}',
    '{% for i in (1..100000000) %}x{% endfor %}',
    '{{ event.count | date: "%9999999Y" }}',
    '{% for i in (1..50000) %}far too long{% endfor %}',
  ])('cannot be %p', (source) => {
    expect(fill(source)).toEqual({ broken: expect.any(String) })
  })

  test('has a largest size', () => {
    expect(fill('x'.repeat(TEMPLATE_CHARACTERS))).toHaveLength(TEMPLATE_CHARACTERS)
    expect(fill('x'.repeat(TEMPLATE_CHARACTERS + 1))).toEqual({ broken: expect.any(String) })
  })

  test('never takes a value for a template', () => {
    const event = { headline: '{{ contact.email }} {% include "x" %}' }
    expect(fill('{{ event.headline }}', { ...SCOPE, event })).toBe('«{{ contact.email }} {% include "x" %}»')
    const nested = '{% assign a = event.headline %}{{ a }} {{ event.headline | append: "{{ x }}" }}'
    expect(fill(nested, { ...SCOPE, event })).toBe(
      '«{{ contact.email }} {% include "x" %}» «{{ contact.email }} {% include "x" %}{{ x }}»',
    )
  })

  test('hides values so that nobody can write one by hand', () => {
    const event = { headline: '' }
    const seen = fillTemplate('{{ event.a }}', { event: { a: 'x' } })
    event.headline = 'filled' in seen ? seen.filled : ''
    // even one who has seen how a value is hidden: their text is a value too, and is shown as it is
    expect(fill('{{ event.headline }}', { event })).toBe(`«${event.headline}»`)
  })
})

describe('splitValues', () => {
  test('tells values from what the author wrote', () => {
    const filling = fillTemplate('{{ event.url }}?a={{ event.count }}', SCOPE)
    expect(splitValues('filled' in filling ? filling.filled : '')).toEqual([
      { value: 'https://app.example.com/1' },
      { plain: '?a=' },
      { value: '12' },
    ])
    expect(splitValues('')).toEqual([])
  })
})

describe('findTemplateProblems', () => {
  test('finds none in what can be used', () => {
    const source =
      '{{ event.a.b }} {{ contact.fields.x }} {{ contact.email }} {{ app.name }} {{ unsubscribeUrl }} {% assign q = event.x %}{{ q }}'
    expect(findTemplateProblems(source)).toEqual([])
  })

  test.each([
    ['{{ headline }}', 'There is no variable headline.'],
    ['{{ contact.name }}', 'There is no variable contact.name.'],
    ['{{ app.secret }}', 'There is no variable app.secret.'],
    ['{{ event }}', 'There is no variable event.'],
    ['{% if user.paid %}x{% endif %}', 'There is no variable user.paid.'],
    ['{% include "x" %}', '“{% include %}” cannot stand here'],
    ['{{ event.a | raw }}', 'There is no filter “raw”'],
    ['{{ event.a', 'does not end with }}'],
  ])('%s', (source, sentence) => {
    const problems = findTemplateProblems(source)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(sentence)
  })
})
