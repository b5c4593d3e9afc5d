import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { MAX_BATCH_FIELD_DEPTH } from '../../src/core/field-limits.ts'
import {
  canonicalJson,
  findRepeatedKeys,
  isJsonObject,
  type ParsedObject,
  parseJsonList,
  parseJsonMessage,
  parseJsonObject,
  quoteName,
  warnOfRepeated,
} from '../../src/core/json.ts'
import { refuse } from '../../src/core/refusals.ts'
import { createRandom } from '../random.ts'
import { growthTo, MOST_GROWTH } from '../waiting.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const parse = (text: string) => parseJsonObject(encode(text))
const nest = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const refusedField = (parsed: ParsedObject) => {
  if (!('refused' in parsed)) return 'accepted'
  return parsed.refused.refusal === 'invalid_field' ? parsed.refused.field : parsed.refused.refusal
}

describe('parseJsonObject gives the object', () => {
  const cases: [string, unknown][] = [
    ['{}', {}],
    [' \r\n\t{"a":1}\n', { a: 1 }],
    ['{"a":1,"a":2}', { a: 2 }],
    ['{"a":9007199254740993,"a":2}', { a: 2 }],
    ['{"a":"\\ud800","a":"b"}', { a: 'b' }],
    ['{"name":"Zoë 😀"}', { name: 'Zoë 😀' }],
    ['{"name":"\\ud83d\\ude00 \\uD83D\\uDE00"}', { name: '😀 😀' }],
    ['{"\\ud83d\\ude00":{"\\ud83d\\ude00":[1]}}', { '😀': { '😀': [1] } }],
    ['{"a":"\\\\ud800"}', { a: '\\ud800' }],
    ['{"a":9007199254740992,"b":-9007199254740992}', { a: 2 ** 53, b: -(2 ** 53) }],
    [
      '{"a":1e300,"b":-1.5E+20,"c":1e-999,"d":1234567890123456789.5}',
      // oxlint-disable-next-line no-loss-of-precision -- what JSON.parse makes of it
      { a: 1e300, b: -1.5e20, c: 0, d: 1234567890123456789.5 },
    ],
    ['{"a":9007199254740994.0,"b":9007199254740994e0}', { a: 9007199254740994, b: 9007199254740994 }],
    ['{"a":1.7976931348623157e308,"b":1.0000000000000001e+300}', { a: Number.MAX_VALUE, b: 1.0000000000000001e300 }],
    ['{"a":"9007199254740993","b":"1e999"}', { a: '9007199254740993', b: '1e999' }],
    [`{"b":${nest(30_000)},"b":9007199254740992}`, { b: 2 ** 53 }],
    ['{"a":{"b":[9007199254740993]},"c":9007199254740992,"a":1}', { a: 1, c: 2 ** 53 }],
    [`{"a":${nest(32)}}`, JSON.parse(`{"a":${nest(32)}}`)],
  ]
  test.each(cases)('%s', (text, expected) => {
    expect(parse(text)).toEqual({ object: expected as Record<string, unknown> })
  })
})

