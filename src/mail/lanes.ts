/** One lane per app limits its claims and rate and pauses it if its emails are refused. */
import type { Clock } from '../core/clock.ts'
import type { DeliveryWork } from '../deliveries/deliveries.ts'
import type { Pause } from '../messages/mailer.ts'
import { type Breaker, createBreaker } from './breaker.ts'
import type { Login, Routes } from './routes.ts'
import { SMTP_LIMITS } from './smtp.ts'

/** Concurrent emails per login, not counting those that wait for a slow reply. */
export const SIDE_BY_SIDE = SMTP_LIMITS.connections
/** Waiting emails per login that are prepared in advance, so that connections stay busy. */
const PREPARED = SIDE_BY_SIDE
/**
 * Claims at a time, all apps together: a fifth of the default limit of open files (1,024), and 54 MB if every email has
 * the maximum length (measured: 4 KB for a usual one, 270 KB for 50,000 characters).
 */
export const CLAIMED = 200
/** Share of the free claims a lane may hold; 18 if it is the only one. */
const SHARE = 1 / 10
/** Half a share per claim, so that full lanes are noticed before the next one. */
const BATCH = SHARE / 2
/** How often the settings of a blocked app are read; a thousand such apps cost 1% of the time. */
const READ_MS = 1_000

type Settings = DeliveryWork['settings']

/** `breaker`: for failures after the login. */
type Lane = {
  login: Login
  from: string | undefined
  breaker: Breaker
  readAt: number
  claimed: number
  rate: Rate
}

/** `waitedMs`: since the claim. `onSlow`: only a slow reply is missing, so another email may start. */
export type Turn = { breaker: Breaker; waitedMs: number; onSlow: () => void }

/** `prepare` needs no turn. Neither may reject. */
type Sendable = { prepare: () => Promise<void>; send: (turn: Turn) => Promise<void> }
type Waiting = { begin: () => void; prepare: () => void }

type Options = {
  store: { mailSettings(appId: number): Promise<Settings> }
  clock: Clock
  routes: Routes
}

export type Lanes = ReturnType<typeof createLanes>

/**
 * An empty lane may claim one email while any claim is free. Emails that wait at a login count twice against its lanes,
 * so a slow login leaves nearly half of all claims to others.
 */
