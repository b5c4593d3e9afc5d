/** One lane per app limits its claims and rate and pauses it if its emails are refused. */
import type { Clock } from '../core/clock.ts'
import type { DeliveryWork } from '../deliveries/deliveries.ts'
import { openPace, paceRoom, paceWaitMs, refillPace } from '../deliveries/pace.ts'
import type { LearnedLimits, Pause } from '../messages/mailer.ts'
import type { LimitWait } from '../store/limit-waits.ts'
import type { Pace } from '../store/pace-rules.ts'
import { type Breaker, createBreaker } from './breaker.ts'
import type { Login, Routes } from './routes.ts'
import { SMTP_LIMITS } from './smtp.ts'
import type { Mailing, Place } from './window.ts'

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
/** A lane whose server accepts few connections needs no more. */
const CLAIMED_A_CONNECTION = 2
/** Half a share per claim, so that full lanes are noticed before the next one. */
const BATCH = SHARE / 2
/** A wait for a server's limit goes on if it is seen again within this time. */
const SAME_WAIT_MS = 120_000
const SAVED_WAIT_MS = 60_000
/** How often the settings of a blocked app are read; a thousand such apps cost 1% of the time. */
const READ_MS = 1_000

type Settings = DeliveryWork['settings']

/** `breaker`: for failures after the login. `servedAt`: its last claim. `most`: of its own connections. */
type Lane = {
  login: Login
  from: string | undefined
  breaker: Breaker
  readAt: number
  claimed: number
  sending: number
  most: number
  rate: Rate
  mailing: Mailing
  servedAt: number
  /** for its server, by its limit (ms UTC) */
  wait: { from: number; until: number; savedUntil: number } | null
}

/**
 * `waitedMs`: since the claim. Another email may start on `onSlow`, when only the server's answer is missing, and on
 * `onSent`, when only the result is to be saved.
 */
export type Turn = { breaker: Breaker; place: Place; waitedMs: number; onSlow: () => void; onSent: () => void }

/** `prepare` needs no turn. Neither may reject. */
type Sendable = { prepare: () => Promise<void>; send: (turn: Turn) => Promise<void> }
type Waiting = { lane: Lane; begin: () => void; prepare: () => void }

/** `tries`: an email that tries whether the server accepts more. */
type Free = { appId: number; lane: Lane; tries: number | null }

