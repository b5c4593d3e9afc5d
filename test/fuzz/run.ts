/** Hostile requests to the pages, of a seed that is printed: `bun run fuzz:pages [--seed N] [--requests N]`. */
import { parseArgs } from 'node:util'
import { describeFault, fuzzPages } from './pages.ts'

const { values } = parseArgs({ options: { seed: { type: 'string' }, requests: { type: 'string', default: '26000' } } })
const seed = Number(values.seed ?? crypto.getRandomValues(new Uint32Array(1))[0])
const requests = Number(values.requests)
if (!Number.isSafeInteger(seed) || !(requests > 0 && requests <= 1_000_000)) {
  console.error('--seed takes a whole number, and --requests a number up to 1,000,000.')
  process.exit(2)
}
console.log(`seed ${seed}`)
const startedAt = performance.now()
const fuzzed = await fuzzPages({ seed, requests })
const statuses = [...fuzzed.statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${count} x ${status}`)
console.log(
  `${fuzzed.requests} requests in ${Math.round((performance.now() - startedAt) / 1_000)} s: ${statuses.join(', ')}`,
)
for (const fault of fuzzed.faults) console.log(describeFault(fault))
console.log(`${fuzzed.faults.length} faults`)
process.exit(fuzzed.faults.length === 0 ? 0 : 1)
