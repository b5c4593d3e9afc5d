import { expect, test } from 'bun:test'
import { STEPS } from './walk.ts'
import { walk, WALK_MS } from './walking.ts'

const VISIBLE_COPY = `[...document.querySelectorAll('.copy')].filter((button) => button.checkVisibility()).length`

test(
  'without script every page works, and nothing that needs one is shown',
  async () => {
    const seen: string[] = []
    await walk({ javaScriptEnabled: false, viewport: { width: 375, height: 800 } }, async (page, { name }) => {
      seen.push(name)
      expect(await page.evaluate<number>(VISIBLE_COPY)).toBe(0)
    })
    expect(seen).toEqual(STEPS.map(({ name }) => name))
  },
  WALK_MS,
)
