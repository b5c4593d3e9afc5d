import { describe, expect, test } from 'bun:test'
import { createSharedPaths, type EventFields, readEventInput } from '../../src/events/event-input.ts'
import type { Body } from '../../src/core/inputs.ts'

const NOW = Date.UTC(2026, 2, 1, 12)
const BASE = { app: 'app_1', email: 'jane@example.com', event: 'results_ready' }
const CLEAN: EventFields = {
  app: 'app_1',
  email: 'jane@example.com',
  emailShown: 'jane@example.com',
  event: 'results_ready',
  properties: null,
  createContact: false,
  firstName: null,
  lastName: null,
  occurredAt: null,
  url: null,
}
const faults = (body: Body) => {
  const read = readEventInput(body, NOW)
  return 'errors' in read ? read.errors.map(({ field, code }) => `${field} ${code}`) : 'accepted'
}
/** An object whose compact JSON takes this many bytes. */
const propertiesOf = (bytes: number) => ({ x: 'x'.repeat(bytes - '{"x":""}'.length) })
const nest = (levels: number): unknown => JSON.parse('{"x":'.repeat(levels - 1) + '{}' + '}'.repeat(levels - 1))

describe('readEventInput gives', () => {
  const cases: [Body, Partial<EventFields>][] = [
    [{}, {}],
    [{ app: undefined, newsletter: 'app_1' }, {}],
    [{ newsletter: 'app_1' }, {}],
    [{ email: ' Jane@Bücher.de ' }, { email: 'jane@xn--bcher-kva.de', emailShown: 'Jane@Bücher.de' }],
    [{ event: 'a' }, { event: 'a' }],
    [{ event: 'Az09_.:-'.repeat(8) }, { event: 'Az09_.:-'.repeat(8) }],
    [{ createContact: true }, { createContact: true }],
    [{ createContact: false }, {}],
    [
      { firstName: 'Zoë', lastName: 'O\u202eN' },
      { firstName: 'Zoë', lastName: 'O\u202eN' },
    ],
    [{ firstName: null, lastName: '' }, {}],
    [
      { firstName: 'x'.repeat(200), lastName: '😀'.repeat(200) },
      { firstName: 'x'.repeat(200), lastName: '😀'.repeat(200) },
    ],
    [{ properties: {} }, { properties: '{}' }],
    [
      { properties: { url: 'https://a.example/1', headline: 'Ready' } },
      { properties: '{"url":"https://a.example/1","headline":"Ready"}', url: 'https://a.example/1' },
    ],
    [{ properties: { headline: 'Ready' } }, { properties: '{"headline":"Ready"}' }],
    [
      { event: 'other', properties: { url: 1, headline: null } },
      { event: 'other', properties: '{"url":1,"headline":null}' },
    ],
    [
      { event: 'other', properties: { url: 'https://a.example' } },
      { event: 'other', properties: '{"url":"https://a.example"}' },
    ],
    [{ properties: propertiesOf(2047) }, { properties: JSON.stringify(propertiesOf(2047)) }],
    [{ properties: nest(32) as Body }, { properties: JSON.stringify(nest(32)) }],
    [{ properties: JSON.parse('{"__proto__":{"url":"x"}}') }, { properties: '{"__proto__":{"url":"x"}}' }],
    [{ occurredAt: '2026-03-01T13:00:00+01:00' }, { occurredAt: NOW }],
    [{ occurredAt: '2026-03-01T12:10:00Z' }, { occurredAt: NOW + 600_000 }],
    [{ occurredAt: '2026-02-26T12:00:00Z' }, { occurredAt: NOW - 72 * 3_600_000 }],
  ]
  test.each(cases)('%j', (more, expected) => {
    expect(readEventInput({ ...BASE, ...more }, NOW)).toEqual({ input: { ...CLEAN, ...expected }, warnings: [] })
  })

  test.each([
    ['1970-01-01T00:00:00Z', 0],
    ['1969-12-31T23:00:00-01:00', 0],
    ['1999-01-01T00:00:00Z', Date.UTC(1999, 0, 1)],
    ['2026-02-26T11:59:59.999Z', NOW - 72 * 3_600_000 - 1],
  ])('%s, with a warning that it triggers nothing', (sent, occurredAt) => {
    expect(readEventInput({ ...BASE, occurredAt: sent }, NOW)).toEqual({
      input: { ...CLEAN, occurredAt },
      warnings: [
        {
          field: 'occurredAt',
          code: 'too_old',
          message: 'This is more than 72 hours ago. The event is stored, but it triggers no message.',
        },
      ],
    })
  })
})

