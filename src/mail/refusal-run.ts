/**
 * Refusals in a row that may stand for a limit of the mail server although they don't say so. Pure; times are ms of one
 * clock.
 */

/**
 * `recipients`: refused since an email was accepted. `isDoubtful`: since it seemed to be a limit, the server accepted only
 * emails that it had refused before, and refused only others, as if it refused everyone at first. `trustedUntil`: it does.
 */
export type RefusalRun = { recipients: readonly string[]; isDoubtful: boolean; trustedUntil: number }

export const NO_REFUSALS: RefusalRun = { recipients: [], isDoubtful: false, trustedUntil: Number.NEGATIVE_INFINITY }

/** Different recipients. Fewer are a matter of these recipients. */
export const MANY = 5
const TRUSTED_MS = 3_600_000

export const isLimit = ({ recipients }: RefusalRun): boolean => recipients.length >= MANY

/** `wasRefused`: the server refused the same email before. */
type Email = { to: string; wasRefused: boolean }

export function noteRefusal(run: RefusalRun, { to, wasRefused }: Email, at: number): RefusalRun {
  if (at < run.trustedUntil) return run
  const isDoubtful = run.isDoubtful && !wasRefused
  const isKnown = isLimit(run) || run.recipients.includes(to)
  const recipients = isKnown ? run.recipients : [...run.recipients, to]
  return isDoubtful && recipients.length >= MANY
    ? { ...NO_REFUSALS, trustedUntil: at + TRUSTED_MS }
    : { ...run, recipients, isDoubtful }
}

export function noteAcceptance(run: RefusalRun, { wasRefused }: Pick<Email, 'wasRefused'>): RefusalRun {
  if (run.recipients.length === 0 && !run.isDoubtful) return run
  return { ...run, recipients: [], isDoubtful: wasRefused && (run.isDoubtful || isLimit(run)) }
}
