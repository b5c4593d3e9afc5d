import type { SuppressionReason, Verdict } from './message-types.ts'

/**
 * The decision and its time (ms UTC), as JSON. `rulesAt`: when the rules ran, if only one was checked again
 * since. `sentOn`: a member sent it on then. `keptAt`: it was in the outbox. `tries`: how often it failed
 * to go, since it was queued or sent on. `reply`: the codes with which the mail server refused it last, such as
 * `550 5.7.1`, until it is tried again. `unconfirmedAt`: it was handed over then, and nobody knows whether it arrived.
 * `isSlow`: rendering it ran out of time before.
 */
export type DecisionRecord = {
  at: number
  verdicts: Verdict[]
  rulesAt?: number
  sentOn?: { at: number }
  keptAt?: number
  tries?: number
  reply?: string
  unconfirmedAt?: number
  isSlow?: boolean
}

/** The record of a delivery, or null where nothing was written yet. */
export const parseRecord = (json: string | null): DecisionRecord | null =>
  json === null ? null : (JSON.parse(json) as DecisionRecord)

/** The record of a delivery that is tried again, without the reply to its last try. */
export const forgetReply = ({ reply: _, ...record }: DecisionRecord): DecisionRecord => record

/** What the list, or what is stored of the person, says of writing to them; `reason` null: nothing against it. */
export const suppressionVerdict = (reason: SuppressionReason | null): Verdict => ({
  rule: 'wish',
  about: null,
  value: reason,
  verdict: reason === null ? 'pass' : 'fail',
})

/**
 * What a later look found, in the place of what that rule had said before. The others keep what they said, and when
 * (ms UTC): a record tells of each rule what was so at its own time.
 */
export function addVerdict(earlier: DecisionRecord | null, verdict: Verdict, at: number): DecisionRecord {
  const { verdicts = [], at: judgedAt = at, rulesAt = judgedAt, ...others } = earlier ?? {}
  const place = verdicts.findIndex(({ rule }) => rule === verdict.rule)
  const all = place < 0 ? [verdict, ...verdicts] : verdicts.with(place, verdict)
  return { ...others, at, ...(all.length > 1 && rulesAt !== at ? { rulesAt } : {}), verdicts: all }
}
