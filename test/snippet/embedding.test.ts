/** snippet/snippet.ts in pages that make it hard: policies, sandboxes, frames, twice (design: behaviours 10 and 12). */
import { describe, expect, test } from 'bun:test'
import { makeSnippetPolicy } from '../../src/core/snippet-tag.ts'
import { FOUND } from '../chromium.ts'
import { SCRIPT, STUB } from './collector.ts'
import { identify, useBench } from './site.ts'

const bench = useBench()
const IDENTIFY = identify()
const loaded = 'window.service?.v === 1'

describe.skipIf(!FOUND)('under a Content-Security-Policy', () => {
  const policyOf = (more = ''): string =>
    `default-src 'none'; img-src data:; ${makeSnippetPolicy({ baseUrl: bench.collector().url(), stub: STUB })}${more}`

  test.each([
    ['with nothing but what is printed for it', ''],
    ['with Trusted Types', "; require-trusted-types-for 'script'; trusted-types 'none'"],
    ['in a sandbox', '; sandbox allow-scripts'],
  ])('%s it works, and breaks no rule', async (_, more) => {
    bench.site().serve({ headers: { 'Content-Security-Policy': policyOf(more) } })
    const { page, said } = await bench.openPage('/a?x=1')
    const broken: string[] = []
    page.on('console', (message) => message.type() === 'error' && broken.push(message.text()))
    await page.waitForFunction(loaded)
    await page.evaluate(`${IDENTIFY}; service('track', 'saved')`)
    await bench.expectTold(['ada page /a', 'ada track saved /a'])
    expect([said, broken]).toEqual([[], []])
  })

  test('that does not let it call, nothing is sent and the page goes on', async () => {
    const policy = policyOf().replace(/connect-src .*/, "connect-src 'none'")
    bench.site().serve({ headers: { 'Content-Security-Policy': policy } })
    const { page, said } = await bench.openPage('/a')
    await page.waitForFunction(loaded)
    await page.evaluate(IDENTIFY)
    await bench.expectTold([])
    expect(said).toEqual([])
  })
})

describe.skipIf(!FOUND)('in a frame', () => {
  const frame = (src: string): string => `<iframe src="${src}"></iframe>`

  test('of the same origin, whose parent has it, it is silent', async () => {
    bench.site().serve({ calls: IDENTIFY, body: frame('/inner') })
    bench.site().serve({ calls: `${IDENTIFY}; service('track', 'inside')` }, '/inner')
    const { page } = await bench.openPage('/outer')
    await page.frames()[1]?.waitForFunction(loaded)
    await bench.expectTold(['ada page /outer'])
  })

  test('that is there before the script of its parent, it is silent too', async () => {
    const late = `setTimeout(() => document.head.append(Object.assign(document.createElement('script'),
      { src: '${bench.collector().url()}/s.js' })), 300)`
    bench.site().serve({ head: `<script>${STUB};${late}</script>`, body: frame('/inner') })
    bench.site().serve({ calls: IDENTIFY }, '/inner')
    const { page } = await bench.openPage('/outer')
    await page.waitForFunction(loaded)
    await bench.expectTold([])
  })

  test('of the same origin, whose parent does not have it, it works', async () => {
    bench.site().serve({ head: '<title>outer</title>', body: `<p id="service"></p>${frame('/inner')}` })
    bench.site().serve({ calls: IDENTIFY }, '/inner')
    await bench.openPage('/outer')
    await bench.expectTold(['ada page /inner'])
  })

  test('of another origin it works, whatever its parent has', async () => {
    bench.site().serve({ calls: IDENTIFY, body: frame(`${bench.site().nearUrl}/inner`) })
    bench.site().serve({ calls: identify('grace@example.com') }, '/inner')
    await bench.openPage('/outer')
    await bench.expectTold(['ada page /outer', 'grace page /inner'])
  })
})

describe.skipIf(!FOUND)('the script', () => {
  test('twice in a page works once', async () => {
    const tag = bench.site().tag()
    bench.site().serve({ head: tag + tag, calls: IDENTIFY, body: tag })
    const { page } = await bench.openPage('/a')
    await page.waitForLoadState()
    await page.evaluate(`service('track', 'saved'); history.pushState(0, '', '/b')`)
    await bench.expectTold(['ada page /a', 'ada track saved /a', 'ada page /b'])
    expect(bench.collector().recorded.filter(({ url }) => url === '/s.js').length).toBeGreaterThan(0)
  })

  test('finds the service beside itself, under any path', async () => {
    bench.site().serve({ tag: { baseUrl: `${bench.collector().url()}/some/path` }, calls: IDENTIFY })
    await bench.openPage('/a')
    await bench.expectTold(['ada page /a'])
    expect(bench.collector().calls()[0]?.url).toBe('/some/path/c')
  })

  test('that is pinned runs when it is the one that was pinned', async () => {
    bench.site().serve({ tag: { pinned: SCRIPT }, calls: IDENTIFY })
    await bench.openPage('/a')
    await bench.expectTold(['ada page /a'])
  })

  test('that is another than was pinned does not run', async () => {
    const tag = bench
      .site()
      .tag({ pinned: SCRIPT })
      .replace(/integrity="[^"]{15}/, '$&AAAA')
    bench.site().serve({ head: tag, calls: IDENTIFY })
    await bench.openPage('/a')
    await bench.expectTold([])
  })

  test('is not led astray by elements of its names', async () => {
    const image = `<img name="currentScript" src="http://127.0.0.1:9/s.js" data-site="other">`
    bench.site().serve({ head: `<title>a</title>`, body: `${image}<p id="service"></p>${bench.site().tag()}` })
    const { page, said } = await bench.openPage('/a')
    expect(await page.evaluate('document.currentScript.tagName')).toBe('IMG')
    await page.evaluate(`try { ${IDENTIFY} } catch {}`)
    await bench.expectTold([])
    expect(said).toEqual([])
  })
})
