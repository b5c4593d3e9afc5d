/** A steady load, and what is measured of it. */

/**
 * Starts one after another at a fixed rate, however long each takes: a server that stalls makes all wait that came
 * meanwhile. @returns the milliseconds of each
 */
export async function pace(
  { seconds, perSecond }: { seconds: number; perSecond: number },
  send: (number: number) => Promise<void>,
): Promise<number[]> {
  const from = performance.now()
  const running: Promise<number>[] = []
  for (let number = 0; number < seconds * perSecond; number += 1) {
    const due = from + (number * 1_000) / perSecond
    if (due > performance.now()) await Bun.sleep(due - performance.now())
    running.push(send(number).then(() => performance.now() - due))
  }
  return Promise.all(running)
}

/** From none, Infinity: nothing was measured. */
export const quantile = (values: number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? Infinity

export const median = (values: number[]): number => quantile(values, 0.5)
