/** Delivery in snippet/snippet.ts: visit reports, retries, refusals. Tests move the clock. */
import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { quiet, type Reply } from './collector.ts'
import { until } from '../waiting.ts'
import { identify, type Opened, proofOf, useBench, LOADED } from './site.ts'

const bench = useBench()
const IDENTIFY = identify()
const GRACE = 'grace@example.com'
const TRIES = 5
/** As long as a path may still be replaced. */
const REDIRECT_MS = 100
const HOUR_MS = 3_600_000

const calls = () => bench.collector().calls()
const ids = (): string[] =>
  bench
    .collector()
    .bodies()
    .map(({ id }) => id)

/** Counts pending requests, and notes the delays of retries. */
const WATCH = `window.underway = 0; window.retries = []; window.fetch = new Proxy(fetch, { async apply(...call) {
  underway++; try { return await Reflect.apply(...call) } finally { underway-- } } })
  window.setTimeout = new Proxy(setTimeout, { apply(...call) {
  if (call[2][1] >= 1000) retries.push(call[2][1]); return Reflect.apply(...call) } })`

/** A page with a manual clock. */
const openStopped = (): Promise<Opened> =>
  bench.openAlone('/a', async (context) => {
    await context.clock.install()
    await context.clock.pauseAt(Date.now() + HOUR_MS)
    await context.addInitScript(WATCH)
  })

/** A page that has read the first reply: it is to be sent again, or says why it is not. */
async function openAgainst(...replies: Reply[]): Promise<Opened> {
  bench.collector().replyWith(...replies)
  bench.site().serve({ calls: IDENTIFY })
  const opened = await openStopped()
  const { page, said } = opened
  await page.waitForFunction(LOADED)
  await page.clock.runFor(REDIRECT_MS)
  await until(async () => said.length > 0 || (await readRetries(page)).length > 0, ids)
  return opened
}

const readRetries = (page: Page) => page.evaluate('window.retries') as Promise<number[]>

/** A page that went offline ten minutes ago. */
async function openOffline(): Promise<Opened> {
  bench.site().serve({ calls: '' })
  const opened = await openStopped()
  const { page } = opened
  await page.waitForFunction(LOADED)
  await page.context().setOffline(true)
  await page.evaluate(IDENTIFY)
  for (let minute = 0; minute < 10; minute++) await move(page, 60_000)
  return opened
}

/** Moves the clock and waits for pending answers. */
async function move(page: Page, ms: number): Promise<void> {
  await page.clock.runFor(ms)
  await page.waitForFunction('underway === 0')
}

/** Moves the clock by the delay of each retry until that many requests were made. */
async function moveUntil(page: Page, count: number, made = () => calls().length): Promise<void> {
  await until(async () => {
    if (made() >= count) return true
    await move(page, Math.ceil((await readRetries(page)).at(-1) ?? 0))
    return false
  }, ids)
}

describe('a request', () => {
  test('is plain text without preflight, and outlives the page', async () => {
    bench.site().serve({
      calls: `window.fetch = new Proxy(fetch, { apply(real, self, given) {
      window.options = given[1]; return Reflect.apply(real, self, given) } }); ${IDENTIFY}`,
    })
    const { page } = await bench.openPage()
    await bench.expectReports(['ada page /a'])
    const { body, ...options } = (await page.evaluate('window.options')) as Record<string, unknown>
    expect(body).toBeString()
    expect(options).toEqual({ method: 'POST', keepalive: true, credentials: 'omit', referrerPolicy: 'no-referrer' })
  })

  test('with the longest names and paths is under 30 KB', async () => {
    const email = `${'a'.repeat(242)}@example.com`
    const { page } = await bench.openPage(`/${'ü'.repeat(600)}`)
    await page.waitForFunction(LOADED)
    await page.evaluate(`for (let i = 0; i < 40; i++) service('track', 'x'.repeat(64)); ${identify(email)}`)
    await until(() => bench.collector().reported().length === 41, bench.collector().reported)
    const sizes = calls().map(({ text }) => Buffer.byteLength(text))
    expect(Math.max(...sizes)).toBeWithin(20_000, 30_001)
  })

  test('contains ages of at most a day', async () => {
    const { page } = await bench.openAlone('/a', (context) => context.clock.install())
    await page.waitForFunction(LOADED)
    await page.evaluate(`service('track', 'days-ago')`)
    await page.clock.fastForward(72 * HOUR_MS)
    await page.evaluate(`service('track', 'an-hour-ago')`)
    await page.clock.fastForward(HOUR_MS)
    await page.evaluate(IDENTIFY)
    await page.clock.runFor(100)
    await bench.expectReports(['ada track days-ago /a', 'ada track an-hour-ago /a', 'ada page /a'])
    const ages = bench
      .collector()
      .bodies()[0]
      ?.events.map(({ age }) => age)
    expect(ages).toEqual([24 * HOUR_MS, expect.any(Number), expect.any(Number)])
    expect(ages?.[1]).toBeWithin(HOUR_MS, HOUR_MS + 5_000)
    expect(ages?.[2]).toBeWithin(0, 5_000)
    expect(ages?.every(Number.isInteger)).toBe(true)
  })
})

