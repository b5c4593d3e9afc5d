import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { cleanLines, keyOf, lineOf, readLines } from '../../../src/store/move/lines.ts'
import type { Table } from '../../../src/store/move/tables.ts'

const [id, text, share] = [
  { name: 'id', type: 'bigint' },
  { name: 'text', type: 'text' },
  { name: 'share', type: 'double precision' },
] as const
const TABLE: Table = { name: 'things', columns: [id, text, share], key: [id], condition: 'true' }

function writeLines(rows: [number | null, string | null, number | null][]): Uint8Array {
  const db = new Database(':memory:')
  db.run('CREATE TABLE things (id INTEGER, text TEXT, share REAL) STRICT')
  for (const row of rows) db.run('INSERT INTO things VALUES (?, ?, ?)', row)
  const found = db
    .query<{ bytes: Uint8Array }, []>(`SELECT CAST(group_concat(${lineOf(TABLE)}, '') AS BLOB) AS bytes FROM things`)
    .get()
  db.close()
  return found?.bytes ?? new Uint8Array()
}

const read = (rows: [number | null, string | null, number | null][]) => readLines(cleanLines(writeLines(rows)).bytes)

test('each value is read as it was written', () => {
  const texts = fc.array(fc.constantFrom('\\', '\t', '\n', '\r', '\\N', '\\.', 'N', 'b', '\b', 'é', '😀', '"', "'"))
  // SQLite stores no negative zero
  const reals = fc.double({ noNaN: true, noDefaultInfinity: true }).map((real) => real + 0)
  fc.assert(
    fc.property(fc.maxSafeInteger(), texts, reals, (number, parts, real) => {
      const [row] = read([[number, parts.join(''), real]])
      expect([Number(row?.[0]), row?.[1], Number(row?.[2])]).toEqual([number, parts.join(''), real])
    }),
  )
  expect(read([[null, null, null]])).toEqual([[null, null, null]])
  expect(keyOf(TABLE, ['7', 'a', null])).toEqual([7])
})

test.each([
  ['a\0b', 'a\ufffdb'],
  ['{"a":"\\u0000\\\\u0000"}', '{"a":"\\ufffd\\\\u0000"}'],
  ['["\\ud83d\\ude00\\ud83d"]', '["\\ud83d\\ude00\\ufffd"]'],
  ['["\\uDE00"]', '["\\ufffd"]'],
])('%j becomes %j', (before, after) => {
  const { bytes, replaced } = cleanLines(
    writeLines([
      [1, 'fine', null],
      [2, before, null],
    ]),
  )
  expect(readLines(bytes).map(([, found]) => found)).toEqual(['fine', after])
  expect(replaced).toBe(1)
})

test.each(['\\u0000 in a text', '{{ "\\u0000" }}', '\ufffd', '["\\ud83d\\ude00"]', '\\\\udead'])(
  '%j stays',
  (before) => {
    const written = writeLines([[1, before, null]])
    expect(cleanLines(written)).toEqual({ bytes: written, replaced: 0 })
  },
)

test('bytes that are no UTF-8 become U+FFFD, and the values beside them stay', () => {
  const line = Buffer.concat([Buffer.from('1\t'), Buffer.from([0xe2, 0x82]), Buffer.from('\t0.5\n')])
  const { bytes, replaced } = cleanLines(line)
  expect([readLines(bytes), replaced]).toEqual([[['1', '\ufffd', '0.5']], 1])
})