describe('parseJsonObject refuses with invalid_json', () => {
  const at = (line: number, character: number) =>
    `The body is not valid JSON. The first error is on line ${line}, at character ${character}.`
  const encoding = 'The body must be encoded as UTF-8, without a byte order mark.'
  test.each<[text: string, message: string | undefined]>([
    ['', at(1, 1)],
    [' ', at(1, 2)],
    ['null', undefined],
    ['true', undefined],
    ['1', undefined],
    ['"a"', undefined],
    ['[]', undefined],
    ['[{}]', undefined],
    ['{', at(1, 2)],
    ['{}{}', at(1, 3)],
    ["{'a':1}", at(1, 2)],
    ['{"a":NaN}', at(1, 6)],
    ['{"a":01}', at(1, 7)],
    ['{"a":1,}', at(1, 8)],
    ['{\n  "a": 1\n  "b": 2\n}', at(3, 3)],
    ['\ufeff{}', encoding],
    ['{"a":"\n"}', at(1, 6)],
    ['{"a":undefined}', at(1, 6)],
    ['/**/{}', at(1, 1)],
    // located neither too deep nor too long
    ['{"a":'.repeat(50_000), undefined],
    [`{"a":"${'x'.repeat(70_000)}",}`, undefined],
  ])('%j', (text, message) => {
    expect(parse(text)).toEqual({
      refused: message === undefined ? refuse('invalid_json') : refuse('invalid_json', { message }),
    })
  })
  const bytes: [string, number[]][] = [
    ['a stray byte', [0xff]],
    ['an overlong form', [0xc0, 0x80]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['a code point beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
    ['a character cut short', [0xc3]],
  ]
  test.each(bytes)('%s', (_name, inner) => {
    expect(parseJsonObject(new Uint8Array([...encode('{"a":"'), ...inner, ...encode('"}')]))).toEqual({
      refused: refuse('invalid_json', { message: encoding }),
    })
  })
  test('UTF-16', () => {
    expect(refusedField(parseJsonObject(new Uint8Array(Buffer.from('{"a":1}', 'utf16le'))))).toBe('invalid_json')
  })
})

describe('parseJsonObject names the top-level field that cannot be stored', () => {
  const cases: [string, string][] = [
    ['{"a":1,"b":"\\ud800"}', 'b'],
    ['{"b":"\\uDfff x"}', 'b'],
    ['{"b":"\\ude00\\ud83d"}', 'b'],
    ['{"b":[{"c":"\\uD800"}]}', 'b'],
    ['{"b":{"c":{"\\ud800":1}}}', 'b'],
    ['{"b\\ud800":1}', 'b\ufffd'],
    ['{"b":1e999}', 'b'],
    ['{"b":-1e999}', 'b'],
    [`{"b":${'9'.repeat(400)}}`, 'b'],
    ['{"b":9007199254740993}', 'b'],
    ['{"b":9007199254740993.0}', 'b'],
    ['{"b":-9007199254740993.00}', 'b'],
    ['{"b":9007199254740993e0}', 'b'],
    ['{"b":9.007199254740993E15}', 'b'],
    ['{"b":90071992547409930000.0}', 'b'],
    [`{"b":1${'0'.repeat(120)}.0}`, 'b'],
    ['{"b":-9007199254740993}', 'b'],
    ['{"b":9007199254740994}', 'b'],
    ['{"b":123456789012345678901234567890}', 'b'],
    ['{"a":1e20,"b":{"c":[0,{"d":9007199254740993}]}}', 'b'],
    ['{"a":9007199254740992,"b":9007199254740993}', 'b'],
    ['{"a":1,"__proto__":9007199254740993}', '__proto__'],
    [`{"a":${nest(32)},"b":${nest(33)}}`, 'b'],
    [`{"b":${'{"x":'.repeat(33)}1${'}'.repeat(33)}}`, 'b'],
    [`{"b":${nest(30_000)}}`, 'b'],
  ]
  test.each(cases)('%#', (text, field) => {
    expect(refusedField(parse(text))).toBe(field)
  })
  test('as one refusal without input', () => {
    expect(parse('{"secret":"\\ud800 secret"}')).toEqual({
      refused: {
        refusal: 'invalid_field',
        field: 'secret',
        message: 'Text in this field contains half of a surrogate pair. Send complete Unicode characters.',
      },
    })
  })
})

describe('parseJsonList', () => {
  const list = (text: string) => parseJsonList(encode(text), 'events')
  const itemsOf = (text: string) => {
    const parsed = list(text)
    return 'refused' in parsed ? (parsed.refused.field ?? parsed.refused.refusal) : parsed.items
  }
  test('has the items as they were sent, whatever they are', () => {
    const items = [
      '{"a":1,"a":"]\\\\","b":[{}]}',
      ' "\\ud800"\n',
      '{"c":[9007199254740993]}',
      '1e999',
      'null',
      '[[],","]',
    ]
    const around = `{"event":[1],"a":{"events":[2]},"events" :[${items.join()}], "b":[3]}`
    expect(itemsOf(around)).toEqual(items)
    expect(itemsOf('{"events":[ ]}')).toEqual([])
    expect(itemsOf('{"\\u0065vents":[1]}')).toEqual(['1'])
  })
  test('has the items that JSON.parse reads', () => {
    const spaced = fc.constantFrom<number | string>(0, 2, '\t')
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.array(fc.jsonValue()),
        spaced,
        (beside, events, space) => {
          const items = itemsOf(JSON.stringify({ ...beside, events }, null, space))
          // what is beside them may be no input
          fc.pre(typeof items !== 'string')
          expect(items).not.toBeNull()
          expect(items?.map((item) => JSON.parse(item) as unknown)).toEqual(JSON.parse(JSON.stringify(events)))
        },
      ),
    )
  })
  test('the last of lists with one name counts', () => {
    const repeated = { object: { events: [3] }, items: ['3'], repeated: [['events']] }
    expect(list('{"events":[1,{"a":2}],"events":[3]}')).toMatchObject(repeated)
    expect(list('{"events":[1],"events":{}}')).toMatchObject({ object: { events: {} }, items: null })
    expect(list('{"x":1,"x":2,"events":[{"a":1,"a":2}]}')).toMatchObject({ repeated: [['x']] })
  })
  test('an error beside the list refuses the whole body', () => {
    expect(itemsOf('{"events":[{}],"x":"\\ud800"}')).toBe('x')
    expect(itemsOf('{"x":9007199254740993,"events":[{"y":9007199254740992}]}')).toBe('x')
    expect(itemsOf('{"__proto__":9007199254740993,"events":[{}]}')).toBe('__proto__')
    expect(itemsOf('[]')).toBe('invalid_json')
    expect(itemsOf('{"events":[{]}')).toBe('invalid_json')
  })
  test('returns a body without a list to the caller', () => {
    for (const text of ['{}', '{"events":{"a":1}}', '{"events":null}']) expect(itemsOf(text)).toBeNull()
  })
  test('refuses too many levels anywhere', () => {
    const deepest = nest(MAX_BATCH_FIELD_DEPTH)
    expect(itemsOf(`{"events":${deepest}}`)).toEqual([deepest.slice(1, -1)])
    expect(itemsOf(`{"events":${nest(MAX_BATCH_FIELD_DEPTH + 1)}}`)).toBe('events')
    expect(itemsOf(`{"events":[{"a":1e999,"b":${nest(20_000)}}]}`)).toBe('events')
    expect(itemsOf(`{"events":[1],"x":${nest(20_000)}}`)).toBe('x')
  })
})

