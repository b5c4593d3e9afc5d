/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import { formatShortDuration } from '../../core/format-time.ts'
import type { LearnedLimits } from '../../messages/mailer.ts'
import { ExactTime } from '../ui/time.tsx'

const UNITS: [ms: number, name: string][] = [
  [1_000, 'a second'],
  [60_000, 'a minute'],
  [3_600_000, 'an hour'],
  [86_400_000, 'a day'],
]
/** Learned periods are a little longer than the server's. */
const TOLERANCE = 0.05

/** "14 emails a second" or "300 emails in 15 min" */
export function describeRate({
  count,
  periodMs,
}: Pick<NonNullable<LearnedLimits['rate']>, 'count' | 'periodMs'>): string {
  const emails = count === 1 ? '1 email' : `${formatCount(count)} emails`
  const unit = UNITS.find(([ms]) => Math.abs(periodMs / ms - 1) <= TOLERANCE)
  return unit ? `${emails} ${unit[1]}` : `${emails} in ${formatShortDuration(periodMs)}`
}

/** The limits that the mail server showed, and when. */
export const LearnedLimitsText = ({ limits }: { limits: LearnedLimits | null }) => {
  if (limits === null) return null
  const { connections, rate, closed, reply } = limits
  return (
    <p class="hint" id="learned-limits">
      {connections && (
        <>
          This server accepts {connections.most === 1 ? '1 connection' : `${connections.most} connections`} at a time
          (learned on <ExactTime at={connections.at} />
          ).{' '}
        </>
      )}
      {rate && (
        <>
          This server accepts {describeRate(rate)} (learned on <ExactTime at={rate.at} />
          ).{' '}
        </>
      )}
      {closed && (
        <>
          This server has accepted no emails since <ExactTime at={closed.at} />
          {reply !== null && ` (it replied ${reply})`}. The next attempt is on <ExactTime at={closed.tryAt} />.{' '}
        </>
      )}
      Further emails wait. None are lost.
    </p>
  )
}
