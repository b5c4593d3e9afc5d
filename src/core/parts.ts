import type { Store } from '../store/store.ts'
import type { KeyAccess } from './access.ts'
import type { Notes } from './activation.ts'
import type { FloodGuard } from './flood.ts'
import type { Limits } from './limits.ts'
import type { Mailer } from './mailer.ts'
import type { Rehearse } from './rehearsals.ts'
import type { SnippetLimits } from './snippet-limits.ts'

/** `now` is the wall clock (ms UTC) for what is stored; intervals run on `monotonicMs`, which nobody can set. */
export type Clock = { now(): number; monotonicMs(): number }

/** What the rooms are made of, passed in and never global. */
export type Parts = {
  store: Store
  clock: Clock
  access: KeyAccess
  limits: Limits
  flood: FloodGuard
  snippetLimits: SnippetLimits
  notes: Notes
  rehearse: Rehearse
  /** the address people reach the service at, without a slash at its end */
  baseUrl: string
  /** blinds addresses in the names of buckets */
  addressKey: string
  /** proves that a link to unsubscribe is ours */
  unsubscribeKey: string
  mailer: Mailer
}

export const systemClock: Clock = { now: Date.now, monotonicMs: () => Math.floor(performance.now()) }
