/** The fields of a row with the SQL that each is read from. */
type Fields = Record<string, string>

/** As columns under the names of the fields. */
export const selectFields = (fields: Fields): string =>
  Object.entries(fields)
    .map(([name, expression]) => `${expression} AS "${name}"`)
    .join(', ')

/** As one JSON object, so that a statement gives several rows at once. */
export const jsonOfFields = (fields: Fields): string =>
  `json_object(${Object.entries(fields)
    .map(([name, expression]) => `'${name}', ${expression}`)
    .join(', ')})`
