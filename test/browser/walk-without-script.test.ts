import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { STEPS } from './walk.ts'
import { walk, WALK_MS } from './walking.ts'

const VISIBLE_COPY = `[...document.querySelectorAll('.copy')].filter((button) => button.checkVisibility()).length`

/** Some pages open the next one by themselves, which ends an evaluation. */
async function countVisibleCopy(page: Page): Promise<number> {
  try {
    return await page.evaluate<number>(VISIBLE_COPY)
  } catch (error) {
    if (!String(error).includes('because of a navigation')) throw error
    await page.waitForLoadState()
    return await page.evaluate<number>(VISIBLE_COPY)
  }
}

test(
  'without script every page works, and nothing that needs one is shown',
  async () => {
    const seen: string[] = []
    await walk({ javaScriptEnabled: false, viewport: { width: 375, height: 800 } }, async (page, { name }) => {
      seen.push(name)
      expect(await countVisibleCopy(page)).toBe(0)
    })
    expect(seen).toEqual(STEPS.map(({ name }) => name))
  },
  WALK_MS,
)
