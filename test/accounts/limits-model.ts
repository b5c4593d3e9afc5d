/** A model for the limits: a plain list of takes. */
export function createListModel() {
  let takes: { at: number; count: number }[] = []
  const countWithin = (now: number, windowMs: number) =>
    takes.reduce((sum, take) => sum + (now - take.at < windowMs ? take.count : 0), 0)
  const secondsUntil = (at: number, now: number, windowMs: number) => Math.ceil((at + windowMs - now) / 1_000)

  function take(now: number, limit: { max: number; windowMs: number }, count: number) {
    takes = takes.filter((taken) => now - taken.at < limit.windowMs)
    const allowed = Math.min(count, Math.max(0, limit.max - countWithin(now, limit.windowMs)))
    takes.push({ at: now, count: allowed })
    const stamps = takes.flatMap((taken) => Array<number>(taken.count).fill(taken.at))
    const [oldest] = stamps
    const blocking = limit.max === 0 ? now : stamps[stamps.length - limit.max]
    const retryAt = allowed < count ? (blocking ?? now) : now - limit.windowMs
    return {
      allowed,
      remaining: Math.max(0, limit.max - stamps.length),
      resetSeconds: oldest === undefined ? 0 : secondsUntil(oldest, now, limit.windowMs),
      retryAfterSeconds: secondsUntil(retryAt, now, limit.windowMs),
    }
  }

  function add(at: number, count: number) {
    while (takes[0] && at - takes[0].at > 10_000_000) takes.shift()
    takes.push({ at, count })
  }

  /** Undoes `count` of the latest take. */
  function giveBack(count: number) {
    const latest = takes.at(-1)
    if (latest) latest.count -= count
  }

  return { take, add, giveBack, countWithin }
}
