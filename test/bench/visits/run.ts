/** Many visits of every kind, in a few browsers side by side, and how often who was right. */
import type { OpenChromium } from '../../chromium.ts'
import { KINDS } from './kinds.ts'
import { openLane } from './lane.ts'
import { runVisit, type Visited } from './visit.ts'

type Run = {
  visits: number
  lanes: number
  seed: number
  openBrowser: () => Promise<OpenChromium>
  onVisit?: (visited: Visited) => void
}

export async function runVisits({ visits, lanes, seed, openBrowser, onVisit = () => {} }: Run): Promise<Visited[]> {
  const kinds = Object.keys(KINDS)
  const asked = Array.from({ length: visits }, (_, index) => ({
    name: `v${index}`,
    kind: kinds[index % kinds.length] ?? '',
    seed: seed + index,
  }))
  const done: Visited[] = []
  const runLane = async (): Promise<void> => {
    const lane = await openLane(openBrowser)
    try {
      for (let next = asked.shift(); next; next = asked.shift()) {
        const visited = await runVisit(lane, next)
        done.push(visited)
        onVisit(visited)
      }
    } finally {
      await lane.close()
    }
  }
  await Promise.all(Array.from({ length: lanes }, runLane))
  return done
}

export type Score = { kind: string; visits: number; service: number; plain: number }

/** By kind, and of all together last. */
export function scoreVisits(visited: readonly Visited[]): Score[] {
  const score = (kind: string, of: readonly Visited[]): Score => ({
    kind,
    visits: of.length,
    service: of.filter(({ right, service }) => service === right).length,
    plain: of.filter(({ right, plain }) => plain === right).length,
  })
  const kinds = Object.keys(KINDS).map((kind) =>
    score(
      kind,
      visited.filter((one) => one.kind === kind),
    ),
  )
  return [...kinds, score('all', visited)]
}