/** `most`: emails that these apps may claim together. `first`: emails that are claimed before others. */
export type ClaimPlan = { apps: number[]; most: number; first: number[] }

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

  const room = (): number => Math.ceil((CLAIMED - total) * BATCH)
  const freeAt = (login: Login): number => CLAIMED - total - (turns.get(login)?.waiting.length ?? 0)
  const isFull = (lane: Lane): boolean =>
    lane.claimed >= Math.min(freeAt(lane.login) * SHARE, CLAIMED_A_CONNECTION * countBeside(lane))
  const isBlocked = (lane: Lane): boolean =>
    freeAt(lane.login) < 1 || lane.login.breaker.isBlocked() || lane.breaker.isBlocked()

  const track = (work: Promise<void>): void => {
    underWay.add(work)
    void work.then(() => underWay.delete(work))
  }

  /** A changed login or address starts with a new breaker. */
  const note = (appId: number, settings: Settings): Lane => {
    const [login, from] = [routes.findLogin(settings), routes.findFromEmail(settings)]
    const lane = lanes.get(appId) ?? {
      claimed: 0,
      sending: 0,
      servedAt: 0,
      wait: null,
      rate: createRate(clock, settings.perSecond),
    }
    lane.rate.change(settings.perSecond)
    const isSame = 'login' in lane && lane.login === login && lane.from === from
    const { breaker, mailing } = isSame ? lane : { breaker: createBreaker(clock), mailing: createMailing() }
    const most = settings.connections ?? Number.POSITIVE_INFINITY
    const noted = Object.assign(lane, { login, from, breaker, mailing, most, readAt: clock.monotonicMs() })
    lanes.set(appId, noted)
    return noted
  }

  /** Reads the settings of a blocked lane again, because they may name another server. */
  const read = async (appId: number): Promise<Lane> => {
    const lane = lanes.get(appId)
    const isFresh = lane && !(isHeld(lane) && clock.monotonicMs() - lane.readAt >= READ_MS)
    return isFresh ? lane : note(appId, await store.mailSettings(appId))
  }
  const isHeld = (lane: Lane): boolean => isBlocked(lane) || lane.login.window.waitMs() > 0

  /** An email of the lane is due, and waits because the server accepts no more. */
  const noteWait = (lane: Lane): void => {
    const now = clock.now()
    const isSame = lane.wait !== null && now >= lane.wait.until && now - lane.wait.until <= SAME_WAIT_MS
    if (lane.wait && isSame) lane.wait.until = now
    else lane.wait = { from: now, until: now, savedUntil: now }
  }

  const openTurns = (login: Login) => {
    const open = turns.get(login) ?? { sending: 0, waiting: [] }
    turns.set(login, open)
    return open
  }

  /** Starts the emails of a login that may start now. */
  const advance = (login: Login): void => {
    const open = openTurns(login)
    while (open.sending < sideBySide(login)) {
      const next = open.waiting.findIndex(({ lane }) => lane.sending < lane.most)
      if (next < 0) break
      open.waiting.splice(next, 1)[0]?.begin()
      open.waiting[PREPARED - 1]?.prepare()
    }
    if (open.sending === 0 && open.waiting.length === 0) turns.delete(login)
  }

  /** Resolves `freed` if more can be claimed after `change`. */
  const free = (lane: Lane, login: Login, change: () => void): void => {
    const [wasCrowded, wasFull] = [freeAt(login) < 1, isFull(lane)]
    change()
    const isFreer = (wasCrowded && freeAt(login) > 0) || (wasFull && !isFull(lane))
    if (total > 0 && !isFreer) return
    freed.resolve()
    freed = Promise.withResolvers()
  }

  /** `apps`: due ones of the same login, which take turns if it has a limit. `given`: to those before. */
  const findRoom = (lane: Lane, { apps, given }: { apps: number; given: number }): number => {
    const { window } = lane.login
    const ofLogin = Math.min(window.room(), room())
    const share = window.isLimited() ? Math.max(1, Math.floor(ofLogin / apps)) : ofLogin
    return Math.min(lane.rate.room(), share, window.room() - given)
  }

  return {
    /** Claimed emails. */
    count: (): number => total,
    /** Emails that can be claimed now. */
    room,
    /** Resolves when more can be claimed, or nothing is claimed. */
    freed: (): Promise<void> => freed.promise,
    /** Resolves when current work has ended. */
    ended: (): Promise<unknown> => Promise.all(underWay),
    /** Until the next of the apps planned last may send by its rate or its server's (ms); 0 if none waits. */
    rateMs: (): number => rateMs,

    /**
     * What the apps in `due` may claim now: together, or alone if a rate leaves less than a usual claim. Of a login with a
     * limit, those with an email that was refused come first while it tries, and then those that waited longest.
     */
    async planClaims(due: readonly number[]): Promise<ClaimPlan[]> {
      const together: ClaimPlan = { apps: [], most: room(), first: [] }
      const alone: ClaimPlan[] = []
      const free: Free[] = []
      rateMs = 0
      for (const lane of lanes.values()) if (lane.login.window.isAwaited(lane.mailing)) noteWait(lane)
      for (const appId of due) {
        const lane = await read(appId)
        const limitMs = lane.login.window.waitMs()
        const waitMs = Math.max(lane.rate.waitMs(), limitMs)
        if (limitMs > 0 || (isFull(lane) && hasFewConnections(lane))) noteWait(lane)
        if (waitMs > 0) rateMs = rateMs === 0 ? waitMs : Math.min(rateMs, waitMs)
        else if (!isFull(lane) && !isBlocked(lane))
          free.push({ appId, lane, tries: lane.login.window.findTry(lane.mailing) })
      }
      const apps = Map.groupBy(free, ({ lane }) => lane.login)
      const given = new Map<Login, number>()
      for (const { appId, lane, tries } of free.toSorted(compareTurns)) {
        const givenBefore = given.get(lane.login) ?? 0
        const most = findRoom(lane, { apps: apps.get(lane.login)?.length ?? 1, given: givenBefore })
        if (most < 1) continue
        given.set(lane.login, givenBefore + most)
        const plan = most >= together.most ? together : { apps: [], most, first: [] }
        if (plan !== together) alone.push(plan)
        plan.apps.push(appId)
        if (tries === null) continue
        plan.first.push(tries)
      }
      return together.apps.length > 0 && together.most > 0 ? [...alone, together] : alone
    },

    /** Emails of these apps were claimed. Those that were to come first and weren't among them may have been cancelled. */
    noteClaimed({ first }: ClaimPlan, apps: Iterable<number>): void {
      for (const appId of apps) for (const id of first) lanes.get(appId)?.mailing.refused.delete(id)
    },

    /** Waits for limits of mail servers that are to be saved, at most one a minute and app. */
    takeWaits(): LimitWait[] {
      const waits: LimitWait[] = []
      for (const [appId, { wait }] of lanes) {
        if (wait === null || wait.until - wait.savedUntil < SAVED_WAIT_MS) continue
        wait.savedUntil = wait.until
        waits.push({ appId, from: wait.from, until: wait.until })
      }
      return waits
    },

    /** Queues a claimed email for its login. */
    add(
      { app, settings, delivery }: Pick<DeliveryWork, 'app' | 'settings' | 'delivery'>,
      { prepare, send }: Sendable,
    ): void {
      const lane = note(app.id, settings)
      const { login, breaker } = lane
      const claimedAt = clock.monotonicMs()
      const place = login.window.take(lane.mailing, delivery.id)
      lane.rate.spend()
      lane.servedAt = claimedAt
      lane.claimed += 1
      total += 1
      const open = openTurns(login)
      let [hasTurn, hasClaim] = [true, true]
      /** The next email of the login may start. */
      const endTurn = (): void => {
        if (!hasTurn) return
        hasTurn = false
        free(lane, login, () => {
          openTurns(login).sending -= 1
          lane.sending -= 1
          advance(login)
        })
      }
      const leave = (): void => {
        endTurn()
        if (!hasClaim) return
        hasClaim = false
        free(lane, login, () => {
          lane.claimed -= 1
          total -= 1
        })
      }
      const begin = (): void => {
        open.sending += 1
        lane.sending += 1
        const waitedMs = clock.monotonicMs() - claimedAt
        const onSlow = (): void => (lane.most < SIDE_BY_SIDE ? undefined : leave())
        const sent = send({ breaker, place, waitedMs, onSlow, onSent: endTurn }).then(place.leave)
        track(sent.then(leave))
      }
      if (open.sending < sideBySide(login) && lane.sending < lane.most) return begin()
      const waiting = { lane, begin, prepare: () => track(prepare()) }
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

    findLimits(settings: Settings): LearnedLimits | null {
      const { provider, window } = routes.findLogin(settings)
      const [connections, rate] = [provider?.connections?.findLearned() ?? null, window.findLearned()]
      if (connections === null && rate === null) return null
      const ago = (ms: number): number => clock.now() - ms
      return {
        connections: connections && { most: connections.most, at: ago(connections.msAgo) },
        rate: rate?.limit
          ? { count: rate.limit.count, periodMs: rate.limit.periodMs, at: ago(rate.limit.msAgo) }
          : null,
        closed: rate?.closed ? { at: ago(rate.closed.msAgo), tryAt: clock.now() + rate.closed.tryMs } : null,
        reply: rate?.reply ?? null,
      }
    },
  }
}

