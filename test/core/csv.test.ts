import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseCsv, parseCsvPieces, readCsvCell, writeCsvRow } from '../../src/core/csv.ts'

const cellsOf = (text: string) => Array.from(parseCsv(text), ({ cells }) => cells).filter((cells) => cells.length > 0)

test.each<[string, string[][]]>([
  ['', []],
  ['a', [['a']]],
  [
    'a,b\nc,d\n',
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  ],
  [
    'a;b,c\r\nd;e',
    [
      ['a', 'b,c'],
      ['d', 'e'],
    ],
  ],
  [
    'a\tb\rc\td',
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  ],
  [
    '\uFEFFa,"b ""x"", y"\n\n,\n"c\nd",e',
    [
      ['a', 'b "x", y'],
      ['c\nd', 'e'],
    ],
  ],
  ['a,say "no",c', [['a', 'say "no"', 'c']]],
  ['"open', [['open']]],
])('%j', (text, rows) => expect(cellsOf(text)).toEqual(rows))

test('names the line that a row starts on', () => {
  const rows = Array.from(parseCsv('a\n\n"b\r\nc"\r\nd'))
  expect(rows.map(({ line, cells }) => [line, cells.length])).toEqual([
    [1, 1],
    [2, 0],
    [3, 1],
    [5, 1],
  ])
})

test.each<[string, (number | null)[]]>([
  ['a,"b\nc","d ""x"""\n', [null]],
  ['a,b\nc,"d\ne,f\n', [null, 2]],
  ['a\n"b\nc",d,"e\nf","g"\nh', [null, null, null]],
  ['a\n"b,c\nd,"e",f\ng', [null, 2, null]],
  ['"a"b,c\n', [null]],
  [`a\n"${'b'.repeat(10_001)}\nc`, [null, 2, null]],
])('names the line of a quote that is not closed: %#', (text, lines) =>
  expect(Array.from(parseCsv(text), ({ openQuote }) => openQuote)).toEqual(lines),
)

test('names no line behind the end, whatever is not closed', async () => {
  const part = fc.constantFrom('a', 'aaaaaa', ',', '"', '\n', '""', '","', '"\n')
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 160 }), fc.integer({ min: 1, max: 40 }), async (parts, size) => {
      const whole = parts.join('')
      const pieces = async function* () {
        for (let at = 0; at < whole.length; at += size) yield whole.slice(at, at + size)
      }
      for await (const { line } of parseCsvPieces(pieces(), 5))
        expect(line).toBeLessThanOrEqual(whole.split('\n').length)
    }),
    { numRuns: 1_000 },
  )
})

test('skips the rest of an endless row', () => {
  for (const endless of ['"'.repeat(30_001), '"a\n'.padEnd(30_000, 'b'), `a${',b'.repeat(30_000)}`]) {
    for (const lineEnd of ['\n', '\r', '\r\n']) {
      const rows = Array.from(parseCsv(`${endless.replaceAll('\n', lineEnd)}${lineEnd}c,d${lineEnd}e,f`))
      expect(rows.slice(-2).map(({ cells }) => cells)).toEqual([
        ['c', 'd'],
        ['e', 'f'],
      ])
      expect(rows.map(({ cells }) => cells.join().length <= 10_000)).not.toContain(false)
    }
  }
  expect(cellsOf(`${','.repeat(200)}\na${',b'.repeat(200)}`).map(({ length }) => length)).toEqual([100])
})

test('reads what was written', () => {
  const quoted = fc.constantFrom("'", "'=1", "''@a", "'-")
  const cell = fc.oneof(fc.string({ unit: 'grapheme' }), quoted).map((text) => text.trim())
  fc.assert(
    fc.property(fc.array(cell, { minLength: 2, maxLength: 5 }), (cells) => {
      fc.pre(cells.some((one) => one !== '') && !/[;\t\r\n]/.test(cells.join('')))
      expect(cellsOf(writeCsvRow(cells)).map((row) => row.map(readCsvCell))).toEqual([cells])
    }),
  )
})

test('writes no formula', () => {
  expect(writeCsvRow(['=1+1', '+a', '-b', '@c', 'd=e'])).toBe("'=1+1,'+a,'-b,'@c,d=e\r\n")
})

test('reads the same in pieces', async () => {
  const most = 40
  const text = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', ' '), maxLength: 400 })
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 50 }), async (whole, size) => {
      fc.pre(whole.split(/[\r\n]/).every((line) => line.length < most) && !whole.includes('""'))
      const pieces = async function* () {
        for (let at = 0; at < whole.length; at += size) yield whole.slice(at, at + size)
      }
      const rows = []
      for await (const row of parseCsvPieces(pieces(), most)) rows.push(row)
      const expected = []
      const all = async function* () {
        yield whole
      }
      for await (const row of parseCsvPieces(all(), most)) expected.push(row)
      expect(rows).toEqual(expected)
    }),
  )
})
