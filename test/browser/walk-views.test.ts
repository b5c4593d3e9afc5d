import { expect, test } from 'bun:test'
import { findInViews, findTurn, walk, WALK_MS } from './walking.ts'
import type { Step } from './walk.ts'

/** All that the stylesheet asks of a touch screen it asks of a narrow one too. */
const VIEWS = { desk: { width: 1440, height: 900 }, phone: { width: 375, height: 800 } }
/** Set by `bun run check-pages`. */
const isWhole = process.env.CHECK_PAGES === 'all'

test(
  'every page passes axe-core, CSP and width checks on desktop and phone, light and dark',
  async () => {
    const found: Record<string, string[]> = {}
    const turnOf = (step: Step) => (isWhole ? null : findTurn(VIEWS, step))
    const complaints = await walk(
      { viewport: VIEWS.phone },
      async (page, step, server) => {
        const violations = await findInViews(VIEWS, { page, step, server, turn: turnOf(step) })
        if (violations.length > 0) found[step.name] = violations
      },
      async (page, step) => {
        const size = VIEWS[turnOf(step)?.view as keyof typeof VIEWS]
        if (size && size.width !== page.viewportSize()?.width) await page.setViewportSize(size)
      },
    )
    expect(found).toEqual({})
    expect(complaints).toEqual([])
  },
  2 * WALK_MS,
)
