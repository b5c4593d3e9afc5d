/** Rows of one statement, as a table with these columns. */
export const rowsAs = (columns: Record<string, 'bigint' | 'text' | 'double precision'>): string =>
  `jsonb_to_recordset($1::text::jsonb) AS rows (${Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(', ')})`
