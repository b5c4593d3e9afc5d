import { computedMs } from '../../src/messages/template-scope.ts'
import { describe, expect, test } from 'bun:test'
import { COSTLY_BODIES } from '../costly-drafts.ts'
import type { TemplateScope } from '../../src/messages/template-scope.ts'
import {
  fillTemplate,
  findTemplateProblems,
  listUsedProperties,
  showValues,
  splitValues,
  TEMPLATE_CHARACTERS,
} from '../../src/messages/templates.ts'
import { BEST_OF_FIVE, growthTo, MOST_GROWTH } from '../waiting.ts'

const SCOPE: TemplateScope = {
  event: { headline: 'Your results are ready.', count: 12, done: true, url: 'https://app.example.com/1', list: ['a'] },
  contact: { email: 'ada@example.com', tags: ['beta', 'paid'], fields: { plan: 'pro' } },
  app: { name: 'Demo' },
  unsubscribeUrl: 'https://post.example.com/u/1',
}

/** Values appear in guillemets. */
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
    ['{{ event.count | divided_by: 5 | round: 1 }}', '«2.4»'],
    ['{{ "7" | plus: event.count }}', '«19»'],
    ['{% for i in (1..event.count) %}{{ i }}{% endfor %}', Array.from({ length: 12 }, (_, i) => `«${i + 1}»`).join('')],
    ['{% for i in (2..1) %}{{ i }}{% endfor %}', ''],
    ['{% if contact.tags contains "paid" and event.count > 2 %}yes{% endif %}', 'yes'],
    ['{% if event.list == contact.tags %}{% else %}no{% endif %}', 'no'],
    ['{{ event.count | divided_by: 0 | default: "none" }}', '«none»'],
    ['{% assign n = event.headline | times: 2 %}{{ n | default: "no number" }}', '«no number»'],
    ['{{ event.plan | capitalize | default: "Pro" }}', '«Pro»'],
    ['{{ event.plan | truncate: 5 | default: "Pro" }}', '«Pro»'],
    ['{{ event.plan | date: "short" | default: "soon" }}', '«soon»'],
    ['{{ event.headline | date | default: "soon" }}', '«soon»'],
    ['{{ event.plan | join: ", " | default: "none" }}', '«none»'],
    ['{{ "Plan " | append: event.plan | default: "none" }}', '«none»'],
    ['{{ event.plan | default: contact.firstName | default: "there" }}', '«there»'],
    ['{{ event.plan | default: contact.fields.plan }}', '«pro»'],
    ['{{ event.headline | default: contact.firstName }}', '«Your results are ready.»'],
    ['{% assign n = event.plan | upcase | default: "none" %}{{ n }}', '«none»'],
    ['{% for a in event.plan %}{{ a }}{% else %}none{% endfor %}', 'none'],
    ['{% for a in event.list %}{{ a }}{% else %}none{% endfor %}', '«a»'],
    ['no values at all', 'no values at all'],
  ])('%s', (source, shown) => {
    expect(fill(source)).toBe(shown)
  })

  test.each([
    ['{{ event.plan }}', 'event.plan'],
    ['{{ event.plan | upcase | default: contact.firstName }}', 'event.plan | upcase | default: contact.firstName'],
    ['{{ event.plan | default: "a" | append: event.other }}', 'event.other'],
    ['{% for a in event.plan %}{{ a }}{% endfor %}', 'event.plan'],
    ['{% for a in event.list %}{{ event.plan }}{% else %}none{% endfor %}', 'event.plan'],
    ['{{ contact.firstName }}', 'contact.firstName'],
    ['{{ nothing.at.all }}', 'nothing'],
    ['{{ event.constructor }}', 'event.constructor'],
    ['{{ event["__proto__"] }}', 'event.__proto__'],
    ['{{ contact.tags.constructor.name }}', 'contact.tags.constructor'],
    // lists, objects and emptied texts count as missing
    ['{{ event.list }}', 'event.list'],
    ['{{ contact }}', 'contact'],
    ['{{ event.headline | truncate: 0, "" }}', 'event.headline | truncate: 0, ""'],
    ['{{ contact.firstName | default: "" }}', 'contact.firstName | default: ""'],
    // a calculation without a result
    ['{{ event.count | divided_by: 0 }}', 'event.count | divided_by: 0'],
    ['{{ event.count | modulo: 0 }}', 'event.count | modulo: 0'],
    ['{{ event.headline | times: 2 }}', 'event.headline | times: 2'],
    ['{{ event.count | plus: event.headline }}', 'event.count | plus: event.headline'],
    ['{{ event.list | plus: 1 }}', 'event.list | plus: 1'],
    ['{{ event.count | divided_by: 0 | append: " EUR" }}', 'event.count | divided_by: 0 | append: " EUR"'],
    ['{{ event.count | divided_by: 0 | at_most: 5 }}', 'event.count | divided_by: 0 | at_most: 5'],
    ['{% assign n = event.plan | plus: 1 %}{{ n }}', 'n'],
    ['{% assign n = event.plan %}{{ "a" | append: n }}', '"a" | append: n'],
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
    '{% for i in (9007199254740992..9007199254740994) %}y{% endfor %}',
    '{% for i in (1.5..3) %}y{% endfor %}',
    '{% for i in (1..event.headline) %}y{% endfor %}',
    '{% assign a = (1..3) %}{{ a | join: "" }}',
    '{{ (1..3) | join: "" }}',
    '{% if contact.tags contains (1..3) %}y{% endif %}',
    '{% for i in contact.tags limit:(1..3) %}y{% endfor %}',
    '{{ contact.tags[(1..3)] }}',
    '{% case event.count %}{% when (1..3) %}y{% endcase %}',
    '{{ event.headline | append: (1..3) }}',
  ])('cannot be %p', (source) => {
    expect(fill(source)).toEqual({ broken: expect.any(String) })
  })

  test('has a maximum size', () => {
    expect(fill('x'.repeat(TEMPLATE_CHARACTERS))).toHaveLength(TEMPLATE_CHARACTERS)
    expect(fill('x'.repeat(TEMPLATE_CHARACTERS + 1))).toEqual({ broken: expect.any(String) })
  })

  test('does not count levels in comments', () => {
    expect(fill(`${'{% comment %}{% if x %}{% endcomment %}'.repeat(30)}Hello`)).toBe('Hello')
  })

  test.each([
    ['{% if event.done %}'.repeat(21) + '{% endif %}'.repeat(21), 'it is nested too deeply'],
    [
      `{% if event.a == "{% endif %}" %}${'{% if event.a == "{% endif %}" %}'.repeat(20)}${'{% endif %}'.repeat(21)}`,
      'it is nested too deeply',
    ],
    [
      '{% if event.a %}{% comment %}{% endif %}{% endcomment %}'.repeat(21) + '{% endif %}'.repeat(21),
      'it is nested too deeply',
    ],
    ['{% for i in (1..1001) %}y{% endfor %}', 'less than 1,000 apart'],
    ['{% for i in (1..1000) %}{% for j in (1..1000) %}{% endfor %}{% endfor %}', 'it takes too many steps to render'],
    ['{% assign a = "0123456789" %}' + '{% assign a = a | append: a %}'.repeat(14) + '{{ a }}', 'it is too long'],
  ])('has limits with a specific message: %#', (source, said) => {
    expect(fill(source)).toEqual({ broken: expect.stringContaining(said) })
  })

  test('has a time limit', () => {
    const source = '{% for i in (1..900) %}{{ i }}{% endfor %}'
    expect(fillTemplate(source, SCOPE, { until: computedMs() + 60_000 })).toHaveProperty('filled')
    expect(fillTemplate(source, SCOPE, { until: computedMs() - 1 })).toEqual({ slow: true })
  })

  test.each(Object.entries(COSTLY_BODIES))(
    'stays within its limits: %s',
    (_, source) => {
      const [startedAt, cpu] = [performance.now(), process.cpuUsage()]
      const filling = fillTemplate(source, SCOPE, { until: startedAt + 60_000 })
      const { user, system } = process.cpuUsage(cpu)
      // ended by limits of work and length, not by the clock
      expect(filling).not.toHaveProperty('slow')
      expect((user + system) / 1_000).toBeLessThan(2_000)
      if ('filled' in filling) expect(filling.filled.length).toBeLessThanOrEqual(256 * 1024)
    },
    BEST_OF_FIVE,
  )

  test('never takes a value for a template', () => {
    const event = { headline: '{{ contact.email }} {% include "x" %}' }
    expect(fill('{{ event.headline }}', { ...SCOPE, event })).toBe('«{{ contact.email }} {% include "x" %}»')
    const nested = '{% assign a = event.headline %}{{ a }} {{ event.headline | append: "{{ x }}" }}'
    expect(fill(nested, { ...SCOPE, event })).toBe(
      '«{{ contact.email }} {% include "x" %}» «{{ contact.email }} {% include "x" %}{{ x }}»',
    )
  })

  test('marks values so that no one can fake a mark', () => {
    const event = { headline: '' }
    const seen = fillTemplate('{{ event.a }}', { event: { a: 'x' } })
    event.headline = 'filled' in seen ? seen.filled : ''
    // even for someone who knows the hiding format: their text is a value too
    expect(fill('{{ event.headline }}', { event })).toBe(`«${event.headline}»`)
  })
})

