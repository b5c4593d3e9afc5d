/**
 * `bun run lab:visits`: 500 scripted visits in a real Chromium whose truth is known, before a whole service with the
 * shipped draft "Results ready, they left" turned on: how many of its decisions are right, beside those of the plain rule
 * "no page view in the last 5 minutes". The service's clock and the pages' are moved together, so that nobody waits
 * twenty minutes. Exits 1 below 99 %.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openTabbedChromium } from '../chromium.ts'
import { runVisits, type Score, scoreVisits } from './visits/run.ts'

const VISITS = Number(process.env.LAB_VISITS ?? 500)
const LANES = Number(process.env.LAB_LANES ?? 2)
const SEED = Number(process.env.LAB_SEED ?? 1)
const RIGHT = 0.99

const share = (right: number, of: number): string => `${right} of ${of}`.padStart(12)

const toLine = ({ kind, visits, service, plain }: Score): string =>
  `${kind.padEnd(50)}${share(service, visits)}${share(plain, visits)}`

const startedAt = performance.now()
let count = 0
const visited = await runVisits({
  visits: VISITS,
  lanes: LANES,
  seed: SEED,
  openBrowser: openTabbedChromium,
  onVisit: () => {
    count += 1
    if (count % 50 === 0) console.log(`${count} visits in ${Math.round((performance.now() - startedAt) / 1000)} s`)
  },
})
const scores = scoreVisits(visited)
const wrong = visited.filter(({ right, service }) => service !== right)

console.log(`\n${'right decisions for a person who'.padEnd(50)}${'Eventpost'.padStart(12)}${'plain rule'.padStart(12)}`)
for (const score of scores) console.log(toLine(score))
for (const { name, kind, described, right, service, reason } of wrong) {
  console.log(
    `wrong: ${name} ${kind} (${described}): ${right} was right, ${service} it was${reason ? ` (${reason})` : ''}`,
  )
}
const file = join(import.meta.dir, 'results-visits.json')
writeFileSync(file, `${JSON.stringify({ seed: SEED, scores, wrong }, null, 2)}\n`)
process.exitCode = visited.length - wrong.length >= RIGHT * visited.length ? 0 : 1
