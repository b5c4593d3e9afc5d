/** `bun run screenshots`: saves pictures of every page, phone and desktop, light and dark. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { CHROMIUM } from '../chromium.ts'
import { startChromium, type Served, serveTest, signIn } from './chromium.ts'
import { STEPS } from './walk.ts'

const FOLDER = join(import.meta.dir, '../../dist/screenshots')
const WIDTHS = [375, 1440]
const SCHEMES = ['light', 'dark'] as const

async function takePictures(page: Page, server: Served, suffix: string): Promise<void> {
  for (const { name, go, isOpen } of STEPS) {
    if (!isOpen && !(await isSignedIn(page))) await signIn(page, server)
    await go(page, server)
    await page.screenshot({ path: join(FOLDER, `${name}-${suffix}.png`), fullPage: true })
  }
}

const isSignedIn = async (page: Page): Promise<boolean> =>
  (await page.context().cookies()).some(({ name }) => name.startsWith('eventpost_session'))

mkdirSync(FOLDER, { recursive: true })
const browser = await startChromium([], CHROMIUM)
for (const width of WIDTHS) {
  for (const colorScheme of SCHEMES) {
    const server = await serveTest()
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme })
    await takePictures(await context.newPage(), server, `${width}-${colorScheme}`)
    await context.close()
    await server.close()
  }
}
await browser.close()
console.log(`the pictures are in ${FOLDER}`)
