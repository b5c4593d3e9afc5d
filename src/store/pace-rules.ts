/** Emails that may be sent at once, at `at`; below 0 after a claim that overdrew. */
export type Pace = { tokens: number; at: number }

/** The store applies these rules, but does not contain them (deliveries/pace.ts). `perSecond` null: the default. */
export type PaceRules = {
  openPace: (perSecond: number | null, at: number) => Pace
  refillPace: (pace: Pace, perSecond: number | null, now: number) => Pace
  /** How many emails may be claimed. */
  paceRoom: (pace: Pace, perSecond: number | null) => number
}
