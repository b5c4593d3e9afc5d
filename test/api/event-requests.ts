/** Requests to POST /events of every kind, most of them wrong: what each is answered with must not change unnoticed. */
export type EventRequest = { name: string; body: string | Uint8Array<ArrayBuffer>; headers?: Record<string, string> }

const HOUR = 3_600_000
const MAX_BYTES = 65_536

/** Values of every type and many shapes, for each field. */
const VALUES: unknown[] = [
  null,
  true,
  false,
  0,
  -1.5,
  '',
  ' ',
  'x',
  'x'.repeat(65),
  'x'.repeat(300),
  'two words',
  'a\u0000b',
  'a\u202eb',
  'Zoë',
  [],
  ['a'],
  {},
  { url: 7 },
  { url: 'https://first.example/', headline: null },
]
const EMAILS = [
  'Ada <a@b.example>',
  'a@b',
  'a@exämple.com',
  '"a"@b.example',
  'a@b.example,c@d.example',
  ' Ada@Example.com ',
]
const TIMES = (now: number): unknown[] => [
  'yesterday',
  now,
  '2026-02-30T12:00:00Z',
  '2026-05-15',
  '2026-05-15T12:00:00',
  '2026-05-15T25:00:00Z',
  '2026-05-15T12:00:00+15:00',
  '0000-01-01T00:00:00Z',
  new Date(now + 600_000).toISOString(),
  new Date(now + HOUR).toISOString(),
  new Date(now - 72 * HOUR).toISOString(),
  new Date(now - 73 * HOUR).toISOString(),
]
const FIELDS = [
  'app',
  'newsletter',
  'email',
  'event',
  'properties',
  'createContact',
  'firstName',
  'lastName',
  'occurredAt',
]

