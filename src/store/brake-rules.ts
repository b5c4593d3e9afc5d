/** By the day (days since 1970 UTC) on which a mail server got them. `bounced`: for good. */
export type MailDay = { day: number; sent: number; bounced: number; complained: number }

export const BRAKE_KINDS = ['complaints', 'bounces'] as const
export type BrakeKind = (typeof BRAKE_KINDS)[number]

/** What triggers the brake: `failures` of so many emails. */
export type BrakeCause = { kind: BrakeKind; failures: number; emails: number }

export type Brake = BrakeCause & { since: number }

/** Percent; null: the default. */
export type BrakeLimits = { complaintLimit: number | null; bounceLimit: number | null }

/** The store applies these rules, but does not contain them (deliveries/brake.ts). */
export type BrakeRules = {
  /** the first day that counts, in days since 1970 UTC */
  firstBrakeDay: (at: number) => number
  /** whether an email that failed for this reason counts as bounced, like in the trigger `mail_refused` */
  isBounce: (reason: string) => boolean
  findBrakeCause: (days: readonly MailDay[], limits: BrakeLimits) => BrakeCause | null
}