describe('a failed report', () => {
  const LIMITED = 'More than 600 page views and actions per hour came from this person.'

  test.each<[string, Reply, said: string[]]>([
    ['503', { status: 503 }, []],
    ['500 with a page', { status: 500, body: '<h1>broken</h1>' }, []],
    ['429, which is said at once', { status: 429, body: { message: LIMITED } }, [`service: ${LIMITED}`]],
    ['429 of a proxy', { status: 429, body: '<h1>busy</h1>' }, ['service: 429']],
    ['a lost answer', 'lost', []],
  ])('is sent again after %s, under the same id', async (_, reply, warnings) => {
    const { page, said } = await openAgainst(reply, { status: 202 })
    await moveUntil(page, 2)
    await page.clock.runFor(HOUR_MS)
    await quiet()
    expect(new Set(ids()).size).toBe(1)
    const [first, second, ...more] = bench.collector().bodies()
    expect(more).toEqual([])
    expect({ ...second, events: [] }).toEqual({ ...first, events: [] })
    expect(second?.events).toEqual([{ type: 'page', path: '/a', age: expect.any(Number) }])
    expect(second?.events[0]?.age).toBeWithin(1_000, 4_000)
    expect(said).toEqual(warnings)
  })

  test('is tried five times with growing delays, then dropped', async () => {
    const { page, said } = await openAgainst({ status: 503, body: { message: 'Try again.' } })
    for (let tries = 1; tries < TRIES; tries++) {
      await until(async () => (await readRetries(page)).length === tries, ids)
      const [wait = 0] = (await readRetries(page)).slice(-1)
      expect(wait).toBeWithin(1_000 * 3 ** (tries - 1) - 1, 2_000 * 3 ** (tries - 1) + 1)
      await page.clock.runFor(Math.floor(wait) - 1)
      expect([calls().length, await page.evaluate('underway')]).toEqual([tries, 0])
      await page.clock.runFor(2)
      await until(() => calls().length > tries, ids)
    }
    await until(() => said.length > 0, ids)
    await page.clock.runFor(HOUR_MS)
    await quiet()
    expect(calls()).toHaveLength(TRIES)
    expect(new Set(ids()).size).toBe(1)
    expect(said).toEqual(['service: Try again.'])
  })

  test('without an answer is dropped, with a warning', async () => {
    const { page, said } = await openAgainst('lost')
    for (let tries = 1; tries < TRIES; tries++) {
      await until(async () => (await readRetries(page)).length === tries, ids)
      await page.clock.runFor(Math.ceil((await readRetries(page)).at(-1) ?? 0))
    }
    await until(() => said.length > 0, ids)
    expect(said).toEqual(['service: no response'])
    expect(new Set(ids()).size).toBe(1)
  })

  test('is retried with random delays', async () => {
    const { page } = await openAgainst({ status: 503 })
    await moveUntil(page, TRIES)
    const waits = await readRetries(page)
    expect(new Set(waits.map((wait) => (wait / 1_000) % 1)).size).toBe(waits.length)
    expect(waits.length).toBeGreaterThan(2)
  })

  test('waits for Retry-After, like later reports', async () => {
    const { page } = await openAgainst({ status: 429, headers: { 'Retry-After': '60' } }, { status: 202 })
    await page.evaluate(`history.pushState(0, '', '/b'); service('track', 'saved')`)
    await page.evaluate(`dispatchEvent(new Event('online'))`)
    await page.clock.runFor(59_500)
    await quiet()
    expect(calls()).toHaveLength(1)
    await moveUntil(page, 3)
    await bench.expectReports(['ada page /a', 'ada page /a', 'ada track saved /b', 'ada page /b'])
    expect(new Set(ids()).size).toBe(2)
  })

  test('that waits for Retry-After delays only its person', async () => {
    const { page } = await openAgainst({ status: 429, headers: { 'Retry-After': '60' } }, { status: 202 })
    await page.evaluate(`service('track', 'hers'); ${identify(GRACE)}`)
    await page.clock.runFor(100)
    await bench.expectReports(['ada page /a', 'grace page /a'])
    await page.clock.runFor(59_500)
    await quiet()
    expect(calls()).toHaveLength(2)
    await moveUntil(page, 4)
    await bench.expectReports(['ada page /a', 'grace page /a', 'ada page /a', 'ada track hers /a', 'ada leave /a'])
  })

  test('is not sent earlier when the page is shown', async () => {
    const { page } = await openAgainst({ status: 503 }, { status: 503 }, { status: 202 })
    for (let i = 0; i < 8; i++) {
      await page.evaluate(
        `dispatchEvent(new PageTransitionEvent('pageshow')); dispatchEvent(new Event('visibilitychange'))`,
      )
      await page.clock.runFor(100)
    }
    await quiet()
    expect(calls()).toHaveLength(1)
    await moveUntil(page, 3)
    await bench.expectReports(['ada page /a', 'ada page /a', 'ada page /a'])
  })

  test.each(['pagehide', 'online'])('is sent on every %s, and has five tries after the last', async (type) => {
    const { page, said } = await openAgainst({ status: 503 })
    const [first] = ids()
    const tries = () => ids().filter((id) => id === first).length
    // a report in flight is not resent, so the event may be sent twice
    while (tries() < 9) await page.evaluate(`dispatchEvent(new Event('${type}'))`)
    await page.waitForFunction('underway === 0')
    const before = tries()
    await moveUntil(page, before + TRIES, tries)
    await until(() => said.length > 0, ids)
    await page.clock.runFor(HOUR_MS)
    await quiet()
    expect(tries()).toBe(before + TRIES)
    expect(said).toEqual(['service: 503'])
  })

  test('is sent together with later events', async () => {
    // longer than any slow machine takes
    const { page } = await openAgainst({ status: 503, headers: { 'Retry-After': '60' } }, { status: 202 })
    await page.evaluate(`history.pushState(0, '', '/b')`)
    await page.clock.runFor(100)
    await page.evaluate(`history.pushState(0, '', '/c')`)
    await page.clock.runFor(100)
    await quiet()
    expect(calls()).toHaveLength(1)
    await moveUntil(page, 3)
    await bench.expectReports(['ada page /a', 'ada page /a', 'ada page /b', 'ada page /c'])
  })

  test('is sent at once when the browser is online again', async () => {
    const { page, said } = await openOffline()
    expect(calls()).toEqual([])
    await page.context().setOffline(false)
    await bench.expectReports(['ada page /a'])
    expect(bench.collector().bodies()[0]?.events[0]?.age).toBeWithin(600_000, 605_000)
    expect(said).toEqual([])
  })

  test('has all its tries when the browser is online again', async () => {
    const busy = Array.from({ length: TRIES }, () => ({ status: 503 }))
    bench.collector().replyWith(...busy, { status: 202 })
    const { page, said } = await openOffline()
    await page.context().setOffline(false)
    await moveUntil(page, TRIES + 1)
    await bench.expectReports(Array.from({ length: TRIES + 1 }, () => 'ada page /a'))
    expect(said).toEqual([])
  })

  test('is sent for its person after a reset', async () => {
    const { page } = await openAgainst({ status: 503 }, { status: 202 })
    await page.evaluate(`service('reset'); ${identify(GRACE)}`)
    await moveUntil(page, 4)
    await bench.expectReports(['ada page /a', 'ada page /a', 'ada leave /a', 'grace page /a'])
    expect(new Set(ids()).size).toBe(3)
  })

  test('is sent when the page is left', async () => {
    const { page } = await openAgainst({ status: 503 }, { status: 202 })
    bench.site().serve({ head: '<title>away</title>' }, '/away')
    await page.evaluate(`location.href = '/away'`)
    await bench.expectReports(['ada page /a', 'ada page /a', 'ada leave /a'])
    expect(new Set(ids()).size).toBe(2)
  })
})