describe('readEventInput names the field', () => {
  const cases: [Body, string][] = [
    [{ app: undefined }, 'app missing'],
    [{ app: null }, 'app invalid'],
    [{ app: '' }, 'app invalid'],
    [{ app: 1 }, 'app invalid'],
    [{ app: 'x'.repeat(65) }, 'app invalid'],
    [{ newsletter: null }, 'newsletter invalid'],
    [{ newsletter: 'app_2' }, 'app conflict'],
    [{ email: undefined }, 'email missing'],
    [{ email: null }, 'email invalid'],
    [{ email: '' }, 'email invalid'],
    [{ email: 'jane' }, 'email invalid'],
    [{ email: ['jane@example.com'] }, 'email invalid'],
    [{ event: undefined }, 'event missing'],
    [{ event: '' }, 'event invalid'],
    [{ event: null }, 'event invalid'],
    [{ event: '$page' }, 'event invalid'],
    [{ event: 'a b' }, 'event invalid'],
    [{ event: 'a\n' }, 'event invalid'],
    [{ event: 'é' }, 'event invalid'],
    [{ event: 'x'.repeat(65) }, 'event too_long'],
    [{ properties: null }, 'properties invalid'],
    [{ properties: [] }, 'properties invalid'],
    [{ properties: '{}' }, 'properties invalid'],
    [{ properties: propertiesOf(2048) }, 'properties too_large'],
    [{ properties: { x: 'é'.repeat(1021) } }, 'properties too_large'],
    [{ properties: { url: 1 } }, 'properties invalid'],
    [{ properties: { url: null } }, 'properties invalid'],
    [{ properties: { headline: ['x'] } }, 'properties invalid'],
    [{ createContact: 'true' }, 'createContact invalid'],
    [{ createContact: 1 }, 'createContact invalid'],
    [{ createContact: null }, 'createContact invalid'],
    [{ firstName: 1 }, 'firstName invalid'],
    [{ firstName: 'a\u0000' }, 'firstName invalid'],
    [{ firstName: 'a\nb' }, 'firstName invalid'],
    [{ lastName: 'a\u007f' }, 'lastName invalid'],
    [{ lastName: 'a\u0085' }, 'lastName invalid'],
    [{ lastName: 'x'.repeat(201) }, 'lastName too_long'],
    [{ occurredAt: null }, 'occurredAt invalid'],
    [{ occurredAt: NOW }, 'occurredAt invalid'],
    [{ occurredAt: '2026-03-01T12:00:00' }, 'occurredAt invalid'],
    [{ occurredAt: '2026-03-01T12:10:00.001Z' }, 'occurredAt future'],
    [{ occurredAt: '1969-12-31T23:59:59.999Z' }, 'occurredAt invalid'],
    [{ occurredAt: '1970-01-01T00:00:00+01:00' }, 'occurredAt invalid'],
    [{ occurredAt: '0000-01-01T00:00:00Z' }, 'occurredAt invalid'],
  ]
  test.each(cases)('%j', (more, fault) => {
    expect(faults({ ...BASE, ...more })).toEqual([fault])
  })
})

test('reports every invalid field at once, in schema order', () => {
  const body = {
    occurredAt: 1,
    lastName: 1,
    firstName: 1,
    createContact: 1,
    properties: 1,
    event: '$',
    email: 1,
    newsletter: 1,
    app: 1,
  }
  expect(faults(body)).toEqual([
    'app invalid',
    'newsletter invalid',
    'email invalid',
    'event invalid',
    'properties invalid',
    'createContact invalid',
    'firstName invalid',
    'lastName invalid',
    'occurredAt invalid',
  ])
  expect(faults({})).toEqual(['app missing', 'email missing', 'event missing'])
})

test('messages are whole sentences without input', () => {
  const secret = 's3cret\u0007'
  const bodies: Body[] = [
    {
      app: 'a',
      newsletter: secret,
      email: secret,
      event: secret,
      properties: secret,
      createContact: secret,
      firstName: secret,
      lastName: secret,
      occurredAt: secret,
    },
    { ...BASE, properties: { url: [secret], [secret]: secret } },
  ]
  const read = bodies.map((body) => readEventInput(body, NOW))
  const errors = read.flatMap((one) => ('errors' in one ? one.errors : []))
  expect(errors.length).toBe(9)
  for (const { message } of errors) expect(message).toMatch(/^[A-Z`][^]*\.$/)
  expect(JSON.stringify(read)).not.toContain('s3cret')
})

test('unknown fields are ignored with a warning', () => {
  const read = readEventInput({ ...BASE, emial: 'secret', tags: ['a'] }, NOW)
  const message = expect.stringMatching(/^Unknown field, ignored. Known fields: `/)
  expect(read).toEqual({
    input: CLEAN,
    warnings: [
      { field: 'emial', code: 'unknown_field', message },
      { field: 'tags', code: 'unknown_field', message },
    ],
  })
})

describe('two results on one page', () => {
  const [ADA, BOB] = ['ada@example.com', 'bob@example.com']
  const ONE = { appId: 1, email: ADA, url: 'https://a.example/results?id=1' }

  test.each([
    ['another query of another person', { email: BOB, url: 'https://a.example/results?id=2' }, 1],
    ['the same page, spelled otherwise', { email: BOB, url: 'https://a.example/results/?id=2' }, 1],
    ['the same person again', { url: 'https://a.example/results?id=2' }, 0],
    ['the same result of another person', { email: BOB }, 0],
    ['another path', { email: BOB, url: 'https://a.example/results/2?id=2' }, 0],
    ['another app', { appId: 2, email: BOB, url: 'https://a.example/results?id=2' }, 0],
    ['no query', { email: BOB, url: 'https://a.example/results' }, 0],
    ['no URL', { email: BOB, url: null }, 0],
  ])('after a result with a query, %s', (_, next, warnings) => {
    const paths = createSharedPaths()
    expect(paths.warn(ONE)).toEqual([])
    expect(paths.warn({ ...ONE, ...next })).toHaveLength(warnings)
  })

  test('the oldest pages are forgotten', () => {
    const paths = createSharedPaths()
    for (let page = 0; page <= 10_000; page += 1) paths.warn({ ...ONE, url: `https://a.example/${page}?id=1` })
    expect(paths.warn({ ...ONE, email: BOB, url: 'https://a.example/0?id=2' })).toEqual([])
    expect(paths.warn({ ...ONE, email: BOB, url: 'https://a.example/10000?id=2' })).toHaveLength(1)
  })
})
