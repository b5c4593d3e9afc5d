/** Text that somebody could send, to see that no part breaks. */
export const LONG =
  'A name that somebody pasted from elsewhere and that goes on and on, with-a-part-that-no-line-can-break-because-it-holds-no-space-at-all'

export const DAY = 86_400_000
