/** Comma-separated values (RFC 4180). */

/** Rows of cells, each with the line that it starts on. Tolerates any line ends, and semicolons or tabs as separators. */
export function parseCsv(text: string): { line: number; cells: string[] }[] {
  const rows: { line: number; cells: string[] }[] = []
  const separator = /[,;\t]/.exec(text.split(/\r?\n/, 1)[0] ?? '')?.[0] ?? ','
  let [cells, cell, isQuoted, line, startedAt] = [[] as string[], '', false, 1, 1]
  const endRow = (): void => {
    cells.push(cell)
    if (cells.some((one) => one.trim() !== '')) rows.push({ line: startedAt, cells })
    ;[cells, cell, startedAt] = [[], '', line + 1]
  }
  const source = text.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n')
  for (let at = 0; at < source.length; at += 1) {
    const character = source[at] ?? ''
    if (isQuoted && character === '"' && source[at + 1] === '"') {
      cell += '"'
      at += 1
    } else if (character === '"' && (isQuoted || cell === '')) isQuoted = !isQuoted
    else if (isQuoted) cell += character
    else if (character === separator) {
      cells.push(cell)
      cell = ''
    } else if (character === '\n') endRow()
    else cell += character
    if (character === '\n') line += 1
  }
  endRow()
  return rows
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
