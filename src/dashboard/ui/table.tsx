/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

export type Column<Row> = {
  name: string
  cell(row: Row): ComponentChildren
  /** right-aligned */
  isNumber?: boolean
  /** buttons; the name is for screen readers */
  isAction?: boolean
}

/** `hasSideAction`: on phones, the button stays beside its row */
type TableProps<Row> = {
  hasSideAction?: boolean
  label: string
  columns: Column<Row>[]
  rows: Row[]
  idOf(row: Row): string
}

/** Sticky header; stacked rows on phones. */
export const Table = <Row,>({ label, columns, rows, idOf, hasSideAction }: TableProps<Row>) => (
  <table class={hasSideAction ? 'table side-action' : 'table'} aria-label={label}>
    <thead>
      <tr>
        {columns.map((column) => (
          <th key={column.name} scope="col" class={classOf(column)}>
            <span class={column.isAction ? 'unseen' : undefined}>{column.name}</span>
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={idOf(row)}>
          {columns.map((column) => (
            <td key={column.name} class={classOf(column)} data-label={column.isAction ? undefined : column.name}>
              {column.cell(row)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
)

const classOf = <Row,>({ isNumber, isAction }: Column<Row>): string | undefined =>
  isNumber ? 'number' : isAction ? 'action' : undefined

/** Keyset pagination. */
export const Pager = ({ newest, newer, older }: { newest?: string; newer?: string; older?: string }) =>
  newest || newer || older ? (
    <nav class="pager" aria-label="Pages">
      {newest && (
        <a class="button plain" href={newest}>
          Newest
        </a>
      )}
      {newer && (
        <a class="button plain" href={newer} rel="prev">
          Newer
        </a>
      )}
      {older && (
        <a class="button plain" href={older} rel="next">
          Older
        </a>
      )}
    </nav>
  ) : null