const hasFewConnections = ({ login }: Lane): boolean => login.provider?.connections?.findLearned() != null

const createMailing = (): Mailing => ({ acceptedAt: Number.NEGATIVE_INFINITY, refused: new Map() })

/** Emails at a time, as far as the server accepts so many connections. */
const sideBySide = ({ provider }: Login): number =>
  Math.min(SIDE_BY_SIDE, provider?.connections?.allowed() ?? SIDE_BY_SIDE)

const compareTurns = (a: Free, b: Free): number =>
  Number(a.tries === null) - Number(b.tries === null) || a.lane.servedAt - b.lane.servedAt

const countBeside = ({ login, most }: Lane): number => Math.min(sideBySide(login), most)

export type Rate = ReturnType<typeof createRate>

/** The pace of this process. `given` null: the default. */
export function createRate({ monotonicMs }: Pick<Clock, 'monotonicMs'>, given: number | null) {
  let perSecond = given
  let pace = openPace(perSecond, monotonicMs())

  const refill = (): Pace => (pace = refillPace(pace, perSecond, monotonicMs()))

  return {
    change(to: number | null): void {
      refill()
      perSecond = to
    },
    spend(): void {
      const { tokens, at } = refill()
      pace = { tokens: tokens - 1, at }
    },
    /** How many emails may be claimed now. */
    room: (): number => paceRoom(refill(), perSecond),
    /** Until the next email may be sent (ms). */
    waitMs: (): number => paceWaitMs(refill(), perSecond),
  }
}
