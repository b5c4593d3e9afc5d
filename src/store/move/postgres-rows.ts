/** Rows of PostgreSQL as lines. */
import type { Queries } from './server.ts'
import { describeLines, NEWLINE } from './lines.ts'
import type { Part } from './sides.ts'
import { type Column, compareKey, type Key, namesOf, type Table } from './tables.ts'

/** Few enough that an index finds them in order, without sorting the table. */
const QUERY_ROWS = 100_000

/** COPY takes no parameters. */
const literal = ({ type }: Column, value: string | number): string =>
  type === 'text' ? `'${String(value).replaceAll("'", "''")}'::text` : `${Number(value)}::${type}`

function selectRows(table: Table, after: Key | null, rows: number): string {
  const { key, condition } = table
  const values = after?.map((value, index) => literal(key[index] as Column, value))
  const isAfter = values === undefined ? '' : ` AND ${compareKey(table, '>', values)}`
  const names = namesOf(table.columns)
  return `COPY (SELECT ${names} FROM ${table.name} WHERE ${condition}${isAfter} ORDER BY ${namesOf(key)} LIMIT ${rows}) TO STDOUT`
}

export async function sampleRows(queries: Queries, table: Table, after: Key | null, rows: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of queries.unsafe(selectRows(table, after, rows)).readable()) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export async function* readRows(queries: Queries, table: Table, first: Key | null): AsyncIterable<Part> {
  for (let after = first; ;) {
    let found = 0
    for await (const part of readParts(queries, table, after)) {
      found += part.rows
      after = part.last
      yield part
    }
    if (found < QUERY_ROWS) return
  }
}

async function* readParts(queries: Queries, table: Table, after: Key | null): AsyncIterable<Part> {
  let rest: Uint8Array = new Uint8Array()
  for await (const chunk of queries.unsafe(selectRows(table, after, QUERY_ROWS)).readable()) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const end = bytes.lastIndexOf(NEWLINE) + 1
    rest = bytes.subarray(end)
    if (end === 0) continue
    const lines = bytes.subarray(0, end)
    yield { bytes: lines, ...describeLines(table, lines), replaced: 0 }
  }
}

export async function countRows(queries: Queries, { name, condition }: Table): Promise<number> {
  const [row] = (await queries.unsafe(`SELECT count(*) AS rows FROM ${name} WHERE ${condition}`)) as { rows: string }[]
  return Number(row?.rows ?? 0)
}
