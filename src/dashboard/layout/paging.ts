/** Rows of a list that is read as a whole, because few have more. */
const PAGE_ROWS = 50

/** A page of a list: what stands on it, and where those before and after it are. */
export type Page<Row> = { rows: Row[]; newest?: string; older?: string }

/** The rows of the list at `path` that come after the one that `?after=` of a request names, or the first ones. */
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
