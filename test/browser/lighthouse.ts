/**
 * `bun run lighthouse`: runs Lighthouse on every page, as a phone. Exits 1 if a page's median is below 100 for
 * performance, accessibility or best practices. Run it on a quiet machine. Arguments: only pages whose path contains one.
 */
import { createServer } from 'node:net'
import lighthouse from 'lighthouse'
import type { Page } from 'playwright-core'
import { CHROMIUM } from '../chromium.ts'
import { startChromium, type Served, serveTest, signIn } from './chromium.ts'
import { seedEvents, seedResults } from './seed.ts'

const BAR = 100
const CATEGORIES = ['performance', 'accessibility', 'best-practices']

/** Runs of a page. Fewer if they already decide whether the median reaches the bar. */
const TIMES = 3
const MOST_OF_TIMES = 2

const ONLY = process.argv.slice(2)

const PAGES = [
  'overview',
  'activation',
  'events',
  'events?range=weeks',
  'people',
  'people?emails=returned&days=30',
  'people/new',
  'messages',
  'messages/new',
  'messages/new?from=Welcome',
  'deliveries',
  'outbox',
  'suppressions',
  'suppressions/new',
  'sender',
  'sender/layout',
  'sender/texts',
  'sender/texts?language=de',
  'sender/server',
  'sender/domain',
  'sender/limits',
  'sender/topics',
  'sender/opt-in',
  'sender/rates',
  'keys',
  'keys/new',
  'requests',
  'settings',
  'members',
  'members/new',
  'audit',
  'new-app',
  'you',
  'system',
]

const OPEN_PAGES = [
  'sign-in',
  'docs/start',
  'docs/messages',
  'docs/hosting',
  'docs/backups',
  'docs/monitoring',
  'docs/install',
  'docs/errors',
  'docs/api/post-events',
  'docs/search?q=limit',
]

function findPort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const server = createServer()
  server.on('error', reject)
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
  })
  return promise
}

/** Scores from 0 to 100, and the failed audits. */
async function score(url: string, port: number, cookie: string) {
  const result = await lighthouse(url, {
    port,
    output: 'json',
    logLevel: 'error',
    onlyCategories: CATEGORIES,
    // clearing the storage would delete the session cookie
    disableStorageReset: true,
    extraHeaders: cookie === '' ? undefined : { Cookie: cookie },
  })
  if (!result) throw new Error(`no result for ${url}`)
  const { categories, audits, runtimeError } = result.lhr
  if (runtimeError) throw new Error(`${url}: ${runtimeError.message}`)
  const scores = CATEGORIES.map((name) => Math.round((categories[name]?.score ?? 0) * 100))
  const lost = CATEGORIES.filter((name) => name !== 'performance').flatMap((name) =>
    (categories[name]?.auditRefs ?? [])
      .filter(({ id, weight }) => weight > 0 && (audits[id]?.score ?? 1) < 1)
      .map(({ id }) => `${id} ${/"snippet":"[^}]{0,160}/.exec(JSON.stringify(audits[id]?.details ?? {}))?.[0] ?? ''}`),
  )
  return { scores, lost, isReached: scores.every((one) => one >= BAR) }
}

async function findOne(page: Page, server: Served): Promise<string[]> {
  const found: string[] = []
  await page.goto(`${server.url}/apps/${server.first.appId}/events`)
  for (const part of ['/events/evt_', '/people/con_']) {
    const href = (await page.getAttribute(`main a[href*="${part}"]`, 'href')) ?? ''
    found.push(href.split('/').slice(3).join('/'))
    await page.goto(server.url + href)
  }
  await page.goto(`${server.url}/apps/${server.first.appId}/deliveries`)
  const delivery = await page
    .getAttribute('main a[href*="/deliveries/dlv_"]', 'href', { timeout: 1_000 })
    .catch(() => null)
  if (delivery !== null) found.push(delivery.split('/').slice(3).join('/'))
  await page.goto(`${server.url}/apps/${server.first.appId}/messages`)
  const message = (await page.getAttribute('main a[href*="/messages/msg_"]', 'href')) ?? ''
  const editor = message
    .split('/')
    .slice(3)
    .join('/')
    .replace(/\/results$/, '')
  return [...found, editor, `${editor}/versions`, `${editor}/results`]
}

async function run(server: Served, port: number): Promise<boolean> {
  const browser = await startChromium([`--remote-debugging-port=${port}`], CHROMIUM)
  const context = await browser.newContext()
  const page = await context.newPage()
  await signIn(page, server)
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
  const pages = [...PAGES, ...(await findOne(page, server))]
  await context.close()
  let isReached = true
  const report = async (name: string, url: string, own = cookie): Promise<void> => {
    if (ONLY.length > 0 && !ONLY.some((part) => name.includes(part))) return
    const runs: Awaited<ReturnType<typeof score>>[] = []
    const count = (isGood: boolean): number => runs.filter((one) => one.isReached === isGood).length
    while (runs.length < TIMES && Math.max(count(true), count(false)) < MOST_OF_TIMES)
      runs.push(await score(url, port, own))
    const isGood = count(true) >= MOST_OF_TIMES
    isReached &&= isGood
    const scores = runs.map((one) => one.scores.join('/')).join('  ')
    const lost = [...new Set(runs.flatMap((one) => one.lost))]
    console.log(`${isGood ? 'reached' : 'MISSED '}  ${scores}  ${name} ${lost.join(' ')}`)
  }
  for (const name of OPEN_PAGES) await report(name, `${server.url}/${name}`, '')
  for (const name of pages) await report(name, `${server.url}/apps/${server.first.appId}/${name}`)
  await browser.close()
  return isReached
}

const server = await serveTest()
await seedEvents(server)
await seedResults(server)
console.log(CATEGORIES.join(' / '))
process.exitCode = (await run(server, await findPort())) ? 0 : 1
await server.close()
