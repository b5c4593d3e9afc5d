type Fields = Record<string, string>

export const selectFields = (fields: Fields): string =>
  Object.entries(fields)
    .map(([name, expression]) => `${expression} AS "${name}"`)
    .join(', ')
