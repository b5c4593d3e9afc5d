/** Waiting for what should come, and comparing real times: both must hold on a busy machine too. */

/** Far above the usual time, below the limit of a test. */
const WAIT_MS = 60_000

/** For a test of a real time: a busy machine makes single attempts slow, never one fast that is not. */
export const BEST_OF_FIVE = { retry: 4 }

type Look<T> = T | false | undefined

/** Waits until `look` returns a value. @throws Error with the current state */
export async function until<T>(look: () => Look<T> | Promise<Look<T>>, found: () => unknown = () => null): Promise<T> {
  const end = performance.now() + WAIT_MS
  while (performance.now() < end) {
    const seen = await look()
    if (seen) return seen
    await Bun.sleep(5)
  }
  throw new Error(`waited in vain; there is ${JSON.stringify(found())}`)
}

/** Whether it becomes true at all. */
export async function comesTrue(isTrue: () => boolean | Promise<boolean>): Promise<boolean> {
  return until(isTrue).catch(() => false)
}

/** Turns of the event loop, in each of which sockets are read. After a long pause, one timer may be due before them. */
export async function letTurnsPass(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await Bun.sleep(3)
}

/** Linear work takes eight times as long for eight times the size, quadratic work 64 times. */
const LARGER = 8
export const MOST_GROWTH = 4 * LARGER
/** What a clock measures well. */
const MEASURED_MS = 2

/** How often it is measured while the result looks quadratic. */
const MOST_MEASUREMENTS = 3

/** How many times as long `size` takes as an eighth of it. Other work on the machine only makes single measurements worse. */
export function growthTo(size: number, run: (size: number) => void): number {
  let least = Infinity
  for (let count = 0; count < MOST_MEASUREMENTS && least >= MOST_GROWTH; count += 1) {
    least = Math.min(least, measureGrowth(size, run))
  }
  return least
}

/** CPU time, the fastest of five attempts each, in turns. */
function measureGrowth(size: number, run: (size: number) => void): number {
  const timeOf = (count: number, turns: number): number => {
    const before = process.cpuUsage()
    for (let turn = 0; turn < turns; turn += 1) run(count)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
  timeOf(size, 1)
  const turns = Math.ceil(MEASURED_MS / Math.max(timeOf(size / LARGER, 1), 0.01))
  const rounds = Array.from({ length: 5 }, () => [timeOf(size / LARGER, turns), timeOf(size, turns)])
  const [small = 0, large = 0] = [0, 1].map((index) => Math.min(...rounds.map((times) => times[index] ?? 0)))
  return large / small
}
