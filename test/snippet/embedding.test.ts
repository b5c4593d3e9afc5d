/** snippet/snippet.ts under policies, sandboxes, frames and duplicate tags. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Frame } from 'playwright-core'
import { makeSnippetPolicy } from '../../src/visits/snippet-tag.ts'
import { SCRIPT, STUB } from './collector.ts'
import { until } from '../waiting.ts'
import { identify, LOADED, SITE_ID, useBench } from './site.ts'

const bench = useBench()
const IDENTIFY = identify()

describe('under a Content-Security-Policy', () => {
  const policyOf = (more = ''): string =>
    `default-src 'none'; img-src data:; ${makeSnippetPolicy({ baseUrl: bench.collector().url(), stub: STUB })}${more}`

  test.each([
    ['with nothing but what is printed for it', ''],
    ['with Trusted Types', "; require-trusted-types-for 'script'; trusted-types 'none'"],
    ['in a sandbox', '; sandbox allow-scripts'],
  ])('%s works without violations', async (_, more) => {
    bench.site().serve({ headers: { 'Content-Security-Policy': policyOf(more) } })
    const { page, said } = await bench.openPage('/a?x=1')
    const broken: string[] = []
    page.on('console', (message) => message.type() === 'error' && broken.push(message.text()))
    await page.waitForFunction(LOADED)
    await page.evaluate(`${IDENTIFY}; service('track', 'saved')`)
    await bench.expectReports(['ada page /a', 'ada track saved /a'])
    expect([said, broken]).toEqual([[], []])
  })

  test('that blocks it, nothing is sent and the page works', async () => {
    const policy = policyOf().replace(/connect-src .*/, "connect-src 'none'")
    bench.site().serve({ headers: { 'Content-Security-Policy': policy } })
    const { page, said } = await bench.openPage('/a')
    await page.waitForFunction(LOADED)
    await page.evaluate(IDENTIFY)
    await bench.expectReports([])
    expect(said).toEqual([])
  })
})

describe('in a frame', () => {
  const frame = (src: string): string => `<iframe src="${src}"></iframe>`

  test('of the same origin, if the parent has it, it is silent', async () => {
    bench.site().serve({ calls: IDENTIFY, body: frame('/inner') })
    bench.site().serve({ calls: `${IDENTIFY}; service('track', 'inside')` }, '/inner')
    const { page } = await bench.openPage('/outer')
    await page.frames()[1]?.waitForFunction(LOADED)
    await bench.expectReports(['ada page /outer'])
  })

  test('that loads before the script of its parent, it is silent too', async () => {
    const late = `setTimeout(() => document.head.append(Object.assign(document.createElement('script'),
      { src: '${bench.collector().url()}/s.js' })), 300)`
    bench.site().serve({ head: `<script>${STUB};${late}</script>`, body: frame('/inner') })
    bench.site().serve({ calls: IDENTIFY }, '/inner')
    const { page } = await bench.openPage('/outer')
    await page.waitForFunction(LOADED)
    await bench.expectReports([])
  })

  test('of the same origin, if the parent lacks it, it works', async () => {
    bench.site().serve({ head: '<title>outer</title>', body: `<p id="service"></p>${frame('/inner')}` })
    bench.site().serve({ calls: IDENTIFY }, '/inner')
    await bench.openPage('/outer')
    await bench.expectReports(['ada page /inner'])
  })

  test('of another origin it works', async () => {
    bench.site().serve({ calls: IDENTIFY, body: frame(`${bench.site().nearUrl}/inner`) })
    bench.site().serve({ calls: identify('grace@example.com') }, '/inner')
    await bench.openPage('/outer')
    await bench.expectReports(['ada page /outer', 'grace page /inner'])
  })
})

describe('without an http address', () => {
  const html = () => `<!doctype html>${bench.site().tag()}<script>${IDENTIFY}; service('track', 'saved')</script>`

  /** The document loaded with the script, and nothing was sent. */
  async function expectSilent(frame: Frame, protocol: string): Promise<void> {
    await frame.waitForLoadState()
    expect(await frame.evaluate('location.protocol')).toBe(protocol)
    await bench.expectReports([])
    expect(bench.collector().recorded.map(({ url }) => url)).toEqual(['/s.js'])
    await frame.evaluate(`service('reset'); dispatchEvent(new Event('pagehide'))`)
    await bench.expectReports([])
  }

  test('a saved page reports nothing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'eventpost-saved-'))
    const file = join(folder, 'page.html')
    writeFileSync(file, html())
    const { page, said } = await bench.openPage(pathToFileURL(file).href)
    await expectSilent(page.mainFrame(), 'file:')
    expect(said).toEqual([])
    rmSync(folder, { recursive: true })
  })

  test.each([
    ['srcdoc', 'about:', 'frame.srcdoc = html'],
    ['blob:', 'blob:', `frame.src = URL.createObjectURL(new Blob([html], { type: 'text/html' }))`],
  ])('a frame of %s reports nothing', async (_, protocol, fill) => {
    bench.site().serve({ head: '<title>outer</title>' })
    const { page, said } = await bench.openPage('/outer')
    await page.evaluate(`{ const html = ${JSON.stringify(html())}, frame = document.createElement('iframe')
      ${fill}; document.body.append(frame) }`)
    await until(() => bench.collector().recorded.length === 1, bench.collector().reported)
    const frame = page.frames()[1]
    if (!frame) throw new Error('there is no frame')
    await expectSilent(frame, protocol)
    expect(said).toEqual([])
  })
})

