import { beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'
import { quiet } from './collector.ts'
import { until } from '../waiting.ts'
import { identify, LOADED, useBench } from './site.ts'

const bench = useBench()
const IDENTIFY = identify()

const push = (path: string): string => `history.pushState({}, '', '${path}')`
const replace = (path: string): string => `history.replaceState({}, '', '${path}')`

/** Makes a browser one without the Navigation API. */
const WITHOUT_NAVIGATION = 'delete window.navigation'

/** Serves a page that identifies Ada, with a script before the tag. */
const serveIdentified = (before = '', body = ''): void =>
  bench.site().serve({ head: `<script>${before}</script>${bench.site().tag()}`, calls: IDENTIFY, body })

const HOUR_MS = 3_600_000

/** From here on, only the test moves the clock. */
async function stopClock(context: BrowserContext): Promise<void> {
  await context.clock.install()
  await context.clock.pauseAt(Date.now() + HOUR_MS)
}

/** A page whose path was reported, with a stopped clock. */
async function openStopped(url: string, before: string) {
  serveIdentified(before)
  const opened = await bench.openAlone(url, stopClock)
  await opened.page.waitForFunction(LOADED)
  await opened.page.clock.runFor(100)
  await bench.expectReports([`ada page ${url}`])
  bench.collector().forget()
  return opened
}

async function openIdentified(url = '/a', before = '') {
  serveIdentified(before)
  const opened = await bench.openPage(url)
  const [path] = url.split(/[?#]/)
  await bench.expectReports([`ada page ${path}`])
  bench.collector().forget()
  return opened
}

describe.each([
  ['with the Navigation API', ''],
  ['without it', WITHOUT_NAVIGATION],
])('a single-page app %s', (_, before) => {
  test('is followed through pushState, replaceState, back and forward', async () => {
    const { page } = await openIdentified('/a', before)
    expect(await page.evaluate('typeof window.navigation')).toBe(before === '' ? 'object' : 'undefined')
    const steps: [script: string, path: string][] = [
      [push('/b'), '/b'],
      [replace('/c'), '/c'],
      ['history.back()', '/a'],
      ['history.forward()', '/c'],
      ['history.go(-1)', '/a'],
    ]
    for (const [index, [script, path]] of steps.entries()) {
      await page.evaluate(script)
      await until(() => bench.collector().reported().length === index + 1, bench.collector().reported)
      expect(bench.collector().reported().at(-1)).toBe(`ada page ${path}`)
    }
  })

  test('is followed when its path changes, not query, fragment or state', async () => {
    const { page } = await openIdentified('/a', before)
    const steps = [
      push('/a?x=1'),
      push('#top'),
      replace('/a?x=2#y'),
      `location.hash = 'z'`,
      'history.back()',
      push('/a'),
    ]
    for (const step of steps) await page.evaluate(step)
    await bench.expectReports([])
  })

  test('reports the end of a redirect chain once', async () => {
    const { page } = await openIdentified('/a', before)
    await page.evaluate(`${push('/old')}; ${replace('/new')}`)
    await bench.expectReports(['ada page /new'])
    await page.evaluate(`${push('/guarded')}; Promise.resolve().then(() => { ${replace('/sign-in')} })`)
    await bench.expectReports(['ada page /new', 'ada page /sign-in'])
    await page.evaluate(`${push('/there')}; ${replace('/sign-in')}`)
    await bench.expectReports(['ada page /new', 'ada page /sign-in'])
  })

  test('reports no path that is replaced within 100 ms', async () => {
    const { page } = await openStopped('/a', before)
    await page.evaluate(push('/first'))
    for (const path of ['/second', '/third']) {
      await page.clock.runFor(99)
      await page.evaluate(replace(path))
    }
    await page.clock.runFor(99)
    await bench.expectReports([])
    await page.clock.runFor(1)
    await bench.expectReports(['ada page /third'])
    expect(bench.collector().bodies()[0]?.events[0]?.age).toBe(100)
    await page.evaluate(push('/stays'))
    await page.clock.runFor(100)
    await page.evaluate(replace('/next'))
    await page.clock.runFor(100)
    await bench.expectReports(['ada page /third', 'ada page /stays', 'ada page /next'])
  })

  test('reports every path in the history, however short', async () => {
    const { page } = await openStopped('/a', before)
    await page.evaluate(`${push('/b')}; ${push('/c')}`)
    await page.clock.runFor(10)
    await page.evaluate(push('/redirect'))
    await page.clock.runFor(10)
    await page.evaluate(replace('/d'))
    await page.clock.runFor(10)
    await page.evaluate('history.back()')
    await page.waitForFunction(`location.pathname === '/c'`)
    await page.clock.runFor(100)
    const reported = ['/b', '/c', '/d', '/c'].map((path) => `ada page ${path}`)
    await bench.expectReports(reported)
    expect(bench.collector().reported()).toEqual(reported)
  })

  test('reports nothing when it is back on its path within 100 ms', async () => {
    const { page } = await openStopped('/a', before)
    await page.evaluate(push('/b'))
    await page.clock.runFor(50)
    await page.evaluate(replace('/a'))
    await page.clock.runFor(1_000)
    await bench.expectReports([])
  })

  test.each([
    ['hidden', 'document', 'visibilitychange'],
    ['left', 'window', 'pagehide'],
  ])('reports a delayed path when the page is %s', async (_, target, type) => {
    const { page } = await openStopped('/a', before)
    const isHidden = `Object.defineProperty(document, 'hidden', { value: ${type === 'visibilitychange'} })`
    await page.evaluate(`${push('/b')}; ${isHidden}; ${target}.dispatchEvent(new Event('${type}', { bubbles: true }))`)
    await bench.expectReports(['ada page /b', 'ada leave /b'])
  })

  test('reports an action after its delayed path', async () => {
    const { page } = await openStopped('/a', before)
    await page.evaluate(push('/b'))
    await page.clock.runFor(30)
    await page.evaluate(`service('track', 'saved')`)
    await page.clock.runFor(70)
    await bench.expectReports(['ada track saved /b', 'ada page /b'])
    const ages = new Map(
      bench
        .collector()
        .bodies()[0]
        ?.events.map(({ type, age }) => [type, age]),
    )
    expect([ages.get('page'), ages.get('track')]).toEqual([100, 70])
  })

  test('loses nothing when it is left right after a push', async () => {
    const { page } = await openIdentified('/a', before)
    bench.site().serve({ calls: '' }, '/away')
    await page.evaluate(`${push('/b')}; location.href = '/away'`)
    await until(() => bench.collector().kept().length === 2, bench.collector().reported)
    await quiet()
    // a closing page may retry a request that arrived: the same visit report
    expect(bench.collector().kept()).toEqual(['ada page /b', 'ada leave /b'])
    await page.waitForURL('**/away')
  })
})

describe('React Router', () => {
  let app = ''
  beforeAll(async () => {
    const define = { 'process.env.NODE_ENV': '"production"' }
    const entrypoints = [join(import.meta.dir, 'router-app.js')]
    const { outputs } = await Bun.build({ entrypoints, target: 'browser', format: 'iife', minify: true, define })
    app = (await outputs[0]?.text()) ?? ''
  })

  /** Serves a page before the app starts. */
  const serveApp = (before = ''): void => serveIdentified(before, '<div id="root"></div>')

  const TIMES = `window.times = {}; navigation.addEventListener('currententrychange', () => {
    times[location.pathname] = performance.now() })`
  /** Slow machines exceed the redirect limit, so several are tried. */
  const MOST_ROUNDS = 20

  test.each([
    ['a redirect', '/old', ['/new']],
    ['two redirects', '/first', ['/second', '/third']],
  ])('reports the end of %s, and no path on the way', async (_, from, to) => {
    serveApp(TIMES)
    const { page } = await bench.openPage('/start')
    await page.addScriptTag({ content: app })
    const end = to.at(-1) ?? ''
    const reported = bench.collector().reported
    await until(() => reported().length === 1, reported)
    const spans: number[] = []
    const isFast = () => spans.length > 0 && Math.max(...spans) < 90
    for (let round = 0; round < MOST_ROUNDS && !isFast(); round += 1) {
      bench.collector().forget()
      await page.click(`a[href="${from}"]`)
      await until(() => reported().includes(`ada page ${end}`), reported)
      const times = (await page.evaluate('times')) as Record<string, number>
      const path = [from, ...to].map((one) => times[one] ?? Number.NaN)
      spans.splice(0, spans.length, ...path.slice(1).map((at, index) => at - (path[index] ?? 0)))
      if (isFast()) expect(reported()).toEqual([`ada page ${end}`])
      await page.click('a[href="/start"]')
      await until(() => reported().at(-1) === 'ada page /start', reported)
    }
    expect(isFast()).toBe(true)
    // each was shown in a browser, however briefly
    expect(Math.min(...spans)).toBeGreaterThan(0)
  })

  test('reports the end of a redirect from the first path', async () => {
    serveApp()
    const { page } = await bench.openAlone('/old', stopClock)
    await page.waitForFunction(LOADED)
    await page.clock.runFor(83)
    await page.addScriptTag({ content: app })
    await page.waitForFunction(`location.pathname === '/new'`)
    await page.clock.runFor(100)
    await bench.expectReports(['ada page /new'])
  })
})

test('an idle page has no timer, and a report starts one', async () => {
  const count = `window.timers = []; for (const name of ['setTimeout', 'setInterval', 'requestAnimationFrame',
    'requestIdleCallback']) window[name] = new Proxy(window[name], { apply(real, self, given) {
    timers.push(name + ' ' + given[1]); return Reflect.apply(real, self, given) } })`
  serveIdentified(count)
  const { page } = await bench.openPage('/a')
  await bench.expectReports(['ada page /a'])
  const timers = () => page.evaluate('timers.splice(0)') as Promise<string[]>
  expect(new Set(await timers())).toEqual(new Set(['setTimeout 100']))
  await quiet()
  expect(await timers()).toEqual([])
  await page.evaluate(push('/b'))
  await bench.expectReports(['ada page /a', 'ada page /b'])
  expect(await timers()).toEqual(['setTimeout 100'])
})

describe('a router', () => {
  test('with a saved pushState is followed', async () => {
    bench.site().serve({ calls: `window.push = history.pushState.bind(history); ${IDENTIFY}` })
    const { page } = await bench.openPage('/a')
    await bench.expectReports(['ada page /a'])
    await page.evaluate(`push({}, '', '/b')`)
    await bench.expectReports(['ada page /a', 'ada page /b'])
  })

  test('without the Navigation API gets its own errors, and its own `this`', async () => {
    const own = `history.pushState = function (...given) { window.was = [this === history, given.length];
      return History.prototype.pushState.apply(this, given) }`
    serveIdentified(`${WITHOUT_NAVIGATION}; ${own}`)
    const { page, said } = await bench.openPage('/a')
    await bench.expectReports(['ada page /a'])
    await page.evaluate(push('/b'))
    await bench.expectReports(['ada page /a', 'ada page /b'])
    expect(await page.evaluate('window.was')).toEqual([true, 3])
    for (const call of [push('https://elsewhere.example/'), 'history.pushState.call({}, 0, "", "/c")']) {
      expect(await page.evaluate(`(() => { try { ${call} } catch (error) { return error.name } })()`)).toMatch(/Error/)
    }
    await bench.expectReports(['ada page /a', 'ada page /b'])
    expect(said).toEqual([])
  })
})

describe('of an address', () => {
  const QUERY = '?token=hidden-query'
  const FRAGMENT = '#hidden-fragment'

  test('query, fragment, title and referrer never leave the browser', async () => {
    const policy = { 'Referrer-Policy': 'unsafe-url' }
    const title = `document.title = 'hidden-title'`
    bench.site().serve({ calls: `${title}; ${IDENTIFY}; service('track', 'saved')`, headers: policy })
    const { page } = await bench.openPage(`/a${QUERY}${FRAGMENT}`)
    await bench.expectReports(['ada page /a', 'ada track saved /a'])
    await page.evaluate(push(`/b${QUERY}${FRAGMENT}`))
    await page.evaluate(`location.href = '/hidden-path${QUERY}'`)
    await bench.expectKept(
      ['page /a', 'track saved /a', 'page /b', 'leave /b', 'page /hidden-path', 'track saved /hidden-path'].map(
        (one) => `ada ${one}`,
      ),
    )
    for (const { url, headers, text } of bench.collector().recorded) {
      expect(JSON.stringify([url, headers, text])).not.toMatch(/hidden-(query|fragment|title)/)
      expect(JSON.stringify([url, headers])).not.toContain('hidden-path')
    }
    for (const { headers } of bench.collector().calls()) {
      expect(headers.referer).toBeUndefined()
      expect(headers['content-type']).toBe('text/plain;charset=UTF-8')
    }
  })

  test('a path is truncated to 1,024 characters, as the browser shows it', async () => {
    const { page } = await openIdentified('/a')
    await page.evaluate(push(`/${'x'.repeat(2_000)}`))
    await bench.expectReports([`ada page /${'x'.repeat(1_023)}`])
    // a path with the same prefix is reported once it differs
    await page.evaluate(push(`/${'x'.repeat(1_022)}y${'x'.repeat(900)}`))
    await until(() => bench.collector().reported().length === 2, bench.collector().reported)
    await page.evaluate(push('/größe/a b'))
    await until(() => bench.collector().reported().length === 3, bench.collector().reported)
    expect(bench.collector().reported()[2]).toBe('ada page /gr%C3%B6%C3%9Fe/a%20b')
  })

  test('no cookie is sent or stored', async () => {
    const { page } = await bench.openAlone(`${bench.site().nearUrl}/a`)
    await page.evaluate(`document.cookie = 'session=hidden'`)
    const reply = { status: 202, body: { ok: true }, headers: { 'Set-Cookie': 'taken=1' } }
    bench.collector().replyWith(reply)
    await page.evaluate(IDENTIFY)
    await bench.expectReports(['ada page /a'])
    const [call] = bench.collector().calls()
    expect(call?.headers.cookie).toBeUndefined()
    expect((await page.context().cookies()).map(({ name }) => name)).toEqual(['session'])
  })
})