describe('a refusal', () => {
  const INVALID = { status: 401, body: { ok: false, error: 'invalid_signature', message: 'Invalid signature' } }

  test.each([400, 401, 403, 404, 413])('with %d stops for that person and shows the reason', async (status) => {
    const { page, said } = await openAgainst({ ...INVALID, status })
    await until(() => said.length === 1, ids)
    expect(said).toEqual(['service: Invalid signature'])
    await page.evaluate(`service('track', 'saved'); history.pushState(0, '', '/b'); ${IDENTIFY}`)
    await page.clock.runFor(HOUR_MS)
    await bench.expectReports(['ada page /a'])
    expect(said).toHaveLength(1)
  })

  test('without a reason shows its status', async () => {
    const { said } = await openAgainst({ status: 403, body: '<h1>proxy</h1>' })
    await until(() => said.length === 1, ids)
    expect(said).toEqual(['service: 403'])
  })

  test('of one person does not affect others', async () => {
    const { page, said } = await openAgainst(INVALID, { status: 202 })
    await until(() => said.length === 1, ids)
    await page.evaluate(`service('track', 'lost'); ${identify(GRACE)}`)
    await page.clock.runFor(100)
    await bench.expectReports(['ada page /a', 'grace page /a'])
    expect(bench.collector().bodies()[1]).toMatchObject(proofOf(GRACE))
  })
})
