/** Which pages snippet/snippet.ts reports, and what of their address (spec 4.5; design: behaviours 8 and 9). */
import { describe, expect, test } from 'bun:test'
import type { BrowserContext } from 'playwright-core'
import { FOUND } from '../chromium.ts'
import { until } from './collector.ts'
import { identify, useBench } from './site.ts'

const bench = useBench()
const IDENTIFY = identify()

const push = (path: string): string => `history.pushState({}, '', '${path}')`
const replace = (path: string): string => `history.replaceState({}, '', '${path}')`

/** What a browser without the Navigation API has. */
const withoutNavigation = (context: BrowserContext): Promise<unknown> =>
  context.addInitScript(`delete window.navigation`)
const withNavigation = (): void => undefined

async function openIdentified(url = '/a', prepare: (context: BrowserContext) => unknown = withNavigation) {
  bench.site().serve({ calls: IDENTIFY })
  const opened = await bench.openPage(url, {}, prepare)
  const [path] = url.split(/[?#]/)
  await bench.expectTold([`ada page ${path}`])
  bench.collector().forget()
  return opened
}

describe.skipIf(!FOUND).each([
  ['with the Navigation API', withNavigation],
  ['without it', withoutNavigation],
])('a single-page app %s', (_, prepare) => {
  test('is followed through pushState, replaceState, back and forward', async () => {
    const { page } = await openIdentified('/a', prepare)
    expect(await page.evaluate('typeof window.navigation')).toBe(prepare === withNavigation ? 'object' : 'undefined')
    const steps: [script: string, path: string][] = [
      [push('/b'), '/b'],
      [replace('/c'), '/c'],
      ['history.back()', '/a'],
      ['history.forward()', '/c'],
      ['history.go(-1)', '/a'],
    ]
    for (const [index, [script, path]] of steps.entries()) {
      await page.evaluate(script)
      await until(() => bench.collector().told().length === index + 1, bench.collector().told)
      expect(bench.collector().told().at(-1)).toBe(`ada page ${path}`)
    }
  })

  test('is followed when its path changes, not its query, its fragment or its state', async () => {
    const { page } = await openIdentified('/a', prepare)
    const steps = [
      push('/a?x=1'),
      push('#top'),
      replace('/a?x=2#y'),
      `location.hash = 'z'`,
      'history.back()',
      push('/a'),
    ]
    for (const step of steps) await page.evaluate(step)
    await bench.expectTold([])
  })

  test('tells where a chain of redirects ends, once', async () => {
    const { page } = await openIdentified('/a', prepare)
    await page.evaluate(`${push('/old')}; ${replace('/new')}`)
    await bench.expectTold(['ada page /new'])
    await page.evaluate(`${push('/guarded')}; Promise.resolve().then(() => { ${replace('/sign-in')} })`)
    await bench.expectTold(['ada page /new', 'ada page /sign-in'])
    await page.evaluate(`${push('/there')}; ${replace('/sign-in')}`)
    await bench.expectTold(['ada page /new', 'ada page /sign-in'])
  })

  test('that leaves right after a push loses nothing', async () => {
    const { page } = await openIdentified('/a', prepare)
    bench.site().serve({ calls: '' }, '/away')
    await page.evaluate(`${push('/b')}; location.href = '/away'`)
    await bench.expectTold(['ada page /b', 'ada leave /b'])
  })
})

describe.skipIf(!FOUND)('a router', () => {
  test('that kept pushState from before the script came is followed', async () => {
    bench.site().serve({ calls: `window.push = history.pushState.bind(history); ${IDENTIFY}` })
    const { page } = await bench.openPage('/a')
    await bench.expectTold(['ada page /a'])
    await page.evaluate(`push({}, '', '/b')`)
    await bench.expectTold(['ada page /a', 'ada page /b'])
  })

  test('without the Navigation API gets its own errors, and its own `this`', async () => {
    const own = `history.pushState = function (...given) { window.was = [this === history, given.length];
      return History.prototype.pushState.apply(this, given) }`
    bench.site().serve({ head: `<script>${own}</script>${bench.site().tag()}`, calls: IDENTIFY })
    const { page, said } = await bench.openPage('/a', {}, withoutNavigation)
    await bench.expectTold(['ada page /a'])
    await page.evaluate(push('/b'))
    await bench.expectTold(['ada page /a', 'ada page /b'])
    expect(await page.evaluate('window.was')).toEqual([true, 3])
    for (const call of [push('https://elsewhere.example/'), 'history.pushState.call({}, 0, "", "/c")']) {
      expect(await page.evaluate(`(() => { try { ${call} } catch (error) { return error.name } })()`)).toMatch(/Error/)
    }
    await bench.expectTold(['ada page /a', 'ada page /b'])
    expect(said).toEqual([])
  })
})

describe.skipIf(!FOUND)('of an address', () => {
  const QUERY = '?token=hidden-query'
  const FRAGMENT = '#hidden-fragment'

  test('neither query nor fragment, title nor referrer leaves the browser, under the loosest policy', async () => {
    const policy = { 'Referrer-Policy': 'unsafe-url' }
    const title = `document.title = 'hidden-title'`
    bench.site().serve({ calls: `${title}; ${IDENTIFY}; service('track', 'saved')`, headers: policy })
    const { page } = await bench.openPage(`/a${QUERY}${FRAGMENT}`)
    await bench.expectTold(['ada page /a', 'ada track saved /a'])
    await page.evaluate(push(`/b${QUERY}${FRAGMENT}`))
    await page.evaluate(`location.href = '/hidden-path${QUERY}'`)
    await bench.expectTold(
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

  test('a path is cut at 1,024 characters, and is as the browser shows it', async () => {
    const { page } = await openIdentified('/a')
    await page.evaluate(push(`/${'x'.repeat(2_000)}`))
    await bench.expectTold([`ada page /${'x'.repeat(1_023)}`])
    // another page whose path begins in the same way is told of when it can be told apart
    await page.evaluate(push(`/${'x'.repeat(1_022)}y${'x'.repeat(900)}`))
    await page.evaluate(push('/größe/a b'))
    await until(() => bench.collector().told().length === 3, bench.collector().told)
    expect(bench.collector().told()[2]).toBe('ada page /gr%C3%B6%C3%9Fe/a%20b')
  })

  test('no cookie goes along, nor is one taken', async () => {
    const { page } = await bench.openPage(`${bench.site().nearUrl}/a`)
    await page.evaluate(`document.cookie = 'session=hidden'`)
    const reply = { status: 202, body: { ok: true }, headers: { 'Set-Cookie': 'taken=1' } }
    bench.collector().replyWith(reply)
    await page.evaluate(IDENTIFY)
    await bench.expectTold(['ada page /a'])
    const [call] = bench.collector().calls()
    expect(call?.headers.cookie).toBeUndefined()
    expect((await page.context().cookies()).map(({ name }) => name)).toEqual(['session'])
  })
})
