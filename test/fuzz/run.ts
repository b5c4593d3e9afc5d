/** Hostile requests to every interface, of a seed that is printed: `bun run fuzz [--seed N] [--requests N]`. */
import { parseArgs } from 'node:util'
import { describeFault, fuzzPages } from './pages.ts'
import { fuzzPrograms } from './programs.ts'

/** Pages take longer than calls of programs. */
const SHARE_OF_PAGES = 0.25

const { values } = parseArgs({ options: { seed: { type: 'string' }, requests: { type: 'string', default: '100000' } } })
const seed = Number(values.seed ?? crypto.getRandomValues(new Uint16Array(1))[0])
const requests = Number(values.requests)
if (!Number.isSafeInteger(seed) || !(requests > 0 && requests <= 1_000_000)) {
  console.error('--seed takes a whole number, and --requests a number up to 1,000,000.')
  process.exit(2)
}
console.log(`seed ${seed}`)
const toPages = Math.round(requests * SHARE_OF_PAGES)

async function run<Part extends { requests: number; statuses: Map<number, number> }>(
  what: string,
  fuzz: () => Promise<Part>,
): Promise<Part> {
  const startedAt = performance.now()
  const part = await fuzz()
  const statuses = [...part.statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${count} x ${status}`)
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  console.log(`${part.requests} requests ${what} in ${seconds} s: ${statuses.join(', ')}`)
  return part
}

const programs = await run('of programs', () => fuzzPrograms({ seed, requests: requests - toPages }))
const pages = await run('to pages', () => fuzzPages({ seed, requests: toPages }))
const faults = [...programs.faults, ...pages.faults.map(describeFault)]
for (const fault of faults) console.log(fault)
console.log(`${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)
