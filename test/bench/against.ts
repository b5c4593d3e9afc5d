/**
 * `bun run bench:against EXECUTABLE`: durable events and page views a second of this build against another, interleaved.
 * Prints the ratio of each pair and their median, and exits 1 where a median is below 0.97.
 */
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Kind, sendLoad } from './load.ts'
import { createFolder, EXECUTABLE, waitForRest } from './service.ts'
import { startTarget } from './target.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 13)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2)
const LEAST = 0.97
const PEOPLE = 20_000
const LOADS: [Kind, connections: number][] = [
  ['events', 64],
  ['events', 256],
  ['collect', 64],
]

const other = process.argv[2]
if (other === undefined) throw new Error('Name the other executable: bun run bench:against PATH')

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const folder = createFolder()
try {
  const open = async (name: string, executable: string) => {
    mkdirSync(join(folder.path, name))
    return startTarget(executable, join(folder.path, name), PEOPLE)
  }
  const [ours, theirs] = [await open('ours', EXECUTABLE), await open('theirs', resolve(other))]
  for (const { target } of [ours, theirs]) {
    for (const kind of ['events', 'collect'] as const) await sendLoad({ ...target, run: 'warm' }, kind, 64, 3)
  }
  const medians: number[] = []
  for (const [kind, connections] of LOADS) {
    const ratios: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const rates = new Map<object, number>()
      // each is first as often as the other
      for (const one of round % 2 === 0 ? [ours, theirs] : [theirs, ours]) {
        const run = `${connections}.${round}`
        const { requestsPerSecond } = await sendLoad({ ...one.target, run }, kind, connections, SECONDS)
        rates.set(one, requestsPerSecond)
        await waitForRest(one.service.pid)
      }
      const [mine = 0, base = 1] = [rates.get(ours), rates.get(theirs)]
      ratios.push(mine / base)
      console.log(
        `${kind}, ${connections} connections: ${Math.round(mine)}/s against ${Math.round(base)}/s, ratio ${(mine / base).toFixed(3)}`,
      )
    }
    medians.push(median(ratios))
    console.log(
      `${kind}, ${connections} connections: median ratio ${median(ratios).toFixed(3)} (asked: at least ${LEAST})`,
    )
  }
  await Promise.all([ours.service.stop(), theirs.service.stop()])
  process.exitCode = medians.every((one) => one >= LEAST) ? 0 : 1
} finally {
  folder.remove()
}
