type Fields = Record<string, string>

export const selectFields = (fields: Fields): string =>
  Object.entries(fields)
    .map(([name, expression]) => `${expression} AS "${name}"`)
    .join(', ')

/** One JSON object per row, so that a statement can return several rows at once. */
export const jsonOfFields = (fields: Fields): string =>
  `json_object(${Object.entries(fields)
    .map(([name, expression]) => `'${name}', ${expression}`)
    .join(', ')})`
