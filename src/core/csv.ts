/** Comma-separated values (RFC 4180). */

/** `cells`: none if the row is blank. `openQuote`: the line of a quote that never closes, or closes in the middle of a later cell. */
export type CsvRow = { line: number; cells: string[]; openQuote: number | null }

/** A longer row has one cell, and more cells are left out, so that each row takes a bounded time. */
const MAX_ROW_CHARACTERS = 10_000
const MAX_CELLS = 100

/** Rows, each with the line that it starts on. Tolerates any line ends, and semicolons or tabs as separators. */
export function* parseCsv(text: string): Generator<CsvRow> {
  const ends = endsOf(text)
  let [at, line] = [startOf(text), 1]
  while (at < text.length) {
    const row = readRow(text, at, ends, MAX_ROW_CHARACTERS)
    yield toCsvRow(text, row, line)
    line += countLineEnds(text, at, row.end)
    at = row.end
  }
}

/** The same for a text in pieces, of which only a few rows of up to `most` characters are in memory. */
export async function* parseCsvPieces(pieces: AsyncIterable<string>, most: number): AsyncGenerator<CsvRow> {
  let [text, line] = ['', 1]
  let ends: RegExp | null = null
  function* readUntil(end: number): Generator<CsvRow> {
    let at = ends === null ? startOf(text) : 0
    ends ??= endsOf(text)
    while (at < end) {
      const row = readRow(text, at, ends, most)
      yield toCsvRow(text, row, line)
      line += countLineEnds(text, at, row.end)
      at = row.end
    }
    text = text.slice(at)
  }
  for await (const piece of pieces) {
    text += piece
    // a row is at most this long, so that it never ends with the piece
    if (text.length > READ_AHEAD * most) yield* readUntil(text.length - READ_AHEAD * most)
  }
  yield* readUntil(text.length)
}

const READ_AHEAD = 3

const startOf = (text: string): number => (text.startsWith('\uFEFF') ? 1 : 0)

const endsOf = (text: string): RegExp => {
  const [first] = /[,;\t\n]/.exec(text) ?? []
  return CELL_ENDS[first as keyof typeof CELL_ENDS] ?? CELL_ENDS[',']
}

const withoutBlank = (cells: string[]): string[] => (cells.some((cell) => cell.trim() !== '') ? cells : [])

/** By separator. */
const CELL_ENDS = { ',': /[,\r\n]/g, ';': /[;\r\n]/g, '\t': /[\t\r\n]/g }

const toCsvRow = (text: string, { start, cells, openAt }: Row, line: number): CsvRow => ({
  line,
  cells: withoutBlank(cells),
  openQuote: openAt === null ? null : line + countLineEnds(text, start, openAt),
})

const LINE_ENDS = /\r\n|\r|\n/g

/** Of what a row takes, which ends without one if it is too long. */
const countLineEnds = (text: string, start: number, end: number): number =>
  text.slice(start, end).match(LINE_ENDS)?.length ?? 0

/** `openAt`: where a quote opens that is not closed as it should be. */
type Row = { start: number; end: number; cells: string[]; openAt: number | null }

function readRow(text: string, start: number, ends: RegExp, most: number): Row {
  const cells: string[] = []
  let openAt: number | null = null
  let at = start
  while (at - start <= most) {
    const quoted = text[at] === '"' ? readQuoted(text, at, most) : { cell: '', end: at, isOpen: false }
    ends.lastIndex = quoted.end
    const found = ends.exec(text)
    const end = found?.index ?? text.length
    if (quoted.isOpen || isMisplaced(quoted.cell, text.slice(quoted.end, end))) openAt ??= at
    if (cells.length < MAX_CELLS) cells.push(quoted.cell + text.slice(quoted.end, Math.min(end, quoted.end + most)))
    at = end + (text.startsWith('\r\n', end) ? 2 : 1)
    if (!found || found[0] === '\r' || found[0] === '\n') return { start, cells, end: at, openAt }
  }
  LINE_ENDS.lastIndex = at - 1
  LINE_ENDS.test(text)
  const cell = text.slice(start, start + MAX_CELLS)
  return { start, cells: [cell], end: LINE_ENDS.lastIndex || text.length, openAt }
}

/** A quote that ends after another line, and not with its cell, is the first one of another cell. */
const isMisplaced = (cell: string, rest: string): boolean => cell.includes('\n') && rest.trim() !== ''

/** Two quotes stand for one. What is too long is not taken as quoted. */
function readQuoted(text: string, start: number, most: number): { cell: string; end: number; isOpen: boolean } {
  const parts: string[] = []
  for (let from = start + 1; from - start <= most; from += 1) {
    const quote = text.indexOf('"', from)
    const end = quote < 0 ? text.length : quote
    if (end - start > most) break
    parts.push(text.slice(from, end))
    from = Math.min(end + 1, text.length)
    if (text[from] !== '"') return { cell: parts.join('"').replaceAll(/\r\n?/g, '\n'), end: from, isOpen: quote < 0 }
  }
  return { cell: '', end: start, isOpen: true }
}

/** Spreadsheets run a cell that begins like this as a formula. Writing adds an apostrophe, which reading removes. */
const FORMULA = /^'*[=+\-@\t\r]/

export const writeCsvRow = (cells: readonly string[]): string => `${cells.map(writeCell).join(',')}\r\n`

function writeCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Undoes what `writeCsvRow` does to formulas. */
export const readCsvText = (cell: string): string => cell.replace(/^'(?='*[=+\-@\t\r])/, '')

export const readCsvCell = (cell: string): string => readCsvText(cell.trim())
