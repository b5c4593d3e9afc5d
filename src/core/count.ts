/** Longer lists are counted up to one more than this. */
export const MOST_COUNTED = 10_000

/** A number with separators from 10,000 on. */
export const formatCount = (count: number): string => (count > 9_999 ? count.toLocaleString('en-GB') : String(count))

/** "10,000+" for what was counted up to `MOST_COUNTED` + 1. */
export const formatCounted = (count: number): string =>
  count > MOST_COUNTED ? `${formatCount(MOST_COUNTED)}+` : formatCount(count)

/** A limit, as the documentation writes it: "6,000". */
export const formatLimit = (limit: number): string => limit.toLocaleString('en-GB')

/** NaN if it is not a whole number. Also takes what `formatLimit` writes. */
export const readWholeNumber = (text: string): number =>
  /^(\d+|\d{1,3}(,\d{3})+)$/.test(text) ? Number(text.replaceAll(',', '')) : Number.NaN
