import { describe, expect, test } from 'bun:test'
import { readEventText } from '../../src/events/event-input.ts'
import type { EventSender, EventText } from '../../src/store/event-texts.ts'
import { countedBy } from '../store/samples.ts'

const AT = Date.UTC(2026, 4, 15, 12)
const sender: EventSender = {
  apps: [
    { id: 7, accountId: 'acc_1', publicId: 'app_first', hosts: ['first.example'] },
    { id: 8, accountId: 'acc_1', publicId: 'app_second', hosts: [] },
  ],
  newPeoplePerMonth: 50,
  limits: countedBy('events:key_1'),
}
const plain = { app: 'app_first', email: 'Ada@Example.com', event: 'results_ready' }
const read = (body: unknown, more: Partial<EventText> = {}) =>
  readEventText({ text: typeof body === 'string' ? body : JSON.stringify(body), sender, via: 'api', at: AT, ...more })
const readRight = (body: unknown, more: Partial<EventText> = {}) => {
  const reading = read(body, more)
  if ('refused' in reading) throw new Error(reading.refused.refusal)
  return reading
}
const keyOf = (key: string) => ({ idempotency: { keyId: 'key_1', key, target: 'POST /events', at: AT + 1 } })

describe('readEventText', () => {
  test('the write for an event with all fields', () => {
    const properties = { url: 'https://app.first.example/r/1', headline: 'Ready' }
    const names = { firstName: 'Ada', lastName: null }
    const occurredAt = new Date(AT - 60_000).toISOString()
    expect(readRight({ ...plain, ...names, createContact: true, occurredAt, properties }).write).toEqual({
      accountId: 'acc_1',
      appId: 7,
      email: 'ada@example.com',
      shownEmail: 'Ada@Example.com',
      newPeoplePerMonth: 50,
      createContact: true,
      firstName: 'Ada',
      lastName: null,
      type: 'event',
      name: 'results_ready',
      properties: JSON.stringify(properties),
      path: null,
      via: 'api',
      at: AT,
      occurredAt: AT - 60_000,
      limits: countedBy('events:key_1'),
      idempotency: null,
    })
  })

  test('the warnings for a stored event', () => {
    expect(readRight({ ...plain, event: 'other' }).warnings).toEqual([])
    expect(readRight({ ...plain, properties: {} }).warnings).toMatchObject([{ code: 'url_missing' }])
    const body = { ...plain, extra: 1, properties: { url: 'https://elsewhere.example/' } }
    const { write, warnings } = readRight(body)
    expect(warnings.map(({ field, code }) => [field, code])).toEqual([
      ['extra', 'unknown_field'],
      ['properties', 'url_not_linkable'],
    ])
    expect(write.properties).toBe(JSON.stringify(body.properties))
  })

  test('the app it names', () => {
    const body = { email: 'ada@example.com', event: 'e' }
    expect(readRight({ ...body, newsletter: 'app_second' }).write).toMatchObject({
      appId: 8,
      shownEmail: null,
      properties: null,
    })
  })

  test('the hash ignores the order of fields, and differs by body and request', () => {
    const hashOf = (body: object, target = 'POST /events') =>
      readRight(body, { idempotency: { ...keyOf('a').idempotency, target } }).write.idempotency
    const [one, again] = [hashOf(plain), hashOf({ event: plain.event, email: plain.email, app: plain.app })]
    expect(one).toEqual({ keyId: 'key_1', key: 'a', at: AT + 1, part: null, bodyHash: expect.any(String) })
    expect(again).toEqual(one)
    for (const other of [hashOf({ ...plain, extra: 1 }), hashOf(plain, 'POST /contacts')])
      expect(other?.bodyHash).not.toBe(one?.bodyHash)
  })

  const WRONG: [string, unknown, object][] = [
    ['no JSON', '{', { refused: { refusal: 'invalid_json' } }],
    ['no object', '[]', { refused: { refusal: 'invalid_json' } }],
    ['a mark of the byte order', `\ufeff${JSON.stringify(plain)}`, { refused: { refusal: 'invalid_json' } }],
    ['a wrong field', { ...plain, email: 'nobody' }, { refused: { field: 'email' }, appId: 7, lacksEmail: false }],
    ['no email', { ...plain, email: '' }, { refused: { field: 'email' }, appId: 7, lacksEmail: true }],
    ['a missing one', { ...plain, event: undefined }, { refused: { field: 'event' }, appId: 7 }],
    [
      'two wrong ones',
      { app: 'app_second' },
      { refused: { errors: [{ field: 'email' }, { field: 'event' }] }, appId: 8 },
    ],
    [
      'a time to come',
      { ...plain, occurredAt: new Date(AT + 3_600_000).toISOString() },
      { refused: { field: 'occurredAt' } },
    ],
    [
      'a number that cannot be kept',
      `{"app":"app_first","email":"a@b.example","event":"e","properties":{"n":1e999}}`,
      { refused: { refusal: 'invalid_field', field: 'properties' } },
    ],
    [
      'half of a surrogate pair',
      `{"app":"app_first","email":"a@b.example","event":"e","properties":{"t":"\\ud800"}}`,
      { refused: { refusal: 'invalid_field', field: 'properties' } },
    ],
    [
      'too many levels',
      `${JSON.stringify(plain).slice(0, -1)},"properties":${'{"a":'.repeat(33)}1${'}'.repeat(33)}}`,
      { refused: { refusal: 'invalid_field', field: 'properties' } },
    ],
    ['nothing but levels', '['.repeat(65_536), { refused: { refusal: 'invalid_json' } }],
    ["another account's app", { ...plain, app: 'app_third' }, { refused: { refusal: 'app_not_found' } }],
  ]
  test.each(WRONG)('%s is refused', (_name, body, refused) => expect(read(body)).toMatchObject(refused))

  test('a malformed Idempotency-Key is reported after invalid JSON and before invalid fields', () => {
    const wrong = keyOf('é')
    expect(read('{', wrong)).toMatchObject({ refused: { refusal: 'invalid_json' } })
    for (const body of [plain, { ...plain, email: 'x' }])
      expect(read(body, wrong)).toMatchObject({ refused: { field: 'Idempotency-Key' } })
  })

  test('a request in progress is reported last', () => {
    const more = { ...keyOf('a'), refusal: 'idempotency_in_progress' } as const
    expect(read({ ...plain, email: 'x' }, more)).toMatchObject({ refused: { field: 'email' } })
    expect(read({ ...plain, app: 'app_none' }, more)).toMatchObject({ refused: { refusal: 'app_not_found' } })
    expect(read(plain, more)).toEqual({ refused: { refusal: 'idempotency_in_progress' }, appId: 7 })
  })
})
