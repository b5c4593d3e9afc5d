import type { Verdict } from './message-types.ts'

/**
 * Times are ms UTC. `rulesAt`: when the rules ran, if a single one was checked later. `sentOn`: a member (`actor`) resent it;
 * `inBulk`: with others; `stopped`: the decision against it that they overrode.
 * `cancelled`: `actor`, a member or an API key, cancelled it.
 * `keptAt`: it was captured. `tries`: failed attempts since it was queued or resent. `reply`: codes of the mail
 * server's last refusal, such as `550 5.7.1`. `unconfirmedAt`: it was handed over without confirmation. `isSlow`:
 * rendering timed out before. `repeatable`: until then, the account at the provider recognizes the email if it is
 * handed over again.
 */
export type DecisionRecord = {
  at: number
  verdicts: Verdict[]
  rulesAt?: number
  sentOn?: { at: number; inBulk?: true; actor?: string; stopped?: StoppedBy }
  cancelled?: { at: number; actor: string }
  keptAt?: number
  tries?: number
  reply?: string
  unconfirmedAt?: number
  isSlow?: boolean
  repeatable?: { until: number; account: string }
}

/**
 * `verdicts`: those that failed. `overridden`: when a member (`actor`) first sent it nevertheless, if it was resent since.
 */
export type StoppedBy = {
  at: number
  reason: string
  verdicts: Verdict[]
  overridden?: { at: number; actor?: string }
}

export function parseRecord(json: string | null): DecisionRecord | null {
  if (json === null) return null
  const record = JSON.parse(json) as (Omit<DecisionRecord, 'verdicts'> & { verdicts?: Verdict[] }) | null
  return record && { ...record, verdicts: (record.verdicts ?? []).map(renameRule) }
}

/** Records written by 0.1.0 name the rule so. */
const FORMER_RULE = 'wish'

const renameRule = (verdict: Verdict): Verdict =>
  verdict.rule === FORMER_RULE ? { ...verdict, rule: 'suppression' } : verdict

export const forgetReply = ({ reply: _, ...record }: DecisionRecord): DecisionRecord => record
