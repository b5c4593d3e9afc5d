import type { MailSettings } from './message-types.ts'

const DAY_MS = 24 * 3_600_000
/** Nothing older counts towards any limit. */
export const LIMITED_MS = 7 * DAY_MS

/** A limit of the app: how many mails a person had within it, and when there is room for one more (ms UTC). */
export type PersonLimit = { rule: 'perDay' | 'perWeek'; most: number; count: number; until: number }

/**
 * The limits that an app has set, judged by when a person was sent mails (ms UTC, the latest first). Where one is full, the
 * oldest of the mails that fill it has to fall out of the day or week.
 */
export function judgePersonLimits(
  { perPersonDay, perPersonWeek }: Pick<MailSettings, 'perPersonDay' | 'perPersonWeek'>,
  handed: readonly number[],
  at: number,
): PersonLimit[] {
  const limits = [
    { rule: 'perDay', most: perPersonDay, ms: DAY_MS },
    { rule: 'perWeek', most: perPersonWeek, ms: LIMITED_MS },
  ] as const
  return limits.flatMap(({ rule, most, ms }) => {
    if (most === null) return []
    const within = handed.filter((time) => time > at - ms)
    const blocking = within[most - 1]
    return [{ rule, most, count: within.length, until: blocking === undefined ? at : blocking + ms }]
  })
}
