import { describe, expect, test } from 'bun:test'
import { MAX_TEXT_BYTES, readEventText, textOf } from '../../src/events/event-texts.ts'
import type { EventSender } from '../../src/store/event-texts.ts'

const AT = Date.UTC(2026, 4, 15, 12)
const sender: EventSender = {
  apps: [
    { id: 7, accountId: 'acc_1', publicId: 'app_first', hosts: ['first.example'] },
    { id: 8, accountId: 'acc_1', publicId: 'app_second', hosts: [] },
  ],
  newPeoplePerMonth: 50,
  buckets: ['events:key_1'],
}
const plain = { app: 'app_first', email: 'Ada@Example.com', event: 'results_ready' }
const readWhole = (body: unknown) =>
  readEventText({ text: typeof body === 'string' ? body : JSON.stringify(body), sender, at: AT })

const read = (body: unknown) => readWhole(body)?.write ?? null

describe('readEventText', () => {
  test('what the store is told of an event with everything', () => {
    const properties = { url: 'https://app.first.example/r/1', headline: 'Ready' }
    const names = { firstName: 'Ada', lastName: null }
    const occurredAt = new Date(AT - 60_000).toISOString()
    expect(read({ ...plain, ...names, createContact: true, occurredAt, properties })).toEqual({
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
      buckets: ['events:key_1'],
      idempotency: null,
    })
  })

  test('what its sender is told of one that is kept', () => {
    expect(readWhole({ ...plain, event: 'other' })?.warnings).toEqual([])
    expect(readWhole({ ...plain, properties: {} })?.warnings).toMatchObject([{ code: 'url_missing' }])
    const body = { ...plain, extra: 1, properties: { url: 'https://elsewhere.example/' } }
    const read = readWhole(body)
    expect(read?.warnings.map(({ field, code }) => [field, code])).toEqual([
      ['extra', 'unknown_field'],
      ['properties', 'url_not_linkable'],
    ])
    expect(read?.write.properties).toBe(JSON.stringify(body.properties))
  })

  test('of the app that it names', () => {
    const body = { email: 'ada@example.com', event: 'e' }
    expect(read({ ...body, newsletter: 'app_second' })).toMatchObject({ appId: 8, shownEmail: null, properties: null })
  })

  test.each<[string, unknown]>([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['a mark of the byte order', `\ufeff${JSON.stringify(plain)}`],
    ['a wrong field', { ...plain, email: 'nobody' }],
    ['a missing one', { ...plain, event: undefined }],
    ['a time to come', { ...plain, occurredAt: new Date(AT + 3_600_000).toISOString() }],
    ['a number that cannot be kept', `{"app":"app_first","email":"a@b.example","event":"e","properties":{"n":1e999}}`],
    ['half of a surrogate pair', `{"app":"app_first","email":"a@b.example","event":"e","properties":{"t":"\\ud800"}}`],
    [
      'too many levels',
      `${JSON.stringify(plain).slice(0, -1)},"properties":${'{"a":'.repeat(300)}1${'}'.repeat(300)}}`,
    ],
    ['nothing but levels', '['.repeat(MAX_TEXT_BYTES)],
    ["another account's app", { ...plain, app: 'app_third' }],
  ])('%s is refused', (_name, body) => expect(read(body)).toBeNull())
})

describe('textOf', () => {
  const bytes = (text: string) => new TextEncoder().encode(text)
  test('a text as it was sent', () => expect(textOf(bytes(' {"a":"€😀"}\n'))).toBe(' {"a":"€😀"}\n'))
  test('the largest', () => expect(textOf(bytes('x'.repeat(MAX_TEXT_BYTES)))).toHaveLength(MAX_TEXT_BYTES))
  test.each<[string, Uint8Array]>([
    ['one byte more', bytes('x'.repeat(MAX_TEXT_BYTES + 1))],
    ['more bytes than characters', bytes('€'.repeat(MAX_TEXT_BYTES / 2))],
    ['no UTF-8', Uint8Array.of(0x7b, 0xff, 0x7d)],
  ])('none: %s', (_name, sent) => expect(textOf(sent)).toBeNull())
})