export function createLanes({ store, clock, routes }: Options) {
  const lanes = new Map<number, Lane>()
  const turns = new Map<Login, { sending: number; waiting: Waiting[] }>()
  const underWay = new Set<Promise<void>>()
  let [total, freed, rateMs] = [0, Promise.withResolvers<void>(), 0]

  const freeAt = (login: Login): number => CLAIMED - total - (turns.get(login)?.waiting.length ?? 0)
  const isFull = ({ login, claimed }: Lane): boolean => claimed >= freeAt(login) * SHARE
  const isBlocked = (lane: Lane): boolean =>
    freeAt(lane.login) < 1 || lane.login.breaker.isBlocked() || lane.breaker.isBlocked()

  const track = (work: Promise<void>): void => {
    underWay.add(work)
    void work.then(() => underWay.delete(work))
  }

  /** A changed login or address starts with a new breaker. */
  const note = (appId: number, settings: Settings): Lane => {
    const [login, from] = [routes.findLogin(settings), routes.findFromEmail(settings)]
    const lane = lanes.get(appId) ?? { claimed: 0, rate: createRate(clock, settings.perSecond) }
    lane.rate.change(settings.perSecond)
    const isSame = 'login' in lane && lane.login === login && lane.from === from
    const breaker = isSame ? lane.breaker : createBreaker(clock)
    const noted = Object.assign(lane, { login, from, breaker, readAt: clock.monotonicMs() })
    lanes.set(appId, noted)
    return noted
  }

  /** Reads the settings of a blocked lane again, because they may name another server. */
  const read = async (appId: number): Promise<Lane> => {
    const lane = lanes.get(appId)
    const isFresh = lane && !(isBlocked(lane) && clock.monotonicMs() - lane.readAt >= READ_MS)
    return isFresh ? lane : note(appId, await store.mailSettings(appId))
  }

  const openTurns = (login: Login) => {
    const open = turns.get(login) ?? { sending: 0, waiting: [] }
    turns.set(login, open)
    return open
  }

  /** Ends a turn, starts the next, and resolves `freed` if more can be claimed. */
  const leave = (lane: Lane, login: Login): void => {
    const [wasCrowded, wasFull] = [freeAt(login) < 1, isFull(lane)]
    const open = openTurns(login)
    open.sending -= 1
    open.waiting.shift()?.begin()
    open.waiting[PREPARED - 1]?.prepare()
    if (open.sending === 0) turns.delete(login)
    lane.claimed -= 1
    total -= 1
    const isFreer = (wasCrowded && freeAt(login) > 0) || (wasFull && !isFull(lane))
    if (total > 0 && !isFreer) return
    freed.resolve()
    freed = Promise.withResolvers()
  }

  return {
    /** Claimed emails. */
    count: (): number => total,
    /** Emails that can be claimed now. */
    room: (): number => Math.ceil((CLAIMED - total) * BATCH),
    /** Resolves when more can be claimed, or nothing is claimed. */
    freed: (): Promise<void> => freed.promise,
    /** Resolves when current work has ended. */
    ended: (): Promise<unknown> => Promise.all(underWay),
    /** Until the next of the apps listed last may send by its rate (ms); 0 if none waits. */
    rateMs: (): number => rateMs,

    /** The apps in `due` that can't claim now. */
    async listBlocked(due: readonly number[]): Promise<number[]> {
      const blocked: number[] = []
      rateMs = 0
      for (const appId of due) {
        const lane = await read(appId)
        const waitMs = lane.rate.waitMs()
        if (waitMs > 0) rateMs = rateMs === 0 ? waitMs : Math.min(rateMs, waitMs)
        if (waitMs > 0 || isFull(lane) || isBlocked(lane)) blocked.push(appId)
      }
      return blocked
    },

    /** Queues a claimed email for its login. */
    add({ app, settings }: Pick<DeliveryWork, 'app' | 'settings'>, { prepare, send }: Sendable): void {
      const lane = note(app.id, settings)
      const { login, breaker } = lane
      const claimedAt = clock.monotonicMs()
      lane.rate.spend()
      lane.claimed += 1
      total += 1
      const open = openTurns(login)
      let hasLeft = false
      const leaveOnce = (): void => {
        if (!hasLeft) leave(lane, login)
        hasLeft = true
      }
      const begin = (): void => {
        open.sending += 1
        const waitedMs = clock.monotonicMs() - claimedAt
        track(send({ breaker, waitedMs, onSlow: leaveOnce }).then(leaveOnce))
      }
      if (open.sending < SIDE_BY_SIDE) return begin()
      const waiting = { begin, prepare: () => track(prepare()) }
      if (open.waiting.push(waiting) <= PREPARED) waiting.prepare()
    },

    /** The pause that ends last, by the current settings. */
    findPause(appId: number, settings: Settings): Pause | null {
      const { login, breaker } = note(appId, settings)
      const [shared, own] = [login.breaker.findPause(), breaker.findPause()]
      const isOwn = own !== null && own.until > (shared?.until ?? 0)
      const pause = isOwn ? own : shared
      return pause && pause.until > clock.now() ? { ...pause, isOwn } : null
    },
  }
}

export const PER_SECOND = 100

export type Rate = ReturnType<typeof createRate>

/** A token bucket that one claim may overdraw; the app then waits longer. `given` null: the default rate. */
export function createRate({ monotonicMs }: Pick<Clock, 'monotonicMs'>, given: number | null) {
  let perSecond = given ?? PER_SECOND
  let [tokens, at] = [perSecond, monotonicMs()]

  const refill = (): void => {
    const now = monotonicMs()
    tokens = Math.min(perSecond, tokens + ((now - at) / 1000) * perSecond)
    at = now
  }

  return {
    change(to: number | null): void {
      refill()
      perSecond = to ?? PER_SECOND
    },
    spend(): void {
      refill()
      tokens -= 1
    },
    /** Until the next email may be sent (ms). */
    waitMs(): number {
      refill()
      return tokens < 1 ? ((1 - tokens) / perSecond) * 1000 : 0
    },
  }
}
