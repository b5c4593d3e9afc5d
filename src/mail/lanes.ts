/** A lane for each app: how much of it is claimed, how fast it may send, and whether its mails are taken. */
import type { Clock } from '../core/clock.ts'
import type { DeliveryWork } from '../deliveries/deliveries.ts'
import type { Pause } from '../messages/mailer.ts'
import { type Breaker, createBreaker } from './breaker.ts'
import type { Login, Routes } from './routes.ts'
import { SMTP_LIMITS } from './smtp.ts'

/** How many deliveries are sent side by side at one login, besides those that only wait for a reply that takes long. */
export const SIDE_BY_SIDE = SMTP_LIMITS.connections
/** How many of those that wait for their turn at a login are prepared, so that its connections never wait for that. */
const PREPARED = SIDE_BY_SIDE
/**
 * How many are claimed at a time, of all apps. Each may become a connection and a mail: a fifth of the files that a
 * process may open where nobody raised that (1,024), and 54 MB were each mail the longest there can be (measured: 4 KB
 * for a usual one, 270 KB for one of 50,000 characters).
 */
export const CLAIMED = 200
/** A lane may hold a tenth of what is free: alone 18, so that the next ones are there when those before have ended. */
const SHARE = 1 / 10
/** Claimed at once: half of a share, so that who has had theirs is seen before the next claim. */
const BATCH = SHARE / 2
/** How often the settings of an app that is blocked are read: a thousand of them cost a hundredth of the time. */
const READ_MS = 1_000

type Settings = DeliveryWork['settings']

/** `breaker`: a server has taken the login, and none of what this app sends as. */
type Lane = {
  login: Login
  from: string | undefined
  breaker: Breaker
  readAt: number
  claimed: number
  rate: Rate
}

/**
 * `waitedMs`: since it was claimed. `onSlow` is called when it waits for nothing but a reply that takes long: another
 * takes its turn.
 */
export type Turn = { breaker: Breaker; waitedMs: number; onSlow: () => void }

/** `prepare` does what needs no turn, once; `send` the rest. Neither may reject. */
type Sendable = { prepare: () => Promise<void>; send: (turn: Turn) => Promise<void> }
type Waiting = { begin: () => void; prepare: () => void }

type Options = {
  store: { mailSettings(appId: number): Promise<Settings> }
  clock: Clock
  routes: Routes
}

export type Lanes = ReturnType<typeof createLanes>

/**
 * The more apps are slow, the less each lane holds, and one that holds nothing may have one while any is free. What waits
 * for its turn at a login counts twice against the lanes of that login, so however many apps wait at one that is slow,
 * nearly half of all is left to others.
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

  /** What an app has set. That its mails are refused says nothing of another login or address. */
  const note = (appId: number, settings: Settings): Lane => {
    const [login, from] = [routes.findLogin(settings), routes.findFrom(settings)?.address]
    const lane = lanes.get(appId) ?? { claimed: 0, rate: createRate(clock, settings.perSecond) }
    lane.rate.change(settings.perSecond)
    const isSame = 'login' in lane && lane.login === login && lane.from === from
    const breaker = isSame ? lane.breaker : createBreaker(clock)
    const noted = Object.assign(lane, { login, from, breaker, readAt: clock.monotonicMs() })
    lanes.set(appId, noted)
    return noted
  }

  /** As it is set up now where it is blocked: whoever has left a server that fails does not wait for it. */
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

  /** Ends a turn, begins the next one at its login, and says so where more may be claimed now than before. */
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
    /** How many are claimed, sent now or not. */
    count: (): number => total,
    /** How many may be claimed now. */
    room: (): number => Math.ceil((CLAIMED - total) * BATCH),
    /** Resolves when more may be claimed again, or when nothing is claimed any more. */
    freed: (): Promise<void> => freed.promise,
    /** Resolves when all that are prepared or sent now have ended. */
    ended: (): Promise<unknown> => Promise.all(underWay),
    /** How long until an app that was listed last may send again by its rate (ms); 0 where none waits for that. */
    rateMs: (): number => rateMs,

    /** Of the apps with something due, those of which nothing may be claimed now. */
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

    /** Takes what was claimed, prepares it, and sends it as soon as it has its turn at its login. */
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

    /** What the mails of an app wait for longest, as it is set up now. */
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

/**
 * Tokens that come by themselves, so many a second. What was claimed is sent, so they may be overdrawn by what was claimed
 * at once; then the app waits that much longer. `given` null: the usual rate.
 */
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
    /** How long until one more may be sent (ms). */
    waitMs(): number {
      refill()
      return tokens < 1 ? ((1 - tokens) / perSecond) * 1000 : 0
    },
  }
}