describe('the script', () => {
  test('twice in a page works once', async () => {
    const tag = bench.site().tag()
    bench.site().serve({ head: tag + tag, calls: IDENTIFY, body: tag })
    const { page, said } = await bench.openPage('/a')
    await page.waitForLoadState()
    await bench.expectReports(['ada page /a'])
    await page.evaluate(`service('track', 'saved'); history.pushState(0, '', '/b')`)
    await bench.expectReports(['ada page /a', 'ada track saved /a', 'ada page /b'])
    expect(bench.collector().recorded.filter(({ url }) => url === '/s.js').length).toBeGreaterThan(0)
    expect(said).toEqual([])
  })

  test('of a second tag with another site does nothing, with a warning', async () => {
    bench.site().serve({ calls: IDENTIFY })
    const { page, said } = await bench.openPage('/a')
    await page.waitForFunction(LOADED)
    const src = `${bench.collector().url()}/s.js`
    await page.evaluate(`new Promise((onload) => {
      const second = Object.assign(document.createElement('script'), { src: '${src}', onload })
      second.dataset.site = 'site_other'
      document.head.append(second)
    }).then(() => {})`)
    await bench.expectReports(['ada page /a'])
    expect(
      bench
        .collector()
        .bodies()
        .map(({ site }) => site),
    ).toEqual([SITE_ID])
    expect(said).toEqual([`service: second tag ignored: already loaded for ${SITE_ID}`])
  })

  test('as a module does nothing, with a warning', async () => {
    const head = bench.site().tag().replace('<script async', '<script type="module"')
    bench.site().serve({ head, calls: IDENTIFY })
    const { page, said } = await bench.openPage('/a')
    await page.waitForLoadState()
    await bench.expectReports([])
    expect(said).toEqual(['service: remove type="module"'])
  })

  test('of a tag without a site reports, and the service refuses it', async () => {
    bench.collector().replyWith({ status: 400, body: { message: 'Send the site ID.' } })
    const head = bench.site().tag().replace(`data-site="${SITE_ID}"`, '')
    bench.site().serve({ head: head + head, calls: IDENTIFY })
    const { said } = await bench.openPage('/a')
    await bench.expectReports(['ada page /a'])
    expect(said).toEqual(['service: Send the site ID.'])
  })

  test('finds the service beside itself, under any path', async () => {
    bench.site().serve({ tag: { baseUrl: `${bench.collector().url()}/some/path` }, calls: IDENTIFY })
    await bench.openPage('/a')
    await bench.expectReports(['ada page /a'])
    expect(bench.collector().calls()[0]?.url).toBe('/some/path/c')
  })

  test('that is pinned runs if its hash matches', async () => {
    bench.site().serve({ tag: { pinned: SCRIPT }, calls: IDENTIFY })
    await bench.openPage('/a')
    await bench.expectReports(['ada page /a'])
  })

  test('that differs from the pin does not run', async () => {
    const tag = bench
      .site()
      .tag({ pinned: SCRIPT })
      .replace(/integrity="[^"]{15}/, '$&AAAA')
    bench.site().serve({ head: tag, calls: IDENTIFY })
    await bench.openPage('/a')
    await bench.expectReports([])
  })

  test('ignores elements with the same names', async () => {
    const image = `<img name="currentScript" src="${bench.collector().url()}/stolen/s.js" data-site="other">`
    bench.site().serve({ head: `<title>a</title>`, body: `${image}<p id="service"></p>${bench.site().tag()}` })
    const { page, said } = await bench.openPage('/a')
    expect(await page.evaluate('document.currentScript.tagName')).toBe('IMG')
    await page.evaluate(`try { ${IDENTIFY} } catch {}`)
    await bench.expectReports([])
    expect(said).toEqual([])
  })
})
