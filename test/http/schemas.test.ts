import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { TObject } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import * as contacts from '../../src/people/contact-input.ts'
import { readEventInput } from '../../src/events/event-input.ts'
import { type Body, findProblems, listErrors, type Reading } from '../../src/core/inputs.ts'
import { MessageSchema } from '../../src/messages/message-schema.ts'
import { MAX_CUSTOM_FIELDS, MAX_TAGS } from '../../src/core/field-limits.ts'
import * as schemas from '../inputs.ts'

const NOW = Date.UTC(2026, 2, 1, 12)

type Pair = {
  name: string
  schema: TObject
  read: (body: Body) => Reading<unknown>
  base: Body
}
const CONTACT = { newsletter: 'app_1', email: 'jane@example.com' }
const PAIRS: Pair[] = [
  {
    name: 'EventInput',
    schema: schemas.EventInput,
    read: (body) => readEventInput(body, NOW),
    base: { app: 'app_1', email: 'jane@example.com', event: 'results_ready' },
  },
  {
    name: 'ContactInput',
    schema: schemas.ContactInput,
    read: contacts.readContactInput,
    base: CONTACT,
  },
  {
    name: 'ContactUpdateInput',
    schema: schemas.ContactUpdateInput,
    read: contacts.readContactUpdate,
    base: CONTACT,
  },
  {
    name: 'ContactErase',
    schema: schemas.ContactErase,
    read: contacts.readContactErase,
    base: CONTACT,
  },
]

/**
 * Rules beyond JSON Schema: strings may match the schema and still be refused. Lengths are tested with ASCII: JSON
 * Schema counts code points, TypeBox UTF-16.
 */
const CHECKED_BEYOND_SHAPE = new Set(['email', 'ip', 'occurredAt'])
const text = (length: number) => 'x'.repeat(length)
const object = (keys: number) => Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, i]))
const tags = (count: number) => Array.from({ length: count }, (_, i) => `t${i}`)
const VALUES: unknown[] = [
  null,
  true,
  false,
  0,
  1,
  -1.5,
  1e300,
  '',
  ' ',
  'a',
  'a b',
  'app_1',
  'results_ready',
  '$page',
  'true',
  'null',
  'é',
  '\n',
  'a\u0000',
  'a\u007fb',
  '\u0085',
  'a\u202eb',
  'Az09_.:-',
  ...[63, 64, 65, 199, 200, 201, 999, 1000, 1001].map(text),
  'jane@example.com',
  ' Jane@Example.COM\n',
  'jane@bücher.de',
  'jane',
  'jane@localhost',
  'a@b.c',
  '<a@b.c>',
  'a@b@c.de',
  'a b@c.de',
  '@b.c',
  'a@.b',
  'a@b..c',
  '203.0.113.7',
  '::1',
  '::ffff:203.0.113.7',
  'fe80::1%eth0',
  '[::1]',
  '203.0.113.256',
  '0000:0000:0000:0000:0000:ffff:255.255.255.255',
  '2026-03-01T12:00:00Z',
  '2026-03-01T12:00Z',
  '2026-03-01T12:00:00.123+02:00',
  '2026-03-01T12:00:00-0530',
  '2026-03-01',
  '2026-03-01T12:00:00',
  '2026-02-30T00:00:00Z',
  '2999-01-01T00:00:00Z',
  '2026-03-01T24:00:00Z',
  [],
  ['a'],
  ['a', 'a'],
  [''],
  [1],
  [null],
  [['a']],
  ['a\n'],
  [text(64)],
  [text(65)],
  tags(MAX_TAGS),
  tags(MAX_TAGS + 1),
  {},
  { a: 1 },
  { a: null },
  { a: true },
  { a: 'b' },
  { a: {} },
  { a: [] },
  { '': 1 },
  { 'a b': 1 },
  { [text(64)]: 1 },
  { [text(65)]: 1 },
  { a: text(1000) },
  { a: text(1001) },
  object(MAX_CUSTOM_FIELDS),
  object(MAX_CUSTOM_FIELDS + 1),
  { url: 'https://a.example', headline: 'Ready' },
  JSON.parse('{"__proto__":1}'),
  JSON.parse('{"__proto__":{}}'),
]

