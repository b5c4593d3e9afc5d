/** Comma-separated values (RFC 4180). */

/** `cells`: none if the row is blank. */
type CsvRow = { line: number; cells: string[] }

/** A longer row has one cell, and more cells are left out, so that each row takes a bounded time. */
const MAX_ROW_CHARACTERS = 10_000
const MAX_CELLS = 100

/** Rows, each with the line that it starts on. Tolerates any line ends, and semicolons or tabs as separators. */
export function* parseCsv(text: string): Generator<CsvRow> {
  const [first] = /[,;\t\n]/.exec(text) ?? []
  const ends = CELL_ENDS[first as keyof typeof CELL_ENDS] ?? CELL_ENDS[',']
  let [at, line] = [text.startsWith('\uFEFF') ? 1 : 0, 1]
  while (at < text.length) {
    const { cells, lines, end } = readRow(text, at, ends)
    yield { line, cells: cells.some((cell) => cell.trim() !== '') ? cells : [] }
    line += lines
    at = end
  }
}

/** By separator. */
const CELL_ENDS = { ',': /[,\r\n]/g, ';': /[;\r\n]/g, '\t': /[\t\r\n]/g }

const LINE_ENDS = /\r\n|\r|\n/g

function readRow(text: string, start: number, ends: RegExp) {
  const cells: string[] = []
  let [at, lines] = [start, 1]
  while (at - start <= MAX_ROW_CHARACTERS) {
    const quoted = text[at] === '"' ? readQuoted(text, at) : { cell: '', end: at }
    lines += quoted.cell.split('\n').length - 1
    ends.lastIndex = quoted.end
    const found = ends.exec(text)
    const end = found?.index ?? text.length
    if (cells.length < MAX_CELLS)
      cells.push(quoted.cell + text.slice(quoted.end, Math.min(end, quoted.end + MAX_ROW_CHARACTERS)))
    at = end + (text.startsWith('\r\n', end) ? 2 : 1)
    if (!found || found[0] === '\r' || found[0] === '\n') return { cells, lines, end: at }
  }
  LINE_ENDS.lastIndex = at - 1
  LINE_ENDS.test(text)
  return { cells: [text.slice(start, start + MAX_CELLS)], lines, end: LINE_ENDS.lastIndex || text.length }
}

/** Two quotes stand for one. What is too long is not taken as quoted. */
function readQuoted(text: string, start: number): { cell: string; end: number } {
  const parts: string[] = []
  for (let from = start + 1; from - start <= MAX_ROW_CHARACTERS; from += 1) {
    const quote = text.indexOf('"', from)
    const end = quote < 0 ? text.length : quote
    if (end - start > MAX_ROW_CHARACTERS) break
    parts.push(text.slice(from, end))
    from = Math.min(end + 1, text.length)
    if (text[from] !== '"') return { cell: parts.join('"').replaceAll(/\r\n?/g, '\n'), end: from }
  }
  return { cell: '', end: start }
}

/** Spreadsheets run a cell that begins like this as a formula. */
const FORMULA = /^[=+\-@\t\r]/

export const writeCsvRow = (cells: readonly string[]): string => `${cells.map(writeCell).join(',')}\r\n`

function writeCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Undoes what `writeCsvRow` does to formulas. */
export const readCsvCell = (cell: string): string => cell.trim().replace(/^'(?=[=+\-@])/, '')
