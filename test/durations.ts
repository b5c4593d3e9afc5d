/** Times for tests, in a file that loads nothing else: the tests of rules need no server. */
/** Noon in the middle of a month (UTC). */
export const NOW = Date.UTC(2026, 4, 15, 12)
export const MINUTE = 60_000
export const HOUR = 3_600_000
export const DAY = 24 * HOUR

/** As texts name it. */
export const dayOf = (at: number): string =>
  new Date(at).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
