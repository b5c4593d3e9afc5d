import { describe, expect, test } from 'bun:test'
import {
  type ContactFields,
  readContactErase,
  readContactInput,
  readContactUpdate,
} from '../../src/people/contact-input.ts'
import type { Body, Reading } from '../../src/core/inputs.ts'

const BASE = { newsletter: 'app_1', email: 'jane@example.com' }
const CLEAN: ContactFields = {
  app: 'app_1',
  email: 'jane@example.com',
  emailShown: 'jane@example.com',
  firstName: undefined,
  lastName: undefined,
  tags: [],
  removeTags: [],
  fields: null,
  source: undefined,
  ip: null,
}
const faults = <T>(read: Reading<T>) =>
  'errors' in read ? read.errors.map(({ field, code }) => `${field} ${code}`) : 'accepted'
const keys = (count: number, value: unknown = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]))
const manyTags = (count: number) => Array.from({ length: count }, (_, i) => `t${i}`)
/** Custom fields whose compact JSON takes this many bytes. */
const fieldsOf = (bytes: number) => {
  const fields: Record<string, string> = keys(16, 'x'.repeat(1000)) as Record<string, string>
  const last = bytes - JSON.stringify({ ...fields, last: '' }).length
  return { ...fields, last: 'x'.repeat(last) }
}

const BOTH = [
  ['POST', readContactInput],
  ['PATCH', readContactUpdate],
] as const

describe.each(BOTH)('%s gives', (_method, read) => {
  const cases: [Body, Partial<ContactFields>][] = [
    [{}, {}],
    [{ newsletter: undefined, app: 'app_1' }, {}],
    [{ app: 'app_1' }, {}],
    [{ email: ' Jane@Example.com' }, { emailShown: 'Jane@Example.com' }],
    [
      { firstName: 'Zoë', lastName: 'x'.repeat(200) },
      { firstName: 'Zoë', lastName: 'x'.repeat(200) },
    ],
    [
      { firstName: null, lastName: '' },
      { firstName: null, lastName: null },
    ],
    [{ tags: [] }, {}],
    [{ tags: ['b', 'a', 'b', 'A'] }, { tags: ['b', 'a', 'A'] }],
    [{ tags: ['😀'.repeat(64), ...manyTags(49)] }, { tags: ['😀'.repeat(64), ...manyTags(49)] }],
    [{ fields: {} }, { fields: {} }],
    [
      { fields: { plan: 'pro', seats: 3, ok: true, old: null, 'A.b_c-9': '' } },
      { fields: { plan: 'pro', seats: 3, ok: true, old: null, 'A.b_c-9': '' } },
    ],
    [{ fields: { text: 'two\nlines' } }, { fields: { text: 'two\nlines' } }],
    [{ fields: keys(100) }, { fields: keys(100) as ContactFields['fields'] }],
    [{ fields: { ['k'.repeat(64)]: 'x'.repeat(1000) } }, { fields: { ['k'.repeat(64)]: 'x'.repeat(1000) } }],
    [{ fields: fieldsOf(16_384) }, { fields: fieldsOf(16_384) }],
    [{ source: 's'.repeat(64) }, { source: 's'.repeat(64) }],
    [{ ip: '203.0.113.7' }, { ip: '203.0.113.7' }],
    [{ ip: '::ffff:203.0.113.7' }, { ip: '203.0.113.7' }],
    [{ ip: '2001:DB8::0:1' }, { ip: '2001:db8::1' }],
  ]
  test.each(cases)('%j', (more, expected) => {
    expect(read({ ...BASE, ...more })).toEqual({ input: { ...CLEAN, ...expected }, warnings: [] })
  })
})

describe.each(BOTH)('%s names the field', (_method, read) => {
  const cases: [Body, string][] = [
    [{ newsletter: undefined }, 'newsletter missing'],
    [{ newsletter: 1 }, 'newsletter invalid'],
    [{ app: 'app_2' }, 'app conflict'],
    [{ email: undefined }, 'email missing'],
    [{ email: 'jane' }, 'email invalid'],
    [{ firstName: {} }, 'firstName invalid'],
    [{ lastName: 'a\tb' }, 'lastName invalid'],
    [{ lastName: 'x'.repeat(201) }, 'lastName too_long'],
    [{ tags: null }, 'tags invalid'],
    [{ tags: 'a' }, 'tags invalid'],
    [{ tags: { 0: 'a' } }, 'tags invalid'],
    [{ tags: ['a', 1, 2] }, 'tags invalid'],
    [{ tags: ['a', null] }, 'tags invalid'],
    [{ tags: [''] }, 'tags invalid'],
    [{ tags: ['a\u0000'] }, 'tags invalid'],
    [{ tags: ['x'.repeat(65)] }, 'tags too_long'],
    [{ tags: manyTags(51) }, 'tags too_long'],
    [{ fields: null }, 'fields invalid'],
    [{ fields: [] }, 'fields invalid'],
    [{ fields: { '': 1 } }, 'fields invalid'],
    [{ fields: { 'a b': 1 } }, 'fields invalid'],
    [{ fields: { 'a\n': 1 } }, 'fields invalid'],
    [{ fields: { ['k'.repeat(65)]: 1 } }, 'fields invalid'],
    [{ fields: { a: {} } }, 'fields invalid'],
    [{ fields: { a: [1] } }, 'fields invalid'],
    [{ fields: { a: 'x'.repeat(1001) } }, 'fields too_long'],
    [{ fields: keys(101) }, 'fields too_large'],
    [{ fields: fieldsOf(16_385) }, 'fields too_large'],
    [{ fields: keys(16, 'é'.repeat(1000)) }, 'fields too_large'],
    [{ source: '' }, 'source invalid'],
    [{ source: 'a\u009f' }, 'source invalid'],
    [{ source: 's'.repeat(65) }, 'source too_long'],
    [{ ip: null }, 'ip invalid'],
    [{ ip: '' }, 'ip invalid'],
    [{ ip: 1 }, 'ip invalid'],
    [{ ip: '203.0.113.7:80' }, 'ip invalid'],
    [{ ip: 'fe80::1%eth0' }, 'ip invalid'],
  ]
  test.each(cases)('%#', (more, fault) => {
    expect(faults(read({ ...BASE, ...more }))).toEqual([fault])
  })
})