test('names of JavaScript internals are plain data', () => {
  const text =
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,"a":{"__proto__":{"polluted":1}}}'
  const parsed = parse(text)
  if (!('object' in parsed)) throw new Error('refused')
  expect(Object.keys(parsed.object)).toEqual(['__proto__', 'constructor', 'toString', 'a'])
  expect(JSON.stringify(parsed.object)).toBe(text)
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  expect(parsed.object.polluted).toBeUndefined()
})

test.each([
  [{}, true],
  [[], false],
  [null, false],
  ['a', false],
  [undefined, false],
])('isJsonObject(%j) is %p', (value, expected) => {
  expect(isJsonObject(value)).toBe(expected)
})

test.each([
  ['plain', 'plain'],
  ['x'.repeat(64), 'x'.repeat(64)],
  ['x'.repeat(65), 'x'.repeat(64)],
  ['😀'.repeat(80), '😀'.repeat(64)],
  [`${'x'.repeat(63)}😀😀`, `${'x'.repeat(63)}😀`],
  ['\ud800', '\ufffd'],
  ['x'.repeat(60_000), 'x'.repeat(64)],
])('quoteName %#', (name, quoted) => {
  expect(quoteName(name)).toBe(quoted)
})

describe('parseJsonMessage', () => {
  const read = (text: string) => parseJsonMessage(encode(text), ['arguments'])

  test.each([
    ['{"a":1}', { a: 1 }],
    ['[{"a":1}]', [{ a: 1 }]],
    ['"a"', 'a'],
    ['null', null],
    // only the selected part is stored
    ['{"id":9007199254740993,"meta":"\\ud800"}', { id: 2 ** 53, meta: '\ud800' }],
  ])('returns any value: %s', (text, body) => {
    expect(read(text)).toEqual({ body, fault: null, repeated: [] })
  })

  test.each(['', '{', "{'a':1}", '\ufeff{}', '{"a":NaN}'])('refuses invalid JSON: %p', (text) => {
    expect(read(text)).toEqual({ refused: expect.objectContaining({ refusal: 'invalid_json' }) })
  })

  test('refuses invalid UTF-8', () => {
    expect(parseJsonMessage(new Uint8Array([0x22, 0xff, 0x22]), ['arguments'])).toEqual({
      refused: expect.objectContaining({ refusal: 'invalid_json' }),
    })
  })

  test.each([
    ['{"arguments":{"x":9007199254740993}}', 'x', 'number'],
    ['{"arguments":{"x":1e999}}', 'x', 'number'],
    ['{"arguments":{"y":"\\ud800"}}', 'y', 'surrogate'],
    [`{"arguments":{"z":${nest(33)}}}`, 'z', 'levels'],
  ])('reports errors in arguments with the message: %s', (text, field, word) => {
    const parsed = read(text)
    if ('refused' in parsed) throw new Error('refused')
    expect(parsed.body).toMatchObject({ arguments: {} })
    expect(parsed.fault).toMatchObject({ refusal: 'invalid_field', field, message: expect.stringContaining(word) })
  })

  test('refuses messages that are too deep, and accepts arguments as deep as a body', () => {
    expect(read(`{"arguments":{"x":${nest(31)}}}`)).toMatchObject({ fault: null })
    expect(read(`{"meta":${nest(36)}}`)).toMatchObject({
      refused: { refusal: 'invalid_json', message: expect.stringContaining('levels') },
    })
  })
})

