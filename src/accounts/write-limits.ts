import { type LimitedWrite } from './plans.ts'
import type { CountedLimit, Idempotency, Via } from '../store/types.ts'
import type { Clock } from '../core/clock.ts'
import { countedLimit, RATE_LIMITS, type Limit, type Limits, type Taken } from './limits.ts'
import type { Store } from '../store/store.ts'
import { addressBucket } from '../core/addresses.ts'
import type { Access, AppRow } from './access.ts'
import { type LimitName, type Refusal, refuseLimited } from '../core/refusals.ts'

export type LimitDependencies = { limits: Limits; clock: Clock; addressKey: string }

const LIMIT_NAME = {
  events: 'events_per_hour',
  contactAdds: 'contact_adds_per_hour',
  contactUpdates: 'contact_updates_per_hour',
} as const satisfies Record<LimitedWrite, LimitName>

export type TakenFor = { limit: Limit; taken: Taken; counted: CountedLimit[]; refused: Refusal | null }

/** The 429 of a key whose hourly limit is used up. */
const refuseWrite = ({ clock }: { clock: Clock }, write: LimitedWrite, { key }: Access, limit: Limit, taken: Taken) =>
  refuseLimited({
    name: LIMIT_NAME[write],
    key,
    limit: limit.max,
    retryAfter: taken.retryAfterSeconds,
    at: clock.now(),
  })

type KeyLimitDependencies = Pick<LimitDependencies, 'limits' | 'clock'>

function takeForKey(deps: KeyLimitDependencies, write: LimitedWrite, access: Access): TakenFor {
  const { bucket, limit } = access.keyLimits[write]
  const taken = deps.limits.take(bucket, limit)
  const refused = taken.allowed > 0 ? null : refuseWrite(deps, write, access, limit, taken)
  return { limit, taken, counted: [countedLimit({ bucket, limit })], refused }
}

/** The remaining limit, without taking; `refused` is what a write would get. */
export function peekForKey(deps: KeyLimitDependencies, write: LimitedWrite, access: Access): TakenFor {
  const { bucket, limit } = access.keyLimits[write]
  const taken = deps.limits.peek(bucket, limit)
  const refused = taken.allowed > 0 ? null : refuseWrite(deps, write, access, limit, taken)
  return { limit, taken, counted: [], refused }
}

/** The bucket of a visitor of an app: an IPv4 address or an IPv6 /64. The store only gets a keyed hash of it. */
function visitorBucket({ addressKey }: { addressKey: string }, app: AppRow, address: string): string {
  const text = `${app.publicId}:${addressBucket(address)}`
  return `visitor:${new Bun.CryptoHasher('sha256', addressKey).update(text).digest('base64url')}`
}

const refuseVisitor = ({ clock }: { clock: Clock }, { retryAfterSeconds: retryAfter }: Taken): Refusal => {
  const { max: limit } = RATE_LIMITS.addsPerVisitor
  return refuseLimited({ name: 'contact_adds_per_ip', key: null, limit, retryAfter, at: clock.now() })
}

/** The limit per visitor of an app: 5 adds in 10 minutes. */
function takeForVisitor(deps: LimitDependencies, app: AppRow, address: string): TakenFor {
  const limit = RATE_LIMITS.addsPerVisitor
  const bucket = visitorBucket(deps, app, address)
  const taken = deps.limits.take(bucket, limit)
  const refused = taken.allowed > 0 ? null : refuseVisitor(deps, taken)
  return { limit, taken, counted: [countedLimit({ bucket, limit })], refused }
}

/** Returns tokens of writes that don't count. @returns the updated state */
function settleTaken({ limits }: Pick<LimitDependencies, 'limits'>, of: TakenFor, outcome: object): TakenFor {
  const { limit, taken, counted } = of
  const bucket = counted[0]?.bucket
  if (bucket === undefined || !(limits.isShared || isFree(outcome))) return of
  limits.giveBack(bucket, taken)
  return { ...of, taken: limits.peek(bucket, limit) }
}

type Settled = { write: LimitedWrite; counted: TakenFor; outcome: object }

function settleForKey(deps: KeyLimitDependencies, access: Access, { write, counted, outcome }: Settled): TakenFor {
  const settled = settleTaken(deps, counted, outcome)
  const { bucket, limit } = access.keyLimits[write]
  if (findFullBucket(outcome) !== bucket) return settled
  const taken = asRefused(settled.taken)
  return { ...settled, taken, refused: refuseWrite(deps, write, access, limit, taken) }
}

/** Of the limit that other instances used up before the commit; null: it found room. */
const findFullBucket = (outcome: object): unknown => ('bucket' in outcome ? outcome.bucket : null)

/** At least a second: the last one of the limit may have been returned since the refusal. */
const asRefused = (taken: Taken): Taken => ({ ...taken, retryAfterSeconds: Math.max(1, taken.retryAfterSeconds) })

/** Replays, invalid input, reused keys and our own failures don't count. */
const isFree = (outcome: object): boolean =>
  'replayed' in outcome ||
  'refused' in outcome ||
  ('refusal' in outcome && (outcome.refusal === 'idempotency_mismatch' || outcome.refusal === 'unavailable'))

type Waiting = { access: Access; resolve: (counted: TakenFor) => void }
/** Per key: counted events that aren't validated yet, and events that wait for them. */
type Line = { unread: number; waiting: Waiting[] }

/**
 * Counts events before they are validated and returns the tokens of invalid ones. While unvalidated events use up the
 * limit, later events wait in order, so that invalid events never displace valid ones.
 */
