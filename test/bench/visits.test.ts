/**
 * A visit of each kind of `bun run lab:visits`, which makes many: whoever is written to is right, and the plain rule is
 * not. Tabs are windows here; how they are hidden and shown in a whole Chromium is tested in test/snippet/presence.test.ts.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { openChromium } from '../chromium.ts'
import { KINDS } from './visits/kinds.ts'
import { runVisits, scoreVisits } from './visits/run.ts'

const VISITS = Object.keys(KINDS).length
const LANES = 1
const SEED = 2_000

setDefaultTimeout(240_000)
describe('visits in a real browser', () => {
  test('get the decision that their truth asks for, each of them, and the plain rule is often wrong', async () => {
    const visited = await runVisits({ visits: VISITS, lanes: LANES, seed: SEED, openBrowser: openChromium })
    const wrong = visited.filter(({ right, service }) => service !== right)
    expect(wrong).toEqual([])
    const scores = scoreVisits(visited)
    const all = scores.at(-1)
    expect(scores.filter(({ visits }) => visits < 1)).toEqual([])
    expect(all).toMatchObject({ visits: VISITS, service: VISITS })
    expect(all?.plain).toBeLessThan(0.8 * VISITS)
    expect(new Set(visited.map(({ right }) => right)).size).toBe(2)
  })
})
