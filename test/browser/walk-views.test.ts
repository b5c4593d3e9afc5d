/** The short form opens each page in one view and theme, with or without script; `bun run check-pages` in all. */
import { expect, test } from 'bun:test'
import { type Step, STEPS } from './walk.ts'
import { countVisibleCopy, findInViews, findTurn, walk, WALK_MS } from './walking.ts'

/** All that the stylesheet asks of a touch screen it asks of a narrow one too. */
const VIEWS = { desk: { width: 1440, height: 900 }, phone: { width: 375, height: 800 } }
const isWhole = process.env.CHECK_PAGES === 'all'

const turnOf = (step: Step) => (isWhole ? null : findTurn(VIEWS, step))

test('every step has a name of its own, which names its pictures', () => {
  const names = STEPS.map(({ name }) => name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test(
  'every page passes axe-core, CSP and width checks on desktop and phone, light and dark',
  async () => {
    const found: Record<string, string[]> = {}
    const complaints = await walk(
      { viewport: VIEWS.phone },
      async (page, step, server) => {
        const turn = turnOf(step)
        if (turn?.hasScript === false) expect([step.name, await countVisibleCopy(page)]).toEqual([step.name, 0])
        const violations = await findInViews(VIEWS, { page, step, server, turn })
        if (violations.length > 0) found[step.name] = violations
      },
      (step) => {
        const turn = turnOf(step)
        return turn && { size: turn.view === 'desk' ? VIEWS.desk : VIEWS.phone, hasScript: turn.hasScript }
      },
    )
    expect(found).toEqual({})
    expect(complaints).toEqual([])
  },
  2 * WALK_MS,
)

test.if(isWhole)(
  'without script every page works, and nothing that needs one is shown',
  async () => {
    const seen: string[] = []
    await walk({ javaScriptEnabled: false, viewport: VIEWS.phone }, async (page, { name }) => {
      seen.push(name)
      expect(await countVisibleCopy(page)).toBe(0)
    })
    expect(seen).toEqual(STEPS.map(({ name }) => name))
  },
  WALK_MS,
)