describe('splitValues', () => {
  test('separates values from the text of the author', () => {
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
  test('finds none in valid templates', () => {
    const source =
      '{{ event.a.b }} {{ contact.fields.x }} {{ contact.email }} {{ app.name }} {{ unsubscribeUrl }} {% assign q = event.x %}{{ q }}'
    expect(findTemplateProblems(source)).toEqual([])
  })

  test('knows variables that a template assigns, in order', () => {
    const known = [
      '{% assign a = event.x %}{% if a %}{% assign b = a %}{% endif %}{{ b }}',
      '{% for tag in contact.tags %}{{ tag }}{{ forloop.index }}{% else %}{{ event.x }}{% endfor %}',
      '{% case event.x %}{% when event.y %}{% assign c = 1 %}{{ c }}{% endcase %}',
      '{{ event[contact.fields.name] }}',
    ]
    expect(known.flatMap((source) => findTemplateProblems(source))).toEqual([])
    const unknown = ['{{ a }}{% assign a = 1 %}', '{% for a in event.list %}{% endfor %}{{ a }}', '{{ event[a] }}']
    for (const source of unknown) expect(findTemplateProblems(source)).toEqual([expect.stringContaining('variable a.')])
  })

  test('takes linear time', () => {
    let sources = 0
    // each source is new, because the last ones are remembered
    const find = (count: number): void =>
      expect(findTemplateProblems(`${'{{event.a}}{{b}}'.repeat(count)}{# ${sources++} #}`)).toHaveLength(1)
    expect(growthTo(2_400, find)).toBeLessThan(MOST_GROWTH)
  })

  test.each([
    ['{{ headline }}', 'There is no variable headline.'],
    ['{{ contact.name }}', 'There is no variable contact.name.'],
    ['{{ contact.fristName }}', 'There is no variable contact.fristName. Did you mean contact.firstName?'],
    [`{{ contact.${'x'.repeat(500)} }}`, 'Use event.NAME'],
    ['{{ app.secret }}', 'There is no variable app.secret.'],
    ['{{ event }}', 'There is no variable event.'],
    ['{% if user.paid %}x{% endif %}', 'There is no variable user.paid.'],
    ['{% include "x" %}', '“{% include %}” is not allowed here'],
    ['{{ event.a | raw }}', 'There is no filter “raw”'],
    ['{{ event.a', 'does not end with }}'],
  ])('%s', (source, sentence) => {
    const problems = findTemplateProblems(source)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(sentence)
  })
})

test('listUsedProperties names the use of each property', () => {
  const source =
    '{{ event.name }}{{ event.total | times: 2 }}{{ event.at | date: "%d" }}{% for i in (1..event.count) %}{% endfor %}{% if event.plan == "pro" %}{{ 1 | plus: event.more }}{% endif %}{{ contact.email }}{{ contact.fields.plan }}{{ contact.fields.endsAt | date }}'
  expect(listUsedProperties(source)).toEqual([
    { name: 'name', kind: 'text' },
    { name: 'total', kind: 'number' },
    { name: 'at', kind: 'date' },
    { name: 'count', kind: 'number' },
    { name: 'plan', kind: 'text' },
    { name: 'more', kind: 'number' },
    { name: 'plan', isField: true, kind: 'text' },
    { name: 'endsAt', isField: true, kind: 'date' },
  ])
  expect(listUsedProperties('{{ event.name ')).toEqual([])
})
