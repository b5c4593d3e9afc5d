/** Longer lists are counted up to here, and one more to know it. */
export const MOST_COUNTED = 10_000

/** With separators from 10,000 on. */
const formatCount = (count: number): string => (count > 9_999 ? count.toLocaleString('en-GB') : String(count))

/** "10,000+" for what was counted up to `MOST_COUNTED` + 1. */
export const formatCounted = (count: number): string =>
  count > MOST_COUNTED ? `${formatCount(MOST_COUNTED)}+` : formatCount(count)
