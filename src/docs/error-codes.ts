import errors from './errors.md' with { type: 'text' }

/** Markdown in one line. */
export type ErrorCode = { status: number; meaning: string; fix: string }

/** The first sentence is the meaning. */
const ROW = /^\| `(\w+)` +\| (\d{3}) +\| (.+?\.) (.+?) +\|$/gm

/** The table of codes in the documentation. */
export const ERROR_CODES: ReadonlyMap<string, ErrorCode> = new Map(
  Array.from(errors.matchAll(ROW), ([, code = '', status, meaning = '', fix = '']) => [
    code,
    { status: Number(status), meaning, fix },
  ]),
)
