import { describe, expect, test } from 'bun:test'
import { FormatRegistry, type TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import * as answers from '../../src/http/answer-schemas.ts'
import { errorCode } from '../../src/core/refusals.ts'

// The server registers the real format.
if (!FormatRegistry.Has('date-time')) FormatRegistry.Set('date-time', (text) => !Number.isNaN(Date.parse(text)))

const AT = '2026-03-01T12:00:00.000Z'
const CONTACT = {
  id: 'con_00000000001',
  app: 'app_1',
  email: 'jane@example.com',
  firstName: null,
  lastName: 'Doe',
  tags: ['a'],
  fields: { plan: 'pro', seats: 3, ok: true },
  source: null,
  status: 'subscribed',
  createdAt: AT,
  updatedAt: AT,
  firstSeenAt: null,
  lastSeenAt: AT,
  lastEventAt: null,
}
const EVENT = {
  id: 'evt_00000000001',
  type: 'event',
  event: 'results_ready',
  path: null,
  email: 'jane@example.com',
  contactId: 'con_00000000001',
  properties: { url: 'x' },
  occurredAt: AT,
  receivedAt: AT,
  via: 'api',
}
const WARNING = { field: 'x', code: 'unknown_field', message: 'Ignored.' }

describe('answers match their documentation', () => {
  const cases: [keyof typeof answers, unknown][] = [
    ['EventAnswer', { ok: true, contactId: 'con_1', created: true }],
    ['EventAnswer', { ok: true, contactId: 'con_1', created: false, warnings: [WARNING] }],
    ['ContactAddedAnswer', { ok: true, contactId: 'con_1', created: true, contact: CONTACT }],
    ['ContactSavedAnswer', { ok: true, contactId: 'con_1', created: false, contact: CONTACT }],
    ['ContactFoundAnswer', { ok: true, contact: CONTACT }],
    ['ContactEraseAnswer', { ok: true }],
    ['ContactPage', { ok: true, data: [CONTACT], nextCursor: null }],
    [
      'EventPage',
      {
        ok: true,
        data: [EVENT, { ...EVENT, type: 'page', event: null, path: '/a', properties: null }],
        nextCursor: 'abc',
      },
    ],
    [
      'BatchAnswer',
      {
        ok: false,
        accepted: 1,
        results: [
          { index: 0, ok: true, contactId: 'con_1', created: true },
          { index: 1, ok: false, error: 'invalid_field', message: 'No.', field: 'event' },
        ],
      },
    ],
    ['ErrorAnswer', { ok: false, error: 'invalid_json', message: 'No.', requestId: 'r' }],
    [
      'ErrorAnswer',
      { ok: false, error: 'invalid_field', message: 'No.', field: 'a', errors: [WARNING, WARNING], requestId: 'r' },
    ],
    [
      'ErrorAnswer',
      { ok: false, error: 'rate_limited', message: 'No.', scope: 'ip', limit: 5, retryAfter: 600, requestId: 'r' },
    ],
    ['WarningItem', WARNING],
  ]
  test.each(cases)('%s %#', (name, answer) => {
    expect(TypeCompiler.Compile(answers[name] as TSchema).Check(answer)).toBe(true)
  })
  const wrong: [keyof typeof answers, unknown][] = [
    ['EventAnswer', { ok: true, created: true }],
    ['ContactAddedAnswer', { ok: true, contactId: 'con_1', created: true, contact: { ...CONTACT, status: 'other' } }],
    ['ContactSavedAnswer', { ok: true, contactId: 'con_1', created: true, contact: CONTACT }],
    ['EventPage', { ok: true, data: [{ ...EVENT, type: 'other' }], nextCursor: null }],
    ['ContactPage', { ok: true, data: [] }],
    ['ErrorAnswer', { ok: false, error: 'made_up', message: 'No.', requestId: 'r' }],
    ['ErrorAnswer', { ok: false, error: 'not_found', message: 'No.' }],
  ]
  test.each(wrong)('not %s %#', (name, answer) => {
    expect(TypeCompiler.Compile(answers[name] as TSchema).Check(answer)).toBe(false)
  })
})

test('documented error codes are public', () => {
  for (const { const: code } of answers.ErrorAnswer.properties.error.anyOf) expect(errorCode(code)).toBe(code)
})
