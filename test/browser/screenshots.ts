/** Keeps a picture of every page, at a phone's width and a desk's, light and dark: `bun run screenshots`. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'
import { openChromium, serveTest } from './chromium.ts'

const FOLDER = join(import.meta.dir, '../../dist/screenshots')
const WIDTHS = [375, 1440]
const SCHEMES = ['light', 'dark'] as const

/** Pages that are seen without signing in. */
const OPEN = { parts: '/_parts', home: '/', 'not-found': '/nothing' }

async function takePictures(context: BrowserContext, url: string, suffix: string): Promise<void> {
  const page = await context.newPage()
  for (const [name, path] of Object.entries(OPEN)) {
    await page.goto(url + path)
    await page.screenshot({ path: join(FOLDER, `${name}-${suffix}.png`), fullPage: true })
  }
}

mkdirSync(FOLDER, { recursive: true })
const server = await serveTest()
const browser = await openChromium()
for (const width of WIDTHS) {
  for (const colorScheme of SCHEMES) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme })
    await takePictures(context, server.url, `${width}-${colorScheme}`)
    await context.close()
  }
}
await browser.close()
await server.close()
console.log(`the pictures are in ${FOLDER}`)