test('reports every invalid field at once, in schema order', () => {
  const body = {
    ip: 1,
    source: 1,
    fields: 1,
    removeTags: 1,
    tags: 1,
    lastName: 1,
    firstName: 1,
    email: 1,
    newsletter: 1,
  }
  const posted = [
    'newsletter invalid',
    'email invalid',
    'firstName invalid',
    'lastName invalid',
    'tags invalid',
    'fields invalid',
    'source invalid',
    'ip invalid',
  ]
  expect(faults(readContactInput(body))).toEqual(posted)
  expect(faults(readContactUpdate(body))).toEqual(posted.toSpliced(5, 0, 'removeTags invalid'))
  expect(faults(readContactErase(body))).toEqual(posted.slice(0, 2))
  expect(faults(readContactErase({}))).toEqual(['newsletter missing', 'email missing'])
})

test('only PATCH clears the source', () => {
  const body = { ...BASE, source: null }
  expect(readContactUpdate(body)).toEqual({ input: { ...CLEAN, source: null }, warnings: [] })
  expect(faults(readContactInput(body))).toEqual(['source invalid'])
})

describe('removeTags', () => {
  test('is an independent set on PATCH', () => {
    expect(readContactUpdate({ ...BASE, tags: ['a'], removeTags: ['b', 'c', 'b'] })).toEqual({
      input: { ...CLEAN, tags: ['a'], removeTags: ['b', 'c'] },
      warnings: [],
    })
  })
  test.each([
    [{ tags: ['a', 'b'], removeTags: ['c', 'b'] }, 'removeTags conflict'],
    [{ removeTags: ['x'.repeat(65)] }, 'removeTags too_long'],
    [{ removeTags: null }, 'removeTags invalid'],
  ])('on PATCH %#', (more, fault) => {
    expect(faults(readContactUpdate({ ...BASE, ...more }))).toEqual([fault])
  })
  test.each([[['a']], [null], [7]])('on POST %j is ignored with a warning', (removeTags) => {
    expect(readContactInput({ ...BASE, tags: ['a'], removeTags, other: 1 })).toEqual({
      input: { ...CLEAN, tags: ['a'] },
      warnings: [
        {
          field: 'removeTags',
          code: 'ignored_field',
          message: 'This was ignored. Only PATCH removes tags.',
        },
        {
          field: 'other',
          code: 'unknown_field',
          message: expect.stringMatching(/^Unknown field, ignored. Known fields: `/),
        },
      ],
    })
  })
})

test.each([
  ['Europe/Berlin', []],
  [null, []],
  ['', []],
  ['Berlin', ['unknown_timezone']],
  ['+02:00', ['unknown_timezone']],
  [2, ['unknown_timezone']],
])('the timezone %j', (timezone, codes) => {
  for (const read of [readContactInput, readContactUpdate]) {
    const reading = read({ ...BASE, fields: { timezone } })
    expect('warnings' in reading && reading.warnings.map(({ code }) => code)).toEqual(codes)
  }
})

test('DELETE reads the person, and warns about other fields', () => {
  const read = readContactErase({ app: 'app_1', email: ' JANE@example.com', tags: [] })
  expect(read).toMatchObject({
    input: { app: 'app_1', email: 'jane@example.com' },
    warnings: [{ field: 'tags', code: 'unknown_field' }],
  })
})

test('custom fields named like parts of JavaScript are plain data', () => {
  const read = readContactInput(
    JSON.parse('{"newsletter":"app_1","email":"jane@example.com","fields":{"__proto__":"x","constructor":1}}'),
  )
  expect('input' in read && JSON.stringify(read.input.fields)).toBe('{"__proto__":"x","constructor":1}')
})

test('messages are whole sentences without input', () => {
  const secret = 's3cret\u0007'
  const bodies: Body[] = [
    {
      newsletter: 'a',
      app: secret,
      email: secret,
      firstName: secret,
      lastName: secret,
      tags: [secret],
      removeTags: secret,
      fields: secret,
      source: secret,
      ip: secret,
    },
    { ...BASE, tags: ['s3cret'], removeTags: ['s3cret'], fields: { [secret]: 1 } },
    { ...BASE, fields: { a: [secret] } },
  ]
  const read = bodies.map(readContactUpdate)
  const errors = read.flatMap((one) => ('errors' in one ? one.errors : []))
  expect(errors.length).toBe(12)
  for (const { message } of errors) expect(message).toMatch(/^[A-Z`][^]*\.$/)
  expect(JSON.stringify(read)).not.toContain('s3cret')
})
