/** Whose mails may be claimed, and which of them go now: no app takes the place of all others. */
import { SMTP_LIMITS } from './smtp.ts'

/** How many deliveries are in the air at a time at one login of a mail server, besides those that left their place. */
export const IN_THE_AIR = SMTP_LIMITS.connections
/**
 * How many are claimed at a time, of all apps. Each may become a connection and a mail: a fifth of the files that a
 * process may open where nobody raised that (1,024), and 54 MB were each mail the longest there can be (measured: 4 KB
 * for a usual one, 270 KB for one of 50,000 characters).
 */
export const CLAIMED = 200
/** An app may hold a tenth of what is free: alone 18, so that the next ones are there when those in the air have landed. */
const SHARE = 1 / 10
/** Claimed at once: half of a share, so that who has had theirs is seen before the next claim. */
const BATCH = SHARE / 2

/**
 * `fly` takes it as far as it goes, and must not reject. It may call `leave` while it waits for nothing but a reply that
 * takes long: then another takes its place. `place`: the login it goes through.
 */
type Flight = { appId: number; place: string; fly: (leave: () => void) => Promise<void> }

/**
 * The more apps are slow, the less each of them holds, and whoever holds nothing may have one while any is free. What is
 * held goes by its place, as many at once as that has connections: more would wait within the pool, where their time runs.
 * What only waits for its place counts twice against the apps of that place, so however many apps wait at one that
 * is slow, nearly half of all is left to others.
 */
export function createShares() {
  const flights = new Set<Promise<void>>()
  const held = new Map<number, { count: number; place: string }>()
  const lanes = new Map<string, { flying: number; next: (() => void)[] }>()
  let [total, freed] = [0, Promise.withResolvers<void>()]

  const freeAt = (place: string): number => CLAIMED - total - (lanes.get(place)?.next.length ?? 0)
  const isCrowded = (place: string): boolean => freeAt(place) < 1

  const listFull = (): number[] =>
    Array.from(held)
      .filter(([, { count, place }]) => count >= freeAt(place) * SHARE)
      .map(([appId]) => appId)

  /** In how many ways something may not be claimed now. */
  const countShut = (): number =>
    listFull().length + Array.from(lanes.keys()).filter(isCrowded).length + Number(total >= CLAIMED)

  const hold = (appId: number, place: string): void => {
    held.set(appId, { count: (held.get(appId)?.count ?? 0) + 1, place })
    total += 1
  }

  const release = (appId: number): void => {
    const { count = 0, place = '' } = held.get(appId) ?? {}
    if (count > 1) held.set(appId, { count: count - 1, place })
    else held.delete(appId)
    total -= 1
  }

  const tellFreed = (): void => {
    freed.resolve()
    freed = Promise.withResolvers()
  }

  const openLane = (place: string) => {
    const lane = lanes.get(place) ?? { flying: 0, next: [] }
    lanes.set(place, lane)
    return lane
  }

  return {
    /** How many are held, in the air or not. */
    count: (): number => total,
    /** How many may be claimed now. */
    room: (): number => Math.ceil((CLAIMED - total) * BATCH),
    /** Apps that may not have more. */
    listFull,
    /** Whether something of an app is held. */
    isBusy: (appId: number): boolean => held.has(appId),
    /** Whether nothing more may be held for a place, whosever it is. */
    isCrowded,
    /** Resolves when one of those may again, or when nothing is held any more. */
    freed: (): Promise<void> => freed.promise,
    /** Resolves when all that are in the air now have ended. */
    landed: (): Promise<unknown> => Promise.all(flights),
    /** Holds it from now on, and lets it go as soon as its place has a connection for it. */
    add({ appId, place, fly }: Flight): void {
      hold(appId, place)
      const lane = openLane(place)
      let hasLeft = false
      const leave = (): void => {
        if (hasLeft) return
        hasLeft = true
        const before = countShut()
        lane.flying -= 1
        lane.next.shift()?.()
        if (lane.flying === 0) lanes.delete(place)
        release(appId)
        if (total === 0 || countShut() < before) tellFreed()
      }
      const begin = (): void => {
        lane.flying += 1
        const flight = fly(leave).then(leave)
        flights.add(flight)
        void flight.then(() => flights.delete(flight))
      }
      if (lane.flying < IN_THE_AIR) begin()
      else lane.next.push(begin)
    },
  }
}