/** `app` and `other`: two apps of the key's account. `now` in ms UTC. */
export function eventRequests({ app, other, now }: { app: string; other: string; now: number }): EventRequest[] {
  const plain = { app, email: 'ada@example.com', event: 'e', createContact: true }
  const json = (more: object): string => JSON.stringify({ ...plain, ...more })
  /** `text` in the place of a value. */
  const raw = (field: string, text: string): string => `${json({}).slice(0, -1)},"${field}":${text}}`
  const properties = (text: string): string => raw('properties', text)
  const levels = (count: number): string => `${'{"a":'.repeat(count)}1${'}'.repeat(count)}`
  const lists = (count: number): string => '['.repeat(count) + ']'.repeat(count)
  const bytes = (...parts: (string | number[])[]): Uint8Array<ArrayBuffer> =>
    new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part as string))))

  const fields = FIELDS.flatMap((field) =>
    [undefined, ...VALUES].map((value, index) => ({
      name: `${field} ${index}: ${JSON.stringify(value)?.slice(0, 40)}`,
      body: json({ [field]: value }),
    })),
  )
  const bodies: [string, string | Uint8Array<ArrayBuffer>][] = [
    ...EMAILS.map((email): [string, string] => [`email ${email}`, json({ email })]),
    ...TIMES(now).map((occurredAt, index): [string, string] => [`time ${index}`, json({ occurredAt })]),
    ['nothing', ''],
    ['whitespace', ' \n\t'],
    ['no end', '{"app":'],
    ['no end of a string', '{"app":"x'],
    ['a comma too many', `{"app":"${app}",}`],
    ['single quotes', "{'app':1}"],
    ['a comment', '{} // x'],
    ['two objects', '{}{}'],
    ['nothing in it', '{}'],
    ...['[]', 'null', '1', '"x"', 'true', 'NaN', 'undefined'].map((body): [string, string] => [body, body]),
    ['a list of one', `[${json({})}]`],
    ['a byte order mark', bytes([0xef, 0xbb, 0xbf], json({}))],
    ['no UTF-8', bytes([0x7b, 0xff, 0x7d])],
    ['UTF-16', new Uint8Array(Buffer.from(json({}), 'utf16le'))],
    ['an overlong form', bytes('{"a":"', [0xc0, 0xaf], '"}')],
    ['a surrogate as bytes', bytes('{"a":"', [0xed, 0xa0, 0xbd], '"}')],
    ['a character cut off', bytes('{"a":"', [0xe2, 0x82], '"}')],
    ['a control character', `{"app":"${app}","email":"a\nb"}`],
    ['whitespace around', `\r\n\t ${json({})} \n`],
    ['escapes', json({}).replace('"app"', '"\\u0061pp"').replace('ada@', '\\u0061da\\u0040')],
    ['unknown fields', json({ x: 1, y: [], '': 0, constructor: 1, ['z'.repeat(200)]: 1 })],
    ['many unknown fields', json(Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`x${index}`, index])))],
    ['__proto__', raw('__proto__', '{"event":"x"}')],
    ['a name that is half a character', `{"\\ud83d":1,${json({}).slice(1)}`],
    ['a field twice', raw('event', '"other"')],
    ['a field twice, wrong at first', `{"email":"x",${json({}).slice(1)}`],
    ['a field twice, wrong at last', raw('email', '"x"')],
    ['an unknown field twice', `{"x":1,"x":2,${json({}).slice(1)}`],
    ['a key twice within properties', properties('{"a":[{"b":1,"b":2}]}')],
    ['a key twice, spelled otherwise', `{"\\u0065vent":"a",${json({}).slice(1)}`],
    ['a number beyond 2^53', properties('{"a":9007199254740993}')],
    ['a number beyond 2^53, replaced', properties('{"a":9007199254740993,"a":1}')],
    ['2^53 and its fraction', properties('{"a":9007199254740992.0}')],
    ['a number beyond all', properties('{"a":1e999}')],
    ['an unknown number beyond all', raw('x', '1e999')],
    ['a large number that is exact', properties('{"a":1e300,"b":18014398509481984}')],
    ['half of a pair', properties('{"a":"\\ud83d"}')],
    ['half of a pair as a key', properties('{"\\udc00":1}')],
    ['a whole pair', properties('{"a":"\\ud83d\\ude00"}')],
    ...[31, 32, 33, 100, 5_000, 10_000].map((count): [string, string] => [
      `${count} levels`,
      properties(levels(count)),
    ]),
    ...[31, 32, 33, 5_000, 20_000, 32_000].map((count): [string, string] => [
      `${count} lists`,
      properties(`{"a":${lists(count)}}`),
    ]),
    ['unknown levels', raw('x', levels(40))],
    ['nothing but lists', lists(MAX_BYTES / 2)],
    ['lists without end', '['.repeat(MAX_BYTES)],
    ['properties of 2,047 bytes', json({ properties: { a: 'x'.repeat(2_039) } })],
    ['properties of 2,048 bytes', json({ properties: { a: 'x'.repeat(2_040) } })],
    ['properties of 2,048 bytes in fewer characters', json({ properties: { a: '€'.repeat(680) } })],
    ...[4_096, 4_097, MAX_BYTES, MAX_BYTES + 1].map((size): [string, string] => [
      `${size} bytes`,
      json({}).padEnd(size),
    ]),
    ['more bytes than characters', json({ x: '€'.repeat(MAX_BYTES / 3) })],
    ['wrong and large', json({ email: 'x' }).padEnd(20_000)],
    ['large unknown fields', json({ x: 'y'.repeat(30_000), email: 7 })],
    ['another app', json({ app: other })],
    ['both names', json({ newsletter: app })],
    ['both names, another each', json({ newsletter: other })],
    ['no app of the account', json({ app: 'app_none' })],
    ['no app, and somebody unknown', json({ app: 'app_none', email: 'no@example.com', createContact: false })],
    ['somebody unknown', json({ email: 'no@example.com', createContact: false })],
    ['no email, and no app', json({ app: 'app_none', email: undefined })],
    ['everything wrong', JSON.stringify(Object.fromEntries(FIELDS.map((field) => [field, [1]])))],
    ['everything missing but the email', '{"email":"ada@example.com"}'],
    ['names', json({ email: 'grace@example.com', firstName: 'Grace', lastName: 'Hopper' })],
    ['other names', json({ email: 'grace@example.com', firstName: 'G.', lastName: ' Hopper ' })],
    ...[
      undefined,
      {},
      { url: '' },
      { url: 'https://app.first.example/1' },
      { url: 'https://first.example:8443/' },
      { url: 'http://first.example/' },
      { url: 'https://else.example/' },
      { url: ' https://first.example/\n' },
      { url: 'https://a@first.example/' },
      { url: 'https:\\\\first.example' },
      { url: 7 },
      { headline: [] },
    ].map((value): [string, string] => [
      `results: ${JSON.stringify(value)}`,
      json({ event: 'results_ready', properties: value, ...(value?.url === '' ? { x: 1, firstName: 'No' } : {}) }),
    ]),
  ]
  const keyed: [string, string, string][] = [
    ['first', 'key', json({ x: 1 })],
    ['again', 'key', json({ x: 1 })],
    ['again, spelled otherwise', 'key', ` ${JSON.stringify({ x: 1, ...plain })}`],
    ['another body', 'key', json({ event: 'other' })],
    ['a wrong body', 'key', json({ event: '' })],
    ['no JSON', 'key', '{'],
    ['no app of the account', 'key', json({ app: 'app_none' })],
    ['of a large body', 'large', json({}).padEnd(30_000)],
    ['of a large body again', 'large', json({})],
    ['refused', 'mended', json({ email: 'mended@example.com', createContact: false })],
    ['mended', 'mended', json({ email: 'mended@example.com' })],
    ['mended again', 'mended', json({ email: 'mended@example.com' })],
    ['an empty key', '', json({})],
    ['an empty key with a wrong body', '', json({ email: 'x' })],
    ['a long key', 'x'.repeat(256), json({})],
    ['a long key without JSON', 'x'.repeat(256), '['],
    ['a key of other characters', 'clé', json({})],
    ['the longest key', '~'.repeat(255), json({})],
  ]
  const typed: [string, Record<string, string>][] = [
    ['another type', { 'Content-Type': 'text/plain' }],
    ['another charset', { 'Content-Type': 'application/json; charset=latin1' }],
    ['a type of JSON', { 'Content-Type': 'application/vnd.x+json; charset="utf-8"' }],
    ['compressed', { 'Content-Encoding': 'gzip' }],
    ['without a key', { Authorization: '' }],
    ['with a wrong key', { Authorization: 'Bearer mc_x' }],
  ]
  return [
    ...fields,
    ...bodies.map(([name, body]) => ({ name, body })),
    ...keyed.map(([name, key, body]) => ({ name: `key: ${name}`, body, headers: { 'Idempotency-Key': key } })),
    ...typed.map(([name, headers]) => ({ name, body: json({}), headers })),
  ]
}
