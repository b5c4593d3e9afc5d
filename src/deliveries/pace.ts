/** How many emails of an app may be sent a second: a token bucket that claims may overdraw. Pure; times are ms of one clock. */
import type { Pace, PaceRules } from '../store/pace-rules.ts'

export const PER_SECOND = 100

/** A claim may overdraw the pace by as much as is sent in this time, so that a fast app needs few claims. */
const CLAIM_SECONDS = 0.1

const perSecondOf = (given: number | null): number => given ?? PER_SECOND

export const openPace: PaceRules['openPace'] = (perSecond, at) => ({ tokens: perSecondOf(perSecond), at })

/** A clock that was set back adds nothing. */
export const refillPace: PaceRules['refillPace'] = ({ tokens, at }, perSecond, now) => {
  const most = perSecondOf(perSecond)
  return { tokens: Math.min(most, tokens + (Math.max(0, now - at) / 1_000) * most), at: Math.max(now, at) }
}

/** Of a pace as of now. */
export const paceRoom: PaceRules['paceRoom'] = ({ tokens }, perSecond) =>
  tokens < 1 ? 0 : Math.max(Math.floor(tokens), Math.ceil(perSecondOf(perSecond) * CLAIM_SECONDS))

/** Until the next email may be sent (ms); of a pace as of now. */
export const paceWaitMs = ({ tokens }: Pace, perSecond: number | null): number =>
  tokens < 1 ? ((1 - tokens) / perSecondOf(perSecond)) * 1_000 : 0

export const PACE_RULES: PaceRules = { openPace, refillPace, paceRoom }
