/** For short lists that are read as a whole. */
const PAGE_ROWS = 50

/** Rows of a page and links to its neighbours. */
export type Page<Row> = { rows: Row[]; newest?: string; older?: string }

/** Rows after `?after=`, or the first page. */
export function pageOf<Row extends { id: string }>(rows: Row[], path: string, { url }: Request): Page<Row> {
  const after = new URL(url).searchParams.get('after')
  const start = rows.findIndex(({ id }) => id === after) + 1
  const shown = rows.slice(start, start + PAGE_ROWS)
  const last = start + PAGE_ROWS < rows.length ? shown.at(-1) : undefined
  return {
    rows: shown,
    newest: start > 0 ? path : undefined,
    older: last && `${path}?${new URLSearchParams({ after: last.id })}`,
  }
}
