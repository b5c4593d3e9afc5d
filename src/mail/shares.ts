/** Whose mails may be claimed, and which of them go now: no app takes the place of all others. */
import { createFlights } from './flights.ts'
import { SMTP_LIMITS } from './smtp.ts'

/** How many deliveries are in the air at a time at one login of a mail server, and so how many a crash may leave unknown. */
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

/** `fly` takes it as far as it goes, and must not reject. `place`: the login it goes through. */
type Flight = { appId: number; contactId: number; place: string; fly: () => Promise<void> }

/**
 * The more apps are slow, the less each of them holds, and whoever holds nothing may have one while any is free. What is
 * held goes by its place, as many at once as that has connections: more would wait within the pool, where their time runs.
 */
export function createShares() {
  const flights = createFlights()
  const held = new Map<number, number>()
  const lanes = new Map<string, { flying: number; next: (() => void)[] }>()
  let [total, freed] = [0, Promise.withResolvers<void>()]

  const listFull = (): number[] =>
    Array.from(held)
      .filter(([, count]) => count >= (CLAIMED - total) * SHARE)
      .map(([appId]) => appId)

  const release = (appId: number): void => {
    const [before, wasFull] = [listFull().length, total >= CLAIMED]
    const count = (held.get(appId) ?? 0) - 1
    if (count > 0) held.set(appId, count)
    else held.delete(appId)
    total -= 1
    if (total > 0 && !wasFull && listFull().length >= before) return
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
    /** Resolves when one of those may again, or when nothing is held any more. */
    freed: (): Promise<void> => freed.promise,
    landed: flights.landed,
    /** Holds it from now on, and lets it go as soon as its place has a connection for it. */
    add({ appId, contactId, place, fly }: Flight): void {
      held.set(appId, (held.get(appId) ?? 0) + 1)
      total += 1
      const lane = openLane(place)
      const end = (): void => {
        lane.flying -= 1
        lane.next.shift()?.()
        if (lane.flying === 0) lanes.delete(place)
        release(appId)
      }
      const begin = (): void => {
        lane.flying += 1
        flights.add(contactId, fly().then(end))
      }
      if (lane.flying < IN_THE_AIR) begin()
      else lane.next.push(begin)
    },
  }
}
