/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

export type Column<Row> = {
  name: string
  cell(row: Row): ComponentChildren
  /** right-aligned */
  isNumber?: boolean
  /** buttons; the name is for screen readers */
  isAction?: boolean
  /** without a label in the cells on phones */
  isUnlabelled?: boolean
  /** its cells don't break inside words */
  isWhole?: boolean
  /** wider than the others, in a table of one-line rows */
  isWide?: boolean
  /** for sentences: the widest but the first, in a table of one-line rows on a desktop */
  isLong?: boolean
  /** as wide as the longest time, in a table of one-line rows */
  isTime?: boolean
  /** not on phones, in a table of one-line rows; times not in narrow windows either */
  isExtra?: boolean
}

type TableProps<Row> = {
  label: string
  columns: Column<Row>[]
  rows: Row[]
  idOf(row: Row): string
  /** on phones, the button stays beside its row */
  hasSideAction?: boolean
  /** one line a row; the link of its first cell covers it */
  isLinked?: boolean
}

const kindOf = ({ hasSideAction, isLinked }: Pick<TableProps<never>, 'hasSideAction' | 'isLinked'>): string =>
  ['table', ...(hasSideAction ? ['side-action'] : []), ...(isLinked ? ['linked'] : [])].join(' ')

/** Sticky header; stacked rows on phones. */
export const Table = <Row,>({ label, columns, rows, idOf, ...kind }: TableProps<Row>) => (
  <table class={kindOf(kind)} aria-label={label}>
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

const classOf = <Row,>(column: Column<Row>): string | undefined =>
  CLASSES.flatMap(([flag, name]) => (column[flag] ? [name] : [])).join(' ') || undefined

const CLASSES = [
  ['isNumber', 'number'],
  ['isAction', 'action'],
  ['isWhole', 'whole'],
  ['isWide', 'wide'],
  ['isLong', 'long'],
  ['isTime', 'time'],
  ['isExtra', 'extra'],
  ['isUnlabelled', 'unlabelled'],
] as const

type PagerProps = { newest?: string; newer?: string; older?: string; newestLabel?: string; olderLabel?: string }

/** Keyset pagination. */
export const Pager = ({ newest, newer, older, newestLabel = 'Newest', olderLabel = 'Older' }: PagerProps) =>
  newest || newer || older ? (
    <nav class="pager" aria-label="Pages">
      {newest && (
        <a class="button plain" href={newest}>
          {newestLabel}
        </a>
      )}
      {newer && (
        <a class="button plain" href={newer} rel="prev">
          Newer
        </a>
      )}
      {older && (
        <a class="button plain" href={older} rel="next">
          {olderLabel}
        </a>
      )}
    </nav>
  ) : null
