export type Row = Record<string, string | number | null>
export type Columns = Record<string, 'bigint' | 'text' | 'double precision'>

/** Rows of one value of a statement, as a table with these columns. */
export const rowsAs = (columns: Columns, value = '$1'): string =>
  `json_to_recordset(${value}::text::json) AS rows (${Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(', ')})`
