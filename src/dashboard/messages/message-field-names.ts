import { type Alternative, COMPARISONS, type Compared } from '../../messages/messages.ts'

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

/** Makes room for a row, and renumbers those after it. */
export function insertRow(fields: Fields, list: string, row: number): Fields {
  const start = `${list}[`
  const moveDown = (name: string): string => {
    const index = name.startsWith(start) ? Number.parseInt(name.slice(start.length), 10) : -1
    return index >= row ? name.replace(`${start}${index}]`, `${start}${index + 1}]`) : name
  }
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [moveDown(name), value]))
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

export const writeCompared = ({ is, to, or }: Compared & Alternative, path: string): Fields => ({
  [`${path}.is`]: is,
  [`${path}.to`]: Array.isArray(to) ? writeList(to.map(String)) : to === undefined ? '' : String(to),
  ...(or ? { [`${path}.or`]: OR } : {}),
})

const OR = 'true'

export const isJoinedByOr = (fields: Fields, path: string): boolean => textOf(fields, `${path}.or`) === OR

/** A condition or field rule that is one of several. */
export const joinByOr = (path: string): Fields => ({ [`${path}.or`]: OR })

/** Stores numbers and booleans as such, which makes message files clearer; rules compare both forms alike. */
export function readCompared(fields: Fields, path: string): Record<string, unknown> {
  const is = textOf(fields, `${path}.is`) || COMPARISONS[0]
  const text = textOf(fields, `${path}.to`)
  const to = !takesValue(is) || text === '' ? undefined : is === 'in' ? readList(text).map(itemOf) : valueOf(text)
  return { is, to, or: isJoinedByOr(fields, path) || undefined }
}

/** Comma-separated; a backslash escapes a comma. */
export const writeList = (values: string[]): string =>
  values.map((value) => value.replaceAll(/[\\,]/g, '\\$&')).join(', ')

export function readList(text: string): string[] {
  const parts = text.match(/(?:\\.|[^,\\])+/g) ?? []
  return parts.map((part) => part.replaceAll(/\\(.)/g, '$1').trim()).filter((value) => value !== '')
}

const itemOf = (text: string): string | number => {
  const value = valueOf(text)
  return typeof value === 'boolean' ? text : value
}

function valueOf(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  return String(Number(text)) === text && Number.isFinite(Number(text)) ? Number(text) : text
}