describe('repeated keys', () => {
  const find = (text: string) => findRepeatedKeys(text, JSON.parse(text))

  test.each<[string, (string | number)[][]]>([
    ['{}', []],
    ['[]', []],
    ['{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}', []],
    ['{"a":"\\":","b":"{\\"a\\":1,\\"a\\":2}","c":"\\\\"}', []],
    ['{"a":":","b":"::","c":["x:","\\\\\\":"]}', []],
    ['{"":1,"__proto__":2,"constructor":3}', []],
    ['{"a":1,"a":2}', [['a']]],
    ['{"a":1,"\\u0061":2}', [['a']]],
    ['{"a\\"":1,"a\\u0022":2}', [['a"']]],
    [' { "a" :\t1\n,\r "a" : 2 } ', [['a']]],
    ['{"__proto__":1,"__proto__":2,"":1,"":2}', [['__proto__'], ['']]],
    [
      '{"a":{"b":1,"b":2},"c":[0,{"d":1},{"d":[],"d":{}}]}',
      [
        ['a', 'b'],
        ['c', 2, 'd'],
      ],
    ],
    ['{"a":1,"a":2,"a":3}', [['a'], ['a']]],
    ['{"a":{"b":{"c":{"d":{"e":1,"e":2}}}}}', [['a', 'b', 'c', 'd']]],
    ['[[1,[2,3],{"x":1}],{"y":[1,2],"y":"a,b"}]', [[1, 'y']]],
  ])('%s', (text, paths) => {
    expect(find(text)).toEqual(paths)
  })

  test('are found exactly where a key is repeated', () => {
    const { below, pick } = createRandom(7)
    const space = () => pick(['', '', ' ', '\n', '\t ', '\r\n'])
    const names: [string, ...string[]] = ['a', 'b', 'c:', '"d', 'e\\', ' f', '{', '__proto__', 'é', '\u2028', '0', '1']
    let twice = 0
    const write = (depth: number): string => {
      const kind = depth === 0 ? below(4) : below(10)
      if (kind < 4) return pick(['1', '-0.5e3', 'null', 'true', JSON.stringify(pick(names)), '":"', '"\\\\"'])
      const count = below(4)
      if (kind < 6) return `[${Array.from({ length: count }, () => space() + write(depth - 1) + space()).join()}]`
      const keys = Array.from({ length: count }, () => pick(names))
      twice += count - new Set(keys).size
      const entries = keys.map((key) => `${space()}${JSON.stringify(key)}${space()}:${space()}${write(depth - 1)}`)
      return `{${entries.join()}${space()}}`
    }
    let repeated = 0
    for (let round = 0; round < 3_000; round++) {
      twice = 0
      const text = write(4)
      expect([text, find(text).length]).toEqual([text, twice])
      repeated += Math.sign(twice)
    }
    expect(repeated).toBeGreaterThan(200)
  })

  test('take linear time in a batch', () => {
    const search = (count: number): void => {
      const repeated = find(
        `{"events":[${Array(count)
          .fill(`{${'"a":1,'.repeat(360)}"b":1}`)
          .join()}]}`,
      )
      expect(warnOfRepeated(repeated)).toHaveLength(1)
      expect(repeated).toHaveLength(count * 359)
    }
    expect(growthTo(160, search)).toBeLessThan(MOST_GROWTH)
  })

  test.each<[string, (string | number)[], [string, string][]]>([
    ['{"a":1,"a":2}', [], [['a', 'This field is']]],
    ['{"a":{"b":1,"b":2}}', [], [['a', 'A key in this field is']]],
    ['{"a":{"b":1,"b":2},"a":1}', [], [['a', 'This field is']]],
    ['{"events":[{"x":1,"x":2},{"y":{"z":1,"z":2}}]}', ['events', 1], [['y', 'A key in this field is']]],
    ['{"events":[{"x":1,"x":2}],"events":[{}]}', ['events', 0], []],
    ['{"params":{"arguments":{"a":1,"a":2},"b":1,"b":2}}', ['params', 'arguments'], [['a', 'This field is']]],
  ])('give a warning for the field: %s', (text, prefix, expected) => {
    const warnings = warnOfRepeated(find(text), prefix)
    expect(warnings.map(({ field }) => field)).toEqual(expected.map(([field]) => field))
    for (const [index, [, start]] of expected.entries()) {
      expect(warnings[index]).toMatchObject({
        code: 'duplicate_key',
        message: expect.stringMatching(new RegExp(`^${start}`)),
      })
    }
  })
})

test('canonicalJson is the same for equal values', () => {
  expect(canonicalJson(JSON.parse('{"b":[1,{"d":1.0,"c":null}],"__proto__":1,"a":"x"}'))).toBe(
    '{"__proto__":1,"a":"x","b":[1,{"c":null,"d":1}]}',
  )
})
