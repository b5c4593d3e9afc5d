/** Rows as lines of text, as PostgreSQL's COPY writes and reads them (postgresql.org/docs/current/sql-copy.html). */
import { isUtf8 } from 'node:buffer'
import { type Column, isStored, type Key, type Table } from './tables.ts'

const UNESCAPED = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
])
const NULL = '\\N'

const escape = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
const unescape = (text: string): string =>
  text.includes('\\') ? text.replaceAll(/\\([^])/g, (_, found: string) => UNESCAPED.get(found) ?? found) : text

/** SQL of SQLite for a row's line. Only what would end a value or a line has to be escaped. */
export const lineOf = ({ columns }: Table): string =>
  `concat_ws(char(9), ${columns.map(fieldOf).join(', ')}) || char(10)`

function fieldOf({ name, type, from }: Column): string {
  const column = from ?? `"${name}"`
  if (type === 'bigint') return `ifnull(${column}, '${NULL}')`
  // format makes 0 of NULL
  if (type === 'double precision') return `iif(${column} IS NULL, '${NULL}', format('%!.17g', ${column}))`
  const text = `replace(replace(replace(replace(${column}, '\\', '\\\\'), char(9), '\\t'), char(10), '\\n'), char(13), '\\r')`
  return `ifnull(${text}, '${NULL}')`
}

export type Field = string | null

const readField = (field: string): Field => (field === NULL ? null : unescape(field))
const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('utf8')

export const readLines = (bytes: Uint8Array): Field[][] =>
  textOf(bytes)
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t').map(readField))

/** Those of all lines, one after another. */
export const readFields = (bytes: Uint8Array): Field[] =>
  textOf(bytes).slice(0, -1).replaceAll('\n', '\t').split('\t').map(readField)

/** Of rows one after another: those that SQLite stores. */
export function storedFields({ columns }: Table, fields: readonly Field[]): readonly Field[] {
  const are = columns.map(isStored)
  return are.includes(false) ? fields.filter((_, at) => are[at % are.length]) : fields
}

export const keyOf = ({ columns, key }: Table, fields: readonly Field[]): Key =>
  key.map((one) => {
    const field = fields[columns.findIndex(({ name }) => name === one.name)] ?? ''
    return one.type === 'text' ? field : Number(field)
  })

export const NEWLINE = 10

/** `last`: the key of the last row. */
export function describeLines(table: Table, bytes: Uint8Array): { rows: number; last: Key } {
  const [fields = []] = readLines(bytes.subarray(bytes.lastIndexOf(NEWLINE, -2) + 1))
  return { rows: countLines(bytes), last: keyOf(table, fields) }
}

function countLines(bytes: Uint8Array): number {
  let lines = 0
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) lines += 1
  return lines
}

/** For comparing rows of both sides, which write the same number in different ways, by what both store. */
export const hashRows = (table: Table, bytes: Uint8Array): string => {
  const isReal = table.columns.map(({ type }) => type === 'double precision')
  const rows = readLines(bytes).map((fields) =>
    storedFields(table, fields).map((field, index) =>
      field !== null && isReal[index] === true ? Number(field) : field,
    ),
  )
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(rows)).digest('hex')
}

/** What PostgreSQL can't store, or can't read from JSON. In a line, a backslash is two. */
const UNREADABLE = [String.raw`\\u0000`, String.raw`\\ud`, String.raw`\\uD`]

const isClean = (bytes: Buffer): boolean =>
  isUtf8(bytes) && !bytes.includes(0) && !UNREADABLE.some((text) => bytes.includes(text))

/** NUL, unpaired surrogates and wrong UTF-8 become U+FFFD. `replaced`: the number of values with one. */
export function cleanLines(bytes: Uint8Array): { bytes: Uint8Array; replaced: number } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (isClean(buffer)) return { bytes, replaced: 0 }
  let replaced = 0
  // as bytes, because the parts of a wrong character must not be joined with a separator
  const lines = buffer
    .toString('latin1')
    .split('\n')
    .map((line) =>
      line
        .split('\t')
        .map((field) => {
          const cleaned = cleanField(Buffer.from(field, 'latin1'))
          if (cleaned === null) return field
          replaced += 1
          return Buffer.from(cleaned).toString('latin1')
        })
        .join('\t'),
    )
  return { bytes: Buffer.from(lines.join('\n'), 'latin1'), replaced }
}

/** @returns null if it can be stored as it is */
function cleanField(field: Buffer): string | null {
  if (isClean(field)) return null
  const text = field.toString('utf8')
  const cleaned = text.replaceAll('\0', '\ufffd')
  const value = unescape(cleaned)
  const json = isJson(value) ? escape(cleanJson(value)) : cleaned
  return json === text && isUtf8(field) ? null : json
}

function isJson(text: string): boolean {
  if (!/^[[{"]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const ESCAPES = /\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\u(0000|d[89a-f][0-9a-f]{2})|\\[^]/gi

const cleanJson = (json: string): string =>
  json.replaceAll(ESCAPES, (found, wrong: string | undefined) => (wrong === undefined ? found : '\\ufffd'))
