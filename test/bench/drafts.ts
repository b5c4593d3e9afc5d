/**
 * `bun run lab:drafts`: events beside every costly draft that an editor can save, on the executable. Exits 1 where the
 * slowest hundredth takes longer than 50 ms. Every body is compared with a round without one, because machines differ.
 */
import { join } from 'node:path'
import { COSTLY_BODIES } from '../costly-drafts.ts'
import { compareDrafts } from './drafts-load.ts'

const MOST_MS = 50
const ROUND_MS = Number(process.env.LAB_ROUND_MS ?? 2_000)
const program = [join(import.meta.dir, '../../dist/eventpost')]

const compared = await compareDrafts({ names: Object.keys(COSTLY_BODIES), roundMs: ROUND_MS, program })
const cell = (ms: number): string => ms.toFixed(1).padStart(12)
console.log(
  `${'ms of an event beside'.padEnd(34)}${'p50, idle'.padStart(12)}${'p99, idle'.padStart(12)}${'p50'.padStart(12)}${'p99'.padStart(12)}`,
)
for (const { name, idle, beside } of compared) {
  console.log(`${name.padEnd(34)}${cell(idle.p50)}${cell(idle.p99)}${cell(beside.p50)}${cell(beside.p99)}`)
}
const slow = compared.filter(({ beside }) => beside.p99 > MOST_MS)
console.log(`${compared.length - slow.length} of ${compared.length} within ${MOST_MS} ms`)
const others = Object.keys(COSTLY_BODIES).filter((name) => compared.every((one) => one.name !== name))
if (others.length > 0) console.log(`cannot be saved: ${others.join(', ')}`)
process.exitCode = slow.length === 0 ? 0 : 1
