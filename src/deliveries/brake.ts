/**
 * The brake: lifecycle emails of an app wait when too many of its emails bounce or are reported as spam, before mailbox
 * providers and email services refuse all of them.
 */
import { DAY_MS } from '../core/clock.ts'
import { formatCount } from '../core/count.ts'
import type { BrakeCause, BrakeKind, BrakeLimits, BrakeRules, MailDay } from '../store/brake-rules.ts'
import type { Store } from '../store/store.ts'

/** Percent. */
export const BRAKE_DEFAULTS: Readonly<Record<BrakeKind, number>> = { complaints: 0.2, bounces: 4 }

/** Days that count, today included. */
export const BRAKE_DAYS = 7

/**
 * With fewer, the brake stays off: one complaint stops no app, and the second one comes before the ceiling if 667 emails
 * or more were sent.
 */
export const FEWEST = { emails: 100, complaints: 2, bounces: 5 } as const

/** Held emails are checked again after this time at the latest; they are due when the brake ends. */
export const BRAKED_MS = DAY_MS

/** The reason of an email that waits for it. */
export const BRAKE = 'brake'

export const limitOf = (kind: BrakeKind, { complaintLimit, bounceLimit }: BrakeLimits): number =>
  (kind === 'complaints' ? complaintLimit : bounceLimit) ?? BRAKE_DEFAULTS[kind]

/**
 * Percent that mailbox providers and email services ask to stay below, and at which they act. Complaints:
 * https://support.google.com/a/answer/81126 and https://senders.yahooinc.com/best-practices/; bounces:
 * https://docs.aws.amazon.com/ses/latest/dg/reputationdashboardmessages.html
 */
export const TARGETS: Readonly<Record<BrakeKind, number>> = { complaints: 0.1, bounces: 5 }
export const CEILINGS: Readonly<Record<BrakeKind, number>> = { complaints: 0.3, bounces: 10 }

/** `complaints` and `bounces` among `emails`. */
export type Rates = { emails: number } & Record<BrakeKind, number>

export function sumRates(days: readonly MailDay[]): Rates {
  const sum = days.reduce<Rates>(
    ({ emails, complaints, bounces }, { sent, complained, bounced }) => ({
      emails: emails + sent,
      complaints: complaints + complained,
      bounces: bounces + bounced,
    }),
    { emails: 0, complaints: 0, bounces: 0 },
  )
  // a report about an email of an unknown day counts on the day of the report, so reports can outnumber emails
  return { ...sum, emails: Math.max(sum.emails, sum.complaints, sum.bounces) }
}

/** Of the last days, today included. */
export const readRates = async (store: Pick<Store, 'listMailDays'>, appId: number, days: number, now: number) =>
  sumRates(await store.listMailDays(appId, Math.floor(now / DAY_MS) - days + 1))

/** Percent of these emails; 0 without any. */
export const percentOf = (failures: number, emails: number): number => (emails === 0 ? 0 : (100 * failures) / emails)

/** `few`: too few to tell. Only rates that trigger the brake are `over`. */
export function rateState(kind: BrakeKind, rates: Rates): 'few' | 'good' | 'high' | 'over' {
  const percent = percentOf(rates[kind], rates.emails)
  if (percent < TARGETS[kind]) return rates.emails < FEWEST.emails ? 'few' : 'good'
  const [isSmall, areFew] = [rates.emails < FEWEST.emails, rates[kind] < FEWEST[kind]]
  if (isSmall && areFew) return 'few'
  return isSmall || areFew || percent < CEILINGS[kind] ? 'high' : 'over'
}

/** The rate as pages show it; null: too few to tell. */
export const shownRate = (kind: BrakeKind, rates: Rates): string | null =>
  rateState(kind, rates) === 'few' ? null : formatPercent(percentOf(rates[kind], rates.emails))

/** "0.05%" */
export const formatPercent = (percent: number): string => `${Math.round(100 * percent) / 100}%`

/** Without a period. */
export const describeBrakeCause = ({ kind, failures, emails }: BrakeCause): string =>
  `${formatCount(failures)} of the last ${formatCount(emails)} emails ${kind === 'bounces' ? 'bounced' : `${failures === 1 ? 'was' : 'were'} reported as spam`}`

/** Complaints come first: they weigh more. */
function findBrakeCause(days: readonly MailDay[], limits: BrakeLimits): BrakeCause | null {
  const { emails, ...counts } = sumRates(days)
  if (emails < FEWEST.emails) return null
  const kind = (['complaints', 'bounces'] as const).find(
    (one) => counts[one] >= FEWEST[one] && percentOf(counts[one], emails) >= limitOf(one, limits),
  )
  return kind === undefined ? null : { kind, failures: counts[kind], emails }
}

export const BRAKE_RULES: Omit<BrakeRules, 'isBounce'> = {
  firstBrakeDay: (at) => Math.floor(at / DAY_MS) - BRAKE_DAYS + 1,
  findBrakeCause,
}
