import { COMPARISONS, type Compared } from '../../messages/messages.ts'

export type Fields = Record<string, string>

export const textOf = (fields: Fields, name: string): string => (fields[name] ?? '').trim()

/** undefined if empty; invalid numbers stay text, for the schema to refuse. */
export function numberOf(fields: Fields, name: string): number | string | undefined {
  const text = textOf(fields, name)
  if (text === '') return undefined
  return Number.isFinite(Number(text)) ? Number(text) : text
}

/** Rows are numbered without gaps. */
export function countRows(fields: Fields, list: string): number {
  const start = `${list}[`
  const rows = Object.keys(fields).filter((name) => name.startsWith(start))
  const numbers = new Set(rows.map((name) => Number.parseInt(name.slice(start.length), 10)))
  let count = 0
  while (numbers.has(count)) count++
  return count
}

/** Removes a row and renumbers the rest. */
export function dropRow(fields: Fields, list: string, row: number): Fields {
  const start = `${list}[`
  const indexOf = (name: string): number =>
    name.startsWith(start) ? Number.parseInt(name.slice(start.length), 10) : -1
  const moveUp = (name: string, index: number): string =>
    index > row ? name.replace(`${start}${index}]`, `${start}${index - 1}]`) : name
  const remaining = Object.entries(fields).filter(([name]) => indexOf(name) !== row)
  return Object.fromEntries(remaining.map(([name, value]) => [moveUp(name, indexOf(name)), value]))
}

const takesValue = (is: string): boolean => is !== 'present' && is !== 'absent'

export const writeCompared = ({ is, to }: Compared, path: string): Fields => ({
  [`${path}.is`]: is,
  [`${path}.to`]: to === undefined ? '' : String(to),
})

/** Stores numbers and booleans as such, which makes message files clearer; rules compare both forms alike. */
export function readCompared(fields: Fields, path: string): Record<string, unknown> {
  const is = textOf(fields, `${path}.is`) || COMPARISONS[0]
  const text = textOf(fields, `${path}.to`)
  return { is, to: takesValue(is) && text !== '' ? valueOf(text) : undefined }
}

function valueOf(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  return String(Number(text)) === text && Number.isFinite(Number(text)) ? Number(text) : text
}