export function createEventLimit(deps: KeyLimitDependencies) {
  const lines = new Map<string, Line>()

  /** null: must wait. */
  const tryTake = (line: Line | undefined, access: Access): TakenFor | null => {
    const counted = takeForKey(deps, 'events', access)
    return counted.refused && line !== undefined && line.unread > 0 ? null : counted
  }

  const advance = (line: Line): void => {
    for (let next = line.waiting[0]; next; next = line.waiting[0]) {
      const counted = tryTake(line, next.access)
      if (!counted) return
      if (!counted.refused) line.unread += 1
      line.waiting.shift()
      next.resolve(counted)
    }
  }

  return {
    /** A promise only if the event must wait. Call `settle` unless refused. */
    take(access: Access): TakenFor | Promise<TakenFor> {
      const { bucket } = access.keyLimits.events
      const line = lines.get(bucket)
      const isBehind = line !== undefined && line.waiting.length > 0
      const counted = isBehind ? null : tryTake(line, access)
      if (!counted) {
        const { promise, resolve } = Promise.withResolvers<TakenFor>()
        line?.waiting.push({ access, resolve })
        return promise
      }
      if (!counted.refused) {
        if (line) line.unread += 1
        else lines.set(bucket, { unread: 1, waiting: [] })
      }
      return counted
    },
    /** Returns the token if the event doesn't count. @returns the updated state */
    settle(access: Access, counted: TakenFor, outcome: object): TakenFor {
      const { events } = access.keyLimits
      if (counted.refused)
        return 'refused' in outcome ? counted : { ...counted, taken: deps.limits.peek(events.bucket, events.limit) }
      const settled = settleForKey(deps, access, { write: 'events', counted, outcome })
      const line = lines.get(events.bucket)
      if (!line) return settled
      line.unread -= 1
      advance(line)
      if (line.unread === 0 && line.waiting.length === 0) lines.delete(events.bucket)
      return settled
    },
  }
}

export type ContactWriteName = Exclude<LimitedWrite, 'events'>
type ContactRequest = { access: Access; app: AppRow; input: { ip: string | null } }

/** The refusal a contact write would get, without taking. */
export function peekForContact(
  deps: LimitDependencies,
  { access, app, input }: ContactRequest,
  write: ContactWriteName,
) {
  const { refused } = peekForKey(deps, write, access)
  if (refused || write !== 'contactAdds' || input.ip === null) return refused
  const taken = deps.limits.peek(visitorBucket(deps, app, input.ip), RATE_LIMITS.addsPerVisitor)
  return taken.allowed > 0 ? null : refuseVisitor(deps, taken)
}

/** Takes from the key's limit and, for an add with `ip`, from the visitor's; from both or neither. */
export function takeForContact(
  deps: LimitDependencies,
  { access, app, input }: ContactRequest,
  write: ContactWriteName,
) {
  const byKey = takeForKey(deps, write, access)
  const isByVisitor = write === 'contactAdds' && input.ip !== null && !byKey.refused
  const byVisitor = isByVisitor ? takeForVisitor(deps, app, input.ip ?? '') : null
  if (byVisitor?.refused) deps.limits.giveBack(byKey.counted[0]?.bucket ?? '', byKey.taken)
  const { limit, taken } = byVisitor?.refused ? byVisitor : byKey
  return {
    limit,
    taken,
    refused: byKey.refused ?? byVisitor?.refused ?? null,
    counted: [...byKey.counted, ...(byVisitor?.counted ?? [])],
    /** Returns tokens of writes that don't count. @returns the updated state of the limit that the answer names */
    settle(outcome: object): TakenFor {
      const settled = settleForKey(deps, access, { write, counted: byKey, outcome })
      if (!byVisitor) return settled
      const ofVisitor = settleTaken(deps, byVisitor, outcome)
      if (findFullBucket(outcome) !== byVisitor.counted[0]?.bucket) return settled
      const taken = asRefused(ofVisitor.taken)
      return { ...ofVisitor, taken, refused: refuseVisitor(deps, taken) }
    },
  }
}

/** Restores the buckets from the store, so that a restart doesn't reset limits. */
export async function restoreLimits({
  limits,
  store,
  clock,
}: {
  limits: Limits
  store: Store
  clock: Clock
}): Promise<void> {
  if (limits.isShared) return
  const nowSecond = Math.floor(clock.now() / 1000)
  const usage = await store.listUsage(nowSecond - RATE_LIMITS.events.windowMs / 1000 - 1)
  const byBucket = Map.groupBy(usage, (row) => row.bucket)
  for (const [bucket, rows] of byBucket) {
    const window = bucket.startsWith('visitor:') ? RATE_LIMITS.addsPerVisitor : RATE_LIMITS.events
    // counted at the end of its second, to be strict
    const takenAgo = rows.map((row) => [Math.max(0, (nowSecond - row.second - 1) * 1000), row.count] as const)
    limits.restore(bucket, { max: Number.MAX_SAFE_INTEGER, windowMs: window.windowMs }, takenAgo)
  }
}

/** An email that a call sends counts as an event. */
export function takeForSend(deps: KeyLimitDependencies, access: Access) {
  const counted = takeForKey(deps, 'events', access)
  /** Returns the token of a call that doesn't count. @returns the updated state */
  const settle = (outcome: object): TakenFor => settleForKey(deps, access, { write: 'events', counted, outcome })
  return { ...counted, settle }
}

export type WriteContext = {
  access: Access
  app: AppRow
  via: Via
  limits: CountedLimit[]
  idempotency: Idempotency | null
}
