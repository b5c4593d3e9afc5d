import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseCsv, readCsvCell, writeCsvRow } from '../../src/core/csv.ts'

const cellsOf = (text: string) => parseCsv(text).map(({ cells }) => cells)

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
  expect(parseCsv('a\n\n"b\nc"\nd').map(({ line }) => line)).toEqual([1, 3, 5])
})

test('reads what was written', () => {
  const cell = fc
    .string({ unit: 'grapheme' })
    .map((text) => text.trim())
    .filter((text) => !text.startsWith("'"))
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