describe.each(PAIRS)('$name', ({ schema, read, base }) => {
  const names = Object.keys(schema.properties)
  const compiled = TypeCompiler.Compile(schema)
  const isRead = (body: Body) => 'input' in read(body)

  test('has the fields of the reader, in the order of its errors', () => {
    const everyFieldWrong = Object.fromEntries([...names].map((name) => [name, Number.NaN]))
    const found = read(everyFieldWrong)
    expect('errors' in found && found.errors.map(({ field }) => field)).toEqual([...names])
  })
  test('requires the same fields as the reader', () => {
    expect(isRead(base) && compiled.Check(base)).toBe(true)
    const needed = Object.keys(base).filter((name) => !isRead({ ...base, [name]: undefined }))
    const [appName = '', ...others] = needed
    expect(others).toEqual(schema.required ?? [])
    // TypeBox publishes it for OpenAPI and doesn't check it.
    expect(['app', 'newsletter']).toContain(appName)
    expect(schema.not).toEqual({ properties: { app: false, newsletter: false } })
  })
  test('allows unknown fields', () => {
    expect(schema.additionalProperties).toBeUndefined()
    expect(isRead({ ...base, other: 1 }) && compiled.Check({ ...base, other: 1 })).toBe(true)
  })
  test('describes every field', () => {
    for (const field of Object.values(schema.properties)) expect(field.description).toMatch(/^[A-Z].*\.$/)
  })
  test.each([...names])('%s accepts the same values as the reader', (name) => {
    for (const value of VALUES) {
      const body = {
        ...(name === 'app' || name === 'newsletter' ? { email: base.email, event: base.event } : base),
        [name]: value,
      }
      const [isAccepted, isInShape] = [isRead(body), compiled.Check(JSON.parse(JSON.stringify(body)))]
      if (isAccepted) expect({ value, isInShape }).toEqual({ value, isInShape: true })
      else if (!(typeof value === 'string' && CHECKED_BEYOND_SHAPE.has(name)))
        expect({ value, isInShape }).toEqual({ value, isInShape: false })
    }
  })
})

describe('the walk accepts exactly what the compiled schema accepts', () => {
  // texts of ASCII: the compiled schema counts UTF-16, the walk counts characters
  const value = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...VALUES) }, fc.jsonValue())
  const isAscii = (body: unknown): boolean => /^[\0-\x7f]*$/.test(JSON.stringify(body) ?? '')
  test.each(PAIRS)('$name', ({ schema, read, base }) => {
    const names = Object.keys(schema.properties)
    const compiled = TypeCompiler.Compile(schema)
    const wrong = fc
      .record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] })
      .filter(isAscii)
    fc.assert(
      fc.property(wrong, fc.subarray(Object.keys(base)), (sent, right) => {
        const body = { ...sent, ...Object.fromEntries(right.map((name) => [name, base[name]])) }
        expect(listErrors(schema, body).length === 0).toBe(compiled.Check(body))
        const reading = read(body)
        const found = 'errors' in reading ? reading.errors.map(({ field }) => names.indexOf(field)) : []
        expect(found).toEqual([...new Set(found)].sort((a, b) => a - b))
      }),
      { numRuns: 500 },
    )
  })
  test('a message', () => {
    const compiled = TypeCompiler.Compile(MessageSchema)
    const right = {
      name: 'A',
      trigger: { event: 'e', where: [{ property: 'p', is: 'equal', to: 1 }] },
      onlyIf: [{ rule: 'away' }, { rule: 'tag', lacks: 'x' }, { rule: 'done', event: 'e', since: { days: 1 } }],
      again: { once: 'property', property: ['a', 'b'] },
      mail: { subject: 'S', body: 'B' },
    }
    const paths = ['name', 'trigger', 'trigger.where.0.is', 'trigger.where.0.to', 'onlyIf.0.rule', 'onlyIf.1.has']
    const more = ['onlyIf.2.since', 'again.once', 'again.property', 'mail.category', 'mail.body', 'wait', 'other']
    const path = fc.constantFrom(...paths, ...more)
    fc.assert(
      fc.property(path, value.filter(isAscii), (to, wrong) => {
        const message = structuredClone(right) as Record<string, unknown>
        const names = to.split('.')
        const inner = names.slice(0, -1).reduce((part, name) => part[name] as Record<string, unknown>, message)
        inner[names.at(-1) ?? ''] = wrong
        expect(findProblems(MessageSchema, message).length === 0).toBe(compiled.Check(message))
      }),
      { numRuns: 1_000 },
    )
  })
})

test('the batch takes 1 to 100 events', () => {
  const { minItems, maxItems, items } = schemas.BatchInput.properties.events
  expect([minItems, maxItems]).toEqual([1, 100])
  expect(items).toBe(schemas.EventInput)
})

test.each(Object.entries(schemas))('%s is plain JSON Schema', (_name, schema) => {
  expect(() => TypeCompiler.Compile(schema)).not.toThrow()
  const written = JSON.stringify(schema)
  expect(JSON.parse(written)).toMatchObject({ type: 'object' })
  for (const [, pattern] of written.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g))
    expect(() => new RegExp(JSON.parse(pattern ?? ''), 'u')).not.toThrow()
})
