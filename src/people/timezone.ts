import { isTimezone } from '../core/local-time.ts'

/** The field of a person that names their own timezone. */
export const TIMEZONE_FIELD = 'timezone'

/** An offset such as +02:00 has no summer time. */
const IS_NAME = /^[A-Za-z]/

/** The person's own timezone if their field has a valid name (IANA), else null. */
export function ownTimezone(fields: Readonly<Record<string, unknown>> | null): string | null {
  const zone = fields !== null && Object.hasOwn(fields, TIMEZONE_FIELD) ? fields[TIMEZONE_FIELD] : null
  return typeof zone === 'string' && IS_NAME.test(zone) && isTimezone(zone) ? zone : null
}
